"""What one test does to a database, no other test meets."""

from pathlib import Path

from sqlalchemy import event

from tests import databases


def test_an_engine_that_a_test_has_closed_is_the_next_ones(migrated_copy: Path) -> None:
    url = f"sqlite:///{migrated_copy}"
    first, second = databases.connect(url), databases.connect(url)
    assert first is not second, "each has its own while both are open"
    first.engine.dispose()
    first.engine.dispose()
    assert databases.connect(url) is first
    assert databases.connect(url) not in (first, second)


def test_an_engine_that_a_test_listens_to_is_nobodys_afterwards(migrated_copy: Path) -> None:
    url = f"sqlite:///{migrated_copy}"
    for name in ("connect", "before_cursor_execute"):
        changed = databases.connect(url)
        event.listen(changed.engine, name, lambda *_: None)
        changed.engine.dispose()
        assert databases.connect(url) is not changed


def test_an_engine_with_a_connection_that_was_not_given_back_is_nobodys_afterwards(migrated_copy: Path) -> None:
    url = f"sqlite:///{migrated_copy}"
    left = databases.connect(url)
    with left.engine.connect():
        left.engine.dispose()
        assert databases.connect(url) is not left
