"""Which texts a corpus holds, as digests, and how many of its documents are copies.

Digests come in no order, so that an index over them dirties a page for nearly every document: it costs SQLite about
as much as all else that an upload writes. Instead, each batch leaves the digests of the texts that were new with it in
one row, and a process remembers those of the corpora that it writes to. Once texts have been taken out again, the rows
are gone, until somebody writes one for all texts that are left.
"""

import hashlib
from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import case, delete, insert, or_, select
from sqlalchemy.orm import Session

from app.core.tables import IS_CURRENT, Document, TextBatch
from sampler.text.normal_forms import normal_form

DIGEST_BYTES = 8  # of a million texts, two share a digest with a chance of 1 in 37 million
DIGEST_TYPE = "<u8"
WHITE_SPACE = b"\t\n\v\f\r\x1c\x1d\x1e\x1f"  # of ASCII, as str.split() has it
BLANKS = bytes.maketrans(WHITE_SPACE, b" " * len(WHITE_SPACE))
TEXTS_AT_ONCE = 1_000
MAX_KNOWN, MAX_CORPORA = 4_000_000, 100  # digests that a process remembers, and corpora that it remembers them of

Digests = NDArray[np.uint64]


class KnownTexts(NamedTuple):
    """The distinct texts of a corpus up to a version."""

    first: int | None = None  # the version of the first batch they come from: another one begins anew
    version: int = 0
    runs: tuple[Digests, ...] = ()  # each ascending, and more than twice as long as the next: so there are few

    @property
    def size(self) -> int:
        """How many there are."""
        return sum(run.size for run in self.runs)

    def new_among(self, digests: Digests) -> Digests:
        """Those of some digests that are not here, ascending and each once."""
        digests = np.unique(digests)
        for run in self.runs:
            places = np.minimum(np.searchsorted(run, digests), run.size - 1)
            digests = digests[run[places] != digests]
        return digests

    def plus(self, digests: Digests) -> "KnownTexts":
        """These texts and others, whose digests ascend."""
        return self._replace(runs=merged((*self.runs, digests))) if digests.size else self

    def with_newer(self, session: Session, corpus_id: str) -> "KnownTexts":
        """These texts, and those that batches have brought since; all of them anew after a correction of texts."""
        is_newer = TextBatch.version > self.version
        digests = case((is_newer, TextBatch.digests)).label("digests")  # the first ones are known, and may be many
        mine = (TextBatch.corpus_id == corpus_id, or_(is_newer, TextBatch.version == self.first))
        found = session.execute(select(TextBatch.version, digests).where(*mine).order_by(TextBatch.version)).all()
        first = found[0].version if found else None
        if self.first not in (None, first):
            return KnownTexts().with_newer(session, corpus_id)
        newer = [batch for batch in found if batch.version > self.version]
        if not newer:
            return self
        came = np.sort(np.frombuffer(b"".join(batch.digests for batch in newer), DIGEST_TYPE))
        return self._replace(first=first, version=newer[-1].version).plus(came)


def merged(runs: tuple[Digests, ...]) -> tuple[Digests, ...]:
    """The runs, the last ones made one until it is less than half as long as the one before it."""
    while len(runs) > 1 and 2 * runs[-1].size >= runs[-2].size:
        runs = (*runs[:-2], np.sort(np.concatenate(runs[-2:]), kind="stable"))
    return runs


class RememberedTexts:
    """The texts of the corpora that a process writes to, as they were when it last looked."""

    def __init__(self) -> None:
        self.by_corpus: dict[str, KnownTexts] = {}

    def of(self, corpus_id: str) -> KnownTexts:
        """Those of a corpus."""
        return self.by_corpus.get(corpus_id, KnownTexts())

    def keep(self, corpus_id: str, texts: KnownTexts) -> None:
        """Remember them, and forget all others if that is too much; of a huge corpus they are not remembered."""
        if texts.size > MAX_KNOWN:
            self.by_corpus.pop(corpus_id, None)
            return
        self.by_corpus[corpus_id] = texts
        known = list(self.by_corpus.values())
        if len(known) > MAX_CORPORA or sum(each.size for each in known) > MAX_KNOWN:
            self.by_corpus = {corpus_id: texts}


def digests_of(texts: Iterable[str]) -> Digests:
    """The digests of texts in order; an empty one has none."""
    return np.frombuffer(b"".join([digest_of(text) for text in texts if text]), DIGEST_TYPE)


def digest_of(text: str) -> bytes:
    """What texts have in common that are equal but for white space and the Unicode form."""
    if text.isascii():  # the same in half the time
        plain = text.encode().translate(BLANKS).strip()
        plain = b" ".join(plain.split()) if b"  " in plain else plain
    else:
        plain = " ".join(normal_form("NFC", text).split()).encode()
    return hashlib.blake2b(plain, digest_size=DIGEST_BYTES).digest()


def read_texts(session: Session, corpus_id: str) -> Digests:
    """The digests of all texts that are in a corpus now, ascending; read from its documents, a few at a time."""
    current = select(Document.text).where(Document.corpus_id == corpus_id, IS_CURRENT, Document.text != "")
    with session.execute(current.execution_options(yield_per=TEXTS_AT_ONCE)) as rows:
        found = [digests_of(texts) for texts in rows.scalars().partitions()]
    return np.sort(np.concatenate(found)) if found else np.empty(0, DIGEST_TYPE)


def forget_texts(session: Session, corpus_id: str) -> None:
    """Forget which texts a corpus holds, since a correction took some out: whoever asks next reads them again."""
    session.execute(delete(TextBatch).where(TextBatch.corpus_id == corpus_id))


def note_again(session: Session, corpus_id: str, version: int) -> None:
    """Note the texts of a corpus that has none noted, as those of one batch."""
    texts = read_texts(session, corpus_id)
    if texts.size:
        session.execute(insert(TextBatch).values(batch_of(corpus_id, version, texts, np.unique(texts))))


def batch_of(corpus_id: str, version: int, texts: Digests, new: Digests) -> dict[str, Any]:
    """The row of a batch that brought these texts, some of them new."""
    return {
        "corpus_id": corpus_id,
        "version": version,
        "n_texts": new.size,
        "n_copies": texts.size - new.size,
        "digests": new.tobytes(),
    }
