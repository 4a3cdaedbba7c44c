"""The commands, and what they refuse in one line."""

import os
import socket
import sqlite3
import stat
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace

import pytest

from app import cli
from app.core.settings import Settings
from app.processes import folders
from app.processes.folders import FolderInUse, prepare, served_alone
from app.processes.kernel_cache import kernel_cache
from tests.waits import free_port

ROOT = Path(__file__).resolve().parent.parent.parent


def loaded_by(modules: str) -> set[str]:
    """The packages that a new process has loaded after importing some modules."""
    program = f"import sys, {modules}; print(*{{name.partition('.')[0] for name in sys.modules}})"
    return set(
        subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout.split()
    )


def test_a_worker_starts_with_nothing_that_it_has_no_use_for() -> None:
    """It is ready within two seconds. And numba is not there before the command has said where its cache is."""
    of_peers = {"pandas", "pyarrow", "sklearn"}
    of_others = {"alembic", "click_repl", "fastapi", "redis", "uvicorn", *of_peers}
    assert not loaded_by("app.__main__") & {"alembic", "celery", "fastapi", "numba", "uvicorn"}
    assert not loaded_by("app.__main__, worker.tasks") & of_others
    assert loaded_by("worker.baselines") >= of_peers


def test_the_command_runs_a_worker_with_its_name_and_the_kernels_of_this_version(
    migrated_copy: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told = []

    def run(name: str) -> int:
        told.append((name, os.environ["NUMBA_CACHE_DIR"]))
        return 3

    monkeypatch.setitem(sys.modules, "worker.tasks", SimpleNamespace(run=run))
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "kernels"))
    monkeypatch.setenv("NEWFOUND_DATABASE_URL", f"sqlite:///{migrated_copy}")
    monkeypatch.setenv("NEWFOUND_DATA_FOLDER", str(tmp_path))
    monkeypatch.setattr(cli, "kernels_are_compiled", lambda _: True)
    expected = str(kernel_cache(Settings()))
    assert cli.main(["worker", "--name", "w"]) == 3
    assert told == [("w@newfound", expected)]


def test_a_worker_that_compiles_first_is_seen_to_live(
    migrated_copy: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = []

    def compile_first(settings: Settings, meanwhile: Callable[[], None]) -> None:
        meanwhile()
        with closing(sqlite3.connect(migrated_copy)) as connection:
            names.extend(connection.execute("SELECT name FROM workers WHERE name LIKE 'compiling%'").fetchall())

    monkeypatch.setattr(cli, "compile_first", compile_first)
    monkeypatch.setitem(sys.modules, "worker.tasks", SimpleNamespace(run=lambda name: 0))
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "kernels"))
    monkeypatch.setenv("NEWFOUND_DATABASE_URL", f"sqlite:///{migrated_copy}")
    monkeypatch.setenv("NEWFOUND_DATA_FOLDER", str(tmp_path))
    assert cli.main(["worker", "--name", "compiling"]) == 0
    assert names == [("compiling@newfound",)]


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A data folder that is not there yet."""
    monkeypatch.setenv("NEWFOUND_DATA_FOLDER", str(tmp_path / "data"))
    return tmp_path / "data"


def refused(capsys: pytest.CaptureFixture[str], *arguments: str, code: int = 1) -> str:
    """The one line with which a command refuses to run."""
    assert cli.main(arguments) == code
    [line] = [line for line in capsys.readouterr().err.splitlines() if line.startswith("newfound: ")]
    return line


@pytest.mark.parametrize("command", ["migrate", "api", "worker"])
def test_a_database_that_cannot_be_reached_is_one_line(
    command: str, data: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("NEWFOUND_PORT", str(free_port()))
    monkeypatch.setenv("NEWFOUND_DATABASE_URL", f"postgresql+psycopg://u:hush@127.0.0.1:{free_port()}/d")
    told = refused(capsys, command)
    assert "the database postgresql+psycopg://u:***@127.0.0.1" in told
    assert "Connection refused" in told
    assert "hush" not in told


def test_a_file_that_is_no_database_and_a_folder_that_is_no_folder_are_one_line_each(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "text"
    file.write_text("no database\n" * 100)
    monkeypatch.setenv("NEWFOUND_DATABASE_URL", f"sqlite:///{file}")
    assert refused(capsys, "migrate").endswith("cannot be used: file is not a database")
    monkeypatch.setenv("NEWFOUND_DATABASE_URL", f"sqlite:///{file}/x/y.db")
    told = refused(capsys, "migrate", code=2)
    assert told == f"newfound: NEWFOUND_DATABASE_URL: the folder {file}/x cannot be made: Not a directory"


def test_a_data_folder_that_cannot_be_made_is_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("NEWFOUND_DATA_FOLDER", str(tmp_path / "file"))
    told = refused(capsys, "serve", code=2)
    assert told == f"newfound: NEWFOUND_DATA_FOLDER: the folder {tmp_path / 'file'} cannot be made: File exists"


def test_a_folder_that_this_user_may_not_write_to_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(folders.os, "access", lambda *_: False)  # root, who may run the tests, may write anywhere
    with pytest.raises(cli.WrongSetting, match=f"^NAME: the folder {tmp_path} cannot be written to by this user$"):
        prepare("NAME", tmp_path)


def test_a_schema_of_a_newer_version_is_one_line(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["migrate"]) == 0
    with closing(sqlite3.connect(data / "newfound.db")) as connection, connection:
        connection.execute("UPDATE alembic_version SET version_num = '9999'")
    assert "is at another version: Can't locate revision identified by '9999'" in refused(capsys, "migrate")
    assert "is at 9999, not at" in refused(capsys, "worker")


def test_the_data_folder_and_all_that_commands_put_there_are_for_one_user(data: Path) -> None:
    assert cli.main(["migrate"]) == 0
    code = (
        "from app.broker import queue; from app.processes.environment import read_settings; "
        "queue.configure(read_settings())"
    )
    subprocess.run(
        [sys.executable, "-c", f"import os; os.umask({folders.PRIVATE_UMASK}); {code}"], cwd=ROOT, check=True
    )
    modes = {path: stat.S_IMODE(path.stat().st_mode) for path in [data, *data.rglob("*")]}
    assert {data / "newfound.db", data / "broker" / "messages"} <= modes.keys()
    assert {path: mode for path, mode in modes.items() if mode & 0o077} == {}


def test_a_folder_that_is_there_keeps_its_mode_and_is_told_if_others_may_enter(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    for mode, n_warnings in ((0o750, 0), (0o755, 1)):
        tmp_path.chmod(mode)
        prepare("NAME", tmp_path)
        folders.warn_if_open(tmp_path)
        assert stat.S_IMODE(tmp_path.stat().st_mode) == mode
        assert len(caplog.records) == n_warnings
    assert f"`chmod -R o= {tmp_path}` closes it" in caplog.text


def test_a_second_serve_over_one_data_folder_is_refused_with_the_number_of_the_first(
    data: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data.mkdir()
    with served_alone(data):
        told = refused(capsys, "serve")
        assert f"another `newfound serve` (process {os.getpid()}) runs over {data}" in told
        with pytest.raises(FolderInUse), served_alone(data):
            pass
    with served_alone(data):
        pass  # free again


def test_a_serve_and_an_api_whose_port_is_taken_say_so_in_one_line(
    data: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        monkeypatch.setenv("NEWFOUND_PORT", str(port))
        for command in ("serve", "api"):
            assert f"the API cannot listen on port {port} of 127.0.0.1: it is in use" in refused(capsys, command)
    assert not (data / "newfound.db").exists()
