"""The headers that answers have besides their bodies, as the OpenAPI document describes them."""

from collections.abc import Iterator
from typing import Any

HEADERS = {
    "X-Request-ID": "The id of the request: the client's own, or a new one. The log has it, too.",
    "ETag": "Changes with the answer. In `If-None-Match`, it asks whether there is another one by now.",
    "Link": 'Addresses of the first page and, unless this is the last one, of the next: `</v1/…>; rel="next"`.',
    "Location": "The address of what was made, or of the job that now has work to do.",
    "WWW-Authenticate": "How a key is presented: `Bearer`.",
    "Retry-After": "Seconds after which to ask again.",
    "Idempotent-Replayed": "`true` if this is the answer to an earlier request under the same key.",
    "Content-Disposition": "The name of the file.",
    "Upload-Query": "The parameters with which the file, uploaded again, is read as it was written.",
}
EXPOSED = tuple(sorted(HEADERS))  # to scripts of other origins

# What single operations send, by their statuses.
OF_OPERATIONS: dict[str, dict[str, tuple[str, ...]]] = {
    "create_corpus": {"201": ("Location",)},
    "import_model": {"201": ("Location",)},
    "submit_job": {"202": ("Location", "Retry-After")},
    "compare_methods": {"202": ("Location", "Retry-After")},
    "continue_job": {"202": ("Location", "Retry-After"), "412": ("ETag",)},
    "resume_job": {"202": ("Location", "Retry-After")},
    "extend_job": {"202": ("Location", "Retry-After")},
    "resume_side_run": {"202": ("Location", "Retry-After")},
    "test_power": {"202": ("Location", "Retry-After")},
    "get_job": {"200": ("Retry-After",)},
    "get_method_comparison": {"200": ("Retry-After",)},
    "decide": {"201": ("ETag",)},
    "export_corpus": {"200": ("Content-Disposition", "Upload-Query")},
    "export_documents": {"200": ("Content-Disposition", "Upload-Query")},
    "export_categories": {"200": ("Content-Disposition",)},
    "export_trace": {"200": ("Content-Disposition",)},
    "export_model": {"200": ("Content-Disposition",)},
    "export_imported_model": {"200": ("Content-Disposition",)},
    "get_plot": {"200": ("Content-Disposition",)},
    "get_report": {"200": ("Content-Disposition",)},
}
STREAMS = ("text/event-stream", "application/octet-stream")  # which have no tag


def describe_headers(document: dict[str, Any]) -> None:
    """Describe the headers of every answer, in place, with references to one description of each."""
    described = document["components"].setdefault("headers", {})
    for name, text in HEADERS.items():
        described[name] = {"description": text, "schema": {"type": "string"}}
    for methods in document["paths"].values():
        for method, operation in methods.items():
            for status, response in operation["responses"].items():
                names = dict.fromkeys(names_of(method, operation, status, response))
                headers = {name: {"$ref": f"#/components/headers/{name}"} for name in names}
                operation["responses"][status] = {**response, "headers": {**response.get("headers", {}), **headers}}


def names_of(method: str, operation: dict[str, Any], status: str, response: dict[str, Any]) -> Iterator[str]:
    """The names of the headers that an answer may have."""
    parameters = {each["name"].lower() for each in operation.get("parameters", [])}
    yield "X-Request-ID"
    if method == "get" and status in ("200", "304") and not is_stream(operation, response):
        yield "ETag"
    if method == "get" and status in ("200", "304") and "cursor" in parameters:
        yield "Link"
    if method in ("patch", "put", "delete") and status == "412":
        yield "ETag"
    if status == "401":
        yield "WWW-Authenticate"
    if status in ("429", "503"):
        yield "Retry-After"
    if status.startswith("2") and "idempotency-key" in parameters:
        yield "Idempotent-Replayed"
    yield from OF_OPERATIONS.get(operation["operationId"], {}).get(status, ())


def is_stream(operation: dict[str, Any], response: dict[str, Any]) -> bool:
    """Whether an answer is sent as it comes."""
    is_export = str(operation["operationId"]).startswith("export_")
    return is_export or any(kind in STREAMS for kind in response.get("content", {}))
