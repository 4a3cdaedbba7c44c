"""Schemathesis over the OpenAPI document of a furnished service: what it found wrong, and what it got to see."""

import gc
import re
import warnings
from collections import Counter, defaultdict
from collections.abc import Callable, Collection
from functools import wraps
from typing import Any

import schemathesis
from schemathesis import Case, HookContext
from schemathesis.config import SchemathesisConfig
from schemathesis.core.failures import Failure
from schemathesis.engine import events, from_schema

from app.core import presence
from app.http.dependencies import ID_PATTERN
from app.http.routers.uploads import UPLOAD_EXAMPLE
from app.schemas.common import CORPUS_ID
from tests.app.openapi.furnished import Furnished

UUID = re.compile(ID_PATTERN.strip("^$"))
# `curl -T FILE` says PUT where the document says POST, and the other way round for vectors; both are taken.
SYNONYMS = {"upload_documents", "categorize", "categorize_by_model", "score_job", "import_model", "put_vectors"}
CHECKS = (
    "not_a_server_error",
    "status_code_conformance",
    "content_type_conformance",
    "response_headers_conformance",
    "response_schema_conformance",
    "negative_data_rejection",
    "missing_required_header",
    "unsupported_method",
    "allow_header_conformance",
    "use_after_free",
    "ensure_resource_availability",
)
REFUSALS = ["400", "404", "405", "409", "412", "413", "415", "422"]  # of data that the document does not allow
# Off: positive_data_acceptance, since a schema cannot say which cursors, filters, columns and pairs of settings there
# are; ignored_auth and object_level_authorization, which the tests of owners do by a table of all operations.


@schemathesis.serializer("application/octet-stream", "application/x-ndjson", "text/csv")
def upload(context: schemathesis.SerializationContext, value: Any) -> bytes:
    """A generated text as the body of an upload, and every other time a usable one."""
    return str(value).encode("utf-8", "replace") if len(str(value)) % 2 else UPLOAD_EXAMPLE.encode()


class Run:
    """One run of the engine."""

    def __init__(self, furnished: Furnished) -> None:
        self.furnished = furnished
        self.kept = {*furnished.ids.values(), CORPUS_ID}  # that no operation may spend
        self.seen = set[str]()  # ids in answers
        self.failures: defaultdict[tuple[str, str], list[str]] = defaultdict(list)
        self.statuses: defaultdict[str, Counter[int]] = defaultdict(Counter)
        self.errors: list[str] = []
        self.seconds: Counter[str] = Counter()  # by phase

    def before_call(self, context: HookContext, case: Case[Any], kwargs: dict[str, Any]) -> None:
        """Put ids of what there is in the place of others that are well formed, spare ones where they are spent."""
        ids, operation = self.furnished.ids, name_of(case)
        if operation == "get_readiness":
            with self.furnished.database.sessions.begin() as session:
                presence.record(session, "worker-1")
        wanted = {
            name: ids[name]
            for name, value in case.path_parameters.items()
            if name in ids and UUID.fullmatch(str(value)) and (value not in self.seen or value in self.kept)
        }
        if wanted:
            wanted |= {name: value for name, value in self.furnished.spare(operation).items() if name in wanted}
            case.path_parameters.update(wanted)
        if operation == "get_job_events" and case.path_parameters["job_id"] in self.seen:
            case.path_parameters["job_id"] = ids["job_id"]  # which has ended: the events of others do not end

    def after_call(self, context: HookContext, case: Case[Any], response: schemathesis.Response) -> None:
        """Note the ids in an answer."""
        self.statuses[name_of(case)][int(response.status_code)] += case.method.lower() in case.operation.method.lower()
        self.seen |= set(UUID.findall(response.content[:10_000].decode(errors="replace")))

    def filter_failure(
        self, context: HookContext, failure: Failure, case: Case[Any], response: schemathesis.Response
    ) -> bool:
        """Whether a failure is one."""
        if type(failure).__name__ in ("UnsupportedMethodResponse", "AllowHeaderMismatch"):
            return name_of(case) not in SYNONYMS
        if type(failure).__name__ == "EnsureResourceAvailability":  # a new corpus has no document yet
            return "document" not in response.text
        return True


def name_of(case: Case[Any]) -> str:
    """The name of the operation."""
    return str(case.operation.definition.raw["operationId"])


def document_of(furnished: Furnished) -> Any:
    """The OpenAPI document, with the pattern of ids."""
    document = furnished.client.get("/openapi.json").json()
    for methods in document["paths"].values():
        for operation in methods.values():
            for parameter in operation.get("parameters", []):
                if parameter["in"] == "path" and parameter["name"] in furnished.ids:
                    parameter["schema"]["pattern"] = ID_PATTERN
    return document


def run(
    furnished: Furnished,
    examples: int,
    seed: int,
    without_coverage: Collection[str] = (),
    base_url: str | None = None,
) -> Run:
    """Run all phases over all operations, but for the coverage phase of some."""
    config = SchemathesisConfig.from_dict(
        {
            "seed": seed,
            "generation": {"max-examples": examples, "database": "none"},
            "operations": [
                {"include-operation-id": name, "phases": {"coverage": {"enabled": False}}} for name in without_coverage
            ],
            "checks": {
                "enabled": False,
                **{name: {"enabled": True} for name in CHECKS},
                "negative_data_rejection": {"enabled": True, "expected-statuses": REFUSALS},
            },
        }
    )
    schema = schemathesis.openapi.from_dict(document_of(furnished), config=config)
    schema.config.update(continue_on_failure=True, base_url=base_url)
    if base_url is None:
        schema.app = furnished.client.app
    found = Run(furnished)
    hooks = [function(method) for method in (found.before_call, found.after_call, found.filter_failure)]
    for hook in hooks:
        schemathesis.hook(hook)
    try:
        for event in from_schema(schema).execute():
            note(found, event)
    finally:
        for hook in hooks:
            schemathesis.hooks.unregister(hook)
        forget_streams()
    return found


def forget_streams() -> None:
    """Collect what the library's transport leaves open: warnings of it would be raised in whichever test is next."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)
        gc.collect()


def function(method: Callable[..., Any]) -> Callable[..., Any]:
    """A method as a function, which the library can put marks on."""
    return wraps(method)(lambda *arguments: method(*arguments))


def note(found: Run, event: events.EngineEvent) -> None:
    """Take down what an event says."""
    if isinstance(event, events.NonFatalError):
        found.errors.append(f"{event.label}: {event.info.format()}")
    elif isinstance(event, events.FatalError):
        found.errors.append(repr(event.exception))
    elif isinstance(event, events.ScenarioFinished):
        found.seconds[event.phase.value] += event.elapsed_time
        for case_id, checks in event.recorder.checks.items():
            operation = name_of(event.recorder.cases[case_id].value)
            for check in checks:
                if check.failure_info is not None:
                    failure = check.failure_info.failure
                    told = f"{failure.title}: {failure.message}\n{check.failure_info.code_sample}"
                    found.failures[check.name, operation].append(told)
