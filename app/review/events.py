"""Decisions on their way in: what they speak of is looked up, and what does not apply is refused. All, or none."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from sqlalchemy import select
from sqlalchemy.orm import Session

from app.core import short_ids
from app.core.decisions import decided_documents, decisions_of, in_force, undone
from app.core.errors import (
    AnswerChanged,
    DecisionNotFound,
    DecisionRefused,
    MalformedRequest,
    ResultsNotReady,
)
from app.core.tables import Audit, Category, DecidedDocument, Decision, Document, Job
from app.review.cuts import read_tree
from app.review.decided import Decided
from app.review.documents import ids_of, lots, with_answers
from app.review.outcome import Idle, id_of
from app.schemas.decisions import AcceptIn, DecisionIn, MergeIn, NoneIn, PinIn, SplitIn, UndoIn

MAX_DECISIONS = 10_000  # about a job
MAX_DECIDED = 20_000  # documents of a job that somebody decided about
LENGTH = 9  # of the ids of categories that people make


class Draft(NamedTuple):
    """A decision with what it says of documents, before it has a number."""

    kind: str
    body: dict[str, Any]
    of_document: Mapping[int, str | None]  # category, by id, of each document; None: of none
    note: str | None


def tag_of(job: Job, last: int) -> str:
    """The entity tag of a job's answer with so many decisions."""
    return f'"{job.edition}-{last}"'


def check_tag(job: Job, last: int, wanted: str | None) -> None:
    """Raise AnswerChanged unless the answer is one of those that an If-Match names."""
    if wanted is None or wanted.strip() == "*":
        return
    tags = [tag.strip() for tag in wanted.split(",")]
    if tag_of(job, last) not in tags:
        raise AnswerChanged(
            f"the answer of job {job.id} has changed: its ETag is {tag_of(job, last)} now. Read the decisions that "
            "have been made since, and send yours again with that in If-Match"
        )


class Desk:
    """A job's answer, and the decisions about it that are there already."""

    def __init__(self, session: Session, job: Job, own: Sequence[Category]) -> None:
        """The job's row is locked: of two who decide at once, the second sees what the first one did."""
        self.session, self.job, self.own, self.tree = session, job, own, read_tree(session, job)
        self.decisions = list(decisions_of(session, job.id))
        self.documents = list(decided_documents(session, job.id))
        self.present = self.look()

    def look(self) -> Decided:
        """The answer with all decisions so far."""
        return Decided(self.own, self.tree, in_force(self.decisions), self.documents)

    def decide(self, asked: DecisionIn, author: str | None, where: str) -> Decision:
        """Make one more decision. Raises DecisionRefused, DecisionNotFound, MalformedRequest."""
        number = len(self.decisions) + 1
        if number > MAX_DECISIONS:
            raise DecisionRefused(f"job {self.job.id} has {MAX_DECISIONS} decisions, which is the most; continue it")
        if isinstance(asked, UndoIn):
            self.check_undo(asked.decision)
        make = draft_of if self.job.edition else waiting_draft
        draft = make(self.session, self.job, self.present, asked, number, where)
        decision = Decision(job_id=self.job.id, number=number, kind=draft.kind, body=draft.body)
        decision.author, decision.note = author, draft.note
        self.decisions.append(decision)
        self.documents += [
            DecidedDocument(job_id=self.job.id, number=number, document_id=document_id, category=id_)
            for document_id, id_ in draft.of_document.items()
        ]
        if len({row.document_id for row in self.documents}) > MAX_DECIDED:
            raise DecisionRefused(f"decisions about a job name {MAX_DECIDED} documents at most; continue it")
        after = self.look()
        if self.job.edition:
            check_effect(self.present, after, decision)
        self.present = after
        self.session.add_all([decision, *self.documents[len(self.documents) - len(draft.of_document) :]])
        self.session.flush()
        return decision

    def check_undo(self, number: int) -> None:
        """Raise DecisionNotFound for a decision that is not there, DecisionRefused for one that does not count."""
        if number > len(self.decisions):
            raise DecisionNotFound(f"job {self.job.id} has no decision {number}: it has {len(self.decisions)}")
        if number in undone(self.decisions):
            raise DecisionRefused(f"decision {number} has been undone already")


def check_effect(before: Decided, after: Decided, decision: Decision) -> None:
    """Raise DecisionRefused if a decision does not apply, or if an earlier one does not any more."""
    if decision.number in after.idle:
        raise DecisionRefused(f"this cannot be decided: {after.idle[decision.number]}")
    lost = sorted(after.idle.keys() - before.idle.keys())
    if lost:
        those = ", ".join(map(str, lost))
        raise DecisionRefused(
            f"decision {decision.body['decision']} cannot be undone while {those} builds on it "
            f"({after.idle[lost[0]]}): undo {those} first"
        )


def draft_of(session: Session, job: Job, decided: Decided, asked: DecisionIn, number: int, where: str) -> Draft:
    """The decision with categories by their ids, and documents by theirs."""
    body: dict[str, Any] = {}
    for name in ("category", "into", "name"):
        value = getattr(asked, name, None)
        if value is not None:
            is_category = name == "category" or (name == "into" and isinstance(asked, MergeIn))
            body[name] = find(decided, value) if is_category else value
    of_document: Mapping[int, str | None] = {}
    if isinstance(asked, MergeIn):
        body["categories"] = [find(decided, each) for each in asked.categories]
    elif isinstance(asked, SplitIn):
        body["new"] = new_ids(job, number, (asked.into or 2) - 1)
        if asked.documents is not None:
            documents = find_documents(session, job, asked.documents, where)
            check_within(session, job, decided, documents, body["category"])
            of_document = dict.fromkeys(documents, body["new"][0])
    elif isinstance(asked, PinIn):
        if asked.new_category is not None:
            body |= {"new": new_ids(job, number, 1), "name": asked.new_category}
        id_ = body["new"][0] if "new" in body else body["category"]
        of_document = dict.fromkeys(find_documents(session, job, asked.documents, where), id_)
    elif isinstance(asked, NoneIn):
        of_document = dict.fromkeys(find_documents(session, job, asked.documents, where))
    elif isinstance(asked, AcceptIn):
        of_document = suggested(session, job, decided, find_documents(session, job, asked.documents, where))
    elif isinstance(asked, UndoIn):
        body["decision"] = asked.decision
    return Draft(asked.kind, body, of_document, asked.note)


def waiting_draft(
    session: Session, job: Job, decided: Decided, asked: DecisionIn, number: int, where: str
) -> Draft:  # fmt: skip
    """A decision about documents of a job without results, which counts once they are there. Raises ResultsNotReady."""
    if isinstance(asked, NoneIn | UndoIn):
        return draft_of(session, job, decided, asked, number, where)
    if not isinstance(asked, PinIn) or asked.category is None:
        raise ResultsNotReady(
            f"job {job.id} is {job.status}, and has no categories yet: until it has, documents can be pinned to a "
            "category that a label names, or to none; decide this once the job has succeeded"
        )
    of_document = dict.fromkeys(find_documents(session, job, asked.documents, where), asked.category)
    return Draft(asked.kind, {"category": asked.category}, of_document, asked.note)


def find(decided: Decided, named: str) -> str:
    """The id of a category that is there. Raises DecisionRefused."""
    try:
        return decided.find(named).id
    except Idle as reason:
        raise DecisionRefused(f"this cannot be decided: {reason}") from None


def new_ids(job: Job, number: int, n: int) -> list[str]:
    """The ids of the categories that a decision makes."""
    digests = (short_ids.digest("decided", job.id, str(number), str(place)) for place in range(n))
    return [short_ids.PREFIX + symbols[:LENGTH] for symbols in digests]


def find_documents(session: Session, job: Job, keys: Sequence[str], where: str) -> list[int]:
    """The ids of the documents with some keys. Raises MalformedRequest for keys that the job's corpus has not."""
    unique = list(dict.fromkeys(keys))
    found = ids_of(session, job, unique)
    if missing := [key for key in unique if key not in found]:
        shown = ", ".join(map(repr, missing[:5])) + (f" and {len(missing) - 5} more" if len(missing) > 5 else "")
        reason = f"the job's version of the corpus has no document {shown}"
        raise MalformedRequest(
            f"the body cannot be used: {reason}", [{"where": f"{where}.documents", "reason": reason}]
        )
    return [found[key] for key in unique]


def check_within(session: Session, job: Job, decided: Decided, documents: Sequence[int], id_: str) -> None:
    """Raise DecisionRefused unless some documents are of a category."""
    category = decided.groups[id_].row
    for row in with_answers(session, job, documents):
        shown = decided.of_document(row.id, row)
        if shown is not category and (row.label is None or shown is not None or row.label != category.name):
            of = "no category" if shown is None else f"the category {shown.name!r}"
            raise DecisionRefused(f"this cannot be decided: the document {row.key!r} is of {of}; pin it instead")


def suggested(session: Session, job: Job, decided: Decided, document_ids: Sequence[int]) -> dict[int, str | None]:
    """The category that the audit suggests for each of some documents. Raises DecisionRefused."""
    found: dict[int, str | None] = {}
    by_index = {category.category: category for category in decided.own}
    for some in lots(document_ids):
        mine = (Audit.job_id == job.id, Audit.edition == job.edition, Audit.document_id.in_(some))
        rows = select(Audit.document_id, Audit.suggested).where(*mine, Audit.suggested.is_not(None))
        found |= {row.document_id: id_of(by_index[row.suggested]) for row in session.execute(rows)}
    if missing := [each for each in document_ids if each not in found]:
        key = session.scalar(select(Document.key).where(Document.id == missing[0]))
        raise DecisionRefused(f"the audit of job {job.id} suggests no other category for {key!r}; pin it instead")
    return found
