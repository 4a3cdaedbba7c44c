"""A corpus of many documents with a job that has succeeded over it: what the service itself would have left.

Documents go through the API, and the units `encode` and `conclude` are the worker's own, so portraits, tree, audits and
the frozen model are real. Only atoms, calibration and chains are not run: with so many categories they take hours. In
their place stands `Simulated`, a model that knows which category each document was written for, and is unsure of it.
"""

import json
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
from sqlalchemy import insert, select, update
from starlette.testclient import TestClient

from app.core.db import Database
from app.core.kinds import Model, UnitKind
from app.core.schema import migrate
from app.core.settings import Settings
from app.core.tables import Draw, Job, Unit
from app.http.main import create_app
from app.search.indexing import Indexing
from benchmarks.load.documents import word
from benchmarks.simulated_chains import (
    BURN_IN,
    KNOWN_SHARE,
    LABELED_SHARE,
    N_CHAINS,
    N_SETTINGS,
    N_SWEEPS,
    Written,
    simulated,
)
from worker import models, runner

N_WORDS, N_OWN_WORDS, OWN_SHARE = 20_000, 200, 0.5  # of the vocabulary; of a category, and how much of a text they are
LENGTH = 60  # words of a document, in the mean
BLANK_EVERY, COPY_EVERY = 1_000, 50  # documents without a word, and with the text of an earlier one
N_MONTHS = 36  # from January 2023 on, over which the documents' field `date` is spread
FEW = {
    "sample_size": 5_000,
    "n_folds": 2,
}  # documents that the frozen model learns from: with 50,000 it takes half an hour
LINES_AT_ONCE = 20_000  # of an upload
Report = Callable[[str], None]


class Made(NamedTuple):
    """The ids of what was made."""

    job: str
    corpus: str
    other_corpus: str  # without a job
    key: str  # of a document that is answered
    new_category: str  # the index of the first new category


def make(settings: Settings, n_documents: int, n_categories: int, report: Report) -> Made:
    """Fill an empty data folder. Numba's kernels must be where the settings of the process have them."""
    migrate(settings.database)
    written = write(n_documents, n_categories)
    app = create_app(settings)
    database: Database = app.state.database
    with TestClient(app, base_url="http://localhost") as client:
        report(f"upload {n_documents} documents")
        corpus_id = upload(client, "many documents", documents(written))
        other = upload(client, "no job yet", documents(write(n_documents // 100, n_categories)))
        of_chains = {"sweeps": N_SWEEPS, "burn_in": BURN_IN, "chains": N_CHAINS}
        asked = {"corpus_id": corpus_id, "name": "large", **of_chains, "calibrated": FEW}
        job_id = str(well(client.post("/v1/jobs", json=asked))["id"])
        report("encode")
        run_units(database, settings, job_id, UnitKind.ENCODE)
        report("conclude")
        put_chains(database, job_id, n_categories)
        before = models.MODELS[Model.CALIBRATED]
        models.MODELS[Model.CALIBRATED] = simulated(written)
        try:
            run_units(database, settings, job_id, UnitKind.CONCLUDE)
        finally:
            models.MODELS[Model.CALIBRATED] = before
        assert well(client.get(f"/v1/jobs/{job_id}"))["status"] == "succeeded"
        report("index the texts, decide")
        Indexing(database).fill(corpus_id)
        decide(client, job_id)
        key = well(client.get(f"/v1/jobs/{job_id}/documents", params={"limit": 1, "known": "false"}))["documents"][0][
            "key"
        ]
    return Made(job_id, corpus_id, other, key, str(written.n_known))


def well(response: Any) -> Any:
    """The body of an answer to a request that must succeed."""
    assert response.is_success, response.text
    return response.json()


def write(n_documents: int, n_categories: int) -> Written:
    """Categories of very different sizes, of which one of three is known."""
    chances = 1.0 / (np.arange(n_categories) + 10)
    generator = np.random.default_rng(1)
    order = generator.permutation(n_categories)
    category = order[generator.choice(n_categories, n_documents, p=chances / chances.sum())]
    return Written(category, max(int(n_categories * KNOWN_SHARE), 1), n_categories)


def key_of(number: int) -> str:
    """The key of a document."""
    return f"document-{number:08d}"


def documents(written: Written) -> Iterator[dict[str, Any]]:
    """Texts of made-up words: about half of them from the whole vocabulary, the rest from those of their category."""
    generator = np.random.default_rng(2)
    vocabulary = np.array([word(rank) for rank in range(N_WORDS)], object)
    common = np.cumsum(1.0 / np.arange(1, N_WORDS + 1))
    own = np.cumsum(1.0 / np.arange(1, N_OWN_WORDS + 1))
    own_words = generator.integers(200, N_WORDS, (written.n_categories, N_OWN_WORDS))
    text = ""
    for number, category in enumerate(written.category):
        n = generator.integers(LENGTH // 2, LENGTH * 3 // 2)
        ranks = np.searchsorted(common, generator.random(n) * common[-1])
        is_own = generator.random(n) < OWN_SHARE
        ranks[is_own] = own_words[category, np.searchsorted(own, generator.random(is_own.sum()) * own[-1])]
        if number % COPY_EVERY:
            text = "" if number % BLANK_EVERY == 1 else " ".join(vocabulary[ranks])
        month = int(generator.integers(N_MONTHS))
        is_labeled = category < written.n_known and generator.random() < LABELED_SHARE
        yield {
            "key": key_of(number),
            "text": text,
            "label": f"known category {category:03d}" if is_labeled else None,
            "date": f"{2023 + month // 12}-{month % 12 + 1:02d}-15",
            "source": f"source {number % 12}",
        }


def upload(client: TestClient, name: str, rows: Iterator[dict[str, Any]]) -> str:
    """A corpus of these documents; returns its id."""
    corpus_id = str(well(client.post("/v1/corpora", json={"name": name}))["id"])
    lines: list[bytes] = []

    def send() -> None:
        path, headers = f"/v1/corpora/{corpus_id}/documents", {"Content-Type": "application/x-ndjson"}
        assert well(client.post(path, content=b"".join(lines), headers=headers))["rejected"] == 0
        lines.clear()

    for row in rows:
        lines.append(json.dumps(row).encode() + b"\n")
        if len(lines) == LINES_AT_ONCE:
            send()
    if lines:
        send()
    return corpus_id


def run_units(database: Database, settings: Settings, job_id: str, kind: UnitKind) -> None:
    """Run the legs of a job's unit, as workers would, until it is done."""
    mine = select(Unit.id).where(Unit.job_id == job_id, Unit.kind == kind)
    while True:
        with database.readers.begin() as session:
            [unit_id] = session.scalars(mine).all()
            status, job = session.get_one(Unit, unit_id).status, session.get_one(Job, job_id)
            assert job.status != "failed", job.error
        if status == "done":
            return
        runner.run(database, settings, unit_id, lambda: False)


def put_chains(database: Database, job_id: str, n_categories: int) -> None:
    """Have the units between `encode` and `conclude` be done, and the chains' draws be there."""
    generator = np.random.default_rng(3)
    with database.sessions.begin() as session:
        between = (UnitKind.ATOMS, UnitKind.CALIBRATE, UnitKind.CHAIN)
        mine = update(Unit).where(Unit.job_id == job_id)
        done = {"status": "done", "seconds": 100.0, "digest": "0" * 64, "n_sweeps": N_SWEEPS}
        session.execute(mine.where(Unit.kind.in_(between)).values(done))
        chains = {"n_categories": n_categories, "sweeps_per_second": 5.0}
        session.execute(mine.where(Unit.kind == UnitKind.CHAIN).values(chains))
        session.execute(mine.where(Unit.kind == UnitKind.CONCLUDE).values(status="ready"))
        for chain in range(N_CHAINS):
            session.execute(insert(Draw), list(draws(job_id, chain, n_categories, generator)))


def draws(job_id: str, chain: int, n_categories: int, generator: np.random.Generator) -> Iterator[dict[str, Any]]:
    """What each sweep of a chain leaves: it comes to its level from below, then wanders about it."""
    n_known = max(int(n_categories * KNOWN_SHARE), 1)
    for sweep in range(1, N_SWEEPS + 1):
        risen = 1.0 - np.exp(-sweep / 25)
        n_new = max(int((n_categories - n_known) * risen + generator.normal(0, 3)), 1)
        yield {
            "job_id": job_id,
            "chain": chain,
            "sweep": sweep,
            "n_categories": n_known + n_new,
            "n_new": n_new,
            "n_new_with_documents": n_new,
            "log_joint": float(-4.2e7 + 1e6 * risen + generator.normal(0, 500)),
            "setting": int(generator.integers(N_SETTINGS)),
        }


def decide(client: TestClient, job_id: str) -> None:
    """Decide about some documents and categories, as somebody who reviews the job."""
    found = well(client.get(f"/v1/jobs/{job_id}/documents", params={"limit": 60, "known": "false"}))["documents"]
    keys = [each["key"] for each in found]
    of_job = well(client.get(f"/v1/jobs/{job_id}/categories"))["categories"]
    new = [each["id"] for each in of_job if not each["known"]]
    decisions = [
        {"kind": "name", "category": new[0], "name": "renamed"},
        {"kind": "promote", "category": new[1], "name": "promoted"},
        {"kind": "pin", "documents": keys[:30], "category": new[1]},
        {"kind": "none", "documents": keys[30:]},
        {"kind": "merge", "categories": new[2:4]},
    ]
    well(client.post(f"/v1/jobs/{job_id}/decisions", json={"decisions": decisions}))
