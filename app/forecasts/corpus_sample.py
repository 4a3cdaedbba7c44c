"""What a bounded look into a corpus shows before it is encoded: whether a job can answer anything, and how large it is.

However large the corpus is, a fixed number of documents is read, each up to a fixed length and a few at a time, so that
neither memory nor the interpreter is held for long.
"""

import json
import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import NamedTuple

from sqlalchemy import ColumnElement, Row, case, func, select
from sqlalchemy.orm import Session

from app.core.errors import NothingToCategorize, no_word_left
from app.core.tables import IS_CURRENT, Document
from app.forecasts.sizes import Sizes
from sampler.text import TextOptions, encode, has_usable_word

MAX_DOCUMENTS, MAX_CHARACTERS = 2_000, 2**21  # of a sample
MAX_LENGTH, MAX_TOKENS = 2**14, 2**12  # characters of a document that are read, words of a ready bag
AT_ONCE = 50  # documents a query
MEASURED, MEASURED_CHARACTERS = 200, 2**19  # of a sample, whose words are counted: of Chinese each is one
GOLDEN = 0.6180339887498949
GROWTH = 0.5  # the vocabulary grows with about the square root of the corpus (Heaps' law)


class SampledDocument(NamedTuple):
    """A document of a sample."""

    text: str  # its first MAX_LENGTH characters; of a ready bag of words, all of its JSON
    label: str | None
    key: str
    times: float  # as long is the whole document as what was read of it
    words: dict[str, int] | None = None  # of a ready bag, about MAX_TOKENS of them

    @property
    def content(self) -> str | dict[str, int]:
        """What is encoded."""
        return self.text if self.words is None else self.words


class Sample(NamedTuple):
    """Some documents of a corpus."""

    n_documents: int  # of the corpus
    documents: list[SampledDocument]

    @property
    def is_whole(self) -> bool:
        """Whether the corpus holds nothing else."""
        return len(self.documents) == self.n_documents and all(document.times == 1.0 for document in self.documents)


def read_sample(session: Session, corpus_id: str) -> Sample:
    """All documents of a small corpus; of a large one some from many places, since uploads are often sorted."""
    counted = select(func.count(), func.min(Document.id), func.max(Document.id)).where(*current(corpus_id))
    n_documents, first, last = session.execute(counted).one()
    documents: list[SampledDocument] = []
    n_characters = 0
    if n_documents == 0:
        return Sample(0, documents)
    for rows in pieces(session, corpus_id, n_documents, first, last):
        for _, text, length, is_counts, label, key in rows:
            document = SampledDocument(text, label, key, length / max(len(text), 1))
            documents.append(with_few_words(document) if is_counts and text else document)
            n_characters += len(text)
            if len(documents) >= MAX_DOCUMENTS or n_characters >= MAX_CHARACTERS:
                return Sample(n_documents, documents)
    return Sample(n_documents, documents)


def with_few_words(document: SampledDocument) -> SampledDocument:
    """A ready bag with counts so small that it can be encoded in no time: a few characters may say millions."""
    words = json.loads(document.text)
    times = max(sum(words.values()) / MAX_TOKENS, 1.0)
    few = {word: max(round(n / times), 1) for word, n in words.items()}
    return document._replace(words=few, times=sum(words.values()) / sum(few.values()))


def current(corpus_id: str) -> tuple[ColumnElement[bool], ...]:
    """The conditions of the documents that a corpus has now."""
    return Document.corpus_id == corpus_id, IS_CURRENT


def pieces(
    session: Session, corpus_id: str, n_documents: int, first: int, last: int
) -> Iterator[Sequence[Row[int, str, int, bool, str | None, str]]]:
    """AT_ONCE documents after another: of a small corpus in order, of a large one from places evenly apart."""
    query = (
        select(
            Document.id,
            case((Document.is_counts, Document.text), else_=func.substr(Document.text, 1, MAX_LENGTH)),
            func.length(Document.text),
            Document.is_counts,
            Document.label,
            Document.key,
        )
        .where(*current(corpus_id))
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
    unlabeled = select(Document.id).where(*current(corpus_id), Document.label.is_(None))
    if all(document.label is not None for document in sample.documents) and (
        sample.is_whole or session.scalar(unlabeled.limit(1)) is None
    ):
        raise NothingToCategorize(
            f"corpus {corpus_id} has no unlabeled documents; upload those that are to be categorized"
        )
    if options.least_frequency(sample.n_documents) > sample.n_documents or (
        sample.is_whole
        and not has_usable_word(((document.content, document.label is None) for document in sample.documents), options)
    ):
        raise no_word_left(corpus_id, options.min_document_frequency, options.min_word_length)


def part_of(sample: Sample, n_documents: int) -> list[SampledDocument]:
    """About so many documents of a sample at most, and MEASURED_CHARACTERS, from all over it.

    Multiples of the golden ratio pick them evenly, but out of step with any order that the documents may have.
    """
    n_characters = sum(len(document.text) for document in sample.documents)
    share = 1.0 / max(len(sample.documents) / n_documents, n_characters / MEASURED_CHARACTERS, 1.0)
    return [document for number, document in enumerate(sample.documents) if number * GOLDEN % 1.0 < share]


def for_part(options: TextOptions, more: float) -> TextOptions:
    """The options under which a part of a corpus keeps about the words that the corpus keeps, `more` times as large.

    A word of the vocabulary occurs in `min_document_frequency` documents of the corpus, so in proportionally many of
    the part, though at least in one. A share is the same in both.
    """
    low, high = options.min_document_frequency, options.max_document_frequency
    if isinstance(low, int):
        low = max(math.ceil(low / more), 1)
    if isinstance(high, int):
        high = max(math.floor(high / more), low if isinstance(low, int) else 1)
    return replace(options, min_document_frequency=low, max_document_frequency=high)


def estimated_sizes(sample: Sample, options: TextOptions) -> Sizes:
    """The sizes of the corpus once it is encoded, from an encoding of a part of the sample."""
    measured = part_of(sample, MEASURED)
    more = max(sample.n_documents, 1) / max(len(measured), 1)
    encoded = encode((document.content for document in measured), [None] * len(measured), for_part(options, more))
    n_tokens = sum(int(n) * document.times for n, document in zip(encoded.corpus.lengths, measured, strict=True))
    return Sizes(
        n_documents=sample.n_documents,
        n_tokens=round(more * n_tokens),
        n_words=estimated_words(encoded.corpus.n_words, more, options, sample.n_documents),
        n_known=len({document.label for document in sample.documents} - {None}),
    )


def estimated_words(n_words: int, more: float, options: TextOptions, n_documents: int) -> int:
    """The size of the vocabulary of a corpus, from that of a part of it under the options `for_part`.

    A word in `least` documents of the corpus is in one of a part a `least`-th as large: only beyond that does the
    vocabulary grow.
    """
    growth = max(more / options.least_frequency(n_documents), 1.0)
    return max(round(n_words * math.pow(growth, GROWTH)), 1)
