"""Rows that tests put straight into the tables."""

from collections.abc import Sequence
from typing import Any

from sqlalchemy import update
from sqlalchemy.orm import Session

from app.core import leases, lifecycle
from app.core.db import Database, now
from app.core.tables import Answer, Category, Corpus, Document, Draw, Encoding, Job, Summary, Unit
from app.schemas.method_settings import DpgmIn

CORPUS = "11111111-2222-4333-8444-555555555555"
NOBODY_LISTENS = "redis://127.0.0.1:1/0"  # a broker that is away
SETTINGS = {
    "text": {"stop_words": "en", "extra_stop_words": [], "min_word_length": 2, "min_document_frequency": 5},
    "sweeps": 10,
    "burn_in": 5,
    "chains": 2,
    "seed": 0,
}
OF_MODEL: dict[str, dict[str, Any]] = {
    "lbpl-ntm": {"kernel": "collapsed", "hyperparameters": {}},
    "calibrated": {"calibrated": {}},
    "dpgm": {"dpgm": DpgmIn().model_dump()},
}


def add_corpus(session: Session, corpus_id: str = CORPUS, documents: int = 5) -> None:
    """A corpus of unlabeled documents."""
    session.add(Corpus(id=corpus_id, name="corpus", version=1))
    session.flush()
    session.add_all(
        Document(corpus_id=corpus_id, version=1, key=f"document-{n}", text=f"text {n}", label=None)
        for n in range(1, documents + 1)
    )


def submit(database: Database, chains: int = 2, model: str = "lbpl-ntm") -> tuple[str, list[int]]:
    """A queued job over the corpus, made if need be; its id and the unit ids that were to be sent."""
    with database.sessions.begin() as session:
        if session.get(Corpus, CORPUS) is None:
            add_corpus(session)
        job, unit_ids = lifecycle.submit(
            session, CORPUS, {**SETTINGS, **OF_MODEL[model], "model": model, "chains": chains}
        )
    return job.id, unit_ids


def add_encoding(database: Database, job_id: str, categories: Sequence[str] = ("optics", "physics")) -> None:
    """Point the job to an encoding that knows these categories, as its first unit does."""
    with database.sessions.begin() as session:
        encoding = Encoding(corpus_id=CORPUS, corpus_version=1, options=job_id, n_documents=5, n_tokens=5, n_words=2)
        encoding.n_known, encoding.vocabulary, encoding.categories = len(categories), [], list(categories)
        session.add(encoding)
        session.flush()
        session.get_one(Job, job_id).encoding_id = encoding.id


def units(database: Database, job_id: str, kind: str) -> list[Unit]:
    """The job's units of a kind, by id."""
    with database.readers.begin() as session:
        return session.query(Unit).filter_by(job_id=job_id, kind=kind).order_by(Unit.id).all()


def job_of(database: Database, job_id: str) -> Job:
    """The job as it is now."""
    with database.readers.begin() as session:
        return lifecycle.find_job(session, job_id)


def expire(database: Database, *unit_ids: int) -> None:
    """Let the leases of units run out."""
    with database.sessions.begin() as session:
        session.execute(update(Unit).where(Unit.id.in_(unit_ids)).values(lease_until=now() - 1.0))


def run(database: Database, unit_id: int) -> list[int]:
    """Claim and finish a unit, as a worker would."""
    with database.sessions.begin() as session:
        assert leases.claim(session, unit_id, "worker", 60.0)
    with database.sessions.begin() as session:
        return leases.finish(session, unit_id, "worker")


def succeed(database: Database, job_id: str, unit_ids: list[int]) -> None:
    """Run all of a job's units to the end."""
    while unit_ids:
        unit_ids = [after for unit_id in unit_ids for after in run(database, unit_id)]
    assert job_of(database, job_id).status == "succeeded"


def end(database: Database, job_id: str) -> None:
    """All of a job's units are done: the rows that `succeed` leaves, at once and without a worker's steps to them."""
    done = {"status": "done", "token": None, "lease_until": None, "attempts": 0, "error": None}
    times = dict.fromkeys(("claimed_at", "waits_since", "started_at", "finished_at"), now())
    with database.sessions.begin() as session:
        session.execute(update(Unit).where(Unit.job_id == job_id).values(done | {"saved_at": now()}))
        session.execute(update(Job).where(Job.id == job_id).values(status="succeeded", **times))


def add_draws(database: Database, job_id: str, chains: int, sweeps: int) -> None:
    """A trace."""
    with database.sessions.begin() as session:
        session.add_all(
            Draw(
                job_id=job_id,
                chain=chain,
                sweep=sweep,
                n_categories=5,
                n_new=3,
                n_new_with_documents=2,
                n_tables=40,
                alpha=0.5,
                gamma=0.001,
                log_joint=-1234.5,
            )
            for chain in range(chains)
            for sweep in range(1, sweeps + 1)
        )


def add_results(database: Database, job_id: str, corpus_id: str = CORPUS) -> None:
    """Two categories, one known and one new, and an answer for each unlabeled document: known, new, none in turn."""
    with database.sessions.begin() as session:
        session.execute(update(Job).where(Job.id == job_id).values(edition=1))
        for index, (name, known) in enumerate((("physics", True), ("new-1", False))):
            session.add(
                Category(
                    job_id=job_id,
                    category=index,
                    name=name,
                    known=known,
                    n_documents=2 - index,
                    n_labeled=0,
                    share=0.5,
                    top_words=[{"word": "plasma", "documents": 2}],
                )
            )
        session.add(
            Summary(
                job_id=job_id,
                best_chain=1,
                data={"n_new": {"3": 60, "2": 4, "4": 36}, "n_new_with_documents": {"2": 50, "1": 50}},
            )
        )
        session.flush()
        documents = session.query(Document).filter_by(corpus_id=corpus_id, label=None).order_by(Document.id)
        for n, document in enumerate(documents):
            category = (0, 1, None)[n % 3]
            session.add(
                Answer(
                    job_id=job_id,
                    document_id=document.id,
                    category=category,
                    probability=None if category is None else 0.75,
                    known_probability=None if category is None else (0.9, 0.2)[category],
                    runner_up=None if category is None else 1 - category,
                    runner_up_probability=None if category is None else 0.25,
                    reason="no word is left after the text options" if category is None else None,
                )
            )
