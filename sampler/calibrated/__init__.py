"""The calibrated model: atoms without labels, what the labels say of them, and chains of the categories there may be.

Prepare a corpus, `calibrate` it, `start` chains and `sweep` them, `keep` draws, and let `conclude_chains` pool them.
"""

from sampler.calibrated.chain import CalibratedDraw, CalibratedState, keep, start, sweep, traces_of
from sampler.calibrated.checkpoint import dump, load
from sampler.calibrated.conclusion import CalibratedConclusion, conclude_chains
from sampler.calibrated.prepared import PreparedCorpus
from sampler.calibrated.steps import Calibration, calibrate

__all__ = [
    "CalibratedConclusion",
    "CalibratedDraw",
    "CalibratedState",
    "Calibration",
    "PreparedCorpus",
    "calibrate",
    "conclude_chains",
    "dump",
    "keep",
    "load",
    "start",
    "sweep",
    "traces_of",
]
