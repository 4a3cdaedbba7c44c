"""A case: an upload as somebody sends it, and the right answer beside it."""

import gzip
import json
from dataclasses import dataclass, field
from typing import Any, NamedTuple
from urllib.parse import urlencode

from starlette.testclient import TestClient

from tests.app.uploads.sending import new_corpus

ALL = 1_000  # documents of a page


class Sent(NamedTuple):
    """A file, and how it is sent: without a name it is the body, with one the part `file` of a form."""

    data: bytes
    query: dict[str, Any] | None = None
    content_type: str | None = None  # none at all is what curl -T sends
    content_encoding: str | None = None
    name: str | None = None
    form: dict[str, Any] | None = None  # its other fields

    def post(self, client: TestClient, corpus: str) -> Any:
        """The answer to the upload."""
        address = f"{corpus}/documents?{urlencode(self.query or {}, doseq=True)}"
        if self.name is not None:
            file = (self.name, self.data, self.content_type) if self.content_type else (self.name, self.data)
            return client.post(address, files={"file": file}, data=self.form or {})  # type: ignore[dict-item]
        headers = {"Content-Type": self.content_type, "Content-Encoding": self.content_encoding}
        return client.post(address, content=self.data, headers={name: it for name, it in headers.items() if it})


@dataclass(frozen=True)
class Case:
    """An upload, and what is right."""

    name: str
    sent: Sent
    status: int = 200
    documents: list[dict[str, Any]] | None = None  # all that the corpus holds afterwards, in order; see `document`
    counts: dict[str, Any] = field(default_factory=dict)  # members of the answer
    errors: dict[int, str] | None = None  # every line that cannot be used, with words of the reason
    detail: tuple[str, ...] = ()  # words of a refusal and its reasons
    warnings: tuple[str, ...] = ()  # words of the warnings
    before: tuple[Sent, ...] = ()  # what was uploaded earlier

    def check(self, client: TestClient) -> None:
        """Upload, and hold what comes against what is right."""
        corpus = new_corpus(client)
        for earlier in self.before:
            assert earlier.post(client, corpus).status_code == 200
        answer = self.sent.post(client, corpus)
        told = answer.json()
        assert answer.status_code == self.status, told
        said = json.dumps(told, ensure_ascii=False)
        refusal = plain(f"{told.get('detail', '')} {json.dumps(told.get('errors', []), ensure_ascii=False)}").lower()
        missing = [word for word in self.detail if word.lower() not in refusal]
        assert not missing, f"{missing} not in the refusal {said}"
        warnings = " ".join(told.get("warnings", []))
        missing = [word for word in self.warnings if word.lower() not in plain(warnings).lower()]
        assert not missing, f"{missing} not in the warnings of {said}"
        assert {name: told[name] for name in self.counts} == self.counts, said
        if self.errors is not None:
            self.check_errors(told)
        if self.documents is not None:
            self.check_documents(client, corpus)

    def check_errors(self, told: Any) -> None:
        """Every line that cannot be used is named, once, with the reason."""
        if self.status == 200:
            found = [(error["line"], error["reason"]) for error in told["errors"]]
        else:
            found = [(int(error["where"].removeprefix("line ")), error["reason"]) for error in told["errors"]]
        assert [line for line, _ in found] == list(self.errors or {}), told
        for line, reason in found:
            assert (self.errors or {})[line].lower() in plain(reason).lower(), told

    def check_documents(self, client: TestClient, corpus: str) -> None:
        """The corpus holds these documents and no others."""
        stored = client.get(f"{corpus}/documents?limit={ALL}").json()["documents"]
        expected = self.documents or []
        found = [
            {name: row[name] for name in (wanted or row)}
            for row, wanted in zip(stored, [*expected, *[None] * (len(stored) - len(expected))], strict=False)
        ]
        assert found == expected, f"{found} is stored, not {expected}"


def plain(text: str) -> str:
    """A sentence without the marks around names, which are a matter of taste."""
    return text.translate({ord(mark): None for mark in "`'“”"})


def document(text: str, label: str | None = None, key: str | None = None, **fields: Any) -> dict[str, Any]:
    """A document as it should come back; a key that is not given does not matter."""
    return with_fields(text, label, fields, key)


def with_fields(text: str, label: str | None, fields: dict[str, Any], key: str | None = None) -> dict[str, Any]:
    """The same with fields of any name."""
    found: dict[str, Any] = {"text": text, "label": label, "fields": fields}
    return found if key is None else {**found, "key": key}


def texts(*found: str) -> list[dict[str, Any]]:
    """Documents of which only the text matters."""
    return [{"text": text} for text in found]


def labels(*found: str | None) -> list[dict[str, Any]]:
    """Documents of which only the label matters."""
    return [{"label": label} for label in found]


def raw(data: bytes | str, **query: Any) -> Sent:
    """A file as the body, with nothing said of it: curl -T."""
    return Sent(data.encode() if isinstance(data, str) else data, query)


def typed(data: bytes | str, content_type: str, **query: Any) -> Sent:
    """A file as the body, with a content type."""
    return Sent(data.encode() if isinstance(data, str) else data, query, content_type)


def form(data: bytes | str, name: str, content_type: str | None = None, **fields: Any) -> Sent:
    """A file as the part `file` of a form, with other fields: curl -F."""
    return Sent(data.encode() if isinstance(data, str) else data, None, content_type, None, name, fields)


def rows(*objects: Any) -> bytes:
    """NDJSON."""
    return "".join(json.dumps(each) + "\n" for each in objects).encode()


def packed(data: bytes | str) -> bytes:
    """A file after gzip."""
    return gzip.compress(data.encode() if isinstance(data, str) else data)
