"""Jobs with a split: what is hidden from them leaves no trace in what they compute."""

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import select

from app.core import db
from app.core.db import Database
from app.core.settings import Settings
from app.core.splits import Split, choose
from app.core.tables import Document, Encoding, Job
from tests.worker import jobs, splits
from tests.worker.splits import CALIBRATED, KNOWN, LBPL, compare, gold_rows, run_all

pytestmark = pytest.mark.parametrize("kind", ["sqlite"])


@pytest.fixture
def elsewhere(migrated_file: Path, tmp_path: Path) -> Iterator[Database]:
    """Another database with the schema and without rows."""
    database = db.connect(f"sqlite:///{shutil.copy(migrated_file, tmp_path / 'elsewhere.db')}")
    yield database
    database.engine.dispose()


def seen_keys(database: Database, seed: int) -> set[str]:
    """The documents whose label a split shows."""
    with database.readers.begin() as session:
        rows = session.execute(select(Document.id, Document.key, Document.label)).all()
    labeled = [(number, key, label) for number, key, label in rows if label is not None]
    chosen = choose(labeled, Split(seed, KNOWN, 0.4))
    return {key for number, key, _ in labeled if number in chosen}


def encodings(database: Database) -> list[tuple[Any, ...]]:
    """What is encoded, by bytes, and the known categories."""
    with database.readers.begin() as session:
        query = select(Encoding.digest, Encoding.categories, Encoding.n_known, Encoding.vocabulary)
        return sorted(tuple(row) for row in session.execute(query))


@pytest.mark.parametrize("method", [LBPL, CALIBRATED], ids=["lbpl-ntm", "calibrated"])
def test_a_job_with_a_split_is_the_job_over_a_corpus_without_the_hidden_labels(
    database: Database, elsewhere: Database, settings: Settings, tmp_path: Path, method: dict[str, Any]
) -> None:
    [[job]] = compare(database, jobs.upload(database, gold_rows()), method)
    run_all(database, settings)
    seen = seen_keys(database, seed=3)
    assert len(seen) == 16  # .4 of 20 documents of two categories
    bare = [{**row, "label": row["label"] if row["key"] in seen else None} for row in gold_rows()]
    with_seed = {**method, "seed": job.settings["seed"]}
    other, unit_ids = jobs.submit(elsewhere, jobs.upload(elsewhere, bare), **{"hyperparameters": None, **with_seed})
    jobs.run_to_the_end(elsewhere, splits.other_settings(settings, tmp_path / "other"), unit_ids)
    assert jobs.job(database, job.id).status == jobs.job(elsewhere, other).status == "succeeded"
    assert encodings(database) == encodings(elsewhere)
    found, expected = jobs.outcome(database, job.id), jobs.outcome(elsewhere, other)
    for part, rows in expected.items():
        assert found[part] == rows, part
    assert len(found["answers"]) == len(gold_rows()) - len(seen)


def test_the_methods_of_a_split_share_one_encoding_and_those_of_another_split_do_not(
    database: Database, settings: Settings
) -> None:
    made = compare(database, jobs.upload(database, gold_rows()), LBPL, {**LBPL, "sweeps": 6}, splits=2)
    run_all(database, settings)
    with database.readers.begin() as session:
        used = [[session.get_one(Job, job.id).encoding_id for job in row] for row in made]
    assert used[0] == used[1] and None not in used[0] and used[0][0] != used[0][1]
    assert all(categories == KNOWN for _, categories, _, _ in encodings(database))


def test_a_new_category_inherits_nothing_from_jobs_that_saw_its_label_or_another_split(
    database: Database, settings: Settings
) -> None:
    corpus_id = jobs.upload(database, gold_rows())
    [[alone]] = compare(database, corpus_id, LBPL)
    run_all(database, settings)
    again, unit_ids = jobs.submit(database, corpus_id)
    with database.sessions.begin() as session:  # a job that inherits from whatever came before
        session.get_one(Job, again).settings = {**jobs.job(database, again).settings, "split": alone.settings["split"]}
    jobs.run_to_the_end(database, settings, unit_ids)
    [[later]] = compare(database, corpus_id, {**LBPL, "sweeps": 13})
    run_all(database, settings)

    def ids(job_id: str) -> set[str]:
        return {row["short_id"] for row in jobs.outcome(database, job_id)["categories"] if not row["known"]}

    assert ids(alone.id) and not ids(alone.id) & ids(again)
    assert ids(later.id) and not ids(later.id) & ids(again)
