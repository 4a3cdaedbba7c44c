"""What a list of documents is narrowed to: from the query of a view to that of the API, to a sentence, to links."""

import json
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple
from urllib.parse import quote, urlencode

from starlette.datastructures import QueryParams

# Parameters that the API's list and export share, and that say what is shown rather than which documents.
ONCE = (
    "search", "category", "name", "known", "unsure", "copies", "min_probability", "max_probability", "unsure_known",
    "unsure_new", "key", "key_prefix", "categories", "decisions",
)  # fmt: skip
ORDERS = {
    "": "in the order of the upload",
    "unsure": "least probable first",
    "probability": "most probable first",
}
MAX_COLUMNS = 12  # fields shown as columns of their own
LONGEST = 60  # characters of a category's name in a list of choices

Category = Mapping[str, Any]


class Filters(NamedTuple):
    """What the query of the view asks for."""

    chosen: dict[str, str]
    fields: tuple[str, ...]  # NAME:VALUE
    sort: str
    shown: tuple[str, ...]  # names of the fields that are columns
    cursor: str | None

    @property
    def asked(self) -> dict[str, str | None]:
        """Each parameter, None for those that the query does not have."""
        return {**dict.fromkeys(ONCE), **self.chosen}

    def documents(self) -> dict[str, Any]:
        """The parameters that choose documents, as lists and exports take them."""
        return {**self.chosen, "field": list(self.fields)}

    def address(self, at: str, **others: Any) -> str:
        """An address with these filters, from the first page on, but for some that are others."""
        query = {**self.documents(), "sort": self.sort, "show": list(self.shown), **others}
        kept = {name: value for name, value in query.items() if value not in (None, "", [], ())}
        return f"{at}?{urlencode(kept, doseq=True)}" if kept else at

    def with_field(self, at: str, name: str, value: str) -> str:
        """An address of the documents that have this value, too."""
        return self.address(at, field=[*(each for each in self.fields if each != f"{name}:{value}"), f"{name}:{value}"])


def filters_of(query: QueryParams) -> Filters:
    """What a query asks for; a form sends blank fields, which ask for nothing."""
    return Filters(
        {name: query[name].strip() for name in ONCE if query.get(name, "").strip()},
        tuple(each.strip() for each in query.getlist("field") if each.strip()),
        query.get("sort", ""),
        tuple(dict.fromkeys(query.getlist("show")))[:MAX_COLUMNS],
        query.get("cursor") or None,
    )


def reference(category: Category) -> str:
    """How a request names a category: by its id, which stays, or by its index if it has none."""
    return str(category["id"] or category["category"])


def chosen_category(filters: Filters, categories: Iterable[Category]) -> Category | None:
    """The category that is asked for by index, id or name; None if it is none of these, or several."""
    asked, name = filters.chosen.get("category"), filters.chosen.get("name")
    if asked is None and name is None:
        return None
    found = [
        each
        for each in categories
        if asked in (None, each["id"], str(each["category"])) and name in (None, each["name"])
    ]
    return found[0] if len(found) == 1 else None


def sentence(filters: Filters, categories: Iterable[Category]) -> str:
    """What is listed, in words: `Unsure documents of new 2: plasma, least probable first`."""
    chosen = filters.chosen
    unsure = {"true": "Unsure documents", "false": "Sure documents"}.get(chosen.get("unsure", ""), "Documents")
    parts = [unsure, *parts_of(chosen, chosen_category(filters, categories))]
    parts += [f"with {name} {value}" for name, _, value in (each.partition(":") for each in filters.fields)]
    if "search" in chosen:
        parts.append(f"that contain {chosen['search']}")
    if "categories" in chosen:
        parts.append(f"in a cut with {chosen['categories']} new categories")
    if chosen.get("decisions") == "false":
        parts.append("as answered before anybody decided")
    return f"{' '.join(parts)}, {ORDERS.get(filters.sort, ORDERS[''])}"


def parts_of(chosen: Mapping[str, str], category: Category | None) -> Iterable[str]:
    """The same of category, probability, copies and key."""
    if category is not None:
        yield f"of {category['name']}"
    elif chosen.get("category") == "none":
        yield "without a category"
    elif "category" in chosen or "name" in chosen:
        yield f"of {chosen.get('name') or chosen['category']}"
    if "known" in chosen:
        yield "of known categories" if chosen["known"] == "true" else "of new categories"
    if "copies" in chosen:
        yield "that are copies of an earlier one" if chosen["copies"] == "true" else "that are no copies"
    least, most = chosen.get("min_probability"), chosen.get("max_probability")
    if least is not None and most is not None:
        yield f"with a probability from {least} to {most}"
    elif least is not None or most is not None:
        yield f"with a probability of at least {least}" if most is None else f"with a probability of at most {most}"
    if "key" in chosen:
        yield f"with the key {chosen['key']}"
    if "key_prefix" in chosen:
        yield f"whose key begins with {chosen['key_prefix']}"


def value_text(value: Any) -> str:
    """The value of a field as it is shown, and as a filter writes it."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def document_address(at: str, key: str) -> str:
    """The address of a document below `at`, whatever its key has: slashes, question marks, blanks."""
    return f"{at}/{quote(key, safe='')}"


def shortened(text: str, longest: int) -> str:
    """The beginning of a text, with an ellipsis if there is more."""
    return text if len(text) <= longest else f"{text[: longest - 1].rstrip()}…"
