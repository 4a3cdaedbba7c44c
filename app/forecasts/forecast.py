"""What a job takes: seconds of each kind of unit and the memory of a worker, from the sizes of its corpus.

Each function has the terms of the algorithm that it stands for, with constants that were fitted to the processor time
of jobs on the reference machine, one thread of a 2 GHz server; tests/app/forecasts/ keeps what was measured.
A forecast may be wrong by a factor of two: what a job has shown of itself corrects it, see app.forecasts.completion.
"""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from app.core.kinds import Model, UnitKind, vectors_made_by
from app.forecasts.baselines import COSTS, baseline
from app.forecasts.sizes import OVERHEAD, REFERENCE, Forecast, Sizes, Work, corpus_bytes, encode
from sampler.hyperparameters import CalibratedHyperparameters, Hyperparameters

LANES = 32  # columns of categories or atoms are padded to a multiple
KEPT_VARIANTS = 5  # weightings and smoothings that a chain has atoms for
TOPIC_SWEEPS = 100  # of the topics of an answer
POWER_SWEEPS = 20  # of the chain of a power test
START_TOKENS = 300_000  # a chain of lbpl-ntm starts from a sample
FAR = 1e6  # entries of a table that no cache holds
VECTOR_PIECE = 65_536  # texts whose vectors are projected in one step
N_AXES = 64  # numbers of a projected vector: as many more columns of regressions
VECTOR_BYTES = 4 * N_AXES  # of a text's projected vector
EMBEDDED_AT_ONCE = 256  # documents whose vectors are made and saved at once
EMBEDDED_TOKENS = 128  # of a text, that an embedding model looks at, about
ENOUGH_JUDGED = 2_000  # documents by which the model finds out how much vectors count

# The shares of start and parts that are left in a job that goes on from another, see docs/review.md.
CONTINUED: Mapping[str, tuple[float, float]] = {
    UnitKind.ATOMS: (1.0, 0.1),
    UnitKind.CALIBRATE: (1.0, 0.12),
    UnitKind.CHAIN: (0.3, 1.0),
}


def forecast(sizes: Sizes, settings: Mapping[str, Any], *, goes_on: bool = False) -> Forecast:
    """What a job with these settings takes over a corpus of these sizes.

    One that goes on from another finds less anew; if its corpus has grown much, it takes as long as any.
    """
    found = OF_MODEL[settings["model"]](sizes, settings)
    if not goes_on:
        return found
    return found._replace(works={kind: shortened(kind, work) for kind, work in found.works.items()})


def shortened(kind: str, work: Work) -> Work:
    """What a unit of a job takes that goes on from another, with a fifth of its documents new."""
    start, part = CONTINUED.get(kind, (1.0, 1.0))
    return work._replace(start=work.start * start, part=work.part * part)


def encode_share(settings: Mapping[str, Any]) -> float:
    """The share that `encode` has of a job, by a corpus of REFERENCE sizes: its own are known when that is done."""
    found = forecast(REFERENCE, settings)
    return found.seconds(UnitKind.ENCODE) / found.job_seconds


def padded(n: int) -> int:
    """The number rounded up to whole lanes."""
    return -(-n // LANES) * LANES


# The paper's model.


def lbpl_ntm(sizes: Sizes, settings: Mapping[str, Any]) -> Forecast:
    """A job of LBPL-NTM: chains, and the answers of the best one."""
    model = Hyperparameters(**settings["hyperparameters"])
    is_collapsed = settings.get("kernel", "collapsed") == "collapsed"
    sweep = (collapsed_sweep if is_collapsed else blocked_sweep)(sizes, model)
    conclude = OVERHEAD + 2e-6 * sizes.n_documents + 1e-7 * sizes.n_tokens
    works: dict[str, Work] = {
        UnitKind.ENCODE: encode(sizes),
        UnitKind.CHAIN: Work(OVERHEAD + topic_start(sizes, model), sweep, settings["sweeps"]),
        UnitKind.CONCLUDE: Work(conclude),
    }
    per_topic = 4 * (2 if is_collapsed else 4) * sizes.n_words * model.n_topics
    return Forecast(works, settings["chains"], corpus_bytes(sizes) + per_topic)


def topic_start(sizes: Sizes, model: Hyperparameters) -> float:
    """Topics of a sample, then categories of all documents."""
    tokens = min(sizes.n_tokens, START_TOKENS)
    return 0.4 + 6.5e-8 * tokens * model.n_topics + 1e-6 * sizes.n_documents * sizes.n_known


def blocked_sweep(sizes: Sizes, model: Hyperparameters) -> float:
    """Documents to categories, topics in bulk."""
    of_documents = sizes.n_documents * (1.8e-7 + 3e-9 * padded(sizes.n_categories))
    return 1.4e-3 + 1.05e-8 * sizes.n_tokens + 2.3e-9 * sizes.n_words * model.n_topics + of_documents


def collapsed_sweep(sizes: Sizes, model: Hyperparameters) -> float:
    """Token by token, with all topics and all categories weighed."""
    tables = 2e-10 * sizes.n_words * model.n_topics
    return 1e-3 + tables + sizes.n_tokens * (5e-8 + 1.2e-9 * model.n_topics + 4e-9 * sizes.n_categories)


# The calibrated model.


class Part(NamedTuple):
    """The documents that atoms are sought in, and what of the constants makes their work."""

    tokens: float
    documents: float
    words: int
    constants: CalibratedHyperparameters

    def pairs(self, n_atoms: int) -> float:
        """Words of atoms that are compared with another atom: what joins what depends on all of these."""
        return min(n_atoms * self.words, self.tokens) * n_atoms

    @property
    def n_visits(self) -> int:
        """How often each document is visited at one smoothing."""
        return self.constants.n_atom_sweeps

    def far(self, n_atoms: int) -> float:
        """How seldom a cache has the row of a word in a table of all words and atoms, from 0 to 1."""
        table = self.words * padded(n_atoms)
        return table / (table + FAR)


def calibrated(sizes: Sizes, settings: Mapping[str, Any]) -> Forecast:
    """A job of the calibrated model, also its power test."""
    given: dict[str, Any] = {
        name: tuple(value) if isinstance(value, list) else value for name, value in settings["calibrated"].items()
    }
    constants = CalibratedHyperparameters(**given)
    n_sampled = min(sizes.n_documents, constants.sample_size)
    has_vectors = vectors_made_by(settings) is not None
    part = Part(sizes.n_tokens * n_sampled / max(sizes.n_documents, 1), n_sampled, sizes.n_words, constants)
    told_by = part if not has_vectors else part._replace(tokens=part.tokens + N_AXES * part.documents)
    n_chain_atoms = max(constants.n_atoms, min(3 * sizes.n_known, 1_000))
    n_chain_atoms = max(min(n_chain_atoms, n_sampled // 3), 1)
    n_groupings = (8 if has_vectors else 6) * constants.n_starts
    by_vectors = directions(part, n_chain_atoms) if has_vectors else 0.0
    known = known_or_new(sizes, told_by) * (scales_tried(part) if has_vectors else 1.0)
    grouped = n_groupings * grouped_side(part, n_chain_atoms) + 2 * constants.n_starts * by_vectors
    start = chain_start(sizes, part, n_chain_atoms) + by_vectors
    sweep = chain_sweep(sizes, part, n_chain_atoms)
    refined = answers(sizes, told_by)
    test = known + grouped + start + POWER_SWEEPS * sweep + refined
    works: dict[str, Work] = {
        UnitKind.ENCODE: encode(sizes),
        UnitKind.ATOMS: Work(OVERHEAD, atom_run(sizes, part), 2),
        UnitKind.CALIBRATE: Work(OVERHEAD, (known + grouped) / (1 + n_groupings), 1 + n_groupings),
        UnitKind.CHAIN: Work(OVERHEAD + start, sweep, settings["sweeps"]),
        UnitKind.CONCLUDE: Work(
            OVERHEAD + refined + topics(sizes, constants.n_topics) + 1e-6 * settings["chains"] * sizes.n_documents
        ),
        UnitKind.POWER: Work(OVERHEAD, test, sizes.n_known),
    }
    peak_bytes = corpus_bytes(sizes) + calibrated_bytes(sizes, constants, n_chain_atoms)
    if has_vectors:
        works[UnitKind.VECTORS] = vectors(sizes, settings["vectors"] == "made")
        peak_bytes += VECTOR_BYTES * sizes.n_documents
    return Forecast(works, settings["chains"], peak_bytes)


def vectors(sizes: Sizes, are_made: bool) -> Work:
    """Vectors of about 384 numbers, read for their axes in the first step, then again to be projected.

    Those that the service makes are made before; the embedding model looks at so many tokens of a text at most, among
    them those of words that the vocabulary leaves out.
    """
    n_parts, seconds = 1 + -(-sizes.n_documents // VECTOR_PIECE), 6e-5 * sizes.n_documents
    if are_made:
        n_parts += -(-sizes.n_documents // EMBEDDED_AT_ONCE)
        seconds += 1.1e-4 * min(1.8 * sizes.n_tokens, EMBEDDED_TOKENS * sizes.n_documents) + 1e-4 * sizes.n_documents
    return Work(OVERHEAD, seconds / n_parts, n_parts)


def scales_tried(part: Part) -> float:
    """How often, in all, the regression of known or new is fitted to find out how much vectors count."""
    n_folds = part.constants.n_folds
    n_tried = min(-(-ENOUGH_JUDGED * n_folds // max(int(part.documents), 1)), n_folds)
    return 1.0 + 3.0 * n_tried / n_folds


def directions(part: Part, n_atoms: int) -> float:
    """What vectors add to the atoms of one side, under all settings that have them; on average it has half of all."""
    return len(part.constants.smoothings) * part.n_visits * 6e-9 * n_atoms * part.documents / 2


def atom_run(sizes: Sizes, part: Part) -> float:
    """The atoms of all documents under one weighting, at each smoothing."""
    constants = part.constants
    n_atoms = max(min(max(constants.n_atoms, int(part.documents**0.5)), int(part.documents) // 3), 1)
    visit = 4.6e-8 * part.far(n_atoms) * part.tokens + (1.7e-7 + 5.8e-9 * n_atoms) * part.documents
    rest = 2e-10 * padded(n_atoms) * max(sizes.n_tokens - part.tokens, 0.0)
    at_one = part.n_visits * visit + rest + 1e-9 * part.words * padded(n_atoms)
    return len(constants.smoothings) * at_one + 1e-8 * sizes.n_tokens


def known_or_new(sizes: Sizes, part: Part) -> float:
    """The regressions that tell known from new."""
    return 5.6e-9 * part.constants.n_folds * padded(sizes.n_known + 1) * part.tokens + 2.8e-5 * sizes.n_documents


def grouped_side(part: Part, n_atoms: int) -> float:
    """The atoms and groups of one side under all settings of one variant; on average it has half of the documents."""
    visit = 2.4e-8 * part.far(n_atoms) * part.tokens + (9.7e-7 + 1.2e-9 * n_atoms) * part.documents
    groups = 2.9e-10 * len(part.constants.powers) * part.pairs(n_atoms)
    return len(part.constants.smoothings) * (part.n_visits * visit + groups) / 2


def chain_start(sizes: Sizes, part: Part, n_atoms: int) -> float:
    """Atoms and groups of the new side for the settings that are kept, and atoms for all other documents."""
    visit = (2.7e-7 + 2.9e-9 * n_atoms) * part.documents
    groups = 3.8e-11 * len(part.constants.powers) * part.pairs(n_atoms)
    n_kept = min(3 * len(part.constants.smoothings), KEPT_VARIANTS)
    return n_kept * (part.n_visits * visit + groups + (1.5e-8 + 2e-10 * padded(n_atoms)) * sizes.n_tokens)


def chain_sweep(sizes: Sizes, part: Part, n_atoms: int) -> float:
    """The groups of the atoms, then every document's category."""
    entries = min(n_atoms * part.words, part.tokens)
    return 3e-4 + 1.6e-7 * sizes.n_documents + 5.4e-9 * n_atoms**2 + 3.3e-9 * entries


def answers(sizes: Sizes, part: Part) -> float:
    """The regressions that refine the categories, and who agrees with whom."""
    n_fits = max(part.constants.n_refinements, 1) * part.constants.n_folds
    return padded(sizes.n_categories) * (4.3e-9 * n_fits * part.tokens + 2e-6 * sizes.n_documents)


def topics(sizes: Sizes, n_topics: int) -> float:
    """The topics of the answer: a start, then sweeps with all documents held."""
    sweep = 5.2e-9 * sizes.n_tokens + 6.3e-9 * sizes.n_words * n_topics + 4.6e-7 * sizes.n_documents
    return 4.3e-3 * n_topics + TOPIC_SWEEPS * sweep


# Memory.


def calibrated_bytes(sizes: Sizes, constants: CalibratedHyperparameters, n_atoms: int) -> int:
    """What the calibrated model needs besides: the largest of its tables over words, those of atoms, fits or topics."""
    atoms = 16 * padded(max(n_atoms, constants.n_atoms))
    fits = 80 * padded(sizes.n_categories)  # the weights, and what a fit remembers of its way
    n_topics = 24 * constants.n_topics
    of_documents = 12 * sizes.n_documents * padded(sizes.n_categories)
    return sizes.n_words * max(atoms, fits, n_topics) + of_documents


OF_MODEL: Mapping[str, Callable[[Sizes, Mapping[str, Any]], Forecast]] = {
    Model.LBPL_NTM: lbpl_ntm,
    Model.CALIBRATED: calibrated,
    **dict.fromkeys(COSTS, baseline),
}
