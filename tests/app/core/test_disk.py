"""What counts as room for an embedded database."""

import sqlite3
from pathlib import Path

import pytest

from app.core import disk
from app.core.settings import Settings

MIB = 2**20


def database_with_freed_pages(file: Path) -> int:
    """An SQLite file out of which some 8 MiB were deleted; how many bytes of it are free."""
    with sqlite3.connect(file) as connection:
        connection.execute("PRAGMA journal_mode=WAL")
        connection.execute("CREATE TABLE documents (text BLOB)")
        connection.executemany("INSERT INTO documents VALUES (zeroblob(?))", [(MIB,)] * 8)
        connection.execute("DELETE FROM documents")
    connection.close()
    return disk.reusable_bytes(file)


def settings_of(folder: Path) -> Settings:
    return Settings(data_folder=folder, database_url=f"sqlite:///{folder / 'newfound.db'}", min_free_bytes=8 * MIB)


def test_what_was_deleted_makes_room_in_the_databases_own_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    settings = settings_of(tmp_path)
    monkeypatch.setattr(disk, "free_bytes", lambda folder: 2 * MIB)
    assert "2 MiB are free, 8 MiB are kept free" in str(disk.shortage(settings))
    freed = database_with_freed_pages(tmp_path / "newfound.db")
    assert 7.9 * MIB < freed < 8.1 * MIB
    assert disk.shortage(settings) is None


def test_freed_pages_do_not_count_when_the_log_has_no_room(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    database_with_freed_pages(tmp_path / "newfound.db")
    monkeypatch.setattr(disk, "free_bytes", lambda folder: 1 * MIB)
    assert "1 MiB are free" in str(disk.shortage(settings_of(tmp_path)))


def test_a_file_that_is_no_database_has_no_room_of_its_own(tmp_path: Path) -> None:
    assert disk.reusable_bytes(tmp_path / "missing.db") == 0
    (tmp_path / "folder").mkdir()
    assert disk.reusable_bytes(tmp_path / "folder") == 0
    (tmp_path / "text").write_text("no database" * 1_000)
    assert disk.reusable_bytes(tmp_path / "text") == 0
