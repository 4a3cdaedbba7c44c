"""Rows to arrays and back: documents, draws, checkpoints."""

import json
import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, Protocol, TypeVar

import numpy as np
from sqlalchemy import Select, and_, collate, delete, func, insert, null, select
from sqlalchemy.orm import Session, sessionmaker

from app.core.category_names import names_of_new
from app.core.kinds import UnitKind, n_chains
from app.core.sources import SOURCE_FIELD, source_of
from app.core.splits import SPLIT, seen_documents
from app.core.tables import ENCODING_OF_JOB, Checkpoint, ClampedLabel, Document, Draw, Job, Unit, is_part_of
from sampler.archive import CheckpointError
from sampler.calibrated.sources import Sources
from sampler.copies import Texts
from sampler.corpus import UNLABELED, Array, Corpus
from sampler.text import AUTO_LANGUAGE, STOP_WORD_LANGUAGES, TextOptions, stop_list

logger = logging.getLogger(__name__)

State = TypeVar("State")
BATCH = 1_000  # rows an INSERT
KEPT_CHECKPOINTS = 2
TRACED = ("n_categories", "n_new", "log_joint")  # quantities whose kept draws a conclusion is given
Rows = Sequence[dict[str, Any]]  # to be inserted at once
BINARY_COLLATION = {"postgresql": "C", "sqlite": "BINARY"}


class NewDraw(Protocol):
    """What one sweep leaves in the trace, of whatever model: values by the names of columns."""

    @property
    def sweep(self) -> int: ...

    @property
    def n_categories(self) -> int: ...

    def _asdict(self) -> dict[str, Any]: ...


class Names(NamedTuple):
    """The strings that a corpus's indices stand for."""

    vocabulary: list[str]
    categories: list[str]  # the known ones
    facts: dict[str, Any] | None = None  # see `sampler.text.TextFacts`

    def of_categories(self, words: Sequence[Sequence[tuple[int, int]]], given: Mapping[int, str]) -> list[str]:
        """The names of an answer's categories: of the known ones, and of new ones those `given`, or after their words.

        `words` are those of each category, best first, see `sampler.answers.words.relevant_words`.
        """
        rest = [category for category in range(len(self.categories), len(words)) if category not in given]
        of_rest = [[self.vocabulary[word] for word, _ in self.telling_first(words[category])] for category in rest]
        found = dict(enumerate(self.categories)) | dict(given)
        found |= dict(zip(rest, names_of_new(found.values(), of_rest), strict=True))
        return [found[category] for category in range(len(words))]

    def telling_first(self, words: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
        """Words in their order, but stop words, which short texts keep, behind the others.

        Nobody would call a category after "to" and "from".
        """
        language = (self.facts or {}).get("language")
        stop_words = stop_list(language if language in STOP_WORD_LANGUAGES else AUTO_LANGUAGE)
        return sorted(words, key=lambda word: self.vocabulary[word[0]] in stop_words)


class Stored(NamedTuple):
    """A stored corpus, mapped from its file."""

    texts: Texts
    document_ids: Array  # int64[D], of rows
    marks: Array  # uint64[D], by which texts are known again
    sources: Sources | None = None  # of the texts, if the job's settings have a `source_field`
    vectors: Array | None = None  # float32[T, p], of the texts, see worker.vectors; None if words alone count

    @property
    def corpus(self) -> Corpus:
        """The distinct texts, which models work with."""
        return self.texts.corpus


def text_options(job: Job) -> TextOptions:
    """The job's text options."""
    options = dict(job.settings["text"])
    return TextOptions(**options | {"extra_stop_words": tuple(options["extra_stop_words"])})


def encoding_options(job: Job) -> str:
    """What the encoding that the job needs is found by: its text options, which labels it has, and whose sources.

    Labels are its own if some were decided for it; jobs with the same split share them.
    """
    is_clamped = job.continued is not None and job.continued["clamped"]
    labels = {ENCODING_OF_JOB: job.id} if is_clamped else {}
    own = {name: job.settings[name] for name in (SPLIT, SOURCE_FIELD) if name in job.settings}
    return canonical({**job.settings["text"], **labels, **own})


def canonical(options: Mapping[str, Any]) -> str:
    """Options as text that is equal when they are."""
    return json.dumps(options, sort_keys=True)


class Clamped(NamedTuple):
    """What somebody decided about D documents in the job that is continued, see app.review.clamped."""

    is_decided: Array  # bool[D]
    drawn_at: Array  # float64[D], of those whose category alone was decided about: their probability then; else NaN
    set_aside: Array  # bool[D], of no category
    is_free: Array  # bool[D], without a label in the corpus, whether or not one was decided


def clamped(session: Session, job: Job, stored: Stored) -> Clamped:
    """What was decided about the documents of a job."""
    columns = (ClampedLabel.document_id, ClampedLabel.label, Document.label, ClampedLabel.probability)
    mine = select(*columns).where(ClampedLabel.job_id == job.id)
    rows = session.execute(mine.join(Document, Document.id == ClampedLabel.document_id)).all()

    def among(document_ids: Sequence[int]) -> Array:
        return np.isin(stored.document_ids, np.array(document_ids, np.int64))

    is_decided = among([document_id for document_id, *_ in rows])
    drawn = {document_id: probability for document_id, *_, probability in rows if probability is not None}
    drawn_at = np.full(stored.document_ids.size, np.nan)
    for d in np.flatnonzero(among(list(drawn))):
        drawn_at[d] = drawn[int(stored.document_ids[d])]
    set_aside = among([document_id for document_id, label, _, _ in rows if label is None])
    had_none = among([document_id for document_id, _, before, _ in rows if before is None])
    return Clamped(is_decided, drawn_at, set_aside, (stored.texts.labels == UNLABELED) & ~is_decided | had_none)


class Documents:
    """The documents of a job's corpus version, read once as texts; ids, labels and sources gather on the way.

    Of one that somebody set aside the text is left out; a decided label, or name of a label, is in the place of others.
    A label that the job's split hides is not there.

    They come in the order of their keys, by code points on every database: so the answer does not
    depend on the order of uploads. Reading a large corpus takes minutes: now and then `check` may break it off.
    """

    def __init__(self, session: Session, job: Job, check: Callable[[], None]) -> None:
        self.session, self.job, self.check = session, job, check
        self.ids: list[int] = []
        self.labels: list[str | None] = []
        self.sources: list[str | None] = []  # of a job without a `source_field` always empty

    def query(self) -> Select[int, str, bool, str | None, int | None, str | None, dict[str, Any] | None]:
        """Id, text, whether that is a bag of words, label, what was decided, and fields, in the order of keys."""
        collation = BINARY_COLLATION[self.session.get_bind().dialect.name]
        decided = and_(ClampedLabel.job_id == self.job.id, ClampedLabel.document_id == Document.id)
        columns = (Document.id, Document.text, Document.is_counts, Document.label)
        fields = Document.fields if SOURCE_FIELD in self.job.settings else null()
        return (
            select(*columns, ClampedLabel.document_id, ClampedLabel.label, fields)
            .outerjoin(ClampedLabel, decided)
            .where(Document.corpus_id == self.job.corpus_id, is_part_of(self.job.corpus_version))
            .order_by(collate(Document.key, collation))
        )

    def texts(self) -> Iterator[str | dict[str, int]]:
        """The texts, streamed; ready bags of words as such."""
        names, seen = (self.job.continued or {}).get("names", {}), seen_documents(self.session, self.job)
        source_field = self.job.settings.get(SOURCE_FIELD)
        with self.session.execute(self.query().execution_options(yield_per=BATCH)) as rows:
            for document_id, text, is_counts, label, decided, decided_label, fields in rows:
                if len(self.ids) % BATCH == 0:
                    self.check()
                self.ids.append(document_id)
                if source_field is not None:
                    self.sources.append(source_of(fields, source_field))
                if seen is not None and document_id not in seen:
                    label = None
                self.labels.append(names.get(label, label) if decided is None else decided_label)
                if decided is not None and decided_label is None:
                    yield ""
                else:
                    yield json.loads(text) if is_counts and text else text


def newest_checkpoint(session: Session, unit: Unit, before: int | None = None) -> Checkpoint | None:
    """The newest checkpoint of a chain, or the newest one before that with an id."""
    query = select(Checkpoint).where(Checkpoint.unit_id == unit.id).order_by(Checkpoint.id.desc()).limit(1)
    return session.scalar(query if before is None else query.where(Checkpoint.id < before))


def newest_sound(readers: sessionmaker[Session], unit: Unit, load: Callable[[bytes], State]) -> State | None:
    """What is loaded of a chain's newest checkpoint that is not damaged; None if there is none."""
    before: int | None = None
    while True:
        with readers.begin() as session:
            found = newest_checkpoint(session, unit, before)
        if found is None:
            return None
        try:
            return load(found.data)
        except CheckpointError as error:
            logger.warning("unit %d: checkpoint %d is skipped: %s", unit.id, found.id, error)
        before = found.id


def save_chain(session: Session, unit: Unit, n_sweeps: int, data: bytes, draws: Sequence[NewDraw]) -> None:
    """Append draws and the checkpoint that follows them; keep the last checkpoints only.

    Draws of the same sweeps, left by a leg whose checkpoints turned out damaged, give way.
    """
    if draws:
        mine = (Draw.job_id == unit.job_id) & (Draw.chain == unit.chain)
        session.execute(delete(Draw).where(mine, Draw.sweep >= draws[0].sweep))
        rows = [{"job_id": unit.job_id, "chain": unit.chain, **draw._asdict()} for draw in draws]
        session.execute(insert(Draw), rows)
    session.add(Checkpoint(unit_id=unit.id, n_sweeps=n_sweeps, data=data))
    session.flush()
    kept = select(Checkpoint.id).where(Checkpoint.unit_id == unit.id).order_by(Checkpoint.id.desc())
    old = session.scalars(kept.offset(KEPT_CHECKPOINTS)).all()
    session.execute(delete(Checkpoint).where(Checkpoint.id.in_(old)))


def best_chain(session: Session, job: Job) -> int:
    """The chain with the highest mean log joint over its kept draws; the first of several."""
    mean = func.avg(Draw.log_joint)
    kept = select(Draw.chain).where(Draw.job_id == job.id, Draw.sweep > job.settings["burn_in"])
    return session.scalars(kept.group_by(Draw.chain).order_by(mean.desc(), Draw.chain).limit(1)).one()


def chain_units(session: Session, job: Job, number: int | None) -> Sequence[Unit]:
    """The units of the job's chains in order, or of the one with this number."""
    query = select(Unit).where(Unit.job_id == job.id, Unit.kind == UnitKind.CHAIN).order_by(Unit.chain)
    return session.scalars(query if number is None else query.where(Unit.chain == number)).all()


def traces(session: Session, job: Job) -> dict[str, Array]:
    """float64[C, S] by quantity: its kept draws of each chain."""
    quantities = [getattr(Draw, name) for name in TRACED]
    kept = select(*quantities).where(Draw.job_id == job.id, Draw.sweep > job.settings["burn_in"])
    rows = np.array(session.execute(kept.order_by(Draw.chain, Draw.sweep)).all(), np.float64)
    return {name: rows[:, i].reshape(n_chains(job.settings), -1) for i, name in enumerate(TRACED)}
