"""newfound categorize: files there, answers back, over a running service or one for the time of the job."""

import argparse
import json
import os
import re
import sys
import tempfile
import uuid
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.markup import escape

from app.commands import CommandFailed
from app.commands.answer_files import WRITERS, AnswerFile
from app.commands.answers_shown import JobBar, show_answer
from app.commands.embedded import embedded_service
from app.core.tables import MAX_NAME
from app.processes.supervisor import Supervisor, stop_on_signals
from newfound_client import Client, JobNotSucceeded, NewfoundError, Refused, flat

READING = ("format", "text", "key", "charset", "delimiter", "header", "sheet")  # options for all files
LABELS = ("label", "unlabeled")
SETTINGS = ("model", "seed", "sweeps", "chains")
MOST_ROWS = 5  # that could not be used, which are shown
PARAMETER = re.compile(rf"\b({'|'.join((*READING, *LABELS))})=")  # as the service speaks of options
ABANDON_SECONDS = 10.0  # for each answer, once the command is interrupted
LOOK_SECONDS = 0.5

Json = dict[str, Any]


def run(parsed: argparse.Namespace) -> int:
    """Categorize the files; returns the exit code. Raises CommandFailed, KeyboardInterrupt, and what a service may."""
    check_usage(parsed)
    stop_on_signals()
    told = Console(stderr=True, highlight=False, quiet=parsed.quiet or parsed.json)
    try:
        with ExitStack() as stack:
            answers = stack.enter_context(AnswerFile(parsed.out))
            client, supervisor = stack.enter_context(service(parsed, told))
            categorization = Categorization(client, supervisor, parsed, told)
            report = categorization.run()
            rows = map(flat, client.documents(report["job"]["id"]))
            report["answers"] = answers.write(rows)
    except (NewfoundError, OSError) as error:
        raise CommandFailed(str(error)) from error
    show(report, parsed)
    return 0


def check_usage(parsed: argparse.Namespace) -> None:
    """Refuse, as wrong arguments, what could only fail after all the work."""
    if parsed.out.suffix.lower() not in WRITERS:
        parsed.refuse_usage(f"--out {parsed.out}: the name should end with one of {', '.join(WRITERS)}")
    if not os.access(parsed.out.absolute().parent, os.W_OK) or parsed.out.is_dir():
        parsed.refuse_usage(f"--out {parsed.out}: no file can be written there")
    if any(parsed.out.exists() and parsed.out.samefile(file) for file in (*parsed.files, *parsed.no_labels)):
        parsed.refuse_usage(f"--out {parsed.out}: it is one of the files to be read")
    if parsed.url is not None:
        try:
            Client(parsed.url)
        except ValueError as error:
            parsed.refuse_usage(f"--url: {error}")


@contextmanager
def service(parsed: argparse.Namespace, told: Console) -> Iterator[tuple[Client, Supervisor | None]]:
    """Within this context there is a service: the one at --url, or one of our own, with its supervisor."""
    if parsed.url is not None:
        yield Client(parsed.url), None
        return
    told.print("Starting a service for the time of the job.")
    with ExitStack() as stack:
        folder = parsed.data_folder
        if folder is None:
            temporary = tempfile.TemporaryDirectory(prefix="newfound-", ignore_cleanup_errors=True)
            folder = Path(stack.enter_context(temporary))
        supervisor, url = stack.enter_context(embedded_service("--data-folder", folder, user_cache() / "kernels"))
        yield Client(url), supervisor


def user_cache() -> Path:
    """Where this user's programs keep what can be made again."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "newfound"


class Categorization:
    """A corpus of the files, and a job over it."""

    def __init__(
        self, client: Client, supervisor: Supervisor | None, parsed: argparse.Namespace, told: Console
    ) -> None:  # fmt: skip
        self.client, self.supervisor, self.parsed, self.told = client, supervisor, parsed, told
        self.name = (parsed.name or parsed.files[0].name)[:MAX_NAME]
        self.corpus_id: str | None = None
        self.submission: Json | None = None  # once it has been sent

    def run(self) -> Json:
        """The uploads, the job once it has succeeded, and its categories.

        Raises NewfoundError. Whatever ends this early, the job is cancelled, and a corpus without a job deleted.
        """
        try:
            self.corpus_id = self.client.create_corpus(self.name)["id"]
            uploads = self.upload(self.corpus_id)
            job = self.follow(self.submit(self.corpus_id)["id"])
            return {"uploads": uploads, "job": job, "categories": self.client.categories(job["id"])}
        except BaseException:
            self.abandon()
            raise

    def upload(self, corpus_id: str) -> dict[str, Json]:
        """Add all files; returns what became of each, by its path."""
        given = {name: getattr(self.parsed, name) for name in READING}
        labels = {name: getattr(self.parsed, name) for name in LABELS}
        answers: dict[str, Json] = {}
        for path, options in [
            *((file, {**given, **labels}) for file in self.parsed.files),
            *((file, {**given, "label": ""}) for file in self.parsed.no_labels),
        ]:
            self.told.print(f"Uploading {escape(str(path))}")
            try:
                answers[str(path)] = self.client.upload(corpus_id, path, **options)
            except Refused as error:
                raise CommandFailed(in_options(f"{path}: {error}{hint(error)}")) from error
            self.warn(path, answers[str(path)])
        return answers

    def warn(self, path: Path, answer: Json) -> None:
        """Say what may be wrong with an upload."""
        for warning in answer["warnings"]:
            say(f"warning: {path}: {warning}")
        if answer["rejected"]:
            say(f"warning: {path}: rows that cannot be used: {answer['rejected']}")
            for row in answer["errors"][:MOST_ROWS]:
                say(f"warning: {path}: line {row['line']}: {row['reason']}")

    def submit(self, corpus_id: str) -> Json:
        """Queue the job; whether or not its answer comes, it can be found again by its key."""
        parsed = self.parsed
        settings = {name: getattr(parsed, name) for name in SETTINGS if getattr(parsed, name) is not None}
        facts = {"name": self.name, "tags": parsed.tag, "note": parsed.note}
        self.submission = {**facts, **settings, "discover": parsed.discover, "idempotency_key": uuid.uuid4().hex}
        try:
            job = self.client.submit(corpus_id, **self.submission)
        except Refused as error:
            self.submission = None
            raise CommandFailed(in_options(str(error))) from error
        for warning in job["warnings"]:
            say(f"warning: {warning}")
        return job

    def follow(self, job_id: str) -> Json:
        """The job once it has succeeded; a bar shows how far it is."""
        with JobBar(self.told, is_shown=not self.told.quiet) as bar:
            for job in self.client.follow(job_id, LOOK_SECONDS):
                if self.supervisor is not None:
                    self.supervisor.check()
                bar.show(job)
        if job["status"] != "succeeded":
            raise JobNotSucceeded(job)
        return job

    def abandon(self) -> None:
        """Leave nothing behind in a service that goes on: neither a live job nor a corpus without one."""
        is_temporary = self.supervisor is not None and self.parsed.data_folder is None
        if self.corpus_id is None or is_temporary:
            return
        self.client.connection.timeout = ABANDON_SECONDS
        with suppress(NewfoundError):
            if self.submission is None:
                self.client.delete_corpus(self.corpus_id)
            else:
                job = self.client.submit(self.corpus_id, **self.submission)
                self.client.cancel(job["id"])
                say(f"job {job['id']} is cancelled")


def hint(error: Refused) -> str:
    """What to do about a file that lacks the column of labels which others have."""
    return "\nA file without labels is given as --no-labels FILE" if "(label=" in str(error) else ""


def in_options(text: str) -> str:
    """A refusal with the options of this command in place of the service's parameters."""
    return PARAMETER.sub(r"--\1 ", text.replace("discover=true", "--discover"))


def show(report: Json, parsed: argparse.Namespace) -> None:
    """Print what was found, and where the answers are."""
    if parsed.json:
        print(json.dumps({**report, "out": str(parsed.out)}, indent=2, ensure_ascii=False))
    elif not parsed.quiet:
        console = Console(highlight=False)
        show_answer(console, report["categories"])
        console.print(f"{report['answers']:,} answers are in {escape(str(parsed.out))}")
        if parsed.url is not None:
            console.print(f"The job is {escape(parsed.url.rstrip('/'))}{report['job']['links']['self']}")


def say(line: str) -> None:
    """Print a line for a person, apart from what the command prints as its result."""
    print(f"newfound: {line}", file=sys.stderr)
