"""API keys: made once, found by their hash alone, good until they expire or are revoked."""

import hashlib

import pytest
from sqlalchemy import text, update

from app.access import keys
from app.access.callers import ANYONE, KnownKeys
from app.core.db import Database, now
from app.core.tables import ApiKey


def make(
    database: Database, owner: str = "ada", scopes: tuple[str, ...] = ("read",), seconds: float | None = None
) -> str:
    """A key, as its holder has it."""
    with database.sessions.begin() as session:
        return keys.create(session, owner, scopes, "laptop", seconds)


def found(database: Database, presented: str) -> str | None:
    """The owner of a key, if it is good."""
    with database.readers.begin() as session:
        key = keys.find(session, presented)
        return None if key is None else key.owner


def test_a_key_is_found_again_and_none_that_differs_by_a_character(database: Database) -> None:
    key = make(database)
    assert found(database, key) == "ada"
    for place in range(len(key)):
        other = "b" if key[place] != "b" else "c"
        assert found(database, key[:place] + other + key[place + 1 :]) is None
    for wrong in ("", "nf_", key + "a", key[:-1], f" {key}", key.upper(), "nf_" + "0" * 12 + "_" + "A" * 43, "\0", "é"):
        assert found(database, wrong) is None


def test_the_secret_of_a_key_is_in_no_table(database: Database) -> None:
    key = make(database)
    secret = key.rpartition("_")[2] if key.count("_") == 2 else key.split("_", 2)[2]
    with database.readers.begin() as session:
        [row] = session.execute(text("SELECT * FROM api_keys")).mappings().all()
    assert secret not in " ".join(map(str, row.values()))
    assert row["digest"] == hashlib.sha256(secret.encode()).hexdigest()


def test_two_keys_never_share_an_id_or_a_secret(database: Database) -> None:
    made = [make(database) for _ in range(20)]
    assert len({key.split("_", 2)[1] for key in made}) == len({key.split("_", 2)[2] for key in made}) == 20
    assert all(len(key.split("_", 2)[2]) == 43 for key in made), "256 bits, six a character"


def test_a_revoked_or_expired_key_is_refused_and_stays_in_the_list(database: Database) -> None:
    revoked, expired, good = make(database), make(database, seconds=60.0), make(database, seconds=60.0)
    with database.sessions.begin() as session:
        keys.revoke(session, revoked.split("_")[1])
        session.execute(update(ApiKey).where(ApiKey.id == expired.split("_")[1]).values(expires_at=now() - 1))
    assert [found(database, key) for key in (revoked, expired, good)] == [None, None, "ada"]
    with database.readers.begin() as session:
        assert len(keys.all_keys(session)) == 3
    with database.sessions.begin() as session, pytest.raises(keys.UnusableKey, match="revoked before"):
        keys.revoke(session, revoked.split("_")[1])
    with database.sessions.begin() as session, pytest.raises(keys.UnusableKey, match="no key"):
        keys.revoke(session, "0" * 12)


@pytest.mark.parametrize("owner", ["", " ", "a b", "a\nb", "-", "a" * 101, "é", "a/b"])
def test_an_owner_that_is_no_name_is_refused(owner: str, database: Database) -> None:
    with pytest.raises(keys.UnusableKey, match="owner"):
        make(database, owner)


def test_a_key_needs_scopes_that_there_are(database: Database) -> None:
    for scopes in ((), ("read", "root")):
        with pytest.raises(keys.UnusableKey, match="scopes"):
            make(database, scopes=scopes)


def test_a_known_key_is_asked_for_once_in_some_seconds_and_a_revoked_one_is_refused_after_them(
    database: Database,
) -> None:
    at = 1000.0
    known = KnownKeys(database, "auto", lambda: at)
    key = make(database)
    assert known.known(key) is None
    caller = known.look_up(key)
    assert caller is not None and (caller.owner, caller.scopes) == ("ada", {"read"})
    with database.sessions.begin() as session:
        keys.revoke(session, key.split("_")[1])
    assert known.known(key) == caller
    at += 5.0
    assert known.known(key) is None
    assert known.look_up(key) is None


def test_keys_are_asked_for_from_the_first_one_on_even_when_all_are_revoked(database: Database) -> None:
    at = 1000.0
    known = KnownKeys(database, "auto", lambda: at)
    assert known.look_up(None) == ANYONE == known.known(None)
    key = make(database)
    at += 5.0
    assert known.known(None) is None
    assert known.look_up(None) is None
    with database.sessions.begin() as session:
        keys.revoke(session, key.split("_")[1])
    at += 60.0
    assert known.look_up(None) is None
    assert KnownKeys(database, "auto", lambda: at).look_up(None) is None


def test_where_keys_are_required_nobody_is_let_in_before_the_first_one(database: Database) -> None:
    known = KnownKeys(database, "required")
    assert known.known(None) is None
    assert known.look_up(None) is None
    assert known.look_up(make(database)) is not None


def test_the_use_of_a_key_is_recorded_once_an_hour(database: Database) -> None:
    key = make(database)
    known = KnownKeys(database, "required")
    known.look_up(key)
    with database.readers.begin() as session:
        first = session.scalars(text("SELECT used_at FROM api_keys")).one()
    known.look_up(key)
    with database.readers.begin() as session:
        assert session.scalars(text("SELECT used_at FROM api_keys")).one() == first
    with database.sessions.begin() as session:
        session.execute(update(ApiKey).values(used_at=now() - 3601))
    known.look_up(key)
    with database.readers.begin() as session:
        assert session.scalars(text("SELECT used_at FROM api_keys")).one() > first - 1
