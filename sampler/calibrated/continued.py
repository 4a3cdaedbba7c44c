"""A calibrated job that goes on from another one, over the corpus as it is now: it costs what is new.

Known or new is learned again, since labels have changed. How fine categories are was settled by the source: weights of
the settings, powers and scores are its own, and nothing is grouped again to find them. A chain's atoms and groups are
those of the source's chain. Of the documents that have arrived those of the new side begin in atoms of their own, and
settle with all others fixed: so new categories can appear among them.
"""

import hashlib
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any, NamedTuple

import numpy as np

from sampler.answers.tally import no_tally
from sampler.archive import CheckpointError, unpack
from sampler.calibrated.atom_groups import atom_rows, in_order, regroup
from sampler.calibrated.atoms import begin_settling, count_atoms, likeliest_atoms, seed_atoms, sweep_atoms
from sampler.calibrated.bags import WEIGHTINGS, select, tf_idf, word_prior, word_totals
from sampler.calibrated.chain import FIRST_CHAIN_RUN, CalibratedState, GroupedAtoms, in_all_words, start
from sampler.calibrated.granularity import Scores
from sampler.calibrated.prepared import PreparedCorpus
from sampler.calibrated.settings import AtomSetting, all_settings
from sampler.calibrated.sides import NEW_SIDE, REGROUPINGS, Address, Side, n_seeds
from sampler.calibrated.steps import (
    Arrays,
    Calibration,
    atom_run,
    calibration_step,
    learned_in,
    read_calibration,
    used_vectors,
)
from sampler.carried import ABSENT, Carried, seed_from
from sampler.corpus import Array, Corpus, fingerprint
from sampler.hyperparameters import CalibratedHyperparameters
from sampler.numerics import streams
from sampler.numerics.streams import Step
from sampler.numerics.threads import Threads

N_CONTINUED_STEPS = 2  # of `calibrate`: known or new, and what the source's settings are worth
GROWTH = 2.0  # of the texts, beyond which settings are weighed anew
FEWEST_TO_WEIGH = 2  # known categories: with one alone no setting gives them back better than another
SWEEPS_OF_ALL = 3  # of a new side's atoms, once arrivals have settled
LEAST_SHARE = 0.25  # of the atoms that a side begins with, which arrivals begin with however few they are


class Source(NamedTuple):
    """What a continued job is given of its source, which had the same hyperparameters."""

    carried: Carried
    seed: int
    runs: list[Arrays]  # the results of `atoms`
    done: list[Arrays]  # those of `calibrate`


def calibrates_anew(source: Source, corpus: Corpus, has_vectors: bool = False) -> bool:
    """Whether a job takes all steps of `calibrate`, because what the source's settings are worth was learned from less.

    That is so if there are more than GROWTH times the texts of then, if too few categories were known to weigh settings
    at all, or if only one of the two has vectors. So calibrations get rare as a corpus grows. Chains whose settings are
    others start anew.
    """
    n_documents, n_known = weighed_by(source)
    has_grown = corpus.n_documents > GROWTH * n_documents or n_known < FEWEST_TO_WEIGH <= corpus.n_known
    return has_grown or used_vectors(source.done) != has_vectors


def weighed_by(source: Source) -> tuple[int, int]:
    """Texts and known categories of the job that weighed the source's settings, which it may have from another one."""
    if is_continued(source.done):
        n_documents, n_known = source.done[1]["weighed_by"].tolist()
        return n_documents, n_known
    return source.carried.source.n_documents, source.carried.source.n_known


def is_continued(done: list[Arrays]) -> bool:
    """Whether these are the results of N_CONTINUED_STEPS, not those of all steps."""
    return len(done) == N_CONTINUED_STEPS and "weighed_by" in done[1]


def continued_atom_run(prepared: PreparedCorpus, source: Source, number: int, threads: Threads) -> Arrays:
    """`atoms` uint16[smoothings, D], as `steps.atom_run` has them: the source's, and the likeliest ones of arrivals.

    The atoms are made anew if settings are, for known or new is learned from atoms that must be as fine as the corpus
    asks for; and if no text that has words now had any.
    """
    bags, hyperparameters, carried = prepared.bags, prepared.hyperparameters, source.carried
    is_carried = (carried.of_texts(carried.source.lengths, 0) > 0) & ~bags.is_empty
    if not is_carried.any() or calibrates_anew(source, prepared.corpus, prepared.has_vectors):
        return atom_run(prepared, number, threads)
    values, found = prepared.values(number), []
    stays, comes = np.flatnonzero(is_carried), np.flatnonzero(~is_carried & ~bags.is_empty)
    (before, own), (arriving, others) = select(bags, stays), select(bags, comes)
    for smoothing, atom_before in zip(hyperparameters.smoothings, source.runs[number]["atoms"], strict=True):
        atom = np.zeros(bags.n_documents, np.int32)
        atom[stays] = np.unique(atom_before[carried.text_before[stays]], return_inverse=True)[1]
        counts = count_atoms(before, values[own], atom[stays], int(atom.max()) + 1, threads)
        prior = np.full(bags.n_words, smoothing)
        atom[comes] = likeliest_atoms(arriving, values[others], counts, prior, threads)
        found.append(atom)
    return {"atoms": np.array(found).astype(np.uint16)}


def continued_step(
    prepared: PreparedCorpus, runs: list[Arrays], source: Source, done: list[Arrays], number: int, threads: Threads
) -> Arrays:
    """The result of one of N_CONTINUED_STEPS from those before it: known or new, then powers and scores."""
    if number == 0:
        return calibration_step(prepared, runs, done, 0, threads)
    hyperparameters, carried = prepared.hyperparameters, source.carried
    before = PreparedCorpus(carried.source, hyperparameters, source.seed)
    found = read_steps(before, source.done, threads)
    scores = scores_now(found.scores, carried.source.n_known, prepared.corpus.n_known)
    return {"weighed_by": np.array(weighed_by(source)), "new_powers": found.new_powers, **scores._asdict()}


def scores_now(scores: Scores, n_before: int, n_known: int) -> Scores:
    """The source's scores, with the numbers of categories that came back, or did not, in proportion to those known now.

    If none was known it is not held against a setting that none came back.
    """
    if n_before == 0:
        return scores._replace(found=np.full_like(scores.found, n_known))
    found, parts = (np.rint(n * (n_known / n_before)).astype(np.int64) for n in (scores.found, scores.parts))
    return scores._replace(found=found, parts=parts)


def read_steps(prepared: PreparedCorpus, done: list[Arrays], threads: Threads | None = None) -> Calibration:
    """Read a calibration from the results of all steps, whether it was continued or not."""
    if not is_continued(done):
        return read_calibration(prepared, done, threads)
    learned, settled = learned_in(done), done[1]
    scores = Scores(*(settled[name] for name in Scores._fields))
    side, settings = prepared.side(NEW_SIDE, learned), all_settings(prepared.hyperparameters, used_vectors(done))
    return Calibration(prepared, learned, side, settings, settled["new_powers"], scores)


def continue_chain(
    corpus: Corpus, hyperparameters: CalibratedHyperparameters, calibration: Calibration, seed: int, chain: int,
    carried: Carried, data: bytes, threads: Threads,
) -> CalibratedState:  # fmt: skip
    """A chain before its first sweep, whose atoms and groups are those of the checkpoint `data` of the source.

    If the source has none for the documents that are new now, the chain has a start of its own. Raises ValueError for
    what is carried from another corpus; CheckpointError for damaged bytes.
    """
    carried.check(corpus)
    facts, arrays = unpack(data)
    if facts["corpus"] != fingerprint(carried.source):
        raise CheckpointError("the checkpoint belongs to another corpus")
    mark, own_seed = fingerprint(corpus), seed_from(seed, data)
    marks = f"{hashlib.sha256(data).hexdigest()} {carried.digest()}"
    constants = sorted(asdict(hyperparameters).items())
    given = f"{mark} {seed} {chain} continued {marks} {constants}{calibration.prepared.mark}"
    state = CalibratedState(
        mark, own_seed, chain, 0, corpus.n_known, no_tally(), hashlib.sha256(given.encode()).hexdigest(), {}, {}
    )
    stood, had_words = where_it_stood(facts, arrays), carried.of_texts(carried.source.lengths, 0) > 0
    is_arrival = ~had_words[calibration.new_side.documents]
    if set(stood.groups) != set(calibration.kept.tolist()) or is_arrival.all():
        started = start(corpus, hyperparameters, calibration, own_seed, chain, threads)
        state.atoms, state.groups = started.atoms, started.groups
        return state
    address = (own_seed, FIRST_CHAIN_RUN + chain)
    seeds = seed_arrivals(calibration, np.flatnonzero(is_arrival), hyperparameters, address, threads)
    values = [calibration.prepared.values(weighting) for weighting in range(WEIGHTINGS)]
    held = {}
    for setting in dict.fromkeys(calibration.settings[s].atoms for s in calibration.kept):
        before = np.where(had_words, carried.of_texts(stood.atoms[setting], ABSENT), ABSENT)
        held[setting], own = settle_arrivals(
            calibration.new_side, before, seeds, setting, hyperparameters.n_atom_sweeps, address, threads
        )
        state.atoms[setting] = atoms_of_all(calibration, setting, values, before, held[setting], own, threads)
    state.groups = carry_groups(calibration, state.atoms, held, stood.groups, address, threads)
    return state


class Stood(NamedTuple):
    """Where the source's chain stood."""

    atoms: dict[AtomSetting, Array]  # int64[T0], of every text
    groups: dict[int, Array]  # of each kept setting, int64[A]


def where_it_stood(facts: Mapping[str, Any], arrays: Arrays) -> Stood:
    """The atoms and groups of a checkpoint. Raises CheckpointError if there are none."""
    try:
        atoms = {AtomSetting(*each): arrays[f"atom_{i}"].astype(np.int64) for i, each in enumerate(facts["atoms"])}
        groups = {int(s): arrays[f"group_{i}"].astype(np.int64) for i, s in enumerate(facts["groups"])}
    except (KeyError, TypeError) as error:
        raise CheckpointError(f"the checkpoint does not fit: {error!r}") from error
    return Stood(atoms, groups)


def seed_arrivals(
    calibration: Calibration, arrivals: Array, hyperparameters: CalibratedHyperparameters, address: Address,
    threads: Threads,
) -> Array:  # fmt: skip
    """int32[n]: the atoms that k-means gives to arrivals among the new side's documents, as `sides.seed_side` does.

    Of as many as the side would begin with they get their share, and LEAST_SHARE at least.
    """
    if arrivals.size == 0:
        return np.zeros(0, np.int32)
    side = calibration.new_side
    share = max(arrivals.size / side.documents.size, LEAST_SHARE)
    n_of_side = n_seeds(side.documents.size, calibration.prepared.corpus.n_known, hyperparameters)
    n_atoms = max(min(int(share * n_of_side), arrivals.size // 3), 1)
    bags = select(side.bags, arrivals)[0]
    return seed_atoms(bags.rows(tf_idf(bags)), n_atoms, streams.stream(*address, 0, Step.ATOM_SEEDS), threads)


def settle_arrivals(
    side: Side, before: Array, seeds: Array, setting: AtomSetting, n_sweeps: int, address: Address, threads: Threads
) -> tuple[Array, Array]:
    """The source's atoms that the side still has, int64[H], and the atoms int32[n] of its documents: these H first.

    `before` int64[D] are the source's atoms, ABSENT of arrivals, which begin in the atoms of their `seeds`. They settle
    first; then all do in a few sweeps, as those that were there may belong to what has arrived.
    """
    own_before = before[side.documents]
    stays, comes = np.flatnonzero(own_before != ABSENT), np.flatnonzero(own_before == ABSENT)
    held, number = np.unique(own_before[stays], return_inverse=True)
    own = np.zeros(own_before.size, np.int32)
    own[stays], own[comes] = number, held.size + seeds
    if comes.size == 0:
        return held, own
    values = side.values[setting.weighting]
    prior = word_prior(word_totals(side.bags, values), setting.smoothing, setting.has_background)
    settling = begin_settling(side.bags, values, own, prior, threads, side.directions(setting))
    sweep_atoms(settling, comes, range(n_sweeps), address, threads)
    sweep_atoms(settling, np.arange(own.size), range(n_sweeps, n_sweeps + SWEEPS_OF_ALL), address, threads)
    left, number = np.unique(settling.atom, return_inverse=True)
    return held[left[left < held.size]], number.astype(np.int32)


def atoms_of_all(
    calibration: Calibration, setting: AtomSetting, values: list[Array], before: Array, held: Array, own: Array,
    threads: Threads,
) -> GroupedAtoms:  # fmt: skip
    """The atoms of all documents under a setting: those of the new side are its `own`, int32[n].

    Others keep the source's atom if it is among those `held`, and go to the likeliest one if not. `values` are the
    effective counts under each weighting.
    """
    side, bags = calibration.new_side, calibration.prepared.bags
    directed = side.directions(setting)
    of_side = count_atoms(side.bags, side.values[setting.weighting], own, int(own.max()) + 1, threads, directed)
    rows = atom_rows(of_side)
    number = np.full(max(int(before.max()), int(held.max(initial=0))) + 2, ABSENT)  # ABSENT takes the last
    number[held] = np.arange(held.size)
    atom = number[before]
    atom[side.documents] = own
    wanting = np.flatnonzero((atom == ABSENT) & ~bags.is_empty)
    if wanting.size:
        everywhere = in_all_words(of_side, side.words, bags.n_words)
        totals = everywhere.words.sum(axis=1, dtype=np.float64)
        prior = word_prior(totals, setting.smoothing, setting.has_background)
        some, entries = select(bags, wanting)
        of_some = calibration.prepared.directions(setting).of(wanting)
        atom[wanting] = likeliest_atoms(some, values[setting.weighting][entries], everywhere, prior, threads, of_some)
    atom[atom == ABSENT] = 0
    return GroupedAtoms(atom, rows, word_prior(rows.word_totals, setting.smoothing, setting.has_background))


def carry_groups(
    calibration: Calibration, atoms: dict[AtomSetting, GroupedAtoms], held: dict[AtomSetting, Array],
    before: dict[int, Array], address: Address, threads: Threads,
) -> dict[int, Array]:  # fmt: skip
    """int64[A] of each kept setting: the source's groups of the atoms that are held; then others, which begin apart.

    Where there are others, all are swept as often as at any start.
    """
    kept, key = calibration.kept.tolist(), streams.stream(*address, 0, Step.GROUPS)
    found: dict[int, Array] = dict.fromkeys(kept, np.empty(0, np.int64))

    def carry(thread: int, first: int, end: int) -> None:
        for s in kept[first:end]:
            setting = calibration.settings[s].atoms
            (_, rows, prior), old = atoms[setting], before[s][held[setting]]
            n_more = rows.size.size - old.size
            group = in_order(np.concatenate([old, int(old.max(initial=-1)) + 1 + np.arange(n_more)]))
            if n_more:
                power = float(calibration.new_powers[s])
                group = regroup(rows, group, prior, [power], REGROUPINGS, key, threads=threads)[0]
            found[s] = group

    threads.share(carry, [(i, i + 1) for i in range(len(kept))])
    return found
