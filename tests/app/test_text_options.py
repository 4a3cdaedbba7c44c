"""Text options on their way from a request over a job's settings to the sampler."""

import json
from typing import Any

import pytest
from starlette.testclient import TestClient

from app.schemas.job_settings import JobIn
from sampler.text import TextOptions
from tests.app.rows import CORPUS
from tests.app.uploads.sending import lines, new_corpus, upload


@pytest.mark.parametrize(
    "given",
    [
        {},
        {"stop_words": ["en", "de"], "extra_stop_words": ["x"], "markup": ["mail", "html"]},
        {"min_document_frequency": 1.0, "max_document_frequency": 0.5 + 0.5},
        {"min_document_frequency": 0.01, "max_document_frequency": 1000},
        {"character_ngrams": 3, "word_ngrams": 2, "urls": "join", "numbers": "keep"},
        {"character_ngrams": "none", "language": "tr", "stemming": "auto", "max_word_length": 50},
    ],
    ids=str,
)
def test_what_a_job_stores_gives_the_options_of_its_request(given: dict[str, Any]) -> None:
    body = JobIn.model_validate_json(json.dumps({"corpus_id": CORPUS, "text": given}))
    stored = json.loads(json.dumps(body.settings()["text"]))
    options = TextOptions(**stored)
    assert options == TextOptions(**given) == body.text.options()
    assert type(options.min_document_frequency) is type(given.get("min_document_frequency", 5))
    again = JobIn.model_validate_json(json.dumps({"corpus_id": CORPUS, "text": stored}))
    assert again.text.options() == options


def test_the_settings_of_an_older_job_are_those_of_the_defaults() -> None:
    stored = {"stop_words": "auto", "extra_stop_words": [], "min_word_length": 2, "min_document_frequency": 5}
    assert TextOptions(**stored) == TextOptions()  # type: ignore[arg-type]


@pytest.mark.parametrize("kind", ["sqlite"])
def test_a_job_may_leave_out_the_stop_words_of_several_languages(client: TestClient) -> None:
    corpus = new_corpus(client)
    rows = [{"text": "galaxies at high redshift und die Sterne", "label": "a" if n else None} for n in range(9)]
    assert upload(client, corpus, lines(*({"key": str(n), **row} for n, row in enumerate(rows)))).is_success
    body = {"corpus_id": corpus.rpartition("/")[2], "text": {"stop_words": ["en", "de"]}}
    answer = client.post("/v1/jobs", json=body)
    assert answer.status_code == 202, answer.text
    assert answer.json()["settings"]["text"]["stop_words"] == ["en", "de"]
