"""What the chains of LBPL-NTM say: the answer of one of them or of all together, its topics, and how far they agree."""

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from sampler.answers.consensus import Consensus, consensus_of, identities_of
from sampler.answers.pooling import pool_answers, read_answers, side_by_side
from sampler.answers.tally import Tally, no_tally, with_answers
from sampler.answers.verdict import Compared, Reason, Verdict, verdict
from sampler.corpus import Array, Corpus
from sampler.hyperparameters import Answer, Hyperparameters
from sampler.lbpl_ntm.state import State
from sampler.lbpl_ntm.topics_of_categories import Topics, learn_topics, topics_of_state
from sampler.numerics.threads import Threads


class LbplConclusion(NamedTuple):
    """The answers, and what is to be said of them."""

    consensus: Consensus
    tally: Tally | None  # of the draws that answer, None if those of all chains do
    topics: Topics
    compared: Compared
    verdict: Verdict


def conclude_chains(
    corpus: Corpus, hyperparameters: Hyperparameters, answer: Answer, seed: int, best: State | None,
    tallies: Sequence[Tally], traces: Mapping[str, Array], threads: Threads,
) -> LbplConclusion:  # fmt: skip
    """The answer of the kept draws of the best chain, of its last sweep alone, or of all chains pooled.

    `tallies` and `traces`, float64[C, S] by quantity, are of all chains, whichever answers; `best` is None if they are
    pooled. Topics are those of the best chain's last sweep; of a pooled answer, which no chain has, they are learned.
    """
    chains = read_answers(corpus, tallies, threads)
    tally: Tally | None = None
    compared: Compared
    if best is None:
        compared = pool_answers(corpus, chains, threads)
        found = compared.consensus
        topics = topics_of_answer(corpus, found, hyperparameters, seed, threads)
    else:
        tally = tally_of_last(corpus, best) if answer == "last" else best.tally
        found = consensus_of(corpus, tally)
        topics = topics_of_state(best, hyperparameters, identities_of(corpus, tally))
        compared = side_by_side(corpus, found, chains, threads)
    quantities = {"the number of categories": traces["n_categories"], "the log joint": traces["log_joint"]}
    judged = verdict(compared, corpus.n_known, quantities, about_the_step(hyperparameters))
    return LbplConclusion(found, tally, topics, compared, judged)


def tally_of_last(corpus: Corpus, state: State) -> Tally:
    """The tally of the draw that a chain's last sweep left."""
    last: Tally = with_answers(no_tally(), corpus.labels, state.document_categories(corpus), state.identity)
    return last


def topics_of_answer(
    corpus: Corpus, consensus: Consensus, hyperparameters: Hyperparameters, seed: int, threads: Threads
) -> Topics:
    """The topics of categories that several chains found, under the same priors; none if there is no category."""
    if consensus.n_categories == 0:
        return Topics(np.empty((0, 0)), np.empty((corpus.n_words, 0)), np.empty(0))
    given = hyperparameters
    plain = Hyperparameters(n_topics=given.n_topics, zeta=given.zeta, beta=given.beta)
    return learn_topics(corpus, consensus.category, consensus.n_categories, plain, seed, threads)


def about_the_step(hyperparameters: Hyperparameters) -> Iterator[Reason]:
    """A note on draws that are of no posterior."""
    if hyperparameters.category_step == "as_printed":
        yield Reason(
            "sound", "The category step as the paper prints it has no posterior: shares of draws are no probabilities"
        )
