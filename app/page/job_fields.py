"""Fields of forms as the OpenAPI document describes them: limits, choices and defaults stand there alone."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from fastapi import Request

Schemas = Mapping[str, Any]

TRUTH = ("true", "false")

# What the settings are called, where their names in the API say too little.
LABELS = {
    "language": "Language of the texts",
    "stop_words": "Stop words to leave out",
    "extra_stop_words": "Words of your own to leave out",
    "min_word_length": "Shortest word",
    "max_word_length": "Longest word",
    "min_document_frequency": "Documents that a word must be in",
    "max_document_frequency": "Documents that a word may be in",
    "join_copies": "Count copies of a text once",
    "character_ngrams": "Pieces of scripts without spaces",
    "word_ngrams": "Words taken together, at most",
    "urls": "Web and mail addresses",
    "stemming": "Join the forms of a word",
    "n_categories": "Number of categories",
    "sweeps": "Sweeps of each chain",
    "burn_in": "Sweeps to drop (burn-in)",
    "source_field": "Field that says the source",
}


class FieldOf(NamedTuple):
    """A field of a form."""

    name: str  # in JSON, with dots between the levels
    label: str
    about: str
    kind: str  # number, select, text or boxes
    type: str  # how `page.js` writes its value in JSON
    choices: Sequence[str]
    default: str
    least: float | None
    most: float | None
    step: str


def schemas_of(request: Request) -> Schemas:
    """The schemas of the public API."""
    found: Schemas = request.app.openapi()["components"]["schemas"]
    return found


def fields_of(schemas: Schemas, schema: str, within: str = "", names: Iterable[str] | None = None) -> list[FieldOf]:
    """Fields for all settings of a schema, or for those named, in their order; objects are left out."""
    found = schemas[schema]["properties"]
    chosen = found if names is None else names
    return [field(f"{within}{name}", name, found[name]) for name in chosen if not is_object(found[name])]


def is_object(said: Schemas) -> bool:
    """Whether a setting has settings of its own."""
    return bool(objects_of(said))


def objects_of(said: Schemas) -> list[str]:
    """The schemas of the objects that a setting may be."""
    return [each["$ref"].rpartition("/")[2] for each in variants(said) if "$ref" in each]


def variants(said: Schemas) -> list[Schemas]:
    """What a value may be, apart from null."""
    return [each for each in said.get("anyOf", [said]) if each.get("type") != "null"]


def field(name: str, last: str, said: Schemas) -> FieldOf:
    """The field for a setting, which may be a number, one of some names, a list or a text."""
    many = variants(said)
    scalars = [each for each in many if each.get("type") != "array"]
    lists = [each for each in many if each.get("type") == "array"]
    kind, type_, choices = kind_of(scalars, lists)
    limits = [each for each in scalars if each.get("type") in ("integer", "number")]
    is_whole = bool(limits) and all(each["type"] == "integer" for each in limits)
    return FieldOf(
        name,
        LABELS.get(last, last.replace("_", " ").capitalize()),
        said.get("description", "").replace("`", ""),
        kind,
        type_,
        choices,
        written(said.get("default")),
        min((each["minimum"] for each in limits if "minimum" in each), default=None) if len(limits) == 1 else None,
        max((each["maximum"] for each in limits if "maximum" in each), default=None) if len(limits) == 1 else None,
        "1" if is_whole else "any",
    )


def kind_of(scalars: Sequence[Schemas], lists: Sequence[Schemas]) -> tuple[str, str, list[str]]:
    """The kind of a field, how its value is written in JSON, and what may be chosen."""
    choices = [str(value) for each in scalars for value in each.get("enum", [])]
    of_list = [str(value) for each in lists for value in each["items"].get("enum", [])]
    types = {each.get("type") for each in scalars}
    item = {each["items"].get("type") for each in lists}
    is_number = bool((types or item) & {"integer", "number"})
    if types == {"boolean"}:
        return "select", "boolean", list(TRUTH)
    if lists and not scalars:
        return ("boxes", "item", of_list) if of_list else ("text", "numbers" if is_number else "list", [])
    if lists:
        return "text", "number-or-list" if is_number else "one-or-list", choices
    if choices:
        return "select", "name-or-number" if is_number else "text", choices
    return ("number", "number", []) if is_number else ("text", "text", [])


def written(value: Any) -> str:
    """A default as a person would type it."""
    if value is None:
        return ""
    if isinstance(value, list | tuple):
        return ", ".join(map(written, value))
    return str(value).lower() if isinstance(value, bool) else f"{value:g}" if isinstance(value, float) else str(value)
