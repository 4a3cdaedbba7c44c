"""A chain of the calibrated model as bytes and back; what follows from its atoms and groups is counted again."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from sampler.answers.tally import Tally
from sampler.archive import CheckpointError, pack, smallest, unpack
from sampler.calibrated.atom_groups import atom_rows
from sampler.calibrated.atoms import count_atoms
from sampler.calibrated.bags import word_prior
from sampler.calibrated.chain import CalibratedState, GroupedAtoms
from sampler.calibrated.settings import AtomSetting
from sampler.calibrated.steps import Arrays, Calibration
from sampler.corpus import Array, Corpus, fingerprint
from sampler.numerics.threads import Threads


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
        "atoms": [setting if setting.has_vectors else setting[:3] for setting in state.atoms],
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
    corpus: Corpus, calibration: Calibration, data: bytes, threads: Threads | None = None
) -> CalibratedState:  # fmt: skip
    """The state that was dumped. Raises CheckpointError for another corpus or damaged bytes.

    Without threads nothing interrupts it.
    """
    facts, arrays = unpack(data)
    if facts["corpus"] != fingerprint(corpus):
        raise CheckpointError("the checkpoint belongs to another corpus")
    try:
        state = restored_state(calibration, facts, arrays, threads or Threads())
        check_state(corpus, calibration, state)
    except (KeyError, IndexError, ValueError, TypeError) as error:
        raise CheckpointError(f"the checkpoint does not fit: {error!r}") from error
    return state


def restored_state(
    calibration: Calibration, facts: Mapping[str, Any], arrays: Arrays, threads: Threads
) -> CalibratedState:  # fmt: skip
    """The state of these facts and arrays; the atoms' counts are counted again."""
    side = calibration.new_side
    atoms = {}
    for i, told in enumerate(facts["atoms"]):
        setting = AtomSetting(*told)
        atom = arrays[f"atom_{i}"].astype(np.int64)
        own = atom[side.documents].astype(np.int32)
        values = side.values[setting.weighting]
        counts = count_atoms(
            side.bags, values, own, int(own.max(initial=0)) + 1, threads, side.directions(setting)
        )  # fmt: skip
        rows = atom_rows(counts)
        prior = word_prior(rows.word_totals, setting.smoothing, setting.has_background)
        atoms[setting] = GroupedAtoms(atom, rows, prior)
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


def check_state(corpus: Corpus, calibration: Calibration, state: CalibratedState) -> None:
    """Raise ValueError if the state could not be one of this corpus under this calibration."""
    n_new_documents = calibration.new_side.documents.size
    if n_new_documents and set(state.groups) != set(calibration.kept.tolist()):
        raise ValueError("it was made under other settings")
    for s, group in state.groups.items():
        atom, rows, _ = state.atoms[calibration.settings[s].atoms]
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
