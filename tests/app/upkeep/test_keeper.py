"""The thread that prunes: by the settings, again and again, whatever fails, and for replicas that have died."""

import threading

import pytest
from sqlalchemy.exc import OperationalError

from app.core.db import Database, now
from app.core.settings import Settings
from app.upkeep import keeper
from app.upkeep.keeper import Keeper
from app.upkeep.prune import Ages
from app.uploads.removal import Removal
from tests.app.upkeep.aged import ended, job_ids, n_rows, set_job
from tests.waits import wait_for


def test_it_prunes_by_the_settings_and_goes_on_after_a_failure(
    database: Database, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    old, young = ended(database, 40.0), ended(database, 20.0)
    fails = iter([OperationalError("", {}, Exception("away")), RuntimeError("a mistake")])
    pruned, original = threading.Event(), keeper.prune

    def prune(database: Database, ages: Ages, removal: Removal) -> None:
        for error in fails:
            raise error
        original(database, ages, removal)
        pruned.set()

    monkeypatch.setattr(keeper, "prune", prune)
    monkeypatch.setattr(keeper, "TURN_SECONDS", 0.01)
    monkeypatch.setattr(keeper, "TURNS_OF_PRUNING", 1)
    removal = Removal(database)
    thread = Keeper(database, settings.model_copy(update={"keep_jobs_days": 30.0}), removal)
    thread.start()
    wait_for(pruned.is_set, "it prunes")
    removal.stop()
    thread.stop()
    assert not thread.thread.is_alive()
    assert job_ids(database) == {young} != {old}


def test_it_takes_out_what_another_replica_was_deleting_when_it_died(database: Database, settings: Settings) -> None:
    job_id = ended(database)
    before = n_rows(database)
    set_job(database, job_id, deleted_at=now())
    Keeper(database, settings, Removal(database)).turn(prunes=True)
    assert n_rows(database) < before - 20
