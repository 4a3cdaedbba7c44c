"""Fields of forms are made from what the OpenAPI document says of settings."""

from typing import Any

import pytest

from app.page.job_fields import field, written


@pytest.mark.parametrize(
    ("said", "kind_of_field", "type_"),
    [
        ({"type": "string", "enum": ["a", "b"]}, "select", "text"),
        ({"type": "string"}, "text", "text"),
        ({"anyOf": [{"type": "integer", "minimum": 1, "maximum": 9}, {"type": "null"}]}, "number", "number"),
        ({"type": "array", "items": {"type": "string"}}, "text", "list"),
        ({"type": "array", "items": {"type": "string", "enum": ["a"]}}, "boxes", "item"),
        ({"type": "array", "items": {"type": "number"}}, "text", "numbers"),
    ],
)
def test_a_field_is_made_for_each_kind_of_setting(said: dict[str, Any], kind_of_field: str, type_: str) -> None:
    found = field("name", "name", said)
    assert (found.kind, found.type) == (kind_of_field, type_)


@pytest.mark.parametrize(
    ("value", "text"),
    [(None, ""), (True, "true"), (1.0, "1"), (0.05, "0.05"), ([0.1, 2.0], "0.1, 2"), ("auto", "auto")],
)
def test_a_default_is_written_as_a_person_would_type_it(value: Any, text: str) -> None:
    assert written(value) == text
