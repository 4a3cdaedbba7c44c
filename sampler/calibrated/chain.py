"""A chain of the calibrated model; docs/calibrated.md describes the model in plain words.

Each sweep draws a setting, the groups of its atoms and every document's category. The target, documents independent
given setting s, groups c and the atoms of the chain:

    p(s, c, z) = weight_s  p_s(c)  prod_d [ known_d  if z_d = category_d,  1 - known_d  if z_d = group of d's atom ]
"""

import hashlib
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import NamedTuple

import numpy as np

from sampler.answers.tally import Tally, no_tally, with_answers
from sampler.calibrated.atom_groups import AtomRows, Gains, atom_rows, log_target, no_gains, regroup
from sampler.calibrated.atoms import Atoms, likeliest_atoms
from sampler.calibrated.bags import word_prior
from sampler.calibrated.granularity import SAME, Scores, n_that_count
from sampler.calibrated.new_side_powers import new_side_powers
from sampler.calibrated.settings import AtomSetting
from sampler.calibrated.sides import group_all, seed_side, settle_side
from sampler.calibrated.steps import Calibration
from sampler.corpus import NO_CATEGORY, UNLABELED, Array, Corpus, fingerprint
from sampler.digest import next_digest
from sampler.hyperparameters import CalibratedHyperparameters
from sampler.numerics import streams
from sampler.numerics.streams import Step
from sampler.numerics.threads import Threads

FIRST_CHAIN_RUN = 1_000  # in the streams, of a chain's own start; those of the calibration come before
RATE_PRIOR = (8.0, 0.25)  # categories that are found, or groups that are categories, and that are not, beforehand
LEAST_DETECTED = 0.05  # else a draw may be of any size


class CalibratedDraw(NamedTuple):
    """What one sweep of a calibrated chain leaves in the trace."""

    sweep: int
    n_categories: int
    n_new: int  # that there are, by this draw and by how its setting errs on the known categories
    n_new_with_documents: int  # groups that count, see `granularity.n_that_count`
    log_joint: float  # log p_s(c) in nats, up to a constant of setting and atoms
    setting: int


def traces_of(chains: Sequence[Sequence[CalibratedDraw]]) -> dict[str, Array]:
    """float64[C, S] by name: what a conclusion is given of the kept draws of chains, as many of each."""
    return {
        name: np.array([[getattr(draw, name) for draw in draws] for draws in chains], np.float64)
        for name in ("n_categories", "n_new")
    }


class GroupedAtoms(NamedTuple):
    """The atoms that a chain has under one variant and smoothing."""

    atom: Array  # int64[D], of every unlabeled document with a word
    rows: AtomRows  # of the new side's documents alone
    prior: Array  # float64[V], beta_w


@dataclass
class CalibratedState:
    """Where a chain stands; swept in place."""

    fingerprint: str
    seed: int
    chain: int
    n_sweeps: int
    n_born: int  # identities given out so far; the known categories have the first ones
    tally: Tally
    digest: str
    atoms: dict[AtomSetting, GroupedAtoms]
    groups: dict[int, Array]  # of each kept setting, int64[A]
    members: list[Array] = field(default_factory=list)  # new documents of each new identity when it was first seen
    setting: int = NO_CATEGORY  # of the last sweep
    identity: Array = field(default_factory=lambda: np.empty(0, np.int64))  # of the slots of the last sweep
    gains: dict[int, Gains] = field(default_factory=dict)  # of each kept setting; to save time alone


def start(
    corpus: Corpus, hyperparameters: CalibratedHyperparameters, calibration: Calibration, seed: int, chain: int,
    threads: Threads,
) -> CalibratedState:  # fmt: skip
    """A chain before its first sweep, with a start of its own."""
    mark = fingerprint(corpus)
    given = f"{mark} {seed} {chain} calibrated {sorted(asdict(hyperparameters).items())}{calibration.prepared.mark}"
    state = CalibratedState(
        mark, seed, chain, 0, corpus.n_known, no_tally(), hashlib.sha256(given.encode()).hexdigest(), {}, {}
    )
    if calibration.new_side.documents.size == 0:
        return state
    address = (seed, FIRST_CHAIN_RUN + chain)
    state.atoms = find_atoms(corpus, hyperparameters, calibration, address, threads)
    powers = new_side_powers(hyperparameters)
    pairs = [(grouped.rows, grouped.prior) for grouped in state.atoms.values()]
    groups = dict(zip(state.atoms, group_all(pairs, powers, address, threads), strict=True))
    for s in calibration.kept:
        setting = calibration.settings[s]
        state.groups[int(s)] = groups[setting.atoms][powers.index(float(calibration.new_powers[s]))]
    return state


def find_atoms(
    corpus: Corpus, hyperparameters: CalibratedHyperparameters, calibration: Calibration, address: tuple[int, int],
    threads: Threads,
) -> dict[AtomSetting, GroupedAtoms]:  # fmt: skip
    """The atoms of a chain under all kept settings: those of the new side, and the likeliest ones of all others."""
    side, prepared = calibration.new_side, calibration.prepared
    wanted = list(dict.fromkeys(calibration.settings[s].atoms for s in calibration.kept))
    values = {weighting: prepared.values(weighting) for weighting in {setting.weighting for setting in wanted}}
    seeds = {
        by_vectors: seed_side(side, corpus.n_known, hyperparameters, address, threads, by_vectors)
        for by_vectors in {setting.has_vectors for setting in wanted}
    }
    found = {}
    for setting in wanted:
        own_seeds, directed = seeds[setting.has_vectors], prepared.directions(setting)
        own, counts = settle_side(side, own_seeds, setting, hyperparameters.n_atom_sweeps, address, threads)
        rows = atom_rows(counts)
        everywhere = in_all_words(counts, side.words, prepared.bags.n_words)
        totals = everywhere.words.sum(axis=1, dtype=np.float64)
        prior = word_prior(totals, setting.smoothing, setting.has_background)
        found_everywhere = likeliest_atoms(
            prepared.bags, values[setting.weighting], everywhere, prior, threads, directed
        )  # fmt: skip
        atom = found_everywhere.astype(np.int64)
        atom[side.documents] = own
        side_prior = word_prior(rows.word_totals, setting.smoothing, setting.has_background)
        found[setting] = GroupedAtoms(atom, rows, side_prior)
    return found


def in_all_words(counts: Atoms, words: Array, n_words: int) -> Atoms:
    """The counts of a side's atoms in all words of the corpus; `words` int64[...] are those that the side uses."""
    table = np.zeros((n_words, counts.size.size), np.float32)
    table[words] = counts.words[: words.size]
    return counts._replace(words=table)


def sweep(
    corpus: Corpus, calibration: Calibration, state: CalibratedState, threads: Threads | None = None
) -> CalibratedDraw:  # fmt: skip
    """Draw a setting, sweep its groups, and name them by the documents that they share with groups seen before.

    Without threads nothing interrupts it. A state whose sweep was Interrupted is of no more use.
    """
    state.n_sweeps += 1
    if not state.groups:
        state.digest = next_digest(state.digest, [], 0.0, 0.0)
        return CalibratedDraw(state.n_sweeps, corpus.n_known, 0, 0, 0.0, NO_CATEGORY)
    state.setting = draw_setting(calibration, state)
    grouped, power = state.atoms[calibration.settings[state.setting].atoms], calibration.new_powers[state.setting]
    key = streams.stream(state.seed, state.chain, state.n_sweeps, Step.GROUPS)
    group = state.groups[state.setting]
    gains = state.gains.setdefault(state.setting, no_gains(group.size))
    group = regroup(grouped.rows, group, grouped.prior, [power], 1, key, gains, threads)[0]
    state.groups[state.setting] = group
    state.identity = np.concatenate([np.arange(corpus.n_known), name_groups(corpus, calibration, state)])
    state.digest = next_digest(state.digest, [group, state.identity], 0.0, 0.0)
    answers = document_slots(corpus, calibration, state)
    sizes = np.bincount(answers[answers >= corpus.n_known] - corpus.n_known, minlength=int(group.max()) + 1)
    n_held = n_that_count(sizes)
    log_p = log_target(grouped.rows, group, grouped.prior, power, threads)
    n_new = true_number(n_held, corpus.n_known, calibration.scores, state)
    return CalibratedDraw(state.n_sweeps, corpus.n_known + n_held, n_new, n_held, log_p, state.setting)


def draw_setting(calibration: Calibration, state: CalibratedState) -> int:
    """One of the kept settings, by its weight."""
    kept = calibration.kept
    u = streams.uniform(streams.stream(state.seed, state.chain, state.n_sweeps, Step.SETTINGS), 0)
    return int(kept[streams.pick(calibration.scores.weight[kept], kept.size, u)])


def true_number(n_held: int, n_known: int, scores: Scores, state: CalibratedState) -> int:
    """How many new categories there are if n_held groups count, drawn from how the setting did on the known ones.

    Of the groups of known documents some were categories, others parts of one; of the known categories some came back
    as a group, others were missed. With Beta distributions of both rates, the real ones among n_held are binomial, and
    those missed negative binomial. Without a known category the documents must be of some new one.
    """
    if n_held == 0:
        return 0
    rng = streams.generator(state.seed, state.chain, state.n_sweeps, Step.NUMBERS)
    start = int(rng.integers(scores.found.shape[1]))
    found, parts = scores.found[state.setting, start], scores.parts[state.setting, start]
    more, fewer = RATE_PRIOR
    n_real = int(rng.binomial(n_held, rng.beta(found + more, parts + fewer)))
    detected = max(float(rng.beta(found + more, n_known - found + fewer)), LEAST_DETECTED)
    return max(n_real + int(rng.negative_binomial(max(n_real, 1), detected)), int(n_known == 0))


def name_groups(corpus: Corpus, calibration: Calibration, state: CalibratedState) -> Array:
    """int64[G]: the identity of each group; those that are alike to none that was seen before get new ones."""
    setting = calibration.settings[state.setting]
    documents = calibration.new_side.documents
    group_of = state.groups[state.setting][state.atoms[setting.atoms].atom[documents]]
    n_groups = int(state.groups[state.setting].max()) + 1
    number = numbers_of_groups(group_of, n_groups, state.members)
    state.n_born = corpus.n_known + len(state.members)
    return corpus.n_known + number


def numbers_of_groups(group_of: Array, n_groups: int, members: list[Array]) -> Array:
    """int64[G]: the number of each group, by the documents that it shares with groups seen before.

    `group_of` int64[n] are the groups of the new side's documents, `members` those that groups had when they were first
    seen, under their numbers. Groups that are alike to none of them get new ones, and are added.
    """
    number = np.full(n_groups, NO_CATEGORY, np.int64)
    if members:
        seen = np.repeat(np.arange(len(members)), [member.size for member in members])
        shared = np.zeros((n_groups, len(members)))
        np.add.at(shared, (group_of[np.concatenate(members)], seen), 1.0)
        sizes = np.bincount(group_of, minlength=n_groups)
        jaccard = shared / (sizes[:, None] + np.bincount(seen)[None, :] - shared)
        group, other = np.nonzero(jaccard >= SAME)
        for i in np.argsort(-jaccard[group, other], kind="stable"):
            if number[group[i]] == NO_CATEGORY and other[i] not in number:
                number[group[i]] = other[i]
    for g in np.flatnonzero(number == NO_CATEGORY):
        number[g] = len(members)
        members.append(np.flatnonzero(group_of == g))
    return number


def document_slots(corpus: Corpus, calibration: Calibration, state: CalibratedState) -> Array:
    """int32[D]: the slot that each unlabeled document is in after this sweep, NO_CATEGORY for the rest.

    Known categories have the first slots, groups the ones behind.
    """
    is_asked = (corpus.labels == UNLABELED) & ~calibration.prepared.bags.is_empty
    learned = calibration.learned
    if not state.groups:
        return np.where(is_asked, learned.category, NO_CATEGORY).astype(np.int32)
    setting = calibration.settings[state.setting]
    atom = state.atoms[setting.atoms].atom
    group = corpus.n_known + state.groups[state.setting][atom]
    key = streams.stream(state.seed, state.chain, state.n_sweeps, Step.CALIBRATED_DOCUMENTS)
    is_known = streams.numbers_of(key, np.arange(corpus.n_documents)) < learned.known
    return np.where(is_asked, np.where(is_known, learned.category, group), NO_CATEGORY).astype(np.int32)


def keep(corpus: Corpus, calibration: Calibration, state: CalibratedState) -> None:
    """Add the state's answers to the tally of kept draws."""
    identity = state.identity if state.groups else np.arange(corpus.n_known)
    answers = document_slots(corpus, calibration, state)
    state.tally = with_answers(state.tally, corpus.labels, answers, identity)
