"""The constants of the paper's peers in requests, with the limits that the methods themselves have."""

from dataclasses import fields
from typing import Any, Self

from pydantic import Field, model_validator

from app.schemas.common import RequestBody
from baselines import settings
from baselines.settings import Inference


def limited(kind: type[Any], limits: dict[str, tuple[float, float]], name: str) -> Any:
    """A field for a constant, with the method's own default and limits."""
    low, high = limits[name]
    default = next(field.default for field in fields(kind) if field.name == name)
    bounds = {"ge": int(low), "le": int(high)} if isinstance(default, int) else {"ge": low, "le": high}
    return Field(default=default, allow_inf_nan=None, **bounds)


def dlda(name: str) -> Any:
    """A field for a constant of D-LDA."""
    return limited(settings.DldaSettings, settings.DLDA_LIMITS, name)


def sl(name: str) -> Any:
    """A field for a constant of serendipitous learning."""
    return limited(settings.SlSettings, settings.SL_LIMITS, name)


def cosc(name: str) -> Any:
    """A field for a constant of constrained 1-spectral clustering."""
    return limited(settings.CoscSettings, settings.COSC_LIMITS, name)


def sskm(name: str) -> Any:
    """A field for a constant of semi-supervised kernel k-means."""
    return limited(settings.SskmSettings, settings.SSKM_LIMITS, name)


def cluto(name: str) -> Any:
    """A field for a constant of direct k-way clustering."""
    return limited(settings.ClutoSettings, settings.CLUTO_LIMITS, name)


def dpgm(name: str) -> Any:
    """A field for a constant of the Dirichlet process Gaussian mixture."""
    return limited(settings.DpgmSettings, settings.DPGM_LIMITS, name)


class DldaIn(RequestBody):
    """The constants of D-LDA, see docs/baselines/dlda.md."""

    n_topics: int = dlda("n_topics")
    alpha: float = dlda("alpha")
    zeta: float = dlda("zeta")
    beta: float = dlda("beta")


class SlIn(RequestBody):
    """The constants of serendipitous learning, see docs/baselines/sl.md."""

    labeled_weight: float = sl("labeled_weight")
    unlabeled_weight: float = sl("unlabeled_weight")
    balance: float = sl("balance")
    n_components: int = sl("n_components")
    n_restarts: int = sl("n_restarts")
    start_share: float = sl("start_share")
    max_rounds: int = sl("max_rounds")
    round_tolerance: float = sl("round_tolerance")
    gap_tolerance: float = sl("gap_tolerance")
    max_passes: int = sl("max_passes")


class CoscIn(RequestBody):
    """The constants of constrained 1-spectral clustering, see docs/baselines/cosc.md."""

    n_starts: int = cosc("n_starts")
    n_repeats: int = cosc("n_repeats")
    n_iterations: int = cosc("n_iterations")
    most_iterations: int = cosc("most_iterations")
    tolerance: float = cosc("tolerance")
    n_gammas: int = cosc("n_gammas")


class SskmIn(RequestBody):
    """The constants of semi-supervised kernel k-means, see docs/baselines/sskm.md."""

    weight: float = sskm("weight")
    n_rounds: int = sskm("n_rounds")


class ClutoIn(RequestBody):
    """The constants of direct k-way clustering, see docs/baselines/cluto.md."""

    n_refinements: int = cluto("n_refinements")


class DpgmIn(RequestBody):
    """The constants of the Dirichlet process Gaussian mixture, see docs/baselines/dpgm.md."""

    inference: Inference = settings.DpgmSettings.inference
    n_components: int = dpgm("n_components")
    is_whitened: bool = settings.DpgmSettings.is_whitened
    n_groups: int = dpgm("n_groups")
    n_rounds: int = dpgm("n_rounds")
    tolerance: float = dpgm("tolerance")
    n_start_groups: int = dpgm("n_start_groups")
    most_groups: int = dpgm("most_groups")
    concentration: float = dpgm("concentration")
    concentration_shape: float = dpgm("concentration_shape")
    concentration_rate: float = dpgm("concentration_rate")
    mean_strength: float = dpgm("mean_strength")
    shape: float = dpgm("shape")

    @model_validator(mode="after")
    def check(self) -> Self:
        """Refuse what the method refuses."""
        settings.DpgmSettings(**self.model_dump())
        return self
