"""What became of the categories of one job in another over the same corpus, by the documents that both have."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from sqlalchemy import ColumnElement, Select, and_, case, func, literal, not_, null, select
from sqlalchemy.orm import InstrumentedAttribute, Session, aliased

from app.core.splits import seen_label
from app.core.tables import Answer, Category, ClampedLabel, Document, Job
from app.review.benefit import benefit_of
from app.schemas.lineage import BenefitOut, Change, ChangeOut, ComparisonOut, PairOut

SIMILAR = 0.5  # Jaccard index from which on a category is the same one; as that by which ids are inherited
GROWN = 1.25  # times the documents of before
CHANGES: tuple[Change, ...] = ("kept", "grown", "split", "merged", "new", "gone")


class Cell(NamedTuple):
    """Documents of one category before and one now; None stands for none."""

    before: int | None
    now: int | None
    n_documents: int
    was_there: bool = True  # part of the job before
    is_there: bool = True  # part of the job now


class Table:
    """How many documents two partitions have, and have in common."""

    def __init__(self, cells: Iterable[Cell]) -> None:
        self.before: Counter[int | None] = Counter()  # all documents of each category
        self.now: Counter[int | None] = Counter()
        self.arrived: Counter[int | None] = Counter()  # those of each category now that were not part of the job before
        self.both: Counter[tuple[int | None, int | None]] = Counter()  # those that both jobs have
        self.stayed: Counter[int | None] = Counter()  # of each category before, those that both jobs have
        self.old: Counter[int | None] = Counter()  # of each category now, those that both jobs have
        for cell in cells:
            self.add(cell)

    def add(self, cell: Cell) -> None:
        """Count some documents."""
        if cell.was_there:
            self.before[cell.before] += cell.n_documents
        if cell.is_there:
            self.now[cell.now] += cell.n_documents
        if cell.is_there and not cell.was_there:
            self.arrived[cell.now] += cell.n_documents
        if cell.was_there and cell.is_there:
            self.both[cell.before, cell.now] += cell.n_documents
            self.stayed[cell.before] += cell.n_documents
            self.old[cell.now] += cell.n_documents

    def shares(self) -> list[tuple[int, int, int]]:
        """Pairs of categories with documents in common and how many, the most first."""
        found = [(a, b, n) for (a, b), n in self.both.items() if a is not None and b is not None and n]
        return sorted(found, key=lambda pair: (-pair[2], pair[0], pair[1]))

    def jaccard(self, before: int, now: int) -> float:
        """Among the documents that both jobs have: those in both categories, as a share of those in either."""
        shared = self.both[before, now]
        return shared / (self.stayed[before] + self.old[now] - shared)


class Matched(NamedTuple):
    """What became of some categories, by index."""

    change: Change
    before: list[int]
    now: list[int]


def match(table: Table, before: Sequence[int], now: Sequence[int]) -> list[Matched]:
    """What became of each category of before, and where each one of now is from; each is there at least once."""
    pairs = table.shares()
    kept = similar(table, pairs)
    found = [Matched("grown" if table.now[b] >= GROWN * table.before[a] else "kept", [a], [b]) for a, b in kept.items()]
    rest_before, rest_now = set(before) - set(kept), set(now) - set(kept.values())
    # Of two halves the first counts.
    origins = {b: a for a, b, n in reversed(pairs) if b in rest_now and 2 * n >= table.old[b]}
    split = parts_of(origins, kept)
    rest_before -= set(split)
    targets = {a: b for a, b, n in reversed(pairs) if a in rest_before and 2 * n >= table.stayed[a]}
    merged = parts_of(targets, {b: a for a, b in kept.items()})
    found += [Matched("split", [a], parts) for a, parts in split.items()]
    found += [Matched("merged", parts, [b]) for b, parts in merged.items()]
    found += [Matched("new", [], [b]) for b in sorted(rest_now - set(origins) - set(merged))]
    found += [Matched("gone", [a], []) for a in sorted(rest_before - set(targets))]
    return found


def similar(table: Table, pairs: Iterable[tuple[int, int, int]]) -> dict[int, int]:
    """The categories that are the same before and now, the most similar ones first, each once."""
    scored = sorted((-table.jaccard(a, b), b, a) for a, b, _ in pairs)
    found: dict[int, int] = {}
    for jaccard, b, a in scored:
        if -jaccard >= SIMILAR and a not in found and b not in found.values():
            found[a] = b
    return found


def parts_of(wholes: Mapping[int, int], kept: Mapping[int, int]) -> dict[int, list[int]]:
    """The parts of each whole, given the whole of each part; what the whole itself is the same as is one of them."""
    found: dict[int, list[int]] = {}
    for part, whole in wholes.items():
        found.setdefault(whole, [kept[whole]] if whole in kept else []).append(part)
    return found


def compare(session: Session, before: Job, now: Job, old: Sequence[Category], new: Sequence[Category]) -> ComparisonOut:
    """What became of the categories `old` of the job before in the job now, which has `new` ones."""
    table = Table(cells_of(session, before, now, old, new))
    names_before, names_now = ({each.category: each for each in side} for side in (old, new))
    matched = match(table, list(names_before), list(names_now))
    changes = [change_out(table, each, names_before, names_now) for each in matched]
    counted = Counter(each.change for each in matched)
    return ComparisonOut(
        job=now.id,
        compared_with=before.id,
        documents_before=table.before.total(),
        documents_now=table.now.total(),
        shared=table.both.total(),
        counts={change: counted[change] for change in CHANGES},
        benefit=BenefitOut(**benefit_of(session, before, now, old)._asdict()) if now.continues == before.id else None,
        changes=sorted(changes, key=lambda each: (CHANGES.index(each.change), -each.documents_now)),
        pairs=[pair_out(table, a, b, n) for (a, b), n in sorted(table.both.items(), key=falling) if n],
    )


def falling(item: tuple[tuple[int | None, int | None], int]) -> tuple[int, ...]:
    """The order of pairs: by falling number of documents, then by index, what is of none first."""
    (before, now), n = item
    return -n, -1 if before is None else before, -1 if now is None else now


def change_out(
    table: Table, matched: Matched, before: Mapping[int, Category], now: Mapping[int, Category]
) -> ChangeOut:
    """What became of some categories, as HTTP reports it."""
    of_before = sorted(matched.before, key=lambda a: (-table.before[a], a))
    of_now = sorted(matched.now, key=lambda b: (-table.now[b], b))
    return ChangeOut.model_validate(
        {
            "change": matched.change,
            "before": [ref_of(before[a]) for a in of_before],
            "now": [ref_of(now[b]) for b in of_now],
            "documents_before": sum(table.before[a] for a in of_before),
            "documents_now": sum(table.now[b] for b in of_now),
            "shared": sum(table.both[a, b] for a in of_before for b in of_now),
            "arrived": sum(table.arrived[b] for b in of_now),
        }
    )


def ref_of(category: Category) -> dict[str, Any]:
    """A category in short."""
    return {
        "category": category.category,
        "id": category.short_id,
        "name": category.name,
        "known": category.known,
    }


def pair_out(table: Table, before: int | None, now: int | None, n_documents: int) -> PairOut:
    """Documents that two categories have in common, as HTTP reports them."""
    return PairOut(
        before=before,
        now=now,
        documents=n_documents,
        share_before=n_documents / table.stayed[before],
        share_now=n_documents / table.old[now],
    )


Column = ColumnElement[Any] | InstrumentedAttribute[Any]


class Side:
    """What a job says of documents, in SQL: its answer, or the label that they have for it."""

    def __init__(self, job: Job, categories: Sequence[Category], document: type[Document]) -> None:
        """`document` is the row of each document that the job has."""
        self.job, self.document = job, document
        self.answer, self.clamped = aliased(Answer), aliased(ClampedLabel)
        self.index = {each.name: each.category for each in categories if each.known}
        self.names = (job.continued or {}).get("names") or {}

    @property
    def is_part(self) -> ColumnElement[bool]:
        """The condition that a document is part of the job's version of the corpus."""
        return and_(
            self.document.corpus_id == self.job.corpus_id,
            self.document.version <= self.job.corpus_version,
            self.document.until > self.job.corpus_version,
        )

    @property
    def columns(self) -> tuple[Column, Column]:
        """The category of the answer, and the label."""
        if self.job.continues is None:
            return self.answer.category, seen_label(self.job, self.document)
        is_clamped = self.clamped.document_id.is_not(None)
        return self.answer.category, case((is_clamped, self.clamped.label), else_=self.document.label)

    def joined(self, query: Select[Any]) -> Select[Any]:
        """The query with the answers of the job, and the labels that it alone has."""
        of_job = and_(self.answer.job_id == self.job.id, self.answer.edition == self.job.edition)
        query = query.outerjoin(self.answer, and_(of_job, self.answer.document_id == self.document.id))
        if self.job.continues is None:
            return query
        of_job = self.clamped.job_id == self.job.id
        return query.outerjoin(self.clamped, and_(of_job, self.clamped.document_id == self.document.id))

    def category(self, answer: int | None, label: str | None) -> int | None:
        """The index of a document's category: an answer goes first, since a label for it came later."""
        if answer is not None or label is None:
            return answer
        return self.index.get(self.names.get(label, label))


NAMES = ("answer", "label", "answer_now", "label_now", "was_there", "is_there")  # of what is counted


def cells_of(
    session: Session, before: Job, now: Job, old: Sequence[Category], new: Sequence[Category]
) -> Iterable[Cell]:
    """How many documents there are of each two categories, counted in SQL.

    Most documents are one row for both jobs. Of those that are not, corrected ones have the same key.
    """
    first, second = aliased(Document), aliased(Document)
    was, then = Side(before, old, first), Side(now, new, first)
    later = Side(now, new, second)
    in_both = columns(*was.columns, *then.columns, literal(1), literal(1)).where(was.is_part, then.is_part)
    yield from counted(session, then.joined(was.joined(in_both.select_from(first))), was, then)
    is_same = and_(second.key == first.key, later.is_part)
    is_there = case((second.id.is_not(None), 1), else_=0)
    left = columns(*was.columns, *later.columns, literal(1), is_there).select_from(first).outerjoin(second, is_same)
    yield from counted(session, later.joined(was.joined(left)).where(was.is_part, not_(then.is_part)), was, later)
    was_there = select(first.id).where(was.is_part, first.key == second.key).exists()
    is_early = and_(second.version <= before.corpus_version, second.until > before.corpus_version)
    arrived = columns(null(), null(), *later.columns, literal(0), literal(1)).select_from(second)
    yield from counted(session, later.joined(arrived).where(later.is_part, not_(is_early), ~was_there), was, later)


def columns(*found: Column) -> Select[Any]:
    """A query for what is counted."""
    return select(*(column.label(name) for name, column in zip(NAMES, found, strict=True)))


def counted(session: Session, query: Select[Any], was: Side, then: Side) -> Iterable[Cell]:
    """The cells of a query for answer and label before, answer and label now, and whether a document is of either."""
    rows = query.subquery()
    found: Any = session.execute(select(*rows.c, func.count()).group_by(*rows.c))
    for answer, label, answer_now, label_now, was_there, is_there, n in found:
        own, other = was.category(answer, label), then.category(answer_now, label_now)
        yield Cell(own, other, n, bool(was_there), bool(is_there))
