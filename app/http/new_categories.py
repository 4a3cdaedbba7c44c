"""How many new categories a job found: one number with its interval, in a sentence, and the posteriors beneath it."""

from collections.abc import Mapping, Sequence

from app.schemas.results import DiagnosticsOut, Frequency, NewCategoriesOut, PosteriorOut

TRUST = {"mixed": "Check before you rely on it", "unreliable": "Do not rely on it"}  # of verdicts that are not sound


def posterior(draws_of: Mapping[str, int]) -> PosteriorOut:
    """What the kept draws say of a number; `draws_of` maps each value to how many draws had it."""
    counts = sorted((int(value), draws) for value, draws in draws_of.items())
    total = sum(draws for _, draws in counts)
    return PosteriorOut(
        mode=max(counts, key=lambda count: (count[1], -count[0]))[0],
        mean=sum(value * draws for value, draws in counts) / total,
        interval_90=(quantile(counts, 0.05 * total), quantile(counts, 0.95 * total)),
        frequencies=[Frequency(n_new=value, frequency=draws / total, draws=draws) for value, draws in counts],
    )


def quantile(counts: Sequence[tuple[int, int]], draws_below: float) -> int:
    """The smallest value that, with all smaller ones, has at least so many draws."""
    seen = 0
    for value, draws in counts:
        seen += draws
        if seen >= draws_below:
            return value
    return counts[-1][0]


def new_categories(n_known: int, number: int, n_new: PosteriorOut) -> NewCategoriesOut:
    """The number of new categories of an answer, and the interval of the posterior, widened to hold that number.

    Draws may show none where no category is known. But then every document that has a category has a new one.
    """
    low, high = n_new.interval_90
    if n_known == 0:
        low = max(low, min(number, 1))
    return NewCategoriesOut(number=number, interval_90=(min(low, number), max(high, number)))


def summary(n_known: int, found: NewCategoriesOut, diagnostics: DiagnosticsOut | None) -> str:
    """The answer in a sentence, and in a second one how far to trust it, if the verdict is not sound."""
    sentence = f"{what_was_found(n_known, found.number)}; with 90 % probability {how_many(*found.interval_90)}."
    if diagnostics is None or diagnostics.verdict not in TRUST:
        return sentence
    return f"{sentence} {TRUST[diagnostics.verdict]}: {diagnostics.reasons[0]}"


def what_was_found(n_known: int, n_new: int) -> str:
    """The known and the new categories, counted, without a full stop."""
    known = f"{n_known or 'No'} known {'category' if n_known == 1 else 'categories'}"
    if n_new == 0:
        return f"{known}, and no document is of a new category"
    return f"{known} and {n_new} new {'one' if n_new == 1 else 'ones'}"


def how_many(low: int, high: int) -> str:
    """From how many to how many new categories there are, as the end of a sentence."""
    if high == 0:
        return "there are no new ones"
    if low == high:
        return "there is 1 new one" if high == 1 else f"there are {high} new ones"
    return f"there are {low} to {high} new ones"
