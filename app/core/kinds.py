"""The models, and the kinds of units and side runs that their jobs are made of: all that there are, and what they are.

A new one begins here. What a kind of unit does is one file of the worker; what it takes, a function of
`app.forecasts.forecast`; everything else that asks for a kind reads the facts below.
"""

from collections.abc import Mapping
from enum import StrEnum
from typing import Any, Literal, NamedTuple

Stage = Literal["encode", "vectors", "atoms", "calibrate", "sample", "conclude", "power", "done"]


class UnitKind(StrEnum):
    """What a unit of work does, in the order in which the kinds of one job follow each other."""

    ENCODE = "encode"  # turns documents into token arrays, once for a corpus version and its text options
    VECTORS = "vectors"  # makes vectors of documents that have none, and finds the axes of all
    ATOMS = "atoms"  # finds the small groups of documents that categories are made of, once for an encoding and a seed
    CALIBRATE = "calibrate"  # learns from the labels what is known and how fine categories are
    CHAIN = "chain"  # draws from the posterior, sweep by sweep; a job has several
    CONCLUDE = "conclude"  # writes the answers of the chains
    POWER = "power"  # hides each known category in turn, to see whether it is found again


class SideKind(StrEnum):
    """What a job that has succeeded can be asked to do besides, with a status of its own."""

    EXTENSION = "extension"  # more sweeps of each chain, and new answers
    POWER_TEST = "power"  # how surely a category is found that nobody has named


class Model(StrEnum):
    """What a job draws from."""

    LBPL_NTM = "lbpl-ntm"  # the paper's topic model
    CALIBRATED = "calibrated"  # known or new, and how fine categories are, are learned from the labels
    # The methods that the paper compares its model with, see docs/baselines/.
    DLDA = "dlda"
    SL = "sl"
    COSC = "cosc"
    SSKM = "sskm"
    CLUTO = "cluto"
    DPGM = "dpgm"


class UnitFacts(NamedTuple):
    """What is to be known of a kind of unit."""

    stage: Stage  # of a job's progress, while such a unit works
    is_stepwise: bool = False  # its parts are steps, counted as progress; each is kept, and shared or read by others
    is_shared: bool = False  # an earlier job may have done the work
    reads: UnitKind | None = None  # the stepwise kind whose steps it starts from
    ends_run: bool = False  # when it is done its run has succeeded


class ModelFacts(NamedTuple):
    """What is to be known of a model."""

    preparations: tuple[UnitKind, ...]  # kinds of units between encode and the chains, see `preparations`
    own_settings: tuple[str, ...]  # settings that no other model has
    chains: int  # by default
    sweeps: int  # by default, of each chain
    burn_in: float  # by default, as a share of the sweeps
    has_topics: bool  # it learns the topics of its categories
    has_power_test: bool
    finds_number: bool = True  # of categories; else it is told
    is_baseline: bool = False  # one of the paper's peers
    sees_labels: bool = True
    can_continue: bool = True


UNIT_KINDS: Mapping[str, UnitFacts] = {
    UnitKind.ENCODE: UnitFacts("encode", is_shared=True),
    UnitKind.VECTORS: UnitFacts("vectors", is_stepwise=True, is_shared=True),
    UnitKind.ATOMS: UnitFacts("atoms", is_stepwise=True, is_shared=True),
    UnitKind.CALIBRATE: UnitFacts("calibrate", is_stepwise=True, reads=UnitKind.ATOMS),
    UnitKind.CHAIN: UnitFacts("sample", reads=UnitKind.CALIBRATE),
    UnitKind.CONCLUDE: UnitFacts("conclude", reads=UnitKind.CALIBRATE, ends_run=True),
    UnitKind.POWER: UnitFacts("power", is_stepwise=True, reads=UnitKind.ATOMS, ends_run=True),
}

# The kinds of units that a side run is made of.
SIDE_KINDS: Mapping[str, tuple[UnitKind, ...]] = {
    SideKind.EXTENSION: (UnitKind.CHAIN, UnitKind.CONCLUDE),
    SideKind.POWER_TEST: (UnitKind.POWER,),
}

MODELS: Mapping[str, ModelFacts] = {
    Model.LBPL_NTM: ModelFacts(
        preparations=(),
        own_settings=("kernel", "hyperparameters", "answer"),
        chains=2,
        sweeps=500,
        burn_in=0.5,
        has_topics=True,
        has_power_test=False,
    ),
    Model.CALIBRATED: ModelFacts(
        preparations=(UnitKind.ATOMS, UnitKind.CALIBRATE),
        own_settings=("calibrated", "vectors", "source_field"),
        chains=4,
        sweeps=100,
        burn_in=0.2,
        has_topics=True,
        has_power_test=True,
    ),
    **{
        name: ModelFacts(
            preparations=(),
            own_settings=(name,),
            chains=chains,
            sweeps=sweeps,
            burn_in=burn_in,
            has_topics=False,
            has_power_test=False,
            finds_number=name == Model.DPGM,
            is_baseline=True,
            sees_labels=name not in (Model.CLUTO, Model.DPGM),
            can_continue=False,
        )
        for name, chains, sweeps, burn_in in (
            (Model.DLDA, 2, 500, 0.5),
            (Model.SL, 1, 400, 1.0),
            (Model.COSC, 1, 200, 1.0),
            (Model.SSKM, 1, 100, 1.0),
            (Model.CLUTO, 10, 10, 1.0),
            (Model.DPGM, 5, 500, 1.0),
        )
    },
}
DEFAULT_MODEL = Model.CALIBRATED
BROUGHT = ""  # by whom a vector was made: the owner of its document
TRUE_NUMBER = "true"  # of categories, in a comparison of methods: the number of its gold labels, once it is known


def preparations(settings: Mapping[str, Any]) -> tuple[UnitKind, ...]:
    """The kinds of units between encode and the chains of a job, one unit of each."""
    of_model = MODELS[settings["model"]].preparations
    return of_model if vectors_made_by(settings) is None else (UnitKind.VECTORS, *of_model)


def vectors_made_by(settings: Mapping[str, Any]) -> str | None:
    """Whose vectors a job uses: BROUGHT, or the digest of the model that makes them; None if it uses none."""
    if settings.get("vectors") == "made":
        return str(settings["embedding_model"])
    return BROUGHT if settings.get("vectors") == "brought" else None


def numbers_of(settings: Mapping[str, Any]) -> list[int]:
    """The numbers of categories that a job is asked for, known ones included; none if the model finds the number."""
    asked = settings.get("n_categories")
    if asked == TRUE_NUMBER:
        return []
    return [] if asked is None else [asked] if isinstance(asked, int) else list(asked)


def n_chains(settings: Mapping[str, Any]) -> int:
    """The chains of a job: as many for each number of categories."""
    return int(settings["chains"]) * max(len(numbers_of(settings)), 1)


def n_units(settings: Mapping[str, Any]) -> int:
    """The units of work of a job: encode and conclude, and what comes between them."""
    return 2 + len(preparations(settings)) + n_chains(settings)
