"""Jobs of the calibrated model over HTTP: their settings, their progress, and what only they answer."""

from dataclasses import asdict, fields
from typing import Any

import pytest
from sqlalchemy import func, select
from starlette.testclient import TestClient

from app.core.db import Database
from app.core.tables import AtomRun, Audit, Base, CalibrationStep, Document, Draw, Summary
from app.schemas.job_settings import DEFAULT_MODEL, CalibratedIn
from app.schemas.results import CALIBRATION, DIAGNOSTICS
from sampler.hyperparameters import CalibratedHyperparameters
from tests.app import rows
from tests.app.http.test_api import pages
from tests.app.legs import claim, finish, save, save_step
from tests.app.rows import CORPUS, succeed, units

NAMES = [field.name for field in fields(CalibratedHyperparameters)]


@pytest.fixture
def corpus_id(client: TestClient) -> str:
    """A corpus that a job can be run over."""
    corpus = client.post("/v1/corpora", json={"name": "corpus"}).json()["id"]
    content = '{"text": "galaxy plasma"}\n' * 5
    client.post(f"/v1/corpora/{corpus}/documents", content=content, headers={"Content-Type": "application/x-ndjson"})
    return str(corpus)


def submit(client: TestClient, corpus_id: str, **settings: Any) -> Any:
    return client.post("/v1/jobs", json={"corpus_id": corpus_id, "model": "calibrated", "discover": True, **settings})


def test_every_constant_of_the_model_is_a_setting_with_its_default(client: TestClient, corpus_id: str) -> None:
    assert sorted(CalibratedIn.model_fields) == sorted(NAMES)
    settings = submit(client, corpus_id).json()["settings"]
    given = asdict(CalibratedHyperparameters())
    assert settings["calibrated"] == {name: list(v) if isinstance(v, tuple) else v for name, v in given.items()}
    assert (settings["sweeps"], settings["burn_in"], settings["chains"]) == (100, 20, 4)
    assert (settings["model"], settings["kernel"], settings["hyperparameters"]) == ("calibrated", None, None)


def test_a_calibrated_job_keeps_what_it_was_given(client: TestClient, corpus_id: str) -> None:
    chosen = {"n_atoms": 30, "powers": [1], "smoothings": [0.2, 0.5], "score_scale": 0.02}
    settings = submit(client, corpus_id, calibrated=chosen, sweeps=80).json()["settings"]
    assert settings["calibrated"] | chosen == settings["calibrated"]
    assert (settings["sweeps"], settings["burn_in"]) == (80, 16)


MALFORMED: list[tuple[dict[str, Any], str, str]] = [
    ({"calibrated": {"n_atoms": 1}}, "body.calibrated.n_atoms", "greater than or equal to 2"),
    ({"calibrated": {"n_atoms": "60"}}, "body.calibrated.n_atoms", "integer"),
    ({"calibrated": {"score_scale": 0}}, "body.calibrated.score_scale", "0.0001"),
    ({"calibrated": {"smoothings": []}}, "body.calibrated.smoothings", "at least 1"),
    ({"calibrated": {"smoothings": [0.1] * 17}}, "body.calibrated.smoothings", "at most 16"),
    ({"calibrated": {"smoothings": [0.1, 0]}}, "body.calibrated.smoothings.1", "0.001"),
    ({"calibrated": {"powers": [11]}}, "body.calibrated.powers.0", "less than or equal to 10"),
    ({"calibrated": {"surprise": 1}}, "body.calibrated.surprise", "not permitted"),
    ({"kernel": "blocked"}, "body", "kernel belongs to model = 'lbpl-ntm' only, not to 'calibrated'"),
    ({"hyperparameters": {}}, "body", "hyperparameters belongs to model = 'lbpl-ntm' only"),
    ({"answer": "last"}, "body", "answer belongs to model = 'lbpl-ntm' only"),
    ({"model": "lbpl-ntm", "answer": "first"}, "body.answer", "'best_chain', 'last' or 'pooled'"),
    ({"model": "lbpl-ntm", "hyperparameters": {"alpha": 0}}, "body.hyperparameters.alpha", "greater than or equal to"),
    ({"model": "lbpl-ntm", "hyperparameters": {"start": "x"}}, "body.hyperparameters.start", "'placed' or 'random'"),
    ({"model": "lbpl-ntm", "calibrated": {}}, "body", "calibrated belongs to model = 'calibrated' only"),
    ({"model": None, "kernel": "blocked", "calibrated": {}}, "body", "calibrated belongs to model = 'calibrated' only"),
    ({"sweeps": 40, "burn_in": 40}, "body", "burn_in = 40 is not below sweeps = 40"),
]


def test_settings_that_the_model_cannot_have_are_a_422_that_says_where_and_why(
    client: TestClient, corpus_id: str
) -> None:
    for given, where, why in MALFORMED:
        answer = submit(client, corpus_id, **given)
        assert answer.status_code == 422, given
        [fault] = answer.json()["errors"]
        assert fault["where"] == where
        assert why in fault["reason"]


def test_a_job_without_a_model_has_the_one_that_its_constants_go_with(client: TestClient, corpus_id: str) -> None:
    given: dict[str, dict[str, Any]] = {
        "calibrated": {"calibrated": {"n_atoms": 9}},
        "lbpl-ntm": {"hyperparameters": {"n_topics": 8}},
        DEFAULT_MODEL: {},
    }
    for model, settings in given.items():
        assert submit(client, corpus_id, model=None, **settings).json()["settings"]["model"] == model


def test_units_become_ready_kind_by_kind(database: Database) -> None:
    job_id, unit_ids = rows.submit(database, model="calibrated")
    kinds = []
    while unit_ids:
        with database.readers.begin() as session:
            kinds.append([session.get_one(rows.Unit, unit_id).kind for unit_id in unit_ids])
        unit_ids = [after for unit_id in unit_ids for after in rows.run(database, unit_id)]
    assert kinds == [["encode"], ["atoms"], ["calibrate"], ["chain", "chain"], ["conclude"]]
    assert rows.job_of(database, job_id).status == "succeeded"


def test_progress_counts_steps_and_its_fraction_never_goes_back(client: TestClient, database: Database) -> None:
    job_id, [encode] = rows.submit(database, model="calibrated")
    seen: list[Any] = []

    def look() -> Any:
        seen.append(client.get(f"/v1/jobs/{job_id}").json()["progress"])
        return seen[-1]

    def steps(unit_id: int, n_steps: int) -> None:
        claim(database, unit_id, "a")
        look()
        for n_done in range(1, n_steps + 1):
            save_step(database, unit_id, "a", n_done, n_steps)
            progress = look()
            assert (progress["steps_done"], progress["steps_total"]) == (n_done, n_steps)

    assert (look()["stage"], seen[-1]["steps_done"], seen[-1]["steps_total"]) == ("encode", None, None)
    claim(database, encode, "a")
    [atoms] = finish(database, encode, "a")
    assert (look()["stage"], seen[-1]["steps_done"], seen[-1]["steps_total"]) == ("atoms", 0, None)
    steps(atoms, 2)
    [calibrate] = finish(database, atoms, "a")
    assert (look()["stage"], seen[-1]["steps_done"]) == ("calibrate", 0)
    steps(calibrate, 3)
    chains = finish(database, calibrate, "a")
    assert (look()["stage"], seen[-1]["steps_done"], seen[-1]["steps_total"]) == ("sample", None, None)
    for chain in chains:
        claim(database, chain, "a")
        for n_sweeps in (4, 10):
            save(database, chain, "a", n_sweeps)
            look()
        unit_ids = finish(database, chain, "a")
    succeed(database, job_id, unit_ids)
    look()
    fractions = [progress["fraction"] for progress in seen]
    assert fractions == sorted(fractions)
    assert (fractions[0], fractions[-1]) == (0.0, 1.0)
    assert fractions[-2] < 1.0, "there was still something to conclude"
    assert all(progress["sweeps_total"] == 20 for progress in seen)


@pytest.fixture
def audited(database: Database) -> str:
    """Address of a succeeded calibrated job with four doubtful labels, two of them equally so, and one that is not."""
    job_id, unit_ids = rows.submit(database, model="calibrated")
    rows.add_results(database, job_id)
    with database.sessions.begin() as session:
        summary = session.get_one(Summary, (job_id, 1))
        summary.data = {**summary.data, "diagnostics": DIAGNOSTICS, "calibration": CALIBRATION}
        documents = session.scalars(select(Document).order_by(Document.id)).all()
        for document, probability in zip(documents, (0.3, 0.1, 0.2, 0.1, 0.4), strict=True):
            document.label = "new-1"
            audit = Audit(job_id=job_id, document_id=document.id, category=1, probability=probability)
            if probability < 0.4:
                audit.suggested, audit.suggested_probability = 0, 0.5
            session.add(audit)
        draw = {"n_categories": 3, "n_new": 2, "n_new_with_documents": 1, "log_joint": -1.5, "setting": 4}
        session.add(Draw(job_id=job_id, chain=0, sweep=1, **draw))
    succeed(database, job_id, unit_ids)
    return f"/v1/jobs/{job_id}"


def test_the_audit_lists_doubtful_labels_once_the_most_doubtful_first(client: TestClient, audited: str) -> None:
    assert client.get(audited).json()["links"]["audit"] == f"{audited}/audit"
    for limit in (1, 2, 100):
        found = pages(client, f"{audited}/audit", "documents", limit=limit)
        assert [row["key"] for row in found] == [f"document-{n}" for n in (2, 4, 3, 1)]
    assert found[0] == {
        "key": "document-2",
        "label": "new-1",
        "reason": "words",
        "probability": 0.1,
        "suggestion": {"category": 0, "name": "physics", "probability": 0.5},
    }


@pytest.mark.parametrize("cursor", ["nonsense", "WzEsIDJd", "WyJuYW4iLCAxXQ"])  # [1, 2] is a place; ["nan", 1] is not
def test_a_cursor_of_another_list_is_refused_to_the_audit(client: TestClient, audited: str, cursor: str) -> None:
    answer = client.get(f"{audited}/audit", params={"cursor": cursor})
    assert answer.status_code == (200 if cursor == "WzEsIDJd" else 422)


def test_the_audit_of_either_model_lists_labels_that_copies_contradict(client: TestClient, database: Database) -> None:
    job_id, unit_ids = rows.submit(database)
    job = f"/v1/jobs/{job_id}"
    assert client.get(f"{job}/audit").json()["type"] == "urn:newfound:problem:results-not-ready"
    rows.add_results(database, job_id)
    with database.sessions.begin() as session:
        document = session.scalars(select(Document).order_by(Document.id)).first()
        assert document is not None
        document.label = "physics"
        doubt = {"suggested": 1, "suggested_probability": 0.75, "by_copies": True}
        session.add(Audit(job_id=job_id, document_id=document.id, category=0, probability=0.25, **doubt))
    succeed(database, job_id, unit_ids)
    assert client.get(job).json()["links"]["audit"] == f"{job}/audit"
    assert client.get(f"{job}/audit").json()["documents"] == [
        {
            "key": "document-1",
            "label": "physics",
            "reason": "copies",
            "probability": 0.25,
            "suggestion": {"category": 1, "name": "new-1", "probability": 0.75},
        }
    ]


def test_results_of_a_calibrated_job_come_with_diagnostics_and_calibration(client: TestClient, audited: str) -> None:
    answer = client.get(f"{audited}/categories").json()
    assert (answer["diagnostics"], answer["calibration"]) == (DIAGNOSTICS, CALIBRATION)
    [draw] = client.get(f"{audited}/trace").json()["draws"]
    assert (draw["n_tables"], draw["alpha"], draw["gamma"], draw["setting"]) == (None, None, None, 4)


def test_a_job_from_before_rates_by_category_were_reported_has_none(
    client: TestClient, database: Database, audited: str
) -> None:
    with database.sessions.begin() as session:
        stored = session.scalars(select(Summary)).one()
        before = {name: value for name, value in CALIBRATION.items() if name != "labeling_rates"}
        stored.data = {**stored.data, "calibration": before}
    assert client.get(f"{audited}/categories").json()["calibration"] == {**before, "labeling_rates": {}}


def test_deleting_a_corpus_takes_atoms_calibrations_and_audits(
    client: TestClient, database: Database, audited: str
) -> None:
    with database.sessions.begin() as session:
        key = {"corpus_id": CORPUS, "words_digest": "d", "options": "{}", "number": 0}
        session.add(AtomRun(**key, data=b""))
        session.add(CalibrationStep(job_id=audited.rpartition("/")[2], number=0, data=b""))
    assert client.delete(f"/v1/corpora/{CORPUS}").status_code == 204
    client.app.state.removal.thread.submit(int).result(60)  # type: ignore[attr-defined]
    with database.readers.begin() as session:
        left = {t.name: session.scalar(select(func.count()).select_from(t)) for t in Base.metadata.sorted_tables}
    assert set(left.values()) == {0}


def test_an_extended_calibrated_job_keeps_its_calibration(database: Database) -> None:
    job_id, unit_ids = rows.submit(database, model="calibrated")
    succeed(database, job_id, unit_ids)
    with database.sessions.begin() as session:
        _, sent = rows.lifecycle.extend(session, job_id, 5)
    assert sent == [unit.id for unit in units(database, job_id, "chain")]
    statuses = {kind: units(database, job_id, kind)[0].status for kind in ("atoms", "calibrate", "chain", "conclude")}
    assert statuses == {"atoms": "done", "calibrate": "done", "chain": "ready", "conclude": "waiting"}
