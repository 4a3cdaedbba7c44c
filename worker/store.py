"""Rows to arrays and back: documents, encodings, draws, checkpoints, results."""

import json
import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import count, islice
from typing import Any, NamedTuple

import numpy as np
from sqlalchemy import Select, collate, delete, func, insert, select
from sqlalchemy.orm import Session

from app.models import Answer, Category, Checkpoint, Document, Draw, Job, Summary, Unit
from sampler import chain
from sampler.checkpoint import CheckpointError, dump, load
from sampler.consensus import NONE, Consensus
from sampler.corpus import UNLABELED, Array, Corpus
from sampler.hyperparameters import Hyperparameters
from sampler.state import Kernel
from sampler.text import TextOptions

logger = logging.getLogger(__name__)

BATCH = 1_000  # rows an INSERT
KEPT_CHECKPOINTS = 2
NO_WORD = "no word is left after the text options"
Rows = Sequence[dict[str, Any]]  # to be inserted at once
BINARY_COLLATION = {"postgresql": "C", "sqlite": "BINARY"}


class Stopped(Exception):
    """The work was given up, because its worker leaves or its lease is lost."""


class Names(NamedTuple):
    """The strings that a corpus's indices stand for."""

    vocabulary: list[str]
    categories: list[str]


class Stored(NamedTuple):
    """A stored corpus, mapped from its file."""

    corpus: Corpus
    document_ids: Array  # int64[D], of rows


def text_options(job: Job) -> TextOptions:
    """The job's text options."""
    options = dict(job.settings["text"])
    return TextOptions(**options | {"extra_stop_words": tuple(options["extra_stop_words"])})


def hyperparameters(job: Job) -> Hyperparameters:
    """The job's hyperparameters."""
    return Hyperparameters(**job.settings["hyperparameters"])


def kernel(job: Job) -> Kernel:
    """The job's kernel; a job from before there was a choice goes on under Algorithm 1."""
    chosen: Kernel = job.settings.get("kernel", "collapsed")
    return chosen


def canonical(options: Mapping[str, Any]) -> str:
    """Options as text that is equal when they are."""
    return json.dumps(options, sort_keys=True)


class Documents:
    """The documents of a job's corpus version, read once as texts; ids and labels gather on the way.

    They come in the order of their keys, by code points on every database: so the answer does not
    depend on the order of uploads. Reading a large corpus takes minutes: Stopped is raised once `must_stop` says so.
    """

    def __init__(self, session: Session, job: Job, must_stop: Callable[[], bool]) -> None:
        self.session, self.job, self.must_stop = session, job, must_stop
        self.ids: list[int] = []
        self.labels: list[str | None] = []

    def query(self) -> Select[int, str, str | None]:
        """Id, text and label in the order of keys."""
        collation = BINARY_COLLATION[self.session.get_bind().dialect.name]
        return (
            select(Document.id, Document.text, Document.label)
            .where(Document.corpus_id == self.job.corpus_id, Document.version <= self.job.corpus_version)
            .order_by(collate(Document.key, collation))
        )

    def texts(self) -> Iterator[str]:
        """The texts, streamed."""
        with self.session.execute(self.query().execution_options(yield_per=BATCH)) as rows:
            for document_id, text, label in rows:
                if len(self.ids) % BATCH == 0 and self.must_stop():
                    raise Stopped(f"job {self.job.id}: after {len(self.ids)} documents")
                self.ids.append(document_id)
                self.labels.append(label)
                yield text


def load_state(session: Session, job: Job, unit: Unit, corpus: Corpus) -> chain.State | None:
    """The chain as its newest sound checkpoint has it; None if there is none."""
    newest_first = select(Checkpoint).where(Checkpoint.unit_id == unit.id).order_by(Checkpoint.id.desc())
    for checkpoint in session.scalars(newest_first):
        try:
            return load(corpus, hyperparameters(job), checkpoint.data)
        except CheckpointError as error:
            logger.warning("unit %d: checkpoint %d is passed over: %s", unit.id, checkpoint.id, error)
    return None


def save_chain(session: Session, unit: Unit, corpus: Corpus, state: chain.State, draws: Sequence[chain.Draw]) -> None:
    """Append draws and the checkpoint that follows them; keep the last checkpoints only.

    Draws of the same sweeps, left by a leg whose checkpoints turned out damaged, give way.
    """
    if draws:
        mine = (Draw.job_id == unit.job_id) & (Draw.chain == unit.chain)
        session.execute(delete(Draw).where(mine, Draw.sweep >= draws[0].sweep))
        rows = [{"job_id": unit.job_id, "chain": unit.chain, **draw._asdict()} for draw in draws]
        session.execute(insert(Draw), rows)
    session.add(Checkpoint(unit_id=unit.id, n_sweeps=state.n_sweeps, data=dump(corpus, state)))
    session.flush()
    kept = select(Checkpoint.id).where(Checkpoint.unit_id == unit.id).order_by(Checkpoint.id.desc())
    old = session.scalars(kept.offset(KEPT_CHECKPOINTS)).all()
    session.execute(delete(Checkpoint).where(Checkpoint.id.in_(old)))


def best_chain(session: Session, job: Job) -> int:
    """The chain with the highest mean log joint over its kept draws; the first of several."""
    mean = func.avg(Draw.log_joint)
    kept = select(Draw.chain).where(Draw.job_id == job.id, Draw.sweep > job.settings["burn_in"])
    return session.scalars(kept.group_by(Draw.chain).order_by(mean.desc(), Draw.chain).limit(1)).one()


def chain_unit(session: Session, job: Job, number: int) -> Unit:
    """The unit of one of the job's chains."""
    return session.scalars(select(Unit).where(Unit.job_id == job.id, Unit.chain == number)).one()


def posteriors(session: Session, job: Job) -> dict[str, dict[str, int]]:
    """Over the kept draws of all chains: how many had each number of new categories."""
    found = {}
    for column in (Draw.n_new, Draw.n_new_with_documents):
        rows = session.execute(
            select(column, func.count())
            .where(Draw.job_id == job.id, Draw.sweep > job.settings["burn_in"])
            .group_by(column)
            .order_by(column)
        )
        found[column.key] = {str(value): n_draws for value, n_draws in rows}
    return found


def answer_rows(job: Job, stored: Stored, consensus: Consensus) -> Iterator[Rows]:
    """Batches of rows of `answers`, one row an unlabeled document."""
    unlabeled = np.flatnonzero(stored.corpus.labels == UNLABELED)
    for first in range(0, unlabeled.size, BATCH):
        yield [
            {
                "job_id": job.id,
                "document_id": int(stored.document_ids[d]),
                "category": none_or(consensus.category[d], int),
                "probability": none_or(consensus.probability[d], float),
                "runner_up": none_or(consensus.runner_up[d], int),
                "runner_up_probability": none_or(consensus.runner_up_probability[d], float),
                "reason": NO_WORD if consensus.category[d] == NONE else None,
            }
            for d in unlabeled[first : first + BATCH]
        ]


def none_or(value: Any, kind: type) -> Any:
    """An array's entry as JSON has it: None for NONE and for NaN."""
    return None if value == NONE or value != value else kind(value)


def category_rows(
    job: Job, corpus: Corpus, strings: Names, consensus: Consensus, words: list[list[tuple[int, int]]]
) -> Rows:
    """Rows of `categories`: the known ones by name, then the new ones, numbered from 1."""
    is_labeled = corpus.labels != UNLABELED
    size = consensus.n_categories
    has_category = consensus.category != NONE
    n_documents = np.bincount(consensus.category[~is_labeled & has_category], minlength=size)
    n_labeled = np.bincount(corpus.labels[is_labeled], minlength=size)
    n_answered = max(int(n_documents.sum()), 1)
    free_names = (name for name in map("new {}".format, count(1)) if name not in strings.categories)
    names = strings.categories + list(islice(free_names, size - len(strings.categories)))
    return [
        {
            "job_id": job.id,
            "category": category,
            "name": names[category],
            "known": category < len(strings.categories),
            "n_documents": int(n_documents[category]),
            "n_labeled": int(n_labeled[category]),
            "share": float(n_documents[category] / n_answered),
            "top_words": [{"word": strings.vocabulary[word], "documents": n} for word, n in words[category]],
        }
        for category in range(size)
    ]


def clear_results(session: Session, job: Job) -> None:
    """Take out what an earlier conclusion wrote."""
    for table in (Answer, Category, Summary):
        session.execute(delete(table).where(table.job_id == job.id))


def save_answers(session: Session, rows: Rows) -> None:
    """Store a batch of rows of `answers`."""
    session.execute(insert(Answer), rows)


def save_summary(session: Session, job: Job, number: int, rows: Rows) -> None:
    """Store the categories, the best chain and the posterior frequencies."""
    session.execute(insert(Category), rows)
    session.add(Summary(job_id=job.id, best_chain=number, data=posteriors(session, job)))
