"""The forms for jobs and comparisons: all that they offer is what the API takes, with its limits and defaults."""

import json
import re
from html import unescape

import pytest
from pydantic import BaseModel
from starlette.testclient import TestClient

from app.core.kinds import MODELS
from app.core.settings import Settings
from app.http import main
from app.schemas.job_settings import BASELINES, CalibratedIn, HyperparametersIn, JobIn
from app.schemas.text import TextIn
from tests.app.page.seen import view, words
from tests.app.page.test_corpora import NOBODY, corpus_of, numbered
from tests.app.page.test_home import SCRIPT, links

pytestmark = pytest.mark.parametrize("kind", ["sqlite"])  # the API is tested on both databases


def names(page: str) -> set[str]:
    """The names of the fields of a page's forms."""
    return set(re.findall(r'<(?:input|select|textarea)[^>]*? name="([^"]*)"', page))


def tag_of(page: str, name: str) -> str:
    """The tag of the field with a name."""
    found = re.search(rf'<(?:input|select|textarea)[^>]*? name="{re.escape(name)}".*?(?=>\n|></)', page, re.DOTALL)
    assert found is not None, name
    return found.group()


def test_every_setting_of_a_job_has_a_field(client: TestClient) -> None:
    corpus = corpus_of(client, numbered(1, label="a"), numbered(2))
    found = names(view(client, f"/corpora/{corpus}/new-job"))
    inner: dict[str, type[BaseModel]] = {
        "text": TextIn,
        "calibrated": CalibratedIn,
        "hyperparameters": HyperparametersIn,
        **BASELINES,
    }
    of_objects = {f"{name}.{each}" for name, schema in inner.items() for each in schema.model_fields}
    # `discover` is asked where there are no labels; the corpus is chosen already; webhooks are between programs.
    others = set(JobIn.model_fields) - inner.keys() - {"discover", "corpus_id", "webhook"}
    assert found == of_objects | others


def test_fields_have_the_limits_defaults_and_choices_of_the_api(client: TestClient) -> None:
    corpus = corpus_of(client, numbered(1, label="a"), numbered(2))
    page = view(client, f"/corpora/{corpus}/new-job")
    folds = tag_of(page, "calibrated.n_folds")
    assert all(part in folds for part in ('placeholder="5"', 'min="2"', 'max="20"', 'step="1"', 'type="number"'))
    assert 'placeholder="0.1, 0.2, 0.4, 0.8, 1.6"' in tag_of(page, "calibrated.smoothings")
    assert 'data-type="numbers"' in tag_of(page, "calibrated.smoothings")
    assert 'data-type="one-or-list"' in tag_of(page, "text.stop_words")
    assert 'data-type="number-or-list"' in tag_of(page, "n_categories")
    assert 'data-type="name-or-number"' in tag_of(page, "text.character_ngrams")
    assert 'data-type="boolean"' in tag_of(page, "text.join_copies")
    assert {f'value="{model}"' in page for model in MODELS} == {True}


def test_the_form_says_what_the_job_is_over_and_offers_the_fields_of_documents_as_sources(client: TestClient) -> None:
    corpus = corpus_of(client, *(numbered(n, label="ab"[n % 2], forum="x") for n in range(4)), numbered(5))
    page = view(client, f"/corpora/{corpus}/new-job")
    assert "1 document without a label is given a category: one of the 2 that labels name, or a new one." in words(page)
    assert '<option value="forum">' in page
    assert f'data-json=\'{{"corpus_id": "{corpus}"}}\'' in page
    assert 'data-api="POST /v1/jobs" data-then="/jobs/{id}"' in page
    assert "No worker is running" in words(page)


def test_without_labels_it_must_be_said_that_all_categories_are_new(client: TestClient) -> None:
    unlabeled = view(client, f"/corpora/{corpus_of(client, numbered(1))}/new-job")
    assert "discover" in names(unlabeled)
    assert "No document has a label" in words(unlabeled)
    labeled = view(client, f"/corpora/{corpus_of(client, numbered(1, label='a'))}/new-job")
    assert "discover" not in names(labeled)


def test_a_corpus_without_documents_leads_to_the_upload(client: TestClient) -> None:
    corpus = corpus_of(client)
    page = view(client, f"/corpora/{corpus}/new-job")
    assert "data-job-form" not in page
    assert f"/corpora/{corpus}" in links(page)


def test_what_the_form_for_a_comparison_asks_is_accepted(client: TestClient) -> None:
    text = "galaxies at high redshift and their many stars"
    corpus = corpus_of(client, *(numbered(n, text=text, label=f"label {n % 4}") for n in range(40)))
    page = view(client, f"/corpora/{corpus}/compare")
    methods = [json.loads(unescape(each)) for each in re.findall(r"name=\"methods\"[^>]*value='([^']*)'", page)]
    assert [each["model"] for each in methods] == ["calibrated", *(each for each in MODELS if each != "calibrated")]
    body = {"corpus_id": corpus, "methods": methods, "splits": 1}
    assert client.post("/v1/comparisons", json=body).status_code == 202


def test_markup_in_names_is_text(client: TestClient) -> None:
    corpus = corpus_of(client, numbered(1, label="a", **{SCRIPT: 1}), numbered(2, label="b"))
    client.patch(f"/v1/corpora/{corpus}", json={"name": SCRIPT})
    for view_of in ("new-job", "compare"):
        page = view(client, f"/corpora/{corpus}/{view_of}")
        assert SCRIPT not in page
        assert SCRIPT in words(page)


@pytest.mark.parametrize("view_of", ["new-job", "compare"])
def test_an_unknown_corpus_is_a_page_with_404(client: TestClient, view_of: str) -> None:
    assert client.get(f"/corpora/{NOBODY}/{view_of}").status_code == 404


def test_below_a_root_path_all_links_lead_there(settings: Settings) -> None:
    with TestClient(main.create_app(settings.model_copy(update={"root_path": "/new/found"}))) as client:
        corpus = corpus_of(client, numbered(1, label="a"), numbered(2, label="b"))
        for view_of in ("new-job", "compare"):
            found = [each for each in links(view(client, f"/corpora/{corpus}/{view_of}")) if each.startswith("/")]
            assert found
            assert all(each.startswith("/new/found/") for each in found)
