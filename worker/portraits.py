"""Portraits of a job's categories and the tree over the new ones: found in arrays, and as what rows hold."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, NamedTuple

import numpy as np
from sqlalchemy import select
from sqlalchemy.orm import Session

from app.core.tables import Document, Job
from sampler.answers.category_map import CategoryMap, category_map
from sampler.answers.consensus import Consensus, consensus_of_documents
from sampler.answers.portraits import Portrait, portraits
from sampler.answers.tally import Tally
from sampler.answers.tree import NO_PARENT, Tree, tree_of
from sampler.answers.words import GroupWords, RankedWord, distances, group_words, joined, relevant_words, word_counts
from sampler.copies import Texts
from sampler.corpus import NO_CATEGORY, UNLABELED, Array
from sampler.numerics.threads import Threads
from worker import inheritance, short_ids
from worker.store import BATCH, Names, Rows, Stored

TOP_WORDS = 10
NODE_WORDS = 10  # of a node of the tree: enough to be named after


class Described(NamedTuple):
    """What is told of categories beside their sizes."""

    words: list[list[tuple[int, int]]]  # best ones of each category, with the number of its documents that hold them
    portraits: list[Portrait]  # documents in it are texts
    tree: Tree  # over texts
    node_words: list[list[tuple[int, int]]]  # of each node of the tree
    of_categories: GroupWords
    map: CategoryMap


class Identified(NamedTuple):
    """What categories are called, and the keys of the documents in their portraits."""

    names: list[str]
    short_ids: list[str]
    is_named: list[bool]  # by somebody in the results that it has its id from, or by a description
    keys: dict[int, str]  # of texts: the key of the document that stands for each
    is_by_description: list[bool]  # a description gave it its name


def describe(
    texts: Texts, consensus: Consensus, tallies: Sequence[Tally], finer: Sequence[Array], threads: Threads
) -> Described:  # fmt: skip
    """What is told of the categories of an answer, by the words of its texts and by the draws of its chains."""
    corpus = texts.corpus
    weight = np.bincount(texts.text_of[texts.labels == UNLABELED], minlength=corpus.n_documents)
    counts = word_counts(corpus)
    of_categories = group_words(counts, consensus.category, consensus.n_categories, threads)
    distance = distances(of_categories, threads)
    tree = tree_of(consensus.category, corpus.n_known, weight, tallies, finer, threads)
    of_nodes = joined(group_words(counts, tree.leaf, tree.n_leaves, threads), tree.members)
    return Described(
        list(relevant_words(of_categories, TOP_WORDS, threads)),
        portraits(counts, of_categories, distance, corpus.labels, consensus, weight, threads),
        tree,
        list(relevant_words(of_nodes, NODE_WORDS, threads)),
        of_categories,
        category_map(distance),
    )


def identify(
    session: Session, job: Job, stored: Stored, names: Names, consensus: Consensus, described: Described,
    fitting: Mapping[int, str] = {},
) -> Identified:  # fmt: skip
    """The names and ids of the categories; new ones keep those that they had before, see `inheritance`.

    Those to which nobody gave a name take that of the description that fits, `fitting`, unless another one has it.
    """
    texts = stored.texts
    shown = [text for each in described.portraits for text in (*each.representative.tolist(), *each.edge.tolist())]
    of_documents = consensus_of_documents(consensus, texts).category
    keys = keys_of(session, stored, consensus, of_documents, shown)
    category = np.where(texts.labels == UNLABELED, of_documents, texts.labels)
    known = names.categories
    inherited = inheritance.inherit(session, job, stored.document_ids, category, known)
    rest = {category: name for category, name in fitting.items() if category not in inherited.names}
    given = inheritance.distinct({**inherited.names, **rest}, known)
    decided = (job.continued or {}).get("ids", {})
    of_new = [each.representative.tolist() for each in described.portraits[len(known) :]]
    representative = [[keys[text] for text in texts_of_one] for texts_of_one in of_new]
    return Identified(
        names.of_categories(described.words, given),
        short_ids.of_categories(known, representative, inherited.ids, inherited.spent, decided),
        [each in given for each in range(consensus.n_categories)],
        keys,
        [each in given and each in rest for each in range(consensus.n_categories)],
    )


def keys_of(
    session: Session, stored: Stored, consensus: Consensus, of_documents: Array, shown: Iterable[int]
) -> dict[int, str]:
    """For some texts the key of a document: the first whose category, of int32[D], is that of its text."""
    texts = stored.texts
    document_of = texts.first.copy()
    alike = np.flatnonzero(of_documents == consensus.category[texts.text_of])[::-1]
    document_of[texts.text_of[alike]] = alike  # what is written last stays: the first document
    ids = {int(stored.document_ids[document_of[text]]): text for text in shown}
    found: dict[int, str] = {}
    rest = iter(ids)
    while batch := list(islice(rest, BATCH)):
        rows = session.execute(select(Document.id, Document.key).where(Document.id.in_(batch)))
        found.update((ids[document_id], key) for document_id, key in rows)
    return found


def portrait_row(
    portrait: Portrait, vocabulary: Sequence[str], keys: dict[int, str], n_decided: int = 0
) -> dict[str, Any]:
    """A portrait as JSON, with words as texts and documents by their keys.

    The documents that somebody decided to be of the category are of it for sure.
    """
    nearest = portrait.nearest
    return {
        "size_interval_90": [limit + n_decided for limit in portrait.size_interval],
        "by_probability": ranked_rows(portrait.by_probability, vocabulary),
        "by_lift": ranked_rows(portrait.by_lift, vocabulary),
        "representative": [keys[text] for text in portrait.representative.tolist()],
        "edge": [keys[text] for text in portrait.edge.tolist()],
        "nearest": nearest
        and {
            "category": nearest.category,
            "distance": nearest.distance,
            "words": telling_rows(nearest.own_words, vocabulary),
            "its_words": telling_rows(nearest.its_words, vocabulary),
        },
    }


def ranked_rows(words: Iterable[RankedWord], vocabulary: Sequence[str]) -> list[dict[str, Any]]:
    """Words of a category as JSON."""
    return [{"word": vocabulary[each.word], "share": each.share, "lift": each.lift} for each in words]


def telling_rows(words: Iterable[tuple[int, float, float]], vocabulary: Sequence[str]) -> list[dict[str, Any]]:
    """Words that tell two categories apart, as JSON."""
    return [{"word": vocabulary[word], "share": share, "other_share": other} for word, share, other in words]


def tree_rows(job: Job, described: Described, names: Names) -> Iterator[Rows]:
    """Batches of rows of `tree_nodes`; the words of nodes begin with those that name them."""
    tree = described.tree
    rows = (
        {
            "job_id": job.id,
            "node": node,
            "parent": none_if(NO_PARENT, tree.parent[node]),
            "category": none_if(NO_CATEGORY, tree.category[node]),
            "n_documents": int(tree.n_documents[node]),
            "together": None if np.isnan(tree.together[node]) else float(tree.together[node]),
            "top_words": [{"word": names.vocabulary[word], "documents": n} for word, n in names.telling_first(words)],
        }
        for node, words in enumerate(described.node_words)
    )
    while batch := list(islice(rows, BATCH)):
        yield batch


def none_if(nothing: int, value: Any) -> int | None:
    """An array's entry as JSON has it."""
    return None if value == nothing else int(value)
