"""What new categories are called: a number, and the words that stand for them."""

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import count

from app.core.tables import MAX_NAME

N_WORDS = 3  # in a name
BEFORE_CAPITAL = re.compile(r"(?<=[^\W\d_A-Z])(?=[A-Z])")
NO_LETTERS = re.compile(r"[\W_]+")
SHORTEST_STEM = 4  # letters that two words have in common where one is a form of the other


def names_of_new(labels: Iterable[str], words: Sequence[Sequence[str]]) -> list[str]:
    """The names of new categories with these words each, the best first: "new 4: pin, change, account".

    They are numbered from 1. A number is skipped where a label bears it, alone or with words: labels may be names that
    another job gave.
    """
    taken = {label.partition(":")[0] for label in labels}
    free = (name for name in map("new {}".format, count(1)) if name not in taken)
    return [with_words(name, best) for name, best in zip(free, words, strict=False)]


def with_words(name: str, words: Iterable[str]) -> str:
    """A name that ends in the first words that fit, N_WORDS at most; forms of one word are not repeated."""
    chosen: list[str] = []
    for word in different_words(words):
        longer = f"{name}: {', '.join([*chosen, word])}"
        if len(chosen) < N_WORDS and len(longer) <= MAX_NAME:
            chosen.append(word)
    return f"{name}: {', '.join(chosen)}" if chosen else name


def different_words(words: Iterable[str]) -> Iterator[str]:
    """The words but for forms of one that came before."""
    seen: list[str] = []
    for word in words:
        if not any(are_forms(word, other) for other in seen):
            seen.append(word)
            yield word


def are_forms(first: str, second: str) -> bool:
    """Whether two words look like forms of one: the one holds the other, or they differ after a common beginning.

    "plasmas" and "plasma", "microwave" and "wave", "pricing" and "price". What holds another may be another word:
    then a name merely has the next one.
    """
    shorter, longer = sorted((first, second), key=len)
    n_common = next((i for i, (a, b) in enumerate(zip(first, second, strict=False)) if a != b), len(shorter))
    return shorter in longer or n_common >= max(SHORTEST_STEM, len(shorter) - 1)


def spelled_out(name: str) -> str:
    """The words of a name as a text has them: "comp.sys.mac" and "compSys_mac" are "comp sys mac"."""
    return NO_LETTERS.sub(" ", BEFORE_CAPITAL.sub(" ", name)).strip()


def folded(name: str) -> str:
    """What names have in common that differ in case and blanks alone."""
    return " ".join(name.casefold().split())
