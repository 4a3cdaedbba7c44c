"""The language of texts, as their words show it: by their script, and by the stop words among them."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from sampler.text.scripts import script_of
from sampler.text.stop_words import languages_by_stop_word

CJK = "Han and kana"
KANA = ("Hiragana", "Katakana")
KANA_SHARE = 0.1  # of the words of a Japanese text, at least
# Scripts that tell a language, or nearly.
LANGUAGE_OF_SCRIPT = {
    "Armenian": "hy",
    "Bengali": "bn",
    "Georgian": "ka",
    "Greek": "el",
    "Gujarati": "gu",
    "Gurmukhi": "pa",
    "Hangul": "ko",
    "Hebrew": "he",
    "Kannada": "kn",
    "Khmer": "km",
    "Lao": "lo",
    "Malayalam": "ml",
    "Myanmar": "my",
    "Sinhala": "si",
    "Tamil": "ta",
    "Telugu": "te",
    "Thai": "th",
}
UKRAINIAN_LETTERS, UKRAINIAN_SHARE = "іїєґ", 0.1  # of the words of a Ukrainian text; its list of stop words is short
LEAST_SHARE = 0.1  # of the words: stop words of a language, if the texts are in it
LEAST_SCRIPT = 0.15  # of the words of a corpus: in a script whose language matters

Frequency = Mapping[str, int]  # how often words occur, or in how many documents


class Script(NamedTuple):
    """The words of one script; those of Chinese and Japanese are one."""

    name: str
    share: float  # of all words
    frequency: Frequency

    @property
    def language(self) -> str | None:
        """The language that most of the words are in, as ISO 639-1 has it; None if they do not show it."""
        if self.name == CJK:
            kana = sum(n for word, n in self.frequency.items() if script_of(word) in KANA)
            return "ja" if kana >= KANA_SHARE * sum(self.frequency.values()) else "zh"
        if self.name in LANGUAGE_OF_SCRIPT:
            return LANGUAGE_OF_SCRIPT[self.name]
        if self.name == "Cyrillic" and is_ukrainian(self.frequency):
            return "uk"
        return language_by_stop_words(self.frequency)


def scripts_of(frequency: Iterable[tuple[str, int]]) -> list[Script]:
    """The scripts of words that occur so often, the largest first. O(V) time."""
    found: defaultdict[str, dict[str, int]] = defaultdict(dict)
    for word, n in frequency:
        script = "Latin" if word.isascii() else script_of(word)
        found[CJK if script in ("Han", *KANA) else script][word] = n
    totals = {name: sum(words.values()) for name, words in found.items()}
    total = max(sum(totals.values()), 1)
    scripts = [Script(name, totals[name] / total, words) for name, words in found.items()]
    return sorted(scripts, key=lambda script: (-script.share, script.name))


def language_of(frequency: Frequency) -> str | None:
    """The language of most words, None if they do not show it."""
    return next((script.language for script in scripts_of(frequency.items())), None)


def is_ukrainian(frequency: Frequency) -> bool:
    """Whether so many words have letters that Russian and Bulgarian lack."""
    n = sum(n for word, n in frequency.items() if any(letter in word for letter in UKRAINIAN_LETTERS))
    return n >= UKRAINIAN_SHARE * sum(frequency.values())


def language_by_stop_words(frequency: Frequency) -> str | None:
    """The language whose stop words are most, each of them a part if several languages list it; None if too few."""
    scores: defaultdict[str, float] = defaultdict(float)
    listed: Counter[str] = Counter()
    by_word = languages_by_stop_word()
    for word in sorted(frequency.keys() & by_word.keys()):  # in one order: sums of floats depend on it
        n = frequency[word]
        for language in by_word[word]:
            scores[language] += n / len(by_word[word])
            listed[language] += n
    if not scores:
        return None
    best = min(scores, key=lambda language: (-scores[language], language))
    return best if listed[best] >= LEAST_SHARE * sum(frequency.values()) else None
