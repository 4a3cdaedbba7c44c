"""Uploads over HTTP, on both databases: what is accepted, what is refused, and how it is told."""

import errno
import random
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from sqlalchemy import event
from starlette.testclient import TestClient

from app.core import disk
from app.core.db import Database
from app.core.settings import Settings
from app.http import files
from app.uploads import store
from app.uploads.body import Writer
from app.uploads.store import Store
from tests.app.uploads.sending import BATCH, CSV, NDJSON, documents, lines, new_corpus, send


def test_an_upload_counts_what_it_accepts_and_says_how_it_was_read(client: TestClient, corpus: str) -> None:
    data = lines(
        {"text": "a", "key": 7, "label": " x ", "year": 1},
        {"text": "b", "label": " "},
        {"text": " \n", "label": None, "month": 2, "year": 3},
    )
    answer = send(client, corpus, data)
    assert answer.status_code == 200
    assert answer.json() == {
        "accepted": 3,
        "added": 3,
        "replaced": 0,
        "unchanged": 0,
        "labeled": 1,
        "unlabeled": 2,
        "empty": 1,
        "vectors": 0,
        "copies": 0,
        "rejected": 0,
        "errors": [],
        "validated_only": False,
        "format": "ndjson",
        "charset": "utf-8",
        "delimiter": None,
        "columns": {"text": ["text"], "label": "label", "key": "key", "vector": None, "fields": ["year", "month"]},
        "warnings": [
            "1 of 1 labels has fewer than 5 documents, which is little to learn from: \N{LEFT DOUBLE QUOTATION MARK}x"
            "\N{RIGHT DOUBLE QUOTATION MARK} (1)"
        ],
    }
    counts = client.get(corpus).json()
    assert (counts["documents"], counts["labeled"], counts["unlabeled"], counts["empty"]) == (3, 1, 2, 1)
    assert counts["categories"] == [{"name": "x", "documents": 1}]
    assert counts["warnings"] == answer.json()["warnings"]


def test_good_lines_are_accepted_beside_bad_ones(client: TestClient, corpus: str) -> None:
    data = b'{"text": "a"}\n{"text": "b", "key": []}\nnonsense\n\n[1]\n{"label": "x"}\n{"text": {}}\n{"text": "b"}'
    answer = send(client, corpus, data).json()
    assert (answer["accepted"], answer["rejected"]) == (2, 5)
    assert [error["line"] for error in answer["errors"]] == [2, 3, 5, 6, 7]
    assert any("most rows were refused, 5 of 7" in sentence for sentence in answer["warnings"])


def test_an_upload_without_a_usable_line_is_a_422_that_tells_all_reasons(client: TestClient, corpus: str) -> None:
    answer = send(client, corpus, b'{"text": "a", "key": []}\n{"text": []}\n')
    assert answer.status_code == 422
    assert answer.json()["type"] == "urn:newfound:problem:nothing-accepted"
    assert [error["where"] for error in answer.json()["errors"]] == ["line 1", "line 2"]
    assert client.get(corpus).json()["version"] == 0


@pytest.mark.parametrize("content_type", [NDJSON, CSV])
@pytest.mark.parametrize("data", [b"", b"\xef\xbb\xbf", b"\n", b"\r\n \n\t\n", b"\xef\xbb\xbf\n\n"])
def test_an_upload_without_a_line_is_a_422_in_plain_words(
    client: TestClient, corpus: str, content_type: str, data: bytes
) -> None:
    answer = send(client, corpus, data, content_type)
    assert answer.status_code == 422
    assert "empty" in answer.json()["detail"]
    assert client.get(corpus).json()["version"] == 0


def test_all_or_nothing_stores_nothing_if_one_line_cannot_be_used(
    client: TestClient, database: Database, corpus: str
) -> None:
    send(client, corpus, lines({"text": "here", "key": "k"}))
    good = [{"text": f"text {n}", "key": f"{n}"} for n in range(5)]
    faults = {
        "line 6": [*good, {"text": "a", "key": []}],
        "line 2": [good[0], {"text": "other", "key": "k"}, *good[1:]],
        "line 3": [good[0], good[1], {"text": "other", "key": "0"}, *good[2:]],
    }
    for where, rows in faults.items():
        refused = client.post(f"{corpus}/documents?on_error=abort", content=lines(*rows))
        assert (refused.status_code, refused.json()["type"]) == (422, "urn:newfound:problem:upload-aborted")
        assert [error["where"] for error in refused.json()["errors"]] == [where]
        assert len(documents(database, corpus)) == 1
    whole = client.post(f"{corpus}/documents?on_error=abort", content=lines(*good, good[0]))
    assert (whole.json()["added"], whole.json()["unchanged"]) == (5, 1)


@pytest.mark.usefixtures("small_batches")
def test_all_or_nothing_takes_back_what_it_stored_if_somebody_takes_a_key_meanwhile(
    client: TestClient, database: Database, corpus: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    write, n_batches = Store.write, 0

    def write_late(*arguments: Any) -> Any:
        nonlocal n_batches
        n_batches += 1
        if n_batches == 3:
            monkeypatch.setattr(Store, "write", write)
            send(client, corpus, lines({"text": "theirs", "key": "11"}))
        return write(*arguments)

    monkeypatch.setattr(Store, "write", write_late)
    rows = lines(*({"text": f"text {n}", "key": f"{n}"} for n in range(4 * BATCH)))
    refused = client.post(f"{corpus}/documents?on_error=abort", content=rows)
    assert (refused.status_code, [error["where"] for error in refused.json()["errors"]]) == (422, ["line 12"])
    assert documents(database, corpus) == [("11", "theirs", None, None)]
    counts = client.get(corpus).json()
    assert (counts["documents"], counts["distinct_texts"]) == (1, 1)


@pytest.mark.usefixtures("small_batches")
@pytest.mark.parametrize("on_conflict", ["refuse", "replace"])
def test_a_dry_run_says_what_an_upload_would_do_and_does_nothing(
    client: TestClient, database: Database, corpus: str, on_conflict: str
) -> None:
    here = lines({"text": "same", "key": "s"}, {"text": "old", "key": "k", "label": "x"}, {"text": "text 3"})
    send(client, corpus, here)
    rows = [{"text": f"text {n}"} for n in range(10)]
    rows += [{"text": "same", "key": "s"}, {"text": "new", "key": "k", "label": "x"}]
    rows += [{"text": "a", "key": "a"}, {"text": "a", "key": "a"}, {"text": "b", "key": "a"}, {"text": "b", "key": []}]
    before = client.get(corpus).json(), documents(database, corpus)
    address = f"{corpus}/documents?on_conflict={on_conflict}"
    told = client.post(f"{address}&validate_only=true", content=lines(*rows)).json()
    assert (client.get(corpus).json(), documents(database, corpus)) == before
    done = client.post(address, content=lines(*rows)).json()
    counted = ("accepted", "added", "replaced", "unchanged", "rejected")
    assert [told[name] for name in counted] == [done[name] for name in counted]
    assert [error["line"] for error in told["errors"]] == [error["line"] for error in done["errors"]]
    assert (told["validated_only"], done["validated_only"]) == (True, False)
    assert done["replaced"] == (2 if on_conflict == "replace" else 0)


def test_a_key_that_comes_again_is_listed_with_both_rows(client: TestClient, corpus: str) -> None:
    send(client, corpus, lines({"text": "a", "key": "k"}))
    rows = ({"text": "b", "key": "k"}, {"text": "c", "key": 1}, {"text": "d", "key": "1"}, {"text": "c", "key": 1})
    answer = send(
        client, corpus, lines(*rows, {"text": "c", "key": "1", "label": "x"}, {"text": "c", "key": 1, "n": 2})
    )
    assert (answer.json()["added"], answer.json()["unchanged"]) == (1, 1)
    reasons = {error["line"]: error["reason"] for error in answer.json()["errors"]}
    assert list(reasons) == [1, 3, 5, 6]
    assert "'k' is already in the corpus, with another text" in reasons[1]
    assert "'1' of line 2 comes again, with another text" in reasons[3]
    assert "the label 'x' instead of none" in reasons[5]
    assert "with other fields" in reasons[6]


def test_rows_replace_documents_when_that_is_asked_for(client: TestClient, database: Database, corpus: str) -> None:
    send(client, corpus, lines({"text": "a", "key": "k"}, {"text": "b", "key": "l", "label": "x"}))
    rows = [{"text": "a", "key": "k", "label": "y"}, {"text": "b", "key": "l", "label": "x"}, {"text": "c", "key": "m"}]
    rows.append({"text": "d", "key": "m"})
    answer = client.post(f"{corpus}/documents?on_conflict=replace", content=lines(*rows)).json()
    assert (answer["added"], answer["replaced"], answer["unchanged"], answer["rejected"]) == (1, 2, 1, 0)
    assert sorted(documents(database, corpus)) == [("k", "a", "y", None), ("l", "b", "x", None), ("m", "d", None, None)]
    assert client.get(corpus).json()["version"] == 2


@pytest.mark.parametrize("on_conflict", ["refuse", "replace"])
def test_keys_that_come_again_and_again_leave_what_one_upload_a_row_leaves(
    client: TestClient, database: Database, on_conflict: str
) -> None:
    draw = random.Random(7)
    rows = [{"key": draw.choice("abcd"), "text": draw.choice("xy"), "label": draw.choice("mn")} for _ in range(80)]
    counted = ("added", "replaced", "unchanged", "rejected")
    told, left = [], []
    for size in (len(rows), 7, 1):
        corpus = new_corpus(client)
        parts = [rows[first : first + size] for first in range(0, len(rows), size)]
        address = f"{corpus}/documents?on_conflict={on_conflict}"
        answers = [client.post(address, content=lines(*part)).json() for part in parts]
        told.append({name: sum(answer.get(name, 0) for answer in answers) for name in counted})
        left.append(sorted(documents(database, corpus)))
    assert told[0] == told[1] == told[2] and left[0] == left[1] == left[2]
    assert (
        min(told[0][name] for name in ("added", "unchanged", {"refuse": "rejected"}.get(on_conflict, "replaced"))) > 3
    )


@pytest.mark.parametrize(("on_conflict", "n_texts"), [("refuse", 1), ("refuse", 400), ("replace", 1)])
def test_a_key_on_every_row_takes_no_more_statements_than_other_keys(
    client: TestClient, database: Database, settings: Settings, on_conflict: str, n_texts: int
) -> None:
    """Whoever names the wrong column as the key sends such rows; hundreds of thousands took minutes."""
    asked: list[str] = []
    event.listen(
        client.app.state.database.engine,  # type: ignore[attr-defined]
        "before_cursor_execute",
        lambda _, __, statement, *___: asked.append(statement),
    )
    n_asked = []
    for key in ("new-{}", "same"):
        rows = lines(*({"key": key.format(n), "text": f"text {n % n_texts}"} for n in range(400)))
        corpus = new_corpus(client)
        asked.clear()
        answer = client.post(f"{corpus}/documents?on_conflict={on_conflict}", content=rows).json()
        n_asked.append(len(asked))
    assert (answer["added"], answer["unchanged"] + answer["rejected"]) == (1, 399)
    assert n_asked[1] <= n_asked[0] + 4, "to look once for the documents that the others are compared with"


def test_uploads_at_once_share_keys_without_a_clash(client: TestClient, corpus: str) -> None:
    rows = lines(*[{"text": "a", "key": f"shared-{n}"} for n in range(300)], *[{"text": "b"}] * 300)
    with ThreadPoolExecutor(4) as pool:
        answers = list(pool.map(lambda _: send(client, corpus, rows), range(4)))
    assert [answer.status_code for answer in answers] == [200] * 4
    assert sum(answer.json()["added"] for answer in answers) == 600
    assert client.get(corpus).json()["documents"] == 600


def test_the_first_thousand_bad_lines_are_told_and_all_are_counted(client: TestClient, corpus: str) -> None:
    answer = send(client, corpus, b'{"text": "a"}\n' + b"x\n" * 2200).json()
    assert answer["rejected"] == 2200
    assert [error["line"] for error in answer["errors"]] == list(range(2, 1002))


def test_an_upload_past_the_limit_stores_nothing_and_names_the_limit(client: TestClient, corpus: str) -> None:
    def chunks() -> Iterator[bytes]:
        for _ in range(2000):
            yield lines({"text": "x" * 1000})

    answer = send(client, corpus, chunks())
    assert answer.status_code == 413
    assert "NEWFOUND_MAX_UPLOAD_BYTES" in answer.json()["detail"]
    assert client.get(corpus).json()["documents"] == 0


def test_a_corpus_that_has_as_many_documents_as_it_may_takes_no_more(
    client: TestClient, corpus: str, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(store, "BATCH_ROWS", 4)
    few = settings.model_copy(update={"max_documents": 10})
    monkeypatch.setattr(client.app.state, "settings", few)  # type: ignore[attr-defined]
    answer = send(client, corpus, lines(*({"text": f"text {n}"} for n in range(15))))
    assert (answer.status_code, answer.json()["accepted"]) == (413, 8)
    assert "NEWFOUND_MAX_DOCUMENTS" in answer.json()["detail"]
    assert client.get(corpus).json()["documents"] == 8
    assert send(client, corpus, lines({"text": "text 0"}, {"text": "text 99"})).json()["added"] == 1


def test_an_upload_to_no_corpus_is_a_404(client: TestClient) -> None:
    for corpus_id in ("11111111-2222-4333-8444-555555555555", "nonsense", "%00"):
        assert send(client, f"/v1/corpora/{corpus_id}", lines({"text": "a"})).status_code == 404


@pytest.mark.parametrize("kind", ["sqlite"])
@pytest.mark.usefixtures("small_batches")
def test_an_upload_that_fills_the_disk_says_how_much_of_it_is_stored(
    client: TestClient, corpus: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    free = iter([2**30, 2**30])  # when it begins, and for its first batch
    monkeypatch.setattr(disk, "free_bytes", lambda folder: next(free, 2**20))
    refused = send(client, corpus, lines(*({"text": f"galaxy {n}"} for n in range(4 * BATCH))))
    assert (refused.status_code, refused.json()["type"]) == (507, "urn:newfound:problem:storage-full")
    assert refused.json()["accepted"] == BATCH
    assert client.get(corpus).json()["documents"] == BATCH


def test_a_full_disk_under_the_files_of_uploads_is_a_507(
    client: TestClient, corpus: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def put(_: Any) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Writer, "put", put)
        refused = send(client, corpus, lines({"text": "a"}))
    assert (refused.status_code, refused.json()["type"]) == (507, "urn:newfound:problem:storage-full")
    assert "NEWFOUND_UPLOADS_FOLDER" in refused.json()["detail"]
    monkeypatch.setattr(files, "LOOK_BYTES", 10)
    monkeypatch.setattr(files, "free_bytes", lambda folder: 2**20)
    assert send(client, corpus, lines({"text": "a"})).status_code == 507
    assert client.get(corpus).json()["documents"] == 0


def test_a_file_may_be_put_as_curl_does(client: TestClient, corpus: str) -> None:
    assert client.put(f"{corpus}/documents", content=b"text\na\n").json()["added"] == 1
    assert client.put(f"{corpus}/documents?nonsense=1", content=b"text\na\n").status_code == 422


def test_a_form_is_an_upload_too_and_its_fields_are_choices(client: TestClient, corpus: str) -> None:
    file = ("mails.csv", "Titel;Gruppe\nGuten Tag;a\nAuf Wiedersehen;\n".encode("cp1252"))
    fields = {"text": "Titel", "label": "Gruppe", "charset": "windows-1252", "key": ""}
    answer = client.post(f"{corpus}/documents", files={"file": file}, data=fields)
    assert answer.status_code == 200, answer.text
    told = answer.json()
    assert (told["format"], told["delimiter"], told["labeled"], told["added"]) == ("csv", ";", 1, 2)
    assert told["columns"] == {"text": ["Titel"], "label": "Gruppe", "key": None, "vector": None, "fields": []}
    without = client.post(f"{corpus}/documents", files={"file": file}, data={**fields, "label": "", "sheet": ""}).json()
    assert (without["columns"]["label"], without["columns"]["fields"]) == (None, ["Gruppe"])
    refused = client.post(f"{corpus}/documents", files={"file": file}, data={"nonsense": "1"})
    assert (refused.status_code, refused.json()["errors"][0]["where"]) == (422, "form.nonsense")
    assert client.post(f"{corpus}/documents", files={"file": file}, data={"on_error": "stop"}).status_code == 422
