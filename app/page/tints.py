"""The words of a text in the tints of the categories that they speak for."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

N_TINTS = 6
STEPS = (0.6, 0.25, 0.08)  # shares of the strongest word's weight from which on a word is shown strongly, and less so
MOST_WORDS = 8  # of a category in a sentence


class Piece(NamedTuple):
    """A piece of a text; `tint` from 1, or 0 for none, and `strength` from 1 to 3."""

    text: str
    tint: int = 0
    strength: int = 0
    tells: str = ""  # for whom and how much, for whoever points at it


class Speaking(NamedTuple):
    """A category, and the words that speak for it, the strongest first."""

    tint: int
    name: str
    words: list[str]


def tint_of(likely: Sequence[Mapping[str, Any]]) -> dict[int, int]:
    """The tint of each category, by its place among the likely ones; later ones have none."""
    return {each["category"]: place for place, each in enumerate(likely[:N_TINTS], start=1)}


def strength_of(weight: float, strongest: float) -> int:
    """How strongly a word is shown: 0, not at all, to 3."""
    return sum(weight >= step * strongest for step in STEPS) if weight > 0 else 0


def pieces(document: Mapping[str, Any]) -> Iterator[Piece]:
    """The text of a document, piece by piece; joined they are the text."""
    text, words, likely = document["text"], document["words"], document["likely"]
    tints, names = tint_of(likely), {each["category"]: each["name"] for each in likely}
    strongest = max((each["weight"] for each in words), default=0.0)
    done = 0
    for start, end, index in document["spans"]:
        word = words[index]
        tint, strength = tints.get(word["category"], 0), strength_of(word["weight"], strongest)
        if not tint or not strength or start < done:
            continue
        if start > done:
            yield Piece(text[done:start])
        yield Piece(text[start:end], tint, strength, f"for {names[word['category']]}: {word['weight']:.1f} nats")
        done = end
    if done < len(text):
        yield Piece(text[done:])


def speaking(document: Mapping[str, Any]) -> list[Speaking]:
    """Which words speak for each likely category, in the order of these; those without a word are left out."""
    words = sorted(document["words"], key=lambda each: -each["weight"])
    strongest = max((each["weight"] for each in words), default=0.0)
    found = []
    for tint, category in enumerate(document["likely"][:N_TINTS], start=1):
        mine = [
            each["word"]
            for each in words
            if each["category"] == category["category"] and strength_of(each["weight"], strongest)
        ]
        if mine:
            found.append(Speaking(tint, category["name"], mine[:MOST_WORDS]))
    return found
