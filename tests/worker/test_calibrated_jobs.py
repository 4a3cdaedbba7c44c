"""Jobs of the calibrated model, leg by leg: their stepwise units, what they share, and what they answer."""

from typing import Any, Never

import numpy as np
import pytest
from sqlalchemy import func, select, update
from starlette.testclient import TestClient

from app.core import leases, lifecycle
from app.core.db import Database
from app.core.runs import Run
from app.core.settings import Settings
from app.core.tables import AtomRun, CalibrationStep, Corpus, Document, Job, Unit
from sampler.calibrated import steps
from tests.worker import jobs
from worker import results, runner, step_rows

N_STEPS = {"atoms": 2, "calibrate": 13}  # weightings; the propensity, and each of two starts, sides and three variants


def kinds(database: Database, unit_ids: list[int]) -> list[str]:
    with database.readers.begin() as session:
        return [session.get_one(Unit, unit_id).kind for unit_id in unit_ids]


def steps_kept(database: Database) -> tuple[int, int]:
    """How many atom runs and steps of calibrations there are."""
    with database.readers.begin() as session:
        counts = [session.scalar(select(func.count()).select_from(table)) for table in (AtomRun, CalibrationStep)]
    return int(counts[0] or 0), int(counts[1] or 0)


def refuse(*_: object) -> Never:
    raise AssertionError("these atoms are here already")


def test_a_calibrated_job_finds_the_known_categories_and_the_new_one(
    database: Database, settings: Settings, client: TestClient
) -> None:
    corpus_id = jobs.upload(database, jobs.rows())
    job_id, unit_ids = jobs.submit_calibrated(database, corpus_id, sweeps=20)
    seen = []
    while unit_ids:
        seen.append(kinds(database, unit_ids))
        unit_ids = [after for unit_id in unit_ids for after in runner.run(database, settings, unit_id, lambda: False)]
    assert seen == [["encode"], ["atoms"], ["calibrate"], ["chain", "chain"], ["conclude"]]
    assert jobs.job(database, job_id).status == "succeeded"

    found = jobs.outcome(database, job_id)
    names = {category["category"]: category["name"].partition(":")[0] for category in found["categories"]}
    answers = dict(found["answers"])
    assert (answers["blank"]["category"], answers["blank"]["reason"]) == (None, results.NO_WORD)
    assert answers.pop("blank")["stability"] is None
    for subject, name in (("fruit", "fruit"), ("metal", "metal"), ("river", "new 1")):
        assert {names[answer["category"]] for key, answer in answers.items() if key.startswith(subject)} == {name}
    assert all(0.0 <= answer["stability"] <= 1.0 for answer in answers.values())
    assert all(0.0 <= category["stability"] <= 1.0 for category in found["categories"])
    assert [(draw["chain"], draw["sweep"]) for draw in found["draws"]] == [(c, s) for c in (0, 1) for s in range(1, 21)]
    assert all(draw["n_tables"] is None and draw["setting"] is not None for draw in found["draws"])
    assert doubtful_labels(found) == [], "all labels are right"
    n_labeled = sum(category["n_labeled"] for category in found["categories"])
    assert len(found["audits"]) == n_labeled, "each label has a probability"
    answer = client.get(f"/v1/jobs/{job_id}/categories").json()
    assert (answer["best_chain"], len(answer["diagnostics"]["agreement"])) == (None, 2), "all chains are pooled"
    assert list(answer["diagnostics"]["r_hat"]) == ["n_categories"]
    assert sum(setting["weight"] for setting in answer["calibration"]["settings"]) == pytest.approx(1.0)
    assert answer["calibration"]["labeling_rate"] == pytest.approx(0.5, abs=0.1)  # every second one


@pytest.mark.parametrize("killed_in", ["atom_run", "calibration_step"])
@pytest.mark.parametrize("kind", ["sqlite"])
def test_a_job_killed_between_steps_loses_one_step_and_ends_with_the_same_digests(
    database: Database, settings: Settings, monkeypatch: pytest.MonkeyPatch, killed_in: str
) -> None:
    corpus_id = jobs.upload(database, jobs.rows())
    calm_id, unit_ids = jobs.submit_calibrated(database, corpus_id)
    jobs.run_to_the_end(database, settings, unit_ids)
    with database.sessions.begin() as session:
        session.query(AtomRun).delete()

    made: list[int] = []
    step = getattr(steps, killed_in)

    def die_at_the_second(*arguments: Any) -> Any:
        made.append(0)
        if len(made) == 2:
            raise jobs.Killed
        return step(*arguments)

    job_id, unit_ids = jobs.submit_calibrated(database, corpus_id)
    monkeypatch.setattr(steps, killed_in, die_at_the_second)
    with pytest.raises(jobs.Killed):
        jobs.run_to_the_end(database, settings, unit_ids)
    assert jobs.job(database, job_id).status == "running"
    with database.sessions.begin() as session:
        session.execute(update(Unit).where(Unit.status == "running").values(lease_until=0.0))
    with database.sessions.begin() as session:
        unit_ids = leases.reap(session)
    with database.readers.begin() as session:
        unit = session.get_one(Unit, unit_ids[0])
        assert (unit.n_sweeps, unit.n_steps) == (1, N_STEPS[unit.kind]), "the step before is kept"
    jobs.run_to_the_end(database, settings, unit_ids)
    assert len(made) == 1 + N_STEPS["atoms" if killed_in == "atom_run" else "calibrate"], "one step was made twice"
    assert jobs.outcome(database, job_id) == jobs.outcome(database, calm_id)


def test_a_calibrated_job_in_many_legs_and_on_many_threads_leaves_the_same_bytes(
    database: Database, settings: Settings
) -> None:
    corpus_id = jobs.upload(database, jobs.rows())
    few_id, unit_ids = jobs.submit_calibrated(database, corpus_id, sweeps=6)
    n_few = jobs.run_to_the_end(database, settings, unit_ids)
    with database.sessions.begin() as session:
        session.query(AtomRun).delete()
    many_id, unit_ids = jobs.submit_calibrated(database, corpus_id, sweeps=6)
    n_many = jobs.run_to_the_end(database, jobs.with_changes(settings, **jobs.ONE_STEP_A_LEG, threads=2), unit_ids)
    assert (n_few, n_many) == (6, 2 + sum(N_STEPS.values()) + 2 * 6)
    assert jobs.outcome(database, many_id) == jobs.outcome(database, few_id)


@pytest.mark.parametrize("kind", ["sqlite"])
def test_a_cancelled_calibration_stops_after_its_step_and_a_resumed_one_goes_on(
    database: Database, settings: Settings
) -> None:
    corpus_id = jobs.upload(database, jobs.rows())
    calm_id, unit_ids = jobs.submit_calibrated(database, corpus_id, sweeps=4)
    jobs.run_to_the_end(database, settings, unit_ids)
    job_id, [encode] = jobs.submit_calibrated(database, corpus_id, sweeps=4)
    [atoms] = runner.run(database, settings, encode, lambda: False)
    [calibrate] = runner.run(database, settings, atoms, lambda: False)

    assert runner.run(database, settings, calibrate, jobs.Asked(False, True)) == [calibrate], "a worker that leaves"
    with database.sessions.begin() as session:
        assert session.get_one(Unit, calibrate).n_sweeps == 2
        lifecycle.cancel(session, Run(job_id))
    assert runner.run(database, settings, calibrate, lambda: False) == []
    with database.sessions.begin() as session:
        _, unit_ids = lifecycle.resume(session, Run(job_id))
    jobs.run_to_the_end(database, settings, unit_ids)
    assert jobs.outcome(database, job_id) == jobs.outcome(database, calm_id)


def test_atoms_are_made_once_for_the_same_words_whatever_the_labels(
    database: Database, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    corpus_id = jobs.upload(database, jobs.rows())
    first_id, unit_ids = jobs.submit_calibrated(database, corpus_id, sweeps=4)
    jobs.run_to_the_end(database, settings, unit_ids)
    with database.sessions.begin() as session:
        session.execute(update(Document).where(Document.key.like("river-1%")).values(label="river"))
        session.execute(update(Corpus).values(version=2))
    monkeypatch.setattr(steps, "atom_run", refuse)
    second_id, unit_ids = jobs.submit_calibrated(database, corpus_id, sweeps=4)
    jobs.run_to_the_end(database, settings, unit_ids)

    first, second = jobs.outcome(database, first_id), jobs.outcome(database, second_id)
    assert jobs.job(database, second_id).status == "succeeded"
    assert [category["name"] for category in second["categories"]] == ["fruit", "metal", "river"]
    assert first["units"][0] == second["units"][0] and first["units"][1] != second["units"][1]
    assert [unit[0] for unit in first["units"][:2]] == ["atoms", "calibrate"]
    assert steps_kept(database) == (N_STEPS["atoms"], 2 * N_STEPS["calibrate"])


@pytest.mark.parametrize(
    "changed", [{"seed": 1}, {"calibrated": {**jobs.FEW_ATOMS, "n_atoms": 9}}, {"text": {"min_word_length": 5}}]
)
@pytest.mark.parametrize("kind", ["sqlite"])
def test_atoms_are_made_anew_for_other_words_options_or_seeds(
    database: Database, settings: Settings, changed: dict[str, Any]
) -> None:
    corpus_id = jobs.upload(database, jobs.rows())
    for fields in ({}, changed):
        _, unit_ids = jobs.submit_calibrated(database, corpus_id, sweeps=2, chains=1, **fields)
        jobs.run_to_the_end(database, settings, unit_ids)
    assert steps_kept(database) == (2 * N_STEPS["atoms"], 2 * N_STEPS["calibrate"])


def test_two_jobs_that_make_the_same_atoms_at_once_leave_one_row_each(
    database: Database, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    corpus_id = jobs.upload(database, jobs.rows())
    (job_id, first), (other_id, second) = (
        jobs.submit_calibrated(database, corpus_id, sweeps=4, chains=1) for _ in range(2)
    )
    atom_run = steps.atom_run

    def make_while_another_does(*arguments: Any) -> Any:
        monkeypatch.setattr(steps, "atom_run", atom_run)
        made = atom_run(*arguments)
        jobs.run_to_the_end(database, settings, second)  # meanwhile the other one comes to its end
        return made

    monkeypatch.setattr(steps, "atom_run", make_while_another_does)
    jobs.run_to_the_end(database, settings, first)
    assert jobs.outcome(database, job_id) == jobs.outcome(database, other_id)
    assert steps_kept(database) == (N_STEPS["atoms"], 2 * N_STEPS["calibrate"])


@pytest.mark.parametrize("kind", ["sqlite"])
def test_a_damaged_atom_run_is_made_again_whenever_it_is_needed(database: Database, settings: Settings) -> None:
    corpus_id = jobs.upload(database, jobs.rows())
    calm_id, unit_ids = jobs.submit_calibrated(database, corpus_id, sweeps=4, chains=1)
    jobs.run_to_the_end(database, settings, unit_ids)

    damage(database)
    job_id, unit_ids = jobs.submit_calibrated(database, corpus_id, sweeps=4, chains=1)
    jobs.run_to_the_end(database, settings, unit_ids)
    assert jobs.outcome(database, job_id) == jobs.outcome(database, calm_id)

    job_id, [encode] = jobs.submit_calibrated(database, corpus_id, sweeps=4, chains=1)
    [atoms] = runner.run(database, settings, encode, lambda: False)
    unit_ids = runner.run(database, settings, atoms, lambda: False)
    damage(database)
    jobs.run_to_the_end(database, settings, unit_ids)
    assert jobs.outcome(database, job_id) == jobs.outcome(database, calm_id)


@pytest.mark.parametrize("kind", ["sqlite"])
@pytest.mark.parametrize("before", ["chain", "conclude", "power"])
def test_damaged_steps_are_made_again_for_those_that_follow(
    database: Database, settings: Settings, before: str
) -> None:
    corpus_id = jobs.upload(database, jobs.rows())
    calm_id, unit_ids = jobs.submit_calibrated(database, corpus_id, sweeps=4, chains=1)
    jobs.run_to_the_end(database, settings, unit_ids)
    job_id, unit_ids = jobs.submit_calibrated(database, corpus_id, sweeps=4, chains=1)
    while unit_ids and kinds(database, unit_ids) != [before]:
        unit_ids = runner.run(database, settings, unit_ids[0], lambda: False)
    if before == "power":
        with database.sessions.begin() as session:
            _, unit_ids = lifecycle.begin_power_test(session, job_id)
    damage(database)
    with database.sessions.begin() as session:
        session.execute(
            update(CalibrationStep)
            .where(CalibrationStep.job_id == job_id, CalibrationStep.number == 3)
            .values(data=b"damaged")
        )
    jobs.run_to_the_end(database, settings, unit_ids)
    found = jobs.outcome(database, job_id)
    found["units"] = [unit for unit in found["units"] if unit[0] != "power"]
    assert found == jobs.outcome(database, calm_id)


def damage(database: Database) -> None:
    """Turn a bit of an atom run."""
    with database.sessions.begin() as session:
        run = session.scalars(select(AtomRun).where(AtomRun.number == 1)).one()
        run.data = jobs.damaged(run.data)


@pytest.mark.parametrize("kind", ["sqlite"])
def test_an_extended_calibrated_job_ends_as_one_with_all_its_sweeps(database: Database, settings: Settings) -> None:
    corpus_id = jobs.upload(database, jobs.rows())
    long_id, unit_ids = jobs.submit_calibrated(database, corpus_id, sweeps=10, burn_in=2)
    jobs.run_to_the_end(database, settings, unit_ids)
    job_id, unit_ids = jobs.submit_calibrated(database, corpus_id, sweeps=6, burn_in=2)
    jobs.run_to_the_end(database, settings, unit_ids)
    with database.sessions.begin() as session:
        _, unit_ids = lifecycle.extend(session, job_id, 4)
    assert kinds(database, unit_ids) == ["chain", "chain"]
    jobs.run_to_the_end(database, settings, unit_ids)
    assert jobs.outcome(database, job_id) == jobs.outcome(database, long_id)


def doubtful_labels(found: dict[str, Any]) -> list[tuple[str, dict[str, Any]]]:
    """The labels that another category is suggested for, by key."""
    return [(key, label) for key, label in found["audits"] if label["suggested"] is not None]


def test_a_wrong_label_is_audited_with_the_right_one_suggested_and_applied(
    database: Database, settings: Settings, client: TestClient
) -> None:
    documents = jobs.rows(n_documents=40)
    for row in documents:
        if row["key"] == "fruit-7":
            row["label"] = "metal"
    corpus_id = jobs.upload(database, documents)
    job_id, unit_ids = jobs.submit_calibrated(database, corpus_id)
    jobs.run_to_the_end(database, settings, unit_ids)
    found = jobs.outcome(database, job_id)
    names = [category["name"] for category in found["categories"]]
    [(key, doubtful)] = doubtful_labels(found)
    assert (key, names[doubtful["category"]], names[doubtful["suggested"]]) == ("fruit-7", "metal", "fruit")
    assert doubtful["probability"] < 0.5 < doubtful["suggested_probability"]
    [worst, *_] = client.get(f"/v1/jobs/{job_id}/labels").json()["labels"]
    assert (worst["key"], worst["doubtful"], worst["quality"]) == ("fruit-7", True, doubtful["probability"])
    pairs = [{"label": "metal", "suggested": "fruit"}]
    assert client.post(f"/v1/jobs/{job_id}/labels/apply", json={"pairs": pairs}).json()["applied"] == [
        {"key": "fruit-7", "label": "metal", "suggested": "fruit"}
    ]
    assert client.get(f"/v1/corpora/{corpus_id}/documents/fruit-7").json()["label"] == "fruit"


@pytest.mark.parametrize("labeled", ["none", "all but two", "one of each"])
@pytest.mark.parametrize("kind", ["sqlite"])
def test_a_calibrated_job_succeeds_however_few_or_many_labels_there_are(
    database: Database, settings: Settings, labeled: str
) -> None:
    documents = jobs.rows()
    for row in documents:
        subject, _, number = row["key"].partition("-")
        is_left = row["key"] in ("blank", "fruit-1")
        is_labeled = {"none": False, "one of each": number == "1" and not is_left, "all but two": not is_left}
        row["label"] = subject if is_labeled[labeled] else None
    corpus_id = jobs.upload(database, documents)
    job_id, unit_ids = jobs.submit_calibrated(database, corpus_id, sweeps=6)
    jobs.run_to_the_end(database, settings, unit_ids)
    job = jobs.job(database, job_id)
    assert (job.status, job.error) == ("succeeded", None)
    n_unlabeled = sum(row["label"] is None for row in documents)
    assert len(jobs.outcome(database, job_id)["answers"]) == n_unlabeled


@pytest.mark.parametrize("kind", ["sqlite"])
def test_results_come_back_from_their_rows_up_to_the_first_gap(database: Database) -> None:
    corpus_id = jobs.upload(database, jobs.rows(1))
    job_id, _ = jobs.submit_calibrated(database, corpus_id)
    kept = {0: {"a": np.arange(3)}, 1: {"a": np.ones((2, 2), np.float32)}, 3: {}}
    with database.sessions.begin() as session:
        for number, result in kept.items():
            step_rows.save(session, CalibrationStep, {"job_id": job_id}, number, result)
    with database.readers.begin() as session:
        assert session.get_one(Job, job_id)
        read = step_rows.read(session, CalibrationStep, {"job_id": job_id})
    assert [sorted(result) for result in read] == [["a"], ["a"]]
    np.testing.assert_equal(read, [kept[0], kept[1]])
