"""Descriptions of categories from Python."""

from pathlib import Path

import pytest

from newfound_client import Client, Refused
from newfound_client.descriptions import read_descriptions

REFUNDS = {"name": "refunds", "text": "Money back"}


def test_descriptions_are_put_read_and_deleted(client: Client) -> None:
    corpus_id = client.create_corpus("corpus")["id"]
    assert client.describe(corpus_id, [REFUNDS, {"name": "sales/returns"}])["added"] == 2
    assert [each["name"] for each in client.descriptions(corpus_id)] == ["refunds", "sales/returns"]
    client.delete_description(corpus_id, "sales/returns")
    assert client.describe(corpus_id, {"refunds": "Money back", "delivery": "Parcels"})["unchanged"] == 1
    assert {each["name"]: each["text"] for each in client.descriptions(corpus_id)} == {
        "delivery": "Parcels",
        "refunds": "Money back",
    }
    with pytest.raises(Refused) as refused:
        client.delete_description(corpus_id, "nothing")
    assert refused.value.kind == "description-not-found"


@pytest.mark.parametrize(
    "content",
    [
        '{"name": "refunds", "text": "Money back"}\n',
        '\ufeff[{"name": "refunds", "text": "Money back"}]',
        '{"refunds": "Money back"}',
    ],
)
def test_a_file_of_descriptions_may_have_any_of_three_forms(tmp_path: Path, content: str) -> None:
    path = tmp_path / "file"
    path.write_text(content, encoding="utf-8")
    assert read_descriptions(path) == [REFUNDS]


def test_lines_of_json_are_a_description_each(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_text('{"name": "a"}\r\n\n{"name": "b"}', encoding="utf-8")
    assert read_descriptions(path) == [{"name": "a"}, {"name": "b"}]
