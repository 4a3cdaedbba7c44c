"""Uploads over HTTP, on both databases: what is accepted, what is refused, and how it is told."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from starlette.testclient import TestClient

from app.core import disk
from app.core.db import insert_missing
from app.http.routers.corpora import READERS
from app.uploads import store
from app.uploads.rows import BadLine, NdjsonReader, Row
from tests.app.uploads.sending import CSV, NDJSON, lines, send


def test_an_upload_counts_what_it_accepts_and_names_what_it_ignores(client: TestClient, corpus: str) -> None:
    data = lines(
        {"text": "a", "key": 7, "label": " x ", "year": 1},
        {"text": "b", "label": " "},
        {"text": " \n", "label": None, "month": 2, "year": 3},
    )
    answer = send(client, corpus, data)
    assert answer.status_code == 200
    assert answer.json() == {
        "accepted": 3,
        "labeled": 1,
        "unlabeled": 2,
        "empty": 1,
        "copies": 0,
        "rejected": 0,
        "errors": [],
        "ignored_fields": ["year", "month"],
    }
    counts = client.get(corpus).json()
    assert (counts["documents"], counts["labeled"], counts["unlabeled"], counts["empty"]) == (3, 1, 2, 1)
    assert counts["categories"] == [{"name": "x", "documents": 1}]


def test_good_lines_are_accepted_beside_bad_ones(client: TestClient, corpus: str) -> None:
    data = b'{"text": "a"}\n{"text": "\xff"}\nnonsense\n\n[1]\n{"label": "x"}\n{"text": 1}\n{"text": "b"}'
    answer = send(client, corpus, data).json()
    assert (answer["accepted"], answer["rejected"]) == (2, 5)
    assert [error["line"] for error in answer["errors"]] == [2, 3, 5, 6, 7]
    assert "UTF-8" in answer["errors"][0]["reason"]


def test_an_upload_without_a_usable_line_is_a_422_that_tells_all_reasons(client: TestClient, corpus: str) -> None:
    answer = send(client, corpus, b"nonsense\n{}\n")
    assert answer.status_code == 422
    assert answer.json()["type"] == "urn:newfound:problem:nothing-accepted"
    assert [error["where"] for error in answer.json()["errors"]] == ["line 1", "line 2"]


@pytest.mark.parametrize("content_type", [NDJSON, CSV])
@pytest.mark.parametrize("data", [b"", b"\xef\xbb\xbf", b"\n", b"\r\n \n\t\n", b"\xef\xbb\xbf\n\n"])
def test_an_upload_without_a_line_is_a_422_in_plain_words(
    client: TestClient, corpus: str, content_type: str, data: bytes
) -> None:
    answer = send(client, corpus, data, content_type)
    assert (answer.status_code, answer.json()["type"]) == (422, "urn:newfound:problem:nothing-accepted")
    assert answer.json()["detail"] == "the upload is empty: it contains no document"
    assert (answer.json()["accepted"], answer.json()["rejected"]) == (0, 0)
    assert client.get(corpus).json()["version"] == 0


@pytest.mark.parametrize("data", [b"text", b"text,key\n", b"\xef\xbb\xbftext\r\n\r\n"])
def test_a_csv_header_alone_is_an_empty_upload(client: TestClient, corpus: str, data: bytes) -> None:
    answer = send(client, corpus, data, CSV)
    assert (answer.status_code, answer.json()["type"]) == (422, "urn:newfound:problem:nothing-accepted")
    assert "the upload is empty" in answer.json()["detail"]


def test_an_upload_of_which_nothing_is_stored_leaves_the_version_alone(client: TestClient, corpus: str) -> None:
    rows = lines({"text": "a", "key": "k"}, {"text": "b", "key": "l"})
    send(client, corpus, rows)
    before = client.get(corpus).json()
    for content in (rows, b"nonsense\n", b"", lines({"text": "c", "key": "k"})):
        assert send(client, corpus, content).status_code == 422
    assert client.get(corpus).json() == before
    assert before["version"] == 1


def test_whatever_size_chunks_have_little_is_read_at_once(client: TestClient, corpus: str) -> None:
    pieces: list[int] = []

    class Noted(NdjsonReader):
        def feed(self, chunk: bytes) -> Iterator[Row | BadLine]:
            pieces.append(len(chunk))
            return super().feed(chunk)

    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(READERS, NDJSON, Noted)
        assert send(client, corpus, lines(*[{"text": "x" * 1000}] * 500)).json()["accepted"] == 500
    assert sum(pieces) > 500_000
    assert max(pieces) == 2**16


@pytest.mark.parametrize("data", [b"key,label\n1,x\n", b"text,text\na,b\n", b'"text', b"te\xff", b"text" * 2000])
def test_a_csv_upload_without_a_usable_header_is_refused(client: TestClient, corpus: str, data: bytes) -> None:
    answer = send(client, corpus, data, CSV)
    assert answer.status_code == 422
    assert answer.json()["type"] == "urn:newfound:problem:malformed-request"


def test_more_columns_than_anybody_needs_are_refused_with_their_number(client: TestClient, corpus: str) -> None:
    many = b",".join(b"%d" % (n % 10) for n in range(1100))
    answer = send(client, corpus, b"text," + many + b"\n", CSV)
    assert (answer.status_code, answer.json()["type"]) == (422, "urn:newfound:problem:malformed-request")
    assert "1101 columns, more than 1000" in answer.json()["detail"]


def test_csv_is_stored_as_ndjson_is(client: TestClient, corpus: str) -> None:
    answer = send(client, corpus, b"label,text,note\r\nx,one,1\r\n,two,2\r\n", "Text/CSV; charset=utf-8").json()
    assert (answer["labeled"], answer["unlabeled"], answer["ignored_fields"]) == (1, 1, ["note"])


def test_a_key_is_given_once_in_a_corpus(client: TestClient, corpus: str) -> None:
    send(client, corpus, lines({"text": "a", "key": "k"}))
    answer = send(client, corpus, lines({"text": "b", "key": "k"}, {"text": "c", "key": 1}, {"text": "d", "key": "1"}))
    assert answer.json()["accepted"] == 1
    assert [error["line"] for error in answer.json()["errors"]] == [1, 3]
    assert "'k' is already in the corpus" in answer.json()["errors"][0]["reason"]


def test_a_number_that_somebody_took_as_a_key_is_passed_over(client: TestClient, corpus: str) -> None:
    send(client, corpus, lines({"text": "a", "key": "document-3"}, {"text": "b", "key": "document-4"}))
    answer = send(client, corpus, lines(*[{"text": "c"}] * 3)).json()
    assert (answer["accepted"], answer["rejected"]) == (3, 0)


def test_numbers_that_many_took_as_keys_are_passed_over_in_few_steps(
    client: TestClient, corpus: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    keys = [f"document-{n}" for n in range(901, 1801)]
    send(client, corpus, lines(*[{"text": "a", "key": key} for key in keys]))
    steps = 0

    def counted(*arguments: Any) -> set[Any]:
        nonlocal steps
        steps += 1
        return insert_missing(*arguments)

    monkeypatch.setattr(store, "insert_missing", counted)
    assert send(client, corpus, lines(*[{"text": "b"}] * 3)).json()["accepted"] == 3
    assert steps < 12
    assert client.get(corpus).json()["documents"] == 903


def test_a_key_that_is_given_goes_before_a_number(client: TestClient, corpus: str) -> None:
    answer = send(client, corpus, lines({"text": "a"}, {"text": "b", "key": "document-1"}, {"text": "c"})).json()
    assert (answer["accepted"], answer["rejected"]) == (3, 0)
    taken = send(client, corpus, lines(*[{"text": "d", "key": f"document-{n}"} for n in (1, 2, 3, 4)])).json()
    assert (taken["accepted"], taken["rejected"]) == (1, 3)


def test_batches_are_numbered_on(client: TestClient, corpus: str) -> None:
    assert send(client, corpus, lines(*[{"text": "a"}] * 2500)).json()["accepted"] == 2500
    answer = send(client, corpus, lines({"text": "b", "key": "document-2500"}, {"text": "b", "key": "document-2501"}))
    assert (answer.json()["accepted"], answer.json()["rejected"]) == (1, 1)
    assert client.get(corpus).json()["version"] == 4


def test_the_first_thousand_bad_lines_are_told_and_all_are_counted(client: TestClient, corpus: str) -> None:
    answer = send(client, corpus, b'{"text": "a"}\n' + b"x\n" * 2200).json()
    assert answer["rejected"] == 2200
    assert [error["line"] for error in answer["errors"]] == list(range(2, 1002))


def test_uploads_at_once_share_keys_without_a_clash(client: TestClient, corpus: str) -> None:
    rows = lines(*[{"text": "a", "key": f"shared-{n}"} for n in range(300)], *[{"text": "b"}] * 300)
    with ThreadPoolExecutor(4) as pool:
        answers = list(pool.map(lambda _: send(client, corpus, rows), range(4)))
    assert [answer.status_code for answer in answers] == [200] * 4
    assert sum(answer.json()["accepted"] for answer in answers) == 300 + 4 * 300
    assert client.get(corpus).json()["documents"] == 1500


def test_an_upload_past_the_limit_keeps_what_came_before_and_says_so(client: TestClient, corpus: str) -> None:
    def chunks() -> Iterator[bytes]:
        for _ in range(2000):
            yield lines({"text": "x" * 1000})

    answer = send(client, corpus, chunks())
    assert answer.status_code == 413
    accepted = client.get(corpus).json()["documents"]
    assert accepted > 900
    assert f"{accepted} documents are stored" in answer.json()["detail"]
    assert (answer.json()["accepted"], answer.json()["rejected"]) == (accepted, 0)


def test_other_kinds_of_uploads_are_a_415_that_names_the_right_ones(client: TestClient, corpus: str) -> None:
    answer = send(client, corpus, b"{}", "application/json")
    assert answer.status_code == 415
    assert "application/x-ndjson" in answer.json()["detail"]
    zipped = client.post(
        f"{corpus}/documents", content=b"x", headers={"Content-Type": NDJSON, "Content-Encoding": "gzip"}
    )
    assert zipped.status_code == 415
    assert client.post(f"{corpus}/documents", content=b"x").status_code == 415


def test_an_upload_to_no_corpus_is_a_404(client: TestClient) -> None:
    for corpus_id in ("11111111-2222-4333-8444-555555555555", "nonsense", "%00"):
        assert send(client, f"/v1/corpora/{corpus_id}", lines({"text": "a"})).status_code == 404


def test_names_of_ignored_fields_are_few_and_short(client: TestClient, corpus: str) -> None:
    answer = send(client, corpus, lines({"text": "a", "\ud800": 1, **{f"{n}" * 200: 1 for n in range(5)}}))
    assert answer.status_code == 200
    assert answer.json()["ignored_fields"][0] == "?"
    assert max(map(len, answer.json()["ignored_fields"])) == 100
    many = [{"text": "a", f"field-{n}": 1} for n in range(150)]
    assert len(send(client, corpus, lines(*many)).json()["ignored_fields"]) == 100


@pytest.mark.parametrize("kind", ["sqlite"])
def test_an_upload_that_fills_the_disk_says_how_much_of_it_is_stored(
    client: TestClient, corpus: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    free = iter([2**30, 2**30])  # when it begins, and for its first batch
    monkeypatch.setattr(disk, "free_bytes", lambda folder: next(free, 2**20))
    refused = send(client, corpus, lines(*({"text": f"galaxy {n}"} for n in range(2_500))))
    assert (refused.status_code, refused.json()["type"]) == (507, "urn:newfound:problem:storage-full")
    assert refused.json()["accepted"] == 1_000
    assert client.get(corpus).json()["documents"] == 1_000
