"""Frozen models: files that are what they were or are refused, and answers that a second road gives as well."""

import hashlib
import json
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import logsumexp, softmax

from sampler.answers.consensus import Consensus
from sampler.answers.others import no_others
from sampler.calibrated.bags import WordBags, tf_idf, word_bags
from sampler.copies import Texts, texts_from
from sampler.corpus import NO_CATEGORY, UNLABELED, Array, Corpus
from sampler.frozen import model
from sampler.frozen.answering import FrozenAnswer, answer, energy_of, novelty_among, scores_of
from sampler.frozen.answering import tf_idf as tf_idf_of_one
from sampler.frozen.freeze import cut_to, freeze, judge, shuffled
from sampler.frozen.model import FrozenModel, ModelError
from sampler.numerics.threads import Threads
from tests.sampler.calibrated_harness import QUICK, easy

FACTS = {"categories": [{"name": name, "known": name != "new 1"} for name in ("a", "b", "new 1")]}
N_KNOWN = 2
FLOAT32 = 1e-4  # sums of some thirty terms in float32 against float64


def consensus_for(texts: Texts, truth: Array) -> Consensus:
    """The truth as an answer, with a document that has none."""
    n, category = truth.size, truth.astype(np.int32)
    category[-1] = NO_CATEGORY
    second = ((truth + 1) % 3).astype(np.int32)
    probability = np.where(category == NO_CATEGORY, np.nan, np.linspace(0.6, 0.9, n))
    known = np.where(category == NO_CATEGORY, np.nan, np.linspace(0.1, 0.8, n))
    return Consensus(3, category, probability, second, (1.0 - probability) / 2.0, known, *no_others(n))


@pytest.fixture(scope="module")
def frozen() -> tuple[Texts, Consensus, FrozenModel]:
    """A model of an easy corpus; the document number d has the mark 1000 - d."""
    posed = easy([60, 60, 60], [25, 25, 0])
    texts = texts_from(posed.corpus, np.arange(posed.corpus.n_documents, dtype=np.int32))
    consensus = consensus_for(texts, posed.truth)
    marks = (1_000 - np.arange(posed.corpus.n_documents)).astype(np.uint64)
    return texts, consensus, frozen_of(texts, consensus, marks, 1)


def frozen_of(texts: Texts, consensus: Consensus, marks: Array, n_threads: int) -> FrozenModel:
    """The model of these answers."""
    with Threads(n_threads) as threads:
        judged = judge(texts.corpus, consensus, QUICK, 1, threads)
        assert judged is not None
        judged = judged._replace(rates=np.array([0.4, np.nan]), chance=np.array([0.9, 0.8, 0.7]))
        return freeze(texts, marks, consensus, judged, QUICK, 1, threads)


def bag(corpus: Corpus, document: int) -> tuple[Array, Array]:
    """The distinct words of a document, and how often each occurs."""
    words = corpus.words[corpus.offsets[document] : corpus.offsets[document + 1]]
    distinct, counts = np.unique(words.astype(np.int64), return_counts=True)
    return distinct, counts


def answer_of(texts: Texts, found: FrozenModel, document: int, mark: int) -> FrozenAnswer:
    """What the model says of the words of a document."""
    said = answer(found, N_KNOWN, *bag(texts.corpus, document), mark)
    assert said is not None
    return said


def vocabulary(found: FrozenModel) -> list[str]:
    """A name for each word."""
    return [f"w{number}" for number in range(found.inverse_frequency.size)]


def test_a_document_of_the_job_has_the_answer_that_the_job_gave(frozen: Any) -> None:
    texts, consensus, found = frozen
    for d in range(texts.corpus.n_documents - 1):
        said = answer_of(texts, found, d, 1_000 - d)
        assert said.is_of_corpus and said.known == consensus.known[d]
        assert said.likely[0] == (consensus.category[d], consensus.probability[d])
        assert said.likely[1] == (consensus.runner_up[d], consensus.runner_up_probability[d])


def test_other_documents_are_judged_as_a_softmax_of_the_same_scores_says(frozen: Any) -> None:
    """The second road: whole rows of the corpus, times the weights, by scipy."""
    texts, _, found = frozen
    bags = word_bags(texts.corpus)
    rows = np.zeros((bags.n_documents, bags.n_words))
    rows[bags.document, bags.words] = tf_idf(bags)
    scores = rows @ found.weights[:-1].astype(np.float64) + found.weights[-1]
    probability = softmax(scores / found.temperature, axis=1) * [1.0 - 0.4, 1.0, 1.0]
    probability /= probability.sum(axis=1, keepdims=True)
    for d in range(texts.corpus.n_documents):
        said = answer_of(texts, found, d, 1)
        order = np.argsort(-probability[d])
        assert not said.is_of_corpus and [each.category for each in said.likely][:2] == order[:2].tolist()
        first = probability[d, order[0]] * found.chance[order[0]]
        assert said.likely[0].probability == pytest.approx(first, rel=FLOAT32)
        assert said.known == pytest.approx(probability[d, :N_KNOWN].sum(), rel=1e-3, abs=1e-9)
        assert all(a.probability >= b.probability for a, b in zip(said.likely, said.likely[1:], strict=False))
        values = tf_idf_of_one(found, *bag(texts.corpus, d))
        energy = energy_of(scores_of(found, bag(texts.corpus, d)[0], values))
        assert energy == pytest.approx(logsumexp(scores[d]), rel=FLOAT32)


def test_documents_get_the_categories_that_the_model_learned(frozen: Any) -> None:
    texts, consensus, found = frozen
    n = texts.corpus.n_documents - 1
    told = [answer_of(texts, found, d, 1).likely[0].category for d in range(n)]
    assert np.mean(np.array(told) == consensus.category[:n]) > 0.98  # of 179: three wrong


def test_evidence_is_what_a_word_adds_to_the_answer_and_not_to_the_runner_up(frozen: Any) -> None:
    texts, _, found = frozen
    words, counts = bag(texts.corpus, 0)
    said = answer_of(texts, found, 0, 1)
    values = tf_idf_of_one(found, words, counts)
    first, second = said.likely[0].category, said.likely[1].category
    weight = {
        int(word): float(value * (found.weights[word, first] - found.weights[word, second]))
        for word, value in zip(words, values, strict=True)
    }
    strongest = sorted(weight, key=lambda word: -weight[word])[:5]
    assert [each.word for each in said.evidence] == strongest
    for each in said.evidence:
        assert each.weight == pytest.approx(weight[each.word], rel=FLOAT32) and each.weight > 0


def test_a_document_without_a_known_word_has_no_answer(frozen: Any) -> None:
    nothing = np.empty(0, np.int64)
    assert answer(frozen[2], N_KNOWN, nothing, nothing, 1_000) is None


def test_a_document_of_foreign_words_is_novel_and_those_of_the_categories_are_not(frozen: Any) -> None:
    """Words of all categories at once are claimed by none. Of known ones one in twenty is novel: here of 120 up to 14,

    by the binomial distribution with .999.
    """
    texts, _, found = frozen
    known = [answer_of(texts, found, d, 1).novelty for d in range(120)]
    assert sum(each >= 0.95 for each in known) <= 14
    mixture = np.unique(np.concatenate([bag(texts.corpus, d)[0][:4] for d in (0, 1, 60, 61, 120, 121)]))
    said = answer(found, N_KNOWN, mixture, np.ones(mixture.size, np.int64), 1)
    assert said is not None and said.novelty > np.median(known)


def test_novelty_is_the_share_of_greater_energies_and_never_certain() -> None:
    reference = np.array([1.0, 2.0, 2.0, 5.0], np.float32)
    told = novelty_among(reference, np.array([0.0, 1.0, 2.0, 9.0], np.float32))
    np.testing.assert_allclose(told, [1 - 1 / 5, 1 - 2 / 5, 1 - 4 / 5, 0.0], atol=1e-12)


def counts_of(bags: WordBags, document: int) -> dict[int, int]:
    """How often each word occurs in a document."""
    entries = slice(bags.offsets[document], bags.offsets[document + 1])
    return dict(zip(bags.words[entries].tolist(), bags.counts[entries].tolist(), strict=True))


def test_documents_are_cut_to_a_number_of_their_own_words() -> None:
    bags = word_bags(easy([10, 10], [5, 0]).corpus)
    documents = np.array([3, 7, 15])
    whole, place = shuffled(bags, documents, 1)
    chosen = np.array([0, 2])
    for longest in (1, 3, 10_000):
        cut = cut_to(whole, place, chosen, longest)
        for d in range(2):
            own, left = counts_of(whole, chosen[d]), counts_of(cut, d)
            assert len(left) == min(longest, len(own)) and left.items() <= own.items()


def test_the_same_bytes_on_any_number_of_threads(frozen: Any) -> None:
    texts, consensus, found = frozen
    marks = (1_000 - np.arange(texts.corpus.n_documents)).astype(np.uint64)
    again = frozen_of(texts, consensus, marks, 4)
    assert model.dump(again, vocabulary(found), FACTS) == model.dump(found, vocabulary(found), FACTS)


def test_a_text_with_labels_that_differ_is_as_sure_as_they_agree() -> None:
    posed = easy([40, 40], [20, 0])
    labels = posed.corpus.labels.copy()
    copy_of = np.arange(80, dtype=np.int32)
    copy_of[1] = copy_of[2] = 0
    labels[2] = UNLABELED
    corpus = posed.corpus._replace(labels=labels)
    texts = texts_from(corpus, copy_of)
    texts = texts._replace(label_share=np.where(np.arange(texts.first.size) == 0, 2 / 3, 1.0))
    truth = posed.truth[texts.first]
    consensus = consensus_for(texts, truth)._replace(probability=np.ones(truth.size))
    with Threads() as threads:
        judged = judge(texts.corpus, consensus, replace(QUICK, n_folds=2), 1, threads)
        assert judged is not None
        found = freeze(texts, np.arange(80).astype(np.uint64), consensus, judged, QUICK, 1, threads)
    for mark in (0, 1, 2):  # marks of the first text's documents
        assert answer_of(texts, found, 0, mark).likely[0].probability == 2 / 3


def test_a_file_holds_what_was_put_into_it(frozen: Any) -> None:
    found = frozen[2]
    data = model.dump(found, vocabulary(found), FACTS)
    back = model.load(data)
    assert back.vocabulary == vocabulary(found) and back.facts == FACTS
    for name, value in found._asdict().items():
        np.testing.assert_array_equal(getattr(back.model, name), value)
    assert model.dump(back.model, back.vocabulary, back.facts) == data


@settings(max_examples=200, deadline=None)
@given(place=st.integers(0, 2**40), flipped=st.integers(1, 255), length=st.integers(0, 2**40))
def test_a_file_that_is_damaged_or_cut_off_is_refused(frozen: Any, place: int, flipped: int, length: int) -> None:
    found = frozen[2]
    data = model.dump(found, vocabulary(found), FACTS)
    damaged = bytearray(data)
    damaged[place % len(data)] ^= flipped
    for wrong in (bytes(damaged), data[: length % len(data)]):
        with pytest.raises(ModelError):
            model.load(wrong)


def forged(data: bytes, change: Any) -> bytes:
    """The file with another header, and a checksum that matches."""
    end = model.NUMBERS + int.from_bytes(data[len(model.MAGIC) + 4 : model.NUMBERS], "little")
    header = json.loads(data[model.NUMBERS : end])
    change(header)
    told = json.dumps(header).encode()
    body = data[: len(model.MAGIC) + 4] + len(told).to_bytes(8, "little") + told + data[end : -model.DIGEST_BYTES]
    return body + hashlib.sha256(body).digest()


def array_named(header: Any, name: str) -> Any:
    """What a header says of an array."""
    return next(each for each in header["arrays"] if each["name"] == name)


FORGERIES = {
    "an array beyond the end": lambda h: array_named(h, "weights").update(start=2**50),
    "an array before the beginning": lambda h: array_named(h, "weights").update(start=-64),
    "an array of another type": lambda h: array_named(h, "weights").update(type="|O8"),
    "a negative size": lambda h: array_named(h, "marks").update(shape=[-1]),
    "a size that overflows": lambda h: array_named(h, "marks").update(shape=[2**63]),
    "a size that is no number": lambda h: array_named(h, "marks").update(shape=["1"]),
    "other sizes": lambda h: array_named(h, "chance").update(shape=[2]),
    "an unknown array": lambda h: h["arrays"].append({"name": "more", "type": "<f8", "shape": [0], "start": 0}),
    "a missing array": lambda h: h["arrays"].pop(),
    "no arrays": lambda h: h.pop("arrays"),
    "a temperature of 0": lambda h: h["scalars"].update(temperature=0),
    "a temperature that is no number": lambda h: h["scalars"].update(temperature="hot"),
    "no facts": lambda h: h.pop("facts"),
    "more categories": lambda h: h["facts"]["categories"].append({"name": "c", "known": True}),
    "categories that are none": lambda h: h["facts"].update(categories=7),
    "indices as numbers": lambda h: array_named(h, "category").update(start=array_named(h, "probability")["start"]),
}


@pytest.mark.parametrize("change", FORGERIES.values(), ids=FORGERIES)
def test_a_file_that_lies_about_itself_is_refused(frozen: Any, change: Any) -> None:
    found = frozen[2]
    data = model.dump(found, vocabulary(found), FACTS)
    assert model.load(forged(data, lambda header: None)).facts == FACTS
    with pytest.raises(ModelError):
        model.load(forged(data, change))
