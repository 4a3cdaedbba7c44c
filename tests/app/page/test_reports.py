"""Plots as files and the report: public operations that say what the API says, and run nothing."""

import re
import xml.etree.ElementTree as ElementTree
from html import unescape
from html.parser import HTMLParser
from importlib.metadata import version
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from app.core.db import Database
from app.core.settings import Settings
from app.http import main
from app.page import figures
from newfound_client import Client
from tests.app.page.answers import NAMES, SCRIPT, add_answered, key_of
from tests.app.page.seen import words
from tests.app.rows import add_draws, submit
from tests.app.server import running

pytestmark = pytest.mark.parametrize("kind", ["sqlite"])  # the API is tested on both databases

PLOTS = ("trace", "posterior", "sizes", "tree")
ROOT = Path(__file__).parent.parent.parent.parent


class Loading(HTMLParser):
    """What a document would load or run."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note scripts, handlers, and whatever comes from elsewhere."""
        if tag in ("script", "iframe", "object", "embed", "img", "link", "form", "base"):
            self.found.append(tag)
        self.found += [name for name, value in attrs if name.startswith("on") or name == "src"]
        self.found += [str(value) for name, value in attrs if name == "href" and not str(value).startswith("#")]


@pytest.mark.parametrize("name", PLOTS)
def test_a_plot_is_a_file_of_its_own_that_escapes_what_people_wrote(
    client: TestClient, database: Database, name: str
) -> None:
    job = add_answered(database)
    answer = client.get(f"/v1/jobs/{job}/plots/{name}.svg")
    assert (answer.status_code, answer.headers["content-type"].split(";")[0]) == (200, "image/svg+xml")
    root = ElementTree.fromstring(answer.content)
    assert root.tag == "{http://www.w3.org/2000/svg}svg"
    assert not [each for each in root.iter() if each.tag.endswith("script")]
    assert "sandbox" in answer.headers["content-security-policy"]
    again = client.get(f"/v1/jobs/{job}/plots/{name}.svg")
    assert again.headers["etag"] == answer.headers["etag"] and again.content == answer.content


def test_the_trace_can_be_drawn_while_a_job_runs_and_nothing_else(client: TestClient, database: Database) -> None:
    job, _ = submit(database)
    assert "No sweep has been made yet." in client.get(f"/v1/jobs/{job}/plots/trace.svg").text
    add_draws(database, job, chains=2, sweeps=5)
    assert "chain 1" in client.get(f"/v1/jobs/{job}/plots/trace.svg").text
    for path in ("plots/posterior.svg", "plots/sizes.svg", "plots/tree.svg", "report"):
        refused = client.get(f"/v1/jobs/{job}/{path}")
        assert refused.status_code == 409
        assert refused.headers["content-type"] == "application/problem+json"
        assert refused.json()["type"] == "urn:newfound:problem:results-not-ready"
        assert refused.json()["instance"] == f"/v1/jobs/{job}/{path}"


def test_a_long_trace_is_read_by_every_nth_sweep(
    client: TestClient, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    job = add_answered(database)
    whole = client.get(f"/v1/jobs/{job}/plots/trace.svg")
    monkeypatch.setattr(figures, "MOST_DRAWS", 4)  # two chains of ten sweeps
    thinned = client.get(f"/v1/jobs/{job}/plots/trace.svg")
    assert thinned.status_code == 200 and thinned.headers["etag"] != whole.headers["etag"]


def test_an_unknown_job_or_plot_is_a_problem(client: TestClient, database: Database) -> None:
    unknown = "/v1/jobs/22222222-2222-4333-8444-555555555555"
    for path in (*(f"{unknown}/plots/{name}.svg" for name in PLOTS), f"{unknown}/report", "/v1/jobs/x/report"):
        refused = client.get(path)
        assert (refused.status_code, refused.json()["type"]) == (404, "urn:newfound:problem:job-not-found")
    assert client.get(f"/v1/jobs/{add_answered(database)}/plots/other.svg").status_code == 422


@pytest.mark.parametrize("model", ["calibrated", "dpgm", "lbpl-ntm"])
def test_the_report_loads_and_runs_nothing(client: TestClient, database: Database, model: str) -> None:
    answer = client.get(f"/v1/jobs/{add_answered(database, model=model)}/report")
    assert (answer.status_code, answer.headers["content-type"]) == (200, "text/html; charset=utf-8")
    assert "default-src 'none'" in answer.headers["content-security-policy"]
    assert SCRIPT not in answer.text and "&lt;script&gt;" in answer.text
    loading = Loading()
    loading.feed(answer.text)
    assert loading.found == []
    assert not re.findall(r"url\(|@import|https?://(?!www\.w3\.org/)", answer.text)


def test_the_report_says_what_the_api_says(client: TestClient, database: Database) -> None:
    job = add_answered(database)
    said = words(client.get(f"/v1/jobs/{job}/report").text)
    answer = client.get(f"/v1/jobs/{job}/categories").json()
    assert answer["summary"] in said
    assert "Verdict: mixed" in said
    for reason in answer["diagnostics"]["reasons"]:
        assert reason in said
    for each in answer["categories"]:
        assert f"{each['name']} {'known' if each['known'] else 'new'} {each['documents']} " in said
        assert all(word["word"] in said for word in each["top_words"])
    assert f"{SCRIPT} word word" in said and key_of(0) in said, "a typical document and its key"
    assert "seed 0" in said and "corpus_version" not in said and f"by Newfound {version('newfound')}" in said


def test_the_report_is_the_same_until_somebody_decides(client: TestClient, database: Database) -> None:
    job = add_answered(database)
    first, second = (client.get(f"/v1/jobs/{job}/report") for _ in range(2))
    assert first.content == second.content and first.headers["etag"] == second.headers["etag"]
    decision = {"kind": "name", "category": "c-cccccc", "name": "plasma physics"}
    assert client.post(f"/v1/jobs/{job}/decisions", json={"decisions": [decision]}).status_code == 201
    third = client.get(f"/v1/jobs/{job}/report")
    assert third.headers["etag"] != first.headers["etag"] and "plasma physics" in third.text
    assert unescape(third.text).count(NAMES[2]) == 0


def test_the_report_cites_as_the_citation_file_says(client: TestClient, database: Database) -> None:
    said = words(client.get(f"/v1/jobs/{add_answered(database)}/report").text)
    titles = re.findall(r'title: "([^"]+)"', (ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    names = re.findall(
        r"family-names: (\w+)\n +given-names: (\w+)", (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    )
    assert len(titles) == 2 and len(names) == 5
    for cited in (*titles, *(f"{given} {family}" for family, given in names)):
        assert cited in said


def test_below_a_root_path_plots_and_reports_are_found(settings: Settings, database: Database) -> None:
    job = add_answered(database)
    with TestClient(main.create_app(settings.model_copy(update={"root_path": "/newfound"}))) as client:
        for path in ("plots/posterior.svg", "report"):
            assert client.get(f"/newfound/v1/jobs/{job}/{path}").status_code == 200


def test_the_client_writes_plots_and_reports(settings: Settings, database: Database, tmp_path: Path) -> None:
    job = add_answered(database)
    with running(settings) as api:
        newfound = Client(f"http://127.0.0.1:{api.port}")
        n_bytes = newfound.report(job, tmp_path / "report.html")
        newfound.plot(job, "posterior", tmp_path / "posterior.svg")
    content = (tmp_path / "report.html").read_bytes()
    assert len(content) == n_bytes and content.startswith(b"<!doctype html>")
    assert (tmp_path / "posterior.svg").read_text(encoding="utf-8").startswith("<?xml")
