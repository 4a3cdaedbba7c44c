"""newfound keys: what it prints where, and what it refuses."""

import json
import re
from pathlib import Path

import pytest

from app import cli
from app.core.schema import migrate


@pytest.fixture(autouse=True)
def data(migrated_copy: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A database with the schema."""
    monkeypatch.setenv("NEWFOUND_DATABASE_URL", f"sqlite:///{migrated_copy}")
    monkeypatch.setenv("NEWFOUND_DATA_FOLDER", str(tmp_path))


def test_a_key_is_printed_once_and_nothing_else_with_it(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["keys", "create", "--owner", "ada", "--name", "laptop", "--days", "90"]) == 0
    made = capsys.readouterr()
    assert re.fullmatch(r"nf_[0-9a-f]{12}_[A-Za-z0-9_-]{43}\n", made.out)
    assert "not shown again" in made.err and "first one" in made.err
    assert cli.main(["keys", "list", "--json"]) == 0
    listed = capsys.readouterr().out
    [key] = json.loads(listed)
    assert (key["owner"], key["name"], key["scopes"], key["revoked"]) == ("ada", "laptop", "read write", None)
    assert key["expires"] > key["created"]
    assert made.out.strip().split("_", 2)[2] not in listed
    assert cli.main(["keys", "create"]) == 0
    assert "first one" not in capsys.readouterr().err


def test_a_revoked_key_is_listed_as_such(capsys: pytest.CaptureFixture[str]) -> None:
    cli.main(["keys", "create", "--owner", "ada", "--scopes", "admin"])
    key_id = capsys.readouterr().out.split("_")[1]
    assert cli.main(["keys", "revoke", key_id]) == 0
    assert key_id in capsys.readouterr().out
    cli.main(["keys", "list"])
    shown = capsys.readouterr().out
    assert key_id in shown and "UTC" in shown and "admin" in shown
    assert cli.main(["keys", "revoke", key_id]) == 1
    assert "revoked before" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["create", "--owner", "a b"], "no name of an owner"),
        (["create", "--days", "0"], "--days"),
        (["create", "--days", "nan"], "--days"),
        (["revoke", "0" * 12], "no key"),
    ],
)
def test_what_cannot_be_done_is_refused_in_one_line(
    arguments: list[str], told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["keys", *arguments]) == 1
    refused = capsys.readouterr()
    assert told in refused.err and refused.err.count("\n") == 1 and not refused.out


def test_keys_of_a_database_without_a_schema_are_refused_with_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("NEWFOUND_DATABASE_URL", f"sqlite:///{tmp_path / 'fresh.db'}")
    assert cli.main(["keys", "list"]) == 1
    assert "newfound migrate" in capsys.readouterr().err
    migrate(f"sqlite:///{tmp_path / 'fresh.db'}")
    assert cli.main(["keys", "list", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == []
