"""Comparisons of methods over random splits of a corpus whose labels are taken as gold."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from newfound_client.calls import Calls, Json


class Comparisons(Calls):
    """Operations on comparisons of methods."""

    def compare_methods(
        self,
        corpus_id: str,
        methods: Sequence[Mapping[str, Any]],
        *,
        name: str | None = None,
        idempotency_key: str | None = None,
        **options: Any,
    ) -> Json:
        """Queue a job for each method and split; sent again under the same key, it is the same comparison.

        A method is a mapping with the settings of a job, and perhaps a `name`. Options are `splits`, `seed`, `known`
        and `labeled_share`.
        """
        body = {"corpus_id": corpus_id, "methods": [dict(each) for each in methods], "name": name, **options}
        return self.posted("/v1/comparisons", body, idempotency_key)

    def comparisons(self) -> Iterator[Json]:
        """All comparisons in short form, newest first."""
        return self.pages("/v1/comparisons", "comparisons", {})

    def comparison(self, comparison_id: str) -> Json:
        """A comparison as it is now, with its table."""
        found: Json = self.call("GET", f"/v1/comparisons/{comparison_id}")
        return found

    def cancel_comparison(self, comparison_id: str) -> Json:
        """Cancel the jobs of a comparison that have not ended."""
        cancelled: Json = self.call("POST", f"/v1/comparisons/{comparison_id}/cancel")
        return cancelled

    def delete_comparison(self, comparison_id: str) -> None:
        """Delete a comparison whose jobs have ended, with these and their results."""
        self.call("DELETE", f"/v1/comparisons/{comparison_id}")
