"""What the environment says: every wrong setting is one line that names it, and what is in force can be shown."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from app import cli
from app.core.settings import Settings
from app.processes.environment import OTHERS, WrongSetting, read_settings

ROOT = Path(__file__).resolve().parents[3]
PAGE = (ROOT / "docs" / "operations.md").read_text()

WRONG = [
    ("PORT", "abc", "'abc' should be a valid integer"),
    ("PORT", "0", "'0' should be greater than or equal to 1"),
    ("PORT", "65536", "'65536' should be less than or equal to 65535"),
    ("WORKERS", "1.5", "'1.5' should be a valid integer"),
    ("LEASE_SECONDS", "nan", "'nan' should be a finite number"),
    ("LEASE_SECONDS", "inf", "'inf' should be a finite number"),
    ("SAVE_SECONDS", "-1", "'-1' should be greater than 0"),
    ("HEARTBEAT_SECONDS", "60", "60 should be less than NEWFOUND_LEASE_SECONDS, which is 60"),
    ("SAVE_SECONDS", "61", "61 should be less than NEWFOUND_LEASE_SECONDS, which is 60"),
    ("DATABASE_URL", "nonsense", "it is not a URL such as postgresql"),
    ("DATABASE_URL", "postgresql://u:hush@h:x/d", "it is not a URL such as postgresql"),
    ("DATABASE_URL", "mysql://u:hush@h/d", "it names mysql; Newfound runs on"),
    ("DATABASE_URL", "postgresql+psycopg2://u:hush@h/d", "the driver must be postgresql+psycopg"),
    ("DATABASE_URL", "sqlite://", "it names no file"),
    ("DATABASE_URL", "sqlite:////x.db?timeout=hush", "SQLite takes no parameters here: timeout"),
    ("BROKER_URL", "amqp://u:hush@h", "its transport must be one of filesystem://, redis://, rediss://"),
    ("BROKER_URL", "redis://:hush@h:x/0", "it is not a URL such as redis://"),
    ("BROKER_URL", "redis://:hush@h/x", "it is not a URL such as redis://"),
    ("BROKER_URL", "redis:hush", "it is not a URL such as redis://"),
]


@pytest.mark.parametrize(("name", "value", "reason"), WRONG)
def test_a_wrong_setting_is_one_line_that_names_it_and_keeps_its_secret(
    name: str, value: str, reason: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv(f"NEWFOUND_{name}", value)
    assert cli.main(["config"]) == 2
    told = capsys.readouterr()
    assert re.fullmatch(rf"newfound: NEWFOUND_{name}: .*{re.escape(reason)}.*\n", told.err), told.err
    assert "hush" not in told.err
    assert told.out == ""


@pytest.mark.parametrize("command", ["serve", "api", "worker", "compile", "migrate", "config"])
def test_every_command_refuses_a_wrong_setting(
    command: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("NEWFOUND_PORT", "abc")
    assert cli.main([command]) == 2
    assert capsys.readouterr().err.count("\n") == 1


@pytest.mark.parametrize(
    ("name", "nearest"),
    [("NEWFOUND_WORKER", "WORKERS"), ("NEWFOUND_DATABASE", "DATABASE_URL"), ("newfound_ports", "PORT")],
)
def test_an_unknown_name_is_refused_with_the_nearest_right_one(
    name: str, nearest: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(name, "1")
    with pytest.raises(WrongSetting, match=f"^{name}: unknown setting; did you mean NEWFOUND_{nearest}\\?$"):
        read_settings()


def test_all_faults_are_told_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("PORT", "THREADS", "THREAD"):
        monkeypatch.setenv(f"NEWFOUND_{name}", "none")
    with pytest.raises(WrongSetting) as error:
        read_settings()
    assert [line.partition(":")[0] for line in str(error.value).splitlines()] == [
        "NEWFOUND_THREAD",
        "NEWFOUND_PORT",
        "NEWFOUND_THREADS",
    ]


def test_the_compose_files_own_variables_and_empty_ones_are_no_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    used = set(re.findall(r"\$\{(NEWFOUND_\w+)", (ROOT / "docker-compose.yml").read_text()))
    variables = used - {f"NEWFOUND_{field.upper()}" for field in Settings.model_fields}
    assert variables
    for name in variables:
        monkeypatch.setenv(name, "0.0.0.0:8000")
    monkeypatch.setenv("NEWFOUND_PORT", "")
    assert read_settings() == Settings()


def test_config_shows_what_is_in_force_and_where_it_comes_from(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("NEWFOUND_DATA_FOLDER", str(tmp_path / "data"))
    monkeypatch.setenv("NEWFOUND_BROKER_URL", "redis://:hush@h:6379/0")
    assert cli.main(["config"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert f"NEWFOUND_DATA_FOLDER = {tmp_path / 'data'}  (environment)" in lines
    assert f"NEWFOUND_DATABASE_URL = sqlite:///{tmp_path / 'data' / 'newfound.db'}  (default)" in lines
    assert "NEWFOUND_BROKER_URL = redis://:***@h:6379/0  (environment)" in lines
    assert "NEWFOUND_PORT = 8000  (default)" in lines
    assert len(lines) == len(Settings.model_fields)
    assert not (tmp_path / "data").exists()

    assert cli.main(["config", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["NEWFOUND_PORT"] == {"value": 8000, "from": "default"}
    assert list(told) == [line.partition(" ")[0] for line in lines]


@pytest.mark.parametrize("parameter", ["password", "sslpassword"])
def test_config_shows_no_secret_of_a_database(
    parameter: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("NEWFOUND_DATABASE_URL", f"postgresql+psycopg://u:hush@h/d?connect_timeout=3&{parameter}=hush")
    assert cli.main(["config"]) == 0
    told = capsys.readouterr().out
    assert "postgresql+psycopg://u:***@h/d?connect_timeout=3" in told
    assert "hush" not in told


def test_the_page_for_operators_has_a_row_for_every_setting() -> None:
    named = {name for row in re.findall(r"^\| ([A-Z_, ]+) \|", PAGE, re.MULTILINE) for name in row.split(", ")}
    assert {field.upper() for field in Settings.model_fields} == named


def test_nothing_in_the_repository_sets_a_variable_that_is_no_setting() -> None:
    """A word that starts as settings do would be refused by every command that inherits it."""
    known = {f"NEWFOUND_{field.upper()}" for field in Settings.model_fields} | OTHERS
    paths = [ROOT / "Dockerfile", ROOT / "Makefile", ROOT / "docker-compose.yml", ROOT / "README.md"]
    paths += [path for room in ("app", "worker", "examples", "benchmarks") for path in (ROOT / room).rglob("*.py")]
    found = {name for path in paths for name in re.findall(r"NEWFOUND_[A-Z_]*[A-Z]", path.read_text())}
    assert found <= known


def test_the_version_is_that_of_the_package(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        cli.main(["--version"])
    project = re.search(r'^version = "(.*)"$', (ROOT / "pyproject.toml").read_text(), re.MULTILINE)
    assert project is not None
    assert (ended.value.code, capsys.readouterr().out) == (0, f"newfound {project[1]}\n")


def test_a_process_is_told_its_faults_before_it_does_anything(tmp_path: Path) -> None:
    answer = subprocess.run(
        [sys.executable, "-m", "app", "worker"],
        cwd=ROOT,
        env=os.environ | {"NEWFOUND_DATA_FOLDER": str(tmp_path / "data"), "NEWFOUND_LEASE_SECONDS": "1"},
        capture_output=True,
        text=True,
    )
    assert answer.returncode == 2
    assert answer.stderr == (
        "newfound: NEWFOUND_HEARTBEAT_SECONDS: 15 should be less than NEWFOUND_LEASE_SECONDS, which is 1\n"
    )
    assert not (tmp_path / "data").exists()
