"""One Markov chain of LBPL-NTM: start it, sweep it, look at it, whatever its kernel."""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

from sampler.answers.tally import no_tally, with_answers
from sampler.corpus import NO_CATEGORY, UNLABELED, Corpus, fingerprint, validate
from sampler.digest import first_digest, next_digest
from sampler.hyperparameters import DEFAULT_KERNEL, Hyperparameters, Kernel, check_kernel
from sampler.lbpl_ntm.assignments import UNBORN
from sampler.lbpl_ntm.blocked.first_state import first_state
from sampler.lbpl_ntm.blocked.state import BlockedState
from sampler.lbpl_ntm.blocked.sweep import sweep_blocked
from sampler.lbpl_ntm.collapsed.state import CollapsedState
from sampler.lbpl_ntm.collapsed.sweep import sweep_collapsed
from sampler.lbpl_ntm.concentrations import resample_alpha, resample_gamma
from sampler.lbpl_ntm.state import Course, Draw, State, Summary
from sampler.numerics import streams
from sampler.numerics.streams import Step
from sampler.numerics.threads import Threads

__all__ = ["KERNELS", "Draw", "State", "keep", "start", "sweep"]

MAX_TOKENS = 2**31 - 1  # slots of tables are int32


class KernelSteps(NamedTuple):
    """What a kernel does with states of its own class."""

    state: type[State]
    start: Callable[[Corpus, Hyperparameters, Course, Threads], State]  # the caller numbers the categories
    # All steps of a sweep but the concentrations, in place; `n_sweeps` already counts it. A category that appears has
    # the identity UNBORN.
    sweep: Callable[[Corpus, Hyperparameters, Any, Threads], None]


KERNELS: dict[Kernel, KernelSteps] = {
    "blocked": KernelSteps(BlockedState, first_state, sweep_blocked),
    "collapsed": KernelSteps(CollapsedState, CollapsedState.start, sweep_collapsed),
}


def start(
    corpus: Corpus,
    hyperparameters: Hyperparameters,
    seed: int,
    chain: int,
    kernel: Kernel = DEFAULT_KERNEL,
    threads: Threads | None = None,
) -> State:
    """A chain before its first sweep, with concentrations at their prior means, or where they are fixed.

    Raises ValueError for a corpus that is malformed, has no token or too many, and for a model that the kernel
    cannot draw from. Without threads the caller's thread does all.
    """
    check(corpus, hyperparameters, kernel)
    course = first_course(corpus, hyperparameters, seed, chain, {"seed": seed, "kernel": kernel})
    return named(corpus, KERNELS[kernel].start(corpus, hyperparameters, course, threads or Threads()))


def check(corpus: Corpus, hyperparameters: Hyperparameters, kernel: Kernel) -> None:
    """Raise ValueError unless a chain of this kernel can be made of the corpus."""
    check_kernel(kernel, hyperparameters)
    validate(corpus)
    if not 0 < corpus.n_tokens <= MAX_TOKENS:
        raise ValueError(f"the corpus has {corpus.n_tokens} tokens, not between 1 and {MAX_TOKENS}")


def first_course(
    corpus: Corpus, hyperparameters: Hyperparameters, seed: int, chain: int, given: Mapping[str, Any]
) -> Course:
    """The course of a chain that has not been swept; its digest begins with what is given, besides the rest."""
    mark = fingerprint(corpus)
    return Course(
        fingerprint=mark,
        n_topics=hyperparameters.n_topics,
        seed=seed,
        chain=chain,
        n_sweeps=0,
        n_born=corpus.n_known,
        alpha=hyperparameters.first_alpha,
        gamma=hyperparameters.first_gamma,
        tally=no_tally(),
        digest=first_digest({"corpus": mark, "chain": chain, **given, **hyperparameters.digested()}),
    )


def named(corpus: Corpus, state: State) -> State:
    """The same state, its categories numbered: the known ones first."""
    state.identity[: corpus.n_known] = np.arange(corpus.n_known)
    name_new_categories(state)
    return state


def sweep(corpus: Corpus, hyperparameters: Hyperparameters, state: State, threads: Threads | None = None) -> Draw:
    """Advance the chain by one sweep: the steps of its kernel, then gamma and alpha.

    The draws do not depend on the threads. Without any, the caller's thread does all. A state whose sweep was
    Interrupted is of no more use.
    """
    state.n_sweeps += 1
    KERNELS[state.kernel].sweep(corpus, hyperparameters, state, threads or Threads())
    sample_concentrations(corpus, hyperparameters, state, threads)
    name_new_categories(state)
    summary = state.summarize(corpus, hyperparameters, threads)
    state.digest = next_digest(state.digest, summary.digested, state.alpha, state.gamma)
    return look(corpus, state, summary)


def sample_concentrations(
    corpus: Corpus, hyperparameters: Hyperparameters, state: State, threads: Threads | None = None
) -> None:
    """Resample gamma, then alpha; one that is fixed stays where it is."""
    rng = streams.generator(state.seed, state.chain, state.n_sweeps, Step.CONCENTRATIONS)
    n_tables = int(state.category_tables.sum())
    if hyperparameters.gamma is None:
        n_categories = int(np.count_nonzero(state.category_tables))
        state.gamma = resample_gamma(state.gamma, n_categories, n_tables, hyperparameters, rng)
    if hyperparameters.alpha is None:
        lengths = corpus.lengths
        seated = lengths[(corpus.labels == UNLABELED) & (lengths > 0)]
        n_labeled = int(np.count_nonzero(lengths)) - seated.size
        state.alpha = resample_alpha(state.alpha, n_tables - n_labeled, seated, hyperparameters, rng, threads)


def name_new_categories(state: State) -> None:
    """Number the categories that appeared in this sweep and are still there, in the order of their slots."""
    is_unnamed = (state.identity == UNBORN) & (state.category_tables > 0)
    n_unnamed = int(np.count_nonzero(is_unnamed))
    state.identity[is_unnamed] = np.arange(state.n_born, state.n_born + n_unnamed)
    state.n_born += n_unnamed


def look(corpus: Corpus, state: State, summary: Summary) -> Draw:
    """The draw that the state stands for."""
    is_served = state.category_tables > 0
    holds = np.zeros(is_served.size, bool)
    holds[summary.answers[summary.answers != NO_CATEGORY]] = True
    return Draw(
        sweep=state.n_sweeps,
        n_categories=int(np.count_nonzero(is_served)),
        n_new=int(np.count_nonzero(is_served[corpus.n_known :])),
        n_new_with_documents=int(np.count_nonzero(holds[corpus.n_known :])),
        n_tables=int(state.category_tables.sum()),
        alpha=state.alpha,
        gamma=state.gamma,
        log_joint=summary.log_joint,
    )


def keep(corpus: Corpus, state: State) -> None:
    """Add the state's answers to the tally of kept draws."""
    state.tally = with_answers(state.tally, corpus.labels, state.document_categories(corpus), state.identity)
