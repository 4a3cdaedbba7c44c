"""Backups of an SQLite database that is in use, and their way back: whole, private, and never over anything."""

import sqlite3
import stat
import threading
from contextlib import closing
from pathlib import Path

import pytest
from sqlalchemy import update

from app.core.db import Database, connect
from app.core.schema import head_revision, migrate
from app.core.tables import Corpus, Document
from app.upkeep import backups
from app.upkeep.backups import BackupRefused, back_up, check, restore
from tests.app.rows import CORPUS, add_corpus


@pytest.fixture
def source(migrated_copy: Path) -> Path:
    """A database with a corpus."""
    database = connect(f"sqlite:///{migrated_copy}")
    with database.sessions.begin() as session:
        add_corpus(session, documents=2_000)
    database.engine.dispose()
    return migrated_copy


def names_in(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


def test_a_backup_is_one_whole_private_file_though_others_write_meanwhile(source: Path, tmp_path: Path) -> None:
    database, target = connect(f"sqlite:///{source}"), tmp_path / "backups" / "newfound.backup"
    target.parent.mkdir()
    ended = threading.Event()
    thread = threading.Thread(target=write_until, args=(database, ended))
    thread.start()
    try:
        held = back_up(source, target)
    finally:
        ended.set()
        thread.join()
    assert names_in(target.parent) == {"newfound.backup"}
    assert stat.S_IMODE(target.stat().st_mode) == 0o600
    assert (held.counts["corpora"], held.revision) == (1, head_revision())
    with closing(sqlite3.connect(target)) as connection:
        written, versions = connection.execute("SELECT count(DISTINCT version), count(*) FROM documents").fetchone()
    assert (written, versions) == (1, 2_000), "each writer's transaction is in it as a whole, or not at all"
    database.engine.dispose()


def write_until(database: Database, ended: threading.Event) -> None:
    """Give all documents another version, again and again, each time in one transaction."""
    version = 1
    while not ended.is_set():
        version += 1
        with database.sessions.begin() as session:
            session.execute(update(Document).values(version=version))


def test_a_backup_comes_back_to_an_empty_place_with_the_newest_schema(source: Path, tmp_path: Path) -> None:
    backup, place = tmp_path / "backup", tmp_path / "elsewhere" / "newfound.db"
    back_up(source, backup)
    place.parent.mkdir()
    held = restore(backup, place)
    assert held.counts["corpora"] == 1
    assert stat.S_IMODE(place.stat().st_mode) == 0o600
    assert names_in(place.parent) <= {"newfound.db", "newfound.db-wal", "newfound.db-shm"}
    database = connect(f"sqlite:///{place}")
    with database.readers.begin() as session:
        assert session.get_one(Corpus, CORPUS).name == "corpus"
    database.engine.dispose()


def test_a_backup_of_an_earlier_schema_is_migrated_and_one_of_a_later_one_refused(tmp_path: Path) -> None:
    early, late, place = tmp_path / "early", tmp_path / "late", tmp_path / "newfound.db"
    migrate(f"sqlite:///{early}", "0012")
    back_up(early, tmp_path / "backup")
    assert restore(tmp_path / "backup", place).revision == head_revision()
    migrate(f"sqlite:///{late}")
    with closing(sqlite3.connect(late, isolation_level=None)) as connection:
        connection.execute("UPDATE alembic_version SET version_num = '9999'")
    place.unlink()
    with pytest.raises(BackupRefused, match="schema 9999, of a newer version"):
        restore(late, place)
    assert not place.exists()


def test_a_backup_is_not_written_over_a_file_nor_restored_over_rows(source: Path, tmp_path: Path) -> None:
    there, place = tmp_path / "there", tmp_path / "place.db"
    there.write_text("precious")
    with pytest.raises(BackupRefused, match="already there"):
        back_up(source, there)
    assert there.read_text() == "precious"
    back_up(source, tmp_path / "backup")
    restore(tmp_path / "backup", place)
    before = place.read_bytes()
    with pytest.raises(BackupRefused, match="has corpora, jobs or models"):
        restore(tmp_path / "backup", place)
    assert place.read_bytes() == before
    with pytest.raises(BackupRefused, match="no database"):
        restore(tmp_path / "backup", there)


def test_an_empty_database_gives_way_unless_somebody_has_it_open(
    source: Path, migrated_file: Path, tmp_path: Path
) -> None:
    place = tmp_path / "empty.db"
    place.write_bytes(migrated_file.read_bytes())
    back_up(source, tmp_path / "backup")
    with closing(sqlite3.connect(place)) as connection:
        connection.execute("SELECT count(*) FROM corpora").fetchone()
        with pytest.raises(BackupRefused, match="in use"):
            restore(tmp_path / "backup", place)
    assert restore(tmp_path / "backup", place).counts["corpora"] == 1


@pytest.mark.parametrize("damage", ["cut", "bits", "other"])
def test_a_damaged_backup_is_not_restored(source: Path, tmp_path: Path, damage: str) -> None:
    backup = tmp_path / "backup"
    back_up(source, backup)
    data = bytearray(backup.read_bytes())
    if damage == "cut":
        data = data[: len(data) // 2]
    elif damage == "bits":
        data[len(data) // 2 : len(data) // 2 + 2_000] = bytes(2_000)
    else:
        data = bytearray(b"no database at all" * 100)
    backup.write_bytes(data)
    with pytest.raises(BackupRefused, match=r"damaged|no database"):
        check(backup)
    with pytest.raises(BackupRefused):
        restore(backup, tmp_path / "place.db")
    assert names_in(tmp_path) == {"backup", source.name} | {name for name in names_in(tmp_path) if "-" in name}


def test_what_breaks_off_leaves_nothing_behind(source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(_: Path) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(backups, "check", fail)
    with pytest.raises(KeyboardInterrupt):
        back_up(source, tmp_path / "backup")
    assert not [name for name in names_in(tmp_path) if name.startswith((".", "backup"))]
