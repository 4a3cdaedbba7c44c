"""The words of a text in the tints of the categories that they speak for."""

from collections.abc import Iterator, Mapping
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


def tint_of(document: Mapping[str, Any]) -> dict[int, int]:
    """The tint of each category: by its place among the likely ones, then others that words speak for."""
    named = [*document["likely"], *(document["words"] or [])]
    categories = dict.fromkeys(each["category"] for each in named)
    return {category: place for place, category in enumerate(categories, start=1) if place <= N_TINTS}


def strength_of(weight: float, strongest: float) -> int:
    """How strongly a word is shown: 0, not at all, to 3."""
    return sum(weight >= step * strongest for step in STEPS) if weight > 0 else 0


def strongest(document: Mapping[str, Any]) -> float:
    """The weight of the word that speaks most."""
    return max((each["weight"] for each in document["words"] or []), default=0.0)


def pieces(document: Mapping[str, Any], names: Mapping[int, str]) -> Iterator[Piece]:
    """The text of a document, piece by piece; joined they are the text. `names` are those of categories."""
    text, words, tints, most = document["text"], document["words"] or [], tint_of(document), strongest(document)
    done = 0
    for start, end, index in document["spans"] or []:
        word = words[index]
        tint, strength = tints.get(word["category"], 0), strength_of(word["weight"], most)
        if not tint or not strength or start < done:
            continue
        if start > done:
            yield Piece(text[done:start])
        tells = f"for {names.get(word['category'], 'another category')}: {word['weight']:.1f} nats"
        yield Piece(text[start:end], tint, strength, tells)
        done = end
    if done < len(text):
        yield Piece(text[done:])


def speaking(document: Mapping[str, Any], names: Mapping[int, str]) -> list[Speaking]:
    """Which words speak for each category that has a tint; those without such a word are left out."""
    most = strongest(document)
    heard = [each for each in document["words"] or [] if strength_of(each["weight"], most)]
    heard.sort(key=lambda each: -each["weight"])
    found = []
    for category, tint in tint_of(document).items():
        mine = [each["word"] for each in heard if each["category"] == category]
        if mine and category in names:
            found.append(Speaking(tint, names[category], mine[:MOST_WORDS]))
    return found
