"""Random decisions, undos, arrivals and continuations: nothing is lost, ids stay, and no job is a dead end."""

from collections import Counter
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, strategies
from hypothesis import settings as limits
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)
from sqlalchemy import delete, insert, select
from starlette.testclient import TestClient

from app.broker import queue
from app.core.db import Database
from app.core.settings import Settings
from app.core.tables import Corpus, Document
from tests.worker import jobs

KEYS = [row["key"] for row in jobs.rows(6)]
ANY = strategies.integers(0, 10**6)


class Review(RuleBasedStateMachine):
    """One reviewer, or several, at a job and at those that continue it."""

    client: TestClient
    database: Database
    settings: Settings
    woken: list[int]
    seen: Counter[str]

    @initialize()
    def categorize(self) -> None:
        """A job that has succeeded, over a corpus of its own."""
        with self.database.sessions.begin() as session:
            session.execute(delete(Corpus))
        corpus_id = jobs.upload(self.database, jobs.rows(6))
        self.job_id, unit_ids = jobs.submit(self.database, corpus_id, sweeps=4, chains=1)
        jobs.run_to_the_end(self.database, self.settings, unit_ids)
        self.keys, self.n_arrived = set(KEYS), 0
        self.arrived: set[str] = set()
        self.pinned: dict[str, str | None] = {}  # of documents, the name of the category that somebody said
        self.ids: dict[str, str] = {}  # of known categories by name

    @property
    def path(self) -> str:
        """The job that is reviewed now."""
        return f"/v1/jobs/{self.job_id}"

    def categories(self, query: str = "") -> list[dict[str, Any]]:
        """The categories that are shown."""
        found: list[dict[str, Any]] = self.client.get(f"{self.path}/categories{query}").json()["categories"]
        return found

    def documents(self, query: str = "") -> dict[str, dict[str, Any]]:
        """The documents by their keys."""
        found = self.client.get(f"{self.path}/documents?limit=1000{query}").json()["documents"]
        return {each["key"]: each for each in found}

    def decide(self, decision: dict[str, Any]) -> bool:
        """Decide; False if it was refused, which leaves all as it was."""
        before = self.client.get(f"{self.path}/decisions").headers["ETag"]
        answer = self.client.post(
            f"{self.path}/decisions", json={"decisions": [decision]}, headers={"If-Match": before}
        )
        assert answer.status_code in (201, 409), answer.text
        self.seen[f"{decision['kind']} {answer.status_code}"] += 1
        if answer.status_code == 409:
            assert self.client.get(f"{self.path}/decisions").headers["ETag"] == before
        return answer.status_code == 201

    def some(self, number: int) -> dict[str, Any]:
        """A category."""
        found = self.categories()
        return found[number % len(found)]

    def unlabeled(self, number: int) -> str:
        """A document that the job has answered."""
        found = sorted(self.documents())
        return found[number % len(found)]

    @rule(number=ANY, name=strategies.sampled_from(["waters", "ores", "new 1: word"]))
    def name(self, number: int, name: str) -> None:
        """Name a category."""
        self.decide({"kind": "name", "category": self.some(number)["id"], "name": name})

    @rule(first=ANY, second=ANY)
    def merge(self, first: int, second: int) -> None:
        """Merge two categories."""
        self.decide({"kind": "merge", "categories": [self.some(first)["id"], self.some(second)["id"]]})

    @rule(number=ANY)
    def split_by_draws(self, number: int) -> None:
        """Split a category as the draws say."""
        self.decide({"kind": "split", "category": self.some(number)["id"], "into": 2})

    @rule(number=ANY, document=ANY)
    def split_by_documents(self, number: int, document: int) -> None:
        """Make a category of some of its documents."""
        category = self.some(number)
        of_it = sorted(self.documents(f"&category={category['category']}"))
        if of_it:
            documents = [of_it[document % len(of_it)], of_it[-1]]
            self.decide({"kind": "split", "category": category["id"], "documents": documents})

    @rule(number=ANY)
    def promote(self, number: int) -> None:
        """Promote a category."""
        self.decide({"kind": "promote", "category": self.some(number)["id"]})

    @rule(number=ANY)
    def dissolve(self, number: int) -> None:
        """Dissolve a category."""
        self.decide({"kind": "dissolve", "category": self.some(number)["id"]})

    @rule(number=ANY, document=ANY)
    def pin(self, number: int, document: int) -> None:
        """Pin a document."""
        category, key = self.some(number), self.unlabeled(document)
        assert self.decide({"kind": "pin", "documents": [key], "category": category["id"]})
        assert self.documents(f"&key={key}")[key]["name"] == category["name"]

    @rule(document=ANY)
    def set_aside(self, document: int) -> None:
        """Say that a document is of no category."""
        key = self.unlabeled(document)
        assert self.decide({"kind": "none", "documents": [key]})
        assert self.documents(f"&key={key}")[key]["name"] is None

    @precondition(lambda self: self.events())
    @rule(number=ANY)
    def undo(self, number: int) -> None:
        """Undo a decision, an undo perhaps."""
        events = [each["number"] for each in self.events() if each["in_force"]]
        self.decide({"kind": "undo", "decision": events[number % len(events)]})

    def events(self) -> list[dict[str, Any]]:
        """The decisions about the job."""
        found: list[dict[str, Any]] = self.client.get(f"{self.path}/decisions?limit=1000").json()["decisions"]
        return found

    @rule()
    def arrive(self) -> None:
        """A document arrives."""
        self.n_arrived += 1
        words = jobs.SUBJECTS["river"].split()
        row = {"key": f"arrival-{self.n_arrived}", "text": " ".join(words[self.n_arrived % 3 :]), "label": None}
        with self.database.sessions.begin() as session:
            corpus = session.scalars(select(Corpus)).one()
            corpus.version += 1
            session.execute(insert(Document), [{"corpus_id": corpus.id, "version": corpus.version, **row}])
        self.arrived.add(str(row["key"]))

    @rule()
    def go_on(self) -> None:
        """Continue the job, and review what comes of it."""
        known = {each["name"]: each["id"] for each in self.categories() if each["known"]}
        decided = {
            key: each["name"] for key, each in self.documents().items() if each["decision"] is not None
        }  # fmt: skip
        self.woken.clear()
        answer = self.client.post(f"{self.path}/continue", json={})
        assert answer.status_code == 202, answer.text
        self.job_id = answer.json()["id"]
        jobs.run_to_the_end(self.database, self.settings, list(self.woken))
        job = jobs.job(self.database, self.job_id)
        if job.status == "failed":
            assert "NothingToCategorize" in str(job.error), job.error
            self.seen["nothing left"] += 1
            self.job_id = str(job.continues)
            return
        self.seen["continue"] += 1
        self.keys |= self.arrived
        found = self.documents()
        assert {key: found[key]["name"] for key in decided} == decided, "what was decided is so"
        now = {each["name"]: each["id"] for each in self.categories() if each["known"]}
        assert all(now.get(name, id_) == id_ or name not in self.labels() for name, id_ in known.items())

    def labels(self) -> set[str]:
        """The labels of the corpus: the id of a category that is known by one follows from it."""
        return {"fruit", "metal"}

    @invariant()
    def nothing_is_lost(self) -> None:
        """Each document is there once, each category has its documents, and ids are different."""
        found, categories = self.documents(), self.categories()
        labeled = {row["key"] for row in jobs.rows(6) if row["label"] is not None}
        assert set(found) == self.keys - labeled
        sizes = Counter(each["name"] for each in found.values())
        assert {each["name"]: each["documents"] for each in categories} == {
            each["name"]: sizes[each["name"]] for each in categories
        }
        for field in ("id", "name", "category"):
            assert len({each[field] for each in categories}) == len(categories)

    def teardown(self) -> None:
        """Everything can be undone, the last decision first; and then the answer is as it was computed."""
        if not hasattr(self, "job_id"):
            return
        for each in reversed(self.events()):
            if each["in_force"] and each["kind"] != "undo":
                assert self.decide({"kind": "undo", "decision": each["number"]})
        assert self.categories() == self.categories("?decisions=false")
        assert self.documents() == self.documents("&decisions=false")


@pytest.mark.parametrize("kind", ["sqlite", pytest.param("postgresql", marks=pytest.mark.slow)])
def test_nothing_is_lost_whatever_reviewers_decide(
    client: TestClient, database: Database, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    woken: list[int] = []
    monkeypatch.setattr(queue, "wake", lambda _, unit_ids: woken.extend(unit_ids))
    given = {"client": client, "database": database, "settings": settings, "woken": woken, "seen": Counter()}
    machine = type("Machine", (Review,), given)
    run_state_machine_as_test(machine, settings=SETTINGS)
    assert given["seen"]["continue"] >= 3, given["seen"]


SETTINGS = limits(
    max_examples=8,
    stateful_step_count=14,
    phases=[Phase.generate],  # to shrink takes minutes
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=list(HealthCheck),
)
