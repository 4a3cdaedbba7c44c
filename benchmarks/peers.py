"""tomotopy (Lee Minchul, C++), the peer of our sweeps: its HDP, and its LDA with as many topics as we have.

It sees the same documents, tokens and vocabulary, all without labels, with its defaults: estimation of its
concentrations stays on. Its HDP starts with two topics and keeps few, which makes its sweeps cheap.
"""

import importlib
import warnings
from typing import Any

from sampler.corpus import Corpus

PARALLEL = {"hdp": "COPY_MERGE", "lda": "PARTITION"}  # HDP refuses PARTITION, which is the default of LDA


class Tomotopy:
    """A model of tomotopy that sweeps."""

    def __init__(self, corpus: Corpus, kind: str, workers: int, n_topics: int, seed: int) -> None:
        self.kind, self.workers = kind, workers
        self.tomotopy: Any = importlib.import_module("tomotopy")  # for benchmarks alone, so not among our dependencies
        self.scheme = getattr(self.tomotopy.ParallelScheme, PARALLEL[kind])
        models = {"hdp": self.tomotopy.HDPModel, "lda": self.tomotopy.LDAModel}
        self.model = models[kind](seed=seed, **({"k": n_topics} if kind == "lda" else {}))
        names = [f"w{word}" for word in range(corpus.n_words)]
        for first, end in zip(corpus.offsets[:-1].tolist(), corpus.offsets[1:].tolist(), strict=True):
            if end > first:
                self.model.add_doc([names[word] for word in corpus.words[first:end].tolist()])
        self.defaults: dict[str, object] = {"initial_k": self.model.k, "eta": round(self.model.eta, 6)}
        self.defaults["alpha"] = round(float(self.model.alpha if kind == "hdp" else self.model.alpha[0]), 6)

    def sweep(self, n: int) -> None:
        """Sweep n times in one call: a call that has several workers sets them up anew."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)  # several workers: not the same result each time
            self.model.train(n, workers=self.workers, parallel=self.scheme, show_progress=False)

    def report(self) -> dict[str, object]:
        """What it is and how far it came."""
        return {
            "version": self.tomotopy.__version__,
            "instructions": self.tomotopy.isa,
            "parallel": PARALLEL[self.kind] if self.workers > 1 else None,
            **self.defaults,
            "topics": self.model.k,
            "K": self.model.live_k if self.kind == "hdp" else self.model.k,
            "tokens_used": self.model.num_words,
            "log_probability_per_token": round(self.model.ll_per_word, 4),
        }
