"""A worker believes its kernels' folder only if nobody else could have put something there."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from app import cli
from app.processes import trust
from app.processes.environment import WrongSetting
from app.processes.trust import check_files, check_trusted
from tests import guard

ROOT = Path(__file__).resolve().parents[3]
NOBODY = 65534

as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files to another user")


@pytest.fixture
def place() -> Iterator[Path]:
    """A folder that all users may enter, unlike those that pytest makes."""
    place = guard.make_folder("trust")
    place.chmod(0o755)
    yield place
    guard.remove(place)


@pytest.fixture
def folder(place: Path) -> Path:
    """A folder for this user alone within another one, with a file."""
    inner = place / "kernels" / "version"
    inner.mkdir(parents=True)
    for path in (inner.parent, inner):
        path.chmod(0o755)
    (inner / "kernel.nbi").touch(mode=0o644)
    return inner


def is_trusted(folder: Path, **options: bool) -> bool:
    """Whether a folder passes."""
    try:
        check_trusted("NAME", folder, **options)
        check_files("NAME", folder)
    except WrongSetting as error:
        assert str(error).startswith("NAME: ")
        return False
    return True


def test_a_folder_of_this_user_alone_is_trusted(folder: Path) -> None:
    assert is_trusted(folder)


@pytest.mark.parametrize("depth", [0, 1])
def test_a_folder_that_others_may_write_to_is_refused_and_so_is_one_above(folder: Path, depth: int) -> None:
    [folder, folder.parent][depth].chmod(0o757)
    assert not is_trusted(folder)


def test_a_sticky_folder_above_is_as_safe_as_tmp_but_the_folder_itself_may_not_be_one(folder: Path) -> None:
    folder.parent.chmod(0o1777)
    assert is_trusted(folder)
    folder.chmod(0o1777)
    assert not is_trusted(folder)


def test_what_lies_below_a_folder_that_others_cannot_enter_is_out_of_their_reach(folder: Path) -> None:
    """As a volume of Kubernetes, which anybody may write to, below a folder of the image's user."""
    folder.chmod(0o777)
    folder.parent.chmod(0o750)
    check_trusted("NAME", folder)
    folder.parent.chmod(0o751)
    assert not is_trusted(folder)


def test_a_group_counts_as_others_unless_it_is_this_users_own(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder.chmod(0o775)
    assert is_trusted(folder)  # the group has the user's name and no other member
    monkeypatch.setattr(trust, "is_private", lambda _: False)
    assert not is_trusted(folder)
    assert is_trusted(folder, with_group=True)


@as_root
def test_a_folder_or_a_file_of_another_user_is_refused(folder: Path) -> None:
    for path in (folder.parent, folder, folder / "kernel.nbi"):
        os.chown(path, NOBODY, NOBODY)
        assert not is_trusted(folder), path
        os.chown(path, 0, 0)
    assert is_trusted(folder)


def test_a_file_that_others_may_change_is_refused(folder: Path) -> None:
    (folder / "kernel.nbi").chmod(0o646)
    assert not is_trusted(folder)


def test_a_link_leads_to_what_is_looked_at(folder: Path, place: Path) -> None:
    (place / "link").symlink_to(folder)
    assert is_trusted(place / "link")
    folder.chmod(0o777)
    assert not is_trusted(place / "link")


@pytest.mark.parametrize("command", ["serve", "worker", "compile"])
def test_no_command_runs_kernels_out_of_a_folder_that_others_may_write_to(
    command: str, place: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    shared = place / "shared"
    shared.mkdir()
    shared.chmod(0o777)
    monkeypatch.setenv("NEWFOUND_DATA_FOLDER", str(place / "data"))
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(shared))
    assert cli.main([command]) == 2
    told = capsys.readouterr().err
    assert told.startswith("newfound: NUMBA_CACHE_DIR: the folder ")
    assert f"other users may write to {shared}" in told
    assert told.count("\n") == 1


@pytest.mark.parametrize("command", ["serve", "api", "worker", "migrate"])
def test_no_command_takes_messages_from_a_folder_that_others_may_write_to(
    command: str, place: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    data = place / "data"
    data.mkdir()
    data.chmod(0o777)
    monkeypatch.setenv("NEWFOUND_DATA_FOLDER", str(data))
    assert cli.main([command]) == 2
    told = capsys.readouterr().err
    assert told.startswith("newfound: NEWFOUND_DATA_FOLDER: the folder ")
    assert told.count("\n") == 1


def test_the_api_neither_loads_numba_nor_makes_a_folder_of_kernels(tmp_path: Path) -> None:
    """So nothing that runs in the API can hand code to a worker by that way."""
    code = (
        "import sys; from app.core.schema import migrate; from app.http.main import create_app; "
        "from app.processes.environment import read_settings; from starlette.testclient import TestClient; "
        "settings = read_settings(); migrate(settings.database); client = TestClient(create_app(settings)); "
        "client.__enter__(); assert client.get('/health').status_code == 200; client.__exit__(None, None, None); "
        "sys.exit('numba' in sys.modules)"
    )
    places = {"NEWFOUND_DATA_FOLDER": str(tmp_path), "NEWFOUND_TRUSTED_HOSTS": "testserver"}
    environment = os.environ | places | {"NUMBA_CACHE_DIR": str(tmp_path / "kernels")}
    subprocess.run([sys.executable, "-c", code], cwd=ROOT, env=environment, check=True)
    assert not (tmp_path / "kernels").exists()
