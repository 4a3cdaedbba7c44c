"""newfound categorize --continue against a server without workers: files go to a job's corpus, and it continues."""

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import update

from app.core.db import Database
from app.core.tables import Job
from newfound_client import Client
from tests.app import rows
from tests.app.commands.shell import refused_usage, run
from tests.waits import wait_for

OLD = [{"key": f"d{n}", "text": f"galaxy star {n}", "label": "sky" if n < 3 else None} for n in range(6)]
SECOND_WEEK = "key,text,label\nd3,galaxy star 3,sky\nd4,corrected,\nd9,late,\nd9,later,\n"


@pytest.fixture
def source(url: str, database: Database) -> str:
    """The id of a job that has succeeded."""
    client = Client(url)
    corpus_id = client.create_corpus("weeks")["id"]
    client.upload(corpus_id, OLD)
    job_id = str(client.submit(corpus_id)["id"])
    conclude(database, job_id)
    return job_id


@pytest.fixture
def week(tmp_path: Path) -> Path:
    """A file that corrects a label and a text, and has a new document, which comes twice."""
    file = tmp_path / "week.csv"
    file.write_text(SECOND_WEEK)
    return file


def conclude(database: Database, job_id: str) -> None:
    """Let a job succeed with answers for the documents without a label."""
    with database.sessions.begin() as session:
        corpus_id = session.get_one(Job, job_id).corpus_id
    rows.add_results(database, job_id, corpus_id)
    with database.sessions.begin() as session:
        session.execute(update(Job).where(Job.id == job_id).values(status="succeeded"))


def meanwhile(url: str, act: Callable[[str], None]) -> threading.Thread:
    """Do something with the job that is about to be queued."""

    def wait_and_act() -> None:
        act(wait_for(lambda: [job["id"] for job in Client(url).jobs(status="queued")], "a job comes")[0])

    thread = threading.Thread(target=wait_and_act, daemon=True)  # no job may come in a test that fails
    thread.start()
    return thread


def test_files_go_to_the_corpus_of_the_job_and_the_job_continues(
    url: str, source: str, week: Path, database: Database, capsys: pytest.CaptureFixture[str]
) -> None:
    client, out = Client(url), week.parent / "out.csv"
    thread = meanwhile(url, lambda job_id: conclude(database, job_id))
    assert run(week, "--continue", source, "--url", url, "--out", out, "--sweeps", "4", "--tag", "week 2") == 0
    thread.join()
    output = capsys.readouterr()
    assert "1 known category and 1 new one" in output.out and "3 answers are in " in output.out
    continued, first = client.jobs()
    assert (first["id"], continued["continues"], continued["tags"]) == (source, source, ["week 2"])
    assert (continued["name"], client.job(continued["id"])["settings"]["sweeps"]) == ("week.csv", 4)
    [corpus] = client.corpora()
    documents = {row["key"]: (row["text"], row["label"]) for row in client.corpus_documents(corpus["id"])}
    assert documents == {
        **{row["key"]: (row["text"], row["label"]) for row in OLD},
        "d3": ("galaxy star 3", "sky"),
        "d4": ("corrected", None),
        "d9": ("later", None),
    }
    keys = {line.split(",")[0] for line in out.read_text(encoding="utf-8-sig").splitlines()[1:]}
    assert {"d5", "d9"} <= keys, "also those of the first week"


def test_a_job_that_comes_to_no_results_is_refused_before_anything_is_uploaded(
    url: str, source: str, week: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    client, out = Client(url), week.parent / "out.csv"
    [corpus] = client.corpora()
    stopped = client.submit(corpus["id"])["id"]
    client.cancel(stopped)
    for job_id, told in (
        (stopped, f"job {stopped} is cancelled; resume it, and continue it then"),
        (corpus["id"], f"there is no job {corpus['id']}"),
    ):
        assert run(week, "--continue", job_id, "--url", url, "--out", out) == 1
        assert capsys.readouterr().err.splitlines()[-1] == f"newfound: {told}"
    assert next(client.corpora()) == corpus
    assert not out.exists()


@pytest.mark.parametrize("is_queued", [True, False])
def test_an_interrupt_cancels_the_job_and_leaves_the_corpus(
    url: str,
    source: str,
    week: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    is_queued: bool,
) -> None:
    def interrupt(*_: Any, **__: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(Client, "follow" if is_queued else "upload", interrupt)
    assert run(week, "--continue", source, "--url", url, "--out", week.parent / "out.csv") == 130
    client = Client(url)
    [corpus] = client.corpora()
    statuses = {job["continues"]: job["status"] for job in client.jobs()}
    assert statuses == {None: "succeeded", **({source: "cancelled"} if is_queued else {})}
    told = "is cancelled" if is_queued else f"what has been uploaded so far stays in corpus {corpus['id']}"
    assert told in capsys.readouterr().err
    assert corpus["documents"] == len(OLD) + is_queued


def test_what_the_service_refuses_leaves_the_job_and_its_corpus(
    url: str, source: str, week: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = week.parent / "out.csv"
    assert run(week, "--continue", source, "--url", url, "--out", out, "--sweeps", "0") == 1
    assert "body.sweeps: Input should be greater than or equal to 1" in capsys.readouterr().err
    assert [job["id"] for job in Client(url).jobs()] == [source]
    assert not out.exists()


def test_wrong_arguments_end_with_2(week: Path, capsys: pytest.CaptureFixture[str]) -> None:
    id_ = "7d9f2c3e-5a41-4b8e-9c1d-2f6a8b3e4d50"
    continued = [week, "--out", week.parent / "out.csv", "--continue"]
    at_url = [*continued, id_, "--url", "http://127.0.0.1:1"]
    for arguments, told in (
        ([*continued, id_], "say with --url or --data-folder which service has it"),
        ([*continued, "week 1", "--url", "http://127.0.0.1:1"], "--continue week 1: not the id of a job"),
        ([*at_url, "--with", id_], "argument --with: not allowed with argument --continue"),
        ([*at_url, "--seed", "0"], "--seed: with --continue it is that of the job"),
        ([*at_url, "--model", "lbpl-ntm"], "--model: with --continue it is that of the job"),
        ([*at_url, "--n-categories", "3"], "--n-categories: with --continue it is that of the job"),
        ([*at_url, "--chains", "3"], "--chains: with --continue it is that of the job"),
        ([*at_url, "--discover"], "--discover: with --continue it is that of the job"),
    ):
        assert told in refused_usage(capsys, *arguments)
