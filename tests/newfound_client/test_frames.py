"""pandas frames, there and back."""

import pandas
import pytest

from app.core.db import Database
from newfound_client import Client, to_frame
from tests.app import rows
from tests.app.rows import CORPUS


def test_a_frame_arrives_with_its_columns_and_without_its_index(client: Client) -> None:
    frame = pandas.DataFrame(
        {
            "text": ["Größe 😀", "two"],
            "label": [None, "a"],
            "key": [7, 8],
            "share": [0.1 + 0.2, float("nan")],
            "day": pandas.to_datetime(["2026-11-29", None]),
        },
        index=[100, 200],
    )
    corpus_id = client.create_corpus("frame")["id"]
    assert client.upload(corpus_id, frame)["added"] == 2
    first, second = client.corpus_documents(corpus_id)
    assert (first["text"], first["label"], first["key"]) == ("Größe 😀", None, "7")
    assert first["fields"]["share"] == pytest.approx(0.3, rel=1e-14)
    assert str(first["fields"]["day"]).startswith("2026-11-29")
    assert (second["text"], second["label"], second["fields"]) == ("two", "a", {})


def test_answers_are_a_frame_with_a_row_for_each(client: Client, database: Database) -> None:
    job_id, _ = rows.submit(database)
    rows.add_encoding(database, job_id)
    rows.add_results(database, job_id)
    frame = to_frame(client.documents(job_id))
    answers = list(client.documents(job_id))
    assert list(frame["key"]) == [answer["key"] for answer in answers]
    assert list(frame["category"].astype(object).where(frame["category"].notna(), None)) == [
        answer["name"] for answer in answers
    ]
    assert {"text", "known", "probability", "runner_up"} <= set(frame.columns)
    assert len(list(client.corpus_documents(CORPUS))) == len(frame)
