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
from app.core.tables import Category, Document, Encoding, Job
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


def test_jobs_of_a_comparison_neither_inherit_names_nor_pass_on_what_they_found(
    database: Database, settings: Settings
) -> None:
    corpus_id = jobs.upload(database, gold_rows())
    [[cell]] = compare(database, corpus_id, LBPL)
    run_all(database, settings)
    before = with_same_split(database, settings, cell)
    with database.sessions.begin() as session:
        for category in session.scalars(select(Category).where(Category.job_id == before, ~Category.known)):
            category.name, category.is_named = f"named {category.category}", True
    [[later]] = compare(database, corpus_id, LBPL)
    run_all(database, settings)
    assert names_given(database, later.id) == set()
    after = with_same_split(database, settings, cell)
    assert (
        names_given(database, after) == names_given(database, before) != set()
    )  # past the newer job of the comparison


def with_same_split(database: Database, settings: Settings, cell: Job) -> str:
    """A job outside of any comparison that sees the same labels, run to its end; returns its id."""
    job_id, unit_ids = jobs.submit(database, cell.corpus_id, seed=cell.settings["seed"])
    with database.sessions.begin() as session:
        job = session.get_one(Job, job_id)
        job.settings = {**job.settings, "split": cell.settings["split"]}
    jobs.run_to_the_end(database, settings, unit_ids)
    return job_id


def names_given(database: Database, job_id: str) -> set[str]:
    """The names that somebody gave to categories of a job."""
    return {row["name"] for row in jobs.outcome(database, job_id)["categories"] if row["is_named"]}
