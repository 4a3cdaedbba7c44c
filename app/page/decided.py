"""What people decided about a job, newest first and in words."""

from collections.abc import Mapping, Sequence
from typing import Any

from app.page.api import Api

MOST = 1_000  # decisions in one answer of the API
FEW = 3  # documents that are named one by one

Decision = dict[str, Any]


async def all_decisions(api: Api, job_id: str) -> list[Decision]:
    """Every decision about a job, the newest first. Raises Refused."""
    found: list[Decision] = []
    cursor = None
    while True:
        page = await api.get(f"/v1/jobs/{job_id}/decisions", {"limit": MOST, "cursor": cursor})
        found += page["decisions"]
        cursor = page["next"]
        if cursor is None:
            return found[::-1]


async def names_of(
    api: Api, job_id: str, categories: Sequence[Mapping[str, Any]], decisions: Sequence[Decision]
) -> dict[str, str]:
    """What the categories of decisions are called, by their ids: also of those that decisions have removed."""
    names = {each["id"]: each["name"] for each in categories if each["id"]}
    if any(each not in names for decision in decisions for each in ids_of(decision)):
        before = await api.get(f"/v1/jobs/{job_id}/categories", {"decisions": False})
        names = {each["id"]: each["name"] for each in before["categories"] if each["id"]} | names
    return names


def ids_of(decision: Decision) -> list[str]:
    """The categories that a decision names."""
    into = decision["into"] if isinstance(decision["into"], str) else None
    found = [decision["category"], into, *(decision["categories"] or [])]
    return [each for each in found if each is not None]


def in_words(decision: Decision, names: Mapping[str, str]) -> str:
    """What a decision says, but for the documents that it names."""
    category = called(decision["category"], names)
    named = "" if decision["name"] is None else f" and named {decision['name']}"
    match decision["kind"]:
        case "name":
            return f"Renamed to {decision['name']}"
        case "merge":
            parts = [called(each, names) for each in decision["categories"] or []]
            return f"Merged {' and '.join(parts)}{named}"
        case "split" if decision["into"] is not None:
            return f"Split {category} into {decision['into']}"
        case "split":
            return f"Split from {category}{named}"
        case "promote":
            return f"Promoted {category} to a known category{named}"
        case "dissolve":
            return f"Dissolved {category}"
        case "pin" if decision["new"] and not decision["category"]:
            return f"Pinned to a category of its own, {decision['name'] or called(decision['new'][0], names)}"
        case "pin":
            return f"Pinned to {category}"
        case "none":
            return "Set aside: no category"
        case "accept":
            return "Accepted what the audit suggests"
        case _:
            return f"Took back decision {decision['decision']}"


def called(category: Any, names: Mapping[str, str]) -> str:
    """The name of a category; one that has no name any more, or no id, is called as the decision called it."""
    return names.get(category, str(category))


def about(decisions: Sequence[Decision], key: str) -> list[Decision]:
    """The decisions that name a document, and those that took these back."""
    direct = [each for each in decisions if key in each["documents"]]
    numbers = {each["number"] for each in direct}
    return [each for each in decisions if each["number"] in numbers or each["decision"] in numbers]
