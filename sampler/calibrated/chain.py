"""A chain of the calibrated model; docs/calibrated.md tells the model in plain words.

Each sweep draws a setting, the groups of its atoms and every document's category. The target, documents independent
given setting s, groups c and the atoms of the chain:

    p(s, c, z) = weight_s  p_s(c)  prod_d [ known_d  if z_d = category_d,  1 - known_d  if z_d = group of d's atom ]
"""

import hashlib
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, NamedTuple

import numpy as np

from sampler.answers.tally import Tally, no_tally, with_answers
from sampler.archive import CheckpointError, pack, smallest, unpack
from sampler.calibrated import granularity
from sampler.calibrated.atom_groups import AtomRows, Gains, atom_rows, log_target, no_gains, regroup
from sampler.calibrated.atoms import assign, count
from sampler.calibrated.bags import select, word_prior
from sampler.calibrated.granularity import Scores, Setting
from sampler.calibrated.steps import Arrays, Calibration
from sampler.corpus import NO_CATEGORY, UNLABELED, Array, Corpus, fingerprint
from sampler.digest import next_digest
from sampler.hyperparameters import CalibratedHyperparameters
from sampler.numerics import streams
from sampler.numerics.streams import Step
from sampler.numerics.threads import Threads

FIRST_CHAIN_RUN = 1_000  # in the streams, of a chain's own start; those of the calibration come before
RATE_PRIOR = (1.0, 0.25)  # of the Beta distribution of how surely categories are found, or groups are categories
LEAST_DETECTED = 0.05  # else a draw may be of any size


class Draw(NamedTuple):
    """What one sweep of a calibrated chain leaves in the trace."""

    sweep: int
    n_categories: int
    n_new: int  # that there are, by this draw and by how its setting errs on the known categories
    n_new_with_documents: int  # groups that count, see granularity.n_that_count
    log_joint: float  # log p_s(c) in nats, up to a constant of setting and atoms
    setting: int


class Grouped(NamedTuple):
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
    atoms: dict[tuple[int, bool, float], Grouped]  # by weighting, background and smoothing
    groups: dict[int, Array]  # of each kept setting, int64[A]
    members: list[Array] = field(default_factory=list)  # new documents of each new identity when it was first seen
    setting: int = NO_CATEGORY  # of the last sweep
    identity: Array = field(default_factory=lambda: np.empty(0, np.int64))  # of the slots of the last sweep
    gains: dict[int, Gains] = field(default_factory=dict)  # of each kept setting; to save time alone


def start(
    corpus: Corpus, hyperparameters: CalibratedHyperparameters, calibrated: Calibration, seed: int, chain: int,
    threads: Threads,
) -> CalibratedState:  # fmt: skip
    """A chain before its first sweep, with a start of its own."""
    mark = fingerprint(corpus)
    given = f"{mark} {seed} {chain} calibrated {sorted(asdict(hyperparameters).items())}"
    state = CalibratedState(
        mark, seed, chain, 0, corpus.n_known, no_tally(), hashlib.sha256(given.encode()).hexdigest(), {}, {}
    )
    part, address = calibrated.new_side, (seed, FIRST_CHAIN_RUN + chain)
    if part.documents.size == 0:
        return state
    seeds = granularity.start_atoms(part, corpus.n_known, hyperparameters, address, threads)
    for s in calibrated.kept:
        setting = calibrated.settings[s]
        if setting.atoms not in state.atoms:
            values = calibrated.values[setting.weighting][part.entries]
            own, rows = granularity.settled(
                part, values, seeds, setting.smoothing, setting.has_background, hyperparameters, address, threads
            )
            prior = word_prior(rows.word_totals, setting.smoothing, setting.has_background)
            state.atoms[setting.atoms] = Grouped(spread(calibrated, own, setting, threads), rows, prior)
    powers = sorted(hyperparameters.powers)
    pairs = [(grouped.rows, grouped.prior) for grouped in state.atoms.values()]
    groups = dict(zip(state.atoms, granularity.group_all(pairs, powers, address, threads), strict=True))
    for s in calibrated.kept:
        setting = calibrated.settings[s]
        state.groups[int(s)] = groups[setting.atoms][powers.index(setting.power)]
    return state


def spread(calibrated: Calibration, own: Array, setting: Setting, threads: Threads) -> Array:
    """int64[D]: the atoms of the new side's documents, and for all others the most likely ones."""
    bags, part, values = calibrated.bags, calibrated.new_side, calibrated.values[setting.weighting]
    counts = count(select(bags, part.documents)[0], values[part.entries], own, int(own.max()) + 1, threads)
    prior = word_prior(counts.words.sum(axis=1, dtype=np.float64), setting.smoothing, setting.has_background)
    atom = assign(bags, values, counts, prior, threads).astype(np.int64)
    atom[part.documents] = own
    return atom


def sweep(
    corpus: Corpus, calibrated: Calibration, state: CalibratedState, threads: Threads | None = None
) -> Draw:  # fmt: skip
    """Draw a setting, sweep its groups, and name them by the documents that they share with groups seen before.

    Without threads nothing interrupts it. A state whose sweep was Interrupted is of no more use.
    """
    state.n_sweeps += 1
    if not state.groups:
        state.digest = next_digest(state.digest, [], 0.0, 0.0)
        return Draw(state.n_sweeps, corpus.n_known, 0, 0, 0.0, NO_CATEGORY)
    u = streams.uniform(streams.stream(state.seed, state.chain, state.n_sweeps, Step.SETTINGS), 0)
    state.setting = int(
        calibrated.kept[streams.pick(calibrated.scores.weight[calibrated.kept], calibrated.kept.size, u)]
    )
    setting = calibrated.settings[state.setting]
    grouped = state.atoms[setting.atoms]
    key = streams.stream(state.seed, state.chain, state.n_sweeps, Step.GROUPS)
    group = state.groups[state.setting]
    gains = state.gains.setdefault(state.setting, no_gains(group.size))
    group = regroup(grouped.rows, group, grouped.prior, [setting.power], 1, key, gains, threads)[0]
    state.groups[state.setting] = group
    state.identity = np.concatenate([np.arange(corpus.n_known), name_groups(corpus, calibrated, state)])
    state.digest = next_digest(state.digest, [group, state.identity], 0.0, 0.0)
    answers = document_categories(corpus, calibrated, state)
    sizes = np.bincount(answers[answers >= corpus.n_known] - corpus.n_known, minlength=int(group.max()) + 1)
    n_held = granularity.n_that_count(sizes)
    log_p = log_target(grouped.rows, group, grouped.prior, setting.power, threads)
    n_new = true_number(n_held, corpus.n_known, calibrated.scores, state)
    return Draw(state.n_sweeps, corpus.n_known + n_held, n_new, n_held, log_p, state.setting)


def true_number(n_held: int, n_known: int, scores: Scores, state: CalibratedState) -> int:
    """How many new categories there are if n_held groups count, drawn from how the setting did on the known ones.

    Of the groups of known documents some were categories, others parts of one; of the known categories some came back
    as a group, others were missed. With Beta distributions of both rates, the real ones among n_held are binomial, and
    those missed beside them negative binomial.
    """
    if n_held == 0:
        return 0
    rng = streams.generator(state.seed, state.chain, state.n_sweeps, Step.NUMBERS)
    start = int(rng.integers(scores.found.shape[1]))
    found, parts = scores.found[state.setting, start], scores.parts[state.setting, start]
    more, fewer = RATE_PRIOR
    n_real = int(rng.binomial(n_held, rng.beta(found + more, parts + fewer)))
    detected = max(float(rng.beta(found + more, n_known - found + fewer)), LEAST_DETECTED)
    return n_real + int(rng.negative_binomial(max(n_real, 1), detected))


def name_groups(corpus: Corpus, calibrated: Calibration, state: CalibratedState) -> Array:
    """int64[G]: the identity of each group; those that are alike to none that was seen before get new ones."""
    setting = calibrated.settings[state.setting]
    documents = calibrated.new_side.documents
    group_of = state.groups[state.setting][state.atoms[setting.atoms].atom[documents]]
    n_groups = int(state.groups[state.setting].max()) + 1
    identity = np.full(n_groups, NO_CATEGORY, np.int64)
    if state.members:
        seen = np.repeat(np.arange(len(state.members)), [member.size for member in state.members])
        shared = np.zeros((n_groups, len(state.members)))
        np.add.at(shared, (group_of[np.concatenate(state.members)], seen), 1.0)
        sizes = np.bincount(group_of, minlength=n_groups)
        jaccard = shared / (sizes[:, None] + np.bincount(seen)[None, :] - shared)
        group, other = np.nonzero(jaccard >= granularity.SAME)
        for i in np.argsort(-jaccard[group, other], kind="stable"):
            if identity[group[i]] == NO_CATEGORY and corpus.n_known + other[i] not in identity:
                identity[group[i]] = corpus.n_known + other[i]
    for g in np.flatnonzero(identity == NO_CATEGORY):
        identity[g] = state.n_born
        state.n_born += 1
        state.members.append(np.flatnonzero(group_of == g))
    return identity


def document_categories(corpus: Corpus, calibrated: Calibration, state: CalibratedState) -> Array:
    """int32[D]: the slot that each unlabeled document is in after this sweep, NO_CATEGORY for the rest.

    Known categories have the first slots, groups the ones behind.
    """
    is_asked = (corpus.labels == UNLABELED) & ~calibrated.bags.is_empty
    learned = calibrated.learned
    if not state.groups:
        return np.where(is_asked, learned.category, NO_CATEGORY).astype(np.int32)
    setting = calibrated.settings[state.setting]
    atom = state.atoms[setting.atoms].atom
    group = corpus.n_known + state.groups[state.setting][atom]
    key = streams.stream(state.seed, state.chain, state.n_sweeps, Step.CALIBRATED_DOCUMENTS)
    is_known = streams.numbers_of(key, np.arange(corpus.n_documents)) < learned.known
    return np.where(is_asked, np.where(is_known, learned.category, group), NO_CATEGORY).astype(np.int32)


def keep(corpus: Corpus, calibrated: Calibration, state: CalibratedState) -> None:
    """Add the state's answers to the tally of kept draws."""
    identity = state.identity if state.groups else np.arange(corpus.n_known)
    answers = document_categories(corpus, calibrated, state)
    state.tally = with_answers(state.tally, corpus.labels, answers, identity)


def dump(state: CalibratedState) -> bytes:
    """The state as bytes; equal states give equal bytes."""
    facts = {
        "corpus": state.fingerprint,
        "seed": state.seed,
        "chain": state.chain,
        "n_sweeps": state.n_sweeps,
        "n_born": state.n_born,
        "n_draws": state.tally.n_draws,
        "digest": state.digest,
        "setting": state.setting,
        "atoms": list(state.atoms),
        "groups": list(state.groups),
    }
    lengths = np.array([member.size for member in state.members], np.int64)
    arrays = {
        "tally_document": state.tally.document,
        "tally_identity": smallest(state.tally.identity),
        "tally_hits": smallest(state.tally.hits),
        "member_ends": np.cumsum(lengths),
        "members": smallest(np.concatenate([np.empty(0, np.int64), *state.members])),
        "identity": state.identity,
    }
    arrays |= {f"atom_{i}": smallest(grouped.atom) for i, grouped in enumerate(state.atoms.values())}
    arrays |= {f"group_{i}": smallest(group) for i, group in enumerate(state.groups.values())}
    return pack(facts, arrays)


def load(
    corpus: Corpus, calibrated: Calibration, data: bytes, threads: Threads | None = None
) -> CalibratedState:  # fmt: skip
    """The state that was dumped. Raises CheckpointError for another corpus or damaged bytes.

    Without threads nothing interrupts it.
    """
    facts, arrays = unpack(data)
    if facts["corpus"] != fingerprint(corpus):
        raise CheckpointError("the checkpoint belongs to another corpus")
    try:
        state = restored(calibrated, facts, arrays, threads or Threads())
        check(corpus, calibrated, state)
    except (KeyError, IndexError, ValueError) as error:
        raise CheckpointError(f"the checkpoint does not fit: {error!r}") from error
    return state


def restored(
    calibrated: Calibration, facts: Mapping[str, Any], arrays: Arrays, threads: Threads
) -> CalibratedState:  # fmt: skip
    """The state of these facts and arrays; the atoms' counts are counted again."""
    part = calibrated.new_side
    atoms = {}
    for i, (weighting, has_background, smoothing) in enumerate(facts["atoms"]):
        atom = arrays[f"atom_{i}"].astype(np.int64)
        own = atom[part.documents].astype(np.int32)
        values = calibrated.values[weighting][part.entries]
        counts = count(part.bags, values, own, int(own.max(initial=0)) + 1, threads)
        rows = atom_rows(counts)
        prior = word_prior(rows.word_totals, smoothing, has_background)
        atoms[weighting, has_background, smoothing] = Grouped(atom, rows, prior)
    return CalibratedState(
        fingerprint=facts["corpus"],
        seed=facts["seed"],
        chain=facts["chain"],
        n_sweeps=facts["n_sweeps"],
        n_born=facts["n_born"],
        tally=Tally(
            facts["n_draws"],
            arrays["tally_document"],
            arrays["tally_identity"].astype(np.int64),
            arrays["tally_hits"].astype(np.int32),
        ),
        digest=facts["digest"],
        atoms=atoms,
        groups={s: arrays[f"group_{i}"].astype(np.int64) for i, s in enumerate(facts["groups"])},
        members=[m.astype(np.int64) for m in np.split(arrays["members"], arrays["member_ends"])[:-1]],
        setting=facts["setting"],
        identity=arrays["identity"],
    )


def check(corpus: Corpus, calibrated: Calibration, state: CalibratedState) -> None:
    """Raise ValueError if the state could not be one of this corpus under this calibration."""
    n_new_documents = calibrated.new_side.documents.size
    if n_new_documents and set(state.groups) != set(calibrated.kept.tolist()):
        raise ValueError("it was made under other settings")
    for s, group in state.groups.items():
        atom, rows, _ = state.atoms[calibrated.settings[s].atoms]
        if atom.size != corpus.n_documents or group.size != rows.size.size or int(atom.max()) >= group.size:
            raise ValueError(f"the atoms of setting {s} are not those of its groups")
        if not is_gapless(group):
            raise ValueError(f"the groups of setting {s} are not numbered without a gap")
    if any(member.size == 0 or int(member.max()) >= n_new_documents for member in state.members):
        raise ValueError("an identity has members that are no documents")
    if state.n_born != corpus.n_known + len(state.members):
        raise ValueError(f"{state.n_born} identities are not those of {len(state.members)} new categories")
    tally = state.tally
    if not tally.document.size == tally.identity.size == tally.hits.size:
        raise ValueError("the arrays of the tally differ in length")
    if int(tally.document.max(initial=0)) >= max(corpus.n_documents, 1):
        raise ValueError("the tally has documents that are not in the corpus")
    if int(tally.identity.max(initial=-1)) >= max(state.n_born, 0):
        raise ValueError("the tally has identities that were never given out")


def is_gapless(group: Array) -> bool:
    """Whether the numbers int[A] are all of 0 to their highest."""
    return bool(np.unique(group).size == int(group.max(initial=-1)) + 1)
