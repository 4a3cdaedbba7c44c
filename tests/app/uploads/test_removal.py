"""Deleted corpora and jobs: gone at once for all who ask, and row by row from the database, on both."""

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from sqlalchemy import event, func, insert, select, update
from sqlalchemy.exc import OperationalError
from starlette.testclient import TestClient

from app.core import db, lifecycle
from app.core.db import Database, now
from app.core.settings import Settings
from app.core.tables import (
    AtomRun,
    Audit,
    Base,
    CalibrationStep,
    CategorizedDay,
    CategoryDescription,
    Checkpoint,
    ClampedLabel,
    Comparison,
    Corpus,
    DecidedDocument,
    Decision,
    Document,
    DocumentVector,
    EncodingPart,
    FrozenModel,
    Job,
    JobTag,
    ModelPart,
    NumberAnswer,
    PowerStep,
    SideRun,
    TextBatch,
    TextIndex,
    Topic,
    TreeNode,
    VectorStep,
    Webhook,
)
from app.http.main import create_app
from app.uploads import removal
from app.uploads.removal import Removal
from tests.app import rows
from tests.app.rows import CORPUS, add_corpus
from tests.waits import PATIENCE

OTHER = "99999999-2222-4333-8444-555555555555"
N_DOCUMENTS = 40


def fill(database: Database) -> str:
    """Rows in all tables that hang on the corpus, and a few documents of another one; returns the job's id."""
    with database.sessions.begin() as session:
        add_corpus(session, documents=N_DOCUMENTS)
        add_corpus(session, OTHER)
    job_id, unit_ids = rows.submit(database)
    rows.add_encoding(database, job_id)
    rows.add_draws(database, job_id, chains=2, sweeps=30)
    rows.add_results(database, job_id)
    with database.sessions.begin() as session:
        job = session.get_one(Job, job_id)
        document_id = session.scalars(select(func.min(Document.id)).where(Document.corpus_id == CORPUS)).one()
        session.add_all(
            [
                AtomRun(corpus_id=CORPUS, words_digest="d", options="{}", number=0, data=b""),
                Audit(job_id=job_id, document_id=document_id, category=0, probability=0.1),
                JobTag(job_id=job_id, number=0, tag="T", folded="t"),
                CalibrationStep(job_id=job_id, number=0, data=b""),
                CategoryDescription(corpus_id=CORPUS, version=1, name="none yet", text="what nobody has labeled"),
                DocumentVector(document_id=document_id, made_by="", version=1, data=b""),
                VectorStep(encoding_id=job.encoding_id, made_by="", number=0, data=b""),
                PowerStep(job_id=job_id, number=0, data={}),
                Decision(job_id=job_id, number=1, kind="pin", body={}),
                DecidedDocument(job_id=job_id, number=1, document_id=document_id),
                ClampedLabel(job_id=job_id, document_id=document_id),
                SideRun(job_id=job_id, kind="power", status="succeeded"),
                TextBatch(corpus_id=CORPUS, version=1, n_texts=0, n_copies=0, digests=b""),
                TextIndex(corpus_id=CORPUS, document_id=document_id),
                Topic(job_id=job_id, topic=0, share=1.0, top_words=[]),
                Comparison(id="comparison", corpus_id=CORPUS, corpus_version=1, settings={}),
                NumberAnswer(job_id=job_id, edition=1, n_categories=3, data=b""),
                Webhook(job_id=job_id, url="https://example.org", secret="whsec_"),
                TreeNode(job_id=job_id, edition=1, node=0, n_documents=1, top_words=[]),
                *(Checkpoint(unit_id=unit_ids[0], n_sweeps=n, data=b"") for n in range(3)),
                *(EncodingPart(encoding_id=job.encoding_id, number=n, data=b"") for n in range(9)),
            ]
        )
        session.add(FrozenModel(id="model", job_id=job_id, edition=1, n_bytes=9, facts={}))
        session.flush()
        session.add_all(ModelPart(model_id="model", number=n, data=b"") for n in range(9))
        session.add(CategorizedDay(model_id="model", day=1, n_documents=1, n_novel=0, n_without_evidence=0))
        session.execute(update(Job).where(Job.id == job_id).values(status="cancelled"))
    return job_id


def mark(database: Database) -> None:
    """Delete the corpus as the endpoint does, and let nobody take its rows out."""
    with database.sessions.begin() as session:
        session.execute(update(Corpus).where(Corpus.id == CORPUS).values(deleted_at=now()))


def counted(database: Database) -> dict[str, int]:
    """Rows by table, of those that hang on corpora."""
    with database.readers.begin() as session:
        every = {table.name: session.scalar(select(func.count()).select_from(table)) for table in removal.tables()}
        return {**every, "corpora": session.scalar(select(func.count()).select_from(Corpus))}


OF_JOBS = {
    "answers", "audits", "calibration_steps", "categories", "categorized_days", "checkpoints", "clamped_labels",
    "decided_documents", "decisions", "draws", "job_tags", "model_parts", "models", "number_answers", "power_steps",
    "side_runs", "summaries", "topics", "tree_nodes", "units",
    "webhooks",
}  # fmt: skip
LEFT = {"corpora": 1, "documents": 5}  # of the other corpus


def rows_left(database: Database) -> dict[str, int]:
    return {name: n_rows for name, n_rows in counted(database).items() if n_rows}


@pytest.fixture
def asleep(monkeypatch: pytest.MonkeyPatch) -> None:
    """The service takes nothing out."""
    monkeypatch.setattr(Removal, "wake", lambda _: None)


@pytest.fixture
def few_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(removal, "FEW", 2)
    monkeypatch.setattr(removal, "MANY", 3)


def test_every_table_that_hangs_on_a_corpus_is_known_children_first() -> None:
    names = [table.name for table in removal.tables()]
    assert [table for table in names if table in OF_JOBS] == [table.name for table in removal.tables(Job.__table__)]
    apart = {"corpora", "idempotent_requests", "workers", "counts", "api_keys"}
    assert set(names) == set(Base.metadata.tables) - apart
    for table in removal.tables():
        for key in removal.cascades(table):
            parent = key.column.table.name
            assert parent == "corpora" or names.index(table.name) < names.index(parent)
    assert names[:2] == ["checkpoints", "units"], "a leg that winds down loses its lease first"


@pytest.mark.usefixtures("few_at_once")
def test_a_deleted_corpus_is_taken_out_with_all_that_hangs_on_it(database: Database) -> None:
    fill(database)
    assert 0 not in counted(database).values(), "each table has rows"
    mark(database)
    Removal(database).run()
    assert rows_left(database) == LEFT


@pytest.mark.usefixtures("few_at_once")
@pytest.mark.parametrize("kind", ["sqlite"])
def test_no_cascade_has_anything_to_do(database: Database) -> None:
    """Without foreign keys nothing goes but what is told to go."""
    fill(database)
    mark(database)
    event.listen(database.engine, "connect", lambda connection, _: connection.execute("PRAGMA foreign_keys=OFF"))
    database.engine.dispose()
    Removal(database).run()
    assert rows_left(database) == LEFT


@pytest.mark.usefixtures("few_at_once")
def test_no_transaction_takes_more_rows_than_it_may(database: Database) -> None:
    fill(database)
    mark(database)
    taken: list[int] = []

    def note(_: Any, cursor: Any, statement: str, *__: object) -> None:
        if statement.startswith("DELETE"):
            taken.append(cursor.rowcount)

    event.listen(database.engine, "after_cursor_execute", note)
    Removal(database).run()
    assert max(taken) == 3
    assert sum(taken) > N_DOCUMENTS


@pytest.mark.usefixtures("few_at_once")
def test_vectors_go_by_the_documents_that_have_them_and_others_keep_theirs(database: Database) -> None:
    with database.sessions.begin() as session:
        add_corpus(session, OTHER)
        add_corpus(session, documents=N_DOCUMENTS)
        by_corpus = {
            corpus_id: session.scalars(select(Document.id).where(Document.corpus_id == corpus_id)).all()
            for corpus_id in (CORPUS, OTHER)
        }
        session.add_all(
            DocumentVector(document_id=document_id, made_by="", version=version, data=b"")
            for corpus_id, ids in by_corpus.items()
            for n, document_id in enumerate(ids)
            for version in range(n % 7)
        )
    mark(database)
    deletes: list[str] = []
    event.listen(database.engine, "before_cursor_execute", lambda *a: deletes.append(a[2]))
    Removal(database).run()
    with database.readers.begin() as session:
        left = session.scalars(select(DocumentVector.document_id).distinct()).all()
        assert set(left) == {id_ for n, id_ in enumerate(by_corpus[OTHER]) if n % 7}
    n_deletes = sum(statement.startswith("DELETE FROM document_vectors") for statement in deletes)
    assert N_DOCUMENTS / 3 < n_deletes < N_DOCUMENTS


@pytest.mark.parametrize("kind", ["sqlite"])
def test_each_part_is_found_by_its_keys_alone(database: Database) -> None:
    """Another index that begins with the same columns would be read to its end for each part."""
    fill(database)
    mark(database)
    deletes: list[tuple[str, Any]] = []

    def note(_: Any, __: Any, statement: str, parameters: Any, *___: object) -> None:
        if statement.startswith("DELETE"):
            deletes.append((statement, parameters))

    event.listen(database.engine, "before_cursor_execute", note)
    Removal(database).run()
    with database.engine.connect() as connection:
        plans = {
            statement.split()[2]: connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {statement}", parameters).first()
            for statement, parameters in deletes
        }
    assert set(plans) == set(counted(database))
    few_of_one_parent = {"units", "jobs", "encodings", "corpora", "comparisons", "models", "text_indexes", "webhooks"}
    assert "(document_id=?)" in (plans["document_vectors"] or [""])[-1], "those of many documents at once"
    for table in set(plans) - few_of_one_parent - {"document_vectors"}:
        [*_, plan] = plans[table] or ()
        [*_, last] = Base.metadata.tables[table].primary_key
        assert f"{last.name}>? AND {last.name}<?" in plan.replace("rowid", "id")


def test_sizes_follow_the_time_that_transactions_take() -> None:
    assert removal.fitting(8, 0.001) == 16
    assert removal.fitting(8, 0.03) == 8
    assert removal.fitting(9, 0.2) == 4
    assert removal.fitting(1, 9.0) == 1
    assert removal.fitting(removal.MANY, 0.0) == removal.MANY


@pytest.mark.usefixtures("asleep")
def test_a_deleted_corpus_is_gone_at_once(client: TestClient, database: Database) -> None:
    job_id = fill(database)
    corpus, job = f"/v1/corpora/{CORPUS}", f"/v1/jobs/{job_id}"
    assert client.get(job).status_code == 200
    assert client.delete(corpus).status_code == 204
    assert counted(database)["documents"] == N_DOCUMENTS + 5, "its rows are still there"
    upload = {"content": b'{"text": "a"}', "headers": {"Content-Type": "application/x-ndjson"}}
    answers = [
        client.get(corpus),
        client.delete(corpus),
        client.post(f"{corpus}/documents", **upload),  # type: ignore[arg-type]
        client.post("/v1/jobs", json={"corpus_id": CORPUS}),
        client.get(job),
        *(
            client.get(f"{job}/{part}")
            for part in ("trace", "categories", "documents", "topics", "audit", "power-test")
        ),
        *(client.post(f"{job}/{verb}") for verb in ("cancel", "pause", "resume", "power-test")),
        client.post(f"{job}/extend", json={"sweeps": 1}),
    ]
    assert [answer.status_code for answer in answers] == [404] * len(answers)
    assert [found["id"] for found in client.get("/v1/corpora").json()["corpora"]] == [OTHER]
    assert client.get("/v1/jobs").json()["jobs"] == []
    assert client.get("/v1/jobs", params={"corpus_id": CORPUS}).json()["jobs"] == []


def test_the_service_takes_out_what_is_deleted(settings: Settings, database: Database) -> None:
    fill(database)
    with TestClient(create_app(settings)) as client:
        client.delete(f"/v1/corpora/{CORPUS}")
        wait(client)
        assert rows_left(database) == LEFT


def wait(client: TestClient) -> None:
    """Wait until the service's removal has nothing left to do."""
    client.app.state.removal.thread.submit(int).result(PATIENCE)  # type: ignore[attr-defined]


def test_a_service_that_starts_takes_out_what_the_last_one_left(settings: Settings, database: Database) -> None:
    fill(database)
    mark(database)
    with TestClient(create_app(settings)) as client:
        wait(client)
        assert rows_left(database) == LEFT


@pytest.mark.usefixtures("few_at_once")
def test_a_service_that_ends_leaves_the_rest_to_the_next(database: Database) -> None:
    fill(database)
    mark(database)
    first, n_deletes = Removal(database), 0

    def leave(_: Any, __: Any, statement: str, *___: object) -> None:
        nonlocal n_deletes
        n_deletes += statement.startswith("DELETE")
        if n_deletes == 8:
            first.leaving.set()

    event.listen(database.engine, "after_cursor_execute", leave)
    first.run()
    assert n_deletes == 8
    assert counted(database)["documents"] > 1
    first.stop()
    Removal(database).run()
    assert rows_left(database) == LEFT


@pytest.mark.usefixtures("few_at_once")
def test_several_take_out_one_corpus_together(database: Database) -> None:
    fill(database)
    mark(database)
    url = database.engine.url.render_as_string(hide_password=False)
    others = [db.connect(url) for _ in range(3)]
    with ThreadPoolExecutor(3) as pool:
        list(pool.map(lambda other: Removal(other).run(), others))
    assert rows_left(database) == LEFT
    for other in others:
        other.engine.dispose()


@pytest.mark.usefixtures("few_at_once")
def test_a_deletion_waits_for_a_database_that_is_away(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    fill(database)
    mark(database)
    monkeypatch.setattr(removal, "WAIT_SECONDS", 0.0)
    n_deletes = 0

    def fail(_: Any, __: Any, statement: str, *___: object) -> None:
        nonlocal n_deletes
        n_deletes += statement.startswith("DELETE")
        if statement.startswith("DELETE") and n_deletes in (1, 5, 6, 20):
            raise OperationalError(statement, {}, Exception("the server closed the connection"))

    event.listen(database.engine, "before_cursor_execute", fail)
    Removal(database).run()
    assert rows_left(database) == LEFT


@pytest.mark.parametrize("kind", ["sqlite"])
def test_a_deletion_makes_room_in_a_database_that_is_full(database: Database) -> None:
    with database.sessions.begin() as session:
        add_corpus(session, documents=0)
        add_corpus(session, OTHER)
    with database.sessions.begin() as session:
        document = {"corpus_id": CORPUS, "version": 1, "text": "x" * 3000}
        session.execute(insert(Document), [{**document, "key": f"{n}"} for n in range(500)])
    with database.engine.connect() as connection:
        n_pages = connection.exec_driver_sql("PRAGMA page_count").scalar_one()
    event.listen(
        database.engine, "connect", lambda connection, _: connection.execute(f"PRAGMA max_page_count = {n_pages}")
    )
    database.engine.dispose()
    with pytest.raises(OperationalError, match="full"), database.sessions.begin() as session:
        session.execute(insert(Document), [{**document, "key": f"more {n}"} for n in range(100)])
    mark(database)
    Removal(database).run()
    assert rows_left(database) == LEFT
    with database.sessions.begin() as session:
        session.execute(insert(Document), [{**document, "corpus_id": OTHER, "key": f"more {n}"} for n in range(100)])


def delete_job(database: Database, job_id: str) -> None:
    """Delete a job as the endpoint does, and let nobody take its rows out."""
    with database.sessions.begin() as session:
        lifecycle.delete(session, job_id)


def with_another_job(database: Database) -> tuple[str, dict[str, int]]:
    """Two jobs over one corpus that have rows in all tables: the id of the first, and the rows without it."""
    job_id = fill(database)
    other, [unit_id] = rows.submit(database)
    rows.add_draws(database, other, chains=1, sweeps=7)
    with database.sessions.begin() as session:
        session.add(Checkpoint(unit_id=unit_id, n_sweeps=1, data=b""))
        session.add(JobTag(job_id=other, number=0, tag="T", folded="t"))
    others = {"checkpoints": 1, "draws": 7, "job_tags": 1, "units": 4}
    of_corpora = {name: n_rows for name, n_rows in counted(database).items() if name not in {*OF_JOBS, "jobs"}}
    return job_id, {**of_corpora, **others, "jobs": 1}


@pytest.mark.usefixtures("few_at_once")
def test_a_deleted_job_is_taken_out_with_its_results_and_nothing_else_is(database: Database) -> None:
    job_id, others = with_another_job(database)
    delete_job(database, job_id)
    Removal(database).run()
    assert rows_left(database) == others


@pytest.mark.usefixtures("few_at_once")
@pytest.mark.parametrize("kind", ["sqlite"])
def test_no_cascade_has_anything_to_do_for_a_deleted_job(database: Database) -> None:
    job_id, others = with_another_job(database)
    delete_job(database, job_id)
    event.listen(database.engine, "connect", lambda connection, _: connection.execute("PRAGMA foreign_keys=OFF"))
    database.engine.dispose()
    Removal(database).run()
    assert rows_left(database) == others


def test_a_corpus_and_a_job_of_it_that_are_both_deleted_are_taken_out(database: Database) -> None:
    job_id = fill(database)
    delete_job(database, job_id)
    mark(database)
    Removal(database).run()
    assert rows_left(database) == LEFT


def test_the_service_takes_out_a_deleted_job(settings: Settings, database: Database) -> None:
    job_id, others = with_another_job(database)
    with TestClient(create_app(settings)) as client:
        assert client.delete(f"/v1/jobs/{job_id}").status_code == 204
        wait(client)
        assert rows_left(database) == others


@pytest.mark.usefixtures("asleep")
def test_a_deleted_job_is_gone_at_once_and_its_corpus_is_not(client: TestClient, database: Database) -> None:
    job_id = fill(database)
    job = f"/v1/jobs/{job_id}"
    assert client.delete(job).status_code == 204
    assert counted(database)["draws"] == 60, "its rows are still there"
    answers = [
        client.get(job),
        client.delete(job),
        client.patch(job, json={"name": "a"}),
        *(
            client.get(f"{job}/{part}")
            for part in ("trace", "categories", "documents", "topics", "audit", "power-test")
        ),
        *(client.post(f"{job}/{verb}") for verb in ("cancel", "pause", "resume", "power-test")),
        client.post(f"{job}/extend", json={"sweeps": 1}),
    ]
    assert [(answer.status_code, answer.json()["type"]) for answer in answers] == [
        (404, "urn:newfound:problem:job-not-found")
    ] * len(answers)
    assert client.get("/v1/jobs").json()["jobs"] == []
    assert client.get(f"/v1/corpora/{CORPUS}").json()["documents"] == N_DOCUMENTS


@pytest.mark.usefixtures("asleep")
def test_the_repeat_of_a_submit_is_told_that_its_job_was_deleted(client: TestClient, database: Database) -> None:
    with database.sessions.begin() as session:
        add_corpus(session)
    body, headers = {"corpus_id": CORPUS, "discover": True}, {"Idempotency-Key": "k"}
    body["text"] = {"min_document_frequency": 1}  # type: ignore[assignment]
    job = client.post("/v1/jobs", json=body, headers=headers).json()
    client.post(f"{job['links']['self']}/cancel")
    assert client.delete(job["links"]["self"]).status_code == 204
    again = client.post("/v1/jobs", json=body, headers=headers)
    assert (again.status_code, again.json()["type"]) == (410, "urn:newfound:problem:resource-deleted")


@pytest.mark.parametrize("status", ["queued", "running", "paused"])
def test_a_job_that_has_not_ended_is_not_deleted(client: TestClient, database: Database, status: str) -> None:
    job_id, _ = rows.submit(database)
    with database.sessions.begin() as session:
        session.execute(update(Job).values(status=status))
    refused = client.delete(f"/v1/jobs/{job_id}")
    assert (refused.status_code, refused.json()["type"]) == (409, "urn:newfound:problem:job-not-finished")
    assert refused.json()["detail"] == f"job {job_id} is {status}; cancel it first"


def test_a_job_whose_side_run_has_not_ended_is_not_deleted(client: TestClient, database: Database) -> None:
    job_id = fill(database)
    with database.sessions.begin() as session:
        session.execute(update(SideRun).values(status="running"))
    refused = client.delete(f"/v1/jobs/{job_id}")
    assert refused.json()["detail"] == f"the power test of job {job_id} is running; cancel it first"
    assert client.get(f"/v1/jobs/{job_id}").status_code == 200
