"""A model that knows which category each document was written for, and is unsure of it: for jobs without sweeps.

It stands in the place of the calibrated model while the worker concludes a job; all that follows from its answers, as
portraits and the tree, is found as ever.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Self

import numpy as np
from sqlalchemy.orm import Session

from app.core.tables import Job
from sampler.answers.consensus import consensus_of
from sampler.answers.tally import Tally
from sampler.answers.verdict import Reason, Verdict
from sampler.archive import CheckpointError
from sampler.calibrated.conclusion import Audit
from sampler.corpus import UNLABELED, Array, Corpus
from sampler.frozen.freeze import judge
from sampler.lbpl_ntm.topics_of_categories import Topics
from sampler.numerics.threads import Threads
from worker import models
from worker.conclusions import Chains, JobConclusion
from worker.store import Names, Stored

KNOWN_SHARE, LABELED_SHARE = 1 / 3, 0.4  # of the categories; of the documents of the known ones
N_CHAINS, N_SWEEPS, BURN_IN = 4, 500, 100
N_TOPICS, N_SETTINGS = 60, 12
NEAR = (1, 7, 31)  # how far off the categories are that a document may be of instead, and how likely each is
NEAR_SHARE = (0.6, 0.3, 0.1)


class Written(NamedTuple):
    """What the documents of a corpus were written for, by their numbers: their keys have the order of these."""

    category: Array  # int64[D]; the first ones are known
    n_known: int
    n_categories: int


@dataclass
class State:
    """A chain that has done all its sweeps."""

    n_sweeps: int
    digest: str
    tally: Tally
    atom: Array  # int64[T], groups of texts that no draw parts


def simulated(written: Written) -> Any:
    """A class in the place of the model of a job over documents that were written so.

    Their keys put them in the order of their numbers.
    """

    class Simulated:
        """As much of a model as a conclusion asks for."""

        pools_chains, compares_chains = True, False

        def __init__(self, stored: Stored, job: Job, threads: Threads) -> None:
            self.corpus, self.job, self.threads = stored.corpus, job, threads
            self.truth: Array = written.category[stored.texts.first]

        @classmethod
        def of(cls, session: Session, job: Job, stored: Stored, threads: Threads) -> Self:
            return cls(stored, job, threads)

        def start(self, number: int) -> State:
            generator = np.random.default_rng((5, number))
            atom = self.truth * 3 + generator.integers(0, 3, self.truth.size)
            tally = tally_of(self.corpus, self.truth, written.n_categories, generator)
            return State(N_SWEEPS, "0" * 64, tally, np.unique(atom, return_inverse=True)[1].astype(np.int64))

        def load(self, data: bytes) -> State:
            raise CheckpointError("a simulated chain has none")

        def conclude(self, states: Sequence[State], chains: Chains, names: Names) -> JobConclusion:
            found = conclusion_of(self.corpus, states, chains, names)
            hyperparameters = models.hyperparameters_of(self.job)
            judged = judge(self.corpus, found.consensus, hyperparameters, 0, self.threads)
            return found._replace(judged=judged)

        def finer_groups(self, states: Sequence[State]) -> list[Array]:
            return [state.atom for state in states]

    return Simulated


def tally_of(corpus: Corpus, truth: Array, n_categories: int, generator: np.random.Generator) -> Tally:
    """The kept draws of a chain: mostly the category that a text was written for, now and then one nearby."""
    asked = np.flatnonzero((corpus.labels == UNLABELED) & (corpus.lengths > 0))
    n_draws = N_SWEEPS - BURN_IN
    missed = n_draws - np.round(generator.beta(5, 1, asked.size) * n_draws).astype(np.int64)
    shares = [np.floor(missed * share).astype(np.int64) for share in NEAR_SHARE[1:]]
    hits = np.stack([n_draws - missed, missed - sum(shares), *shares])
    identity = np.stack([truth[asked], *((truth[asked] + off) % n_categories for off in NEAR)])
    document = np.broadcast_to(asked, identity.shape)
    there = hits > 0
    order = np.lexsort((identity[there], document[there]))
    return Tally(
        n_draws, document[there][order].astype(np.int32), identity[there][order], hits[there][order].astype(np.int32)
    )


def conclusion_of(corpus: Corpus, states: Sequence[State], chains: Chains, names: Names) -> JobConclusion:
    """What the simulated chains say together, with all that a calibrated job answers but a frozen model."""
    generator = np.random.default_rng(4)
    consensus, n_texts = consensus_of(corpus, states[0].tally), corpus.n_documents
    n, labeled = consensus.n_categories, np.flatnonzero(corpus.labels != UNLABELED)
    label_probability = np.full(n_texts, np.nan)
    label_probability[labeled] = generator.beta(8, 1, labeled.size)
    doubtful = labeled[np.argsort(label_probability[labeled], kind="stable")][: labeled.size // 50]
    suggested = (corpus.labels[doubtful].astype(np.int64) + 1) % n
    topic_word = generator.dirichlet(np.full(corpus.n_words, 0.01), N_TOPICS).T + 1e-9  # no word is impossible
    topics = Topics(
        generator.dirichlet(np.full(N_TOPICS, 0.05), n),
        topic_word / topic_word.sum(axis=0),
        generator.dirichlet(np.full(N_TOPICS, 5.0)),
    )
    agreement = np.full((N_CHAINS, N_CHAINS), 0.8)
    reasons = (
        Reason("mixed", "these new categories are not in every chain", tuple(range(corpus.n_known, n, 9))),
        Reason("sound", "the chains agree on 80 % of the pairs of documents"),
    )
    told = models.diagnostics(Verdict("mixed", reasons), agreement, {"n_categories": chains.traces["n_categories"]})
    return JobConclusion(
        consensus,
        stability=generator.beta(6, 1, n_texts),
        category_stability=generator.beta(6, 1, n),
        audit=Audit(doubtful, label_probability[doubtful], suggested, generator.beta(6, 2, doubtful.size)),
        label_probability=label_probability,
        topics=topics,
        reasons=reasons,
        facts={"diagnostics": {**told, "temperature": 1.1}, "calibration": calibration(names)},
    )


def calibration(names: Names) -> dict[str, Any]:
    """What a job reports of its calibration."""
    setting = {"weighting": "flat", "background": False, "vectors": False, "smoothing": 0.1, "power": 1.0}
    worth = {"given_back": 0.9, "stability": 0.9, "weight": 1 / N_SETTINGS}
    return {
        "labeling_rate": LABELED_SHARE,
        "labeling_rates": dict.fromkeys(names.categories, LABELED_SHARE),
        "settings": [{**setting, **worth}] * N_SETTINGS,
    }
