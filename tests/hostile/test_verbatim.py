"""What clients write is stored and shown as they wrote it: no database, page, spreadsheet or log takes it for code."""

import csv
import html
import io
import json
import logging
import re
import zipfile

import pytest
from python_calamine import CalamineWorkbook
from starlette.testclient import TestClient

from app.core.db import Database
from app.core.settings import Settings
from app.http import problems
from app.http.main import create_app
from tests.app.http.answered_jobs import Given, add_job
from tests.app.openapi.furnished import made

CODE = (
    "=1+1'; DROP TABLE jobs;--\"{{7*7}}{% raw %}${7*7}<script>alert(1)</script><img src=x onerror=alert(1)>%00\\u0000"
)
SEEN = [
    CODE,
    "@SUM(A1)",
    "+1",
    "-1+1",
    "\uff1d1+1",
    "'=1",
    "\x1b[31mred\x07",
    "a\u202eb",
    "a\u2028\u2029b",
    "]]>&amp;<!--",
    "' OR 1=1 --",
    "%s%n{0}",
    "../../etc/passwd",
]


@pytest.mark.parametrize("text", SEEN)
def test_a_text_of_a_client_comes_back_as_it_was_sent(client: TestClient, text: str) -> None:
    corpus = f"/v1/corpora/{made(client.post('/v1/corpora', json={'name': text}))['id']}"
    assert made(client.get(corpus))["name"] == text
    row = {"key": text, "text": text, "label": text, text: text, "deep": {text: [text]}}
    assert made(client.post(f"{corpus}/documents", json=[row]))["accepted"] == 1
    [document] = made(client.get(f"{corpus}/documents", params={"label": text}))["documents"]
    assert {name: document[name] for name in ("key", "text", "label")} == dict.fromkeys(("key", "text", "label"), text)
    assert document["fields"] == {text: text, "deep": {text: [text]}}
    assert client.get(f"{corpus}/documents", params={"search": text}).status_code in (200, 422)
    assert made(client.get(corpus))["documents"] == 1

    lines = client.get(f"{corpus}/export", params={"format": "ndjson"}).text.splitlines()
    assert json.loads(lines[0])["text"] == text
    table = list(csv.reader(io.StringIO(client.get(f"{corpus}/export", params={"format": "csv"}).text, newline="")))
    for cell in [cell for row in table for cell in row]:
        assert cell[:1] not in tuple("=+-@\t\r\uff1d\uff0b\uff0d\uff20"), "a spreadsheet would run it"
    assert any(text in cell for cell in table[1])
    book = client.get(f"{corpus}/export", params={"format": "xlsx"}).content
    with zipfile.ZipFile(io.BytesIO(book)) as archive:
        sheet = archive.read("xl/worksheets/sheet1.xml")
        assert (
            b"<f>" not in sheet and b"<f " not in sheet and not [n for n in archive.namelist() if "link" in n.lower()]
        )
    cells = [
        cell
        for row in CalamineWorkbook.from_filelike(io.BytesIO(book)).get_sheet_by_index(0).to_python()
        for cell in row
    ]
    assert text in cells or not text.isprintable()


@pytest.mark.parametrize("kind", ["sqlite"])
@pytest.mark.parametrize("text", SEEN)
def test_a_text_of_a_client_is_no_code_on_the_page_nor_in_the_report(
    client: TestClient, database: Database, text: str
) -> None:
    job, corpus = add_job(database, [Given(text, category=2, fields={text: text}), Given("other", text)])
    made(client.patch(job, json={"name": text, "note": text, "tags": ["tag"]}))
    made(client.patch(corpus, json={"name": text}))
    assert made(client.get(job))["name"] == text
    id_of_job, id_of_corpus = job.rpartition("/")[2], corpus.rpartition("/")[2]
    for path in ("/", f"/corpora/{id_of_corpus}", f"/jobs/{id_of_job}", f"{job}/report"):
        answer = client.get(path)
        assert answer.status_code == 200, path
        page = answer.text
        assert "<script>alert(1)" not in page and "<img src=x" not in page and "49" not in page.partition(text)[1]
        if "<" in text:
            assert text not in page
    assert html.escape(text.strip(), quote=False)[:20] in html.unescape(client.get(f"/jobs/{id_of_job}").text).replace(
        "&", "&amp;"
    ).replace("<", "&lt;").replace(">", "&gt;")


@pytest.mark.parametrize("kind", ["sqlite"])
def test_no_request_writes_a_line_of_its_own_or_colours_into_the_log(
    settings: Settings, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    app = create_app(settings)
    request = {
        "type": "http",
        "method": "GET",
        "path": "/v1/\r\nERROR forged\x1b[31m",
        "query_string": b"",
        "headers": [],
    }
    problems.internal_error(problems.Request({**request, "app": app}), ValueError("x"))
    problems.log_refusal(problems.Request({**request, "app": app}), ValueError("first\nsecond"))
    with TestClient(app) as client:
        for place in ("/v1/jobs/%0d%0aforged%1b[31m", "/v1/jobs?cursor=%0d%0aforged%1b[31m"):
            client.get(place, headers={"User-Agent": "a\x1b[31m", "X-Request-Id": "b\x1b[31m"})
    app.state.database.engine.dispose()
    messages = [record.getMessage() for record in caplog.records if record.name.startswith(("app", "worker"))]
    assert len(messages) >= 2
    assert not [message for message in messages if re.search(r"[\x00-\x1f\x7f]", message)]
