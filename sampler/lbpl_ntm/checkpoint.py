"""A chain's state to bytes and back, exactly.

Only what a kernel cannot count again, concentrations, the position in the random streams and the tally of kept draws
are stored, as `sampler.archive` packs them; counts are recounted on loading.
"""

from collections.abc import Mapping
from typing import Any

from sampler.answers.tally import Tally
from sampler.archive import CheckpointError, pack, unpack
from sampler.corpus import Array, Corpus, fingerprint
from sampler.hyperparameters import Hyperparameters, check_kernel
from sampler.lbpl_ntm.chain import KERNELS
from sampler.lbpl_ntm.state import Course, State


def dump(corpus: Corpus, state: State) -> bytes:
    """The state as bytes; equal states give equal bytes."""
    facts = {
        "corpus": state.fingerprint,
        "kernel": state.kernel,
        "n_topics": state.n_topics,
        "seed": state.seed,
        "chain": state.chain,
        "n_sweeps": state.n_sweeps,
        "n_born": state.n_born,
        "alpha": state.alpha.hex(),
        "gamma": state.gamma.hex(),
        "n_draws": state.tally.n_draws,
        "digest": state.digest,
    }
    tally = {
        "tally_document": state.tally.document,
        "tally_identity": state.tally.identity,
        "tally_hits": state.tally.hits,
    }
    return pack(facts, {**state.arrays(corpus), **tally})


def load(corpus: Corpus, hyperparameters: Hyperparameters, data: bytes) -> State:
    """The state that was dumped, of the kernel that it had.

    Raises CheckpointError for another corpus, another model or damaged bytes.
    """
    facts, arrays = unpack(data)
    if facts["corpus"] != fingerprint(corpus):
        raise CheckpointError("the checkpoint belongs to another corpus")
    if facts.get("n_topics") != hyperparameters.n_topics:
        raise CheckpointError(f"{facts.get('n_topics')} topics are not {hyperparameters.n_topics}")
    kernel = facts.get("kernel", "collapsed")  # checkpoints from before there was another name none
    if kernel not in KERNELS:
        raise CheckpointError(f"the kernel {kernel!r} is none of {', '.join(KERNELS)}, which this version has")
    try:
        check_kernel(kernel, hyperparameters)
        return KERNELS[kernel].state.restore(corpus, hyperparameters, course(facts, arrays), arrays)
    except KeyError as error:
        raise CheckpointError(f"the checkpoint has no {error}") from error
    except ValueError as error:
        raise CheckpointError(str(error)) from error


def course(facts: Mapping[str, Any], arrays: Mapping[str, Array]) -> Course:
    """The part of a state that all kernels share."""
    return Course(
        fingerprint=facts["corpus"],
        n_topics=facts["n_topics"],
        seed=facts["seed"],
        chain=facts["chain"],
        n_sweeps=facts["n_sweeps"],
        n_born=facts["n_born"],
        alpha=float.fromhex(facts["alpha"]),
        gamma=float.fromhex(facts["gamma"]),
        tally=Tally(facts["n_draws"], arrays["tally_document"], arrays["tally_identity"], arrays["tally_hits"]),
        digest=facts["digest"],
    )
