"""The tables, all of them. Times are seconds since 1970 by the database's clock.

More than 300 lines, in one file: `Base.metadata` is complete, for migrations and removals, once this is imported.
"""

from typing import Any, ClassVar

from sqlalchemy import (
    JSON,
    BigInteger,
    ColumnElement,
    Double,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    String,
    Text,
    UniqueConstraint,
    and_,
    false,
    or_,
    select,
    text,
)
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column

from app.core.db import now

MAX_NAME = 200  # characters of a corpus name or a label
MAX_KEY = 500  # characters
MAX_TAG = 100  # characters
MAX_SWEEPS = 1_000_000  # of a chain

MAX_OWNER = 100  # characters
LOCAL = "local"  # the owner of what is made while no API keys are asked for

# SQLite numbers rows by itself only in a column of type INTEGER, which holds 64 bits there.
RowId = BigInteger().with_variant(Integer(), "sqlite")


def owned() -> Mapped[str]:
    """A column that says to whom a row belongs; see app.access."""
    return mapped_column(String(MAX_OWNER), default=LOCAL, server_default=LOCAL)


def parent(column: str, **options: Any) -> Mapped[Any]:
    """A column that refers to a row and goes when that row goes."""
    return mapped_column(ForeignKey(column, ondelete="CASCADE"), **options)


class Base(DeclarativeBase):
    """What all tables share: names for constraints, so that migrations can speak of them."""

    metadata = MetaData(
        naming_convention={
            "ix": "ix_%(table_name)s_%(column_0_N_name)s",
            "uq": "uq_%(table_name)s_%(column_0_N_name)s",
            "fk": "fk_%(table_name)s_%(column_0_name)s",
            "pk": "pk_%(table_name)s",
        }
    )
    # JSON comes back as plain values, not as models of pydantic: it was checked on its way in and answers check it on
    # theirs out (app.schemas); the worker, which imports neither, makes the sampler's own dataclasses of it.
    type_annotation_map: ClassVar[dict[Any, Any]] = {
        str: Text,
        float: Double,
        bytes: LargeBinary,
        dict[str, Any]: JSON,
        list[Any]: JSON,
    }


class Corpus(Base):
    """Documents under one name; grows by batches, each with a version of its own."""

    __tablename__ = "corpora"

    id: Mapped[str] = mapped_column(String(36), primary_key=True)
    name: Mapped[str] = mapped_column(String(MAX_NAME))
    # A batch of documents bumps the version in the transaction that inserts them. The row's lock puts
    # batches in order: once version v is visible, so is every document with a version up to v.
    version: Mapped[int] = mapped_column(default=0)
    vector_length: Mapped[int | None]  # of the vectors that its documents bring; null: none has brought one yet
    created_at: Mapped[float] = mapped_column(default=now())
    deleted_at: Mapped[float | None]  # since then nobody sees it, while its rows are taken out a few at a time
    owner: Mapped[str] = owned()
    # Rows of documents, also of those that were replaced or deleted; and bytes of their texts and fields, of vectors
    # that were brought, and of descriptions. See app.core.quotas.
    stored_documents: Mapped[int] = mapped_column(BigInteger, default=0, server_default="0")
    stored_bytes: Mapped[int] = mapped_column(BigInteger, default=0, server_default="0")

    __table_args__ = (Index(None, "created_at", "id"), Index(None, "owner", "created_at", "id"))


def is_visible(corpus_id: Any) -> ColumnElement[bool]:
    """The condition, in SQL, that the corpus with this id is there and nobody has deleted it."""
    return select(Corpus.id).where(Corpus.id == corpus_id, Corpus.deleted_at.is_(None)).exists()


IS_EMPTY = text("text = ''")  # of a document, in the letters that its index has
IS_ERASED = text("erased")
IS_DELETED = text("deleted_at IS NOT NULL")  # of a job
IS_WAITING = text("state = 'waiting'")  # of a webhook
# Of a job or a side run, as `runs.LIVE`; in words with which SQLite uses no index of all statuses, but this one's.
IS_LIVE = text("coalesce(status, '') IN ('queued', 'running')")
AT_HAND = text("status IN ('ready', 'running')")
IS_AT_HAND = text("units.status IN ('ready', 'running')")  # of a unit; in the words of its index, for SQLite's sake
IS_DOUBTFUL = text("suggested IS NOT NULL")  # of an audit
FOREVER = 2**31 - 1  # a version that no corpus comes to


class Document(Base):
    """One text, labeled or not, as the versions of its corpus from `version` up to, not including, `until` have it.

    A correction puts another row in its place; this one stays for the jobs over the versions that it was part of.
    """

    __tablename__ = "documents"

    id: Mapped[int] = mapped_column(RowId, primary_key=True)
    corpus_id: Mapped[str] = parent("corpora.id")
    version: Mapped[int]
    until: Mapped[int] = mapped_column(default=FOREVER, server_default=str(FOREVER))
    key: Mapped[str] = mapped_column(String(MAX_KEY))
    text: Mapped[str]
    is_counts: Mapped[bool] = mapped_column(default=False, server_default=false())  # the text is JSON: words and counts
    label: Mapped[str | None] = mapped_column(String(MAX_NAME))
    fields: Mapped[dict[str, Any] | None] = mapped_column(JSON(none_as_null=True))  # what else its row had
    erased: Mapped[bool] = mapped_column(default=False, server_default=false())  # its text and fields were taken out

    __table_args__ = (
        UniqueConstraint("corpus_id", "key", "until"),
        Index(None, "corpus_id", "id"),
        # What counts read is in this one and the next; it has the order of a list as well.
        Index("ix_documents_label", "corpus_id", "until", "label", "id", "version"),
        Index("ix_documents_empty", "corpus_id", "until", sqlite_where=IS_EMPTY, postgresql_where=IS_EMPTY),
        Index("ix_documents_erased", "corpus_id", sqlite_where=IS_ERASED, postgresql_where=IS_ERASED),
    )


IS_CURRENT = Document.until == FOREVER


def is_part_of(version: Any) -> ColumnElement[bool]:
    """The condition, in SQL, that a document is part of a version of its corpus."""
    return and_(Document.version <= version, Document.until > version)


class DocumentVector(Base):
    """The vector of a document, from a version of its corpus on until a later row has another one."""

    __tablename__ = "document_vectors"

    document_id: Mapped[int] = parent("documents.id", primary_key=True)
    made_by: Mapped[str] = mapped_column(String(64), primary_key=True)  # kinds.BROUGHT, or the digest of a model
    version: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)  # 0: of every version, as made ones are
    data: Mapped[bytes]  # see app.core.vectors


class CategoryDescription(Base):
    """What a category is about, in a few words: one that need not have a labeled document.

    The versions of its corpus from `version` up to, not including, `until` have it.
    """

    __tablename__ = "category_descriptions"

    id: Mapped[int] = mapped_column(RowId, primary_key=True)
    corpus_id: Mapped[str] = parent("corpora.id")
    version: Mapped[int]
    until: Mapped[int] = mapped_column(default=FOREVER, server_default=str(FOREVER))
    name: Mapped[str] = mapped_column(String(MAX_NAME))
    text: Mapped[str]
    vector: Mapped[bytes | None]  # as those of documents; brought with it

    __table_args__ = (UniqueConstraint("corpus_id", "name", "until"), Index(None, "corpus_id", "id"))


class TextBatch(Base):
    """The texts that a batch of documents brought into a corpus, those that were not there before.

    Empty documents have none. See app.uploads.texts.
    """

    __tablename__ = "text_batches"

    corpus_id: Mapped[str] = parent("corpora.id", primary_key=True)
    version: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)  # of the corpus, that the batch made
    n_texts: Mapped[int]
    n_copies: Mapped[int]  # documents whose text is that of an earlier one
    digests: Mapped[bytes]  # of the texts, ascending


class TextIndex(Base):
    """How far the documents of a corpus are in the index of words. See app.search."""

    __tablename__ = "text_indexes"

    corpus_id: Mapped[str] = parent("corpora.id", primary_key=True)
    document_id: Mapped[int] = mapped_column(BigInteger)  # its documents up to this one are in the index
    # Since the index was last written anew: until it is, the words of what was erased lie in the files of SQLite.
    n_erasures: Mapped[int] = mapped_column(default=0, server_default="0")


class Encoding(Base):
    """A corpus version as token arrays under some text options; shared by chains and jobs."""

    __tablename__ = "encodings"

    id: Mapped[int] = mapped_column(RowId, primary_key=True)
    corpus_id: Mapped[str] = parent("corpora.id")
    corpus_version: Mapped[int]
    options: Mapped[str]  # canonical JSON
    n_documents: Mapped[int]
    n_texts: Mapped[int] = mapped_column(default=0, server_default="0")  # distinct ones, which the tokens are of
    n_tokens: Mapped[int] = mapped_column(BigInteger)
    n_words: Mapped[int]
    n_known: Mapped[int]
    vocabulary: Mapped[list[Any]]
    categories: Mapped[list[Any]]  # names of the known categories, in index order
    facts: Mapped[dict[str, Any] | None] = mapped_column(JSON(none_as_null=True))  # language stop_words stemming
    digest: Mapped[str | None] = mapped_column(String(64))  # SHA-256, in hex, of all parts; null until all are here

    __table_args__ = (UniqueConstraint("corpus_id", "corpus_version", "options"),)


class EncodingPart(Base):
    """A piece of an encoded corpus, compressed: no value of a database holds all of a large one."""

    __tablename__ = "encoding_parts"

    encoding_id: Mapped[int] = parent("encodings.id", primary_key=True)
    number: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)  # from 0, without a gap
    data: Mapped[bytes]  # less than 8 MiB


class VectorStep(Base):
    """What a step of the unit `vectors` has found: the axes of the vectors of an encoding's texts, or some of these.

    Shared by all jobs over the encoding with vectors of the same origin.
    """

    __tablename__ = "vector_steps"

    encoding_id: Mapped[int] = parent("encodings.id", primary_key=True)
    made_by: Mapped[str] = mapped_column(String(64), primary_key=True)  # as of document_vectors
    number: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)  # from 0
    data: Mapped[bytes]


# Among the options of an encoding, and of an atom run, that are of one job alone: its id.
ENCODING_OF_JOB, ATOMS_OF_JOB = "labels_of_job", "atoms_of_job"


def named_in(name: str, job_id: str) -> str:
    """How a job's id stands in canonical options."""
    return f'"{name}": "{job_id}"'


class AtomRun(Base):
    """One run of atoms over the words of a corpus; shared by all jobs with the same words, options and seed."""

    __tablename__ = "atom_runs"

    corpus_id: Mapped[str] = parent("corpora.id", primary_key=True)
    words_digest: Mapped[str] = mapped_column(String(64), primary_key=True)  # SHA-256 of words alone, without labels
    options: Mapped[str] = mapped_column(primary_key=True)  # canonical JSON
    number: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)  # from 0
    data: Mapped[bytes]


def model_of(context: Any) -> str | None:
    """The model of a job that is inserted."""
    settings = context.get_current_parameters()["settings"]
    return settings.get("model") if isinstance(settings, dict) else None


class Job(Base):
    """One categorization of a corpus version. Its status changes in lifecycle.py and leases.py alone."""

    __tablename__ = "jobs"

    id: Mapped[str] = mapped_column(String(36), primary_key=True)
    corpus_id: Mapped[str] = parent("corpora.id")
    corpus_version: Mapped[int]
    settings: Mapped[dict[str, Any]]  # as JobIn.settings() has them
    model: Mapped[str | None] = mapped_column(String(20), default=model_of)  # as these say, to be counted
    status: Mapped[str] = mapped_column(String(20))  # queued running paused succeeded failed cancelled
    error: Mapped[str | None]
    encoding_id: Mapped[int | None] = mapped_column(ForeignKey("encodings.id"), index=True)
    created_at: Mapped[float] = mapped_column(default=now())
    started_at: Mapped[float | None]
    finished_at: Mapped[float | None]
    claimed_at: Mapped[float | None]  # when a worker last turned to one of its units
    edition: Mapped[int] = mapped_column(default=0, server_default="0")  # of the results that are read; 0: none
    warnings: Mapped[list[Any] | None] = mapped_column(JSON(none_as_null=True))  # sentences, told when it was submitted
    name: Mapped[str | None] = mapped_column(String(MAX_NAME))
    name_folded: Mapped[str | None]  # as it is searched: SQLite itself knows upper and lower case of ASCII alone
    note: Mapped[str | None]
    # Of a job that continues another one: that one; its edition and the last of its decisions that counts here; the
    # names that labels have here, the ids of categories by their names, and whether any label is another one.
    continues: Mapped[str | None] = mapped_column(String(36), index=True)
    continued: Mapped[dict[str, Any] | None] = mapped_column(
        JSON(none_as_null=True)
    )  # edition decision names ids clamped
    comparison_id: Mapped[str | None] = mapped_column(String(36), index=True)  # that it is one cell of
    deleted_at: Mapped[float | None]  # since then nobody sees it, while its rows are taken out a few at a time
    owner: Mapped[str] = owned()  # that of its corpus
    expired_at: Mapped[float | None]  # since then it can only be read: its checkpoints are gone, see app.upkeep
    words_digest: Mapped[str | None] = mapped_column(String(64))  # of the atom runs that it uses, once they are made
    # Since when it waits for its turn: when a worker last turned to it, or else when it was made.
    waits_since: Mapped[float] = mapped_column(default=now(), server_default="0")
    chains: Mapped[int] = mapped_column(default=0, server_default="0")  # units of that kind
    n_tokens: Mapped[int] = mapped_column(BigInteger, default=0, server_default="0")  # of its corpus, by the forecast

    __table_args__ = (
        # With the status at their end: those that have another one are passed over without a look at their rows.
        Index(None, "created_at", "id", "status"),
        Index(None, "owner", "created_at", "id", "status"),
        Index(None, "corpus_id", "created_at", "id", "status"),
        Index(None, "owner", "claimed_at"),
        # What is asked of the queue, however many jobs have ended: turns by owner, and what each has live.
        Index(
            "ix_jobs_live",
            *("owner", "waits_since", "id", "status", "chains", "n_tokens"),
            sqlite_where=IS_LIVE,
            postgresql_where=IS_LIVE,
        ),
        # What metrics count. It begins with the model, since SQLite would read a list by status from it, and sort that.
        Index("ix_jobs_model", "model", "status", "deleted_at"),
        Index("ix_jobs_deleted", "deleted_at", sqlite_where=IS_DELETED, postgresql_where=IS_DELETED),
    )


class Comparison(Base):
    """Several methods over several random choices of the labels that a method sees: a job each."""

    __tablename__ = "comparisons"

    id: Mapped[str] = mapped_column(String(36), primary_key=True)
    corpus_id: Mapped[str] = parent("corpora.id", index=True)
    corpus_version: Mapped[int]
    name: Mapped[str | None] = mapped_column(String(MAX_NAME))
    settings: Mapped[dict[str, Any]]  # as app.core.method_comparisons.Planned has them
    created_at: Mapped[float] = mapped_column(default=now())
    owner: Mapped[str] = owned()  # that of its corpus

    __table_args__ = (Index(None, "owner", "created_at", "id"),)


def is_visible_job() -> ColumnElement[bool]:
    """The condition, in SQL, that nobody has deleted a job or its corpus."""
    return and_(Job.deleted_at.is_(None), is_visible(Job.corpus_id))


def is_visible_comparison() -> ColumnElement[bool]:
    """The condition, in SQL, that nobody has deleted the corpus of a comparison."""
    return is_visible(Comparison.corpus_id)


class JobTag(Base):
    """A tag that somebody gave to a job."""

    __tablename__ = "job_tags"

    job_id: Mapped[str] = parent("jobs.id", primary_key=True)
    number: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)  # from 0, in the order that was given
    tag: Mapped[str] = mapped_column(String(MAX_TAG))
    folded: Mapped[str]  # as it is searched

    __table_args__ = (Index(None, "folded", "job_id"),)


class Webhook(Base):
    """Who is to be told of a job's end, and what became of it. See app.webhooks."""

    __tablename__ = "webhooks"

    job_id: Mapped[str] = parent("jobs.id", primary_key=True)
    url: Mapped[str]
    secret: Mapped[str]  # not hashed: messages are signed with it
    state: Mapped[str] = mapped_column(String(20), default="waiting")  # waiting delivered failed
    attempts: Mapped[int] = mapped_column(default=0)
    next_at: Mapped[float] = mapped_column(default=0.0)  # not before it; while an attempt is made, when it is given up
    delivered_at: Mapped[float | None]
    last_error: Mapped[str | None]

    __table_args__ = (Index("ix_webhooks_due", "next_at", sqlite_where=IS_WAITING, postgresql_where=IS_WAITING),)


class SideRun(Base):
    """What a job that has succeeded does besides, with a state of its own: the job stays what it is.

    Its status changes in lifecycle.py and leases.py alone.
    """

    __tablename__ = "side_runs"

    job_id: Mapped[str] = parent("jobs.id", primary_key=True)
    kind: Mapped[str] = mapped_column(String(20), primary_key=True)  # extension power
    status: Mapped[str] = mapped_column(String(20))  # as those of jobs
    error: Mapped[str | None]
    sweeps: Mapped[int | None]  # of an extension: of each chain at its end
    created_at: Mapped[float] = mapped_column(default=now())
    started_at: Mapped[float | None]
    finished_at: Mapped[float | None]

    __table_args__ = (Index("ix_side_runs_live", "job_id", sqlite_where=IS_LIVE, postgresql_where=IS_LIVE),)


class Unit(Base):
    """A leasable piece of a job, and who holds it. Its status changes in lifecycle.py and leases.py alone."""

    __tablename__ = "units"

    id: Mapped[int] = mapped_column(RowId, primary_key=True)
    job_id: Mapped[str] = parent("jobs.id")
    kind: Mapped[str] = mapped_column(String(20))  # encode vectors atoms calibrate chain conclude power
    side: Mapped[str | None] = mapped_column(String(20))  # the kind of the side run that it belongs to now, if any
    chain: Mapped[int | None]  # of a chain unit
    status: Mapped[str] = mapped_column(String(20))  # waiting ready running done
    token: Mapped[str | None] = mapped_column(String(100))  # of the leg that holds the unit
    # Running: until when the leg holds it. Ready: when its message counts as lost.
    lease_until: Mapped[float | None]
    attempts: Mapped[int] = mapped_column(default=0)  # claims since the last save
    n_sweeps: Mapped[int] = mapped_column(default=0)  # done; of stepwise units it is their steps
    n_steps: Mapped[int | None]  # of stepwise units, how many there are, once a leg has saved
    n_categories: Mapped[int | None]
    sweeps_per_second: Mapped[float | None]
    seconds: Mapped[float] = mapped_column(default=0.0, server_default="0")  # that its legs have worked
    saved_at: Mapped[float | None]  # when its leg last saved, or began if it has not
    digest: Mapped[str | None] = mapped_column(String(64))  # of the states or steps so far, a hash chain in hex
    error: Mapped[str | None]  # the last one since the last save

    __table_args__ = (
        UniqueConstraint("job_id", "kind", "chain"),
        # Without the many that wait or are done: SQLite would read all of these to find those of a job.
        Index("ix_units_at_hand", "status", "lease_until", sqlite_where=AT_HAND, postgresql_where=AT_HAND),
    )


class Draw(Base):
    """What one sweep of a chain left in the trace."""

    __tablename__ = "draws"

    job_id: Mapped[str] = parent("jobs.id", primary_key=True)
    chain: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    sweep: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    n_categories: Mapped[int]
    n_new: Mapped[int]
    n_new_with_documents: Mapped[int]
    n_tables: Mapped[int | None]  # as alpha and gamma, of lbpl-ntm alone
    alpha: Mapped[float | None]
    gamma: Mapped[float | None]
    log_joint: Mapped[float]
    setting: Mapped[int | None]  # of a calibrated chain: under which of its settings the sweep went


class Checkpoint(Base):
    """The bytes from which a chain goes on."""

    __tablename__ = "checkpoints"

    id: Mapped[int] = mapped_column(RowId, primary_key=True)
    unit_id: Mapped[int] = parent("units.id", index=True)
    n_sweeps: Mapped[int]
    data: Mapped[bytes]
    created_at: Mapped[float] = mapped_column(default=now())


class CalibrationStep(Base):
    """What one step of a job's calibration found."""

    __tablename__ = "calibration_steps"

    job_id: Mapped[str] = parent("jobs.id", primary_key=True)
    number: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)  # from 0
    data: Mapped[bytes]


class PowerStep(Base):
    """How one known category was found again when its labels were hidden."""

    __tablename__ = "power_steps"

    job_id: Mapped[str] = parent("jobs.id", primary_key=True)
    number: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)  # of the category in the encoding
    data: Mapped[dict[str, Any]]  # found recall taken_for taken probability, as sampler.calibrated.power_test has them


class Category(Base):
    """One category of a job's answer."""

    __tablename__ = "categories"

    job_id: Mapped[str] = parent("jobs.id", primary_key=True)
    edition: Mapped[int] = mapped_column(primary_key=True, autoincrement=False, default=1, server_default="1")
    category: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    name: Mapped[str] = mapped_column(String(MAX_NAME))
    known: Mapped[bool]
    n_documents: Mapped[int]  # unlabeled documents answered with it
    n_labeled: Mapped[int]
    share: Mapped[float]
    top_words: Mapped[list[Any]]  # [{"word": ..., "documents": ...}]
    stability: Mapped[float | None]
    short_id: Mapped[str | None] = mapped_column(String(20), index=True)  # stays while indices change
    is_named: Mapped[bool] = mapped_column(default=False, server_default=false())  # somebody gave a new one its name
    portrait: Mapped[dict[str, Any] | None] = mapped_column(JSON(none_as_null=True))  # what else is told of it
    topics: Mapped[list[Any] | None] = mapped_column(JSON(none_as_null=True))  # [{"topic": ..., "weight": ...}]


class Topic(Base):
    """A topic of a job's categories: a distribution over words."""

    __tablename__ = "topics"

    job_id: Mapped[str] = parent("jobs.id", primary_key=True)
    edition: Mapped[int] = mapped_column(primary_key=True, autoincrement=False, default=1, server_default="1")
    topic: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)  # from 0, by falling share
    share: Mapped[float]  # of all tokens
    top_words: Mapped[list[Any]]  # [{"word": ..., "probability": ...}]


class Answer(Base):
    """The category of one unlabeled document, or the reason why it has none."""

    __tablename__ = "answers"

    job_id: Mapped[str] = parent("jobs.id", primary_key=True)
    edition: Mapped[int] = mapped_column(primary_key=True, autoincrement=False, default=1, server_default="1")
    # Indexed for the sake of deleting a corpus: each document asks for its answers.
    document_id: Mapped[int] = parent("documents.id", primary_key=True, index=True)
    category: Mapped[int | None]
    probability: Mapped[float | None]
    known_probability: Mapped[float | None]  # of being of a known category, whichever
    runner_up: Mapped[int | None]
    runner_up_probability: Mapped[float | None]
    reason: Mapped[str | None]
    stability: Mapped[float | None]
    copy_of: Mapped[int | None] = mapped_column(BigInteger)  # the first document with the same text, or nearly
    others: Mapped[list[Any] | None] = mapped_column(JSON(none_as_null=True))  # [[category, probability], ...], likely
    leaf: Mapped[int | None]  # of the tree of new categories, that the document is in

    __table_args__ = (
        Index(None, "job_id", "edition", "category", "document_id"),
        Index("ix_answers_probability", "job_id", "edition", "probability", "document_id"),
        Index("ix_answers_category_probability", "job_id", "edition", "category", "probability", "document_id"),
    )


class TreeNode(Base):
    """A node of the tree over the new categories of a job: a group of documents that draws keep together."""

    __tablename__ = "tree_nodes"

    job_id: Mapped[str] = parent("jobs.id", primary_key=True)
    edition: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    node: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)  # leaves first; parents after their parts
    parent: Mapped[int | None]
    category: Mapped[int | None]  # of the answer, where the node is one or is part of one
    n_documents: Mapped[int]
    together: Mapped[float | None]  # of two documents, one of each part, the share of draws that join them
    top_words: Mapped[list[Any]]  # as those of categories


class Audit(Base):
    """How probable the label of a labeled document is; another category is suggested if the label is doubtful."""

    __tablename__ = "audits"

    job_id: Mapped[str] = parent("jobs.id", primary_key=True)
    edition: Mapped[int] = mapped_column(primary_key=True, autoincrement=False, default=1, server_default="1")
    document_id: Mapped[int] = parent("documents.id", primary_key=True, index=True)  # as that of answers
    category: Mapped[int]  # that the label names
    probability: Mapped[float]  # of it, by what the other labels teach
    suggested: Mapped[int | None]  # the most likely other one; null if the label is not doubtful
    suggested_probability: Mapped[float | None]
    by_copies: Mapped[bool] = mapped_column(default=False, server_default=false())  # they have other labels

    __table_args__ = (
        Index(None, "job_id", "edition", "probability", "document_id"),
        Index(
            "ix_audits_doubtful",
            *("job_id", "edition", "category", "suggested", "probability", "suggested_probability"),
            sqlite_where=IS_DOUBTFUL,
            postgresql_where=IS_DOUBTFUL,
        ),
    )


class Summary(Base):
    """What the chains of a job say together."""

    __tablename__ = "summaries"

    job_id: Mapped[str] = parent("jobs.id", primary_key=True)
    edition: Mapped[int] = mapped_column(primary_key=True, autoincrement=False, default=1, server_default="1")
    best_chain: Mapped[int | None]  # whose answers these are; null if all chains are pooled
    data: Mapped[dict[str, Any]]  # n_new and n_new_with_documents: draws by value; diagnostics, calibration if any


class NumberAnswer(Base):
    """What a job that was asked for several numbers of categories answers with one of them."""

    __tablename__ = "number_answers"

    job_id: Mapped[str] = parent("jobs.id", primary_key=True)
    edition: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    n_categories: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    data: Mapped[bytes]  # the category of each of its `answers`, by rising document_id, see `sampler.archive`


class Decision(Base):
    """What somebody decided about the answer of a job, as an event: none is changed, and another one undoes it."""

    __tablename__ = "decisions"

    job_id: Mapped[str] = parent("jobs.id", primary_key=True)
    number: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)  # from 1, without a gap
    kind: Mapped[str] = mapped_column(String(20))
    body: Mapped[dict[str, Any]]  # what it says of categories, by their short ids
    author: Mapped[str | None] = mapped_column(String(MAX_NAME))
    note: Mapped[str | None]
    made_at: Mapped[float] = mapped_column(default=now())


class DecidedDocument(Base):
    """A document that a decision is about."""

    __tablename__ = "decided_documents"

    job_id: Mapped[str] = parent("jobs.id", primary_key=True)
    document_id: Mapped[int] = parent("documents.id", primary_key=True, index=True)  # as that of answers
    number: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)  # of the decision
    # Short id of the one that it is of now, or its name, if there were no results yet; null: of none.
    category: Mapped[str | None] = mapped_column(String(MAX_NAME))


class ClampedLabel(Base):
    """A label that a document has for a job alone, by what was decided in the job that it continues."""

    __tablename__ = "clamped_labels"

    job_id: Mapped[str] = parent("jobs.id", primary_key=True)
    document_id: Mapped[int] = parent("documents.id", primary_key=True, index=True)  # as that of answers
    label: Mapped[str | None] = mapped_column(String(MAX_NAME))  # null: it is of no category, and set aside
    is_drawn: Mapped[bool] = mapped_column(default=False)  # nobody decided about it, but about its category
    probability: Mapped[float | None]  # of one that was drawn, as the answer had it then


class FrozenModel(Base):
    """What answers new documents: of a job's results, or from a file that somebody brought."""

    __tablename__ = "models"

    id: Mapped[str] = mapped_column(String(36), primary_key=True)
    job_id: Mapped[str | None] = parent("jobs.id", index=True)  # null: imported
    edition: Mapped[int | None]
    name: Mapped[str | None] = mapped_column(String(MAX_NAME))
    created_at: Mapped[float] = mapped_column(default=now())
    n_bytes: Mapped[int] = mapped_column(BigInteger)  # of the file
    digest: Mapped[str | None] = mapped_column(String(64))  # SHA-256 of the file, in hex; null until all parts are here
    facts: Mapped[dict[str, Any]]  # what is told of it without reading the file
    owner: Mapped[str] = owned()  # that of its job, or whoever imported it

    __table_args__ = (Index(None, "created_at", "id"), Index(None, "owner", "created_at", "id"))


MODEL_PIECE_BYTES = 4 * 2**20  # of a model's file in a row


class ModelPart(Base):
    """A piece of a model's file."""

    __tablename__ = "model_parts"

    model_id: Mapped[str] = parent("models.id", primary_key=True)
    number: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)  # from 0, without a gap
    data: Mapped[bytes]  # MODEL_PIECE_BYTES, the last one less


class CategorizedDay(Base):
    """How many documents a model has answered on one day, and how many of them were unlike all that it learned from."""

    __tablename__ = "categorized_days"

    model_id: Mapped[str] = parent("models.id", primary_key=True)
    day: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)  # since 1970, by UTC
    n_documents: Mapped[int] = mapped_column(BigInteger)
    n_novel: Mapped[int] = mapped_column(BigInteger)
    n_without_evidence: Mapped[int] = mapped_column(BigInteger)  # no word of theirs is known


class Worker(Base):
    """When a worker last said that it lives."""

    __tablename__ = "workers"

    name: Mapped[str] = mapped_column(String(MAX_NAME), primary_key=True)
    seen_at: Mapped[float]
    note: Mapped[str | None]  # why it takes no work yet
    embedding_model: Mapped[str | None] = mapped_column(String(64))  # digest of the model with which it makes vectors


class ApiKey(Base):
    """A key that lets its holder in, on behalf of an owner. Of its secret only a hash is kept; see app.access.keys."""

    __tablename__ = "api_keys"

    id: Mapped[str] = mapped_column(String(12), primary_key=True)
    owner: Mapped[str] = mapped_column(String(MAX_OWNER))
    name: Mapped[str | None] = mapped_column(String(MAX_NAME))
    digest: Mapped[str] = mapped_column(String(64))  # SHA-256 of its secret, in hex
    scopes: Mapped[str] = mapped_column(String(50))  # read write admin, with spaces between
    created_at: Mapped[float] = mapped_column(default=now())
    expires_at: Mapped[float | None]
    revoked_at: Mapped[float | None]
    used_at: Mapped[float | None]  # the last time, to the hour


def is_good_key() -> ColumnElement[bool]:
    """The condition that a key lets anybody in now."""
    return and_(ApiKey.revoked_at.is_(None), or_(ApiKey.expires_at.is_(None), ApiKey.expires_at > now()))


class Count(Base):
    """What all workers together have counted of something, see app.core.counters."""

    __tablename__ = "counts"

    name: Mapped[str] = mapped_column(String(40), primary_key=True)
    kind: Mapped[str] = mapped_column(String(20), primary_key=True)  # of units, or empty
    part: Mapped[str] = mapped_column(String(20), primary_key=True)  # the end of a leg, a bucket, or empty
    value: Mapped[float]


class IdempotentRequest(Base):
    """A request under a key of its client's, and the answer that a repeat gets; kept for a day."""

    __tablename__ = "idempotent_requests"

    id: Mapped[int] = mapped_column(RowId, primary_key=True)
    scope: Mapped[str]  # owner, method and path
    key: Mapped[str] = mapped_column(String(MAX_NAME))
    digest: Mapped[str | None] = mapped_column(String(64))  # SHA-256 of the body
    status: Mapped[int | None]  # null, as what follows, while an upload is under way or broken off
    headers: Mapped[dict[str, Any] | None] = mapped_column(JSON(none_as_null=True))
    body: Mapped[str | None]
    created_at: Mapped[float] = mapped_column(default=now(), index=True)

    __table_args__ = (UniqueConstraint("scope", "key"),)
