"""What new categories have from the results before: ids and given names, over real rows."""

import uuid
from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest
from sqlalchemy import update

from app.core import leases, lifecycle
from app.core.db import Database
from app.core.settings import Settings
from app.core.tables import Answer, Category, Corpus, Decision, Document, Job, Unit
from tests.worker import jobs
from worker.inheritance import NOTHING, Inherited, inherit, predecessor
from worker.store import Names

CORPUS = "00000000-0000-0000-0000-000000000002"
Partition = Mapping[int, int]  # category by document


def make_corpus(database: Database, n_documents: int = 20, corpus_id: str = CORPUS) -> None:
    """A corpus of documents that are numbered from 1."""
    with database.sessions.begin() as session:
        session.add(Corpus(id=corpus_id, name="corpus", version=1))
        session.flush()
        session.add_all(document(n, corpus_id=corpus_id) for n in range(1, n_documents + 1))


def document(number: int, **columns: Any) -> Document:
    """A document whose key is its number."""
    return Document(**{"id": number, "corpus_id": CORPUS, "version": 1, "key": f"k{number}", "text": "t", **columns})


def add_job(database: Database, created_at: float, answers: Partition | None = None, **columns: Any) -> Job:
    """A job; with answers, if given, whose categories from 2 on are new, with the ids c-2, c-3 and so on."""
    with database.sessions.begin() as session:
        job = Job(id=str(uuid.uuid4()), corpus_id=CORPUS, corpus_version=1, settings={}, status="succeeded")
        job.created_at, job.edition = created_at, 0 if answers is None else 1
        for name, value in columns.items():
            setattr(job, name, value)
        session.add(job)
        session.flush()
        for category in sorted(set((answers or {}).values())):
            row = Category(job_id=job.id, category=category, name=f"category {category}", known=category < 2)
            row.n_documents, row.n_labeled, row.share, row.top_words = 1, 0, 0.1, []
            row.short_id = f"c-{category}"
            session.add(row)
        session.add_all(
            Answer(job_id=job.id, document_id=number, category=category) for number, category in (answers or {}).items()
        )
        return job


def inherited(database: Database, job: Job, now: Partition, known: tuple[str, ...] = ("a", "b")) -> Inherited:
    """What a job inherits whose documents are of these categories."""
    numbers = np.array(sorted(now), np.int64)
    with database.readers.begin() as session:
        return inherit(session, job, numbers, np.array([now[n] for n in numbers.tolist()], np.int64), known)


def decide(database: Database, job: Job, number: int, kind: str, **body: Any) -> None:
    """A decision about a job."""
    with database.sessions.begin() as session:
        session.add(Decision(job_id=job.id, number=number, kind=kind, body=body))


def spread(**documents: range) -> dict[int, int]:
    """Categories by document: c2=range(1, 5) puts the documents 1 to 4 into category 2."""
    return {number: int(name[1:]) for name, numbers in documents.items() for number in numbers}


def test_a_job_inherits_from_the_newest_job_before_it(database: Database) -> None:
    make_corpus(database)
    assert inherited(database, add_job(database, 9.0), spread(c2=range(1, 11))) == NOTHING
    add_job(database, 1.0, spread(c2=range(1, 11)))
    newest = add_job(database, 2.0, spread(c3=range(1, 11)))
    job = add_job(database, 3.0)
    add_job(database, 4.0, spread(c4=range(1, 11)))
    add_job(database, 2.5)
    add_job(database, 2.6, spread(c5=range(1, 11)), deleted_at=5.0)
    assert inherited(database, job, spread(c2=range(1, 11))).ids == {2: "c-3"}
    with database.readers.begin() as session:
        before = predecessor(session, job)
    assert before is not None and before.id == newest.id


def test_a_job_inherits_from_the_one_that_it_continues_and_an_extended_one_from_itself(database: Database) -> None:
    make_corpus(database)
    source = add_job(database, 1.0, spread(c2=range(1, 11)))
    add_job(database, 2.0, spread(c3=range(1, 11)))
    job = add_job(database, 3.0, continues=source.id)
    assert inherited(database, job, spread(c4=range(1, 11))).ids == {4: "c-2"}
    extended = add_job(database, 3.5, spread(c5=range(1, 11)), continues=source.id)
    assert inherited(database, extended, spread(c4=range(1, 11))).ids == {4: "c-5"}
    with database.sessions.begin() as session:
        session.execute(update(Job).where(Job.id == source.id).values(deleted_at=1.0))
    assert inherited(database, job, spread(c4=range(1, 11))).ids == {4: "c-3"}, "what it continued is gone"


def test_nothing_is_inherited_from_another_corpus(database: Database) -> None:
    make_corpus(database)
    add_job(database, 1.0, spread(c2=range(1, 11)))
    with database.sessions.begin() as session:
        session.add(Corpus(id=CORPUS[:-1] + "3", name="other", version=1))
    other = add_job(database, 2.0, corpus_id=CORPUS[:-1] + "3")
    assert inherited(database, other, spread(c2=range(1, 11))) == NOTHING


def test_documents_that_arrived_since_do_not_count_and_corrected_ones_do(database: Database) -> None:
    make_corpus(database)
    add_job(database, 1.0, spread(c2=range(1, 11)))
    with database.sessions.begin() as session:  # version 2 has corrected six of the ten, and forty new ones
        session.execute(update(Document).where(Document.id <= 6).values(until=2))
        session.add_all(document(n + 100, version=2, key=f"k{n}") for n in range(1, 7))
        session.add_all(document(n, version=2) for n in range(201, 241))
    job = add_job(database, 2.0, corpus_version=2)
    arrived = spread(c2=range(201, 241))
    six = arrived | spread(c2=range(101, 107), c3=range(7, 11))
    assert inherited(database, job, six).ids == {2: "c-2"}, "by hand: 6 in both, 10 in either, 40 that do not count"
    four = arrived | spread(c2=range(101, 105), c3=range(105, 107), c4=range(7, 11))
    assert inherited(database, job, four).ids == {}, "4 in both, 10 in either"
    gone = arrived | spread(c2=range(101, 105), c3=range(105, 107))
    assert inherited(database, job, gone).ids == {2: "c-2"}, "4 in both, and 6 in either that are still there"
    assert inherited(database, job, arrived).ids == {}


def test_a_new_category_that_labels_name_now_leaves_its_id_to_nobody(database: Database) -> None:
    make_corpus(database)
    add_job(database, 1.0, spread(c2=range(1, 11), c3=range(11, 21)))
    job = add_job(database, 2.0)
    found = inherited(database, job, spread(c1=range(1, 7), c4=range(7, 11), c5=range(11, 21)))
    assert found == Inherited({5: "c-3"}, {}, frozenset({"c-2"}))
    half = inherited(database, job, spread(c1=range(1, 6), c4=range(6, 11)))
    assert half.ids == {}, "as similar to the known one as to the new one"


def test_names_that_somebody_gave_are_inherited_with_the_id(database: Database) -> None:
    make_corpus(database)
    source = add_job(database, 1.0, spread(c2=range(1, 6), c3=range(6, 11), c4=range(11, 16), c5=range(16, 21)))
    decide(database, source, 1, "name", category="c-2", name="Rivers")
    decide(database, source, 2, "name", category="c-3", name="Lakes")
    decide(database, source, 3, "undo", decision=2)
    decide(database, source, 4, "name", category="c-4", name="a")
    decide(database, source, 5, "name", category="c-5", name="Rivers")
    now = spread(c2=range(1, 6), c3=range(6, 11), c4=range(11, 16), c5=range(16, 21))
    found = inherited(database, add_job(database, 2.0), now)
    assert found.ids == {2: "c-2", 3: "c-3", 4: "c-4", 5: "c-5"}
    assert found.names == {2: "Rivers"}, "one was taken back, one is a known category's, one another new one's"


def test_a_continued_job_has_the_names_that_were_given_when_it_was_continued(database: Database) -> None:
    make_corpus(database)
    source = add_job(database, 1.0, spread(c2=range(1, 11)))
    decide(database, source, 1, "name", category="c-2", name="Rivers")
    job = add_job(database, 2.0, continues=source.id, continued={"decision": 1})
    decide(database, source, 2, "name", category="c-2", name="Streams")
    assert inherited(database, job, spread(c2=range(1, 11))).names == {2: "Rivers"}
    assert inherited(database, add_job(database, 3.0), spread(c2=range(1, 11))).names == {2: "Streams"}


def test_a_name_is_inherited_again_and_again_until_it_is_taken_back(database: Database) -> None:
    make_corpus(database)
    first = add_job(database, 1.0, spread(c2=range(1, 11)))
    with database.sessions.begin() as session:
        session.execute(update(Category).values(name="Rivers", is_named=True))
    second = add_job(database, 2.0)
    assert inherited(database, second, spread(c2=range(1, 11))).names == {2: "Rivers"}
    decide(database, first, 1, "name", category="c-2", name="Rivers")
    assert inherited(database, second, spread(c2=range(1, 11))).names == {2: "Rivers"}
    decide(database, first, 2, "undo", decision=1)
    assert inherited(database, second, spread(c2=range(1, 11))).names == {}


def test_categories_without_a_given_name_are_numbered_without_gaps_or_names_that_are_taken() -> None:
    names = Names(["oak", "elm", "ash"], ["trees"])
    words = [[], [(0, 1)], [(1, 1)], [(2, 1)]]
    assert names.of_categories(words, {2: "new 1: mine"}) == ["trees", "new 2: oak", "new 1: mine", "new 3: ash"]


def run(database: Database, settings: Settings, corpus_id: str, seed: int) -> str:
    """The id of a calibrated job that has succeeded."""
    job_id, unit_ids = jobs.submit_calibrated(database, corpus_id, sweeps=20, seed=seed)
    jobs.run_to_the_end(database, settings, unit_ids)
    return job_id


@pytest.fixture
def named(database: Database, settings: Settings) -> str:
    """The id of a job whose new category somebody called Rivers; its corpus has grown since."""
    corpus_id = jobs.upload(database, jobs.rows())
    job_id = run(database, settings, corpus_id, seed=1)
    decide(database, jobs.job(database, job_id), 1, "name", category=ids_of(database, job_id)[2], name="Rivers")
    with database.sessions.begin() as session:
        for number in range(12):
            words = " ".join(jobs.SUBJECTS["river"].split()[number : number + 5])
            session.add(Document(corpus_id=corpus_id, version=2, key=f"late-{number}", text=words, label=None))
        session.execute(update(Corpus).values(version=2))
    return job_id


@pytest.mark.parametrize("kind", ["sqlite"])
def test_a_new_job_over_a_grown_corpus_keeps_ids_and_given_names(
    database: Database, settings: Settings, named: str
) -> None:
    corpus_id = jobs.job(database, named).corpus_id
    second, third = (run(database, settings, corpus_id, seed=2) for _ in range(2))
    own, found = categories(database, named), categories(database, second)
    assert [row.short_id for row in found] == [row.short_id for row in own]
    assert [(row.name, row.is_named) for row in found] == [("fruit", False), ("metal", False), ("Rivers", True)]
    assert found[2].n_documents > own[2].n_documents
    assert jobs.outcome(database, second) == jobs.outcome(database, third), "though it inherits from another one"


@pytest.mark.parametrize("kind", ["sqlite"])
def test_an_extended_job_has_the_names_that_somebody_gave_in_between(
    database: Database, settings: Settings, named: str
) -> None:
    before = ids_of(database, named)
    with database.sessions.begin() as session:
        _, unit_ids = lifecycle.extend(session, named, 2)
    jobs.run_to_the_end(database, settings, unit_ids)
    assert ids_of(database, named) == before
    assert [(row.name, row.is_named) for row in categories(database, named)][2] == ("Rivers", True)


@pytest.mark.parametrize("kind", ["sqlite"])
def test_a_conclusion_that_was_killed_is_repeated_to_the_same_bytes_whoever_ended_in_between(
    database: Database, settings: Settings, named: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    corpus_id = jobs.job(database, named).corpus_id
    calm = run(database, settings, corpus_id, seed=2)
    job_id, unit_ids = jobs.submit_calibrated(database, corpus_id, sweeps=20, seed=2)

    def die(*arguments: Any) -> Any:
        raise jobs.Killed

    with monkeypatch.context() as killed:
        killed.setattr("worker.results.audit_rows", die)
        with pytest.raises(jobs.Killed):
            jobs.run_to_the_end(database, settings, unit_ids)
    later = run(database, settings, corpus_id, seed=3)
    decide(database, jobs.job(database, later), 1, "name", category=ids_of(database, later)[2], name="Streams")
    with database.sessions.begin() as session:
        assert session.query(Answer).filter_by(job_id=job_id).count() > 0, "it was killed in the middle"
        session.execute(update(Unit).where(Unit.status == "running").values(lease_until=0.0))
    with database.sessions.begin() as session:
        unit_ids = leases.reap(session)
    jobs.run_to_the_end(database, settings, unit_ids)
    assert jobs.outcome(database, job_id) == jobs.outcome(database, calm)


def ids_of(database: Database, job_id: str) -> list[str | None]:
    """The short ids of a job's categories."""
    return [row.short_id for row in categories(database, job_id)]


def categories(database: Database, job_id: str) -> list[Category]:
    """The categories of a job's present results."""
    with database.readers.begin() as session:
        query = session.query(Category).join(Job, Job.id == Category.job_id)
        return query.where(Job.id == job_id, Category.edition == Job.edition).order_by(Category.category).all()
