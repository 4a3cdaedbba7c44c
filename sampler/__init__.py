"""The mathematics of Newfound: arrays in, arrays out.

    from sampler import CalibratedHyperparameters, TextOptions, calibrated, encode

`encode` makes a Corpus of texts and labels; the two models, `calibrated` and `lbpl_ntm`, make chains of it. They bring
numba along, which takes a second and 60 MB, so each is loaded by its first use.
"""

from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING

from sampler.corpus import NO_CATEGORY, UNLABELED, Corpus, validate
from sampler.hyperparameters import CalibratedHyperparameters, Hyperparameters
from sampler.text import Encoded, TextOptions, encode

if TYPE_CHECKING:
    from sampler import calibrated, lbpl_ntm

__all__ = [
    "NO_CATEGORY",
    "UNLABELED",
    "CalibratedHyperparameters",
    "Corpus",
    "Encoded",
    "Hyperparameters",
    "TextOptions",
    "calibrated",
    "encode",
    "lbpl_ntm",
    "validate",
]

MODELS = ("calibrated", "lbpl_ntm")


def __getattr__(name: str) -> ModuleType:
    """A model, loaded by its first use."""
    if name in MODELS:
        return import_module(f"sampler.{name}")
    raise AttributeError(f"module 'sampler' has no attribute {name!r}")
