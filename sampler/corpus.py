"""The corpus as the sampler sees it: flat arrays, document after document."""

import hashlib
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

UNLABELED = -1  # label of a document that has none
NO_CATEGORY = -1  # where no category is: of a document without a word, of a slot without a table

Array = npt.NDArray[Any]


class Corpus(NamedTuple):
    """Tokens, document boundaries and labels; C-contiguous, so that it enters compiled code whole."""

    words: Array  # int32[N], word of each token
    offsets: Array  # int64[D + 1], document d holds tokens offsets[d] : offsets[d + 1]
    labels: Array  # int32[D], known category, or UNLABELED
    n_words: int  # V
    n_known: int  # categories 0 .. n_known - 1 are the known ones

    @property
    def n_documents(self) -> int:
        return self.labels.size

    @property
    def n_tokens(self) -> int:
        return self.words.size

    @property
    def lengths(self) -> Array:
        """int64[D], tokens of each document."""
        return np.diff(self.offsets)


def validate(corpus: Corpus) -> None:
    """Raise ValueError, naming the values that met, unless the arrays describe a corpus."""
    for name, dtype in (("words", np.int32), ("offsets", np.int64), ("labels", np.int32)):
        array = getattr(corpus, name)
        if array.dtype != dtype or array.ndim != 1 or not array.flags.c_contiguous:
            raise ValueError(f"{name} is not a C-contiguous vector of {np.dtype(dtype)}")
    if corpus.offsets.size != corpus.labels.size + 1:
        raise ValueError(f"{corpus.offsets.size} offsets do not bound {corpus.labels.size} documents")
    if corpus.offsets[0] != 0 or corpus.offsets[-1] != corpus.words.size or (corpus.lengths < 0).any():
        raise ValueError(f"offsets do not ascend from 0 to {corpus.words.size} tokens")
    if corpus.words.min(initial=0) < 0 or corpus.words.max(initial=-1) >= corpus.n_words:  # takes no room
        i = np.flatnonzero((corpus.words < 0) | (corpus.words >= corpus.n_words))[0]
        raise ValueError(f"token {i}: word {corpus.words[i]} is not below n_words = {corpus.n_words}")
    outside = np.flatnonzero((corpus.labels < UNLABELED) | (corpus.labels >= corpus.n_known))
    if outside.size:
        d = outside[0]
        raise ValueError(f"document {d}: label {corpus.labels[d]} is not below n_known = {corpus.n_known}")


def fingerprint(corpus: Corpus) -> str:
    """SHA-256 of everything in the corpus, in hexadecimal: two corpora are equal when theirs are."""
    digest = hashlib.sha256(f"{corpus.n_words} {corpus.n_known} {corpus.n_documents}".encode())
    for array in (corpus.words, corpus.offsets, corpus.labels):
        digest.update(np.ascontiguousarray(array).data)  # no copy of what is contiguous
    return digest.hexdigest()
