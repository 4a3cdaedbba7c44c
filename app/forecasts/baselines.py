"""What a job of one of the paper's peers takes; see `app.forecasts.forecast` for what a forecast is.

The constants are fitted to the processor time of fits on 20 Newsgroups and TDT2, see docs/baselines/.
"""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from app.core.kinds import Model, UnitKind, n_chains, numbers_of
from app.forecasts.sizes import OVERHEAD, Forecast, Sizes, Work, corpus_bytes, encode
from baselines.settings import cosc_bytes

NONZERO_SHARE = 0.6  # distinct words of documents, as a share of their tokens
N_PRODUCTS = 18  # of the rows with the directions, for principal components
COSC_SWEEPS = 60  # that the recursion usually takes
SL_SWEEPS = 40
LARGEST_OF_DPGM = 50  # groups


class Cost(NamedTuple):
    """What a method takes: seconds before the first sweep and of each, how many sweeps it has, and memory in bytes."""

    start: float
    sweep: float
    n_sweeps: int
    n_bytes: int


def baseline(sizes: Sizes, settings: Mapping[str, Any]) -> Forecast:
    """A job of a method: its runs for each number of categories, and the answers of the best one."""
    numbers = numbers_of(settings) or [LARGEST_OF_DPGM]
    cost = COSTS[settings["model"]](sizes, settings[settings["model"]], max(numbers))
    n_sweeps = min(cost.n_sweeps, settings["sweeps"])
    conclude = OVERHEAD + 1e-6 * sizes.n_documents * len(numbers) + 2e-7 * sizes.n_tokens
    works: dict[str, Work] = {
        UnitKind.ENCODE: encode(sizes),
        UnitKind.CHAIN: Work(OVERHEAD + cost.start, cost.sweep * n_sweeps / settings["sweeps"], settings["sweeps"]),
        UnitKind.CONCLUDE: Work(conclude),
    }
    return Forecast(works, n_chains(settings), corpus_bytes(sizes) + cost.n_bytes)


def nonzeros(sizes: Sizes) -> float:
    """Entries of the documents' rows."""
    return NONZERO_SHARE * sizes.n_tokens


def components(sizes: Sizes, n: int) -> float:
    """Seconds of the principal components."""
    return 6e-10 * N_PRODUCTS * nonzeros(sizes) * n


def dlda(sizes: Sizes, constants: Mapping[str, Any], number: int) -> Cost:
    """Token by token, with all categories and all topics weighed."""
    sweep = sizes.n_tokens * (5e-8 + 1.2e-9 * constants["n_topics"] + 1.2e-9 * number)
    return Cost(0.0, sweep, 10**9, 16 * sizes.n_tokens + 8 * constants["n_topics"] * (sizes.n_words + number))


def sl(sizes: Sizes, constants: Mapping[str, Any], number: int) -> Cost:
    """Principal components, then convex problems one after another."""
    n = min(constants["n_components"], sizes.n_words, sizes.n_documents)
    sweep = 1e-9 * sizes.n_documents * n * number
    return Cost(components(sizes, n), sweep, SL_SWEEPS * constants["n_restarts"] // 10 + 1, 24 * sizes.n_documents * n)


def cosc(sizes: Sizes, constants: Mapping[str, Any], number: int) -> Cost:
    """Flows along the edges between every two documents, split by split."""
    n_edges = sizes.n_documents**2 / 2
    effort = constants["n_starts"] * constants["n_repeats"] * constants["most_iterations"] / 200
    return Cost(2e-8 * n_edges, 4e-8 * n_edges * effort, COSC_SWEEPS, cosc_bytes(sizes.n_documents))


def sskm(sizes: Sizes, constants: Mapping[str, Any], number: int) -> Cost:
    """Products of the rows with the sums of the groups."""
    sweep = 1.5e-9 * nonzeros(sizes) * number
    return Cost(sweep * number, sweep, constants["n_rounds"], 16 * number * (sizes.n_words + sizes.n_documents))


def cluto(sizes: Sizes, constants: Mapping[str, Any], number: int) -> Cost:
    """Products of the rows with the sums of the groups."""
    sweep = 1e-9 * nonzeros(sizes) * number
    return Cost(sweep, sweep, constants["n_refinements"], 16 * number * (sizes.n_words + 4096))


def dpgm(sizes: Sizes, constants: Mapping[str, Any], number: int) -> Cost:
    """Principal components, then the density of each document in each group."""
    n = min(constants["n_components"], sizes.n_words, sizes.n_documents)
    sweep = 6e-10 * sizes.n_documents * n * constants["n_groups"]
    n_sweeps = 10**9 if constants["inference"] == "gibbs" else constants["n_rounds"]
    n_bytes = 8 * (4 * sizes.n_documents * n + 4 * n * max(constants["n_groups"], constants["most_groups"]))
    return Cost(components(sizes, n), sweep, n_sweeps, n_bytes)


COSTS: Mapping[str, Callable[[Sizes, Mapping[str, Any], int], Cost]] = {
    Model.DLDA: dlda,
    Model.SL: sl,
    Model.COSC: cosc,
    Model.SSKM: sskm,
    Model.CLUTO: cluto,
    Model.DPGM: dpgm,
}
