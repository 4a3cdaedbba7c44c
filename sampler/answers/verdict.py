"""How far an answer can be trusted that several chains gave, or one of them, in a word and in sentences."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple, get_args

import numpy as np

from sampler.answers.diagnostics import MIN_DRAWS, Draws, effective_size, r_hat, tail_effective_size
from sampler.answers.pooling import Pooled, SideBySide, pairs_of
from sampler.corpus import Array

Level = Literal["unreliable", "mixed", "sound"]
Compared = Pooled | SideBySide
Limits = tuple[tuple[float, Level], ...]  # a value below is of that level; the worst first

R_HAT_LIMIT = 1.1  # of Gelman and Rubin 1992
AGREEMENT_LIMITS: Limits = ((0.7, "unreliable"), (0.85, "mixed"))
ENOUGH_DRAWS = 25  # independent ones a chain: with four of them, enough for a quantile of 5 %
MOST_NAMED = 10  # categories in a sentence
MOST_UNSTABLE = 0.25  # of the new categories
STABLE = 0.6


class Reason(NamedTuple):
    """A sentence that speaks for a level, and the categories that it is about."""

    level: Level
    sentence: str
    categories: tuple[int, ...] = ()

    def told(self, names: Sequence[str]) -> str:
        """The sentence, which ends with the categories by name, MOST_NAMED at most."""
        listed = ", ".join(names[category] for category in self.categories[:MOST_NAMED])
        if len(self.categories) > MOST_NAMED:
            listed += f" and {len(self.categories) - MOST_NAMED} more"
        return f"{self.sentence}: {listed}." if listed else f"{self.sentence}."


@dataclass(frozen=True)
class Verdict:
    """How far the answer can be trusted; the reasons that decided come first."""

    level: Level
    reasons: tuple[Reason, ...]


def verdict(compared: Compared, n_known: int, traces: Mapping[str, Draws], more: Iterable[Reason] = ()) -> Verdict:
    """Whether the answer can be trusted: the worst of what answers and draws say; notes are "sound" themselves.

    `traces` has the kept draws of each chain of some quantities, by the names that sentences use ("the log joint");
    `more` are findings of the model's own.
    """
    findings = [
        *more,
        *about_answers(pairs_of(compared.agreement)),
        *about_categories(compared.category_stability, n_known),
    ]
    for name, draws in traces.items():
        findings += about_draws(name, draws)
    level: Level = min((finding.level for finding in findings), key=get_args(Level).index, default="sound")
    if level == "sound":
        findings.insert(0, Reason("sound", "Chains, labels and draws speak for the answer"))
    findings.sort(key=lambda finding: get_args(Level).index(finding.level))
    return Verdict(level, tuple(findings))


def worst_limit(value: float, limits: Limits) -> Limits:
    """The first limit that a value is below, alone; of none if it is NaN."""
    below = tuple(limit for limit in limits if value < limit[0])
    return below[:1]


def about_answers(pairs: Array) -> Iterator[Reason]:
    """Do the chains give the same answers? `pairs` has the agreement of each two chains."""
    if not pairs.size:
        yield Reason("mixed", "One chain cannot show whether another would give the same answers")
        return
    for limit, level in worst_limit(pairs.mean(), AGREEMENT_LIMITS):
        yield Reason(level, f"The chains' answers agree by {pairs.mean():.2f} (adjusted Rand index), less than {limit}")


def about_categories(category_stability: Array, n_known: int) -> Iterator[Reason]:
    """Which categories would another chain divide differently? Their stability is float64[K]."""
    unstable = np.flatnonzero(category_stability < STABLE)
    if unstable.size:
        n_new = np.count_nonzero(unstable >= n_known)
        level: Level = "mixed" if n_new > MOST_UNSTABLE * (category_stability.size - n_known) else "sound"
        sentence = f"Categories whose documents differ between chains (stability below {STABLE})"
        yield Reason(level, sentence, tuple(unstable.tolist()))


def about_draws(name: str, draws: Draws) -> Iterator[Reason]:
    """Have the chains come to one distribution of a quantity, and do they show it well enough?

    In a large corpus each chain stays near one of many modes, and R-hat may be large however alike the answers are: it
    makes no answer unreliable.
    """
    shortest = min(np.size(chain) for chain in draws)
    if shortest < MIN_DRAWS:
        yield Reason("unreliable", f"{shortest} kept draws of {name} are too few to judge by")
        return
    value = r_hat(draws)
    if value > R_HAT_LIMIT:
        yield Reason("mixed", f"R-hat of {name} is {value:.3f}, above {R_HAT_LIMIT}: its draws have not settled")
    size = min(effective_size(draws), tail_effective_size(draws))
    if size < ENOUGH_DRAWS * len(draws):
        told = f"The draws of {name} are worth {size:.0f} independent ones, fewer than {ENOUGH_DRAWS} a chain"
        yield Reason("mixed", told)
