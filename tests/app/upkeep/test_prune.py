"""What goes by age and what stays, on both databases: nothing that lives is touched, and all that goes is counted."""

import uuid
from collections.abc import Callable
from typing import Any

import pytest
from sqlalchemy import select, update
from starlette.testclient import TestClient

from app.core.db import Database, now
from app.core.tables import (
    Answer,
    AtomRun,
    CalibrationStep,
    CategorizedDay,
    Checkpoint,
    Comparison,
    Decision,
    Encoding,
    EncodingPart,
    FrozenModel,
    IdempotentRequest,
    Job,
    ModelPart,
    SideRun,
)
from app.upkeep.due import DAY_SECONDS
from app.upkeep.prune import Ages, prune_once
from app.upkeep.report import report
from tests.app import rows
from tests.app.rows import CORPUS, add_corpus
from tests.app.upkeep.aged import age, count, ended, job_ids, n_rows, set_job

OLD, AGE, YOUNG = 40.0, 30.0, 20.0  # days


def test_a_job_unused_for_so_long_goes_with_all_its_results_and_a_younger_one_stays(database: Database) -> None:
    old, young = ended(database, OLD), ended(database, YOUNG)
    prune_once(database, Ages(jobs=AGE))
    assert job_ids(database) == {young}
    for kind in (Answer, CalibrationStep, AtomRun):
        of_job: dict[str, Any] = {"words_digest": old} if kind is AtomRun else {"job_id": old}
        assert count(database, kind, **of_job) == 0
    assert count(database, Job) == 1
    assert count(database, Encoding) == 1, "that of the other job"
    assert count(database, Checkpoint) == 2


def test_without_an_age_nothing_of_a_job_goes(database: Database) -> None:
    ended(database, 10_000.0)
    before = n_rows(database)
    prune_once(database, Ages())
    assert n_rows(database) == before


def resumed_later(database: Database, job_id: str) -> None:
    with database.sessions.begin() as session:
        session.add(SideRun(job_id=job_id, kind="extension", status="failed", sweeps=20))
    age(database, job_id, OLD)
    with database.sessions.begin() as session:
        session.execute(update(SideRun).values(finished_at=now() - YOUNG * DAY_SECONDS))


def paused_side_run(database: Database, job_id: str) -> None:
    with database.sessions.begin() as session:
        session.add(SideRun(job_id=job_id, kind="power", status="paused"))


def decided_lately(database: Database, job_id: str) -> None:
    with database.sessions.begin() as session:
        session.add(Decision(job_id=job_id, number=1, kind="assign", body={}))


def failed_heir(database: Database, job_id: str) -> None:
    heir, _ = rows.submit(database, model="calibrated")
    set_job(database, heir, continues=job_id, status="failed", finished_at=now())


def waiting_heir(database: Database, job_id: str) -> None:
    heir, _ = rows.submit(database, model="calibrated")
    set_job(database, heir, continues=job_id)


def is_paused(database: Database, job_id: str) -> None:
    set_job(database, job_id, status="paused")


USES = [resumed_later, paused_side_run, decided_lately, failed_heir, waiting_heir, is_paused]


@pytest.mark.parametrize("use", USES, ids=lambda use: use.__name__)
def test_a_job_that_is_used_or_needed_stays_whole(database: Database, use: Callable[[Database, str], None]) -> None:
    job_id = ended(database, OLD)
    use(database, job_id)
    before = n_rows(database)
    prune_once(database, Ages(jobs=AGE, checkpoints=AGE))
    assert n_rows(database) == before
    assert rows.job_of(database, job_id).expired_at is None


def test_a_job_whose_model_has_answered_lately_keeps_its_results_but_not_its_checkpoints(database: Database) -> None:
    used, unused = ended(database, OLD), ended(database, OLD)
    for job_id, days in ((used, YOUNG), (unused, OLD)):
        with database.sessions.begin() as session:
            model = FrozenModel(id=str(uuid.uuid4()), job_id=job_id, edition=1, n_bytes=1, digest="d", facts={})
            session.add(model)
            session.flush()
            today = session.scalars(select(now())).one() / DAY_SECONDS
            session.add(ModelPart(model_id=model.id, number=0, data=b"m"))
            session.add(
                CategorizedDay(model_id=model.id, day=int(today - days), n_documents=1, n_novel=0, n_without_evidence=0)
            )
    prune_once(database, Ages(jobs=AGE, checkpoints=AGE))
    assert job_ids(database) == {used}
    assert count(database, FrozenModel) == count(database, ModelPart) == 1
    assert count(database, Checkpoint) == 0


def test_a_source_goes_once_its_failed_heir_is_old_too(database: Database) -> None:
    source, heir = ended(database, OLD), ended(database, OLD)
    set_job(database, heir, continues=source, status="failed")
    prune_once(database, Ages(jobs=AGE))
    assert job_ids(database) == {source}
    prune_once(database, Ages(jobs=AGE))
    assert job_ids(database) == set()


def test_jobs_of_a_comparison_go_together_or_not_at_all(database: Database) -> None:
    jobs = [ended(database, OLD), ended(database, YOUNG)]
    with database.sessions.begin() as session:
        settings = {"methods": [], "jobs": [jobs]}
        session.add(Comparison(id="c", corpus_id=CORPUS, corpus_version=1, settings=settings))
    for job_id in jobs:
        set_job(database, job_id, comparison_id="c")
    prune_once(database, Ages(jobs=AGE))
    assert job_ids(database) == set(jobs)
    age(database, jobs[1], OLD)
    prune_once(database, Ages(jobs=AGE))
    assert job_ids(database) == set()
    assert count(database, Comparison) == 0


def test_an_expired_job_is_read_as_before_and_whatever_goes_on_from_it_is_refused(
    client: TestClient, database: Database
) -> None:
    job_id, failed = ended(database, OLD), ended(database, OLD)
    set_job(database, failed, status="failed")
    paths = ("", "/categories", "/documents", "/trace?chain=0")
    before = [client.get(f"/v1/jobs/{job_id}{path}").json() for path in paths]
    prune_once(database, Ages(checkpoints=AGE))
    job, *results = (client.get(f"/v1/jobs/{job_id}{path}").json() for path in paths)
    assert [job | {"expired_at": None}, *results] == before
    assert job["expired_at"] is not None
    assert count(database, Checkpoint) == count(database, CalibrationStep) == count(database, AtomRun) == 0
    assert count(database, EncodingPart) == 0
    assert count(database, Encoding) == 2, "they say how large the corpus was"
    for refused, path, body in (
        (job_id, "extend", {"sweeps": 5}),
        (job_id, "continue", {}),
        (job_id, "power-test", None),
        (failed, "resume", None),
    ):
        answer = client.post(f"/v1/jobs/{refused}/{path}", json=body)
        assert answer.status_code == 409, (path, answer.text)
        assert answer.json()["detail"] == (
            f"the checkpoints of job {refused} have expired: its results can be read; submit a new job for others"
        )


def test_encodings_and_atoms_stay_for_a_job_that_uses_them_or_may_come_to(database: Database) -> None:
    expired, other = ended(database, OLD), ended(database, YOUNG)
    with database.sessions.begin() as session:
        session.get_one(Job, expired).encoding_id = session.get_one(Job, other).encoding_id
    set_job(database, expired, words_digest=other)
    prune_once(database, Ages(checkpoints=AGE))
    assert count(database, EncodingPart) == 6
    assert count(database, AtomRun, words_digest=other) == 2
    assert count(database, AtomRun, words_digest=expired) == 0
    rows.submit(database, model="calibrated")  # nobody knows yet what it will need
    set_job(database, other, expired_at=now())
    prune_once(database, Ages())
    assert count(database, EncodingPart) == 6
    assert count(database, AtomRun, words_digest=other) == 2


def test_the_encoding_of_an_unfinished_job_stays_though_another_corpus_has_none(database: Database) -> None:
    with database.sessions.begin() as session:
        add_corpus(session, "99999999-2222-4333-8444-555555555555")
        orphan = Encoding(corpus_id="99999999-2222-4333-8444-555555555555", corpus_version=1, options="{}")
        orphan.n_documents, orphan.n_tokens, orphan.n_words, orphan.n_known = 1, 1, 1, 0
        orphan.vocabulary, orphan.categories = [], []
        session.add(orphan)
    job_id, _ = rows.submit(database)
    rows.add_encoding(database, job_id)
    prune_once(database, Ages())
    assert count(database, Encoding) == 1


def test_a_report_counts_what_goes_and_touches_nothing(database: Database) -> None:
    ended(database, OLD)
    ended(database, YOUNG)
    stays = ended(database, OLD)
    decided_lately(database, stays)
    before = n_rows(database)
    found = report(database, Ages(jobs=AGE, checkpoints=10.0))
    assert n_rows(database) == before
    assert [share.n for share in found.shares] == [1, 1, 0, 0], "encodings and atoms are free once the jobs have gone"
    assert found.n_kept == 1
    assert found.shares[1].rows == 5
    assert found.shares[1].n_bytes == 2 * 500 + 3 * 4
    job = found.shares[0].rows
    prune_once(database, Ages(jobs=AGE))
    encoding_and_atoms = 1 + 6 + 2
    assert n_rows(database) == before - job - encoding_and_atoms


def test_answers_that_repeated_requests_get_no_more_go_all(database: Database) -> None:
    with database.sessions.begin() as session:
        session.add_all(
            IdempotentRequest(scope="POST /v1/jobs", key=str(n), created_at=now() - n * DAY_SECONDS / 100)
            for n in range(350)
        )
    prune_once(database, Ages())
    assert count(database, IdempotentRequest) == 101 - 1
