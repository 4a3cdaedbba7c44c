"""What corpora hold, counted from their documents."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from sqlalchemy import and_, func, select
from sqlalchemy.orm import Session

from app.core.document_vectors import count_brought
from app.core.tables import FOREVER, IS_CURRENT, IS_EMPTY, Corpus, Document, TextBatch
from app.uploads.texts import read_texts

MAX_KNOWN = 10_000  # corpora whose counts a process remembers


class Counts(NamedTuple):
    """Documents of a corpus."""

    documents: int = 0
    labeled: int = 0
    unlabeled: int = 0
    empty: int = 0  # without text, labeled or not
    copies: int = 0  # whose text an earlier document has
    distinct_texts: int = 0
    vectors: int = 0  # documents that have brought one


class KnownCounts:
    """Counts of corpora at their versions, which no longer change: a list need not count what it has counted before."""

    def __init__(self) -> None:
        self.by_corpus: dict[str, tuple[int, Counts]] = {}

    def of(self, session: Session, corpora: Sequence[Corpus]) -> dict[str, Counts]:
        """The counts of the corpora as they are."""
        known = {corpus.id: self.by_corpus.get(corpus.id, (-1, Counts())) for corpus in corpora}
        changed = [corpus for corpus in corpora if known[corpus.id][0] != corpus.version]
        counted = count(session, [corpus.id for corpus in changed])
        known |= {corpus.id: (corpus.version, counted[corpus.id]) for corpus in changed}
        if len(self.by_corpus) + len(changed) > MAX_KNOWN:
            self.by_corpus = {}
        self.by_corpus |= known
        return {corpus_id: counts for corpus_id, (_, counts) in known.items()}


def count(session: Session, corpus_ids: Sequence[str]) -> dict[str, Counts]:
    """Count the documents of corpora in indexes alone, and their texts batch by batch, if none was taken out."""
    counts = dict.fromkeys(corpus_ids, Counts())
    if not corpus_ids:
        return counts
    mine = Document.corpus_id.in_(corpus_ids) & IS_CURRENT
    of_each = select(Document.corpus_id, func.count(), func.count(Document.label)).where(mine)
    for corpus_id, documents, labeled in session.execute(of_each.group_by(Document.corpus_id)):
        counts[corpus_id] = Counts(documents, labeled, documents - labeled)
    empty_of_each = select(Document.corpus_id, func.count()).where(mine, IS_EMPTY)
    for corpus_id, empty in session.execute(empty_of_each.group_by(Document.corpus_id)):
        counts[corpus_id] = counts[corpus_id]._replace(empty=empty)
    texts_of_each = select(TextBatch.corpus_id, func.sum(TextBatch.n_copies), func.sum(TextBatch.n_texts))
    of_mine = texts_of_each.where(TextBatch.corpus_id.in_(corpus_ids)).group_by(TextBatch.corpus_id)
    for corpus_id, copies, texts in session.execute(of_mine):
        counts[corpus_id] = counts[corpus_id]._replace(copies=int(copies), distinct_texts=int(texts))
    for corpus_id, vectors in count_brought(session, corpus_ids).items():
        counts[corpus_id] = counts[corpus_id]._replace(vectors=vectors)
    for corpus_id, found in counts.items():
        if found.documents > found.empty and found.distinct_texts == 0:  # a correction has taken texts out
            digests = read_texts(session, corpus_id)
            distinct = np.unique(digests).size
            counts[corpus_id] = found._replace(copies=digests.size - distinct, distinct_texts=distinct)
    return counts


def count_documents(session: Session, corpus_id: str) -> int:
    """The documents of a corpus."""
    return session.scalar(select(func.count()).where(Document.corpus_id == corpus_id, IS_CURRENT)) or 0


def count_by_label(session: Session, corpus_id: str) -> dict[str | None, int]:
    """How many documents of a corpus bear each label; under None, those that bear none."""
    counts = select(Document.label, func.count()).where(Document.corpus_id == corpus_id, IS_CURRENT)
    return dict(session.execute(counts.group_by(Document.label)).all())


def count_labeled(session: Session, corpus_id: str, version: int) -> int:
    """The labeled documents of a version of a corpus, counted in an index alone: those that are there, and others."""
    mine = (Document.corpus_id == corpus_id, Document.version <= version, Document.label.is_not(None))
    ended = and_(Document.until > version, Document.until < FOREVER)
    counts = [session.scalar(select(func.count()).where(*mine, is_one)) or 0 for is_one in (IS_CURRENT, ended)]
    return sum(counts)


def count_labels(session: Session, corpus_id: str) -> list[tuple[str, int]]:
    """The known categories of a corpus by name, and how many documents bear each as their label."""
    counts = (
        select(Document.label, func.count())
        .where(Document.corpus_id == corpus_id, IS_CURRENT, Document.label.is_not(None))
        .group_by(Document.label)
    )
    return sorted((name or "", n_documents) for name, n_documents in session.execute(counts))
