"""Texts to tokens against scikit-learn's CountVectorizer (a test-only dependency) and against themselves."""

import numpy as np
import pytest
from sklearn.feature_extraction.text import CountVectorizer

from sampler.copies import find_copies
from sampler.corpus import UNLABELED, fingerprint
from sampler.text import TextOptions, encode, has_usable_word, words_of

EVERYTHING = TextOptions(stop_words="none", min_word_length=1, min_document_frequency=1)


def random_texts(seed: int, n: int = 200) -> list[str]:
    """ASCII texts without apostrophes: words, numbers, mixtures and signs, some texts empty."""
    rng = np.random.default_rng(seed)
    pieces = ["Apple", "apple", "b", "b2b", "42", "x_y", "no-where", "the", "of", "Zebra!", "(ibex)", "1st", "a"]
    pieces += ["gnu,gnu"]
    pieces += ["".join(rng.choice(list("abcde"), 3)) for _ in range(60)]
    return [" ".join(rng.choice(pieces, rng.integers(0, 30))) for _ in range(n)]


def document_word_counts(encoded) -> np.ndarray:
    """int[D, V]."""
    corpus = encoded.corpus
    counts = np.zeros((corpus.n_documents, corpus.n_words), int)
    np.add.at(counts, (np.repeat(np.arange(corpus.n_documents), corpus.lengths), corpus.words), 1)
    return counts


@pytest.mark.parametrize("min_document_frequency", [1, 5, 20])
@pytest.mark.parametrize("min_word_length", [1, 2, 3])
@pytest.mark.parametrize("stop_words", [(), ("the", "Of", "apple")])
def test_counts_are_those_of_scikit_learn(
    min_document_frequency: int, min_word_length: int, stop_words: tuple[str, ...]
) -> None:
    texts = random_texts(51)
    options = TextOptions("none", stop_words, min_word_length, min_document_frequency)
    encoded = encode(texts, [None] * len(texts), options)
    # a word is read from its first letter on, so "1st" holds "st" and "42" nothing
    tokens_of = CountVectorizer(token_pattern=r"[a-z][a-z0-9]*").build_tokenizer()
    stopped = [word.lower() for word in stop_words]
    vectorizer = CountVectorizer(
        analyzer=lambda text: [
            word for word in tokens_of(text.lower()) if len(word) >= min_word_length and word not in stopped
        ],
        min_df=min_document_frequency,
    )
    expected = vectorizer.fit_transform(texts).toarray()
    assert encoded.vocabulary == vectorizer.get_feature_names_out().tolist()
    np.testing.assert_array_equal(document_word_counts(encoded), expected)


def test_the_order_of_documents_permutes_rows_only() -> None:
    texts = random_texts(52)
    rng = np.random.default_rng(53)
    labels = [None if rng.random() < 0.5 else str(rng.choice(["zoo", "art", "Öl"])) for _ in texts]
    options = TextOptions()
    straight = encode(texts, labels, options)
    order = rng.permutation(len(texts))
    shuffled = encode([texts[d] for d in order], [labels[d] for d in order], options)
    assert shuffled.vocabulary == straight.vocabulary == sorted(straight.vocabulary)
    assert shuffled.categories == straight.categories == ["art", "zoo", "Öl"]
    np.testing.assert_array_equal(document_word_counts(shuffled), document_word_counts(straight)[order])
    np.testing.assert_array_equal(shuffled.corpus.labels, straight.corpus.labels[order])
    assert fingerprint(encode(iter(texts), labels, options).corpus) == fingerprint(straight.corpus)


def test_tokens_keep_their_order() -> None:
    encoded = encode(["c a b a", "b"], [None, None], EVERYTHING)
    assert [encoded.vocabulary[w] for w in encoded.corpus.words] == ["c", "a", "b", "a", "b"]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("हिन्दी में लिखा है", ["हिन्दी", "में", "लिखा", "है"]),  # vowel signs and viramas are marks: they do not part words
        ("e\u0301te\u0301 été", ["été", "été"]),  # composed and decomposed are one word
        ("\ufb01sh \uff26\uff55\uff4c\uff4c", ["fish", "full"]),  # a ligature and wide letters, by NFKC
        ("STRASSE Straße", ["strasse", "strasse"]),  # case folding, not lowering
        ("don't don\u2019t", ["don't", "don't"]),
        ("the dog's bone, the dogs' bones, James's", ["the", "dog", "bone", "the", "dogs", "bones", "james"]),
        ("'quoted' o'clock's rock'n'roll", ["quoted", "o'clock", "rock'n'roll"]),
        ("co2 2co h2o 4 1,000 x86_64", ["co2", "co", "h2o", "x86"]),
        ("well-known e-mail a.b", ["well", "known", "e", "mail", "a", "b"]),
        ("東京 Москва Ελλάδα", ["東京", "москва", "ελλάδα"]),
        ("", []),
        ("  \n\t 123 --- !?", []),
    ],
)
def test_words_are_letters_with_their_marks_and_digits(text: str, words: list[str]) -> None:
    assert words_of(text) == words


def test_stop_words_are_folded_like_texts() -> None:
    options = TextOptions("en", ("Don\u2019t", "FOO's"), 1, 1)
    encoded = encode(["The don't DON'T foo foo's bar"], [None], options)
    assert encoded.vocabulary == ["bar"]


def mixed(n_words: int, n_documents: int = 40) -> list[str]:
    """Texts of so many content words in the mean, each behind an article; a word in eighteen is "ibexa"."""
    rng = np.random.default_rng(55)
    words = [f"{first}{last}" for first in ("gnu", "ibex", "lynx") for last in "abcdef"]
    texts = []
    for d in range(n_documents):
        n = n_words + (1 if d % 2 else -1)
        texts.append(" ".join(f"the {word}" for word in rng.choice(words, n)))
    return texts


@pytest.mark.parametrize(("n_words", "same_as"), [(4, "none"), (9, "none"), (11, "en"), (30, "en")])
def test_stop_words_stay_where_texts_are_short_without_them(n_words: int, same_as: str) -> None:
    texts = mixed(n_words)
    labels = [None] * len(texts)
    found, expected = (encode(texts, labels, TextOptions(name, ("ibexa",))) for name in ("auto", same_as))
    assert found.vocabulary == expected.vocabulary and ("the" in found.vocabulary) == (same_as == "none")
    assert fingerprint(found.corpus) == fingerprint(expected.corpus)


def test_words_below_the_document_frequency_do_not_make_texts_longer() -> None:
    texts = [f"{text} {' '.join(f'rare{d}x{i}' for i in range(20))}" for d, text in enumerate(mixed(6))]
    assert "the" in encode(texts, [None] * len(texts), TextOptions()).vocabulary


def test_documents_without_a_word_stay_and_their_labels_count() -> None:
    encoded = encode(["", "alpha", "!!"], ["empty", None, None], EVERYTHING)
    assert encoded.corpus.lengths.tolist() == [0, 1, 0]
    assert encoded.categories == ["empty"] and encoded.corpus.labels.tolist() == [0, UNLABELED, UNLABELED]
    nothing = encode([], [], EVERYTHING)
    assert nothing.corpus.n_documents == 0 and nothing.vocabulary == [] and nothing.categories == []
    rare = encode(["alpha beta", "gamma"], [None, "x"], TextOptions(min_document_frequency=2))
    assert rare.corpus.n_tokens == 0 and rare.corpus.n_words == 0 and rare.corpus.n_documents == 2


def test_labels_must_match_the_texts() -> None:
    with pytest.raises(ValueError, match="1 labels do not match 2 texts"):
        encode(["a", "b"], [None], EVERYTHING)


@pytest.mark.parametrize("wrong", [{"stop_words": "xx"}, {"min_word_length": 0}, {"min_document_frequency": 0}])
def test_options_outside_their_limits_are_refused(wrong: dict) -> None:
    (name, value), *_ = wrong.items()
    with pytest.raises(ValueError, match=f"{name} = {value!r}"):
        TextOptions(**wrong)


def test_has_usable_word_says_what_encoding_shows() -> None:
    rng = np.random.default_rng(54)
    words = ["The", "it's", "a1", "gnu", "Ibex", "yak's", "owl", "emu", "lynx", "42", "x"]
    answers = []
    for _ in range(200):
        n = rng.integers(0, 7)
        texts = [" ".join(rng.choice(words, rng.integers(0, 4))) for _ in range(n)]
        labels = [None if rng.random() < 0.5 else "known" for _ in range(n)]
        list_name = str(rng.choice(["en", "none", "auto"]))
        options = TextOptions(list_name, ("emu",), int(rng.integers(1, 5)), int(rng.integers(1, 4)))
        corpus = encode(texts, labels, options).corpus
        expected = bool((corpus.lengths[corpus.labels == UNLABELED] > 0).any())
        pairs = ((text, label is None) for text, label in zip(texts, labels, strict=True))
        assert has_usable_word(pairs, options) == expected
        answers.append(expected)
    assert 33 < sum(answers) < 167  # both answers occur often


def test_copies_are_told_by_rare_words_too() -> None:
    texts = ["alpha beta one two three", "alpha beta four five six", "alpha beta one two three"]
    encoded = encode(texts, [None] * 3, TextOptions("none", min_document_frequency=2), find_copies)
    assert encoded.copy_of.tolist() == [0, 1, 0]
    assert encode(texts, [None] * 3, EVERYTHING).copy_of.tolist() == [0, 1, 2]
