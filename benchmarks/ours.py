"""Our chains as contestants: either kernel, any number of threads."""

from collections.abc import Iterable, Iterator

import numpy as np

from sampler.corpus import UNLABELED, Array, Corpus
from sampler.hyperparameters import Hyperparameters, Kernel
from sampler.lbpl_ntm import chain
from sampler.lbpl_ntm.blocked.sweep import SPLIT_MERGE_EVERY
from sampler.lbpl_ntm.simulate import simulate
from sampler.lbpl_ntm.state import Draw
from sampler.numerics.threads import Threads

LARGEST = 8  # arrays that are named in a report


class Chain:
    """A chain that sweeps, with all that a sweep does for a user: log joint and digest too."""

    def __init__(self, corpus: Corpus, kernel: Kernel, n_threads: int, hyperparameters: Hyperparameters, seed: int):
        self.corpus, self.hyperparameters = corpus, hyperparameters
        self.threads = Threads(n_threads)
        self.state = chain.start(corpus, hyperparameters, seed, 0, kernel)
        self.draws: list[Draw] = []

    def sweep(self, n: int) -> None:
        """Sweep n times."""
        for _ in range(n):
            self.draws.append(chain.sweep(self.corpus, self.hyperparameters, self.state, self.threads))

    def report(self) -> dict[str, object]:
        """What it is, how far it came, and its size: bytes of arrays, each array once."""
        of_corpus = sum(sizes(self.corpus).values())
        of_both = sizes({"corpus": self.corpus, "state": self.state})
        largest = sorted(of_both, key=lambda name: -of_both[name])[:LARGEST]
        profile = getattr(self.state, "profile", None)
        return {
            "topics": self.hyperparameters.n_topics,
            "n_start": self.hyperparameters.n_start,
            "K": self.draws[-1].n_categories,
            "tables": self.draws[-1].n_tables,
            "log_joint": round(self.draws[-1].log_joint, 1),
            "corpus_bytes_per_token": round(of_corpus / self.corpus.n_tokens, 2),
            "bytes_per_token": round(sum(of_both.values()) / self.corpus.n_tokens, 2),
            "largest_arrays": {name: round(of_both[name] / self.corpus.n_tokens, 2) for name in largest},
            **({"profile": profile()} if callable(profile) else {}),
        }


def sizes(thing: object) -> dict[str, int]:
    """Bytes of every array in it by name, each array once however many hold it."""
    by_address: dict[int, tuple[str, int]] = {}
    for name, array in arrays(thing):
        by_address.setdefault(array.__array_interface__["data"][0], (name, array.nbytes))
    return {name: n_bytes for name, n_bytes in by_address.values() if n_bytes}


def arrays(thing: object, name: str = "") -> Iterator[tuple[str, Array]]:
    """Every array in the attributes of a state and of what it holds, with the way to it."""
    if isinstance(thing, np.ndarray):
        yield name, thing
        return
    parts: Iterable[tuple[object, object]] = ()
    if hasattr(thing, "_asdict"):
        parts = thing._asdict().items()
    elif isinstance(thing, dict):
        parts = thing.items()
    elif isinstance(thing, list | tuple):
        parts = enumerate(thing)
    elif type(thing).__module__.startswith("sampler."):
        parts = vars(thing).items()
    for key, part in parts:
        yield from arrays(part, f"{name}.{key}" if name else str(key))


def compile_kernels(kernel: Kernel) -> None:
    """Compile a kernel, or load it from the cache, on a corpus of no importance."""
    hyperparameters = Hyperparameters(n_topics=4, n_start=2, birth_share=0.5 if kernel == "blocked" else 0.0)
    labels = np.array([0, UNLABELED] * 10, np.int32)
    corpus = simulate(np.full(20, 30), labels, 50, 1, hyperparameters, np.random.default_rng(0), gamma=1.0).corpus
    with Threads(2) as threads:
        state = chain.start(corpus, hyperparameters, 0, 0, kernel)
        for _ in range(SPLIT_MERGE_EVERY):
            chain.sweep(corpus, hyperparameters, state, threads)
