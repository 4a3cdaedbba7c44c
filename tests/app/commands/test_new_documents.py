"""newfound categorize --with: new documents by the model of a job of the service, or by the file of a model."""

import csv
import json
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import update

from app.core.db import Database
from app.core.settings import Settings
from app.core.tables import CategorizedDay
from newfound_client import Client
from tests.app.commands.shell import refused_usage, run
from tests.worker import jobs

FRUIT, RIVER = "apple pear plum cherry peach grape", "danube rhine volga loire tagus ebro"
LINES = f"Id;Inhalt;Größe\n1;{FRUIT};=1+1\n2;{RIVER};b\n3;quark;{'x' * 200_000}\n"
GERMAN = ("--text", "Inhalt", "--key", "Id")


@pytest.fixture
def settings(settings: Settings) -> Settings:
    """Without limits that a wide column meets."""
    return settings.model_copy(update={"max_fields_bytes": 2**20, "max_line_bytes": 2**20})


@pytest.fixture
def job_id(database: Database, settings: Settings) -> str:
    """A calibrated job that has succeeded."""
    return jobs.finished(database, settings, jobs.submit_calibrated, text={"min_document_frequency": 1})


@pytest.fixture
def new(tmp_path: Path) -> Path:
    """A file of new documents."""
    path = tmp_path / "files" / "Neu.csv"
    path.parent.mkdir()
    path.write_text(LINES, encoding="utf-8")
    return path


def test_new_documents_are_answered_by_a_job_and_by_its_model_alike(
    url: str, job_id: str, new: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    model, by_job, by_file = (new.parent / name for name in ("a.newfound-model", "job.csv", "file.csv"))
    Client(url).export_model(job_id, model)
    assert run(new, "--with", job_id, "--url", url, "--out", by_job, *GERMAN) == 0
    output = capsys.readouterr()
    assert "fruit" in output.out and "new 1" in output.out and "3 answers are in" in output.out
    assert "Without a word that the model knows: 1." in output.out
    assert run(new, "--with", model, "--url", url, "--out", by_file, *GERMAN, "--quiet") == 0
    output = capsys.readouterr()
    assert (output.out, output.err) == ("", "")
    assert by_file.read_bytes() == by_job.read_bytes()
    assert by_job.read_bytes().startswith("\ufeff".encode()), "spreadsheets know UTF-8 by it"
    with by_job.open(encoding="utf-8-sig", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [(row["key"], row["known"], row["Größe"][:5]) for row in rows] == [
        ("1", "true", "'=1+1"),
        ("2", "false", "b"),
        ("3", "", "xxxxx"),
    ]
    assert list(Client(url).models(imported=True)) == [], "a model that was a file goes again"
    assert sorted(path.name for path in new.parent.iterdir()) == ["Neu.csv", model.name, by_file.name, by_job.name]


@pytest.mark.parametrize("ending", ["csv", "ndjson"])
def test_the_report_counts_categories_and_rows_that_cannot_be_used(
    url: str, job_id: str, new: Path, capsys: pytest.CaptureFixture[str], ending: str
) -> None:
    rows: list[Any] = [{"text": FRUIT, "n": 1}, {"text": ["no text"]}, {"text": RIVER}, {"text": "quark"}, {"text": {}}]
    new = new.with_suffix(".ndjson")
    new.write_text("".join(json.dumps(row) + "\n" for row in rows))
    out = new.parent / f"out.{ending}"
    assert run(new, "--with", job_id, "--url", url, "--out", out, "--json") == 0
    output = capsys.readouterr()
    told = json.loads(output.out)
    assert (told["documents"], told["without_evidence"], told["out"]) == (3, 1, str(out))
    assert sorted((each["name"][:5], each["known"], each["documents"]) for each in told["categories"]) == [
        ("fruit", True, 1),
        ("new 1", False, 1),
    ]
    assert told["rejected"] == 2 and [error["line"] for error in told["errors"]] == [2, 5]
    assert told["today"]["documents"] == 3 and 0.0 <= told["expected_novel"] <= 1.0
    assert f"warning: {new}: rows that cannot be used: 2" in output.err
    assert f"warning: {new}: line 2: the row cannot be used" in output.err


def test_an_alarm_of_the_drift_watch_is_a_warning(
    url: str, job_id: str, new: Path, database: Database, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = [new, "--with", job_id, "--url", url, "--out", new.parent / "out.csv", *GERMAN]
    assert run(*arguments) == 0
    assert "a new job may be due" not in capsys.readouterr().err
    with database.sessions.begin() as session:
        session.execute(update(CategorizedDay).values(n_documents=1000, n_novel=900))
    assert run(*arguments) == 0
    assert "warning: 90% of the documents that this model categorized on 20" in capsys.readouterr().err


def test_what_the_service_refuses_ends_with_1_and_leaves_nothing(
    url: str, job_id: str, new: Path, database: Database, capsys: pytest.CaptureFixture[str]
) -> None:
    out, damaged = new.parent / "out.csv", new.parent / "damaged.newfound-model"
    out.write_text("an older file")
    damaged.write_bytes(b"newfound-model of another kind")
    for arguments, told in (
        (["--with", job_id], "did you mean --text Inhalt"),
        (["--with", job_id.replace(job_id[:8], "0" * 8), *GERMAN], "there is no job 00000000-"),
        (["--with", damaged, *GERMAN], "the file is not a model that can be used"),
    ):
        assert run(new, "--url", url, "--out", out, *arguments) == 1
        assert told in capsys.readouterr().err
    queued, _ = jobs.submit(database, Client(url).job(job_id)["corpus_id"])
    assert run(new, "--url", url, "--out", out, "--with", queued, *GERMAN) == 1
    assert "newfound: " in (told := capsys.readouterr().err) and "queued" in told and "Traceback" not in told
    assert list(Client(url).models(imported=True)) == []
    assert out.read_text() == "an older file"
    assert sorted(path.name for path in new.parent.iterdir()) == ["Neu.csv", damaged.name, out.name]


def test_wrong_arguments_end_with_2(new: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = ["--out", new.parent / "out.csv"]
    model = new.parent / "a.newfound-model"
    model.write_bytes(b"")
    id_ = "7d9f2c3e-5a41-4b8e-9c1d-2f6a8b3e4d50"
    for arguments, told in (
        ([new, *out, "--with", "missing.model"], "neither a file nor the id of a job or of a model"),
        ([new, *out, "--with", id_], "say with --url or --data-folder which service has it"),
        ([new, new, *out, "--with", model], "--with: one FILE at a time"),
        ([new, *out, "--with", model, "--sweeps", "3"], "--sweeps: with --with no job is run"),
        ([new, *out, "--with", model, "--seed", "0"], "--seed: with --with no job is run"),
        ([new, *out, "--with", model, "--tag", "a"], "--tag: with --with no job is run"),
        ([new, *out, "--with", model, "--no-labels", new], "--no-labels: with --with no job is run"),
        ([new, *out, "--with", model, "--save-model", model], "--save-model: with --with no job is run"),
        ([new, "--out", model, "--with", model], "it is one of the files to be read"),
        ([new, "--out", new.parent / "out.xlsx", "--with", model], "the name of new documents should end with one of"),
    ):
        assert told in refused_usage(capsys, *arguments), told
    assert sorted(path.name for path in new.parent.iterdir()) == ["Neu.csv", model.name]
