"""What an owner stores and has live, and how much of it the operator allows.

Corpora carry what they store, and jobs what they are. Whatever changes that adds to it in its own transaction, and then
asks here; one owner's changes pass one by one, so that two at once cannot exceed a quota together.
"""

from typing import Any, NamedTuple

from sqlalchemy import ColumnElement, Integer, Text, case, cast, func, select, update
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.orm import Session
from sqlalchemy.sql.compiler import SQLCompiler
from sqlalchemy.sql.functions import FunctionElement

from app.core.errors import QuotaExceeded, TooManyJobs
from app.core.kinds import BROUGHT, SideKind
from app.core.settings import PREFIX, Settings
from app.core.tables import IS_LIVE, ApiKey, Corpus, Document, DocumentVector, Job, SideRun, is_good_key


class Stored(NamedTuple):
    """What is stored, or comes to it or goes: rows of documents, also earlier ones, and bytes of all that was sent."""

    documents: int = 0
    n_bytes: int = 0

    def plus(self, documents: int, n_bytes: int) -> "Stored":
        """With some more."""
        return Stored(self.documents + documents, self.n_bytes + n_bytes)


class StorageQuota(NamedTuple):
    """What an owner may store; None is no limit."""

    documents: int | None = None
    n_bytes: int | None = None

    @classmethod
    def of(cls, settings: Settings) -> "StorageQuota":
        """As the operator has set it."""
        return cls(settings.owner_documents, settings.owner_bytes)


class Live(NamedTuple):
    """What is queued or running, or would be: jobs and side runs, their chains, and the tokens of their corpora."""

    jobs: int = 0
    chains: int = 0
    tokens: int = 0


class Octets(FunctionElement[int]):
    """The bytes of a text in SQL: older versions of SQLite have no function for it."""

    type = Integer()
    inherit_cache = True


@compiles(Octets, "sqlite")
def _in_sqlite(element: Octets, compiler: SQLCompiler, **options: Any) -> str:
    return f"length(CAST({compiler.process(element.clauses, **options)} AS BLOB))"


@compiles(Octets, "postgresql")
def _in_postgresql(element: Octets, compiler: SQLCompiler, **options: Any) -> str:
    return f"octet_length({compiler.process(element.clauses, **options)})"


NOTHING, UNLIMITED, NO_MORE = Stored(), StorageQuota(), Live()
LIVE_SETTINGS = ("owner_live_jobs", "owner_live_chains", "owner_tokens")  # as the fields of Live


def stored_by(session: Session, owner: str) -> Stored:
    """What an owner stores; a corpus that has been deleted is gone at once."""
    sums = (func.coalesce(func.sum(column), 0) for column in (Corpus.stored_documents, Corpus.stored_bytes))
    mine = (Corpus.owner == owner, Corpus.deleted_at.is_(None))
    return Stored(*map(int, session.execute(select(*sums).where(*mine)).one()))


def grow(session: Session, corpus_id: str, by: Stored, quota: StorageQuota, version: int | None = None) -> int:
    """Add to what a corpus stores, which may be less than nothing, and give it a version, if one is named.

    Returns the documents that it stores then, those of earlier versions included. Raises QuotaExceeded.
    """
    grown = update(Corpus).where(Corpus.id == corpus_id).returning(Corpus.owner, Corpus.stored_documents)
    grown = grown.values(
        stored_documents=Corpus.stored_documents + by.documents,
        stored_bytes=Corpus.stored_bytes + by.n_bytes,
        **({} if version is None else {"version": version}),
    )
    owner, stored = session.execute(grown.execution_options(synchronize_session=False)).one()
    if quota != UNLIMITED and max(by) > 0:
        check_stored(session, owner, quota)
    return int(stored)


def check_stored(session: Session, owner: str, quota: StorageQuota) -> None:
    """Raise QuotaExceeded if an owner stores more than the operator allows."""
    take_turn(session, owner)
    found = stored_by(session, owner)
    for name, used, allowed, what in (
        ("OWNER_DOCUMENTS", found.documents, quota.documents, "documents, earlier versions included"),
        ("OWNER_BYTES", found.n_bytes, quota.n_bytes, "bytes of texts, fields, vectors and descriptions"),
    ):
        if allowed is not None and used > allowed:
            raise QuotaExceeded(
                f"with this {owner} would store {used:,} {what}, and {PREFIX}{name} allows {allowed:,}: delete corpora "
                "that are no longer needed, or erase documents; GET /v1/usage reports what is stored",
                members={"would_use": used, "allowed": allowed},
            )


def live_of(session: Session, owner: str) -> Live:
    """What an owner has queued or running."""
    of_main = (func.count(), func.sum(Job.chains), func.sum(Job.n_tokens))
    chains = func.sum(case((SideRun.kind == SideKind.EXTENSION, Job.chains), else_=0))
    sides = (
        select(func.count(), chains, func.sum(Job.n_tokens)).select_from(SideRun).join(Job, Job.id == SideRun.job_id)
    )
    found = (
        session.execute(select(*of_main).select_from(Job).where(IS_LIVE, Job.owner == owner)).one(),
        session.execute(sides.where(SideRun.status.in_(("queued", "running")), Job.owner == owner)).one(),
    )
    return Live(*(sum(int(value or 0) for value in column) for column in zip(*found, strict=True)))


def check_live(session: Session, owner: str, settings: Settings, more: Live = NO_MORE) -> None:
    """Raise TooManyJobs if an owner has more live, with what would be, than the operator allows."""
    allowed: list[int | None] = [getattr(settings, name) for name in LIVE_SETTINGS]
    if not any(limit is not None for limit in allowed):
        return
    if more == NO_MORE:  # else nothing is changed
        take_turn(session, owner)
    found = live_of(session, owner)
    for name, used, extra, limit, what in zip(LIVE_SETTINGS, found, more, allowed, Live._fields, strict=True):
        if limit is not None and used + extra > limit:
            raise TooManyJobs(
                f"with this {owner} would have {used + extra:,} live {what}, and {PREFIX}{name.upper()} allows "
                f"{limit:,}: try again when a job has ended",
                members={"would_use": used + extra, "allowed": limit},
            )


def n_owners(session: Session) -> int:
    """How many owners have a key that is good now."""
    return session.scalar(select(func.count(ApiKey.owner.distinct())).where(is_good_key())) or 0


def take_turn(session: Session, owner: str) -> None:
    """Wait until no other transaction changes what this owner has; on SQLite there is but one that writes."""
    if session.get_bind().dialect.name == "postgresql":
        session.execute(select(func.pg_advisory_xact_lock(func.hashtextextended(owner, 0))))


def bytes_of(session: Session, *which: ColumnElement[bool]) -> int:
    """The bytes that some documents store: their texts and fields, and all vectors that they have brought."""
    texts = Octets(Document.text) + func.coalesce(Octets(cast(Document.fields, Text)), 0)
    theirs = DocumentVector.document_id.in_(select(Document.id).where(*which))
    vectors = select(func.sum(func.length(DocumentVector.data))).where(theirs, DocumentVector.made_by == BROUGHT)
    return sum(int(session.scalar(query) or 0) for query in (select(func.sum(texts)).where(*which), vectors))


def size(value: str | bytes | None) -> int:
    """The bytes that a value takes: of a text those in UTF-8."""
    if isinstance(value, str):
        return len(value) if value.isascii() else len(value.encode())
    return len(value or b"")
