"""An embedded service for the time of one command, on a port of its own choosing."""

import os
import shutil
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from app.core.schema import migrate
from app.core.settings import Settings
from app.processes.address import address_of
from app.processes.environment import read_settings
from app.processes.folders import LOCK, PRIVATE_UMASK, prepare, served_alone, warn_if_open
from app.processes.kernel_cache import VARIABLE, prepare_kernel_cache
from app.processes.supervisor import ApiEnded, Supervisor

HOST = "127.0.0.1"
LAST_LINES = 5  # of a log, that say why the API did not start


@contextmanager
def embedded_service(
    setting: str, folder: Path, kernels: Path, *, is_fresh: bool = False, has_workers: bool = True
) -> Iterator[tuple[Supervisor, str]]:  # fmt: skip
    """Within this context a service runs over a data folder; its supervisor and its address.

    `setting` names the folder in refusals; `kernels` is where compiled kernels are kept for the next time; a fresh
    service begins without what is in the folder; one without workers answers, and runs no job. Whoever waits within
    the context calls `Supervisor.check`. Raises WrongSetting, FolderInUse, AddressError, ApiEnded.
    """
    mask = os.umask(PRIVATE_UMASK)
    try:
        prepare(setting, folder)
        with served_alone(folder):
            if is_fresh:
                clear(folder)
            warn_if_open(folder)
            settings = settings_over(folder)
            os.environ.setdefault(VARIABLE, str(kernels))
            prepare_kernel_cache(settings)
            migrate(settings.database)
            with Supervisor(settings, folder / "logs", has_workers=has_workers) as supervisor:
                wait_until_listening(supervisor, folder / "logs" / "api.log")
                yield supervisor, address_of(HOST, settings.port)
    finally:
        os.umask(mask)


def clear(folder: Path) -> None:
    """Delete all that is in a folder but the lock, which is held."""
    for path in folder.iterdir():
        if path.is_dir():
            shutil.rmtree(path)
        elif path.name != LOCK:
            path.unlink()


def settings_over(folder: Path) -> Settings:
    """The settings of a service over a data folder: those of the environment, but for where it is and its data are."""
    return read_settings(
        secrets_folder=None,  # it may name another database
        data_folder=folder.absolute(),
        database_url=None,
        broker_url=None,
        encodings_folder=None,
        uploads_folder=None,
        host=HOST,
        port=free_port(),
        root_path="",
    )


def free_port() -> int:
    """A port that nobody listens on."""
    with socket.socket() as probe:
        probe.bind((HOST, 0))
        return int(probe.getsockname()[1])


def wait_until_listening(supervisor: Supervisor, log: Path) -> None:
    """Return when the API takes connections. Raises AddressError, or ApiEnded with the end of its log."""
    try:
        supervisor.wait_until_listening()
    except ApiEnded as error:
        last = log.read_text(errors="replace").splitlines()[-LAST_LINES:]
        raise ApiEnded("\n".join([str(error), *last])) from error
