"""The OpenAPI document: complete, with examples, and true of what the service answers."""

import json
from collections.abc import Iterator
from decimal import Decimal
from typing import Any, get_args

import pytest
from pydantic import BaseModel, ValidationError
from starlette.testclient import TestClient

from app.core.db import Database
from app.core.errors import PROBLEM
from app.core.kinds import MODELS
from app.http.new_categories import summary
from app.schemas.job_settings import ExtensionIn, SettingsIn
from app.schemas.results import NewCategoriesOut
from tests.app import rows

OPERATIONS = {
    "create_corpus": ("post", "/v1/corpora"),
    "list_corpora": ("get", "/v1/corpora"),
    "get_corpus": ("get", "/v1/corpora/{corpus_id}"),
    "preview_corpus": ("post", "/v1/corpora/{corpus_id}/preview"),
    "delete_corpus": ("delete", "/v1/corpora/{corpus_id}"),
    "rename_corpus": ("patch", "/v1/corpora/{corpus_id}"),
    "upload_documents": ("post", "/v1/corpora/{corpus_id}/documents"),
    "list_corpus_documents": ("get", "/v1/corpora/{corpus_id}/documents"),
    "change_documents": ("patch", "/v1/corpora/{corpus_id}/documents"),
    "delete_documents": ("delete", "/v1/corpora/{corpus_id}/documents"),
    "get_corpus_document": ("get", "/v1/corpora/{corpus_id}/documents/{key}"),
    "change_document": ("patch", "/v1/corpora/{corpus_id}/documents/{key}"),
    "delete_document": ("delete", "/v1/corpora/{corpus_id}/documents/{key}"),
    "put_vectors": ("put", "/v1/corpora/{corpus_id}/vectors"),
    "delete_vectors": ("delete", "/v1/corpora/{corpus_id}/vectors"),
    "put_descriptions": ("put", "/v1/corpora/{corpus_id}/descriptions"),
    "list_descriptions": ("get", "/v1/corpora/{corpus_id}/descriptions"),
    "delete_description": ("delete", "/v1/corpora/{corpus_id}/descriptions/{name}"),
    "submit_job": ("post", "/v1/jobs"),
    "list_jobs": ("get", "/v1/jobs"),
    "get_job": ("get", "/v1/jobs/{job_id}"),
    "change_job": ("patch", "/v1/jobs/{job_id}"),
    "delete_job": ("delete", "/v1/jobs/{job_id}"),
    "cancel_job": ("post", "/v1/jobs/{job_id}/cancel"),
    "pause_job": ("post", "/v1/jobs/{job_id}/pause"),
    "resume_job": ("post", "/v1/jobs/{job_id}/resume"),
    "extend_job": ("post", "/v1/jobs/{job_id}/extend"),
    "categorize": ("post", "/v1/jobs/{job_id}/categorize"),
    "get_drift": ("get", "/v1/jobs/{job_id}/drift"),
    "export_model": ("get", "/v1/jobs/{job_id}/model"),
    "import_model": ("post", "/v1/models"),
    "list_models": ("get", "/v1/models"),
    "get_model": ("get", "/v1/models/{model_id}"),
    "delete_model": ("delete", "/v1/models/{model_id}"),
    "export_imported_model": ("get", "/v1/models/{model_id}/file"),
    "categorize_by_model": ("post", "/v1/models/{model_id}/categorize"),
    "get_drift_of_model": ("get", "/v1/models/{model_id}/drift"),
    "get_job_events": ("get", "/v1/jobs/{job_id}/events"),
    "get_trace": ("get", "/v1/jobs/{job_id}/trace"),
    "get_categories": ("get", "/v1/jobs/{job_id}/categories"),
    "get_category": ("get", "/v1/jobs/{job_id}/categories/{category}"),
    "continue_job": ("post", "/v1/jobs/{job_id}/continue"),
    "decide": ("post", "/v1/jobs/{job_id}/decisions"),
    "list_decisions": ("get", "/v1/jobs/{job_id}/decisions"),
    "get_portraits": ("get", "/v1/jobs/{job_id}/portraits"),
    "get_plot": ("get", "/v1/jobs/{job_id}/plots/{name}.svg"),
    "get_report": ("get", "/v1/jobs/{job_id}/report"),
    "get_tree": ("get", "/v1/jobs/{job_id}/tree"),
    "get_documents": ("get", "/v1/jobs/{job_id}/documents"),
    "get_document": ("get", "/v1/jobs/{job_id}/documents/{key}"),
    "score_job": ("post", "/v1/jobs/{job_id}/score"),
    "get_groups": ("get", "/v1/jobs/{job_id}/groups"),
    "get_sources": ("get", "/v1/jobs/{job_id}/sources"),
    "get_audit": ("get", "/v1/jobs/{job_id}/audit"),
    "get_labels": ("get", "/v1/jobs/{job_id}/labels"),
    "get_label_pairs": ("get", "/v1/jobs/{job_id}/labels/pairs"),
    "apply_labels": ("post", "/v1/jobs/{job_id}/labels/apply"),
    "get_comparison": ("get", "/v1/jobs/{job_id}/comparison"),
    "compare_methods": ("post", "/v1/comparisons"),
    "list_comparisons": ("get", "/v1/comparisons"),
    "get_method_comparison": ("get", "/v1/comparisons/{comparison_id}"),
    "get_comparison_table": ("get", "/v1/comparisons/{comparison_id}/table"),
    "cancel_comparison": ("post", "/v1/comparisons/{comparison_id}/cancel"),
    "delete_comparison": ("delete", "/v1/comparisons/{comparison_id}"),
    "get_lineage": ("get", "/v1/categories/{category_id}/lineage"),
    "get_triage": ("get", "/v1/jobs/{job_id}/triage"),
    "get_topics": ("get", "/v1/jobs/{job_id}/topics"),
    "test_power": ("post", "/v1/jobs/{job_id}/power-test"),
    "get_power_test": ("get", "/v1/jobs/{job_id}/power-test"),
    "cancel_side_run": ("post", "/v1/jobs/{job_id}/{side_run}/cancel"),
    "pause_side_run": ("post", "/v1/jobs/{job_id}/{side_run}/pause"),
    "resume_side_run": ("post", "/v1/jobs/{job_id}/{side_run}/resume"),
    "export_corpus": ("get", "/v1/corpora/{corpus_id}/export"),
    "export_documents": ("get", "/v1/jobs/{job_id}/documents/export"),
    "export_categories": ("get", "/v1/jobs/{job_id}/categories/export"),
    "export_trace": ("get", "/v1/jobs/{job_id}/trace/export"),
    "get_usage": ("get", "/v1/usage"),
    "get_health": ("get", "/health"),
    "get_readiness": ("get", "/readyz"),
    "get_liveness": ("get", "/livez"),
    "get_metrics": ("get", "/metrics"),
}


@pytest.fixture
def document(client: TestClient) -> Any:
    return client.get("/openapi.json").json()


def operations(document: Any) -> Iterator[tuple[str, str, Any]]:
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            yield method, path, operation


def has_example(document: Any, content: Any) -> bool:
    """Whether a media type has an example, of its own or with its schema."""
    schema = content["schema"]
    if "$ref" in schema:
        schema = document["components"]["schemas"][schema["$ref"].rpartition("/")[2]]
    return bool(content.get("example") or content.get("examples") or schema.get("examples"))


@pytest.mark.parametrize("kind", ["sqlite"])
def test_operations_keep_their_names(document: Any) -> None:
    assert {o["operationId"]: (method, path) for method, path, o in operations(document)} == OPERATIONS


@pytest.mark.parametrize("kind", ["sqlite"])
def test_every_operation_has_a_summary_a_tag_and_examples_of_request_and_response(document: Any) -> None:
    for method, path, operation in operations(document):
        assert operation["summary"] and operation["description"] and operation["tags"], path
        for parameter in operation.get("parameters", []):
            assert parameter["description"], (method, path, parameter["name"])
            assert not parameter["required"] or parameter["schema"]["examples"], (method, path, parameter["name"])
        for content in operation.get("requestBody", {"content": {}})["content"].values():
            assert has_example(document, content), (method, path)
        for status, response in operation["responses"].items():
            assert status in ("204", "304") or response["content"], (method, path, status)
            for content in response.get("content", {}).values():
                assert has_example(document, content), (method, path, status)


@pytest.mark.parametrize("kind", ["sqlite"])
def test_every_refusal_is_described_as_a_problem(document: Any) -> None:
    for method, path, operation in operations(document):
        for status, response in operation["responses"].items():
            if status >= "400":
                assert list(response["content"]) == [PROBLEM], (method, path, status)
                assert response["content"][PROBLEM]["schema"] == {"$ref": "#/components/schemas/Problem"}


def test_examples_of_requests_are_accepted(client: TestClient, document: Any) -> None:
    examples = document["components"]["schemas"]
    corpus = client.post("/v1/corpora", json=examples["CorpusIn"]["examples"][0])
    assert corpus.status_code == 201
    contents = document["paths"][OPERATIONS["upload_documents"][1]]["post"]["requestBody"]["content"]
    body, headers = contents["application/octet-stream"]["example"], {"Content-Type": "application/octet-stream"}
    answer = client.post(f"{corpus.headers['Location']}/documents", content=body.encode(), headers=headers)
    assert (answer.status_code, answer.json()["rejected"]) == (200, 0)
    form = {"file": ("file", contents["multipart/form-data"]["example"]["file"])}
    assert client.post(f"{corpus.headers['Location']}/documents", files=form).status_code == 200
    job = examples["JobIn"]["examples"][0]
    more = '{"text": "galaxy"}\n' * 5
    headers = {"Content-Type": "application/x-ndjson"}
    client.post(f"{corpus.headers['Location']}/documents", content=more, headers=headers)
    assert client.post("/v1/jobs", json={**job, "corpus_id": corpus.json()["id"]}).status_code == 202


@pytest.mark.parametrize("kind", ["sqlite"])
def test_the_pages_of_the_documentation_load_nothing_from_elsewhere(client: TestClient) -> None:
    for page in ("/docs", "/redoc"):
        html = client.get(page).text
        assert "https://" not in html and "http://" not in html
        for asset in ("swagger-ui-bundle.js", "swagger-ui.css") if page == "/docs" else ("redoc.standalone.js",):
            assert asset in html
            assert client.get(f"/static-offline-docs/{asset}").status_code == 200


LIMITS = {"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"}


def limits(part: Any) -> Iterator[tuple[str, Any]]:
    """All limits of numbers in a part of the document, with the type that they limit."""
    inner = part.values() if isinstance(part, dict) else part if isinstance(part, list) else ()
    if isinstance(part, dict) and part.get("type") in ("integer", "number"):
        yield from ((part["type"], part[name]) for name in LIMITS & part.keys())
    for each in inner:
        yield from limits(each)


@pytest.mark.parametrize("kind", ["sqlite"])
def test_limits_of_integers_are_integers_and_exact(client: TestClient) -> None:
    text = client.get("/openapi.json").text
    found = list(limits(json.loads(text, parse_float=Decimal)))
    assert len(found) > 50
    assert all(isinstance(limit, int) for kind, limit in found if kind == "integer")
    assert f'"exclusiveMaximum":{2**63}' in text
    assert all(f"{float(limit):.17g}" and float(limit) == limit for _, limit in found if isinstance(limit, int))


def test_the_largest_seed_that_is_described_is_the_largest_one_that_is_accepted(
    client: TestClient, database: Database
) -> None:
    rows.submit(database)
    for seed_, status in ((2**63 - 1, 202), (2**63, 422), (-1, 422)):
        answer = client.post("/v1/jobs", json={"corpus_id": rows.CORPUS, "seed": seed_, "discover": True})
        assert answer.status_code == status
        assert status == 422 or answer.json()["settings"]["seed"] == seed_


def integers(model: type[BaseModel], *path: str) -> Iterator[tuple[str, ...]]:
    """Where the integers of a body are."""
    for name, field in model.model_fields.items():
        inner = [each for each in (field.annotation, *get_args(field.annotation)) if isinstance(each, type)]
        if int in inner:
            yield (*path, name)
        for each in inner:
            if issubclass(each, BaseModel):
                yield from integers(each, *path, name)


INTEGERS = [(SettingsIn, place) for place in integers(SettingsIn)] + [(ExtensionIn, ("sweeps",))]


@pytest.mark.parametrize(
    "model, place", INTEGERS, ids=lambda value: ".".join(value) if isinstance(value, tuple) else ""
)
def test_every_integer_of_a_body_may_be_written_with_a_point(model: type[BaseModel], place: tuple[str, ...]) -> None:
    def parsed(value: Any) -> Any:
        for name in reversed(place):
            value = {name: value}
        if MODELS.get(place[0]) and not MODELS[place[0]].finds_number:
            value["n_categories"] = 3
        return model.model_validate(value)

    written = {
        "n_refinements": 3.0,
        "burn_in": 3.0,
        "n_starts": 3.0,
        "sample_size": 2e3,
        "character_ngrams": 3.0,
        "word_ngrams": 3.0,
    }.get(place[-1], 20.0)
    for value in (written, int(written)):
        found = parsed(value)
        for name in place:
            found = getattr(found, name)
        assert (found, type(found)) == (int(written), int)
    for wrong in (str(int(written)), True, written + 0.5, 2.0**60, float("inf"), float("nan"), [written]):
        with pytest.raises(ValidationError):
            parsed(wrong)


def test_every_integer_of_a_body_is_among_those() -> None:
    assert len(INTEGERS) > 12
    assert {place[0] for _, place in INTEGERS} == {
        *(name for name, facts in MODELS.items() if facts.is_baseline),
        "text",
        "hyperparameters",
        "calibrated",
        "sweeps",
        "burn_in",
        "chains",
        "seed",
    }


def test_a_body_with_whole_floats_is_accepted_over_http(client: TestClient, database: Database) -> None:
    rows.submit(database)
    given = '"seed": 187.0, "discover": true, "sweeps": 2e2, "calibrated": {"n_folds": 5.0}'
    body = f'{{"corpus_id": "{rows.CORPUS}", {given}}}'
    answer = client.post("/v1/jobs", content=body, headers={"Content-Type": "application/json"})
    assert answer.status_code == 202
    settings = json.loads(answer.text, parse_float=str)["settings"]
    assert (settings["seed"], settings["sweeps"], settings["calibrated"]["n_folds"]) == (187, 200, 5)


def example_of(client: TestClient, name: str) -> Any:
    """The example of a schema in the document."""
    return client.get("/openapi.json").json()["components"]["schemas"][name]["examples"][0]


def test_the_cursors_of_the_examples_are_cursors_of_their_lists(client: TestClient) -> None:
    job = "/v1/jobs/00000000-0000-0000-0000-000000000000"
    lists = {
        "CorpusPage": "/v1/corpora",
        "JobPage": "/v1/jobs",
        "MethodComparisonPage": "/v1/comparisons",
        "CorpusDocumentPage": "/v1/corpora/00000000-0000-0000-0000-000000000000/documents",
        "TracePage": f"{job}/trace",
        "DocumentPage": f"{job}/documents",
        "AuditPage": f"{job}/audit",
        "LabelPage": f"{job}/labels",
        "LineagePage": "/v1/categories/c-7q3kx9/lineage",
    }
    for name, path in lists.items():
        answer = client.get(path, params={"cursor": example_of(client, name)["next"]})
        assert answer.status_code in (200, 404), f"{name}: {answer.text}"


def test_the_numbers_of_the_examples_could_be_those_of_one_job(client: TestClient) -> None:
    corpus, found = example_of(client, "CorpusDetail"), example_of(client, "CategoriesOut")
    assert sum(category["documents"] for category in corpus["categories"]) == corpus["labeled"]
    assert corpus["labeled"] + corpus["unlabeled"] == corpus["documents"]
    assert example_of(client, "UploadOut")["empty"] == corpus["empty"]
    for category in found["categories"]:
        assert category["share"] * (corpus["unlabeled"] - corpus["empty"]) == pytest.approx(category["documents"])
        if category["known"]:
            assert category["name"] == corpus["categories"][category["category"]]["name"]
        else:
            assert category["name"].startswith(f"new {category['category'] - len(corpus['categories']) + 1}: ")
        low, high = category["size_interval_90"]
        assert low <= category["documents"] <= high
    n_known = len(corpus["categories"])
    found_new = NewCategoriesOut(**found["new_categories"])
    assert list(found_new.interval_90) == found["n_new"]["interval_90"]
    assert found["summary"] == summary(n_known, found_new, None)
    [hidden] = example_of(client, "PowerTestOut")["categories"]
    for share in (hidden["recall"], hidden["taken"]):
        assert share * 80 == pytest.approx(round(share * 80)), "a whole number of its labeled documents"
    chains = example_of(client, "JobOut")["progress"]["chains"]
    assert len({chain["digest"] for chain in chains}) == len(chains)


def test_the_verdict_of_the_example_is_one_that_its_reasons_lead_to(client: TestClient) -> None:
    diagnostics = example_of(client, "CategoriesOut")["diagnostics"]
    agreement, r_hats = diagnostics["agreement"], diagnostics["r_hat"].values()
    assert diagnostics["mean_agreement"] == agreement[0][1]
    assert all(r_hat <= 1.01 for r_hat in r_hats)
    reasons = ["R-hat, independent draws and agreement are within their limits."]
    assert (diagnostics["verdict"], diagnostics["reasons"]) == ("sound", reasons)
