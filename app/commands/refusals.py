"""What the service says of files and options, in the words of the command."""

import argparse
import re
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from app.commands import CommandFailed
from newfound_client import Refused

READING = ("format", "text", "key", "vector", "charset", "delimiter", "header", "sheet")  # options for all files
LABELS = ("label", "unlabeled")
MOST_ROWS = 5  # that could not be used, which are shown
PARAMETER = re.compile(rf"\b({'|'.join((*READING, *LABELS))})=")  # as the service speaks of options


def given(parsed: argparse.Namespace, *names: str) -> dict[str, Any]:
    """The options of the command, by the names that the service has for them."""
    return {name: getattr(parsed, name) for name in names}


def refused_file(path: Path, error: Refused) -> CommandFailed:
    """Why a file was refused."""
    hint = "\nA file without labels is given as --no-labels FILE" if "(label=" in str(error) else ""
    return CommandFailed(in_options(f"{path}: {error}{hint}"))


def in_options(text: str) -> str:
    """A refusal with the options of this command in place of the service's parameters."""
    return PARAMETER.sub(r"--\1 ", text.replace("discover=true", "--discover"))


def warn_of_rows(path: Path, n_rows: int, rows: list[Mapping[str, Any]]) -> None:
    """Say which rows of a file cannot be used; `rows` are the first of them."""
    if n_rows:
        say(f"warning: {path}: rows that cannot be used: {n_rows}")
        for row in rows[:MOST_ROWS]:
            say(f"warning: {path}: line {row['line']}: {row['reason']}")


def say(line: str) -> None:
    """Print a line for a person, apart from what the command prints as its result."""
    print(f"newfound: {line}", file=sys.stderr)
