"""How far an answer can be trusted, in words that need no statistics; the numbers stand in brackets."""

from collections.abc import Iterator, Mapping
from typing import Any, Literal, NamedTuple

from app.page.rendering import number

# The limits of the verdict, `sampler.answers.verdict`; a test holds the two together.
R_HAT_LIMIT = 1.1
ENOUGH_DRAWS = 25  # independent ones a chain
LITTLE_AGREEMENT, GOOD_AGREEMENT = 0.7, 0.85

MOST_CHAINS = 12  # whose agreement fits into a table
VERDICTS = {
    "sound": "You can rely on this answer.",
    "mixed": "Check before you rely on this answer.",
    "unreliable": "Do not rely on this answer.",
}
LEVELS: Mapping[str, str] = {"sound": "good", "mixed": "warn", "unreliable": "bad"}
QUANTITIES = {"n_categories": "the number of categories", "log_joint": "the log joint"}


class Finding(NamedTuple):
    """What a number says: a sentence, what it rests on, and whether more sweeps would help."""

    level: Literal["good", "warn", "bad"]
    sentence: str
    measure: str
    run_longer: bool = False


def findings(diagnostics: Mapping[str, Any], n_kept: int, n_chains: int) -> list[Finding]:
    """What the diagnostics of a job with so many kept draws say, about answers first."""
    found = [about_agreement(diagnostics["mean_agreement"])]
    for quantity, r_hat in diagnostics["r_hat"].items():
        name = QUANTITIES.get(quantity, quantity)
        found += about_draws(name, r_hat, diagnostics["effective_size"].get(quantity), n_kept, n_chains)
    return found


def about_agreement(mean: float | None) -> Finding:
    """Whether the chains give the same answers."""
    if mean is None:
        return Finding("warn", "One chain cannot show whether another would give the same answers.", "one chain")
    measure = f"adjusted Rand index {mean:.2f} on average; 1 is the same answer, 0 is chance"
    if mean < LITTLE_AGREEMENT:
        return Finding("bad", "The chains do not agree about the documents.", measure, run_longer=True)
    if mean < GOOD_AGREEMENT:
        return Finding("warn", "The chains agree about most documents, but not about all groups.", measure, True)
    return Finding("good", "The chains agree about the documents.", measure)


def about_draws(name: str, r_hat: float | None, size: float | None, n_kept: int, n_chains: int) -> Iterator[Finding]:
    """Whether the draws of a quantity have settled, and how many they are worth."""
    if size is None:
        yield Finding("bad", f"Too few draws were kept to judge {name}: run longer.", f"{n_kept} draws", True)
        return
    if r_hat is None:
        sentence = f"Each chain stays at a value of its own of {name}."
        yield Finding("warn", sentence, "R-hat is not defined; limit 1.1")
    elif r_hat > R_HAT_LIMIT:
        sentence = f"The chains do not agree yet on {name}: run longer."
        yield Finding("warn", sentence, f"R-hat {r_hat:.3f}, above {R_HAT_LIMIT}", True)
    else:
        yield Finding("good", f"The chains agree on {name}.", f"R-hat {r_hat:.3f}, near 1; limit {R_HAT_LIMIT}")
    worth = f"{number(n_kept)} draws of {name} are worth {number(size)} independent ones"
    if size < ENOUGH_DRAWS * n_chains:
        yield Finding("warn", f"{worth}: run longer.", f"fewer than {ENOUGH_DRAWS} a chain", True)
    else:
        yield Finding("good", f"{worth}.", f"effective sample size; at least {ENOUGH_DRAWS} a chain are enough")
