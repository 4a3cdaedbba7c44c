"""The view of a job's chains: how far it is, whether its chains agree, and what its state allows."""

from typing import Any

import pytest
from sqlalchemy import update
from starlette.testclient import TestClient

from app.core import lifecycle
from app.core.db import Database
from app.core.runs import Run
from app.core.settings import Settings
from app.core.tables import Job, PowerStep, Summary
from app.http import main
from app.page import diagnosis
from app.page.rendering import NOTHING
from sampler.answers import verdict
from tests.app import legs
from tests.app.page.seen import asked, part, rows_of, view, words
from tests.app.rows import add_draws, add_encoding, add_results, end, run, submit, units

pytestmark = pytest.mark.parametrize("kind", ["sqlite"])  # the API is tested on both databases

SCRIPT = "<script>alert(1)</script>"
AGREEMENT = [[1.0, 0.91], [0.91, 1.0]]
DIAGNOSTICS: dict[str, Any] = {
    "verdict": "mixed",
    "agreement": AGREEMENT,
    "mean_agreement": 0.91,
    "r_hat": {"n_categories": 1.005, "log_joint": 1.4},
    "effective_size": {"n_categories": 240.5, "log_joint": 4.0},
}
CALIBRATION: dict[str, Any] = {
    "labeling_rate": 0.4,
    "labeling_rates": {"optics": 0.25, SCRIPT: None},
    "settings": [
        {"weighting": "inverse_frequency", "background": True, "smoothing": 0.2, "power": 1.5, "given_back": 0.81,
         "stability": 0.9, "weight": 0.75},
    ],
}  # fmt: skip


def succeeded(database: Database, model: str = "calibrated", **data: Any) -> str:
    """Id of a job that has ended, with more in its summary."""
    job_id, _ = submit(database, model=model)
    add_encoding(database, job_id)
    add_draws(database, job_id, chains=2, sweeps=10)
    add_results(database, job_id)
    with database.sessions.begin() as session:
        [summary] = session.query(Summary).filter_by(job_id=job_id)
        summary.data = summary.data | data
    end(database, job_id)
    return job_id


def chains(client: TestClient, job_id: str) -> str:
    """The view."""
    return view(client, f"/jobs/{job_id}/chains")


def test_a_job_that_waits_says_so_and_is_looked_at_again(client: TestClient, database: Database) -> None:
    job_id, _ = submit(database)
    html = chains(client, job_id)
    assert "Waiting for a worker." in words(part(html, "state"))
    assert 'data-live="1"' in part(html, "state")
    assert asked(html) == {
        f"POST /v1/jobs/{job_id}/pause",
        f"POST /v1/jobs/{job_id}/cancel",
        f"POST /v1/jobs/{job_id}/continue",
        f"PATCH /v1/jobs/{job_id}",
    }
    assert client.get(f"/v1/jobs/{job_id}").json()["progress"]["note"] in words(html), "why nobody works on it"


def test_a_running_job_says_what_the_api_says(client: TestClient, database: Database) -> None:
    job_id, [encode] = submit(database)
    after = run(database, encode)
    legs.claim(database, after[0], "a")
    legs.save(database, after[0], "a", 4)
    html = chains(client, job_id)
    progress = client.get(f"/v1/jobs/{job_id}").json()["progress"]
    assert (progress["sweeps_done"], progress["sweeps_total"]) == (4, 20)
    assert "Sampling: 4 of 20 sweeps." in words(part(html, "state"))
    steps = part(html, "state").split("<li ")[1:]
    assert [words("<li " + step).split()[0] for step in steps] == ["Encode", "Sample", "Conclude"]
    assert ['aria-current="step"' in step for step in steps] == [False, True, False]
    assert 'data-chains="0:4 1:0 "' in html
    assert rows_of(part(html, "chain-table"))[1:] == [
        ["0", "sampling", "4", "7", "3.5"],
        ["1", "waits for a worker", "0", NOTHING, NOTHING],
    ]


def test_a_calibrated_job_has_the_steps_of_its_model(client: TestClient, database: Database) -> None:
    job_id, _ = submit(database, model="calibrated")
    steps = part(chains(client, job_id), "state").split("<li ")[1:]
    names = [step.partition("<strong>")[2].partition("</strong>")[0] for step in steps]
    assert names == ["Encode", "Find groups", "Learn", "Sample", "Conclude"]


@pytest.mark.parametrize(
    ("status", "verbs"),
    [
        ("running", {"pause", "cancel"}),
        ("paused", {"resume", "cancel"}),
        ("failed", {"resume"}),
        ("cancelled", {"resume"}),
        ("succeeded", {"extend", "power-test"}),
    ],
)
def test_only_what_the_state_allows_is_offered(
    client: TestClient, database: Database, status: str, verbs: set[str]
) -> None:
    job_id = succeeded(database)
    with database.sessions.begin() as session:
        session.execute(update(Job).where(Job.id == job_id).values(status=status))
    offered = {each.rpartition("/")[2] for each in asked(chains(client, job_id)) if each.startswith("POST")}
    assert offered - {"continue"} == verbs
    assert ("continue" in offered) == (status in ("running", "paused", "succeeded"))
    deletes = f"DELETE /v1/jobs/{job_id}" in asked(chains(client, job_id))
    assert deletes == (status in ("failed", "cancelled", "succeeded"))


@pytest.mark.parametrize("status", ["queued", "running", "paused", "failed", "cancelled", "succeeded"])
def test_the_api_does_not_refuse_what_is_offered(client: TestClient, database: Database, status: str) -> None:
    bodies: dict[str, Any] = {"extend": {"sweeps": 1}, "continue": {"wait": status != "succeeded"}}
    offered = [each for each in asked(chains(client, job_in(database, status))) if each.startswith("POST")]
    assert offered
    for each in (each.rpartition("/")[2] for each in offered):
        answer = client.post(f"/v1/jobs/{job_in(database, status)}/{each}", json=bodies.get(each))
        assert answer.status_code == 202 or (each in ("pause", "cancel") and answer.status_code == 200)


@pytest.mark.parametrize("status", ["failed", "cancelled", "succeeded"])
def test_a_job_without_checkpoints_says_so_and_offers_nothing_that_needs_them(
    client: TestClient, database: Database, status: str
) -> None:
    job_id = job_in(database, status)
    with database.sessions.begin() as session:
        session.execute(update(Job).where(Job.id == job_id).values(expired_at=1_795_000_000.0))
    seen = chains(client, job_id)
    assert not [each for each in asked(seen) if each.startswith("POST")]
    assert f"DELETE /v1/jobs/{job_id}" in asked(seen)
    assert "The checkpoints of this job expired" in words(seen)
    assert f'/corpora/{client.get(f"/v1/jobs/{job_id}").json()["corpus_id"]}/new-job"' in seen
    for path in ("/v1/jobs", f"/v1/jobs/{job_id}"):
        assert '"expired_at":"2026-11-18T11:06:40Z"' in client.get(path).text


def job_in(database: Database, status: str) -> str:
    """Id of a new job with a status."""
    job_id = succeeded(database)
    with database.sessions.begin() as session:
        session.execute(update(Job).where(Job.id == job_id).values(status=status))
    return job_id


def test_a_failed_job_shows_its_error_in_full_and_what_to_do(client: TestClient, database: Database) -> None:
    job_id, [encode] = submit(database)
    legs.claim(database, encode, "a")
    legs.fail(database, encode, "a", f"ValueError: {SCRIPT} is not a text\nline two")
    html = chains(client, job_id)
    assert "Failed while encoding the texts." in words(html)
    assert f"ValueError: {SCRIPT} is not a text line two" in words(html)
    assert "Resume continues from the last checkpoint" in words(html)
    assert SCRIPT not in html
    assert "data-live" not in html, "nothing happens any more"


def test_an_answer_is_announced_with_its_number_and_its_link(client: TestClient, database: Database) -> None:
    job_id = succeeded(database)
    html = chains(client, job_id)
    told = client.get(f"/v1/jobs/{job_id}/categories").json()
    assert told["new_categories"]["number"] == 1
    assert "The answer is ready: 1 new category. Read it" in words(part(html, "state"))
    assert told["summary"].partition(". ")[0] in words(html)
    assert f'href="/jobs/{job_id}"' in part(html, "state")


def test_diagnostics_are_told_in_words_with_their_numbers(client: TestClient, database: Database) -> None:
    reasons = ["R-hat of the log joint is 1.400, above 1.1: its draws have not settled.", "A second one."]
    job_id = succeeded(database, "lbpl-ntm", diagnostics=DIAGNOSTICS | {"reasons": reasons})
    html = part(chains(client, job_id), "diagnosis")
    said = words(html)
    told = client.get(f"/v1/jobs/{job_id}/categories").json()
    for reason in told["diagnostics"]["reasons"]:
        assert reason in said
    assert "Check before you rely on this answer." in said
    assert "The chains agree about the documents. (adjusted Rand index 0.91" in said
    assert "The chains agree on the number of categories. (R-hat 1.005, near 1" in said
    assert "10 draws of the number of categories are worth 240 independent ones." in said
    assert "The chains do not agree yet on the log joint: run longer. (R-hat 1.400, above 1.1)" in said
    assert "10 draws of the log joint are worth 4 independent ones: run longer. (fewer than 25 a chain)" in said
    assert rows_of(html)[1:3] == [["chain 0", NOTHING, "0.91"], ["chain 1", "0.91", NOTHING]]
    assert "The categories are those of chain 1, the best one." in said


def test_what_the_labels_taught_is_shown_and_escaped(client: TestClient, database: Database) -> None:
    html = chains(client, succeeded(database, calibration=CALIBRATION))
    assert "Of the documents of known categories, 40 % bear a label" in words(html)
    assert ["optics", "25 %"] in rows_of(html) and [SCRIPT, NOTHING] in rows_of(html)
    assert ["75 %", "inverse frequency", "as in the corpus", "no", "0.2", "1.5", "0.81", "0.90"] in rows_of(html)
    assert SCRIPT not in html


def test_a_job_without_diagnostics_says_that_chains_are_not_compared(client: TestClient, database: Database) -> None:
    html = chains(client, succeeded(database, "dpgm"))
    assert "Chains of this method are not compared" in words(html)
    assert 'data-objective="objective"' in html
    assert not {each for each in asked(html) if each.endswith(("continue", "power-test"))}


def test_the_agreement_of_many_chains_is_told_on_average_alone(client: TestClient, database: Database) -> None:
    many = [[1.0] * 13] * 13
    html = part(
        chains(client, succeeded(database, diagnostics=DIAGNOSTICS | {"agreement": many, "reasons": ["Why."]})),
        "diagnosis",
    )
    assert "adjusted Rand index 0.91 on average" in words(html)
    assert "<table" not in html


def test_limits_are_those_of_the_verdict(kind: str) -> None:
    assert diagnosis.R_HAT_LIMIT == verdict.R_HAT_LIMIT
    assert diagnosis.ENOUGH_DRAWS == verdict.ENOUGH_DRAWS
    limits = (diagnosis.LITTLE_AGREEMENT, diagnosis.GOOD_AGREEMENT)
    assert limits == tuple(limit for limit, _ in verdict.AGREEMENT_LIMITS)


@pytest.mark.parametrize(
    ("mean", "r_hat", "size", "said"),
    [
        (None, None, None, ["One chain cannot show", "Too few draws were kept to judge the number of categories"]),
        (0.6, None, 0.0, ["The chains do not agree about the documents.", "Each chain stays at a value of its own"]),
        (0.8, 1.11, 49.0, ["agree about most documents", "do not agree yet on the number of categories: run longer"]),
        (0.9, 1.1, 50.0, ["The chains agree about the documents.", "The chains agree on the number of categories."]),
    ],
)
def test_findings_say_what_numbers_mean(
    mean: float | None, r_hat: float | None, size: float | None, said: list[str], kind: str
) -> None:
    told = {"mean_agreement": mean, "r_hat": {"n_categories": r_hat}, "effective_size": {"n_categories": size}}
    found = diagnosis.findings(told, 100, 2)
    for sentence, finding in zip(said, found, strict=False):
        assert sentence in finding.sentence
    assert any(finding.run_longer for finding in found) == (mean != 0.9)


def test_an_extension_has_a_progress_and_controls_of_its_own(client: TestClient, database: Database) -> None:
    job_id = succeeded(database)
    assert client.post(f"/v1/jobs/{job_id}/extend", json={"sweeps": 30}).status_code == 202
    html = chains(client, job_id)
    side = words(part(html, "side-runs"))
    assert "Extension queued 40 sweeps of each chain at its end. Waiting for a worker" in side
    assert 'data-sweeps="40"' in html
    assert {f"POST /v1/jobs/{job_id}/extension/{verb}" for verb in ("pause", "cancel")} <= asked(html)
    assert f"POST /v1/jobs/{job_id}/extend" not in asked(html)
    assert f"DELETE /v1/jobs/{job_id}" not in asked(html)
    assert "The answer is ready" in words(html), "the answer stays until the extension has succeeded"

    with database.sessions.begin() as session:
        lifecycle.cancel(session, Run(job_id, "extension"))
    assert f"POST /v1/jobs/{job_id}/extension/resume" in asked(chains(client, job_id))


def test_a_power_test_says_which_categories_would_have_been_noticed(client: TestClient, database: Database) -> None:
    job_id = succeeded(database)
    assert client.post(f"/v1/jobs/{job_id}/power-test").status_code == 202
    with database.sessions.begin() as session:
        found = {"found": 0.9, "recall": 0.75, "taken_for": -1, "taken": 0.0, "probability": 1.0}
        missed = {"found": 0.25, "recall": 0.2, "taken_for": 0, "taken": 0.6, "probability": 0.0}
        session.add_all(PowerStep(job_id=job_id, number=n, data=data) for n, data in enumerate((found, missed)))
    html = part(chains(client, job_id), "side-runs")
    assert "1 of 2 known categories would have been noticed" in words(html)
    assert rows_of(html)[1:] == [
        ["physics", "not noticed", "0.25", "20 %", "optics (60 %)"],
        ["optics", "noticed", "0.90", "75 %", "no known category"],
    ]
    assert len(units(database, job_id, "power")) == 1


def test_what_users_call_a_job_is_escaped(client: TestClient, database: Database) -> None:
    job_id = succeeded(database)
    named = {"name": f"{SCRIPT} & <b>", "tags": [SCRIPT, "a, b"], "note": f"</textarea>{SCRIPT}"}
    assert client.patch(f"/v1/jobs/{job_id}", json=named).status_code == 200
    html = chains(client, job_id)
    assert SCRIPT not in html and "</textarea><script" not in html
    assert f"{SCRIPT} & <b>" in words(html)
    assert "&lt;script&gt;alert(1)&lt;/script&gt;\na, b</textarea>" in html, "a tag a line, as it is"


def test_all_settings_are_shown(client: TestClient, database: Database) -> None:
    job_id = succeeded(database)
    html = chains(client, job_id)
    settings = client.get(f"/v1/jobs/{job_id}").json()["settings"]
    shown = dict(row for row in rows_of(html) if len(row) == 2)
    assert shown["sweeps"] == str(settings["sweeps"])
    assert shown["text.stop_words"] == settings["text"]["stop_words"]


def test_an_unknown_job_is_a_page_that_says_so(client: TestClient) -> None:
    answer = client.get("/jobs/nobody/chains")
    assert answer.status_code == 404
    assert answer.headers["content-type"] == "text/html; charset=utf-8"


def test_below_a_root_path_all_links_are_right(settings: Settings, database: Database) -> None:
    job_id = succeeded(database)
    app = main.create_app(settings.model_copy(update={"root_path": "/below"}))
    with TestClient(app, root_path="/below") as client:
        html = view(client, f"/below/jobs/{job_id}/chains")
    links = [each.partition('"')[0] for each in html.split('href="')[1:]]
    assert links and all(link.startswith(("/below/", "#")) for link in links), links
    assert all(each.split(" ")[1].startswith("/v1/") for each in asked(html)), "page.js puts the root before these"
