"""From values to positions: which ticks an axis has, where they stand, and how numbers are written."""

from collections.abc import Iterable, Sequence
from math import ceil, floor, isfinite, log10
from typing import NamedTuple

TOO_LARGE, TOO_SMALL = 1e290, 1e-290  # beyond, differences overflow; below, they vanish
THIN = "\N{NARROW NO-BREAK SPACE}"
MINUS = "\N{MINUS SIGN}"


class Scale(NamedTuple):
    """A straight line through two values and their positions."""

    low: float
    high: float  # above low
    start: float
    end: float

    def __call__(self, value: float) -> float:
        """Where a value stands."""
        return self.start + (value - self.low) / (self.high - self.low) * (self.end - self.start)


def finite(values: Iterable[float | None]) -> list[float]:
    """The values that can be drawn."""
    return [value for value in values if value is not None and is_drawable(value)]


def is_drawable(value: float | None) -> bool:
    """Whether a value has a place on an axis."""
    return value is not None and isfinite(value) and abs(value) < TOO_LARGE


def whole(values: Iterable[float]) -> bool:
    """Whether all values are integers, so that ticks between them would say nothing."""
    return all(float(value).is_integer() for value in values)


def spread(values: Sequence[float], integers: bool = False) -> tuple[float, float]:
    """A range that holds the values, with room around a single one."""
    low, high = min(values), max(values)
    largest = max(abs(low), abs(high))
    if high - low <= max(largest * 1e-12, TOO_SMALL):
        room = 1.0 if integers or largest < 20 * TOO_SMALL else largest * 0.05
        return low - room, high + room
    return low, high


def nice_step(width: float, n: int, integers: bool = False) -> float:
    """The smallest of 1, 2, 5, 10, ... that divides a width into at most n parts."""
    rough = width / n
    power = 10.0 ** floor(log10(rough))
    step = next(factor * power for factor in (1, 2, 5, 10) if factor * power >= rough * (1 - 1e-9))
    return max(step, 1.0) if integers else step


def ticks(low: float, high: float, n: int = 5, integers: bool = False) -> list[float]:
    """Round values within a range, about n of them; at least one if n is 3 or more."""
    step = nice_step(high - low, n, integers)
    slack = 1e-9 * (high - low) / step
    first, last = ceil(low / step - slack), floor(high / step + slack)
    return [i / round(1 / step) if step < 1 and step >= 1e-12 else i * step for i in range(first, last + 1)]


def written(value: float, step: float = 1.0) -> str:
    """A number, as exact as steps between such numbers are: 12, 1234, 12 345, 0.25, 3.2e15."""
    if abs(value) >= 1e12 or step < 1e-6:
        return f"{value:.3g}".replace("-", MINUS).replace("e+", "e")
    decimals = max(0, -floor(log10(step) + 1e-9)) if step < 1 else 0
    digits = f"{abs(value):,.{decimals}f}"
    digits = digits.replace(",", THIN if abs(value) >= 10_000 else "")
    return f"{MINUS}{digits}" if value < 0 and digits.strip("0.") else digits


def percent(share: float, decimals: int = 0) -> str:
    """A share as a percentage; one too small to be seen says so, one that is not quite all is not 100 %."""
    smallest = 10.0**-decimals
    of_hundred = 100 * share
    if 0 < of_hundred < smallest / 2:
        return f"<{written(smallest, smallest)}{THIN}%"
    if 100 - smallest / 2 <= of_hundred < 100:
        return f">{written(100 - smallest, smallest)}{THIN}%"
    return f"{written(of_hundred, smallest)}{THIN}%"


def counted(n: int, one: str, many: str | None = None) -> str:
    """A number with its noun: 1 document, 12 documents."""
    return f"{written(n)} {one if n == 1 else many or one + 's'}"
