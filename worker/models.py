"""The models that a job may have, each behind one face: legs do not ask which one it is."""

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any, Protocol, Self, TypeVar

import numpy as np
from sqlalchemy.orm import Session

from app.core import kinds
from app.core.tables import ATOMS_OF_JOB, CalibrationStep, Job
from sampler.answers.diagnostics import MIN_DRAWS, effective_size, r_hat
from sampler.answers.pooling import pairs_of
from sampler.answers.tally import Tally
from sampler.answers.verdict import Verdict
from sampler.calibrated import chain as calibrated_chain
from sampler.calibrated import checkpoint as calibrated_checkpoint
from sampler.calibrated import continued, steps
from sampler.calibrated.chain import CalibratedState
from sampler.calibrated.conclusion import conclude_chains
from sampler.calibrated.prepared import PreparedCorpus
from sampler.calibrated.sources import Sources, mark_of
from sampler.calibrated.steps import Calibration
from sampler.carried import Carried
from sampler.corpus import Array, Corpus
from sampler.frozen.freeze import Judged, judge
from sampler.hyperparameters import DEFAULT_ANSWER, CalibratedHyperparameters, Hyperparameters, Kernel
from sampler.hyperparameters import Answer as AnswerFrom
from sampler.lbpl_ntm import chain, checkpoint
from sampler.lbpl_ntm import conclusion as lbpl_conclusion
from sampler.lbpl_ntm import continued as lbpl_continued
from sampler.lbpl_ntm.state import State
from sampler.numerics.threads import Threads
from worker import step_rows, store, topics
from worker.conclusions import Chains, JobConclusion
from worker.step_rows import Arrays
from worker.store import Names, NewDraw, Stored

Traces = Mapping[str, Array]  # float64[C, S] by quantity: the kept draws of each chain


class ChainState(Protocol):
    """Where a chain stands, as far as legs look into it."""

    n_sweeps: int
    digest: str
    tally: Tally


S = TypeVar("S", bound=ChainState)


class Model(Protocol[S]):
    """A model of one job over its corpus: what legs drive. Its threads do the work, and may be interrupted."""

    @property
    def pools_chains(self) -> bool:
        """Whether a conclusion is from all chains, or from the best one alone."""

    @property
    def compares_chains(self) -> bool:
        """Whether tallies and traces of all chains are enough for it, and the best one's state if that answers.

        So no more than one state has to be in memory.
        """

    @classmethod
    def of(cls, session: Session, job: Job, stored: Stored, threads: Threads) -> Self:
        """The model as the job's rows have it. Raises CheckpointError if what it follows from is damaged."""

    def start(self, number: int) -> S:
        """A chain before its first sweep."""

    def go_on(self, number: int, carried: Carried, data: bytes) -> S:
        """A chain before its first sweep that begins where a checkpoint of another job stands.

        Raises CheckpointError if that is damaged.
        """

    def sweep(self, state: S) -> NewDraw:
        """Advance a chain by one sweep, in place."""

    def keep(self, state: S) -> None:
        """Add the state's answers to the tally of kept draws."""

    def dump(self, state: S) -> bytes:
        """The state as bytes."""

    def load(self, data: bytes) -> S:
        """The state that was dumped. Raises CheckpointError for any other bytes."""

    def conclude(self, states: Sequence[S], chains: Chains, names: Names) -> JobConclusion:
        """The answers: of all chains, in order, if the model pools them; else of the one."""

    def finer_groups(self, states: Sequence[S]) -> list[Array]:
        """Partitions of the documents, int64[D], that are finer than any draw of these chains, if it has such."""


class LbplNtm:
    """The paper's topic model, on one of its kernels."""

    compares_chains = True

    def __init__(
        self, corpus: Corpus, hyperparameters: Hyperparameters, kernel: Kernel, seed: int, threads: Threads,
        answer: AnswerFrom = DEFAULT_ANSWER,
    ) -> None:  # fmt: skip
        self.corpus, self.hyperparameters, self.kernel, self.seed = corpus, hyperparameters, kernel, seed
        self.threads, self.answer = threads, answer

    @classmethod
    def of(cls, session: Session, job: Job, stored: Stored, threads: Threads) -> Self:
        """All is in the settings; a job from before there was a choice of kernels goes on under Algorithm 1."""
        settings, hyperparameters = job.settings, Hyperparameters(**job.settings["hyperparameters"])
        kernel, answer = settings.get("kernel", "collapsed"), settings.get("answer", DEFAULT_ANSWER)
        return cls(stored.corpus, hyperparameters, kernel, settings["seed"], threads, answer)

    @property
    def pools_chains(self) -> bool:
        """Only if it is asked to."""
        return self.answer == "pooled"

    def start(self, number: int) -> State:
        """A chain before its first sweep."""
        return chain.start(self.corpus, self.hyperparameters, self.seed, number, self.kernel, self.threads)

    def go_on(self, number: int, carried: Carried, data: bytes) -> State:
        """A chain before its first sweep that begins where a checkpoint of another job stands."""
        return lbpl_continued.continue_chain(
            self.corpus, self.hyperparameters, self.seed, number, self.kernel, carried, data, self.threads
        )

    def sweep(self, state: State) -> chain.Draw:
        """Advance a chain by one sweep, in place."""
        return chain.sweep(self.corpus, self.hyperparameters, state, self.threads)

    def keep(self, state: State) -> None:
        """Add the state's answers to the tally of kept draws."""
        chain.keep(self.corpus, state)

    def dump(self, state: State) -> bytes:
        """The state as bytes."""
        return checkpoint.dump(self.corpus, state)

    def load(self, data: bytes) -> State:
        """The state that was dumped. Raises CheckpointError."""
        return checkpoint.load(self.corpus, self.hyperparameters, data)

    def conclude(self, states: Sequence[State], chains: Chains, names: Names) -> JobConclusion:
        """The answers of the best chain, or of all, and what they are worth by all of them."""
        best = states[0] if states else None  # none if all chains are pooled
        found = lbpl_conclusion.conclude_chains(
            self.corpus, self.hyperparameters, self.answer, self.seed, best, *chains, self.threads
        )
        compared, numbers = found.compared, {name: chains.traces[name] for name in ("n_categories", "log_joint")}
        return JobConclusion(
            found.consensus,
            compared.stability,
            compared.category_stability,
            topics=found.topics,
            reasons=found.verdict.reasons,
            facts={"diagnostics": diagnostics(found.verdict, compared.agreement, numbers)},
            judged=judge(self.corpus, found.consensus, CalibratedHyperparameters(), self.seed, self.threads),
            tallies=chains.tallies if found.tally is None else [found.tally],
            has_probabilities=self.answer != "last",
        )

    def finer_groups(self, states: Sequence[State]) -> list[Array]:
        """None: each document moves by itself."""
        return []


class Calibrated:
    """The calibrated model, after its atoms and its calibration."""

    pools_chains, compares_chains = True, False

    def __init__(
        self,
        corpus: Corpus,
        hyperparameters: CalibratedHyperparameters,
        seed: int,
        done: list[Arrays],
        threads: Threads,
        vectors: Array | None = None,
        sources: Sources | None = None,
    ) -> None:
        """`done` are the results of all steps of calibrate."""
        self.corpus, self.hyperparameters, self.seed, self.done = corpus, hyperparameters, seed, done
        self.threads, self.vectors, self.sources = threads, vectors, sources

    @classmethod
    def of(cls, session: Session, job: Job, stored: Stored, threads: Threads) -> Self:
        """The model with what the steps of its job have found. Raises CheckpointError."""
        hyperparameters, seed = calibrated_hyperparameters(job), job.settings["seed"]
        done = calibration_steps(session, job)
        return cls(stored.corpus, hyperparameters, seed, done, threads, stored.vectors, stored.sources)

    @cached_property
    def calibration(self) -> Calibration:
        """What all chains share; made when it is first asked for, outside of any transaction."""
        prepared = PreparedCorpus(self.corpus, self.hyperparameters, self.seed, self.vectors, self.sources)
        return continued.read_steps(prepared, self.done, self.threads)

    def start(self, number: int) -> CalibratedState:
        """A chain before its first sweep."""
        return calibrated_chain.start(
            self.corpus, self.hyperparameters, self.calibration, self.seed, number, self.threads
        )

    def go_on(self, number: int, carried: Carried, data: bytes) -> CalibratedState:
        """A chain before its first sweep that begins where a checkpoint of another job stands."""
        return continued.continue_chain(
            self.corpus, self.hyperparameters, self.calibration, self.seed, number, carried, data, self.threads
        )

    def sweep(self, state: CalibratedState) -> calibrated_chain.CalibratedDraw:
        """Advance a chain by one sweep, in place."""
        return calibrated_chain.sweep(self.corpus, self.calibration, state, self.threads)

    def keep(self, state: CalibratedState) -> None:
        """Add the state's answers to the tally of kept draws."""
        calibrated_chain.keep(self.corpus, self.calibration, state)

    def dump(self, state: CalibratedState) -> bytes:
        """The state as bytes."""
        return calibrated_checkpoint.dump(state)

    def load(self, data: bytes) -> CalibratedState:
        """The state that was dumped. Raises CheckpointError."""
        return calibrated_checkpoint.load(self.corpus, self.calibration, data, self.threads)

    def conclude(self, states: Sequence[CalibratedState], chains: Chains, names: Names) -> JobConclusion:
        """The answers of all chains together, and the topics of their categories."""
        traces = chains.traces
        numbers = {"n_categories": traces["n_categories"]}  # log joints compare under one setting alone
        found = conclude_chains(self.corpus, self.hyperparameters, self.calibration, list(states), traces, self.threads)
        told = {**diagnostics(found.verdict, found.agreement, numbers), "temperature": found.temperature}
        facts = {"diagnostics": told, "calibration": report(self.calibration, names)}
        judged = found.fits and Judged(
            self.calibration.prepared.bags,
            found.fits,
            found.column,
            found.temperature,
            self.calibration.learned.rates,
            found.chance,
            self.calibration.columns,
        )
        learned = topics.learn(self.corpus, found.consensus, self.hyperparameters.n_topics, self.seed, self.threads)
        return JobConclusion(
            found.consensus,
            found.stability,
            found.category_stability,
            found.audit,
            found.label_probability,
            learned,
            found.verdict.reasons,
            facts,
            judged,
        )

    def finer_groups(self, states: Sequence[CalibratedState]) -> list[Array]:
        """The atoms of each chain under the setting that has most of them: every draw moves atoms as a whole."""
        finest = [
            max(state.atoms.values(), key=lambda grouped: grouped.rows.size.size) for state in states if state.atoms
        ]
        return [grouped.atom for grouped in finest]


def report(calibration: Calibration, names: Names) -> dict[str, Any]:
    """What the job reports of its calibration: labeling rates, of all and by category, and settings, best first."""
    weight = calibration.scores.weight
    order = calibration.kept[np.argsort(-weight[calibration.kept], kind="stable")]
    return {
        "labeling_rate": calibration.learned.rate,
        "labeling_rates": dict(zip(names.categories, calibration.learned.rates.tolist(), strict=True)),
        **({"vector_scales": scales_of(calibration)} if calibration.prepared.has_vectors else {}),
        "settings": [
            {
                "weighting": ("flat", "inverse_frequency")[calibration.settings[s].weighting],
                "background": calibration.settings[s].has_background,
                "vectors": calibration.settings[s].has_vectors,
                "smoothing": calibration.settings[s].smoothing,
                "power": calibration.settings[s].power,
                "given_back": float(calibration.scores.given_back[s]),
                "stability": float(calibration.scores.stability[s]),
                "weight": float(weight[s]),
            }
            for s in order
        ],
    }


def scales_of(calibration: Calibration) -> dict[str, float]:
    """How long the labels have vectors beside words, which are 1 long: for known or new, and for categories."""
    return dict(zip(("known_or_new", "categories"), calibration.learned.scales.tolist(), strict=True))


def diagnostics(judged: Verdict, agreement: Array, traces: Traces) -> dict[str, Any]:
    """What is kept of how far the chains can be trusted together; the reasons are added with the categories' names."""
    return {"verdict": judged.level, "agreement": agreement.tolist(), **figures(agreement, traces)}


def figures(agreement: Array, traces: Traces) -> dict[str, Any]:
    """Mean agreement of the pairs of chains, and by quantity R-hat and effective size, None for too few draws."""
    pairs = pairs_of(agreement)
    told = {name: draws if draws.shape[1] >= MIN_DRAWS else None for name, draws in traces.items()}
    return {
        "mean_agreement": float(pairs.mean()) if pairs.size else None,
        "r_hat": {name: None if draws is None else r_hat(draws) for name, draws in told.items()},
        "effective_size": {name: None if draws is None else effective_size(draws) for name, draws in told.items()},
    }


def hyperparameters_of(job: Job) -> CalibratedHyperparameters:
    """The constants of the regressions of any job: its own if it is calibrated, else the defaults."""
    is_calibrated = job.settings["model"] == kinds.Model.CALIBRATED
    return calibrated_hyperparameters(job) if is_calibrated else CalibratedHyperparameters()


def calibrated_hyperparameters(job: Job) -> CalibratedHyperparameters:
    """The constants of a calibrated job; JSON has lists where they have tuples."""
    given = dict(job.settings["calibrated"])
    return CalibratedHyperparameters(**given | {name: tuple(given[name]) for name in ("smoothings", "powers")})


def calibration_steps(session: Session, job: Job) -> list[Arrays]:
    """The results of all steps of the job's unit `calibrate`. Raises CheckpointError if one is missing or damaged."""
    key = {"job_id": job.id}
    done = step_rows.read(session, CalibrationStep, key)
    if continued.is_continued(done):
        return done
    n_steps = steps.n_calibration_steps(calibrated_hyperparameters(job), bool(done) and steps.used_vectors(done))
    return step_rows.read_all(session, CalibrationStep, key, n_steps)


def atom_key(job: Job, stored: Stored) -> dict[str, Any]:
    """What the rows of a corpus's atoms are found by: the words and all that the atoms depend on beside them.

    Those of a job that continues another one follow from that one's, and are its own.
    """
    options = {**calibrated_hyperparameters(job).atom_options(), "seed": job.settings["seed"]}
    if job.continues is not None:
        options[ATOMS_OF_JOB] = job.id
    if stored.sources is not None:
        options["sources"] = mark_of(stored.sources)
    digest = steps.words_digest(stored.corpus)
    return {"corpus_id": job.corpus_id, "words_digest": digest, "options": store.canonical(options)}


MODELS: dict[str, type[Model[Any]]] = {
    kinds.Model.LBPL_NTM: LbplNtm,
    kinds.Model.CALIBRATED: Calibrated,
}


def model_of(session: Session, job: Job, stored: Stored, threads: Threads) -> Model[Any]:
    """The job's model. Raises CheckpointError if what it follows from is damaged."""
    return (MODELS.get(job.settings["model"]) or peer()).of(session, job, stored, threads)


def peer() -> type[Model[Any]]:
    """The model of all the paper's peers."""
    from worker.baselines import Baseline  # takes half a second and 60 MB, which most workers have no use for

    return Baseline
