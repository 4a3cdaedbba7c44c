"""Categories by field and period, against a recount, on both databases."""

import csv
import io
import random
from collections import Counter, defaultdict
from datetime import UTC, date, datetime, timedelta
from typing import Any

import pytest
from starlette.testclient import TestClient

from app.core.db import Database
from app.http import grouping
from tests.app.http.answered_jobs import CATEGORIES, Given, Made, add_job

NAMES = dict(enumerate(CATEGORIES))
DAYS = [date(2023, 12, 25) + timedelta(days=n) for n in range(0, 90, 3)]
Counts = dict[tuple[str, str | None], Counter[int | None]]


def documents(n: int = 300) -> list[Given]:
    """Documents with fields of every kind, some without any; every seventh is labeled."""
    rng = random.Random(5)
    found = []
    for number in range(n):
        day = rng.choice(DAYS)
        fields: dict[str, Any] = {
            "year": rng.choice([2023, 2024]),
            "open": rng.random() < 0.5,
            "price": rng.choice([1.5, 2.25]),
            "team": rng.choice(["=A", "B", "Ü", 'the "C"']),
            "tags": [rng.randrange(2)],
            "received": f"{day}T{rng.randrange(24):02}:15:00Z",
            "Größe": rng.choice(["S", "L"]),
            'a "quoted" name': rng.choice("xy"),
            "number": number,
        }
        if number % 11 == 0:
            del fields["team"], fields["received"]
        if number % 13 == 0:
            fields["received"] = "soon"
        kept = None if number % 17 == 0 else fields
        if number % 7 == 0:
            found.append(Given(f"d{number}", label=rng.choice(["astronomy", "optics"]), fields=kept))
        else:
            found.append(Given(f"d{number}", category=rng.choice([None, 0, 1, 2, 3]), fields=kept))
    return found


GIVEN = documents()


@pytest.fixture
def made(database: Database) -> Made:
    add_job(database, GIVEN[:20])  # of another job and corpus: nobody counts these
    return add_job(database, GIVEN)


def groups(client: TestClient, made: Made, **parameters: Any) -> Any:
    answer = client.get(f"{made.job}/groups", params=parameters)
    assert answer.status_code == 200, answer.text
    return answer.json()


def written(value: Any) -> str:
    """A value as text."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return f"[{value[0]}]" if isinstance(value, list) else str(value)


def recount(by: str, labeled: bool = False) -> dict[str | None, Counter[int | None]]:
    """The documents of each value and category."""
    index = {name: number for number, (name, _) in NAMES.items()}
    found: dict[str | None, Counter[int | None]] = defaultdict(Counter)
    for each in GIVEN:
        if each.label is None or labeled:
            value = (each.fields or {}).get(by)
            found[None if value is None else written(value)][
                each.category if each.label is None else index[each.label]
            ] += 1
    return found


def told(answer: Any) -> Counts:
    """An answer as counts, once its sums and shares are seen to be right."""
    found: Counts = {}
    for group in answer["groups"]:
        counts: Counter[int | None] = Counter({each["category"]: each["documents"] for each in group["categories"]})
        n_with = counts.total()
        counts += Counter({None: group["without_category"]})
        assert (group["documents"], group["known"] + group["new"]) == (counts.total(), n_with)
        assert group["known"] == counts[0] + counts[1]
        for each in group["categories"]:
            assert (each["name"], each["known"]) == NAMES[each["category"]]
            assert each["share"] == pytest.approx(each["documents"] / n_with)
        found[group["kind"], group["value"]] = counts
    assert answer["documents"] == sum(counts.total() for counts in found.values())
    assert len(found) == len(answer["groups"])
    return found


@pytest.mark.parametrize("by", ["year", "open", "price", "team", "tags", "Größe", 'a "quoted" name'])
def test_values_are_counted_as_in_a_recount(client: TestClient, made: Made, by: str) -> None:
    for labeled in (False, True):
        answer = groups(client, made, by=by, labeled=labeled)
        expected = {("missing" if v is None else "value", v): counts for v, counts in recount(by, labeled).items()}
        assert told(answer) == expected
        sizes = [group["documents"] for group in answer["groups"] if group["kind"] == "value"]
        assert sizes == sorted(sizes, reverse=True)
        assert answer["groups"][-1]["kind"] == "missing", "what is no value comes last"


def test_rare_values_are_counted_together(client: TestClient, made: Made, monkeypatch: pytest.MonkeyPatch) -> None:
    answer = groups(client, made, by="number")
    kinds = Counter(group["kind"] for group in answer["groups"])
    assert kinds == {"value": 100, "other": 1, "missing": 1}
    monkeypatch.setattr(grouping, "MAX_VALUES", 2)
    found, expected = told(groups(client, made, by="team")), recount("team")
    largest = sorted((v for v in expected if v is not None), key=lambda v: -expected[v].total())[:2]
    assert set(found) == {("missing", None), ("other", None), *(("value", v) for v in largest)}
    others = [counts for v, counts in expected.items() if v is not None and v not in largest]
    assert found["other", None] == sum(others, Counter())
    assert found["missing", None] == expected[None]


@pytest.mark.parametrize(
    ("period", "form"), [("day", "%Y-%m-%d"), ("week", "%G-W%V"), ("month", "%Y-%m"), ("year", "%Y")]
)
def test_dates_are_counted_by_period_in_their_order(client: TestClient, made: Made, period: str, form: str) -> None:
    answer = groups(client, made, by="received", period=period)
    expected: Counts = defaultdict(Counter)
    for value, counts in recount("received").items():
        if value is None:
            expected["missing", None] += counts
        elif value == "soon":
            expected["unreadable", None] += counts
        else:
            expected["value", date.fromisoformat(value[:10]).strftime(form)] += counts
    assert told(answer) == expected
    values = [group["value"] for group in answer["groups"]]
    assert values[:-2] == sorted(values[:-2])
    assert [group["kind"] for group in answer["groups"][-2:]] == ["missing", "unreadable"]


def test_times_in_every_form_are_of_the_same_days(client: TestClient, database: Database) -> None:
    rng = random.Random(7)
    times = [datetime(2024, 3, 1, tzinfo=UTC) + timedelta(seconds=rng.randrange(10 * 86_400)) for _ in range(60)]
    times += [datetime(2024, 3, 2, tzinfo=UTC), datetime(2024, 3, 2, tzinfo=UTC) - timedelta(seconds=1)]
    forms: list[dict[str, Any]] = [
        {
            "iso": at.isoformat(),
            "blank": f" {at:%Y-%m-%d %H:%M} ",
            "mail": f"{at:%a, %d %b %Y %H:%M:%S} +0000",
            "seconds": int(at.timestamp()),
            "text": str(int(at.timestamp())),
            "fraction": at.timestamp() + 0.5,
            "milliseconds": int(at.timestamp()) * 1000 + 999,
        }
        for at in times
    ]
    made = add_job(database, [Given(f"d{n}", category=n % 4, fields=fields) for n, fields in enumerate(forms)])
    expected: Counts = defaultdict(Counter)
    for n, at in enumerate(times):
        expected["value", f"{at:%Y-%m-%d}"][n % 4] += 1
    for form in forms[0]:
        assert told(groups(client, made, by=form, period="day")) == expected, form


def test_years_as_numbers_are_years(client: TestClient, made: Made) -> None:
    assert told(groups(client, made, by="year", period="year")).keys() == {
        ("value", "2023"),
        ("value", "2024"),
        ("missing", None),
    }


def test_a_table_is_the_same_and_no_formula(client: TestClient, made: Made) -> None:
    answer = client.get(f"{made.job}/groups", params={"by": "team", "format": "csv"})
    assert answer.headers["content-type"].startswith("text/csv")
    found: Counts = defaultdict(Counter)
    for row in csv.DictReader(io.StringIO(answer.text)):
        category = int(row["category"]) if row["category"] else None
        found[row["kind"], row["value"] or None][category] += int(row["documents"])
        assert row["known"] == ("" if category is None else "true" if NAMES[category][1] else "false")
    expected = told(groups(client, made, by="team"))
    expected["value", "'=A"] = expected.pop(("value", "=A"))
    assert found == expected


@pytest.mark.parametrize(
    ("parameters", "detail"),
    [
        ({"by": "no such"}, "there are year, open, price"),
        ({"by": "no such", "period": "day"}, "no document has a field 'no such'"),
        ({"by": "team", "period": "day"}, "no value of the field 'team' is a date"),
        ({"by": "year", "period": "month"}, "no value of the field 'year' is a date"),
        ({"by": "year", "period": "decade"}, "query.period"),
        ({"by": "a\0b"}, "NUL"),
        ({"by": ""}, "query.by"),
        ({}, "query.by"),
    ],
)
def test_what_cannot_be_grouped_is_a_422_that_says_why(
    client: TestClient, made: Made, parameters: dict[str, str], detail: str
) -> None:
    answer = client.get(f"{made.job}/groups", params=parameters)
    assert (answer.status_code, detail in answer.text) == (422, True), answer.text


def test_too_many_periods_are_refused(client: TestClient, made: Made, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(grouping, "MAX_PERIODS", 5)
    answer = client.get(f"{made.job}/groups", params={"by": "received", "period": "day"})
    assert (answer.status_code, "30 days: take a longer period" in answer.text) == (422, True), answer.text
    assert groups(client, made, by="received", period="month")


def test_a_job_without_results_has_no_groups(client: TestClient, database: Database) -> None:
    made = add_job(database, GIVEN[:20], is_over=False)
    assert client.get(f"{made.job}/groups", params={"by": "year"}).status_code == 409


def test_later_corrections_do_not_change_the_groups_of_a_job(client: TestClient, made: Made) -> None:
    before = groups(client, made, by="year", labeled=True)
    client.patch(f"{made.corpus}/documents/d1", json={"fields": {"year": 1900}})
    client.patch(f"{made.corpus}/documents/d7", json={"fields": {"year": 1900}, "label": "optics"})
    client.delete(f"{made.corpus}/documents/d2")
    assert groups(client, made, by="year", labeled=True) == before


def test_what_was_counted_is_remembered_until_something_changes_it(client: TestClient, made: Made) -> None:
    before = groups(client, made, by="year", labeled=True)
    assert groups(client, made, by="year", labeled=True) == before
    assert groups(client, made, by="year") != before
    client.delete(f"{made.corpus}/documents?key=d2&erase=true")
    without = groups(client, made, by="year", labeled=True)
    assert without != before, "an erased document has no year"
    keys = [each.key for each in GIVEN if each.label is None][:20]
    decision = {"kind": "pin", "documents": keys, "category": "astronomy"}
    assert client.post(f"{made.job}/decisions", json={"decisions": [decision]}).status_code == 201
    assert groups(client, made, by="year", labeled=True) != without
    assert groups(client, made, by="year", labeled=True, decisions=False) == without


def test_groups_count_what_the_list_of_documents_shows_with_decisions(client: TestClient, made: Made) -> None:
    keys = [each.key for each in GIVEN if each.label is None]
    decisions = [
        {"kind": "dissolve", "category": "new 2"},
        {"kind": "merge", "categories": ["new 1", "optics"], "into": "new 1", "name": "light"},
        {"kind": "pin", "documents": keys[:40], "category": "astronomy"},
        {"kind": "none", "documents": keys[30:50]},
    ]
    assert client.post(f"{made.job}/decisions", json={"decisions": decisions}).status_code == 201
    listed = client.get(f"{made.job}/documents?limit=1000").json()["documents"]
    expected = Counter((written(each["fields"]["year"]), each["name"]) for each in listed if "year" in each["fields"])
    found: Counter[tuple[str, str | None]] = Counter()
    for group in groups(client, made, by="year")["groups"]:
        if group["kind"] == "value":
            found += Counter({(group["value"], each["name"]): each["documents"] for each in group["categories"]})
            found[group["value"], None] += group["without_category"]
    assert found == expected
    assert told(groups(client, made, by="year", decisions=False)), "as it was computed"
