"""What real corpora have and benchmark corpora lack: copies, uneven labels, few labels, texts of all lengths.

A problem's definition may ask for it (see `benchmarks.problems`); made by chance alone, from the split's number.

`copies`   {"share", "times", "near"}: that share of the documents comes `times` more, with a word changed if near
`rates`    {label: share}: of that category's documents so many are labeled, instead of `train_fraction`
`labels`   n: of each known category so many documents are labeled
`cut`      {"share", "most"}: that share of the unlabeled documents is cut to 1 to `most` of its words
"""

import random
from typing import Any, NamedTuple


class Document(NamedTuple):
    """One document of a problem."""

    text: str
    category: str
    is_labeled: bool
    id: str = ""  # in its data set


def n_labels(definition: dict[str, Any], label: str, n_documents: int) -> int:
    """How many documents of a known category are labeled."""
    if "labels" in definition:
        return min(int(definition["labels"]), n_documents)
    return round(float(definition.get("rates", {}).get(label, definition["train_fraction"])) * n_documents)


def with_mess(documents: list[Document], definition: dict[str, Any], dice: random.Random) -> list[Document]:
    """The documents as the definition asks for them."""
    if "cut" in definition:
        documents = [cut(document, dice, **definition["cut"]) for document in documents]
    if "copies" in definition:
        documents = documents + copies(documents, dice, **definition["copies"])
    return documents


def cut(document: Document, dice: random.Random, share: float, most: int) -> Document:
    """The document, or a few words of it in their order."""
    words = document.text.split()
    if document.is_labeled or dice.random() >= share or not words:
        return document
    n = dice.randint(1, most)
    first = dice.randrange(max(len(words) - n, 0) + 1)
    return document._replace(text=" ".join(words[first : first + n]))


def copies(documents: list[Document], dice: random.Random, share: float, times: int, near: bool) -> list[Document]:
    """Copies of some documents; no copy is labeled."""
    chosen = dice.sample(documents, round(share * len(documents)))
    return [
        document._replace(text=changed(document.text, dice) if near else document.text, is_labeled=False)
        for document in chosen
        for _ in range(times)
    ]


def changed(text: str, dice: random.Random) -> str:
    """The text with one of its words twice, as versions and replies differ."""
    words = text.split()
    return f"{dice.choice(words)} {text}" if words else text
