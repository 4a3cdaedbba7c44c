"""The result of a job, its categories one by one, and what is told where something is missing."""

import re
from html import unescape

import pytest
from sqlalchemy import delete, update
from starlette.testclient import TestClient

from app.core.db import Database
from app.core.settings import Settings
from app.core.tables import Answer, Audit, Category, Topic, TreeNode
from app.http import main
from app.page.views import result
from tests.app.page.answers import NAMES, SCRIPT, SIZES, add_answered
from tests.app.page.seen import view, words
from tests.app.rows import submit

pytestmark = pytest.mark.parametrize("kind", ["sqlite"])  # the API is tested on both databases

VIEWS = ("", "/categories/2", "/categories/c-aaaaaa", "/tree", "/map", "/time", "/scores")


def cards(html: str) -> list[str]:
    """The cards of categories, each as markup."""
    return re.findall(r'<li class="panel category.*?\n  </li>', html, re.DOTALL)


def test_a_job_without_results_is_followed_at_its_chains(client: TestClient, database: Database) -> None:
    job, _ = submit(database)
    for path in VIEWS:
        answer = client.get(f"/jobs/{job}{path}", follow_redirects=False)
        assert (answer.status_code, answer.headers["location"]) == (303, f"/jobs/{job}/chains")


def test_an_unknown_job_and_an_unknown_category_are_pages_that_say_so(client: TestClient, database: Database) -> None:
    job = add_answered(database)
    unknown = "22222222-2222-4333-8444-555555555555"
    for path in (*(f"/jobs/{unknown}{each}" for each in VIEWS), "/jobs/nonsense", f"/jobs/{job}/categories/77"):
        answer = client.get(path)
        assert answer.status_code == 404
        assert answer.headers["content-type"].startswith("text/html")
        assert "There is no such" in answer.text


def test_the_sentence_of_the_api_comes_first_and_then_the_verdict_with_its_reasons(
    client: TestClient, database: Database
) -> None:
    job = add_answered(database)
    html = view(client, f"/jobs/{job}")
    answer = client.get(f"/v1/jobs/{job}/categories").json()
    said = words(html[html.index("<h1") :])
    [first, _] = answer["summary"].split(". ")  # the second one repeats the verdict
    assert said.index(f"{first}.") < said.index("mixed Check before you rely on this answer.")
    for reason in answer["diagnostics"]["reasons"]:
        assert reason in said
    assert 'class="tag mixed"' in html


def test_documents_are_counted_as_the_list_of_documents_has_them(client: TestClient, database: Database) -> None:
    job = add_answered(database)
    documents = client.get(f"/v1/jobs/{job}/documents").json()["documents"]
    new = sum(each["known"] is False for each in documents)
    unsure = sum(each["unsure"] for each in documents)
    said = words(view(client, f"/jobs/{job}"))
    assert f"Documents answered {len(documents)} In new categories {new} 30 % In known categories" in said
    assert f" Unsure {unsure} " in said and unsure == 1


def test_new_categories_come_first_and_each_kind_by_its_size(client: TestClient, database: Database) -> None:
    job = add_answered(database)
    found = [words(card) for card in cards(view(client, f"/jobs/{job}"))]
    assert [text.startswith(NAMES[index]) for text, index in zip(found, (2, 3, 0, 1), strict=True)] == [True] * 4
    for text, index in zip(found, (2, 3, 0, 1), strict=True):
        noun = "document" if SIZES[index] == 1 else "documents"
        assert f"{SIZES[index]} {noun} {SIZES[index] - 1} to {SIZES[index] + 1} (90 %)" in text
        assert f"{10 * SIZES[index]} % of the unlabeled · all chains agree" in text


def test_a_card_links_its_typical_documents_by_their_quoted_keys(client: TestClient, database: Database) -> None:
    job = add_answered(database)
    [card] = [each for each in cards(view(client, f"/jobs/{job}")) if "c-cccccc" in each]
    assert f'href="/jobs/{job}/documents/paper%200/a%26b%3F%3Cscript%3Ealert%281%29%3C/script%3E"' in card
    assert "text 0" in words(card)


def test_categories_are_found_by_kind_by_name_and_by_word(client: TestClient, database: Database) -> None:
    job = add_answered(database)

    def found(query: str) -> list[str]:
        return [
            words(card).split(" known ")[0].split(" new ")[0] for card in cards(view(client, f"/jobs/{job}?{query}"))
        ]

    assert found("kind=known") == ["astronomy", "optics & light"]
    assert found("q=ASTRO") == ["astronomy"]
    assert found("q=ranked1") == ["optics & light"]
    assert found("q=word31+card") == ["new 2: pin, card"]
    assert found("q=nothing") == []
    assert "No category has this name or these words." in view(client, f"/jobs/{job}?q=nothing")


def test_there_are_24_cards_a_page_and_every_category_is_on_one(client: TestClient, database: Database) -> None:
    job = add_answered(database)
    with database.sessions.begin() as session:
        for index in range(4, 54):
            more = {"name": f"more {index}", "known": False, "short_id": f"c-{index:06}"}
            sizes = {"n_documents": 0, "n_labeled": 0, "share": 0.0, "top_words": []}
            session.add(Category(job_id=job, edition=1, category=index, **more, **sizes))
    seen, address = [], f"/jobs/{job}?kind=&q="
    for _ in range(3):
        html = view(client, address)
        seen += re.findall(r'<h3><a href="[^"]*categories/([^"?]*)', html)
        following = re.search(r'rel="next" href="([^"#]*)', html)
        address = "" if following is None else following[1].replace("&amp;", "&")
    assert not address
    assert len(seen) == len(set(seen)) == 54
    assert len(cards(view(client, f"/jobs/{job}"))) == result.CARDS
    assert len(cards(view(client, f"/jobs/{job}?page=nonsense"))) == result.CARDS
    assert cards(view(client, f"/jobs/{job}?page=999")) == []


@pytest.mark.parametrize("path", VIEWS)
def test_what_people_wrote_is_escaped_everywhere(client: TestClient, database: Database, path: str) -> None:
    job = add_answered(database)
    html = view(client, f"/jobs/{job}{path}")
    assert SCRIPT not in html
    assert "&lt;script&gt;" in html
    assert " style=" not in html and "<style" not in html


@pytest.mark.parametrize("path", VIEWS)
def test_a_method_without_probabilities_and_topics_has_all_views(
    client: TestClient, database: Database, path: str
) -> None:
    job = add_answered(database, model="dpgm")
    html = view(client, f"/jobs/{job}{path}")
    if not path:
        assert "Unsure" not in html and 'class="tag' not in html
    if path == "/map":
        assert "has no topics" in html and "There is no map" in html
    if path == "/tree":
        assert "There is no tree" in html


@pytest.mark.parametrize("path", VIEWS)
def test_jobs_from_before_there_were_portraits_have_all_views(
    client: TestClient, database: Database, path: str
) -> None:
    job = add_answered(database)
    with database.sessions.begin() as session:
        session.execute(update(Category).where(Category.job_id == job).values(portrait=None, topics=None))
    view(client, f"/jobs/{job}{path}")


@pytest.mark.parametrize("path", VIEWS)
def test_below_a_root_path_every_link_is_right(settings: Settings, database: Database, path: str) -> None:
    job = add_answered(database)
    below = settings.model_copy(update={"root_path": "/newfound"})
    with TestClient(main.create_app(below), root_path="") as client:
        html = view(client, f"/newfound/jobs/{job}{path}")
    links = re.findall(r'(?:href|action|src)="([^"#][^"]*)"', html)
    assert len(links) > 20
    assert [each for each in links if not each.startswith("/newfound/")] == []


@pytest.mark.parametrize("path", ["", "/tree", "/map", "/time", "/scores"])
def test_an_answer_without_any_category_has_all_views(client: TestClient, database: Database, path: str) -> None:
    job = add_answered(database)
    with database.sessions.begin() as session:
        session.execute(update(Answer).values(category=None, probability=None, runner_up=None))
        for table in (TreeNode, Topic, Audit, Category):
            session.execute(delete(table))
    html = view(client, f"/jobs/{job}{path}")
    if not path:
        assert "no document of the job has a word left" in html
    assert client.get(f"/v1/jobs/{job}/report").status_code == 200


def test_an_answer_with_decisions_says_so_and_can_be_seen_without(client: TestClient, database: Database) -> None:
    job = add_answered(database)
    before = view(client, f"/jobs/{job}")
    assert "with what people have decided" not in before
    decision = {"kind": "name", "category": "c-cccccc", "name": "plasma physics"}
    assert client.post(f"/v1/jobs/{job}/decisions", json={"decisions": [decision]}).status_code == 201
    decided, computed = view(client, f"/jobs/{job}"), view(client, f"/jobs/{job}?decisions=false")
    assert "plasma physics" in decided and f'href="/jobs/{job}?decisions=false"' in decided
    assert "plasma physics" not in computed and "as it was computed" in computed
    assert 'data-decision="name"' in decided and "data-decision" not in computed


def test_a_category_has_words_documents_and_the_decisions_that_fit_it(client: TestClient, database: Database) -> None:
    job = add_answered(database)
    new, known = view(client, f"/jobs/{job}/categories/3"), view(client, f"/jobs/{job}/categories/c-aaaaaa")
    assert set(re.findall(r'data-decision="(\w+)"', new)) == {"name", "merge", "split", "promote", "dissolve"}
    assert set(re.findall(r'data-decision="(\w+)"', known)) == {"name", "merge"}, "it bears labels"
    assert re.findall(r'<option value="(c-\w+)">', known) == ["c-cccccc", "c-dddddd", "c-bbbbbb"]
    etag = client.get(f"/v1/jobs/{job}/categories", headers={"Accept-Encoding": "identity"}).headers["etag"]
    assert f'data-etag="{etag}"' in unescape(new)
    said = words(new)
    assert "ranked3 25.00 %" in said and "ranked3 3.5" in said
    assert "paper-3 90 %, then" in said
    assert "Most like astronomy , at a distance of 0.50" in said
    assert "topic<script>alert(1)</script> 40 %" in said
    assert "this one new 2: pin, card" in said, "its lineage"
