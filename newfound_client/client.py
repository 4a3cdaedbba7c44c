"""The operations of the service, as methods: what they take and answer is described in docs/api.md."""

import json
import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import date
from pathlib import Path
from typing import Any
from urllib.parse import quote

from newfound_client.calls import Json
from newfound_client.comparisons import Comparisons
from newfound_client.descriptions import Descriptions
from newfound_client.errors import JobNotSucceeded, NoAnswer, Refused
from newfound_client.events import Events
from newfound_client.files import LINE_FORMATS, TABLE_FORMATS, Target, format_of, write
from newfound_client.review import Review
from newfound_client.tables import beside_frame
from newfound_client.uploads import of_file, prepared, vectors_of

PATIENCE = 120.0  # seconds for which a job is followed while the service does not answer, as when it is restarted
NOT_FOUND = 404
ENDED = ("succeeded", "failed", "cancelled")


class Client(Review, Comparisons, Descriptions, Events):
    """A Newfound service. Methods raise Refused, with the problem, or NoAnswer."""

    def corpora(self) -> Iterator[Json]:
        """All corpora, newest first."""
        return self.pages("/v1/corpora", "corpora", {})

    def create_corpus(self, name: str) -> Json:
        """A new corpus without documents."""
        return self.posted("/v1/corpora", {"name": name})

    def corpus(self, corpus_id: str) -> Json:
        """A corpus with its counts."""
        found: Json = self.call("GET", f"/v1/corpora/{corpus_id}")
        return found

    def delete_corpus(self, corpus_id: str) -> None:
        """Delete a corpus with its documents, jobs and results."""
        self.call("DELETE", f"/v1/corpora/{corpus_id}")

    def corpus_documents(self, corpus_id: str, **filters: Any) -> Iterator[Json]:
        """The documents of a corpus with their texts, in the order of their upload."""
        return self.pages(f"/v1/corpora/{corpus_id}/documents", "documents", filters)

    def upload(self, corpus_id: str, source: Any, **options: Any) -> Json:
        """Add documents: a file by its path, rows (mappings with `text`, perhaps `label` and `key`), a pandas frame.

        Options are those of docs/uploads.md: text, label, key, charset, unlabeled, on_conflict ...
        """
        sent = prepared(source)
        path = f"/v1/corpora/{corpus_id}/documents"
        answer: Json = self.connection.request("POST", path, options, sent.body, sent.headers)
        return answer

    def put_vectors(self, corpus_id: str, keys: Any, vectors: Iterable[Any] | None = None, **options: Any) -> Json:
        """Give documents that are in a corpus vectors: lists or rows of an array, None for none; or a path, as `keys`.

        Options are those of docs/uploads.md: key, vector, on_error ...
        """
        sent = of_file(Path(keys)) if vectors is None else vectors_of(keys, vectors)
        path = f"/v1/corpora/{corpus_id}/vectors"
        answer: Json = self.connection.request("PUT", path, options, sent.body, sent.headers)
        return answer

    def delete_vectors(self, corpus_id: str) -> Json:
        """Take away the vectors that the documents of a corpus have brought."""
        answer: Json = self.call("DELETE", f"/v1/corpora/{corpus_id}/vectors")
        return answer

    def submit(
        self,
        corpus_id: str,
        *,
        name: str | None = None,
        tags: Sequence[str] = (),
        note: str | None = None,
        idempotency_key: str | None = None,
        **settings: Any,
    ) -> Json:
        """Queue a job over a corpus; sent again under the same key, it is the same job."""
        facts = {"name": name, "tags": list(tags), "note": note}
        return self.posted("/v1/jobs", {"corpus_id": corpus_id, **facts, **settings}, idempotency_key)

    def try_job(self, corpus_id: str, **settings: Any) -> Json:
        """The `forecast`, `warnings` and full `settings` that a job would have; nothing is queued. Raises Refused."""
        body = {"corpus_id": corpus_id, **settings}
        tried: Json = self.call("POST", "/v1/jobs", {"validate_only": True}, **body)
        return tried

    def jobs(self, **filters: Any) -> Iterator[Json]:
        """The jobs in short form, newest first; filter by `name`, `tag`, `status`, `corpus_id`."""
        return self.pages("/v1/jobs", "jobs", filters)

    def job(self, job_id: str) -> Json:
        """A job as it is now."""
        found: Json = self.call("GET", f"/v1/jobs/{job_id}")
        return found

    def change_job(self, job_id: str, **facts: Any) -> Json:
        """Give a job another `name`, other `tags`, another `note`."""
        changed: Json = self.call("PATCH", f"/v1/jobs/{job_id}", **facts)
        return changed

    def cancel(self, job_id: str) -> Json:
        """Cancel a job that has not ended."""
        cancelled: Json = self.call("POST", f"/v1/jobs/{job_id}/cancel")
        return cancelled

    def delete_job(self, job_id: str) -> None:
        """Delete a job that has ended, with its results."""
        self.call("DELETE", f"/v1/jobs/{job_id}")

    def follow(self, job_id: str, every: float | None = None) -> Iterator[Json]:
        """The job again and again, at last as it has ended; as it was last seen while the service does not answer.

        `every` so many seconds, by default when the service says: the sooner, the less time is left. Raises NoAnswer,
        or Refused, if no answer comes for PATIENCE seconds.
        """
        job, seen = self.job(job_id), time.monotonic()
        while True:
            yield job
            if job["status"] in ENDED:
                return
            time.sleep(job.get("retry_after", 1.0) if every is None else every)
            try:
                job, seen = self.job(job_id), time.monotonic()
            except (NoAnswer, Refused) as error:
                is_passing = isinstance(error, NoAnswer) or error.status >= 500
                if not is_passing or time.monotonic() - seen > PATIENCE:
                    raise

    def wait(self, job_id: str, on_progress: Callable[[Json], None] | None = None, every: float | None = None) -> Json:
        """The job once it has succeeded; `on_progress` is called with it meanwhile. Raises JobNotSucceeded."""
        job: Json = {}
        for job in self.follow(job_id, every):
            if on_progress is not None:
                on_progress(job)
        if job["status"] != "succeeded":
            raise JobNotSucceeded(job)
        return job

    def categories(self, job_id: str, n_new: int | None = None, decisions: bool = True) -> Json:
        """The categories that a job found, and how sure it is of their number; or as many new ones as are wanted.

        With `decisions=False`, without what people have decided.
        """
        query = {"categories": n_new, "decisions": decisions}
        found: Json = self.call("GET", f"/v1/jobs/{job_id}/categories", query)
        return found

    def category(self, job_id: str, category: int | str) -> Json:
        """One category, by index or short id, with documents that stand for it and documents at its edge."""
        found: Json = self.call("GET", f"/v1/jobs/{job_id}/categories/{category}")
        return found

    def tree(self, job_id: str) -> Json:
        """Which documents of new categories belong together first; `categories` and `documents` cut it."""
        found: Json = self.call("GET", f"/v1/jobs/{job_id}/tree")
        return found

    def documents(self, job_id: str, **filters: Any) -> Iterator[Json]:
        """The answers of a job with the documents' texts and fields, in the order of the upload.

        Filters are those of docs/api.md: `search`, `sort`, `unsure`, `category`, `min_probability` ...; `categories` is
        another number of new ones, and `decisions=False` leaves out what people have decided.
        """
        return self.pages(f"/v1/jobs/{job_id}/documents", "documents", filters)

    def document(self, job_id: str, key: str, **options: Any) -> Json:
        """One document of a job, labeled or not, with what each of its words says and where it stands.

        Options are `categories` and `decisions`, as those of `documents`.
        """
        found: Json = self.call("GET", f"/v1/jobs/{job_id}/documents/{quote(key, safe='')}", options)
        return found

    def export(
        self, job_id: str, target: Target, format: str | None = None, *, what: str = "documents", **options: Any
    ) -> int:
        """Write `documents`, `categories` or `trace` of a job to a path or an open file; returns its bytes.

        The format is by the ending of the name: .csv, .xlsx, .ndjson, .jsonl, .parquet. A file appears only when it is
        complete. Options are those of docs/exports.md, and `decisions=False`. Raises ValueError for a name with another
        ending.
        """
        query = {"format": format_of(target, format, TABLE_FORMATS), **options}
        return write(self.connection.pieces("GET", f"/v1/jobs/{job_id}/{what}/export", query), target)

    def plot(self, job_id: str, name: str, target: Target) -> int:
        """Write the plot `trace`, `posterior`, `sizes` or `tree` of a job, as SVG; returns its bytes."""
        return write(self.connection.pieces("GET", f"/v1/jobs/{job_id}/plots/{name}.svg"), target)

    def report(self, job_id: str, target: Target) -> int:
        """Write the report of a job, one file of HTML that opens offline; returns its bytes."""
        return write(self.connection.pieces("GET", f"/v1/jobs/{job_id}/report"), target)

    def categorize(self, job_or_model: str, documents: Any, **options: Any) -> list[Json]:
        """What the frozen model of a job, or an imported one, says of new documents: a path, rows or a frame.

        Rows need a `text`, and may have a `key`. A row that cannot be used has `line` and `reason` alone. Options are
        those of docs/uploads.md for the file, `unsure_known`, `unsure_new` and `novel`.
        """
        content = b"".join(self.answers(job_or_model, documents, "ndjson", options))
        return [json.loads(line) for line in content.splitlines()]

    def categorize_frame(self, job_or_model: str, frame: Any, **options: Any) -> Any:
        """The same of the rows of a pandas frame, as a frame with its index: `frame.join` puts both together."""
        return beside_frame(frame, self.categorize(job_or_model, frame, **options))

    def categorize_to(
        self, job_or_model: str, documents: Any, target: Target, answer_format: str | None = None, **options: Any
    ) -> int:
        """The same as a file, .csv, .ndjson or .jsonl, for any number of documents; returns its bytes."""
        chosen = format_of(target, answer_format, LINE_FORMATS)
        return write(self.answers(job_or_model, documents, chosen, options), target)

    def answers(self, job_or_model: str, documents: Any, chosen: str, options: Mapping[str, Any]) -> Iterator[bytes]:
        """What a model says of new documents, as a file of the format that was chosen."""
        sent, query = prepared(documents), {"answer_format": chosen, **options}
        path = f"{self.place(job_or_model)}/categorize"
        return self.connection.pieces("POST", path, query, sent.body, sent.headers)

    def place(self, job_or_model: str) -> str:
        """The path of a model or, if there is none with this id, of a job."""
        try:
            self.model(job_or_model)
        except Refused as error:
            if error.status != NOT_FOUND:
                raise
            return f"/v1/jobs/{job_or_model}"
        return f"/v1/models/{job_or_model}"

    def drift(self, job_or_model: str, since: date | None = None) -> Json:
        """How many of the documents that a model categorized on each day are novel, and whether that is too many."""
        query = None if since is None else {"since": since.isoformat()}
        found: Json = self.call("GET", f"{self.place(job_or_model)}/drift", query)
        return found

    def models(self, imported: bool | None = None) -> Iterator[Json]:
        """The frozen models, of jobs and imported, newest first."""
        return self.pages("/v1/models", "models", {"imported": imported})

    def model(self, model_id: str) -> Json:
        """What is known of a frozen model."""
        found: Json = self.call("GET", f"/v1/models/{model_id}")
        return found

    def export_model(self, job_or_model: str, target: Target) -> int:
        """Write a model to a path or an open file; returns its bytes."""
        place = self.place(job_or_model)
        path = f"{place}/file" if place.startswith("/v1/models/") else f"{place}/model"
        return write(self.connection.pieces("GET", path), target)

    def import_model(self, path: str | os.PathLike[str], name: str | None = None) -> Json:
        """Import a model from its file; its `id` is what `categorize` takes."""
        sent = of_file(Path(path))
        imported: Json = self.connection.request("POST", "/v1/models", {"name": name}, sent.body, sent.headers)
        return imported

    def delete_model(self, model_id: str) -> None:
        """Delete an imported model."""
        self.call("DELETE", f"/v1/models/{model_id}")
