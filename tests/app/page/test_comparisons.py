"""The view of a comparison of methods: its table as the API has it, the best of each score, and its jobs."""

from typing import Any

import pytest
from sqlalchemy import update
from starlette.testclient import TestClient

from app.core.db import Database
from app.core.settings import Settings
from app.core.tables import Job
from app.page.views.comparisons import SCORES, best_rows, sentence_of
from tests.app.http.compared_methods import compare, compared
from tests.app.page.seen import asked, part, rows_of, view, words
from tests.worker import jobs
from tests.worker.splits import LBPL, gold_rows

pytestmark = pytest.mark.parametrize("kind", ["sqlite"])

SCRIPT = "<script>alert(1)</script>"


def waiting(client: TestClient, database: Database, **body: Any) -> Any:
    """A comparison that nobody works on yet."""
    answer = compare(client, jobs.upload(database, gold_rows()), LBPL, {**LBPL, "name": SCRIPT}, **body)
    assert answer.status_code == 202, answer.text
    return answer.json()


def test_a_comparison_that_has_ended_shows_means_errors_and_the_scores_of_each_split(
    client: TestClient, database: Database, settings: Settings
) -> None:
    found = compared(client, database, settings, LBPL, {**LBPL, "name": "other", "seed": 9}, name="ours")
    html = view(client, f"/comparisons/{found['id']}")
    assert "data-live" not in html
    rows = rows_of(part(html, "table"))
    assert rows[0] == ["Method", "Model", "NMI", "ARI", "Mean F1", "Categories", "Seconds", "Splits"]
    for row, shown in zip(found["table"], rows[1:], strict=True):
        assert shown[:2] == [row["method"], row["model"]]
        for score, cell in zip(SCORES, shown[2:], strict=False):
            mean, error = (f"{row[score.name][name]:,.{score.digits}f}" for name in ("mean", "standard_error"))
            assert cell.removeprefix("best ") == f"{mean} ± {error}"
        assert shown[-1] == "2 of 2"
    splits = rows_of(part(html, "splits"))
    for row, shown in zip(found["table"], splits[1:], strict=True):
        assert shown[1:] == [f"{cell['nmi']:.3f}" for cell in row["cells"]]
        for cell in row["cells"]:
            assert f'href="/jobs/{cell["job"]}"' in html
    assert html.count('class="p-dot') == 2 * 3, "a dot for each method and score"
    assert asked(html) == {f"DELETE /v1/comparisons/{found['id']}"}
    for form in ("csv", "markdown"):
        assert client.get(f"/v1/comparisons/{found['id']}/table?format={form}").status_code == 200
        assert f'href="/v1/comparisons/{found["id"]}/table?format={form}"' in html


def test_a_comparison_that_waits_is_looked_at_again_and_can_be_cancelled(
    client: TestClient, database: Database
) -> None:
    found = waiting(client, database, name=SCRIPT)
    html = view(client, f"/comparisons/{found['id']}")
    assert "No split has been scored yet." in words(html)
    assert "0 of 4 jobs ended" in words(html)
    assert 'data-live="2"' in html
    assert SCRIPT not in html and SCRIPT in words(html)
    assert asked(html) == {f"POST /v1/comparisons/{found['id']}/cancel"}
    assert [row[1:] for row in rows_of(part(html, "splits"))[1:]] == [["queued", "queued"]] * 2
    assert client.post(f"/v1/comparisons/{found['id']}/cancel").status_code == 200
    html = view(client, f"/comparisons/{found['id']}")
    assert "data-live" not in html
    assert asked(html) == {f"DELETE /v1/comparisons/{found['id']}"}


def test_a_deleted_job_of_a_comparison_says_so(client: TestClient, database: Database) -> None:
    found = waiting(client, database)
    gone = found["table"][0]["cells"][1]["job"]
    with database.sessions.begin() as session:
        session.execute(update(Job).where(Job.id == gone).values(status="cancelled"))
    assert client.delete(f"/v1/jobs/{gone}").status_code == 204
    html = view(client, f"/comparisons/{found['id']}")
    assert rows_of(part(html, "splits"))[1][1:] == ["queued", "deleted"]
    assert gone not in html


def test_a_job_leads_to_the_comparison_that_it_is_part_of(client: TestClient, database: Database) -> None:
    found = waiting(client, database)
    html = view(client, f"/jobs/{found['table'][0]['cells'][0]['job']}/chains")
    assert f'href="/comparisons/{found["id"]}"' in html


def test_all_comparisons_are_listed(client: TestClient, database: Database) -> None:
    assert "There is none yet." in words(view(client, "/comparisons"))
    found = waiting(client, database, name=SCRIPT)
    html = view(client, "/comparisons")
    assert SCRIPT not in html and SCRIPT in words(html)
    assert f'href="/comparisons/{found["id"]}"' in html


def test_an_unknown_comparison_is_a_page_that_says_so(client: TestClient) -> None:
    assert client.get("/comparisons/nothing").status_code == 404


def estimate(mean: float | None, error: float | None = None) -> dict[str, float | None]:
    return {"mean": mean, "standard_error": error}


def test_the_best_is_the_highest_score_the_nearest_number_and_the_least_time(kind: str) -> None:
    def best(score: str, *means: float | None, model: str = "calibrated") -> set[int]:
        return best_rows([{"model": model, score: estimate(mean)} for mean in means], score, 6)

    assert best("nmi", 3.0, 5.0, 9.0, None) == {2}
    assert best("seconds", 3.0, 5.0, 9.0, None) == {0}
    assert best("categories", 3.0, 5.0, 9.0, None) == {1}
    assert best("categories", 3.0, 6.0, model="sskm") == set(), "it is told the number"
    assert best("nmi", 0.5, 0.5) == {0, 1}
    assert best("nmi", 0.5, None) == set(), "one alone is not the best"


def test_a_lead_within_the_errors_is_no_lead(kind: str) -> None:
    def said(other: float, error: float | None) -> str:
        rows = [("a", estimate(0.8, error)), ("b", estimate(other, error))]
        return sentence_of({"table": [{"method": name, "nmi": nmi} for name, nmi in rows]})

    assert said(0.7, 0.02) == "a matches the hidden labels best, with NMI 0.800."
    assert said(0.75, 0.02).endswith("within the errors, b may be as good.")
    assert said(0.75, None) == "a matches the hidden labels best, with NMI 0.800."
