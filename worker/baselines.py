"""The paper's peers as models of jobs: any of baselines/, for one number of categories or several."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, NoReturn, Self

import numpy as np
from sqlalchemy.orm import Session
from threadpoolctl import ThreadpoolController

from app.core import kinds
from app.core.tables import Job
from baselines import method
from baselines.choice import silhouette
from baselines.cluto import Cluto
from baselines.cluto_report import NO_WORD, Report, report
from baselines.cosc import Cosc
from baselines.dlda import Dlda
from baselines.dpgm import Dpgm
from baselines.method import Given, Method, MethodState
from baselines.rows import unit_rows
from baselines.settings import ClutoSettings, CoscSettings, DldaSettings, DpgmSettings, SlSettings, SskmSettings
from baselines.sl import Sl
from baselines.sskm import Sskm
from sampler.answers.consensus import Consensus, consensus_of
from sampler.answers.tally import with_answers
from sampler.carried import Carried
from sampler.corpus import NO_CATEGORY, UNLABELED, Array, Corpus
from sampler.frozen.freeze import judge
from sampler.hyperparameters import CalibratedHyperparameters
from sampler.numerics.threads import Threads
from worker.conclusions import Chains, JobConclusion
from worker.linear_algebra import one_thread
from worker.store import Names, Stored

METHODS: dict[str, tuple[Callable[[Given, Any], Method], type[Any]]] = {
    kinds.Model.DLDA: (Dlda, DldaSettings),
    kinds.Model.SL: (Sl, SlSettings),
    kinds.Model.COSC: (Cosc, CoscSettings),
    kinds.Model.SSKM: (Sskm, SskmSettings),
    kinds.Model.CLUTO: (Cluto, ClutoSettings),
    kinds.Model.DPGM: (Dpgm, DpgmSettings),
}


LIBRARIES = ThreadpoolController()  # of linear algebra, as they are loaded above; to find them takes milliseconds


class MethodDraw(NamedTuple):
    """What one sweep of a method leaves in the trace."""

    sweep: int
    n_categories: int
    n_new: int
    n_new_with_documents: int
    log_joint: float  # the method's objective, the higher the better


class Baseline:
    """A method of baselines/ over its corpus. Chain c is run c % `runs` for number c // `runs` of those asked for."""

    compares_chains = False

    def __init__(
        self, name: str, corpus: Corpus, settings: Mapping[str, Any], numbers: Sequence[int], runs: int, seed: int,
        threads: Threads,
    ) -> None:  # fmt: skip
        self.name, self.corpus, self.settings, self.seed, self.threads = name, corpus, settings, seed, threads
        self.numbers, self.runs = numbers or [0], runs
        self.methods: dict[int, Method] = {}  # by number of categories: what they have prepared serves all runs

    @classmethod
    def of(cls, session: Session, job: Job, stored: Stored, threads: Threads) -> Self:
        """All is in the settings."""
        name, settings = job.settings["model"], job.settings
        return cls(
            name,
            stored.corpus,
            settings[name],
            kinds.numbers_of(settings),
            settings["chains"],
            settings["seed"],
            threads,
        )

    @property
    def pools_chains(self) -> bool:
        """With one number the best run answers; of several, the best one of each is looked at."""
        return len(self.numbers) > 1

    def method_of(self, chain: int) -> Method:
        """The method with the number of categories that a chain has."""
        number = self.numbers[chain // self.runs]
        if number not in self.methods:
            make, settings = METHODS[self.name]
            self.methods[number] = make(Given(self.corpus, number, self.seed, self.threads), settings(**self.settings))
        return self.methods[number]

    def start(self, number: int) -> MethodState:
        """A chain before its first sweep."""
        with one_thread(LIBRARIES):
            return self.method_of(number).start(number)

    def go_on(self, number: int, carried: Carried, data: bytes) -> NoReturn:
        """No job of such a model continues another one, see `kinds.ModelFacts.can_continue`."""
        raise ValueError(f"a job of the model {self.name} continues no other one")

    def sweep(self, state: MethodState) -> MethodDraw:
        """Advance a chain by one sweep, in place."""
        with one_thread(LIBRARIES):
            method.advance(self.method_of(state.chain), state)
        found = np.unique(state.category[self.corpus.labels == UNLABELED])
        n_new = int(np.count_nonzero(found >= self.corpus.n_known))
        return MethodDraw(state.n_sweeps, self.corpus.n_known + n_new, n_new, n_new, state.objective)

    def keep(self, state: MethodState) -> None:
        """Add the state's answers to the tally of kept draws."""
        identity = np.arange(int(state.category.max(initial=NO_CATEGORY)) + 1)
        state.tally = with_answers(state.tally, self.corpus.labels, state.category, identity)

    def dump(self, state: MethodState) -> bytes:
        """The state as bytes."""
        return method.dump(state)

    def load(self, data: bytes) -> MethodState:
        """The state that was dumped. Raises CheckpointError."""
        return method.load(self.corpus, data)

    def conclude(self, states: Sequence[MethodState], chains: Chains, names: Names) -> JobConclusion:
        """The answers of the best run; of several numbers, with the one whose categories are told apart best."""
        if not self.pools_chains:
            [state] = states
            return self.answer_of(state, names)
        runs = [states[first : first + self.runs] for first in range(0, len(states), self.runs)]
        best = [max(of_number, key=lambda state: state.objective) for of_number in runs]
        told = [self.told(number, state) for number, state in zip(self.numbers, best, strict=True)]
        chosen = max(range(len(best)), key=lambda place: (silhouette_or_least(told[place]), -place))
        return self.answer_of(best[chosen], names)._replace(
            facts={"numbers": [{**each, "chosen": place == chosen} for place, each in enumerate(told)]},
            by_number=[(number, state.category) for number, state in zip(self.numbers, best, strict=True)],
        )

    def answer_of(self, state: MethodState, names: Names) -> JobConclusion:
        """The answers of one run."""
        found = consensus_of(self.corpus, state.tally)
        return JobConclusion(
            found,
            judged=judge(self.corpus, found, CalibratedHyperparameters(), self.seed, self.threads),
            tallies=[state.tally],
            has_probabilities=state.tally.n_draws > 1,
            best_chain=state.chain,
            similarities=self.similarities(found, names) if self.name == kinds.Model.CLUTO else {},
        )

    def similarities(self, found: Consensus, names: Names) -> dict[int, dict[str, Any]]:
        """CLUTO's report of each category that has a document, as JSON."""
        free = np.flatnonzero(self.corpus.labels == UNLABELED)
        told = report(unit_rows(self.corpus, free), found.category[free])
        return {int(category): similarity_row(told, place, names) for place, category in enumerate(told.category)}

    def told(self, number: int, state: MethodState) -> dict[str, Any]:
        """What is told of the answer with one number of categories."""
        is_free = self.corpus.labels == UNLABELED
        found = np.unique(state.category[is_free & (state.category != NO_CATEGORY)])
        return {
            "n_categories": number,
            "with_documents": int(found.size),
            "objective": float(state.objective),
            "silhouette": silhouette(self.corpus, state.category, self.seed),
        }

    def finer_groups(self, states: Sequence[MethodState]) -> list[Array]:
        """None: nothing is known below its categories."""
        return []


def similarity_row(told: Report, place: int, names: Names) -> dict[str, Any]:
    """What CLUTO reports of one category, as JSON."""
    words = {
        kind: [
            {"word": names.vocabulary[word], "share": float(share)}
            for word, share in zip(getattr(told, kind)[place], getattr(told, f"{kind}_share")[place], strict=True)
            if word != NO_WORD
        ]
        for kind in ("descriptive", "discriminating")
    }
    numbers = ("internal", "internal_deviation", "external", "external_deviation")
    return {**{name: float(getattr(told, name)[place]) for name in numbers}, **words}


def silhouette_or_least(told: Mapping[str, Any]) -> float:
    """The silhouette, or less than any where it is not defined."""
    return -2.0 if told["silhouette"] is None else float(told["silhouette"])
