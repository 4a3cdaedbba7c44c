"""Where words begin and end, and how they are written, in many scripts."""

# ruff: noqa: RUF001  # letters that look like others are what this is about

import unicodedata
from time import process_time

import pytest
from hypothesis import assume, given
from hypothesis.strategies import characters, lists, sampled_from, text

from sampler.text import words_of


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("The Café’s menu, co-written", ["the", "café", "menu", "co", "written"]),  # English
        ("Die Straße, STRASSE und Weißwürste", ["die", "strasse", "strasse", "und", "weisswürste"]),  # German
        ("L’été à Nîmes", ["l'été", "à", "nîmes"]),  # French
        ("El niño dañó el pingüino", ["el", "niño", "dañó", "el", "pingüino"]),  # Spanish
        ("Żółta ŁÓDŹ", ["żółta", "łódź"]),  # Polish
        ("Tiếng Việt được viết", ["tiếng", "việt", "được", "viết"]),  # Vietnamese
        ("Москва — ГОРОД, ёлка", ["москва", "город", "ёлка"]),  # Russian
        ("Об’єднана Україна", ["об'єднана", "україна"]),  # Ukrainian
        ("Ο ΛΌΓΟΣ του Σωκράτη, λόγος", ["ο", "λόγος", "του", "σωκράτη", "λόγος"]),  # Greek
        ("İSTANBUL ILIK ığdır", ["istanbul", "ılık", "ığdır"]),  # Turkish, by its letters
        ("كِتَابٌ كتاب كتـــاب", ["كتاب", "كتاب", "كتاب"]),  # Arabic: with vowel signs, without, drawn long
        ("می\u200cآیند و کتاب", ["می\u200cآیند", "و", "کتاب"]),  # Persian: a joiner parts no word
        ("שָׁלוֹם שלום בֵּית־סֵפֶר", ["שלום", "שלום", "בית", "ספר"]),  # Hebrew
        ("हिन्दी में लिखा", ["हिन्दी", "में", "लिखा"]),  # Hindi
        ("தமிழ் மொழி", ["தமிழ்", "மொழி"]),  # Tamil
        ("한국어 책을 나", ["한국어", "책을", "나"]),  # Korean
        ("機械学習とＡＩ", ["機械", "械学", "学習", "習と", "ai"]),  # Japanese
        ("カタカナ ｶﾞ", ["カタ", "タカ", "カナ", "ガ"]),  # half width, with its mark
        ("サーバー", ["サー", "ーバ", "バー"]),  # the mark of a long vowel
        ("他是iPhone15用户，中", ["他是", "iphone15", "用户", "中"]),  # Chinese
        ("ภาษาไทย", ["ภา", "าษ", "ษา", "าไ", "ไท", "ทย"]),  # Thai
        ("น้ำที่", ["น้ํ" + "า", "าที่"]),  # marks stay with their letters
        ("ພາສາ", ["ພາ", "າສ", "ສາ"]),  # Lao
        ("ខ្មែរ", ["ខ្មែ", "មែរ"]),  # Khmer
        ("မြန်မာ", ["မြန်", "န်မာ"]),  # Burmese
    ],
)
def test_words_of_many_languages(text: str, words: list[str]) -> None:
    assert words_of(text) == words


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("λόγοσ λόγος ΛΌΓΟΣ", ["λόγος"] * 3),  # whatever its last letter was
        ("σ ΟΔΥΣΣΕΎΣ Σ1", ["σ", "οδυσσεύς", "σ1"]),
        ("\u0390 \u1fd3", ["\u0390"] * 2),  # folding takes these apart
        ("i\u0307stanbul İstanbul", ["istanbul"] * 2),  # no dot is left over
    ],
)
def test_case_folding_leaves_no_artefact(text: str, words: list[str]) -> None:
    assert words_of(text) == words


@pytest.mark.parametrize(
    ("text", "turkish", "words"),
    [
        ("ISPARTA IŞIK", True, ["ısparta", "ışık"]),
        ("ISPARTA IŞIK", False, ["isparta", "işik"]),
        ("IBM Istanbul Diyarbakır", False, ["ibm", "istanbul", "diyarbakır"]),
        ("IBM hired Tayyip Erdoğan’s adviser in Istanbul for ten years", None, None),
        ("Iğdır ılık IŞIK", None, ["ığdır", "ılık", "ışık"]),
    ],
)
def test_a_capital_i_is_dotless_in_turkish_alone(text: str, turkish: bool | None, words: list[str] | None) -> None:
    expected = words or ["ibm", "hired", "tayyip", "erdoğan", "adviser", "in", "istanbul", "for", "ten", "years"]
    assert words_of(text, turkish=turkish) == expected


@pytest.mark.parametrize(
    ("length", "words"),
    [
        (None, ["人工智能技术", "ai", "中", "ไทย"]),
        (2, ["人工", "工智", "智能", "能技", "技术", "ai", "中", "ไท", "ทย"]),
        (3, ["人工智", "工智能", "智能技", "能技术", "ai", "中", "ไทย"]),
    ],
)
def test_runs_of_scripts_without_spaces_are_cut_as_asked(length: int | None, words: list[str]) -> None:
    assert words_of("人工智能技术 AI 中 ไทย", ngram_length=length) == words


@pytest.mark.parametrize(
    ("urls", "words"),
    [
        ("keep", ["ask", "ann", "x", "org", "http", "a", "b", "c", "www", "d", "de", "end"]),
        ("drop", ["ask", "end"]),
        ("join", ["ask", "<email>", "<url>", "<url>", "end"]),
    ],
)
def test_addresses_are_kept_dropped_or_joined(urls: str, words: list[str]) -> None:
    assert words_of("Ask ann@x.org, http://a.b/c?1 www.d.de end", urls=urls) == words


def test_an_address_ends_where_chinese_begins() -> None:
    assert words_of("见https://x.com/a。然后", urls="join") == ["见", "<url>", "然后"]


@pytest.mark.parametrize(
    ("numbers", "words"),
    [
        ("drop", ["g", "error", "co2", "st", "月"]),
        ("keep", ["4g", "error", "404", "co2", "1", "000", "5", "1st", "5", "月"]),
        ("join", ["4g", "error", "<number>", "co2", "<number>", "1st", "<number>", "月"]),
    ],
)
def test_numbers_are_dropped_kept_or_joined(numbers: str, words: list[str]) -> None:
    assert words_of("4G error 404, CO2 1,000.5 1st 5月", numbers=numbers) == words


UNUSUAL = "İıσςΣßŉǰΐ\u0345\u0307\u0301\u05b8\u064e\u0640\u200d\u200c\u00ad\u2019'’가ᄀกำ中カーﾞ٣9aA@.:/<"
MIXED = text(characters() | sampled_from(UNUSUAL))


@given(MIXED, sampled_from([None, True, False]), sampled_from([None, 2, 3]), sampled_from(["keep", "drop", "join"]))
def test_whatever_the_text_is_words_come_out(
    given_text: str, turkish: bool | None, length: int | None, urls: str
) -> None:
    for numbers in ("drop", "keep", "join"):
        words = words_of(given_text, turkish=turkish, ngram_length=length, urls=urls, numbers=numbers)
        assert all(word and not any(map(str.isspace, word)) for word in words)


@given(MIXED)
def test_words_of_words_are_the_words(given_text: str) -> None:
    words = words_of(given_text, turkish=False)
    assume(not any(word.endswith("'s") for word in words))  # one ending is taken off at a time
    assert words_of(" ".join(words), turkish=False) == words


@given(MIXED)
def test_all_unicode_forms_of_a_text_have_the_same_words(given_text: str) -> None:
    for form in ("NFC", "NFD", "NFKC", "NFKD"):
        assert words_of(unicodedata.normalize(form, given_text), turkish=False) == words_of(given_text, turkish=False)


@given(lists(sampled_from(["the", "Dog's", "co2", "4g", "x", "don't", "I", "1,000"])))
def test_ascii_has_the_words_that_it_has_among_other_letters(parts: list[str]) -> None:
    """ASCII has a pattern of its own: a word that is not ASCII makes the other one read the text."""
    plain = " ".join(parts)
    assert [*words_of(plain), "é"] == words_of(f"{plain} é")


def test_a_nasty_text_is_read_in_linear_time() -> None:
    """It takes a second; what took the square of its length would take an hour."""
    start = process_time()
    for nasty in ("a." * 200_000, "a@" * 200_000, "'" * 400_000, "<" * 400_000, "é" + "\u0301" * 100_000):
        assert len(words_of(nasty, urls="join", numbers="join")) <= 200_000
    assert process_time() - start < 60.0
