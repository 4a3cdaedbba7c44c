"""The unit `conclude`: what a job answers, by document, category and topic."""

import logging
from collections.abc import Iterable
from functools import partial
from typing import Any

from sqlalchemy.orm import Session

from app.core.db import AWAY
from app.core.embedding_models import embedder_of
from app.core.kinds import UnitKind
from app.core.tables import Answer, Audit, NumberAnswer, Topic, TreeNode
from sampler.vectors import Axes
from worker import descriptions, encodings, frozen, portraits, results, store, topics
from worker.chains import finish, model_for
from worker.conclusions import Chains
from worker.descriptions import Seen
from worker.leg import Leg, Stopped, told
from worker.store import Rows, Stored
from worker.vectors import load_axes, load_texts

logger = logging.getLogger(__name__)


def conclude(leg: Leg) -> list[int]:
    """Write what the job answers, by document, category and topic, and the tree over its new categories.

    It is from all chains, or from the one with the highest mean log joint.
    """
    stored = load_texts(leg)
    with leg.threads() as threads:
        model = model_for(leg, UnitKind.CONCLUDE, stored, threads)
        with leg.database.readers.begin() as session:
            names, clamped = encodings.names(session, leg.job), store.clamped(session, leg.job, stored)
            best = None if model.pools_chains else store.best_chain(session, leg.job)
            takes_all = model.pools_chains or model.compares_chains
            units = store.chain_units(session, leg.job, None if takes_all else best)
            traces = store.traces(session, leg.job) if takes_all else {}
        states, tallies = [], []
        for unit in units:
            state = finish(leg, model, stored, unit)
            tallies.append(state.tally)
            if not model.compares_chains or unit.chain == best:
                states.append(state)
        conclusion = model.conclude(states, Chains(tallies, traces), names)
        told_by, finer = conclusion.tallies or [state.tally for state in states], model.finer_groups(states)
        described = portraits.describe(stored.texts, conclusion.consensus, told_by, finer, threads)
        topic_rows = list(topics.topic_rows(leg.job, names.vocabulary, conclusion.topics, threads))
        with leg.database.readers.begin() as session:
            axes = None if stored.vectors is None else load_axes(session, leg.job)
            asked = descriptions.asked(session, leg.job, names)
        see = seen(leg, stored, axes) if asked.n_described else None  # it may load an embedding model
        matched = descriptions.match(asked, leg.job, names, conclusion.consensus.category, described.of_categories, see)
        with leg.database.readers.begin() as session:
            identified = portraits.identify(
                session, leg.job, stored, names, conclusion.consensus, described, matched.names
            )
        categories = results.category_rows(
            leg.job, stored.texts, names, conclusion, described, identified, clamped.is_free, matched.described
        )
        facts = {**results.facts_with_reasons(conclusion, identified.names), "map_fit": described.map.fit}
        if matched.listed is not None:
            facts = {**facts, "descriptions": matched.listed}
        told = frozen.facts(leg.job, names, categories, axes)
        file = frozen.frozen_file(leg.job, stored, names.vocabulary, conclusion, told, threads, axes)
    clear_unread_results(leg)
    save_all(leg, Answer, results.answer_rows(leg.job, stored, conclusion, described.tree.leaf, clamped))
    save_all(leg, Audit, results.audit_rows(leg.job, stored, conclusion, clamped))
    save_all(leg, Topic, topic_rows)
    save_all(leg, TreeNode, portraits.tree_rows(leg.job, described, names))
    save_all(leg, NumberAnswer, results.number_rows(stored, conclusion, clamped, leg.job))
    save_model(leg, file, told)
    alone = conclusion.best_chain
    best = best if alone is None else alone
    next_units = leg.end(lambda session: results.save_summary(session, leg.job, best, categories, facts, alone))
    clear_older_results(leg)
    return next_units


def seen(leg: Leg, stored: Stored, axes: Axes | None) -> Seen | None:
    """How the job sees vectors, if it does; those of descriptions are made as those of its documents were."""
    if stored.vectors is None or axes is None:
        return None
    embedder = embedder_of(leg.job.settings.get("embedding_model"), leg.settings)
    return Seen(stored.vectors, axes, None if embedder is None else embedder.embed)


def clear_older_results(leg: Leg) -> None:
    """Take out the results that the job had before; whatever stays is taken out by its next conclusion."""
    try:
        is_left = True
        while is_left and not leg.leaving():
            with leg.database.sessions.begin() as session:
                is_left = results.clear_older(session, leg.job.id, results.next_edition(leg.job))
        with leg.database.sessions.begin() as session:
            frozen.clear_older(session, leg.job.id, results.next_edition(leg.job))
    except AWAY as error:
        logger.warning("job %s: its older results stay for now: %s", leg.job.id, told(error))


def clear_unread_results(leg: Leg) -> None:
    """Take out what an unfinished conclusion wrote, a few rows at a time."""

    def clear_some(session: Session) -> bool:
        leg.record_progress(session)
        return results.clear_unread(session, leg.job)

    while leg.write(clear_some):
        continue


def save_model(leg: Leg, file: bytes, told: dict[str, Any]) -> None:
    """Save the file of the job's model, if it has one, a few parts in a transaction. Raises Stopped."""
    if not file:
        return
    leg.save(partial(frozen.begin, job=leg.job, file=file, told=told))
    for rows in frozen.part_rows(leg.job, file):
        leg.save(partial(frozen.save_parts, rows=rows))
        if leg.must_stop():
            raise Stopped("its model is not all written")
    leg.save(partial(frozen.complete, job=leg.job, file=file))


def save_all(leg: Leg, table: type[results.Result], batches: Iterable[Rows]) -> None:
    """Save batches of rows, each in a transaction of its own. Raises Stopped."""
    for rows in batches:
        leg.save(partial(results.save_rows, job=leg.job, table=table, rows=rows))
        if leg.must_stop():
            raise Stopped("its results are not all written")
