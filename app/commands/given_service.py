"""The service that a command speaks to: a running one, or one for the time of the command."""

import argparse
import os
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from rich.console import Console

from app.commands.embedded import embedded_service
from app.processes.supervisor import Supervisor
from newfound_client import Client


@contextmanager
def given_service(
    parsed: argparse.Namespace, told: Console, *, has_workers: bool = True
) -> Iterator[tuple[Client, Supervisor | None]]:  # fmt: skip
    """Within this context there is a service: the one at --url, or one of our own, with its supervisor."""
    if parsed.url is not None:
        yield Client(parsed.url), None
        return
    told.print(f"Starting a service for the time of the {'job' if has_workers else 'command'}.")
    with ExitStack() as stack:
        folder = parsed.data_folder
        if folder is None:
            temporary = tempfile.TemporaryDirectory(prefix="newfound-", ignore_cleanup_errors=True)
            folder = Path(stack.enter_context(temporary))
        kernels = user_cache() / "kernels"
        service = embedded_service("--data-folder", folder, kernels, has_workers=has_workers)
        supervisor, url = stack.enter_context(service)
        yield Client(url), supervisor


def user_cache() -> Path:
    """Where this user's programs keep what can be made again."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "newfound"
