"""One corpus: what is in it, what was made of it, and its documents."""

from typing import Annotated, Any
from urllib.parse import urlencode

from fastapi import Query, Request, Response

from app.page.api import PublicApi, at_once
from app.page.rendering import page, page_router

router = page_router()

N_BARS = 50  # categories a page
N_JOBS = 10
N_COMPARISONS = 100  # the newest ones of all corpora, of which those over this one are shown
N_DESCRIPTIONS = 100  # that the form shows; more come as one request of a program
N_ROWS = 50  # documents a page
N_SHOWN, N_UNFOLDED = 320, 2_500  # characters of a text: at once, and unfolded
N_VALUES, N_VALUE = 8, 120  # fields of a document, and characters of each

Word = Annotated[str, Query(max_length=1_000)]


@router.get("/corpora/{corpus_id}")
async def corpus(request: Request, api: PublicApi, corpus_id: str, categories_from: int = 0) -> Response:
    """What a corpus has, what is probably wrong with it, and the jobs over it."""
    at = f"/v1/corpora/{corpus_id}"
    found = await api.get(at)
    jobs, comparisons, descriptions = await at_once(
        api.get("/v1/jobs", {"corpus_id": found["id"], "limit": N_JOBS}),
        api.get("/v1/comparisons", {"limit": N_COMPARISONS}),
        api.get(f"{at}/descriptions"),
    )
    categories = sorted(found["categories"], key=lambda each: (-each["documents"], each["name"]))
    first = max(categories_from, 0)
    return page(
        request,
        "corpus.html",
        corpus=found,
        bars=categories[first : first + N_BARS],
        first=first,
        n_categories=len(categories),
        most=categories[0]["documents"] if categories else 0,
        more_categories=f"?categories_from={first + N_BARS}#categories" if first + N_BARS < len(categories) else None,
        jobs=jobs["jobs"],
        has_more_jobs=jobs["next"] is not None,
        comparisons=[each for each in comparisons["comparisons"] if each["corpus_id"] == found["id"]],
        descriptions=descriptions["descriptions"],
        can_describe=can_describe(descriptions["descriptions"]),
    )


def can_describe(descriptions: list[dict[str, Any]]) -> bool:
    """Whether the form can send all descriptions again: vectors are not shown, so they would be lost."""
    return len(descriptions) <= N_DESCRIPTIONS and not any(each["has_vector"] for each in descriptions)


@router.get("/corpora/{corpus_id}/documents")
async def documents(
    request: Request,
    api: PublicApi,
    corpus_id: str,
    search: Word = "",
    label: Word = "",
    labeled: Word = "",
    field: Word = "",
    cursor: Word = "",
) -> Response:
    """The documents of a corpus as they are now, searched and filtered."""
    chosen = {"search": search.strip(), "label": label, "labeled": labeled, "field": field.strip()}
    found, listed = await at_once(
        api.get(f"/v1/corpora/{corpus_id}"),
        api.get(f"/v1/corpora/{corpus_id}/documents", {**chosen, "cursor": cursor, "limit": N_ROWS}),
    )
    kept = {name: value for name, value in chosen.items() if value}
    following = f"?{urlencode({**kept, 'cursor': listed['next']})}" if listed["next"] else None
    return page(
        request,
        "corpus_documents.html",
        corpus=found,
        rows=[row(each) for each in listed["documents"]],
        chosen=chosen,
        is_filtered=bool(kept),
        is_first=not cursor,
        export=urlencode({name: value for name, value in kept.items() if name != "search"}),
        labels=[each["name"] for each in found["categories"][:500]],
        following=following,
    )


def row(document: dict[str, Any]) -> dict[str, Any]:
    """A document as the table shows it: the beginning of its text, a longer one to unfold, and some fields."""
    text = document["text"]
    fields = list(document["fields"].items())
    return {
        **document,
        "beginning": text[:N_SHOWN],
        "unfolded": text[:N_UNFOLDED] if len(text) > N_SHOWN else "",
        "is_cut": len(text) > N_UNFOLDED,
        "values": [(name[:N_VALUE], value_shown(value)) for name, value in fields[:N_VALUES]],
        "n_more_fields": max(len(fields) - N_VALUES, 0),
    }


def value_shown(value: Any) -> str:
    """The value of a field, cut to a length that fits into a table."""
    text = value if isinstance(value, str) else repr(value)
    return text if len(text) <= N_VALUE else f"{text[: N_VALUE - 1]}\u2026"
