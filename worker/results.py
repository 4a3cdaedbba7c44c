"""A job's conclusion as rows: answers, categories, what labels are worth, and what the chains say together."""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from sqlalchemy import ColumnElement, delete, func, insert, select, tuple_, update
from sqlalchemy.orm import Session

from app.core.decisions import SET_ASIDE
from app.core.runs import change
from app.core.tables import Answer, Audit, Category, Draw, Job, NumberAnswer, Summary, Topic, TreeNode
from sampler.answers.consensus import Consensus, consensus_of_documents
from sampler.archive import pack
from sampler.copies import Texts, contradictions
from sampler.corpus import NO_CATEGORY, UNLABELED, Array
from worker import topics
from worker.conclusions import JobConclusion
from worker.portraits import Described, Identified, portrait_row
from worker.store import BATCH, Clamped, Names, Rows, Stored

Result = Answer | Audit | Category | NumberAnswer | Summary | Topic | TreeNode
RESULTS: tuple[type[Result], ...] = (Answer, Audit, Category, NumberAnswer, Summary, Topic, TreeNode)
CLEARED_AT_ONCE = 2_000  # rows a transaction: while it lasts, no other can write to SQLite
NO_WORD = "no word is left after the text options"


def posteriors(session: Session, job: Job, chain: int | None = None) -> dict[str, dict[str, int]]:
    """Over the kept draws of all chains, or of one: how many had each number of new categories."""
    found = {}
    mine = [Draw.job_id == job.id, Draw.sweep > job.settings["burn_in"]]
    if chain is not None:
        mine.append(Draw.chain == chain)
    for column in (Draw.n_new, Draw.n_new_with_documents):
        rows = session.execute(select(column, func.count()).where(*mine).group_by(column).order_by(column))
        found[column.key] = {str(value): n_draws for value, n_draws in rows}
    return found


def answer_rows(
    job: Job, stored: Stored, conclusion: JobConclusion, leaf: Array, clamped: Clamped
) -> Iterator[Rows]:  # fmt: skip
    """Batches of rows of `answers`, one row a document that its corpus has without a label.

    `leaf` int[T]: where in the tree each text is.
    """
    texts, stability = stored.texts, conclusion.stability
    consensus = consensus_of_documents(conclusion.consensus, texts)
    # A label that was drawn is as sure as fits without it are, or else as the answer was from which it was drawn.
    is_drawn, probability = ~np.isnan(clamped.drawn_at), consensus.probability.copy()
    probability[is_drawn] = clamped.drawn_at[is_drawn]
    if conclusion.label_probability is not None:
        told = conclusion.label_probability[texts.text_of]
        probability = np.where(is_drawn & ~np.isnan(told), told, probability)
    is_told = conclusion.has_probabilities
    unlabeled, original = np.flatnonzero(clamped.is_free), texts.first[texts.text_of]
    for first in range(0, unlabeled.size, BATCH):
        yield [
            {
                "job_id": job.id,
                "document_id": int(stored.document_ids[d]),
                "category": none_or(consensus.category[d], int),
                "probability": none_or(probability[d], float) if is_told else None,
                "known_probability": none_or(consensus.known[d], float) if is_told else None,
                "runner_up": none_or(consensus.runner_up[d], int),
                "runner_up_probability": none_or(consensus.runner_up_probability[d], float),
                "reason": reason_of(consensus.category[d], clamped.set_aside[d]),
                "stability": None if stability is None else none_or(stability[texts.text_of[d]], float),
                "copy_of": None if original[d] == d else int(stored.document_ids[original[d]]),
                "others": others_of(consensus, int(d)),
                "leaf": none_or(leaf[texts.text_of[d]], int),
            }
            for d in unlabeled[first : first + BATCH]
        ]


def reason_of(category: int, is_set_aside: bool) -> str | None:
    """Why a document has no category."""
    if category != NO_CATEGORY:
        return None
    return SET_ASIDE if is_set_aside else NO_WORD


def others_of(consensus: Consensus, document: int) -> list[list[Any]] | None:
    """Pairs of the other categories that matter and their probabilities; None if there is none."""
    pairs = zip(consensus.others[document].tolist(), consensus.other_probability[document].tolist(), strict=True)
    return [[category, probability] for category, probability in pairs if category != NO_CATEGORY] or None


class LabelScores(NamedTuple):
    """How probable the labels of documents are, and what is suggested where they are doubtful."""

    probability: Array  # float64[D], of the own label; NaN where there is none
    suggested: Array  # int64[D], NO_CATEGORY if the label is not doubtful
    suggested_probability: Array  # float64[D]
    by_copies: Array  # bool[D], documents with the same text bear other labels


def audit_rows(job: Job, stored: Stored, conclusion: JobConclusion, clamped: Clamped) -> Iterator[Rows]:
    """Batches of rows of `audits`, one row a labeled document whose label has a probability, the least likely first.

    Labels that somebody decided for the job are no labels of the corpus.
    """
    scores = label_scores(stored.texts, conclusion)
    has_score = np.flatnonzero(~np.isnan(scores.probability) & ~clamped.is_decided)
    ordered = has_score[np.argsort(scores.probability[has_score], kind="stable")]
    for first in range(0, ordered.size, BATCH):
        yield [
            {
                "job_id": job.id,
                "document_id": int(stored.document_ids[d]),
                "category": int(stored.texts.labels[d]),
                "probability": float(scores.probability[d]),
                "suggested": none_or(scores.suggested[d], int),
                "suggested_probability": none_or(scores.suggested_probability[d], float),
                "by_copies": bool(scores.by_copies[d]),
            }
            for d in ordered[first : first + BATCH]
        ]


def label_scores(texts: Texts, conclusion: JobConclusion) -> LabelScores:
    """What the labels of documents are worth, by those of their texts.

    A document whose copies bear another label is doubtful for that alone; of the others, all that have the doubtful
    label of their text are.
    """
    n_documents = texts.labels.size
    scores = LabelScores(
        np.full(n_documents, np.nan),
        np.full(n_documents, NO_CATEGORY, np.int64),
        np.full(n_documents, np.nan),
        np.zeros(n_documents, bool),
    )
    bears_label = (texts.labels != UNLABELED) & (texts.labels == texts.corpus.labels[texts.text_of])
    if conclusion.label_probability is not None:
        scores.probability[bears_label] = conclusion.label_probability[texts.text_of[bears_label]]
    if conclusion.audit is not None:
        doubt_of = np.full(texts.corpus.n_documents, -1)
        doubt_of[conclusion.audit.document] = np.arange(conclusion.audit.document.size)
        doubtful = np.flatnonzero(bears_label & (doubt_of[texts.text_of] >= 0))
        doubt = doubt_of[texts.text_of[doubtful]]
        scores.suggested[doubtful] = conclusion.audit.suggested[doubt]
        scores.suggested_probability[doubtful] = conclusion.audit.suggested_probability[doubt]
    for d, own, suggested, probability in contradictions(texts):
        scores.probability[d], scores.suggested[d], scores.suggested_probability[d] = own, suggested, probability
        scores.by_copies[d] = True
    return scores


def none_or(value: Any, kind: type) -> Any:
    """An array's entry as JSON has it: None for NO_CATEGORY and for NaN."""
    return None if value == NO_CATEGORY or value != value else kind(value)


def category_rows(
    job: Job, texts: Texts, strings: Names, conclusion: JobConclusion, described: Described, identified: Identified,
    is_free: Array, matched: Mapping[int, Mapping[str, Any]] = {},
) -> Rows:  # fmt: skip
    """Rows of `categories`: the known ones, then the new ones. Copies count as documents.

    `is_free` bool[D] are the documents that the corpus has without a label, and that rows of `answers` are for;
    `matched` is what the descriptions of the corpus say of new categories.
    """
    consensus, stability = consensus_of_documents(conclusion.consensus, texts), conclusion.category_stability
    made_of = None if conclusion.topics is None else topics.of_categories(conclusion.topics)
    size = consensus.n_categories
    n_documents = np.bincount(consensus.category[is_free & (consensus.category != NO_CATEGORY)], minlength=size)
    n_labeled = np.bincount(texts.labels[~is_free], minlength=size)
    n_decided = np.bincount(texts.labels[is_free & (texts.labels != UNLABELED)], minlength=size)
    n_answered = max(int(n_documents.sum()), 1)
    return [
        {
            "job_id": job.id,
            "category": category,
            "name": identified.names[category],
            "known": category < len(strings.categories),
            "n_documents": int(n_documents[category]),
            "n_labeled": int(n_labeled[category]),
            "share": float(n_documents[category] / n_answered),
            "top_words": [{"word": strings.vocabulary[word], "documents": n} for word, n in described.words[category]],
            "stability": None if stability is None else none_or(stability[category], float),
            "topics": None if made_of is None else made_of[category],
            "short_id": identified.short_ids[category],
            "is_named": identified.is_named[category],
            "portrait": finite(
                {
                    **portrait_row(
                        described.portraits[category], strings.vocabulary, identified.keys, int(n_decided[category])
                    ),
                    "place": described.map.places[category],
                    **({} if conclusion.has_probabilities else {"size_interval_90": None}),
                    **described_row(matched.get(category), identified.is_by_description[category]),
                    **({"similarity": told} if (told := conclusion.similarities.get(category)) else {}),
                }
            ),
        }
        for category in range(size)
    ]


def described_row(described: Mapping[str, Any] | None, gave_name: bool) -> dict[str, Any]:
    """The part of a portrait on descriptions; nothing where there are none to fit."""
    return {} if described is None else {"described": {**described, "gave_name": gave_name}}


def number_rows(stored: Stored, conclusion: JobConclusion, clamped: Clamped, job: Job) -> Iterator[Rows]:
    """Rows of `number_answers`, one a number that was asked for: the categories of the documents that have answers."""
    answered = np.flatnonzero(clamped.is_free)
    answered = answered[np.argsort(stored.document_ids[answered])]
    for number, category in conclusion.by_number:
        of_documents = category[stored.texts.text_of[answered]].astype(np.int32)
        yield [{"job_id": job.id, "n_categories": number, "data": pack({}, {"category": of_documents})}]


def next_edition(job: Job) -> int:
    """The number under which a conclusion writes: nobody reads its rows before all of them are there."""
    return job.edition + 1


def clear_unread(session: Session, job: Job) -> bool:
    """Take out some rows of conclusions that broke off, and of older ones; False if none is left."""
    return take_out_some(session, job.id, lambda edition: edition != job.edition)


def clear_older(session: Session, job_id: str, edition: int) -> bool:
    """Take out some rows of older conclusions than this one, of which nobody reads any more; False if none is left."""
    return take_out_some(session, job_id, lambda of_row: of_row < edition)


def take_out_some(session: Session, job_id: str, is_unread: Callable[[Any], ColumnElement[bool]]) -> bool:
    """Delete some of a job's rows whose edition is unread; False if none is left."""
    n_taken = 0
    for table in RESULTS:
        keys = table.__mapper__.primary_key
        some = select(*keys).where(table.job_id == job_id, is_unread(table.edition)).limit(CLEARED_AT_ONCE - n_taken)
        n_taken += change(session, delete(table).where(tuple_(*keys).in_(some)))
        if n_taken >= CLEARED_AT_ONCE:
            return True
    return False


def save_rows(session: Session, job: Job, table: type[Result], rows: Rows) -> None:
    """Store a batch of rows of the next edition."""
    session.execute(insert(table), [{**row, "edition": next_edition(job)} for row in rows])


def save_summary(
    session: Session, job: Job, best_chain: int | None, rows: Rows, facts: Mapping[str, Any], chain: int | None = None
) -> None:  # fmt: skip
    """Store the categories, the best chain, the posterior frequencies, and the model's facts beside them.

    From then on this edition of the results is the one that is read.
    """
    save_rows(session, job, Category, rows)
    data = {**posteriors(session, job, chain), **finite(facts)}
    session.add(Summary(job_id=job.id, edition=next_edition(job), best_chain=best_chain, data=data))
    session.execute(update(Job).where(Job.id == job.id).values(edition=next_edition(job)))


def facts_with_reasons(conclusion: JobConclusion, names: Sequence[str]) -> Mapping[str, Any]:
    """What is kept with the summary; the reasons of the verdict call categories by their names."""
    if "diagnostics" not in conclusion.facts:
        return conclusion.facts
    told = [reason.told(names) for reason in conclusion.reasons]
    return {**conclusion.facts, "diagnostics": {**conclusion.facts["diagnostics"], "reasons": told}}


def finite(value: Any) -> Any:
    """A JSON value with None for numbers that JSON does not know: NaN and the infinities."""
    if isinstance(value, Mapping):
        return {name: finite(part) for name, part in value.items()}
    if isinstance(value, list | tuple):
        return [finite(part) for part in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
