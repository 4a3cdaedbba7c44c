"""SQLite's files: the log is cut when nobody reads it, and the file shrinks when nobody is at work."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from sqlalchemy import delete, insert

from app.core.db import Database, connect
from app.core.tables import Corpus, ModelPart
from app.upkeep import files
from app.upkeep.files import CannotCompact, compact, cut_log, opened, used_bytes
from tests.app import rows

MANY = 24  # rows of 4 MiB: more than the log may keep


@pytest.fixture
def large(migrated_copy: Path) -> tuple[Database, Path]:
    """A database with a transaction of 96 MiB just committed."""
    database = connect(f"sqlite:///{migrated_copy}")
    with database.sessions.begin() as session:
        session.connection().exec_driver_sql(
            "INSERT INTO models (id, created_at, n_bytes, facts) VALUES ('m', 0, 0, '{}')"
        )
        for n in range(MANY):
            session.execute(insert(ModelPart).values(model_id="m", number=n, data=bytes(2**22)))
    return database, migrated_copy


def log_of(file: Path) -> Path:
    return file.with_name(file.name + "-wal")


def test_a_long_log_is_cut_to_nothing_but_not_while_somebody_reads_it(
    large: tuple[Database, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    database, file = large
    assert log_of(file).stat().st_size > files.LONG_LOG_BYTES
    monkeypatch.setattr(files, "LONG_LOG_BYTES", 0)
    with opened(file) as reader:
        reader.execute("BEGIN")
        reader.execute("SELECT count(*) FROM models").fetchone()
        with database.sessions.begin() as session:
            session.execute(delete(Corpus))
            session.execute(delete(ModelPart).where(ModelPart.number == 0))
        assert not cut_log(file)
    assert cut_log(file)
    assert log_of(file).stat().st_size == 0
    database.engine.dispose()
    assert cut_log(file), "a log that is not there is short"


def test_the_next_writer_after_a_checkpoint_leaves_a_log_of_64_mib_at_most(large: tuple[Database, Path]) -> None:
    database, file = large
    for _ in range(2):
        with database.sessions.begin() as session:
            session.execute(delete(ModelPart).where(ModelPart.number == 0))
            session.execute(insert(ModelPart).values(model_id="m", number=0, data=b""))
        with closing(sqlite3.connect(file)) as connection:
            connection.execute("PRAGMA wal_checkpoint(RESTART)")
    with database.sessions.begin() as session:
        session.execute(delete(ModelPart).where(ModelPart.number == 0))
    assert log_of(file).stat().st_size <= files.LONG_LOG_BYTES
    database.engine.dispose()


def test_a_file_shrinks_to_what_is_in_use(large: tuple[Database, Path]) -> None:
    database, file = large
    with database.sessions.begin() as session:
        session.execute(delete(ModelPart))
    found = compact(database, file)
    assert found.before > MANY * 2**22 > 10 * found.after
    with opened(file) as connection:
        assert found.after == used_bytes(connection) == file.stat().st_size
    database.engine.dispose()


def test_a_file_is_left_while_a_job_is_at_work_and_when_there_is_no_room(
    large: tuple[Database, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    database, file = large
    monkeypatch.setattr(files, "free_bytes", lambda _: 2**20)
    with pytest.raises(CannotCompact, match=r"it needs \d+ MiB .* and 1 are free"):
        compact(database, file)
    job_id, _ = rows.submit(database)
    with pytest.raises(CannotCompact, match=f"job {job_id} is at work"):
        compact(database, file)
    database.engine.dispose()
