"""Splits: which labels of its corpus a job sees, and which are kept from it to score its answers.

A job of a comparison of methods has a split among its settings: it sees the labels of some documents of the categories
that are known to it. All other labels are gold, and nothing that the job computes or says of its own may depend on
them. This module decides both sides of that: `seen_documents` what is encoded, `seen_label` what is read.
"""

import hashlib
from collections import defaultdict
from collections.abc import Iterable
from typing import Any, NamedTuple

from sqlalchemy import ColumnElement, case, null, select
from sqlalchemy.orm import Session, aliased

from app.core.tables import Answer, Document, Job, is_part_of

SPLIT = "split"  # among a job's settings
AT_ONCE = 1_000  # rows that are read


class Split(NamedTuple):
    """What a job sees."""

    seed: int
    known: list[str]  # the categories of which it sees labels
    labeled_share: float  # of the documents of each


def split_of(job: Job) -> Split | None:
    """The split of a job; None for one that sees all labels."""
    found = job.settings.get(SPLIT)
    return None if found is None else Split(**found)


def choose(documents: Iterable[tuple[int, str, str]], split: Split) -> set[int]:
    """The ids of the documents whose labels are seen, of ids, keys and labels in any order.

    Of each known category as many as its share says, and at least one: those whose keys come first when they are
    ordered by a hash of the seed and the key. So the choice depends on neither ids nor the order of the rows.
    """
    known = set(split.known)
    of_category: dict[str, list[tuple[bytes, int]]] = defaultdict(list)
    for document_id, key, label in documents:
        if label in known:
            place = hashlib.sha256(f"{split.seed} {key}".encode()).digest()
            of_category[label].append((place, document_id))
    chosen: set[int] = set()
    for ordered in map(sorted, of_category.values()):
        n_seen = max(round(split.labeled_share * len(ordered)), 1)
        chosen.update(document_id for _, document_id in ordered[:n_seen])
    return chosen


def seen_documents(session: Session, job: Job) -> set[int] | None:
    """The ids of the documents whose labels a job sees; None for all that bear one."""
    split = split_of(job)
    if split is None:
        return None
    mine = (Document.corpus_id == job.corpus_id, is_part_of(job.corpus_version), Document.label.is_not(None))
    query = select(Document.id, Document.key, Document.label).where(*mine).execution_options(yield_per=AT_ONCE)
    with session.execute(query) as rows:
        return choose(((document_id, key, str(label)) for document_id, key, label in rows), split)


def seen_label(job: Job, document: type[Document] = Document) -> ColumnElement[Any]:
    """The label of a document as a job sees it, in SQL; `document` is the row of the query that it is about.

    A job answers exactly the documents without a label that it sees: so the label of one that has an answer is hidden.
    Before there are answers, a job with a split shows no label at all.
    """
    if SPLIT not in job.settings:
        return document.label.expression
    if not job.edition:
        return null()
    answer = aliased(Answer)
    mine = (answer.job_id == job.id, answer.edition == job.edition, answer.document_id == document.id)
    is_answered = select(answer.document_id).where(*mine).correlate(document).exists()
    return case((~is_answered, document.label), else_=None)
