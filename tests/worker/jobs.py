"""A small corpus with two known categories and a new one, and jobs over it, for tests of legs."""

import json
import random
import threading
from collections.abc import Callable
from typing import Any

from sqlalchemy import insert, select

from app.core import lifecycle
from app.core.db import Database
from app.core.settings import Settings
from app.core.tables import Answer, Audit, Category, Checkpoint, Corpus, Document, Draw, Job, Summary, Topic, Unit
from app.schemas.job_settings import JobIn
from tests import databases
from worker import runner

# Nobody labels the rivers.
SUBJECTS = {
    "fruit": "apple pear plum cherry peach grape melon quince fig kiwi lemon lime mango papaya guava olive",
    "metal": "iron copper zinc silver nickel cobalt gallium gold osmium radium cadmium lithium sodium cesium",
    "river": "danube rhine volga loire tagus ebro elbe oder seine rhone thames tiber neva drava dniester vistula",
}
WORDS = 16  # a document: so many out of so many that no two are copies
FEW_TOPICS = {"n_topics": 6, "n_start": 2}
FEW_ATOMS: dict[str, Any] = {
    "n_atoms": 12,
    "n_atom_sweeps": 4,
    "smoothings": [0.1, 0.4],
    "powers": [0.0, 1.5],
    "n_refinements": 1,
    "n_topics": 6,
}

SAVE_AFTER_EVERY_SWEEP = {"save_seconds": 1e-9}
ONE_STEP_A_LEG = {**SAVE_AFTER_EVERY_SWEEP, "leg_seconds": 1e-9}  # of chains one sweep


FINISHED: dict[tuple[str, str, str], tuple[str, databases.Rows]] = {}  # jobs: their ids, and all that they left


class Killed(BaseException):
    """As kill -9: nothing of the leg's own catches it."""


def with_changes(settings: Settings, **changes: Any) -> Settings:
    """The settings with some others."""
    return settings.model_copy(update=changes)


def damaged(data: bytes) -> bytes:
    """Bytes of which one bit is another."""
    return data[:50] + bytes([data[50] ^ 1]) + data[51:]


def rows(n_documents: int = 20) -> list[dict[str, Any]]:
    """Documents of each subject, half of those of the known ones labeled, and one without a word."""
    dice = random.Random(1)
    made = []
    for subject, words in SUBJECTS.items():
        for number in range(n_documents):
            label = subject if subject != "river" and number % 2 else None
            text = " ".join(dice.choices(words.split(), k=WORDS))
            made.append({"key": f"{subject}-{number}", "text": text, "label": label})
    made.append({"key": "blank", "text": " ", "label": None})
    dice.shuffle(made)
    return made


def upload(database: Database, documents: list[dict[str, Any]]) -> str:
    """A corpus of the documents; returns its id."""
    with database.sessions.begin() as session:
        corpus = Corpus(id="00000000-0000-0000-0000-000000000001", name="words", version=1)
        session.add(corpus)
        session.flush()
        session.execute(insert(Document), [{"corpus_id": corpus.id, "version": 1, **row} for row in documents])
        return corpus.id


def arrive(database: Database, documents: list[dict[str, Any]]) -> None:
    """A batch of documents."""
    with database.sessions.begin() as session:
        corpus = session.scalars(select(Corpus)).one()
        corpus.version += 1
        rows = [{"corpus_id": corpus.id, "version": corpus.version, "label": None, **row} for row in documents]
        session.execute(insert(Document), rows)


def submit(database: Database, corpus_id: str, **fields: Any) -> tuple[str, list[int]]:
    """Queue a job with few topics; returns its id and the units to send."""
    body = {"model": "lbpl-ntm", "sweeps": 12, "chains": 2, "hyperparameters": FEW_TOPICS, **fields}
    settings = JobIn(corpus_id=corpus_id, **body).settings()
    with database.sessions.begin() as session:
        job, unit_ids = lifecycle.submit(session, corpus_id, settings)
        return job.id, unit_ids


def submit_calibrated(database: Database, corpus_id: str, **fields: Any) -> tuple[str, list[int]]:
    """Queue a calibrated job with few atoms; returns its id and the units to send."""
    body = {"model": "calibrated", "hyperparameters": None, "calibrated": FEW_ATOMS, **fields}
    return submit(database, corpus_id, **body)


def run_to_the_end(database: Database, settings: Settings, unit_ids: list[int]) -> int:
    """Run legs as workers would, until none is left; returns how many there were."""
    queue, n_legs = list(unit_ids), 0
    while queue:
        queue += runner.run(database, settings, queue.pop(0), lambda: False)
        n_legs += 1
    return n_legs


def finished(
    database: Database, settings: Settings, submit: Callable[..., tuple[str, list[int]]], **fields: Any
) -> str:
    """The id of a job over `rows` that has succeeded.

    It is run once by a process of the tests, and from then on its rows are put into the tables, which must be empty.
    """
    name = (database.engine.name, submit.__name__, json.dumps(fields, sort_keys=True))
    if name not in FINISHED:
        job_id, unit_ids = submit(database, upload(database, rows()), **fields)
        run_to_the_end(database, settings, unit_ids)
        assert job(database, job_id).status == "succeeded"
        FINISHED[name] = (job_id, databases.rows_of(database))
    else:
        databases.fill(database, FINISHED[name][1])
    return FINISHED[name][0]


class Asked:
    """Answers whether a worker leaves, by turns; the heartbeat, which asks from a thread of its own, gets a no."""

    def __init__(self, *answers: bool | Callable[[], None]) -> None:
        """After the last answer it is repeated; a function is called, and means no."""
        self.answers = list(answers)
        self.thread = threading.current_thread()

    def __call__(self) -> bool:
        if threading.current_thread() is not self.thread:
            return False
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if isinstance(answer, bool):
            return answer
        answer()
        return False


def job(database: Database, job_id: str) -> Job:
    """The job as it is now."""
    with database.readers.begin() as session:
        return session.get_one(Job, job_id)


def outcome(database: Database, job_id: str) -> dict[str, Any]:
    """All that a job left, without what differs between two equal runs: ids and times."""
    with database.readers.begin() as session:
        draws = session.scalars(select(Draw).where(Draw.job_id == job_id).order_by(Draw.chain, Draw.sweep))
        units = select(Unit).where(Unit.job_id == job_id, Unit.kind == "chain").order_by(Unit.chain)
        answers = (
            select(Answer, Document.key)
            .join(Document, Document.id == Answer.document_id)
            .where(Answer.job_id == job_id)
            .order_by(Document.key)
        )
        audits = (
            select(Audit, Document.key)
            .join(Document, Document.id == Audit.document_id)
            .where(Audit.job_id == job_id)
            .order_by(Audit.probability, Document.key)
        )
        digests = select(Unit.kind, Unit.chain, Unit.digest, Unit.n_sweeps, Unit.n_steps).where(Unit.job_id == job_id)
        summaries = session.scalars(select(Summary).where(Summary.job_id == job_id))
        topics = session.scalars(select(Topic).where(Topic.job_id == job_id).order_by(Topic.topic))
        categories = select(Category).where(Category.job_id == job_id).order_by(Category.category)
        return {
            "draws": [columns(draw, "job_id") for draw in draws],
            "checkpoints": [newest_checkpoint(session, unit) for unit in session.scalars(units)],
            "answers": [(key, columns(answer, "job_id", "document_id")) for answer, key in session.execute(answers)],
            "categories": [columns(category, "job_id") for category in session.scalars(categories)],
            "audits": [(key, columns(audit, "job_id", "document_id")) for audit, key in session.execute(audits)],
            "topics": [columns(topic, "job_id") for topic in topics],
            "units": [tuple(row) for row in session.execute(digests.order_by(Unit.kind, Unit.chain))],
            "summaries": [columns(summary, "job_id") for summary in summaries],
        }


def newest_checkpoint(session: Any, unit: Unit) -> bytes:
    """The bytes of a chain's last checkpoint."""
    newest = select(Checkpoint.data).where(Checkpoint.unit_id == unit.id).order_by(Checkpoint.id.desc()).limit(1)
    return bytes(session.scalars(newest).one())


def columns(row: Any, *left_out: str) -> dict[str, Any]:
    """A row's values by column; the edition only counts how often a job was concluded."""
    names = {column.key for column in row.__table__.columns} - {"edition", *left_out}
    return {name: getattr(row, name) for name in sorted(names)}
