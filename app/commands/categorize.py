"""newfound categorize: files there, answers back, over a running service or one for the time of the command."""

import argparse
import json
from contextlib import ExitStack
from typing import Any

from rich.console import Console
from rich.markup import escape

from app.commands import CommandFailed
from app.commands.answers_shown import show_answer
from app.commands.given_service import given_service
from app.commands.job_of_files import Categorization, Continuation, check_format, write_answers
from app.commands.new_documents import report_of, show_new, write_new
from app.commands.usage import check_usage
from app.processes.supervisor import stop_on_signals
from newfound_client import NewfoundError
from newfound_client.files import replacing

Json = dict[str, Any]


def run(parsed: argparse.Namespace) -> int:
    """Categorize the files; returns the exit code. Raises CommandFailed, KeyboardInterrupt, and what a service may."""
    check_usage(parsed)
    stop_on_signals()
    told = Console(stderr=True, highlight=False, quiet=parsed.quiet or parsed.json)
    try:
        report = run_job(parsed, told) if parsed.frozen is None else answer_new(parsed, told)
    except (NewfoundError, OSError) as error:
        raise CommandFailed(str(error)) from error
    show(report, parsed)
    return 0


def run_job(parsed: argparse.Namespace, told: Console) -> Json:
    """Run a job over the files, and write its answers and its model; returns what there is to report."""
    with ExitStack() as stack:
        answers = stack.enter_context(replacing(parsed.out))
        of_model = stack.enter_context(ExitStack())
        model = None if parsed.save_model is None else of_model.enter_context(replacing(parsed.save_model))
        client, supervisor = stack.enter_context(given_service(parsed, told))
        check_format(client, parsed.out)
        way = Categorization if parsed.continued is None else Continuation
        report = way(client, supervisor, parsed, told).run()
        if model is not None:
            client.export_model(report["job"]["id"], model)
            of_model.close()  # it is in its place, whatever becomes of the answers
        write_answers(client, report["job"]["id"], answers, parsed.out)
    return report


def answer_new(parsed: argparse.Namespace, told: Console) -> Json:
    """Write what a model says of new documents; returns what there is to report."""
    with replacing(parsed.out) as file, given_service(parsed, told, has_workers=False) as (client, _):
        drift = write_new(client, parsed, told, file)
    return report_of(parsed, drift)


def show(report: Json, parsed: argparse.Namespace) -> None:
    """Print what was found, and where the answers are."""
    console = Console(highlight=False)  # paths are not wrapped: they are copied
    if parsed.json:
        print(json.dumps({**report, "out": str(parsed.out)}, indent=2, ensure_ascii=False))
    elif parsed.quiet:
        return
    elif parsed.frozen is not None:
        show_new(console, report, parsed.out)
    else:
        show_answer(console, report["categories"])
        console.print(f"{report['answers']:,} answers are in {escape(str(parsed.out))}", soft_wrap=True)
        if parsed.save_model is not None:
            console.print(f"The model is in {escape(str(parsed.save_model))}", soft_wrap=True)
        if parsed.url is not None:
            console.print(
                f"The job is {escape(parsed.url.rstrip('/'))}{report['job']['links']['self']}", soft_wrap=True
            )
