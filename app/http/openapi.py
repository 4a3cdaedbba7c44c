"""The OpenAPI document: what the framework finds, and what is true of all operations, which it does not know."""

from collections.abc import Iterator, Sequence
from importlib.metadata import version
from typing import Any

from fastapi.openapi.utils import get_openapi
from starlette.routing import BaseRoute

from app.core.errors import ChangedSince, KeyMissing, NotAcceptable, UnsupportedBody
from app.http.access import SCHEMES
from app.http.dependencies import problems
from app.http.negotiation import EXPORTS
from app.http.preconditions import METHODS
from app.http.response_headers import describe_headers
from app.schemas.common import Problem

TITLE = "Newfound"
DESCRIPTION = """
Newfound gives every unlabeled document of a corpus a category: one of those that labels name, or a new one
that the model found. Create a corpus, upload documents, submit a job, follow it, read its results.

In addition to what each operation lists, a request may be refused before its operation is known: 408 for a client that
is silent, 431 for a head of more than 64 KiB, 503 when there are too many connections.
"""

JSON_BODY = problems(UnsupportedBody)
READING, CHANGING = problems(NotAcceptable), problems(ChangedSince)

# Of these, JSON Schema says that they are numbers, and the framework that they are floats, 1000.0 for 1000.
LIMITS = ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf")

NOT_MODIFIED = {"description": "The client has this answer already: `If-None-Match` names its `ETag`."}
IF_MATCH = {
    "name": "If-Match",
    "in": "header",
    "required": False,
    "schema": {"type": "string"},
    "description": "The `ETag` of what is to be changed, as it was read at this path: if it is another one now, the "
    "answer is 412, and nothing was done.",
}


def describe(routes: Sequence[BaseRoute]) -> dict[str, Any]:
    """The document for some routes. The schema of problems, which no route returns by itself, is put into it."""
    found = get_openapi(title=TITLE, version=version("newfound"), description=DESCRIPTION, routes=routes)
    forget_validation_errors(found)
    describe_json_bodies(found)
    describe_reading(found)
    describe_changing(found)
    describe_keys(found)
    describe_headers(found)
    write_integers(found)
    schema = Problem.model_json_schema(ref_template="#/components/schemas/{model}")
    found["components"]["schemas"] |= {**schema.pop("$defs"), "Problem": schema}
    return found


def operations(document: dict[str, Any]) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Each operation with its method and path."""
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            yield method, path, operation


def describe_reading(document: dict[str, Any]) -> None:
    """Describe what each reading operation may answer besides: other types for lists, 304, and 406."""
    for method, path, operation in operations(document):
        if method != "get" or not path.startswith("/v1/"):
            continue
        responses = {**operation["responses"], "304": NOT_MODIFIED, **described(READING)}
        operation["responses"] = dict(sorted(responses.items()))
        if path in EXPORTS:
            of_export = document["paths"][EXPORTS[path]]["get"]["responses"]["200"]["content"]
            content = operation["responses"]["200"]["content"]
            content |= {kind: each for kind, each in of_export.items() if kind not in content}


def describe_changing(document: dict[str, Any]) -> None:
    """Describe If-Match wherever something that can be read is changed."""
    for method, path, operation in operations(document):
        if method.upper() in METHODS and "get" in document["paths"][path]:
            operation["parameters"] = [*operation.get("parameters", []), IF_MATCH]
            operation["responses"] = dict(sorted({**operation["responses"], **described(CHANGING)}.items()))


def forget_validation_errors(document: dict[str, Any]) -> None:
    """Take the framework's own 422 out, which it names wherever an operation has parameters.

    Operations that can be malformed describe theirs as a problem; an id without the right shape is a 404.
    """
    for methods in document["paths"].values():
        for operation in methods.values():
            if "application/json" in operation["responses"].get("422", {"content": {}})["content"]:
                del operation["responses"]["422"]
    for name in ("HTTPValidationError", "ValidationError"):
        document["components"]["schemas"].pop(name, None)


def describe_json_bodies(document: dict[str, Any]) -> None:
    """Describe the refusal of a body of another kind wherever an operation takes JSON."""
    for methods in document["paths"].values():
        for operation in methods.values():
            if "application/json" in operation.get("requestBody", {"content": {}})["content"]:
                operation["responses"] = dict(sorted({**operation["responses"], **described(JSON_BODY)}.items()))


def describe_keys(document: dict[str, Any]) -> None:
    """Say which operations may ask for an API key: those that can refuse one, in either way; or in none, without."""
    document["components"]["securitySchemes"] = SCHEMES
    for _, _, operation in operations(document):
        if str(int(KeyMissing.status)) in operation["responses"]:
            operation["security"] = [*({name: []} for name in SCHEMES), {}]


def described(responses: dict[int | str, dict[str, Any]]) -> dict[str, Any]:
    """Responses under their status as OpenAPI writes it."""
    return {str(status): response for status, response in responses.items()}


def write_integers(part: Any) -> None:
    """Write limits that are whole numbers as such, in place; every limit of ours is exact as a float."""
    if isinstance(part, dict):
        for name in LIMITS:
            if isinstance(part.get(name), float) and part[name].is_integer():
                part[name] = int(part[name])
    for inner in part.values() if isinstance(part, dict) else part if isinstance(part, list) else ():
        write_integers(inner)
