"""Stems of words, by language: an extra of the installation."""

from collections.abc import Callable
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from typing import Any

# Languages by their ISO 639-1 code, as the library names their stemmers.
STEMMERS = {
    "ar": "arabic",
    "ca": "catalan",
    "cs": "czech",
    "da": "danish",
    "de": "german",
    "el": "greek",
    "en": "english",
    "eo": "esperanto",
    "es": "spanish",
    "et": "estonian",
    "eu": "basque",
    "fa": "persian",
    "fi": "finnish",
    "fr": "french",
    "ga": "irish",
    "hi": "hindi",
    "hu": "hungarian",
    "hy": "armenian",
    "id": "indonesian",
    "it": "italian",
    "lt": "lithuanian",
    "ne": "nepali",
    "nl": "dutch",
    "no": "norwegian",
    "pl": "polish",
    "pt": "portuguese",
    "ro": "romanian",
    "ru": "russian",
    "sr": "serbian",
    "st": "sesotho",
    "sv": "swedish",
    "ta": "tamil",
    "tr": "turkish",
    "yi": "yiddish",
}
STEMMED_LANGUAGES = tuple(STEMMERS)


@cache
def can_stem() -> bool:
    """Whether the extra is installed."""
    return find_spec("snowballstemmer") is not None


def stemmer(language: str) -> Callable[[str], str]:
    """What gives a word's stem. Not for several threads at once: each takes one of its own."""
    name = STEMMERS[language]
    # The class in Python, not its compiled twin, which may be of another version: the same words, the same stems.
    module = import_module(f"snowballstemmer.{name}_stemmer")
    made: Any = getattr(module, f"{name.capitalize()}Stemmer")()
    stem_word: Callable[[str], str] = made.stemWord
    return stem_word
