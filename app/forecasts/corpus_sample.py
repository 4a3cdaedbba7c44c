"""What a bounded look into a corpus shows before it is encoded: whether a job can answer anything, and how large it is.

However large the corpus is, a fixed number of documents is read, each up to a fixed length and a few at a time, so that
neither memory nor the interpreter is held for long.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

from sqlalchemy import Row, func, select
from sqlalchemy.orm import Session

from app.core.errors import NothingToCategorize, no_word_left
from app.core.tables import Document
from app.forecasts.forecast import Sizes
from sampler.text import AUTO, AUTO_LANGUAGE, SHORT, TextOptions, has_usable_word, stop_word_set, words_of

MAX_DOCUMENTS, MAX_CHARACTERS = 2_000, 2**21  # of a sample
MAX_LENGTH = 2**14  # characters of a document that are read
AT_ONCE = 50  # documents a query
MEASURED = 200  # documents of a sample whose words are counted
GROWTH = 0.5  # the vocabulary grows with about the square root of the corpus (Heaps' law)


class SampledDocument(NamedTuple):
    """A document of a sample."""

    text: str  # its first MAX_LENGTH characters
    n_characters: int  # of the whole text
    label: str | None


class Sample(NamedTuple):
    """Some documents of a corpus."""

    n_documents: int  # of the corpus
    documents: list[SampledDocument]

    @property
    def is_whole(self) -> bool:
        """Whether the corpus holds nothing else."""
        return len(self.documents) == self.n_documents and all(
            len(document.text) == document.n_characters for document in self.documents
        )


def read_sample(session: Session, corpus_id: str) -> Sample:
    """All documents of a small corpus; of a large one some from many places, since uploads are often sorted."""
    counted = select(func.count(), func.min(Document.id), func.max(Document.id)).where(Document.corpus_id == corpus_id)
    n_documents, first, last = session.execute(counted).one()
    documents: list[SampledDocument] = []
    n_characters = 0
    if n_documents == 0:
        return Sample(0, documents)
    for rows in pieces(session, corpus_id, n_documents, first, last):
        for _, text, length, label in rows:
            documents.append(SampledDocument(text, length, label))
            n_characters += len(text)
            if len(documents) >= MAX_DOCUMENTS or n_characters >= MAX_CHARACTERS:
                return Sample(n_documents, documents)
    return Sample(n_documents, documents)


def pieces(
    session: Session, corpus_id: str, n_documents: int, first: int, last: int
) -> Iterator[Sequence[Row[int, str, int, str | None]]]:
    """AT_ONCE documents after another: of a small corpus in order, of a large one from places evenly apart."""
    query = (
        select(Document.id, func.substr(Document.text, 1, MAX_LENGTH), func.length(Document.text), Document.label)
        .where(Document.corpus_id == corpus_id)
        .order_by(Document.id)
        .limit(AT_ONCE)
    )
    if n_documents > MAX_DOCUMENTS:
        n_places = MAX_DOCUMENTS // AT_ONCE
        ends = [first + (last + 1 - first) * place // n_places for place in range(n_places + 1)]
        for start, end in pairwise(ends):
            yield session.execute(query.where(Document.id >= start, Document.id < end)).all()
        return
    while rows := session.execute(query.where(Document.id >= first)).all():
        yield rows
        first = rows[-1].id + 1


def check_usable(session: Session, corpus_id: str, sample: Sample, options: TextOptions) -> None:
    """Raise NothingToCategorize, with what to do, if a job over the corpus could answer no document.

    What the sample does not show to be impossible is accepted: `encode` sees all documents.
    """
    if sample.n_documents == 0:
        raise NothingToCategorize(f"corpus {corpus_id} has no documents; upload some first")
    unlabeled = select(Document.id).where(Document.corpus_id == corpus_id, Document.label.is_(None))
    if all(document.label is not None for document in sample.documents) and (
        sample.is_whole or session.scalar(unlabeled.limit(1)) is None
    ):
        raise NothingToCategorize(
            f"corpus {corpus_id} has no unlabeled documents; upload those that are to be categorized"
        )
    if options.min_document_frequency > sample.n_documents or (
        sample.is_whole
        and not has_usable_word(((document.text, document.label is None) for document in sample.documents), options)
    ):
        raise no_word_left(corpus_id, options.min_document_frequency, options.min_word_length)


def estimated_sizes(sample: Sample, options: TextOptions) -> Sizes:
    """The sizes of the corpus once it is encoded, from the words of a part of the sample.

    A word of the vocabulary occurs in `min_document_frequency` documents of the corpus, so in proportionally many of
    those that are counted, though at least in one.
    """
    measured = sample.documents[:: -(-len(sample.documents) // MEASURED)]
    stop_words = stop_word_set(options)
    tokens: Counter[str] = Counter()
    frequency: Counter[str] = Counter()
    n_bytes = 0.0
    for document in measured:
        scale = document.n_characters / max(len(document.text), 1)  # of the part that was not read
        words = Counter(word for word in words_of(document.text) if len(word) >= options.min_word_length)
        frequency.update(words.keys())
        tokens.update({word: round(scale * n) for word, n in words.items()})
        n_bytes += scale * len(document.text.encode())
    more = sample.n_documents / max(len(measured), 1)
    kept = {
        word for word, n in frequency.items() if word not in stop_words and n * more >= options.min_document_frequency
    }
    if options.stop_words == AUTO:
        rest = kept - stop_word_set(TextOptions(AUTO_LANGUAGE))
        kept = rest if sum(tokens[word] for word in rest) >= SHORT * len(measured) else kept
    return Sizes(
        n_documents=sample.n_documents,
        n_tokens=round(more * sum(tokens[word] for word in kept)),
        n_words=max(round(more**GROWTH * len(kept)), 1),
        n_known=len({document.label for document in sample.documents} - {None}),
    )
