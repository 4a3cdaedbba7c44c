"""newfound prune, backup and restore, as an operator meets them."""

import re
import stat
from pathlib import Path

import pytest

from app import cli
from app.commands.upkeep import size
from app.core.db import connect
from tests.app.upkeep.aged import ended, job_ids

Shell = pytest.CaptureFixture[str]


@pytest.fixture
def data(migrated_copy: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A data folder with jobs that have ended 100 and 40 days ago."""
    folder = tmp_path / "data"
    folder.mkdir()
    migrated_copy.rename(folder / "newfound.db")
    monkeypatch.setenv("NEWFOUND_DATA_FOLDER", str(folder))
    database = connect(f"sqlite:///{folder / 'newfound.db'}")
    ended(database, 100.0)
    ended(database, 40.0)
    database.engine.dispose()
    return folder


def n_jobs(folder: Path) -> int:
    database = connect(f"sqlite:///{folder / 'newfound.db'}")
    found = len(job_ids(database))
    database.engine.dispose()
    return found


def test_prune_says_what_goes_leaves_it_when_dry_and_takes_it_out_otherwise(data: Path, capsys: Shell) -> None:
    arguments = ["prune", "--jobs-older-than", "90d", "--checkpoints-older-than", "30"]
    assert cli.main([*arguments, "--dry-run"]) == 0
    told = capsys.readouterr().out
    assert re.search(r"^1 jobs with all their results: \d+ rows, 1\.\d kB$", told, re.MULTILINE)
    assert "1 jobs that can only be read afterwards, without checkpoints: 5 rows, 1.0 kB\n" in told
    assert told.endswith("nothing was taken out (--dry-run)\n")
    assert n_jobs(data) == 2
    assert cli.main([*arguments, "--compact"]) == 0
    assert re.search(r"taken out\n.*newfound\.db: \d+\.\d [kM]B before, \d+\.\d [kM]B now\n$", capsys.readouterr().out)
    assert n_jobs(data) == 1


def test_prune_takes_its_ages_from_the_settings_and_by_default_keeps_all(
    data: Path, capsys: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert cli.main(["prune"]) == 0
    assert n_jobs(data) == 2
    monkeypatch.setenv("NEWFOUND_KEEP_JOBS_DAYS", "30")
    assert cli.main(["prune"]) == 0
    assert n_jobs(data) == 0
    assert "2 jobs with all their results" in capsys.readouterr().out


@pytest.mark.parametrize("age", ["soon", "-1d", "infd", "nan"])
def test_an_age_that_is_no_number_of_days_is_refused(age: str, capsys: Shell) -> None:
    with pytest.raises(SystemExit):
        cli.main(["prune", f"--jobs-older-than={age}"])
    assert "is not a number of days, such as 90d" in capsys.readouterr().err


def test_a_backup_comes_back_into_an_empty_data_folder_and_nowhere_else(
    data: Path, tmp_path: Path, capsys: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "newfound.backup"
    assert cli.main(["backup", str(file)]) == 0
    assert re.search(r"checked: 1 corpora, 2 jobs, 0 models, schema \d{4}\n$", capsys.readouterr().out)
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert cli.main(["backup", str(file)]) == 1
    assert cli.main(["restore", str(file)]) == 1
    told = capsys.readouterr().err
    assert "is already there, and is not written over" in told
    assert "has corpora, jobs or models" in told
    monkeypatch.setenv("NEWFOUND_DATA_FOLDER", str(tmp_path / "elsewhere"))
    assert cli.main(["restore", str(file)]) == 0
    assert n_jobs(tmp_path / "elsewhere") == 2


def test_backups_of_a_database_on_a_server_are_left_to_its_own_programs(
    capsys: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NEWFOUND_DATABASE_URL", "postgresql+psycopg://user:hush@host/name")
    monkeypatch.setenv("NEWFOUND_BROKER_URL", "redis://127.0.0.1:1/0")
    for command, program in (("backup", "pg_dump"), ("restore", "pg_restore")):
        assert cli.main([command, "file"]) == 1
        told = capsys.readouterr().err
        assert program in told
        assert "hush" not in told


def test_sizes_are_written_for_people() -> None:
    assert [size(n) for n in (0, 999, 1_000, 1_234_567, 5e9, 7e15)] == [
        "0 B", "999 B", "1.0 kB", "1.2 MB", "5.0 GB", "7000.0 TB",
    ]  # fmt: skip
