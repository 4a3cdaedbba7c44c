"""The tree, the map, categories over time, and scores: what is shown is what the API says."""

import re
from html import unescape
from typing import Any

import pytest
from starlette.testclient import TestClient

from app.core.db import Database
from app.page import figures
from app.page.views import over_time
from tests.app.page.answers import NAMES, SCRIPT, add_answered, key_of
from tests.app.page.seen import part, rows_of, view, words

pytestmark = pytest.mark.parametrize("kind", ["sqlite"])  # the API is tested on both databases


def test_the_slider_goes_from_one_category_to_the_leaves_of_the_tree(client: TestClient, database: Database) -> None:
    job = add_answered(database)
    html = view(client, f"/jobs/{job}/tree")
    assert 'type="range" name="categories" min="1" max="3" value="2"' in html
    assert rows_of(part(html, "cut"))[-2:] == [
        [f"{NAMES[2]}", "2", "", "word20, word21, word22"],
        [f"{NAMES[3]}", "1", "", "word30, word31, word32"],
    ]


@pytest.mark.parametrize("n", [1, 2, 3])
def test_a_cut_has_the_categories_and_the_losses_of_the_api(client: TestClient, database: Database, n: int) -> None:
    job = add_answered(database)
    told = client.get(f"/v1/jobs/{job}/categories", params={"categories": n}).json()
    html = view(client, f"/jobs/{job}/tree?categories={n}")
    new = sorted((each for each in told["categories"] if not each["known"]), key=lambda each: -each["documents"])
    shown = [row for row in rows_of(part(html, "cut")) if len(row) == 4 and row[0] != "Category"]
    assert [row[:2] for row in shown] == [[each["name"], str(each["documents"])] for each in new]
    said = words(re.findall(r'<p id="said".*?</p>', html, re.DOTALL)[0])
    loss = told["cut"]["loss"]
    assert said.startswith(f"{n} new {'category' if n == 1 else 'categories'}")
    for member, what in (("joined_apart", "draws keep apart"), ("parted_together", "draws join")):
        assert (f"{what} {100 * (loss[member] or 0):.1f} %" in said) == (loss[member] is not None)
    [documents] = re.findall(r'class="button primary" href="([^"]*)"', html)
    assert documents == f"/jobs/{job}/documents" + (f"?categories={n}" if n != 2 else "")


@pytest.mark.parametrize("asked, shown", [("99", "3"), ("0", "1"), ("-4", "2"), ("many", "2")])
def test_a_cut_that_cannot_be_is_the_nearest_one_or_the_answer(
    client: TestClient, database: Database, asked: str, shown: str
) -> None:
    html = view(client, f"/jobs/{add_answered(database)}/tree?categories={asked}")
    assert f'value="{shown}" aria-describedby' in html


def test_the_map_links_all_categories_and_the_topics_name_theirs(client: TestClient, database: Database) -> None:
    job = add_answered(database)
    html = view(client, f"/jobs/{job}/map")
    assert "There is no map" in html, "the rows of the test have no places"
    for short_id in ("c-aaaaaa", "c-bbbbbb", "c-cccccc", "c-dddddd"):
        assert f'href="/jobs/{job}/categories/{short_id}"' in html
    topics = [row for row in rows_of(html) if len(row) == 4 and row[0] in ("0", "1")]
    told = client.get(f"/v1/jobs/{job}/topics").json()["topics"]
    assert [row[3] for row in topics] == [
        ", ".join(f"{each['name']} 40 %" for each in topic["categories"]) for topic in told
    ]


def test_dates_are_offered_first_and_shown_by_month(client: TestClient, database: Database) -> None:
    job = add_answered(database)
    html = view(client, f"/jobs/{job}/time")
    assert re.findall(r"<option[^>]*>(\w+)</option>", html)[:3] == ["received", "stars", "source"]
    assert '<option value="month" selected>' in html
    groups = client.get(f"/v1/jobs/{job}/groups", params={"by": "received", "period": "month"}).json()["groups"]
    shown = [row for row in rows_of(html) if len(row) == 6 and row[0].startswith("2024")]
    assert [(row[0], row[1], row[2].split()[0], row[3]) for row in shown] == [
        (each["value"], str(each["documents"]), str(each["new"]), str(each["known"])) for each in groups
    ]
    assert 'data-figure="over-time"' in html


def test_other_fields_are_counted_by_their_values(client: TestClient, database: Database) -> None:
    job = add_answered(database)
    html = view(client, f"/jobs/{job}/time?by=source")
    assert 'data-figure="over-time"' not in html
    shown = {row[0]: row[1] for row in rows_of(html) if len(row) == 6}
    assert (shown["mail"], shown[SCRIPT]) == ("5", "5")
    unknown = view(client, f"/jobs/{job}/time?by=weather")
    assert "no document has a field &#39;weather&#39;" in unknown


def test_more_periods_than_a_person_reads_are_not_listed(
    client: TestClient, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(over_time, "MOST_PERIODS", 2)  # of the three months that there are
    html = view(client, f"/jobs/{add_answered(database)}/time")
    assert "choose a longer period" in html and 'data-figure="over-time"' not in html


def test_categories_beyond_the_largest_are_summed_over_time(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(figures, "MOST_COURSES", 1)
    counts = [{"category": category, "name": f"c{category}", "documents": 3 - category} for category in range(3)]
    groups = [{"kind": "value", "value": month, "categories": counts} for month in ("2024-01", "2024-02")]
    plot = figures.over_time_of({"groups": groups})
    assert plot.columns == ["period", "c0", "2 others"]
    assert plot.rows == [["2024-01", 3, 3], ["2024-02", 3, 3]]


def test_sources_are_told_where_the_job_takes_them_into_account(client: TestClient, database: Database) -> None:
    with_sources = view(client, f"/jobs/{add_answered(database, source_field='source')}/time")
    assert "words that belong to a source count less" in words(with_sources)
    assert "count less" not in view(client, f"/jobs/{add_answered(database)}/time")


def score(client: TestClient, job: str, content: str, query: str = "", name: str = "gold.csv") -> Any:
    """The answer to a file of gold labels."""
    return client.post(f"/jobs/{job}/scores{query}", files={"file": (name, content)})


def test_scores_are_those_of_the_api_with_a_matrix_of_all_cells(client: TestClient, database: Database) -> None:
    job = add_answered(database)
    gold = "key,label\n" + "".join(f"paper-{n},{'astronomy' if n > 5 else 'plasma'}\n" for n in range(1, 10))
    answer = score(client, job, gold)
    assert answer.status_code == 200
    told = client.post(f"/v1/jobs/{job}/score", files={"file": ("gold.csv", gold)}).json()
    said = words(answer.text)
    assert f"{told['documents']['scored']} documents scored" in said
    assert f"{100 * told['scores']['accuracy']:.1f} % of the answers are right" in said
    values = {row[0]: row[1] for row in rows_of(answer.text) if len(row) == 4}
    assert values["NMI"] == f"{told['scores']['nmi']:.3f}" and values["ARI"] == f"{told['scores']['ari']:.3f}"
    cells = {tuple(row[:3]) for row in rows_of(answer.text) if len(row) == 4}
    for each in told["confusion"]:
        assert (each["label"], each["name"], str(each["documents"])) in cells


def test_gold_labels_may_stand_in_columns_of_other_names(client: TestClient, database: Database) -> None:
    job = add_answered(database)
    gold = "paper id,truth,label\npaper-1,astronomy,\n"
    refused = score(client, job, gold)
    assert refused.status_code == 422
    assert 'role="alert"' in refused.text and "the file has no column `key`" in refused.text
    chosen = view(client, f"/jobs/{job}/scores?key=paper+id&label=truth")
    [target] = re.findall(r'<form[^>]*method="post"[^>]*action="([^"]*)"', chosen)
    assert unescape(target) == f"/jobs/{job}/scores?key=paper+id&label=truth"
    assert "1 document scored" in words(score(client, job, gold, "?key=paper+id&label=truth").text)


def test_a_file_larger_than_bodies_of_json_is_scored_and_one_beyond_the_limit_refused(
    client: TestClient, database: Database
) -> None:
    job = add_answered(database)
    row = "paper-1,astronomy\n"
    fits = "key,label\n" + row * (2**20 // len(row) - 100)
    assert "1 document scored" in words(score(client, job, fits).text)
    refused = score(client, job, fits + row * 200)
    assert refused.status_code == 413 and 'role="alert"' in refused.text


def test_a_request_without_a_file_is_told_so_on_the_same_view(client: TestClient, database: Database) -> None:
    answer = client.post(f"/jobs/{add_answered(database)}/scores", data={"nothing": "here"})
    assert answer.status_code == 422 and 'role="alert"' in answer.text and "How good is the answer?" in answer.text


def test_doubtful_labels_come_from_the_audit_and_lead_to_their_documents(
    client: TestClient, database: Database
) -> None:
    job = add_answered(database)
    html = view(client, f"/jobs/{job}/scores")
    [row] = [row for row in rows_of(html) if row[0] == key_of(10)]
    assert row == [key_of(10), "astronomy", "8.0 %", NAMES[2], "90.0 %", "its words"]
    assert f'href="/jobs/{job}/documents/{key_of(10)}"' in html
    assert "No label is doubtful." in view(client, f"/jobs/{add_answered(database, model='dpgm')}/scores")
