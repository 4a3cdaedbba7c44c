"""The list of a job's documents: what it shows is what the API says, whatever is asked for."""

from collections.abc import Iterator
from typing import Any
from urllib.parse import parse_qs, parse_qsl, urlsplit

import pytest
from starlette.datastructures import QueryParams
from starlette.testclient import TestClient

from app.core.db import Database
from app.core.settings import Settings
from app.http import walks
from app.http.main import create_app
from app.page.filters import filters_of, sentence
from app.page.rendering import NOTHING
from tests.app.http.answered_jobs import CATEGORIES, Given, Made, add_job
from tests.app.page.views import EVIL, Element, following, view
from tests.app.rows import submit

N = 120  # documents, more than two pages
ANSWERS = [
    Given(
        f"document/{n}?",
        category=None if n % 10 == 9 else n % 4,
        probability=None if n % 10 == 9 else (n * 37 % 100) / 100,
        known_probability=0.5,
        fields={"year": 2000 + n % 3, "evil": EVIL, EVIL: "x"},
    )
    for n in range(N)
]
QUERIES: list[dict[str, Any]] = [
    {},
    {"sort": "unsure"},
    {"sort": "probability", "known": "false"},
    {"category": "2", "unsure": "true", "sort": "unsure"},
    {"category": "none"},
    {"name": "new 2"},
    {"min_probability": ".2", "max_probability": "0.7"},
    {"copies": "false", "key_prefix": "document/1"},
    {"field": ["year:2001"], "show": ["year", EVIL]},
    {"search": '"text of" document', "sort": "probability"},
    {"unsure": "false", "decisions": "false"},
]


@pytest.fixture
def made(database: Database) -> Made:
    """A job with answers."""
    return add_job(database, [*ANSWERS, Given("labeled", label="optics")])


def of_page(path: str) -> str:
    """The path of the view of something of the API."""
    return path.removeprefix("/v1")


def rows_of(seen: Element) -> list[tuple[str, ...]]:
    """Key, category, probability and runner-up of the rows of a page."""
    table = next(seen.all("table", class_="documents"), None)
    if table is None:
        return []
    return [
        (next(row.all("div", class_="key")).text, *(cell.text for cell in list(row.all("td"))[1:4]))
        for row in table.one("tbody").all("tr")
    ]


def pages(client: TestClient, address: str, **parameters: Any) -> Iterator[Element]:
    """All pages of the list, by its own links."""
    seen = view(client, address, **parameters)
    yield seen
    while (after := following(address, seen)) is not None:
        seen = view(client, after)
        yield seen


@pytest.mark.parametrize("query", QUERIES, ids=str)
def test_all_pages_together_have_the_rows_of_the_api_in_its_order(
    client: TestClient, made: Made, query: dict[str, Any]
) -> None:
    told = {name: value for name, value in query.items() if name != "show"}
    documents = client.get(f"{made.job}/documents", params={**told, "limit": 1000}).json()["documents"]
    assert documents, "the query finds nothing, so it proves nothing"
    seen = list(pages(client, of_page(f"{made.job}/documents"), **query))
    assert len(seen) == (len(documents) + 49) // 50
    rows = [row for each in seen for row in rows_of(each)]
    assert [row[0] for row in rows] == [each["key"] for each in documents]
    for (_, category, probability, runner_up), each in zip(rows, documents, strict=True):
        assert category.startswith(each["name"] or "none")
        assert ("unsure" in category.split()) == (each["unsure"] and each["name"] is not None)
        assert (each["known"] is not None) == (category.split()[-1] in ("known", "new", "unsure"))
        assert probability in (NOTHING, "< 1 %", "> 99 %", f"{100 * (each['probability'] or 0):.0f} %")
        assert runner_up == NOTHING


@pytest.mark.parametrize("query", QUERIES, ids=str)
def test_the_files_that_are_offered_have_the_documents_of_the_list(
    client: TestClient, made: Made, query: dict[str, Any]
) -> None:
    told = {name: value for name, value in query.items() if name not in ("show", "sort")}
    expected = [
        each["key"] for each in client.get(f"{made.job}/documents", params={**told, "limit": 1000}).json()["documents"]
    ]
    seen = view(client, of_page(f"{made.job}/documents"), **query)
    links = [link.attributes["href"] for link in seen.all("a") if "download" in link.attributes]
    assert [parse_qs(urlsplit(link).query)["format"] for link in links] == [["csv"], ["xlsx"], ["ndjson"], ["csv"]]
    assert all(client.get(link).status_code == 200 for link in links)
    lines = client.get(links[2]).text.splitlines()
    assert len(lines) == len(expected)
    assert all(f'"{key}"' in line for key, line in zip(expected, lines, strict=True))


def test_the_form_has_what_was_asked_for_so_that_sending_it_changes_nothing(client: TestClient, made: Made) -> None:
    for query in QUERIES:
        seen = view(client, of_page(f"{made.job}/documents"), **query)
        form = seen.one("form", role="search")
        sent = list(fields_sent(form))
        again = view(client, form.attributes["action"], **as_parameters(sent))
        assert again.one("h2", id="listed").text == seen.one("h2", id="listed").text
        assert rows_of(again) == rows_of(seen)


def fields_sent(form: Element) -> Iterator[tuple[str, str]]:
    """What a browser sends of a form."""
    for field in form.all("input"):
        if field.attributes.get("type") != "checkbox" or "checked" in field.attributes:
            yield field.attributes["name"], field.attributes.get("value", "")
    for choice in form.all("select"):
        chosen = [each for each in choice.all("option") if "selected" in each.attributes]
        yield choice.attributes["name"], chosen[0].attributes["value"] if chosen else ""


def as_parameters(sent: list[tuple[str, str]]) -> dict[str, Any]:
    """Pairs as a client takes them."""
    return {name: [value for each, value in sent if each == name] for name, _ in sent}


def test_values_of_fields_that_are_shown_lead_to_the_documents_that_have_them(client: TestClient, made: Made) -> None:
    seen = view(client, of_page(f"{made.job}/documents"), show="year", sort="unsure")
    link = next(each for each in seen.all("a", class_="plain") if each.text == "2001")
    found = view(client, link.attributes["href"])
    assert "with year 2001, least probable first" in found.one("h2", id="listed").text
    assert len(rows_of(found)) == N / 3


def test_a_text_a_key_a_field_and_a_name_that_are_scripts_are_shown_as_they_are(
    client: TestClient, database: Database
) -> None:
    made = add_job(database, [Given(EVIL, category=0, probability=0.9, fields={EVIL: EVIL})])
    answer = client.post(
        f"{made.job}/decisions", json={"decisions": [{"kind": "name", "category": "astronomy", "name": EVIL}]}
    )
    assert answer.status_code == 201, answer.text
    seen = view(client, of_page(f"{made.job}/documents"), show=EVIL, search=f'"{EVIL}"', field=f"{EVIL}:{EVIL}")
    ((key, category, _, _),) = rows_of(seen)
    assert (key, EVIL in category) == (EVIL, True)
    assert [cell.text for cell in seen.one("tbody").all("td")][4] == EVIL
    assert f"text of {EVIL}" in seen.one("tbody").text
    link = next(seen.one("tbody").all("a")).attributes["href"]
    assert EVIL in view(client, link).one("div", class_="whole-text").raw


def test_a_page_on_which_none_of_many_fits_says_so_and_leads_on(
    client: TestClient, made: Made, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(walks, "FIRST_WINDOW", 2)
    monkeypatch.setattr(walks, "MAX_WINDOW", 2)
    monkeypatch.setattr(walks, "SECONDS", -1.0)
    seen = list(pages(client, of_page(f"{made.job}/documents"), search=f'"document {N - 1}"'))
    assert "There are more to read" in seen[0].text
    assert seen[0].one("a", rel="next").text == "Read on"
    assert [row[0] for each in seen for row in rows_of(each)] == [ANSWERS[-1].key]


def test_no_document_at_all_and_none_that_fits_are_told_apart(client: TestClient, database: Database) -> None:
    empty = add_job(database, [Given("labeled", label="optics", quality=0.9)])
    assert "This job has no unlabeled documents." in view(client, of_page(f"{empty.job}/documents")).text
    assert "No document fits these filters." in view(client, of_page(f"{empty.job}/documents"), known="true").text


def test_a_wrong_filter_an_unknown_job_and_one_without_results_are_pages_that_say_why(
    client: TestClient, made: Made, database: Database
) -> None:
    at = of_page(f"{made.job}/documents")
    assert "cannot be used" in view(client, at, 422, min_probability="much").text
    assert "cursor" in view(client, at, 422, cursor="nonsense").text
    assert "word" in view(client, at, 422, search="-only").one("main").text
    view(client, "/jobs/00000000-0000-4000-8000-000000000000/documents", 404)
    view(client, "/jobs/nonsense/documents", 404)
    running, _ = submit(database)
    assert "results" in view(client, f"/jobs/{running}/documents", 409).text


def test_below_a_root_path_all_links_of_the_views_are_below_it(settings: Settings, made: Made) -> None:
    with TestClient(create_app(settings.model_copy(update={"root_path": "/new/found"}))) as below:
        for path in ("/documents?show=year", "/documents/document%2F1%3F", "/review"):
            seen = view(below, f"/new/found{of_page(made.job)}{path}")
            for tag, name in (("a", "href"), ("form", "action"), ("script", "src"), ("link", "href")):
                for element in seen.all(tag):
                    address = element.attributes.get(name, "#")
                    assert address.startswith(("/new/found/", "#")), address


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ("", "Documents, in the order of the upload"),
        ("unsure=true&category=3&sort=unsure", "Unsure documents of new 2, least probable first"),
        ("category=none", "Documents without a category, in the order of the upload"),
        ("known=false&sort=probability", "Documents of new categories, most probable first"),
        ("unsure=false&known=true", "Sure documents of known categories, in the order of the upload"),
        ("min_probability=.2&field=year:2024", "Documents with a probability of at least .2 with year 2024, in the"),
        ("categories=12&search=plasma -laser", "Documents that contain plasma -laser in a cut with 12 new categories"),
        ("category=&known=&search=+", "Documents, in the order of the upload"),
    ],
)
def test_what_is_listed_is_said_in_a_sentence(query: str, words: str) -> None:
    categories = [
        {"category": n, "id": None, "name": name, "known": known} for n, (name, known) in enumerate(CATEGORIES)
    ]
    filters = filters_of(QueryParams(parse_qsl(query, keep_blank_values=True)))
    assert sentence(filters, categories).startswith(words)
