"""Services that browsers open: processes of their own, over loopback."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from tests.client import Client
from tests.faults.programs import Program
from tests.waits import free_port, wait_for


class Service(Client):
    """A process of the service, and a client of it."""

    def __init__(self, program: Program, port: int) -> None:
        self.program = program
        self.address = f"http://127.0.0.1:{port}"
        super().__init__(self.address)

    def is_up(self) -> bool:
        """Whether the service answers and is well."""
        assert self.program.is_running(), self.program.tail()
        return super().is_up()


@contextmanager
def serving(command: str, folder: Path, settings: Mapping[str, str] | None = None) -> Iterator[Service]:
    """Within this context `newfound <command>`, which is `serve` or `api`, is up over the data of a folder."""
    port = free_port()
    environment = {"NEWFOUND_DATA_FOLDER": str(folder), "NEWFOUND_PORT": str(port), "NEWFOUND_SAVE_SECONDS": "0.2"}
    program = Program(command, [command], environment | dict(settings or {}), folder / f"{command}.log")
    try:
        program.start()
        service = Service(program, port)
        with service.http:
            wait_for(service.is_up, f"newfound {command} is up")
            yield service
        code, _ = program.terminate()
        assert code == 0, program.tail()
    finally:
        program.stop()
