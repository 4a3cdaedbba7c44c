"""newfound categorize with a service of its own, as a person at a shell meets it: real processes, real signals."""

import csv
import json
import os
import signal
import sqlite3
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import psutil
import pytest

from app.processes.folders import FolderInUse, served_alone
from tests.waits import PATIENCE, slowness, wait_for

ROOT = Path(__file__).resolve().parent.parent
GERMAN = ["--charset", "windows-1252", "--text", "Betreff", "--text", "Inhalt", "--label", "Kategorie"]
SMALL = ["--model", "lbpl-ntm", "--sweeps", "20", "--chains", "1", "--seed", "3"]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder of somebody who has a program called `app` there."""
    folder = tmp_path / "mine"
    (folder / "tmp").mkdir(parents=True)
    (folder / "app.py").write_text("raise SystemExit('somebody else')")
    return folder


@pytest.fixture
def export(folder: Path) -> Path:
    """The sample as a German spreadsheet writes it."""
    labeled, unlabeled = (
        [json.loads(line) for line in (ROOT / "examples" / name).read_text().splitlines()[::5]]
        for name in ("labeled.ndjson", "unlabeled.ndjson")
    )
    rows = [(row["key"], *row["text"].split("\n", 1), row.get("label") or "", "groß") for row in labeled + unlabeled]
    path = folder / "Export.csv"
    with path.open("w", encoding="cp1252", errors="ignore", newline="") as file:
        writer = csv.writer(file, delimiter=";")
        writer.writerows([("Schlüssel", "Betreff", "Inhalt", "Kategorie", "Größe"), *rows])
    return path


@contextmanager
def started(folder: Path, arguments: Sequence[object]) -> Iterator["subprocess.Popen[str]"]:
    """The command within this context; at its end nothing of it may be left."""
    ours = {"PYTHONPATH": str(ROOT), "PYTHONSAFEPATH": "1", "TMPDIR": str(folder / "tmp"), "COLUMNS": "150"}
    ours |= {"NEWFOUND_WORKERS": "1", "NEWFOUND_SAVE_SECONDS": "0.2"}  # one chain has no use for a second worker
    command = subprocess.Popen(
        [sys.executable, "-m", "app", "categorize", *map(str, arguments)],
        cwd=folder,
        env=os.environ | ours,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        yield command
    finally:
        if command.poll() is None:
            command.kill()
            command.communicate()
    wait_for(lambda: not children_in(folder), "no process is left", 30 * slowness())
    assert list((folder / "tmp").iterdir()) == [], "no temporary data are left"


def children_in(folder: Path) -> list[psutil.Process]:
    """The processes of services whose data are below a folder."""
    found = []
    for process in psutil.process_iter():
        try:
            if str(folder) in process.environ().get("NEWFOUND_DATA_FOLDER", ""):
                found.append(process)
        except (psutil.NoSuchProcess, psutil.AccessDenied):
            continue
    return found


def test_a_german_spreadsheet_is_categorized_by_a_service_that_is_gone_afterwards(folder: Path, export: Path) -> None:
    out, model = folder / "Antworten.csv", folder / "Aufsätze.newfound-model"
    arguments = [export, *GERMAN, "--key", "Schlüssel", *SMALL, "--out", out, "--save-model", model]
    with started(folder, arguments) as command:
        printed, told = command.communicate(timeout=PATIENCE)
        assert command.returncode == 0, told
    assert "6 known categories" in printed and "304 answers are in" in printed
    with out.open(encoding="utf-8-sig", newline="") as file:
        rows = list(csv.DictReader(file))
    assert (len(rows), {row["Größe"] for row in rows}) == (304, {"groß"})
    kept = {row["key"]: row for row in rows}
    original = json.loads((ROOT / "examples" / "unlabeled.ndjson").read_text().splitlines()[0])
    assert kept[original["key"]]["text"].split() == original["text"].encode("cp1252", "ignore").decode("cp1252").split()
    with (ROOT / "examples" / "truth.csv").open() as file:
        truth = {row["key"]: row["label"] for row in csv.DictReader(file)}
    by_label = Counter((truth[row["key"]], row["category"]) for row in rows)
    assert by_label["Group theory", "Group theory"] > 0.6 * sum(
        count for (label, _), count in by_label.items() if label == "Group theory"
    )
    check_new_documents(folder, export, model, kept)
    for file_of_user in (out, model):
        assert file_of_user.stat().st_mode & 0o777 == export.stat().st_mode & 0o777, "an ordinary file of this user"


def check_new_documents(folder: Path, export: Path, model: Path, answers: dict[str, dict[str, str]]) -> None:
    """By the model that was saved, the same documents get the same answers, without a job and without workers."""
    out = folder / "sortiert.ndjson"
    with started(folder, [export, *GERMAN, "--key", "Schlüssel", "--with", model, "--out", out]) as command:
        printed, told = command.communicate(timeout=PATIENCE)
        assert (command.returncode, "400 answers are in" in printed) == (0, True), told
    rows = {row["key"]: row for row in map(json.loads, out.read_text(encoding="utf-8").splitlines())}
    assert {key: rows[key]["name"] or "" for key in answers} == {key: row["category"] for key, row in answers.items()}


@pytest.mark.parametrize("number", [signal.SIGINT, pytest.param(signal.SIGTERM, marks=pytest.mark.slow)])
def test_an_interrupt_leaves_no_process_and_no_file(folder: Path, export: Path, number: signal.Signals) -> None:
    arguments = [export, *GERMAN, *SMALL, "--sweeps", "100000", "--out", "out.csv"]
    with started(folder, arguments) as command:
        wait_for(lambda: has_job_that_sweeps(folder / "tmp"), "the job is under way")
        assert len(children_in(folder)) >= 2, "the API and a worker run"
        command.send_signal(number)
        _, told = command.communicate(timeout=PATIENCE)
        assert command.returncode == 130, told
        assert "Traceback" not in told
    assert sorted(path.name for path in folder.iterdir()) == ["Export.csv", "app.py", "tmp"]


def has_job_that_sweeps(folder: Path) -> bool:
    """Whether the service with a data folder in this one has a job with draws."""
    return any(asked(file, "SELECT count(*) FROM draws") != [(0,)] for file in folder.glob("*/newfound.db"))


def asked(file: Path, query: str) -> list[Any]:
    """The rows of a database; none while it is being made."""
    try:
        with closing(sqlite3.connect(f"file:{file}?mode=ro", uri=True)) as connection:
            return connection.execute(query).fetchall()
    except sqlite3.OperationalError:
        return [(0,)]


@pytest.mark.slow
def test_a_data_folder_keeps_the_job_which_an_interrupt_cancels(folder: Path, export: Path) -> None:
    data = folder / "data"
    arguments = [export, *GERMAN, "--data-folder", data, "--out", "out.csv", "--name", "kept"]
    with started(folder, [*arguments, "--model", "lbpl-ntm", "--sweeps", "100000"]) as command:
        wait_for(lambda: has_job_that_sweeps(folder), "the job is under way")
        with pytest.raises(FolderInUse), served_alone(data):
            pass
        command.send_signal(signal.SIGINT)
        _, told = command.communicate(timeout=PATIENCE)
        assert (command.returncode, "is cancelled" in told) == (130, True), told
    assert asked(data / "newfound.db", "SELECT name, status FROM jobs") == [("kept", "cancelled")]
    assert data.stat().st_mode & 0o077 == 0, "the data are for one user"
    with started(folder, [*arguments, *SMALL, "--quiet"]) as command:
        printed, told = command.communicate(timeout=PATIENCE)
        assert (command.returncode, printed) == (0, ""), told
    assert asked(data / "newfound.db", "SELECT status FROM jobs ORDER BY created_at") == [
        ("cancelled",),
        ("succeeded",),
    ]
    [(job_id,)] = asked(data / "newfound.db", "SELECT id FROM jobs WHERE status = 'succeeded'")
    new = [export, *GERMAN, "--data-folder", data, "--with", job_id, "--out", "new.csv"]
    with started(folder, new) as command:
        printed, told = command.communicate(timeout=PATIENCE)
        assert (command.returncode, "400 answers are in new.csv" in printed) == (0, True), told
    check_second_week(folder, data, job_id)


def check_second_week(folder: Path, data: Path, job_id: str) -> None:
    """Files that come later are answered together with the earlier ones, by a job that continues the first."""
    late = "quark gluon collisions of heavy ions"
    (folder / "week2.csv").write_text(f"Betreff;Inhalt;Kategorie;Schlüssel\n;{late};;late\n", encoding="cp1252")
    arguments = ["week2.csv", *GERMAN, "--data-folder", data, "--continue", job_id, "--out", "week2.ndjson"]
    with started(folder, arguments) as command:
        printed, told = command.communicate(timeout=PATIENCE)
        assert (command.returncode, "305 answers are in week2.ndjson" in printed) == (0, True), told
    rows = [json.loads(line) for line in (folder / "week2.ndjson").read_text(encoding="utf-8").splitlines()]
    assert (len(rows), rows[-1]["text"]) == (305, late)
    assert asked(data / "newfound.db", "SELECT status FROM jobs WHERE continues IS NOT NULL") == [("succeeded",)]
