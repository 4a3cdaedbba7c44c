"""Where a chain stands, whatever kernel moves it: the face that chains, checkpoints and digests know."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar, NamedTuple, Self

from sampler.answers.tally import Tally
from sampler.corpus import Array, Corpus
from sampler.hyperparameters import Hyperparameters, Kernel
from sampler.lbpl_ntm.concentrations import Concentrations
from sampler.numerics.threads import Threads


class Draw(NamedTuple):
    """What one sweep leaves in the trace."""

    sweep: int  # the first sweep is 1
    n_categories: int  # that serve a table, known and new
    n_new: int  # of these the new ones
    n_new_with_documents: int  # new ones that hold most words of a document
    n_tables: int
    alpha: float
    gamma: float
    log_joint: float  # nats, up to a constant of the corpus


class Summary(NamedTuple):
    """What is looked at of a state after each sweep."""

    answers: Array  # int32[D], see `State.document_categories`
    digested: list[Array]  # what enters the digest after each sweep: two states with equal ones go on alike
    log_joint: float  # log p(words, assignments, alpha, gamma) in nats, up to a constant, the same for all kernels


@dataclass
class Course:
    """How far a chain has come and what it leaves behind: all of a state that no kernel has its own way with."""

    fingerprint: str  # of the corpus: hashing hundreds of megabytes for every checkpoint would be felt
    n_topics: int
    seed: int
    chain: int
    n_sweeps: int  # done so far: with seed and chain the position in the random streams
    n_born: int  # identities given out so far; the known categories have the first ones
    alpha: float
    gamma: float
    tally: Tally
    digest: str  # of all states so far

    def concentrations(self, hyperparameters: Hyperparameters) -> Concentrations:
        """The concentrations at present."""
        return Concentrations(self.alpha, self.gamma, hyperparameters.zeta, hyperparameters.beta)


@dataclass
class State(Course, ABC):
    """Where a chain stands; swept in place. Each kernel has a subclass with its own arrays.

    Categories live in slots 0 .. C - 1, the known ones in the first. A kernel may move its new ones to other slots and
    change C between sweeps; `identity` goes with them.
    """

    kernel: ClassVar[Kernel]

    @classmethod
    @abstractmethod
    def restore(
        cls, corpus: Corpus, hyperparameters: Hyperparameters, course: Course, arrays: dict[str, Array]
    ) -> Self:
        """The state whose `arrays` these are. Raises ValueError if it could not be one of this corpus."""

    @abstractmethod
    def arrays(self, corpus: Corpus) -> dict[str, Array]:
        """All that the state does not share with others and that cannot be counted again, in the smallest types."""

    @property
    @abstractmethod
    def identity(self) -> Array:
        """int64[C], number of each category in order of birth, or UNBORN; written in place."""

    @property
    @abstractmethod
    def category_tables(self) -> Array:
        """int64[C], m_k: tables that serve each category, those of labeled documents too."""

    @abstractmethod
    def summarize(self, corpus: Corpus, hyperparameters: Hyperparameters, threads: Threads | None = None) -> Summary:
        """The summary of the state. Without threads the caller's thread does all."""

    @abstractmethod
    def document_categories(self, corpus: Corpus) -> Array:
        """int32[D]: the slot that holds most words of each document, or NO_CATEGORY for one without a word.

        Ties go to the smaller index.
        """

    @abstractmethod
    def topic_counts(self) -> tuple[Array, Array]:
        """O_kl, int[C, L], and O_lw, int[V, L]."""

    def log_joint(self, corpus: Corpus, hyperparameters: Hyperparameters) -> float:
        """See `Summary`."""
        return self.summarize(corpus, hyperparameters).log_joint
