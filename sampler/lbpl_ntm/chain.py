"""One Markov chain of LBPL-NTM: start it, sweep it, look at it, whatever its kernel."""

import numpy as np
from numba import njit

from sampler.corpus import UNLABELED, Corpus, fingerprint, validate
from sampler.digest import first_digest, next_digest
from sampler.hyperparameters import Hyperparameters
from sampler.lbpl_ntm.assignments import EMPTY, UNBORN
from sampler.lbpl_ntm.blocked.state import BlockedState
from sampler.lbpl_ntm.collapsed.state import CollapsedState
from sampler.lbpl_ntm.concentrations import resample_alpha, resample_gamma
from sampler.lbpl_ntm.state import DEFAULT_KERNEL, Course, Draw, Kernel, State, Survey, Tally, check_kernel, no_tally
from sampler.numerics import streams
from sampler.numerics.streams import Step
from sampler.numerics.threads import Workers

__all__ = ["KERNELS", "Draw", "State", "keep", "start", "sweep"]

MAX_TOKENS = 2**31 - 1  # slots of tables are int32

KERNELS: dict[Kernel, type[State]] = {
    "blocked": BlockedState,
    "collapsed": CollapsedState,
}


def start(
    corpus: Corpus,
    hyperparameters: Hyperparameters,
    seed: int,
    chain: int,
    kernel: Kernel = DEFAULT_KERNEL,
    workers: Workers | None = None,
) -> State:
    """A chain before its first sweep, with concentrations at their prior means.

    Raises ValueError for a corpus that is malformed, has no token or too many, and for a model that the kernel
    cannot draw from. Without workers the caller's thread does all.
    """
    check_kernel(kernel, hyperparameters)
    validate(corpus)
    if not 0 < corpus.n_tokens <= MAX_TOKENS:
        raise ValueError(f"the corpus has {corpus.n_tokens} tokens, not between 1 and {MAX_TOKENS}")
    mark = fingerprint(corpus)
    course = Course(
        fingerprint=mark,
        n_topics=hyperparameters.n_topics,
        seed=seed,
        chain=chain,
        n_sweeps=0,
        n_born=corpus.n_known,
        alpha=hyperparameters.alpha_mean,
        gamma=hyperparameters.gamma_mean,
        tally=no_tally(),
        digest=first_digest(mark, hyperparameters, seed, chain, kernel),
    )
    state = KERNELS[kernel].start(corpus, hyperparameters, course, workers or Workers())
    state.identity[: corpus.n_known] = np.arange(corpus.n_known)
    name_new_categories(state)
    return state


def sweep(corpus: Corpus, hyperparameters: Hyperparameters, state: State, workers: Workers | None = None) -> Draw:
    """Advance the chain by one sweep: the steps of its kernel, then gamma and alpha.

    The draws do not depend on the workers. Without any, the caller's thread does all. A state whose sweep was
    Interrupted is of no more use.
    """
    state.n_sweeps += 1
    state.sweep(corpus, hyperparameters, workers)
    sample_concentrations(corpus, hyperparameters, state, workers)
    name_new_categories(state)
    survey = state.survey(corpus, hyperparameters, workers)
    state.digest = next_digest(state.digest, survey.digested, state.alpha, state.gamma)
    return look(corpus, state, survey)


def sample_concentrations(
    corpus: Corpus, hyperparameters: Hyperparameters, state: State, workers: Workers | None = None
) -> None:
    """Resample gamma, then alpha."""
    rng = streams.generator(state.seed, state.chain, state.n_sweeps, Step.CONCENTRATIONS)
    lengths = corpus.lengths
    n_tables = int(state.category_tables.sum())
    n_categories = int(np.count_nonzero(state.category_tables))
    state.gamma = resample_gamma(state.gamma, n_categories, n_tables, hyperparameters, rng)
    seated = lengths[(corpus.labels == UNLABELED) & (lengths > 0)]
    n_labeled = int(np.count_nonzero(lengths)) - seated.size
    state.alpha = resample_alpha(state.alpha, n_tables - n_labeled, seated, hyperparameters, rng, workers)


def name_new_categories(state: State) -> None:
    """Number the categories that appeared in this sweep and are still there, in the order of their slots."""
    is_unnamed = (state.identity == UNBORN) & (state.category_tables > 0)
    n_unnamed = int(np.count_nonzero(is_unnamed))
    state.identity[is_unnamed] = np.arange(state.n_born, state.n_born + n_unnamed)
    state.n_born += n_unnamed


def look(corpus: Corpus, state: State, survey: Survey) -> Draw:
    """The draw that the state stands for."""
    is_served = state.category_tables > 0
    holds = np.zeros(is_served.size, bool)
    holds[survey.answers[survey.answers != EMPTY]] = True
    return Draw(
        sweep=state.n_sweeps,
        n_categories=int(np.count_nonzero(is_served)),
        n_new=int(np.count_nonzero(is_served[corpus.n_known :])),
        n_new_with_documents=int(np.count_nonzero(holds[corpus.n_known :])),
        n_tables=int(state.category_tables.sum()),
        alpha=state.alpha,
        gamma=state.gamma,
        log_joint=survey.log_joint,
    )


def keep(corpus: Corpus, state: State) -> None:
    """Add the state's answers to the tally of kept draws."""
    state.tally = with_answers(state.tally, corpus.labels, state.document_categories(corpus), state.identity)


@njit(cache=True, nogil=True)
def with_answers(tally, labels, answers, identity):  # type: ignore[no-untyped-def]
    """The tally with one more draw: slots int32[D], or EMPTY, of which each has an identity, int64[C].

    Both are ordered by documents, so they are merged. O(A + D) time.
    """
    n_entries, n_room = tally.document.size, tally.document.size + answers.size
    documents, identities = np.empty(n_room, np.int32), np.empty(n_room, np.int64)
    hits = np.empty(n_room, np.int32)
    a, b = 0, 0  # the next entry to be read, and to be written
    for d in range(answers.size):
        is_answered = labels[d] == UNLABELED and answers[d] != EMPTY
        answer = identity[answers[d]] if is_answered else np.int64(0)
        is_due = is_answered
        while is_due or (a < n_entries and tally.document[a] == d):
            is_of_document = a < n_entries and tally.document[a] == d
            if is_due and not (is_of_document and tally.identity[a] < answer):
                documents[b], identities[b], hits[b] = d, answer, 1
                if is_of_document and tally.identity[a] == answer:
                    hits[b] += tally.hits[a]
                    a += 1
                is_due = False
            else:
                documents[b], identities[b], hits[b] = d, tally.identity[a], tally.hits[a]
                a += 1
            b += 1
    return Tally(tally.n_draws + 1, documents[:b].copy(), identities[:b].copy(), hits[:b].copy())
