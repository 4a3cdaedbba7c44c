"""What new categories inherit: the ids and the given names of those of earlier results, by the documents they share.

Earlier results are a job's own present ones, when it is extended; else those of the job that it continues; else those
of the newest job over the same corpus that was submitted before this one. Jobs of a comparison of methods neither
inherit from others nor are inherited from: they are not to know what another one knew.
"""

from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from sqlalchemy import and_, select, tuple_
from sqlalchemy.orm import Session, aliased

from app.core.decisions import decisions_of, given_names, in_force
from app.core.tables import Answer, Category, Document, Job, is_part_of, is_visible_job
from sampler.corpus import NO_CATEGORY, Array
from worker.short_ids import paired

ARRIVED = -1  # stands for the row of a document that an earlier version did not have


class Inherited(NamedTuple):
    """What the new categories of an answer have from earlier results."""

    ids: dict[int, str]  # by index
    names: dict[int, str]  # that somebody gave, by index; unlike those of known categories, and unlike each other
    spent: frozenset[str]  # ids of earlier new categories that none has now


NOTHING = Inherited({}, {}, frozenset())


def inherit(session: Session, job: Job, document_ids: Array, category: Array, known: Sequence[str]) -> Inherited:
    """What new categories inherit from those before that they are SIMILAR to, the most similar ones first, each once.

    `category` int[D] is that of the documents with these ids: the answer, or the category that the label names.
    Documents count that both jobs had, as they are or corrected. A conclusion that is repeated inherits the same again
    unless, in between, an earlier job was concluded, extended, decided upon or deleted.
    """
    earlier = predecessor(session, job)
    if earlier is None:
        return NOTHING
    present = (Category.job_id == earlier.id, Category.edition == earlier.edition, Category.known.is_(False))
    rows = session.scalars(select(Category).where(*present)).all()
    ids = {row.category: row.short_id for row in rows}
    if not any(ids.values()):
        return NOTHING
    rows_then = rows_in_version(session, job, document_ids, earlier.corpus_version)
    had = rows_then != ARRIVED
    before = answers_of(session, earlier, rows_then[had], ids)
    inherited = paired(before, category[had], ids, len(known))
    given = names_of(session, job, earlier, rows)
    names = {index: given[own] for index, own in sorted(inherited.items()) if own in given}
    spent = frozenset(own for own in ids.values() if own) - set(inherited.values())
    return Inherited(inherited, distinct(names, known), spent)


def predecessor(session: Session, job: Job) -> Job | None:
    """The job whose present results categories inherit from; itself when it is extended."""
    if job.edition > 0:
        return job
    if job.comparison_id is not None:
        return None
    others = (Job.corpus_id == job.corpus_id, Job.id != job.id, Job.comparison_id.is_(None))
    concluded = select(Job).where(*others, Job.edition > 0, is_visible_job())
    continued = job.continues and session.scalar(concluded.where(Job.id == job.continues))
    if continued:
        return continued
    # One that was submitted later but ends first makes no difference, whenever this one is concluded.
    is_earlier = tuple_(Job.created_at, Job.id) < (job.created_at, job.id)
    return session.scalar(concluded.where(is_earlier).order_by(Job.created_at.desc(), Job.id.desc()).limit(1))


def rows_in_version(session: Session, job: Job, document_ids: Array, version: int) -> Array:
    """int64[D]: the row that an earlier version of the corpus has for each document of the job, or ARRIVED.

    It is the same row, but for a document that was corrected since: that is known again by its key.
    """
    found = document_ids.astype(np.int64)
    earlier = aliased(Document)
    is_same = and_(
        earlier.corpus_id == Document.corpus_id,
        earlier.key == Document.key,
        earlier.version <= version,
        earlier.until > version,
    )
    query = (
        select(Document.id, earlier.id)
        .outerjoin(earlier, is_same)
        .where(Document.corpus_id == job.corpus_id, is_part_of(job.corpus_version), Document.version > version)
    )
    pairs = pairs_of([(row, ARRIVED if other is None else other) for row, other in session.execute(query)])
    place, is_there = places(found, pairs[:, 0])
    found[place] = pairs[is_there, 1]
    return found


def answers_of(session: Session, job: Job, document_ids: Array, categories: Collection[int]) -> Array:
    """int64[n]: the answer of a job for each of these documents, if it is one of these categories, or NO_CATEGORY."""
    present = (Answer.job_id == job.id, Answer.edition == job.edition, Answer.category.in_(categories))
    rows = session.execute(select(Answer.document_id, Answer.category).where(*present))
    pairs = pairs_of([(document_id, category) for document_id, category in rows if category is not None])
    found = np.full(document_ids.size, NO_CATEGORY, np.int64)
    place, is_there = places(document_ids, pairs[:, 0])
    found[place] = pairs[is_there, 1]
    return found


def pairs_of(rows: Sequence[tuple[int, int]]) -> Array:
    """int64[n, 2] of rows."""
    return np.array(rows, np.int64).reshape(-1, 2)


def places(document_ids: Array, wanted: Array) -> tuple[Array, Array]:
    """Where in `document_ids` those of the wanted ones are that are there, and bool[wanted]: which are."""
    order = np.argsort(document_ids)
    place = np.searchsorted(document_ids[order], wanted)
    is_there = place < order.size
    is_there[is_there] = document_ids[order[place[is_there]]] == wanted[is_there]
    return order[place[is_there]], is_there


def names_of(session: Session, job: Job, earlier: Job, rows: Sequence[Category]) -> Mapping[str, str]:
    """The names that somebody gave to the new categories of earlier results, by short id.

    Of the job that this one continues, the decisions count that it was continued with. A name that a decision gave and
    another one took back is given no longer, even if results have been concluded in between.
    """
    decisions = decisions_of(session, earlier.id)
    if job.continues == earlier.id and job.continued:
        decisions = [each for each in decisions if each.number <= (job.continued.get("decision") or 0)]
    counting = in_force(decisions)
    withdrawn = given_names(each for each in decisions if each not in counting)
    named = {row.short_id: row.name for row in rows if row.short_id and row.is_named and not is_by_description(row)}
    kept = {own: name for own, name in named.items() if withdrawn.get(own) != name}
    return kept | given_names(counting)


def is_by_description(row: Category) -> bool:
    """Whether a category had its name from a description: a later answer asks those of its own corpus version again."""
    return bool(((row.portrait or {}).get("described") or {}).get("gave_name"))


def distinct(names: Mapping[int, str], known: Sequence[str]) -> dict[int, str]:
    """Those of some names, by index, that no known category has, and none before it."""
    found: dict[int, str] = {}
    for index, name in names.items():
        if name not in known and name not in found.values():
            found[index] = name
    return found
