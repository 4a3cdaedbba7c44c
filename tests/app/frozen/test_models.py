"""Files of models that say odd things of themselves are refused, whatever they say."""

import json
from contextlib import suppress
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.frozen.models import opened
from sampler.answers.others import no_others
from sampler.frozen.model import FrozenModel, ModelError, dump
from sampler.text import TextOptions

FACTS: dict[str, Any] = {
    "job": "b9a1d7c2-1f6e-4a38-8f0b-6f2f4f1f7e15",
    "categories": [{"name": "optics", "known": True, "id": "c-4q0m9z"}, {"name": "new 1", "known": False, "id": None}],
    "text": json.loads(json.dumps(TextOptions().__dict__)),
    "texts": {"language": "en", "stop_words": ["en"], "stemming": None},
}
ANY_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters(codec=None), max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)


def file(facts: Any, vocabulary: list[str] | None = None) -> bytes:
    """A model of two words, three texts and two categories, with these facts."""
    words = ["light", "plasma"] if vocabulary is None else vocabulary
    ones, others = np.ones(3), no_others(3)
    model = FrozenModel(
        weights=np.eye(len(words) + 1, 2, dtype=np.float32),
        inverse_frequency=np.ones(len(words)),
        temperature=1.0,
        unlabeled=np.ones(2),
        chance=np.ones(2),
        sizes=np.array([1]),
        starts=np.array([0, 2]),
        reference=np.array([0.1, 0.2], np.float32),
        expected_novel=0.05,
        marks=np.arange(3, dtype=np.uint64),
        text_of_mark=np.arange(3, dtype=np.int32),
        category=np.zeros(3, np.int32),
        probability=ones,
        known=ones,
        runner_up=np.ones(3, np.int32),
        runner_up_probability=ones,
        others=others[0],
        other_probability=others[1],
    )
    return dump(model, words, facts)


def test_a_model_that_is_right_is_opened() -> None:
    found = opened(file(FACTS))
    assert (found.n_known, found.job, [each.name for each in found.categories]) == (
        1,
        FACTS["job"],
        ["optics", "new 1"],
    )
    assert [found.reader.names[word] for word in found.reader.read("the light").words] == ["light"]


WRONG: dict[str, Any] = {
    "a job that is no text": {"job": 7},
    "a job with a NUL": {"job": "a\0"},
    "no job": {"job": None},
    "a name of half a character": {"categories": [{"name": "\ud800", "known": True}, {"name": "b", "known": False}]},
    "a name without end": {"categories": [{"name": "a" * 1000, "known": True}, {"name": "b", "known": False}]},
    "known neither true nor false": {"categories": [{"name": "a", "known": 1}, {"name": "b", "known": False}]},
    "new ones first": {"categories": [{"name": "a", "known": False}, {"name": "b", "known": True}]},
    "an option that nobody knows": {"text": {"run": "rm"}},
    "an option out of range": {"text": {"word_ngrams": 99}},
    "an option of another type": {"text": {"min_word_length": "long"}},
    "no options": {"text": None},
    "a stemmer that nobody has": {"texts": {"stemming": "os"}},
    "a stemmer that is no text": {"texts": {"stemming": ["en"]}},
    "stop words that are none": {"texts": {"stop_words": 7}},
}


@pytest.mark.parametrize("change", WRONG.values(), ids=WRONG)
def test_a_model_with_odd_facts_is_refused(change: Any) -> None:
    with pytest.raises(ModelError):
        opened(file({**FACTS, **change}))


def test_a_vocabulary_that_no_answer_can_hold_is_refused() -> None:
    with pytest.raises(ModelError):
        opened(file(FACTS, ["light", "\udc80"]))


@settings(max_examples=300, deadline=None)
@given(name=st.sampled_from([*FACTS]), inner=st.sampled_from([None, *FACTS["text"], *FACTS["texts"]]), value=ANY_JSON)
def test_whatever_facts_say_a_model_is_opened_or_refused(name: str, inner: str | None, value: Any) -> None:
    told: Any = value if inner is None or not isinstance(FACTS[name], dict) else {**FACTS[name], inner: value}
    with suppress(ModelError):
        opened(file({**FACTS, name: told}))
