"""What a model's chains say together, before rows are written of it."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from sampler.answers.consensus import Consensus
from sampler.answers.tally import Tally
from sampler.answers.verdict import Reason
from sampler.calibrated.conclusion import Audit
from sampler.corpus import Array
from sampler.frozen.freeze import Judged
from sampler.lbpl_ntm.topics_of_categories import Topics


class Chains(NamedTuple):
    """What a conclusion is given of all chains of a job, or of those that it is made of, in their order."""

    tallies: Sequence[Tally]
    traces: Mapping[str, Array]  # float64[C, S] by quantity: the kept draws of each chain; empty if one alone counts


class JobConclusion(NamedTuple):
    """What rows are written of, whatever the model; what a model does not answer is None or empty.

    `CalibratedConclusion` is what one model's chains say, and knows neither JSON nor topics.
    """

    consensus: Consensus
    stability: Array | None = None  # float64[D]
    category_stability: Array | None = None  # float64[K]
    audit: Audit | None = None
    label_probability: Array | None = None  # float64[D]
    topics: Topics | None = None
    reasons: Sequence[Reason] = ()  # of the verdict among the facts' diagnostics
    facts: Mapping[str, Any] = {}  # JSON values that are kept with the summary
    judged: Judged | None = None  # what a frozen model is made of; None without a category
    tallies: Sequence[Tally] = ()  # of the draws that answer, if they are not those that the states have kept
    has_probabilities: bool = True  # or its answers have none
    best_chain: int | None = None  # the one whose draws alone say how many categories there are
    similarities: Mapping[int, Mapping[str, Any]] = {}  # of some categories: CLUTO's report, as JSON
    by_number: Sequence[tuple[int, Array]] = ()  # of each number that was asked for the answers int32[D]
