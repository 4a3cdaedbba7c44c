"""A client of the service: what tests of running services ask of it."""

import json
from pathlib import Path
from typing import Any

import httpx2

from tests.waits import REQUEST_SECONDS, SELDOM, wait_for

ROOT = Path(__file__).resolve().parent.parent
N_LINES = 150  # of each file of the sample
JOB = {"chains": 2, "seed": 7, "hyperparameters": {"n_topics": 8, "n_start": 3}}
OVER = ("succeeded", "failed", "cancelled")


class Client:
    """Speaks HTTP to one address."""

    def __init__(self, address: str, key: str | None = None) -> None:
        headers = {"Authorization": f"Bearer {key}"} if key else None
        self.http = httpx2.Client(base_url=address, timeout=REQUEST_SECONDS, headers=headers)

    def request(self, method: str, path: str, **options: Any) -> httpx2.Response:
        """One request; a test may send it from another place."""
        return self.http.request(method, path, **options)

    def is_up(self) -> bool:
        """Whether the service answers and is well."""
        try:
            return self.request("GET", "/health").status_code == 200
        except httpx2.TransportError:
            return False

    def get(self, path: str) -> Any:
        """The body of an answer that must be there."""
        response = self.request("GET", path)
        assert response.status_code == 200, response.text
        return response.json()

    def post(self, path: str, **fields: Any) -> Any:
        """The body of the answer to a request that must succeed."""
        response = self.request("POST", path, json=fields)
        assert response.is_success, response.text
        return response.json()

    def upload_sample(self) -> str:
        """A corpus with a part of the sample; returns its id."""
        corpus_id = str(self.post("/v1/corpora", name="sample")["id"])
        for name in ("labeled.ndjson", "unlabeled.ndjson"):
            lines = (ROOT / "examples" / name).read_bytes().splitlines(keepends=True)[:N_LINES]
            response = self.request(
                "POST",
                f"/v1/corpora/{corpus_id}/documents",
                content=b"".join(lines),
                headers={"Content-Type": "application/x-ndjson"},
            )
            assert response.json()["accepted"] == len(lines), response.text
        return corpus_id

    def submit(self, corpus_id: str, sweeps: int, **settings: Any) -> str:
        """A job over the corpus; returns its id."""
        return str(self.post("/v1/jobs", **{**JOB, **settings}, corpus_id=corpus_id, sweeps=sweeps)["id"])

    def job(self, job_id: str) -> Any:
        """The job as it is now."""
        return self.get(f"/v1/jobs/{job_id}")

    def sweeps_done(self, job_id: str) -> int:
        """How many sweeps of the job are saved."""
        return int(self.job(job_id)["progress"]["sweeps_done"])

    def wait_until_ended(self, job_id: str) -> Any:
        """The job, once it has ended."""

        def ended() -> Any:
            job = self.job(job_id)
            return job if job["status"] in OVER else None

        return wait_for(ended, f"job {job_id} ends", every=SELDOM)

    def wait_until_succeeded(self, job_id: str) -> Any:
        """The job, once it has ended: well."""
        job = self.wait_until_ended(job_id)
        assert (job["status"], job["error"]) == ("succeeded", None)
        return job

    def digests(self, job_id: str) -> list[str]:
        """The digest of each chain."""
        digests = [chain["digest"] for chain in self.job(job_id)["progress"]["chains"]]
        assert all(len(digest) == 64 for digest in digests)
        return digests

    def trace(self, job_id: str) -> list[dict[str, Any]]:
        """Every draw of the job."""
        draws: list[dict[str, Any]] = []
        for chain in self.job(job_id)["progress"]["chains"]:
            path = f"/v1/jobs/{job_id}/trace?chain={chain['chain']}&limit=10000"
            draws += self.get(path)["draws"]
        return draws

    def results(self, job_id: str) -> bytes:
        """Everything that the job answers, as bytes to be compared."""
        base = f"/v1/jobs/{job_id}"
        rest = [self.get(f"{base}/{part}") for part in ("categories", "documents?limit=1000")]
        return json.dumps([self.trace(job_id), *rest], sort_keys=True).encode().replace(job_id.encode(), b"")
