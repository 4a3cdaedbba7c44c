"""Settings that come as files: no secret need be in an environment, where more can see it."""

import json
from pathlib import Path

import pytest

from app import cli
from app.processes.environment import WrongSetting, read_settings
from app.processes.supervisor import environment

DATABASE = "postgresql+psycopg://u:hush@h/d"
BROKER = "redis://:hush@h:6379/0"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the URL of a database, as Docker and Kubernetes make one."""
    monkeypatch.setenv("NEWFOUND_SECRETS_FOLDER", str(tmp_path))
    (tmp_path / "NEWFOUND_DATABASE_URL").write_text(f"{DATABASE}\n")
    return tmp_path


def test_a_file_of_the_secrets_folder_is_a_setting(folder: Path) -> None:
    (folder / "newfound_port").write_text("8100\n")
    (folder / "NEWFOUND_BROKER_URL").write_text("\n")
    (folder / "somebody_elses").write_bytes(b"\xff")
    settings = read_settings()
    assert (settings.database, settings.port) == (DATABASE, 8100)
    assert settings.broker == "filesystem://", "an empty file counts as none"


def test_the_files_may_be_links_as_kubernetes_makes_them(folder: Path) -> None:
    (folder / "..data").mkdir()
    (folder / "..data" / "NEWFOUND_BROKER_URL").write_text(BROKER)
    (folder / "NEWFOUND_BROKER_URL").symlink_to(Path("..data") / "NEWFOUND_BROKER_URL")
    assert read_settings().broker == BROKER


def test_the_environment_counts_before_the_folder(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NEWFOUND_DATABASE_URL", "sqlite:////x.db")
    assert read_settings().database == "sqlite:////x.db"


def test_config_says_what_is_from_the_folder_and_masks_it(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["config", "--json"]) == 0
    told = capsys.readouterr().out
    shown = json.loads(told)
    assert shown["NEWFOUND_DATABASE_URL"] == {"value": "postgresql+psycopg://u:***@h/d", "from": "secrets folder"}
    assert shown["NEWFOUND_SECRETS_FOLDER"] == {"value": str(folder), "from": "environment"}
    assert shown["NEWFOUND_PORT"]["from"] == "default"
    assert "hush" not in told


def test_the_children_of_serve_read_the_folder_and_get_no_secret_in_their_environment(folder: Path) -> None:
    given = environment(read_settings())
    assert given["NEWFOUND_SECRETS_FOLDER"] == str(folder)
    assert not [name for name, value in given.items() if "hush" in value]
    other = environment(read_settings(database_url="sqlite:////x.db"))
    assert other["NEWFOUND_DATABASE_URL"] == "sqlite:////x.db"


@pytest.mark.parametrize(
    ("name", "content", "reason"),
    [
        ("NEWFOUND_DATABASE", b"x", "NEWFOUND_DATABASE: unknown setting; did you mean NEWFOUND_DATABASE_URL?"),
        ("NEWFOUND_PORT", b"abc", "NEWFOUND_PORT: 'abc' should be a valid integer"),
        ("NEWFOUND_BROKER_URL", b"amqp://u:hush@h", "NEWFOUND_BROKER_URL: its transport must be one of"),
        ("NEWFOUND_BROKER_URL", b"\xff", "NEWFOUND_SECRETS_FOLDER: a file of it cannot be read"),
    ],
)
def test_a_wrong_file_is_one_line_that_names_it_and_keeps_its_secret(
    name: str, content: bytes, reason: str, folder: Path
) -> None:
    (folder / name).write_bytes(content)
    with pytest.raises(WrongSetting) as error:
        read_settings()
    assert str(error.value).startswith(reason)
    assert "hush" not in str(error.value)
    assert str(error.value).count("\n") == 0


def test_a_folder_that_is_not_there_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NEWFOUND_SECRETS_FOLDER", str(tmp_path / "none"))
    with pytest.raises(WrongSetting, match=r"^NEWFOUND_SECRETS_FOLDER: a file of it cannot be read: .*No such file"):
        read_settings()
