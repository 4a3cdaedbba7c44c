"""Decisions as the labels of a job that continues: what somebody has decided about is known there.

A document that somebody gave a category has that as its label. A new category whose extent somebody decided, by
promoting, merging or splitting it or by pinning a document to it, is known: of its documents that are not unsure some
have its name as their label, drawn at random as often as documents of known categories have labels. So labels stay a
sample, whatever a document says, as the calibrated model assumes. Names of known categories change with those of their
labels, and documents that are of none are set aside.
"""

import hashlib
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from sqlalchemy import and_, insert, not_, or_, select
from sqlalchemy.orm import Session, aliased

from app.core.certainty import UNSURE
from app.core.decisions import DecisionKind, n_decisions
from app.core.tables import Answer, ClampedLabel, Decision, Document, Job, Summary
from app.review.decided import Decided, categories_of, is_one_of, read_decided
from app.review.documents import lots
from app.review.outcome import Place, id_of

USUAL_RATE = 0.4  # of labels, where the job has learned none
FEWEST = 20  # labels of a category that somebody decided about, if it has so many documents that are not unsure
EXTENT = (DecisionKind.PROMOTE, DecisionKind.MERGE, DecisionKind.SPLIT, DecisionKind.PIN)
CARRIED = (DecisionKind.DISSOLVE,)  # what no label says is decided again


class Label(NamedTuple):
    """The label of a document for one job."""

    name: str | None  # None: of no category
    drawn_at: float | None = None  # of one that was drawn: how probable the answer was


Labels = dict[int, Label]  # of documents


def clamp(session: Session, job: Job, source: Job) -> None:
    """Give a job that is in the database the labels that follow from what was decided about the one it continues."""
    own = categories_of(session, source)
    decided = read_decided(session, source, own)
    labels, names = clamped(session, source), dict((source.continued or {}).get("names", {}))
    if decided is not None:
        changed = new_names(decided)
        labels = {
            each: label._replace(name=changed.get(label.name or "", label.name)) for each, label in labels.items()
        }
        labels |= drawn(session, source, decided) | said(decided)
        names = {**changed, **{old: changed.get(now, now) for old, now in names.items()}}
        decide_again(session, job, decided)
    labels = of_present_documents(session, job, labels)
    rows = [
        {
            "job_id": job.id,
            "document_id": each,
            "label": label.name,
            "is_drawn": label.drawn_at is not None,
            "probability": label.drawn_at,
        }
        for each, label in labels.items()
    ]
    for some in lots(rows):
        session.execute(insert(ClampedLabel), some)
    last = n_decisions(session, source.id)
    is_clamped = bool(labels or names)
    rows_now = own if decided is None else decided.categories
    ids = {row.name: row.short_id for row in rows_now if row.short_id}
    job.continued = {
        "edition": source.edition,
        "decision": last,
        "names": names,
        "ids": ids,
        "clamped": is_clamped,
    }


def clamped(session: Session, job: Job) -> Labels:
    """The labels that documents have for a job alone, but for those that were drawn and turned out to be unsure."""
    columns = (ClampedLabel.document_id, ClampedLabel.label, ClampedLabel.is_drawn, Answer.probability)
    is_answer = and_(
        Answer.job_id == job.id, Answer.edition == job.edition, Answer.document_id == ClampedLabel.document_id
    )
    is_sure = or_(ClampedLabel.is_drawn.is_(False), Answer.probability >= UNSURE)
    rows = select(*columns).outerjoin(Answer, is_answer).where(ClampedLabel.job_id == job.id, is_sure)
    return {each: Label(name, sure if drawn else None) for each, name, drawn, sure in session.execute(rows)}


def new_names(decided: Decided) -> dict[str, str]:
    """Of labels whose category has another name now, or is part of another one, that name."""
    shown = {category.name: decided.other(category.category) for category in decided.own if category.known}
    return {name: row.name for name, row in shown.items() if row is not None and row.name != name}


def said(decided: Decided) -> Labels:
    """What people said of documents, unless the category was dissolved since."""
    rows = {each: decided.said_of(row) for each, row in decided.moved.items()}
    return {
        each: Label(None if row is None else row.name)
        for each, row in rows.items()
        if row is not None or decided.moved[each].category is None
    }


def drawn(session: Session, source: Job, decided: Decided) -> Labels:
    """Labels of some documents of each new category whose extent somebody decided."""
    rate = labeling_rate(session, source)
    about = [decision for decision in decided.applied if decision.kind in EXTENT]
    extents = {decided.resolve(each) for decision in about for each in subjects(decision, decided)}
    known = {category.category for category in decided.own if category.known}
    found: Labels = {}
    for id_ in sorted(each for each in extents if each is not None):
        places = [place for place, of in decided.places if decided.resolve(of) == id_ and place.category not in known]
        documents = surest(session, source, places, decided)
        n = min(max(round(rate * len(documents)), FEWEST), len(documents))
        found |= {each: Label(decided.groups[id_].row.name, sure) for each, sure in documents[:n]}
    return found


def subjects(decision: Decision, decided: Decided) -> Iterator[str]:
    """The categories that a decision is about, by their ids."""
    body = decision.body
    named = [body.get("category"), *body.get("categories", []), *body.get("new", [])]
    for each in named:
        if each is not None:
            yield each if each in decided.became else id_of(decided.find(each).row)


def surest(session: Session, source: Job, places: Sequence[Place], decided: Decided) -> list[tuple[int, float]]:
    """The documents of some places that are not unsure and about which nobody decided, in a random order.

    With the probabilities of their answers.
    """
    if not places:
        return []
    mine = (Answer.job_id == source.id, Answer.edition == source.edition, Answer.probability >= UNSURE)
    is_moved = is_one_of(list(decided.moved))
    here = or_(*(place.condition() for place in places))
    rows = session.execute(select(Answer.document_id, Answer.probability).where(*mine, here, not_(is_moved)))
    found = [(document_id, float(probability or 0.0)) for document_id, probability in rows]
    return sorted(found, key=lambda row: hashlib.sha256(f"{source.id} {row[0]}".encode()).digest())


def labeling_rate(session: Session, source: Job) -> float:
    """The share of documents of known categories that bear a label, as the job has found it."""
    summary = session.get(Summary, (source.id, source.edition))
    found = None if summary is None else summary.data.get("calibration", {}).get("labeling_rate")
    return USUAL_RATE if found is None else float(found)


def of_present_documents(session: Session, job: Job, labels: Labels) -> Labels:
    """The labels of the job's documents: a corrected one keeps what was said of it, unless it bears a label."""
    present = aliased(Document)
    is_present = and_(
        present.corpus_id == Document.corpus_id,
        present.key == Document.key,
        present.version <= job.corpus_version,
        present.until > job.corpus_version,
    )
    found: Labels = {}
    query = select(Document.id, present.id, present.label).join(present, is_present)
    for some in lots(labels):
        for before, now, label in session.execute(query.where(Document.id.in_(some))):
            if now == before or label is None:
                found[now] = labels[before]
    return found


def decide_again(session: Session, job: Job, decided: Decided) -> None:
    """Decisions that no label says are made about the job that continues, by whoever made them."""
    again = [each for each in decided.applied if each.kind in CARRIED]
    session.add_all(
        Decision(
            job_id=job.id,
            number=number,
            kind=each.kind,
            body=each.body,
            author=each.author,
            note=each.note,
            made_at=each.made_at,
        )
        for number, each in enumerate(again, start=1)
    )
