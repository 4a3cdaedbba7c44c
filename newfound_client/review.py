"""The review of a job's answer: what to ask a person, what was decided, and the job that continues with it."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from newfound_client.calls import Calls, Json


class Review(Calls):
    """Operations of people who correct an answer.

    `triage`, `categories`, `decide` and `undo` return the answer's `etag`. Given as `if_match`, it has a request
    refused (`answer-changed`) if somebody has decided something since.
    """

    def triage(self, job_id: str, budget: int = 50, skip: Sequence[str] = ()) -> Json:
        """The documents whose answer by a person would teach most, but for those with some keys."""
        found: Json = self.call("GET", f"/v1/jobs/{job_id}/triage", {"budget": budget, "skip": list(skip)})
        return found

    def decide(
        self,
        job_id: str,
        *decisions: Mapping[str, Any],
        author: str | None = None,
        if_match: str | None = None,
        idempotency_key: str | None = None,
    ) -> Json:
        """Make decisions, all of them or none; sent again under the same key, they are made once.

        Each is a mapping with its `kind` and what goes with it, as docs/api.md has them.
        """
        body = {"decisions": [dict(each) for each in decisions], "author": author}
        return self.posted(f"/v1/jobs/{job_id}/decisions", body, idempotency_key, if_match)

    def undo(self, job_id: str, number: int, author: str | None = None, if_match: str | None = None) -> Json:
        """Undo the decision with a number."""
        return self.decide(job_id, {"kind": "undo", "decision": number}, author=author, if_match=if_match)

    def decisions(self, job_id: str) -> Iterator[Json]:
        """All decisions about a job, in their order, also those that were undone."""
        return self.pages(f"/v1/jobs/{job_id}/decisions", "decisions", {})

    def continue_job(
        self,
        job_id: str,
        *,
        sweeps: int | None = None,
        wait: bool = False,
        name: str | None = None,
        tags: Sequence[str] = (),
        note: str | None = None,
        if_match: str | None = None,
        idempotency_key: str | None = None,
    ) -> Json:
        """Queue a job that continues this one, with what was decided and with the documents that have arrived.

        With `wait` also one that has not ended is continued: as soon as it has succeeded.
        """
        body = {"sweeps": sweeps, "wait": wait, "name": name, "tags": list(tags), "note": note}
        return self.posted(f"/v1/jobs/{job_id}/continue", body, idempotency_key, if_match)

    def compare(self, job_id: str, with_job: str) -> Json:
        """What became of the categories of an earlier job over the same corpus."""
        found: Json = self.call("GET", f"/v1/jobs/{job_id}/comparison", {"compared_with": with_job})
        return found

    def lineage(self, category_id: str, corpus_id: str | None = None) -> Iterator[Json]:
        """The jobs that have a category, oldest first, and what was decided about it."""
        return self.pages(f"/v1/categories/{category_id}/lineage", "jobs", {"corpus_id": corpus_id})
