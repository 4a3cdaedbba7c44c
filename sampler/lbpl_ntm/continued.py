"""Chains that go on from where a source job's chain stands, over the corpus as it is now.

What is carried over is where a chain starts. Any start has the same posterior, that of the corpus with its labels:
decisions that have become labels are exact, and documents that have arrived are sampled with the rest.
"""

import hashlib
from collections.abc import Callable
from typing import Any

from sampler.carried import Carried, seed_from
from sampler.corpus import Corpus
from sampler.hyperparameters import Hyperparameters, Kernel
from sampler.lbpl_ntm.blocked.continued import continued_blocked
from sampler.lbpl_ntm.chain import KERNELS, check, first_course, named
from sampler.lbpl_ntm.checkpoint import load
from sampler.lbpl_ntm.collapsed.continued import continued_collapsed
from sampler.lbpl_ntm.state import Course, State
from sampler.numerics.threads import Threads

# The state over a corpus before its first sweep, or None if the source has nothing to begin with.
Continue = Callable[[Corpus, Hyperparameters, Course, Carried, Any, Threads], State | None]

CONTINUE: dict[Kernel, Continue] = {"blocked": continued_blocked, "collapsed": continued_collapsed}


def continue_chain(
    corpus: Corpus,
    hyperparameters: Hyperparameters,
    seed: int,
    chain: int,
    kernel: Kernel,
    carried: Carried,
    data: bytes,
    threads: Threads | None = None,
) -> State:
    """A chain before its first sweep, which begins where the checkpoint `data` of the source's corpus stands.

    Alpha and gamma are the source's, unless they are fixed. If no text has a word that it had, the chain starts as any
    other does. Raises ValueError as `chain.start` does, and for a source of another kernel; CheckpointError for damaged
    bytes. Without threads the caller's thread does all.
    """
    check(corpus, hyperparameters, kernel)
    carried.check(corpus)
    source, threads = load(carried.source, hyperparameters, data), threads or Threads()
    if source.kernel != kernel:
        raise ValueError(f"a chain of kernel = {source.kernel!r} is not continued by {kernel!r}")
    given = {
        "seed": seed,
        "kernel": kernel,
        "source": hashlib.sha256(data).hexdigest(),
        "carried": carried.digest(),
    }
    course = first_course(corpus, hyperparameters, seed_from(seed, data), chain, given)
    if hyperparameters.alpha is None:
        course.alpha = source.alpha
    if hyperparameters.gamma is None:
        course.gamma = source.gamma
    state = CONTINUE[kernel](corpus, hyperparameters, course, carried, source, threads)
    return named(corpus, state or KERNELS[kernel].start(corpus, hyperparameters, course, threads))
