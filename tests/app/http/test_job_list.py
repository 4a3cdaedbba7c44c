"""The list of jobs: short, cheap and true; on both databases."""

from typing import Any

from sqlalchemy import event, insert, update
from starlette.testclient import TestClient

from app.core.db import Database
from app.core.tables import Draw, Job
from app.schemas.job_settings import JobIn
from app.schemas.jobs import JobSummary
from app.schemas.results import DrawOut
from tests.app.legs import claim, finish, save
from tests.app.rows import CORPUS, add_corpus, add_draws, add_encoding, submit
from tests.app.rows import units as units_of

SEED = 2**63 - 1


def listed(client: TestClient) -> list[dict[str, Any]]:
    answer = client.get("/v1/jobs", params={"limit": 1000})
    assert answer.status_code == 200
    jobs: list[dict[str, Any]] = answer.json()["jobs"]
    return jobs


def test_a_summary_is_the_job_without_its_settings_in_full_and_its_chains(
    client: TestClient, database: Database
) -> None:
    for model in ("lbpl-ntm", "calibrated"):
        job_id, [encode] = submit(database, chains=3, model=model)
        with database.sessions.begin() as session:
            job = session.get_one(Job, job_id)
            job.settings = {**job.settings, "seed": SEED}
        claim(database, encode, "a")
        add_encoding(database, job_id)
        finish(database, encode, "a")
        for chain, n_sweeps in zip(units_of(database, job_id, "chain"), (4, 10), strict=False):
            if claim(database, chain.id, "a") is not None:
                save(database, chain.id, "a", n_sweeps)
        whole = client.get(f"/v1/jobs/{job_id}").json()
        [summary] = [job for job in listed(client) if job["id"] == job_id]
        for name in ("id", "corpus_id", "corpus_version", "status", "error", "created_at", "started_at", "finished_at"):
            assert summary[name] == whole[name], name
        for name in ("model", "sweeps", "burn_in", "chains", "seed"):
            assert summary[name] == whole["settings"][name], name
        assert set(summary) == set(JobSummary.model_fields)
        assert summary["links"] == {"self": whole["links"]["self"]}
        for name, value in summary["progress"].items():
            assert value == whole["progress"][name], name


def test_the_list_takes_as_many_queries_for_a_thousand_jobs_as_for_one(client: TestClient, database: Database) -> None:
    words = [f"word{number:05d}" for number in range(10_000)]
    settings = JobIn(corpus_id=CORPUS, chains=2, text={"extra_stop_words": words}).settings()
    statements: list[str] = []

    def note(_: Any, __: Any, statement: str, *___: Any) -> None:
        statements.append(statement)

    engine = client.app.state.database.engine  # type: ignore[attr-defined]
    event.listen(engine, "before_cursor_execute", note)
    counts, sizes = [], []
    with database.sessions.begin() as session:
        add_corpus(session)
    for n in (1, 40):
        with database.sessions.begin() as session:
            rows = [
                {
                    "id": f"{n:08x}-2222-4333-8444-{number:012x}",
                    "corpus_id": CORPUS,
                    "corpus_version": 1,
                    "settings": settings,
                    "status": "succeeded",
                }
                for number in range(n)
            ]
            session.execute(insert(Job), rows)
        listed(client)  # what is remembered for a while is measured once
        statements.clear()
        answer = client.get("/v1/jobs", params={"limit": 1000})
        counts.append(len(statements))
        sizes.append(len(answer.content) / len(answer.json()["jobs"]))
    assert counts[0] == counts[1]
    assert max(sizes) < 1_000, "bytes a job: no stop word is among them"


def test_the_list_says_what_an_older_job_was(client: TestClient, database: Database) -> None:
    job_id, _ = submit(database)
    with database.sessions.begin() as session:
        settings = {name: value for name, value in session.get_one(Job, job_id).settings.items() if name != "kernel"}
        session.execute(update(Job).values(settings=settings))
    assert [job["model"] for job in listed(client)] == ["lbpl-ntm"]


def test_ten_thousand_draws_are_one_answer(client: TestClient, database: Database) -> None:
    job_id, _ = submit(database)
    add_draws(database, job_id, chains=1, sweeps=3)
    with database.sessions.begin() as session:
        row = {name: getattr(session.get_one(Draw, (job_id, 0, 1)), name) for name in DrawOut.model_fields}
        session.execute(insert(Draw), [{**row, "job_id": job_id, "chain": 1, "sweep": n} for n in range(10_000)])
    first = client.get(f"/v1/jobs/{job_id}/trace", params={"limit": 10_000}).json()
    assert (len(first["draws"]), first["draws"][0]) == (10_000, {**row, "setting": None})
    rest = client.get(f"/v1/jobs/{job_id}/trace", params={"limit": 10_000, "cursor": first["next"]}).json()
    assert (len(rest["draws"]), rest["next"]) == (3, None)
