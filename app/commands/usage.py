"""Arguments that could only fail after all the work are refused before it."""

import argparse
import os
from collections.abc import Sequence
from pathlib import Path
from uuid import UUID

from newfound_client import Client
from newfound_client.files import LINE_FORMATS, TABLE_FORMATS

# Of a job: with --with there is none to begin.
OF_A_JOB = (
    *("no_labels", "descriptions", "save_model", "model", "n_categories", "seed", "sweeps", "chains", "discover"),
    *("name", "tag", "note"),
)
OF_A_NEW_JOB = ("model", "n_categories", "seed", "chains", "discover")  # a continuing job has them from the other one


def check_usage(parsed: argparse.Namespace) -> None:
    """Refuse wrong arguments: ends the command with its usage and exit code 2."""
    if parsed.frozen is not None:
        check_new_documents(parsed)
    elif parsed.continued is not None:
        check_continued(parsed)
    check_out(parsed, "--out", parsed.out)
    formats = TABLE_FORMATS if parsed.frozen is None else LINE_FORMATS
    if parsed.out.suffix.lower() not in formats:
        of = "" if parsed.frozen is None else " of new documents"
        parsed.refuse_usage(f"--out {parsed.out}: the name{of} should end with one of {', '.join(formats)}")
    if parsed.save_model is not None:
        check_out(parsed, "--save-model", parsed.save_model)
        if parsed.save_model.absolute() == parsed.out.absolute():
            parsed.refuse_usage(f"--save-model {parsed.save_model}: the answers go there")
    if parsed.url is not None:
        try:
            Client(parsed.url)
        except ValueError as error:
            parsed.refuse_usage(f"--url: {error}")


def check_out(parsed: argparse.Namespace, option: str, path: Path) -> None:
    """Refuse a file that cannot be written, or that is read."""
    if not os.access(path.absolute().parent, os.W_OK) or path.is_dir():
        parsed.refuse_usage(f"{option} {path}: no file can be written there")
    read = [*parsed.files, *parsed.no_labels, *([] if parsed.descriptions is None else [parsed.descriptions])]
    if is_file(parsed.frozen):
        read.append(Path(parsed.frozen))
    if any(path.exists() and path.samefile(file) for file in read):
        parsed.refuse_usage(f"{option} {path}: it is one of the files to be read")


def check_new_documents(parsed: argparse.Namespace) -> None:
    """Refuse what goes with a job alone, and a model that is nowhere."""
    refuse_given(parsed, OF_A_JOB, "with --with no job is run")
    if len(parsed.files) > 1:
        parsed.refuse_usage("--with: one FILE at a time")
    if is_file(parsed.frozen):
        return
    if not is_id(parsed.frozen):
        parsed.refuse_usage(f"--with {parsed.frozen}: neither a file nor the id of a job or of a model")
    check_service(parsed, f"--with {parsed.frozen}")


def check_continued(parsed: argparse.Namespace) -> None:
    """Refuse what only a new job has, and a job that is nowhere."""
    refuse_given(parsed, OF_A_NEW_JOB, "with --continue it is that of the job")
    if not is_id(parsed.continued):
        parsed.refuse_usage(f"--continue {parsed.continued}: not the id of a job")
    check_service(parsed, f"--continue {parsed.continued}")


def refuse_given(parsed: argparse.Namespace, names: Sequence[str], reason: str) -> None:
    """Refuse options if one of them is given, be it as 0 or as an empty text."""
    for name in names:
        value = getattr(parsed, name)
        if value is not None and value is not False and value != []:
            parsed.refuse_usage(f"--{name.replace('_', '-')}: {reason}")


def check_service(parsed: argparse.Namespace, option: str) -> None:
    """Refuse an id unless it is said which service has what it means."""
    if parsed.url is None and parsed.data_folder is None:
        parsed.refuse_usage(f"{option}: say with --url or --data-folder which service has it")


def is_file(frozen: str | None) -> bool:
    """Whether a model is given as a file."""
    return frozen is not None and Path(frozen).is_file()


def is_id(text: str) -> bool:
    """Whether a text may be the id of a job or of a model."""
    try:
        return str(UUID(text)) == text.lower()
    except ValueError:
        return False
