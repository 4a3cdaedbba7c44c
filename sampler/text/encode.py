"""Texts to token arrays: the vocabulary, and what is left of each document."""

from collections.abc import Callable, Collection, Iterable, Sequence
from typing import NamedTuple

import numpy as np

from sampler.corpus import UNLABELED, Array, Corpus, validate
from sampler.text.forms import join_forms
from sampler.text.languages import LEAST_SCRIPT, scripts_of
from sampler.text.options import AUTO, NONE, TextOptions
from sampler.text.sequences import Sequences, frequent_sequences
from sampler.text.stemming import STEMMED_LANGUAGES
from sampler.text.stop_words import STOP_WORD_LANGUAGES, languages_by_stop_word, stop_list
from sampler.text.tokens import Text, Tokens, blocks, keep_words, read, tokenize

AUTO_LANGUAGE = "en"  # whose stop words go if texts do not show their language
SHORT = 10  # words that a document keeps on average: shorter texts live by their stop words


class TextFacts(NamedTuple):
    """What was chosen for the texts of a corpus."""

    language: str | None = None  # of most words, as ISO 639-1 has it; None if they do not show it
    stop_words: tuple[str, ...] = ()  # languages whose stop words were left out
    stemming: str | None = None  # the language of the stemmer


class Encoded(NamedTuple):
    """A corpus with the strings that its indices stand for."""

    corpus: Corpus
    vocabulary: list[str]  # V words in code point order
    categories: list[str]  # known categories in code point order
    copy_of: Array  # int32[D], the document that each is a copy of, or itself
    marks: Array  # uint64[D], by which texts are known again, see `tokens.mark_of`
    facts: TextFacts = TextFacts()


def encode(
    texts: Iterable[Text], labels: Sequence[str | None], options: TextOptions,
    find_copies: Callable[[Corpus], Array] | None = None,
) -> Encoded:  # fmt: skip
    """Token arrays, vocabulary and known categories of D documents; texts are read once, in order.

    The indices of words and categories follow from the strings alone, whatever the order of the documents. A document
    may be left without a token. Copies are looked for, if at all, before rare words are left out, see
    `sampler.copies.find_copies`. O(N) time, 4 bytes a token while reading, stop words included if it is to be seen
    whether they go.
    """
    tokens = read(texts, options)
    if tokens.n_documents != len(labels):
        raise ValueError(f"{len(labels)} labels do not match {tokens.n_documents} texts")
    language, lists = languages(tokens, options)
    stop_words: frozenset[str] = frozenset().union(*map(stop_list, lists))
    stemming = stemming_language(options, language)
    tokens = join_forms(tokens, stemming, stop_words)
    copy_of = np.arange(tokens.n_documents, dtype=np.int32)
    if find_copies is not None:
        nobody = np.full(tokens.n_documents, UNLABELED, np.int32)
        copy_of = find_copies(Corpus(tokens.words, tokens.offsets, nobody, len(tokens.names), 0))

    is_stop = np.array([name in stop_words and name not in tokens.ready for name in tokens.names], bool)
    if options.stop_words == AUTO and not are_long(tokens, kept_by_frequency(tokens, options) & ~is_stop):
        is_stop[:] = False
        lists = ()
    words, offsets, vocabulary = choose(tokens, is_stop, options)
    categories = sorted({label for label in labels if label is not None})
    category_of = {name: k for k, name in enumerate(categories)}
    known = [UNLABELED if label is None else category_of[label] for label in labels]
    corpus = Corpus(words, offsets, np.array(known, np.int32), len(vocabulary), len(categories))
    validate(corpus)
    facts = TextFacts(language, lists or options.stop_languages, stemming)
    return Encoded(corpus, vocabulary, categories, copy_of, tokens.marks, facts)


def languages(tokens: Tokens, options: TextOptions) -> tuple[str | None, tuple[str, ...]]:
    """The language of most texts, and with "auto" the languages whose stop words may go: of each script that matters.

    What most documents need decides, not what a few long ones say.
    """
    if options.known_language and options.stop_words != AUTO:
        return options.known_language, ()
    frequency = zip(tokens.names, tokens.document_frequency.tolist(), strict=True)
    scripts = scripts_of((word, n) for word, n in frequency if word not in tokens.ready)
    found = [script.language for script in scripts if script.share >= LEAST_SCRIPT]
    main = options.known_language or next(iter(found), None)
    if options.stop_words != AUTO:
        return main, ()
    wanted = [main, *found[1:]] if found else [main]
    lists = (language or AUTO_LANGUAGE for language in wanted)
    return main, tuple(dict.fromkeys(language for language in lists if language in STOP_WORD_LANGUAGES))


def stemming_language(options: TextOptions, language: str | None) -> str | None:
    """The language whose stems are taken; None for none."""
    if options.stemming == AUTO:
        return language if language in STEMMED_LANGUAGES else None
    return None if options.stemming == NONE else options.stemming


def kept_by_frequency(tokens: Tokens, options: TextOptions) -> Array:
    """bool[V]: whether a word is in neither too few documents nor too many."""
    least, greatest = options.least_frequency(tokens.n_documents), options.greatest_frequency(tokens.n_documents)
    return (tokens.document_frequency >= least) & (tokens.document_frequency <= greatest)


def are_long(tokens: Tokens, is_kept: Array) -> bool:
    """Whether documents that keep these words have SHORT words or more on average."""
    return sum(int(is_kept[block].sum()) for block in blocks(tokens.words)) >= SHORT * tokens.n_documents


def choose(tokens: Tokens, is_stop: Array, options: TextOptions) -> tuple[Array, Array, list[str]]:
    """Words int32[N], offsets int64[D + 1] and the vocabulary, once stop, rare and frequent words are left out."""
    least, greatest = options.least_frequency(tokens.n_documents), options.greatest_frequency(tokens.n_documents)
    is_kept = kept_by_frequency(tokens, options) & ~is_stop
    if options.word_ngrams == 1:
        return numbered(tokens.names, is_kept, tokens.words, tokens.offsets)
    sequences = frequent_sequences(tokens, is_stop, options.word_ngrams, least, greatest)
    return numbered(*with_sequences(tokens, is_kept, sequences))


def with_sequences(tokens: Tokens, is_kept: Array, sequences: Sequences) -> tuple[list[str], Array, Array, Array]:
    """Names, whether they are kept, words and offsets of documents that end with their sequences."""
    number_of_name = {name: number for number, name in enumerate(tokens.names)}
    numbers = [number_of_name.setdefault(name, len(number_of_name)) for name in sequences.names]
    all_kept = np.zeros(len(number_of_name), bool)
    all_kept[: is_kept.size] = is_kept
    all_kept[numbers] = True
    lengths = np.diff(tokens.offsets)
    documents = np.concatenate([np.repeat(np.arange(tokens.n_documents), lengths), sequences.documents])
    words = np.concatenate([tokens.words, np.array(numbers, np.int32)[sequences.numbers]]).astype(np.int32)
    more = np.bincount(sequences.documents, minlength=tokens.n_documents)
    offsets = np.concatenate([[0], np.cumsum(lengths + more)]).astype(np.int64)
    return list(number_of_name), all_kept, words[np.argsort(documents, kind="stable")], offsets


def numbered(names: list[str], is_kept: Array, words: Array, offsets: Array) -> tuple[Array, Array, list[str]]:
    """Words and offsets of the tokens that are kept, in place, and the vocabulary in code point order."""
    kept = sorted((names[word], int(word)) for word in np.flatnonzero(is_kept))
    number_of_word = np.full(len(names), -1, np.int32)
    number_of_word[[word for _, word in kept]] = np.arange(len(kept))
    return *keep_words(number_of_word, words, offsets), [name for name, _ in kept]


def has_usable_word(documents: Iterable[tuple[Text, bool]], options: TextOptions) -> bool:
    """Whether an unlabeled document keeps a word of the vocabulary.

    `documents` are pairs of a text and whether it is unlabeled. Mostly a few of them show it; else all are encoded.
    """
    listed = list(documents)
    if options.max_document_frequency is None and soon_has_usable_word(listed, options):
        return True
    corpus = encode((text for text, _ in listed), [None if is_unlabeled else "" for _, is_unlabeled in listed], options)
    return bool((corpus.corpus.lengths[corpus.corpus.labels == UNLABELED] > 0).any())


def soon_has_usable_word(documents: Collection[tuple[Text, bool]], options: TextOptions) -> bool:
    """Whether a form that no list of stop words has is frequent enough, and in an unlabeled document.

    Stops reading as soon as one is. Forms that are joined to one word are in more documents, not in fewer.
    """
    least = options.least_frequency(len(documents))
    perhaps_stop_words = languages_by_stop_word() if options.stop_words == AUTO else {}
    frequency: dict[str, int] = {}
    in_unlabeled: set[str] = set()
    for words, (_, is_unlabeled) in zip(tokenize((text for text, _ in documents), options), documents, strict=True):
        for word in set(words):
            if word in perhaps_stop_words:
                continue
            frequency[word] = frequency.get(word, 0) + 1
            if is_unlabeled:
                in_unlabeled.add(word)
            if frequency[word] >= least and word in in_unlabeled:
                return True
    return False
