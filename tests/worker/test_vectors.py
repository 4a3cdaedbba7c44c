"""The unit `vectors`, leg by leg: whose vector a text has, what is made once, and that it always comes to the same."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from sqlalchemy import delete, func, insert, select, update

from app.broker import queue
from app.core import embedding_models, leases, lifecycle, presence
from app.core.db import Database
from app.core.kinds import BROUGHT, UnitKind
from app.core.next_unit import next_unit, others_wait
from app.core.settings import Settings
from app.core.tables import Corpus, Document, DocumentVector, Job, Unit, VectorStep
from app.core.vectors import to_bytes
from app.http.condition import notes_of
from app.schemas.job_settings import JobIn
from embedding.model import EmbeddingModel
from sampler.corpus import Array
from tests.app.rows import expire
from tests.embedding.tiny_model import FOLDER, LENGTH
from tests.worker import jobs
from worker import document_vectors, encodings, runner, vectors
from worker.leg import Leg

DIGEST = EmbeddingModel.open(FOLDER).digest
OTHER = "0" * 64
N_DOCUMENTS = 61  # of `jobs.rows`; one is blank
BLOCK, PIECE = 16, 25  # so that there are four blocks of the sixty vectors to make, and three pieces of projected ones


@pytest.fixture(autouse=True)
def small_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vectors, "BLOCK_DOCUMENTS", BLOCK)
    monkeypatch.setattr(vectors, "PIECE_TEXTS", PIECE)
    monkeypatch.setattr(vectors, "AT_ONCE", 10)
    monkeypatch.setattr(document_vectors, "AT_ONCE", 10)


@pytest.fixture
def able(settings: Settings) -> Settings:
    """Settings of a worker with the embedding model."""
    return jobs.with_changes(settings, embedding_model_folder=FOLDER)


def submit(database: Database, corpus_id: str, whose: str = "made", **fields: Any) -> tuple[str, list[int]]:
    """Queue a job with vectors; returns its id and the units to send."""
    body = JobIn(corpus_id=corpus_id, model="calibrated", sweeps=4, chains=1, calibrated=jobs.FEW_ATOMS, **fields)
    made = {"embedding_model": DIGEST} if whose == "made" else {}
    with database.sessions.begin() as session:
        job, unit_ids = lifecycle.submit(session, corpus_id, {**body.settings(), "vectors": whose, **made})
        return job.id, unit_ids


def prepare(database: Database, settings: Settings, unit_ids: list[int]) -> int:
    """Run legs up to the end of the unit `vectors`; returns how many it had."""
    n_legs = 0
    while True:
        [unit_id] = unit_ids
        with database.readers.begin() as session:
            kind = session.get_one(Unit, unit_id).kind
        if kind == UnitKind.ATOMS:
            return n_legs
        n_legs += kind == UnitKind.VECTORS
        unit_ids = runner.run(database, settings, unit_id, lambda: False)


def prepared(database: Database, settings: Settings, unit_ids: list[int]) -> dict[str, Any]:
    """What the unit leaves: the bytes of its steps, and of documents' vectors by key, and its digest."""
    prepare(database, settings, unit_ids)
    return left(database)


def left(database: Database) -> dict[str, Any]:
    with database.readers.begin() as session:
        steps = session.execute(select(VectorStep.number, VectorStep.data).order_by(VectorStep.number))
        rows = select(Document.key, DocumentVector.data).join(Document, Document.id == DocumentVector.document_id)
        digests = select(Unit.digest).where(Unit.kind == UnitKind.VECTORS, Unit.status == "done").distinct()
        return {
            "steps": dict(steps.all()),
            "vectors": dict(session.execute(rows.where(DocumentVector.made_by == DIGEST)).all()),
            "digests": list(session.scalars(digests)),
        }


def in_a_later_leg(
    database: Database, settings: Settings, monkeypatch: pytest.MonkeyPatch, unit_id: int, work: Callable[[Leg], Any]
) -> Any:
    """What some work finds in a leg of the unit that follows."""
    found = []

    def do(leg: Leg) -> list[int]:
        found.append(work(leg))
        return leg.give_back()

    with monkeypatch.context() as patched:
        patched.setitem(runner.WORK, UnitKind.ATOMS, do)
        runner.run(database, settings, unit_id, lambda: False)
    [result] = found
    return result


def vectors_of(leg: Leg) -> Array | None:
    with leg.database.readers.begin() as session:
        stored = encodings.load(session, leg.job, leg.files)
    return vectors.vectors_of(leg, stored)


def ready(database: Database, job_id: str) -> int:
    with database.readers.begin() as session:
        return session.scalars(select(Unit.id).where(Unit.job_id == job_id, Unit.status == "ready")).one()


def loaded(database: Database, settings: Settings, job_id: str) -> tuple[Array | None, dict[str, Array]]:
    """The projected vectors of a job's texts, and those of its documents by key."""
    with database.readers.begin() as session:
        job = session.get_one(Job, job_id)
        stored = encodings.load(session, job, Leg(database, settings, Unit(), job, None).files)  # type: ignore[arg-type]
        found = vectors.load_vectors(session, job, stored)
        keys = dict(session.execute(select(Document.id, Document.key)).all())
    if found is None:
        return None, {}
    texts = zip(stored.document_ids.tolist(), stored.texts.text_of.tolist(), strict=True)
    return found, {keys[document_id]: found[text] for document_id, text in texts}


def test_texts_have_the_directions_of_their_embeddings_from_the_mean_of_all(database: Database, able: Settings) -> None:
    """With as many axes as numbers, places along axes are the centered vectors, only turned."""
    job_id, unit_ids = submit(database, jobs.upload(database, jobs.rows()))
    prepare(database, able, unit_ids)
    found, by_key = loaded(database, able, job_id)
    assert found is not None and (found.dtype, found.shape[1]) == (np.dtype(np.float32), LENGTH)
    rows = [row for row in jobs.rows() if row["key"] != "blank"]
    raw = EmbeddingModel.open(FOLDER).embed([row["text"] for row in rows]).astype(np.float64)
    raw /= np.linalg.norm(raw, axis=1, keepdims=True)
    centered = raw - raw.mean(axis=0)
    centered /= np.linalg.norm(centered, axis=1, keepdims=True)
    turned = np.stack([by_key[row["key"]] for row in rows]).astype(np.float64)
    np.testing.assert_allclose(turned @ turned.T, centered @ centered.T, atol=2e-3)  # float16, sixteen numbers
    assert not by_key["blank"].any(), "no text, no vector"
    spread = turned.var(axis=0)
    assert spread[0] == spread.max() and spread[:4].sum() > spread[-4:].sum(), "the first axes are the widest"
    with database.readers.begin() as session:
        axes = vectors.load_axes(session, session.get_one(Job, job_id))
    np.testing.assert_allclose(axes.mean, raw.mean(axis=0), atol=1e-12)


def test_many_legs_leave_the_same_bytes_as_one(database: Database, able: Settings) -> None:
    corpus_id = jobs.upload(database, jobs.rows())
    _, unit_ids = submit(database, corpus_id)
    assert prepare(database, able, unit_ids) == 1
    calm = left(database)
    assert (len(calm["vectors"]), len(calm["steps"])) == (N_DOCUMENTS, 4)
    with database.sessions.begin() as session:
        session.execute(delete(VectorStep))
        session.execute(delete(DocumentVector))
    _, unit_ids = submit(database, corpus_id)
    assert prepare(database, jobs.with_changes(able, **jobs.ONE_STEP_A_LEG, threads=2), unit_ids) == 8
    assert left(database) == calm


@pytest.mark.parametrize("killed_in", ["embedded", "found_axes", "found_piece"])
def test_a_killed_leg_loses_one_piece_of_its_work(
    database: Database, able: Settings, monkeypatch: pytest.MonkeyPatch, killed_in: str
) -> None:
    corpus_id = jobs.upload(database, jobs.rows())
    _, unit_ids = submit(database, corpus_id)
    calm = prepared(database, able, unit_ids)
    with database.sessions.begin() as session:
        session.execute(delete(VectorStep))
        session.execute(delete(DocumentVector))
    made: list[int] = []
    piece = getattr(vectors, killed_in)

    def die_at_the_last(*arguments: Any) -> Any:
        made.append(0)
        if len(made) == {"embedded": 4, "found_axes": 1, "found_piece": 3}[killed_in]:
            raise jobs.Killed
        return piece(*arguments)

    job_id, unit_ids = submit(database, corpus_id)
    monkeypatch.setattr(vectors, killed_in, die_at_the_last)
    with pytest.raises(jobs.Killed):
        prepare(database, able, unit_ids)
    with database.sessions.begin() as session:
        session.execute(update(Unit).where(Unit.status == "running").values(lease_until=0.0))
    with database.sessions.begin() as session:
        unit_ids = leases.reap(session)
    with database.readers.begin() as session:
        unit = session.get_one(Unit, unit_ids[0])
        n_before = {"embedded": 3, "found_axes": 4, "found_piece": 7}[killed_in]
        assert (unit.job_id, unit.n_sweeps, unit.n_steps) == (job_id, n_before, 8), "what came before is kept"
    prepare(database, able, unit_ids)
    assert len(made) == {"embedded": 5, "found_axes": 2, "found_piece": 4}[killed_in], "one piece was made twice"
    assert left(database) == calm


def test_another_job_finds_what_is_made_and_makes_what_has_arrived(
    database: Database, able: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    corpus_id = jobs.upload(database, jobs.rows())
    first_id, unit_ids = submit(database, corpus_id)
    prepare(database, able, unit_ids)
    embedded, asked = vectors.embedded, []

    def note(leg: Leg, model: EmbeddingModel, document_ids: Array) -> Any:
        asked.extend(document_ids.tolist())
        return embedded(leg, model, document_ids)

    monkeypatch.setattr(vectors, "embedded", note)
    second_id, unit_ids = submit(database, corpus_id, seed=1)
    assert prepare(database, jobs.with_changes(able, **jobs.ONE_STEP_A_LEG), unit_ids) == 1
    assert asked == []
    np.testing.assert_array_equal(loaded(database, able, first_id)[0], loaded(database, able, second_id)[0])

    jobs.arrive(database, [{"key": "a new one", "text": "iron and lead"}])
    _, unit_ids = submit(database, corpus_id)
    prepare(database, able, unit_ids)
    with database.readers.begin() as session:
        assert asked == [session.scalars(select(Document.id).where(Document.key == "a new one")).one()]


def test_copies_share_the_vector_of_the_first_that_can_have_one(database: Database, able: Settings) -> None:
    rows = [{"is_counts": False, **row} for row in jobs.rows()]
    copies = [
        {"key": "z 1", "text": '{"tungsten": 2, "molybdenum": 1}', "is_counts": True, "label": None},
        {"key": "z 3", "text": "Molybdenum, tungsten, tungsten", "is_counts": False, "label": None},
        {"key": "z 2", "text": "tungsten! molybdenum: tungsten", "is_counts": False, "label": None},
        {"key": "z 4", "text": '{"rubidium": 2, "strontium": 3}', "is_counts": True, "label": None},
    ]
    job_id, unit_ids = submit(database, jobs.upload(database, [*copies, *rows]))
    made = prepared(database, able, unit_ids)["vectors"]
    assert [key for key in made if key.startswith("z")] == ["z 2"], "in the order of keys, not of arrival"
    [expected] = EmbeddingModel.open(FOLDER).embed([copies[2]["text"]])
    assert made["z 2"] == expected.tobytes()
    by_key = loaded(database, able, job_id)[1]
    np.testing.assert_array_equal(by_key["z 1"], by_key["z 2"])
    np.testing.assert_array_equal(by_key["z 3"], by_key["z 2"])
    assert by_key["z 2"].any() and not by_key["z 4"].any(), "a bag of words alone has no text"


def test_what_is_damaged_or_missing_is_made_again_to_the_same_bytes(
    database: Database, able: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    job_id, unit_ids = submit(database, jobs.upload(database, jobs.rows()))
    calm = prepared(database, able, unit_ids)
    expected = loaded(database, able, job_id)[0]
    damages: list[Callable[[int, bytes], Any]] = [
        lambda number, data: update(VectorStep).where(VectorStep.number == number).values(data=jobs.damaged(data)),
        lambda number, data: delete(VectorStep).where(VectorStep.number == number),
    ]
    for damage in damages:
        for number, data in calm["steps"].items():
            with database.sessions.begin() as session:
                session.execute(damage(number, data))
                some = select(Document.id).where(Document.key.in_(("fruit-1", "metal-2")))
                session.execute(
                    update(DocumentVector).where(DocumentVector.document_id.in_(some)).values(data=b"short")
                )
            found = in_a_later_leg(database, able, monkeypatch, ready(database, job_id), vectors_of)
            np.testing.assert_array_equal(found, expected)
            assert left(database) == calm


@pytest.mark.parametrize("kind", ["sqlite"])
def test_a_leg_without_the_model_that_finds_vectors_missing_waits_and_says_so(
    database: Database, settings: Settings, able: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    job_id, unit_ids = submit(database, jobs.upload(database, jobs.rows()))
    prepare(database, able, unit_ids)
    with database.sessions.begin() as session:
        session.execute(delete(VectorStep))
        session.execute(update(DocumentVector).where(DocumentVector.document_id == 7).values(data=b""))
    waits, digests = [], iter([None, OTHER, DIGEST])
    monkeypatch.setattr(Leg, "wait", lambda self, reason: waits.append(reason))
    monkeypatch.setattr(vectors, "embedding_digest", lambda settings: next(digests))
    found = in_a_later_leg(database, able, monkeypatch, ready(database, job_id), vectors_of)
    assert found is not None and found.any(axis=1).sum() == N_DOCUMENTS - 1
    assert waits == [embedding_models.waits_for(DIGEST)] * 2 and DIGEST[:12] in waits[0]


def bring(database: Database, version: int, brought: dict[str, bytes]) -> None:
    """Vectors of documents that are there, by key, with a new version of the corpus."""
    with database.sessions.begin() as session:
        session.execute(update(Corpus).values(version=version, vector_length=4))
        ids = dict(session.execute(select(Document.key, Document.id)).all())
        rows = [
            {"document_id": ids[key], "made_by": BROUGHT, "version": version, "data": data}
            for key, data in brought.items()
        ]
        session.execute(insert(DocumentVector), rows)


def test_a_version_of_a_corpus_has_the_vectors_that_were_brought_up_to_it(
    database: Database, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = jobs.rows()
    fruit, metal = (next(row for row in rows if row["key"] == key) for key in ("fruit-6", "metal-6"))
    dice = np.random.default_rng(1)
    first = {row["key"]: to_bytes(dice.standard_normal(4)) for row in rows if row["key"] != "river-3"}
    first["river-5"] = to_bytes([0.0] * 4)
    corpus_id = jobs.upload(database, [*rows, {**fruit, "key": "later"}, {**metal, "key": "earlier"}])
    bring(database, 2, first)
    early_id, unit_ids = submit(database, corpus_id, "brought")
    bring(database, 3, {"later": to_bytes([0, 0, 0, 1]), "fruit-6": b"", "fruit-3": to_bytes([1, 0, 0, 0])})
    late_id, late_ids = submit(database, corpus_id, "brought")
    prepare(database, settings, unit_ids)
    prepare(database, settings, late_ids)
    found, early = loaded(database, settings, early_id)
    _, late = loaded(database, settings, late_id)
    assert found is not None and found.shape[1] == 4
    assert not early["river-3"].any() and not early["river-5"].any(), "one is missing, one is of zeros"
    assert early["fruit-4"].any() and early["later"].any()
    np.testing.assert_array_equal(early["earlier"], early["metal-6"])

    with database.readers.begin() as session:
        axes = {job_id: vectors.load_axes(session, session.get_one(Job, job_id)) for job_id in (early_id, late_id)}

    def place(job_id: str, vector: Any) -> Array:
        numbers = np.frombuffer(vector, "<f2").astype(float) if isinstance(vector, bytes) else np.array(vector, float)
        turned = (numbers / np.linalg.norm(numbers) - axes[job_id].mean) @ axes[job_id].axes
        return turned / np.linalg.norm(turned)

    np.testing.assert_allclose(early["fruit-3"], place(early_id, first["fruit-3"]), atol=1e-3)
    np.testing.assert_allclose(late["fruit-3"], place(late_id, [1, 0, 0, 0]), atol=1e-3)
    np.testing.assert_allclose(late["fruit-6"], place(late_id, [0, 0, 0, 1]), atol=1e-3)  # it took its own back


@pytest.mark.parametrize("kind", ["sqlite"])
def test_a_corpus_without_any_vector_is_as_without_vectors(database: Database, settings: Settings) -> None:
    job_id, unit_ids = submit(database, jobs.upload(database, jobs.rows()), "brought")
    prepare(database, settings, unit_ids)
    assert loaded(database, settings, job_id)[0] is None


@pytest.mark.parametrize("kind", ["sqlite"])
def test_a_vector_that_was_brought_and_is_damaged_fails_the_job_with_the_reason(
    database: Database, settings: Settings
) -> None:
    corpus_id = jobs.upload(database, jobs.rows())
    bring(database, 2, {row["key"]: to_bytes([1, 2, 3, 4]) for row in jobs.rows()})
    with database.sessions.begin() as session:
        session.execute(update(DocumentVector).where(DocumentVector.document_id == 7).values(data=b"odd"))
    job_id, [unit_id] = submit(database, corpus_id, "brought")
    [unit_id] = runner.run(database, settings, unit_id, lambda: False)
    assert runner.run(database, settings, unit_id, lambda: False) == []
    failed = jobs.job(database, job_id)
    assert failed.status == "failed" and "the vector of document 7 is missing or damaged" in str(failed.error)


def test_a_unit_that_makes_vectors_is_left_to_workers_with_its_model(database: Database, settings: Settings) -> None:
    queue.configure(settings)
    job_id, [encode] = submit(database, jobs.upload(database, jobs.rows()))
    [unit_id] = runner.run(database, settings, encode, lambda: False)

    def offered(digest: str | None) -> bool:
        with database.readers.begin() as session:
            free = next_unit(session, embedding_model=digest)
            assert others_wait(session, "another job", digest) == (free is not None)
            assert free is None or free.unit_id == unit_id
            return free is not None

    def note() -> str | None:
        with database.readers.begin() as session:
            return notes_of(session, {job_id}, settings)[job_id]

    assert [offered(digest) for digest in (None, OTHER, DIGEST)] == [False, False, True]
    with database.sessions.begin() as session:
        presence.record(session, "worker-1", embedding_model=OTHER)
        presence.record(session, "worker-2")
    assert note() == embedding_models.waits_for(DIGEST)
    with database.sessions.begin() as session:
        presence.record(session, "worker-2", embedding_model=DIGEST)
    assert note() is None
    expire(database, unit_id)
    _, [other] = submit(database, "00000000-0000-0000-0000-000000000001", "brought")
    [brought] = runner.run(database, settings, other, lambda: False)
    with database.readers.begin() as session:
        free = next_unit(session)
        assert free is not None and free.unit_id == brought, "vectors that were brought need no model"


@pytest.mark.parametrize("kind", ["sqlite"])
def test_a_worker_that_leaves_stops_between_two_blocks(
    database: Database, able: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, [encode] = submit(database, jobs.upload(database, jobs.rows()))
    [unit_id] = runner.run(database, able, encode, lambda: False)
    assert runner.run(database, able, unit_id, jobs.Asked(False, True)) == [unit_id]
    with database.readers.begin() as session:
        assert session.scalar(select(func.count()).select_from(DocumentVector)) == 2 * BLOCK
