"""Corpora in folders of arrays, mapped into memory: those of the problems, and simulated ones of any size.

A folder holds words.npy, offsets.npy, labels.npy and sizes.json; several processes share the pages of one folder.
"""

import json
import shutil
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numba import njit

from sampler.corpus import UNLABELED, Array, Corpus
from sampler.numerics.ragged import sorted_words
from sampler.numerics.streams import uniform

VERSION = 2  # of simulated corpora: raise it when they change, so that a kept one is not taken for a new one
N_CATEGORIES, N_KNOWN, N_TOPICS = 30, 20, 128
MEAN_LENGTH, LABELED = 200, 0.1  # tokens of a document; share of documents
ALPHA = 0.04  # about four in five documents serve one category, as on real corpora
MIXTURE, SHARPNESS = 0.05, 0.1  # of Dirichlet and gamma draws: few topics a category, few topics a word


class Size(NamedTuple):
    """How large a simulated corpus is."""

    n_tokens: int
    n_words: int


SIZES = {
    "simulated-1m": Size(1_000_000, 10_000),
    "simulated-10m": Size(10_000_000, 30_000),
    "simulated-100m": Size(100_000_000, 100_000),
}


def store(corpus: Corpus, folder: Path) -> Path:
    """Write a corpus into a folder of its own, in place of what was there."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    corpus = corpus._replace(words=sorted_words(corpus))  # as a worker's encoding has them
    for name in ("words", "offsets", "labels"):
        np.save(folder / f"{name}.npy", getattr(corpus, name))
    write_sizes(folder, corpus.n_words, corpus.n_known)
    return folder


def load(folder: Path) -> Corpus:
    """The corpus in a folder; pages are read when they are touched, and copied should anybody write."""
    sizes = json.loads((folder / "sizes.json").read_text(encoding="utf-8"))
    words, offsets, labels = (
        np.asarray(np.load(folder / f"{name}.npy", mmap_mode="c")) for name in ("words", "offsets", "labels")
    )
    return Corpus(words, offsets, labels, sizes["n_words"], sizes["n_known"])


def write_sizes(folder: Path, n_words: int, n_known: int) -> None:
    """What the arrays do not tell."""
    (folder / "sizes.json").write_text(json.dumps({"n_words": n_words, "n_known": n_known}), encoding="utf-8")


def simulated(size: Size, cache: Path, seed: int = 0) -> Path:
    """The folder of a simulated corpus, made unless the cache has it; a tenth of a microsecond a token."""
    folder = cache / f"simulated-{size.n_tokens}-{size.n_words}-{seed}-v{VERSION}"
    if not folder.exists():
        unfinished = folder.with_suffix(".part")
        shutil.rmtree(unfinished, ignore_errors=True)
        unfinished.mkdir(parents=True)
        simulate(size, unfinished, np.random.default_rng(seed))
        unfinished.rename(folder)
    return folder


def simulate(size: Size, folder: Path, rng: np.random.Generator) -> None:
    """Draw a corpus from the model given G_0, topics summed out, straight into the files of a folder.

    Two liberties: words have Zipf's frequencies, and each of the N_CATEGORIES categories has a few topics of its own,
    so that categories lie apart. A labeled document has one category, another one a Polya urn of concentration ALPHA.
    """
    n_documents = size.n_tokens // MEAN_LENGTH
    lengths = 1 + rng.negative_binomial(4, 4 / (3 + MEAN_LENGTH), n_documents)
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    labels = np.full(n_documents, UNLABELED, np.int32)
    labeled = rng.random(n_documents) < LABELED
    labels[labeled] = rng.integers(N_KNOWN, size=int(labeled.sum()))

    own, other = alias_tables(draw_categories(N_CATEGORIES, size.n_words, rng))
    shares = np.cumsum(rng.dirichlet(np.full(N_CATEGORIES, 5.0)))
    words = np.lib.format.open_memmap(folder / "words.npy", "w+", np.int32, (int(offsets[-1]),))
    write_words(np.asarray(words), offsets, labels, shares, own, other, np.uint64(rng.integers(2**63)))
    words.flush()
    np.save(folder / "offsets.npy", offsets)
    np.save(folder / "labels.npy", labels)
    write_sizes(folder, size.n_words, N_KNOWN)


def draw_categories(n_categories: int, n_words: int, rng: np.random.Generator) -> Array:
    """float64[K, V]: p(w | k), topics summed out."""
    frequency = 1.0 / (2.0 + np.arange(n_words))
    topics = frequency * rng.gamma(SHARPNESS, size=(N_TOPICS, n_words))
    topics /= topics.sum(axis=1, keepdims=True)
    return np.asarray(rng.dirichlet(np.full(N_TOPICS, MIXTURE), n_categories) @ topics)


@njit(cache=True, nogil=True)
def alias_tables(chances):  # type: ignore[no-untyped-def]
    """Walker's tables for drawing a column of each row of chances float64[R, S]: float32[R, S], int32[R, S]."""
    n_rows, n_columns = chances.shape
    own, other = np.ones(chances.shape, np.float32), np.zeros(chances.shape, np.int32)
    poor, rich, left = np.empty(n_columns, np.int64), np.empty(n_columns, np.int64), np.empty(n_columns)
    for r in range(n_rows):
        total = 0.0
        for c in range(n_columns):
            total += chances[r, c]
        n_poor, n_rich = 0, 0
        for c in range(n_columns):
            left[c] = chances[r, c] * n_columns / total
            if left[c] < 1.0:
                poor[n_poor] = c
                n_poor += 1
            else:
                rich[n_rich] = c
                n_rich += 1
        while n_poor > 0 and n_rich > 0:
            n_poor -= 1
            taker, giver = poor[n_poor], rich[n_rich - 1]
            own[r, taker], other[r, taker] = left[taker], giver
            left[giver] -= 1.0 - left[taker]
            if left[giver] < 1.0:
                n_rich -= 1
                poor[n_poor] = giver
                n_poor += 1
    return own, other


@njit(cache=True, nogil=True)
def write_words(words, offsets, labels, shares, own, other, key):  # type: ignore[no-untyped-def]
    """Draw the category, then the word, of every token; sort the words of each document."""
    n_words = own.shape[1]
    longest = 0
    for d in range(labels.size):
        longest = max(longest, offsets[d + 1] - offsets[d])
    held = np.empty(longest, np.int32)
    for d in range(labels.size):
        for i in range(offsets[d], offsets[d + 1]):
            j = i - offsets[d]
            category = labels[d]
            if category == UNLABELED:
                place = uniform(key, 3 * i) * (j + ALPHA)
                if place < j:
                    category = held[int(place)]
                else:
                    u, category = uniform(key, 3 * i + 1), 0
                    while category < shares.size - 1 and u >= shares[category]:
                        category += 1
            held[j] = category
            place = uniform(key, 3 * i + 2) * n_words
            word = int(place)
            words[i] = word if place - word < own[category, word] else other[category, word]
        words[offsets[d] : offsets[d + 1]].sort()
