"""What follows from the probabilities of an answer, of a job's own document or of a new one."""

from typing import NamedTuple

UNSURE = 0.5


class Thresholds(NamedTuple):
    """Below which probability an answer is unsure."""

    known: float = UNSURE
    new: float = UNSURE

    def is_unsure(self, probability: float | None, known: bool | None) -> bool:
        """Whether an answer is unsure; one without a category is."""
        return known is None or probability is None or probability < (self.known if known else self.new)


def category_probability(
    probability: float | None, known_probability: float | None, known: bool | None
) -> float | None:  # fmt: skip
    """How probable a category is if the document is of a known one, or of a new one, as the category is.

    At most 1: copies, stability and rounding change the one probability without the other. None without a category.
    """
    if known is None or probability is None or known_probability is None:
        return None
    of_side = known_probability if known else 1.0 - known_probability
    return 1.0 if of_side <= probability else probability / of_side
