"""The OpenAPI document: complete, with examples, and true of what the service answers."""

from collections.abc import Iterator
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, given, seed, settings
from hypothesis.strategies import booleans
from schemathesis import Case, GenerationMode
from schemathesis.checks import CheckFunction, not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
)
from starlette.testclient import TestClient

from app.api.corpora import CSV_EXAMPLE, NDJSON_EXAMPLE, READERS
from app.db import Database
from app.errors import PROBLEM
from tests.app import rows

CHECKS: list[CheckFunction] = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
]

OPERATIONS = {
    "create_corpus": ("post", "/v1/corpora"),
    "list_corpora": ("get", "/v1/corpora"),
    "get_corpus": ("get", "/v1/corpora/{corpus_id}"),
    "delete_corpus": ("delete", "/v1/corpora/{corpus_id}"),
    "upload_documents": ("post", "/v1/corpora/{corpus_id}/documents"),
    "submit_job": ("post", "/v1/jobs"),
    "list_jobs": ("get", "/v1/jobs"),
    "get_job": ("get", "/v1/jobs/{job_id}"),
    "cancel_job": ("post", "/v1/jobs/{job_id}/cancel"),
    "pause_job": ("post", "/v1/jobs/{job_id}/pause"),
    "resume_job": ("post", "/v1/jobs/{job_id}/resume"),
    "extend_job": ("post", "/v1/jobs/{job_id}/extend"),
    "get_trace": ("get", "/v1/jobs/{job_id}/trace"),
    "get_categories": ("get", "/v1/jobs/{job_id}/categories"),
    "get_documents": ("get", "/v1/jobs/{job_id}/documents"),
    "get_audit": ("get", "/v1/jobs/{job_id}/audit"),
    "get_topics": ("get", "/v1/jobs/{job_id}/topics"),
    "test_power": ("post", "/v1/jobs/{job_id}/power-test"),
    "get_power_test": ("get", "/v1/jobs/{job_id}/power-test"),
    "get_health": ("get", "/health"),
    "get_readiness": ("get", "/readyz"),
    "get_liveness": ("get", "/livez"),
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
            assert status == "204" or response["content"], (method, path, status)
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
    for name in READERS:
        example = document["paths"][OPERATIONS["upload_documents"][1]]["post"]["requestBody"]["content"][name][
            "example"
        ]
        another = example.replace("paper-", f"{name}-")
        answer = client.post(
            f"{corpus.headers['Location']}/documents", content=another.encode(), headers={"Content-Type": name}
        )
        assert (answer.status_code, answer.json()["rejected"]) == (200, 0)
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


@schemathesis.serializer(*READERS)
def upload(context: schemathesis.SerializationContext, value: Any) -> bytes:
    """A generated text as the body of an upload, and every other time a usable one."""
    is_csv = context.case.media_type == "text/csv"
    usable = CSV_EXAMPLE if is_csv else NDJSON_EXAMPLE
    return str(value).encode("utf-8", "replace") if len(str(value)) % 2 else usable.encode()


@pytest.mark.parametrize("name", OPERATIONS)
def test_whatever_is_asked_the_answer_is_one_that_the_document_describes(
    client: TestClient, database: Database, name: str
) -> None:
    job_id, unit_ids = rows.submit(database)
    rows.add_draws(database, job_id, chains=2, sweeps=3)
    rows.add_results(database, job_id)
    if name.startswith("get_") or name == "extend_job":
        rows.succeed(database, job_id, unit_ids)
    operation = schemathesis.openapi.from_asgi("/openapi.json", client.app).find_operation_by_id(name)
    cases = operation.as_strategy(GenerationMode.POSITIVE)
    if "422" in operation.definition.raw["responses"]:
        cases |= operation.as_strategy(GenerationMode.NEGATIVE)

    @seed(20261127)  # ten examples on each database: twenty of every operation
    @settings(max_examples=10, deadline=None, database=None, suppress_health_check=list(HealthCheck))
    @given(case=cases, has_known_ids=booleans())
    def ask(case: Case[Any], has_known_ids: bool) -> None:
        known = {"corpus_id": rows.CORPUS, "job_id": job_id}
        if has_known_ids and case.path_parameters:
            case.path_parameters = {name: known[name] for name in case.path_parameters}
        case.validate_response(case.call(), checks=CHECKS)

    ask()
