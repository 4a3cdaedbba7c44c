"""What generators of clients make of the OpenAPI document: an upload whose file, choices and answer they know."""

from collections.abc import Iterator
from typing import Any
from urllib.parse import quote

import pytest
from starlette.testclient import TestClient

from tests.app.uploads.sending import new_corpus

GERMAN = "Titel;Inhalt;Art\nEins;Grüße;x\nZwei;Maße;\n".encode("cp1252")
CHOICES: dict[str, Any] = {
    "charset": "windows-1252",
    "text": ["Titel", "Inhalt"],
    "label": "Art",
    "on_error": "abort",
    "validate_only": False,
}


@pytest.fixture
def document(client: TestClient) -> Any:
    """The OpenAPI document, as a generator downloads it."""
    return client.get("/openapi.json").json()


class Generated:
    """A client that knows nothing but the document; it calls operations by their names."""

    def __init__(self, document: Any, client: TestClient) -> None:
        self.document, self.client = document, client
        self.operations = {
            operation["operationId"]: (method, path, operation)
            for path, methods in document["paths"].items()
            for method, operation in methods.items()
            if isinstance(operation, dict) and "operationId" in operation
        }

    def upload(self, name: str, data: bytes, **arguments: Any) -> Any:
        """The answer to an operation that takes a form with a file; `arguments` are its parameters."""
        method, path, operation = self.operations[name]
        form = self.resolved(operation["requestBody"]["content"]["multipart/form-data"]["schema"])
        [part] = [part for part, kind in form["properties"].items() if kind.get("format") == "binary"]
        assert form["required"] == [part]
        query = []
        for parameter in map(self.resolved, operation["parameters"]):
            value = arguments.pop(parameter["name"], None)
            if parameter["in"] == "path":
                path = path.replace("{" + parameter["name"] + "}", quote(value, safe=""))
            elif value is not None:
                assert parameter["in"] == "query"
                query += [(parameter["name"], wire(each)) for each in (value if isinstance(value, list) else [value])]
        assert not arguments, "the document names no such parameters"
        return self.client.request(method, path, params=query, files={part: ("documents.csv", data)})

    def resolved(self, schema: Any) -> Any:
        """What a reference points to."""
        while "$ref" in schema:
            found = self.document
            for step in schema["$ref"].removeprefix("#/").split("/"):
                found = found[step]
            schema = found
        return schema

    def answer(self, name: str, status: int) -> Any:
        """The schema of an answer."""
        [content] = self.operations[name][2]["responses"][str(status)]["content"].values()
        return self.resolved(content["schema"])


def wire(value: Any) -> str:
    """A value as it stands in an address."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def test_a_client_that_knows_only_the_document_uploads_a_file(document: Any, client: TestClient) -> None:
    generated = Generated(document, client)
    corpus = new_corpus(client)
    corpus_id = corpus.rpartition("/")[2]
    answer = generated.upload("upload_documents", GERMAN, corpus_id=corpus_id, **CHOICES)
    told = answer.json()
    assert answer.status_code == 200, told
    assert set(generated.answer("upload_documents", 200)["required"]) <= told.keys()
    assert (told["added"], told["labeled"], told["charset"], told["delimiter"]) == (2, 1, "windows-1252", ";")
    stored = client.get(f"{corpus}/documents").json()["documents"]
    assert [(row["text"], row["label"]) for row in stored] == [("Eins\n\nGrüße", "x"), ("Zwei\n\nMaße", None)]


def test_a_refusal_has_the_form_that_the_document_says(document: Any, client: TestClient) -> None:
    generated = Generated(document, client)
    corpus_id = new_corpus(client).rpartition("/")[2]
    answer = generated.upload("upload_documents", GERMAN, corpus_id=corpus_id)
    told = answer.json()
    assert answer.status_code == 422 and "charset=windows-1252" in told["detail"]
    schema = generated.answer("upload_documents", 422)
    assert set(schema["required"]) <= told.keys() <= schema["properties"].keys()


def test_every_parameter_of_an_upload_says_what_it_is_for(document: Any, client: TestClient) -> None:
    _, _, operation = Generated(document, client).operations["upload_documents"]
    parameters = {each["name"]: each for each in operation["parameters"]}
    assert CHOICES.keys() <= parameters.keys()
    assert all(each.get("description") for each in parameters.values())


def test_no_enum_mixes_strings_and_numbers(document: Any) -> None:
    """Generators make one type of an enum: openapi-python-client drops a mixed one, and every schema that has it."""
    mixed = [where for where, values in enums(document, "") if len({type(value) for value in values}) > 1]
    assert mixed == []


def enums(schema: Any, where: str) -> Iterator[tuple[str, list[Any]]]:
    """All enums of a document with their places."""
    items = schema.items() if isinstance(schema, dict) else enumerate(schema) if isinstance(schema, list) else ()
    for name, value in items:
        if name == "enum" and isinstance(value, list):
            yield where, value
        else:
            yield from enums(value, f"{where}/{name}")
