"""API keys: made, listed and revoked here, found again by the hash of their secret.

A key is `nf_<id>_<secret>`. The secret has 256 random bits, so that one round of SHA-256 hides it: there is nothing to
guess that slow hashing would protect. Rows are never deleted, so that a revoked key stays in the list.
"""

import hashlib
import hmac
import re
import secrets
from collections.abc import Collection, Sequence

from sqlalchemy import select, update
from sqlalchemy.orm import Session

from app.core.db import now
from app.core.tables import ApiKey, is_good_key

SCOPES = ("read", "write", "admin")  # each includes those before it
OWNER = re.compile(r"[A-Za-z0-9][A-Za-z0-9._@-]{0,99}")
KEY = re.compile(r"nf_([0-9a-f]{12})_([A-Za-z0-9_-]{43})")
NOBODYS = hashlib.sha256(b"").hexdigest()  # compared with where there is no such key, so that it takes as long
USED_SECONDS = 3600.0  # how exactly the last use of a key is known


class UnusableKey(ValueError):
    """A key cannot be made, or there is none with that id."""


def create(
    session: Session, owner: str, scopes: Collection[str], name: str | None = None, seconds: float | None = None
) -> str:
    """Make a key that expires after so many seconds, if given; its text, which is kept nowhere. Raises UnusableKey."""
    if not OWNER.fullmatch(owner):
        raise UnusableKey(f"{owner!r} is no name of an owner: up to 100 letters, digits, dots, @, _ and -")
    if not scopes or not set(scopes) <= set(SCOPES):
        raise UnusableKey(f"the scopes of a key are some of {', '.join(SCOPES)}")
    key_id, secret = secrets.token_hex(6), secrets.token_urlsafe(32)
    expires_at = None if seconds is None else now() + seconds
    told = " ".join(scope for scope in SCOPES if scope in scopes)
    session.add(ApiKey(id=key_id, owner=owner, name=name, digest=digest_of(secret), scopes=told, expires_at=expires_at))
    session.flush()
    return f"nf_{key_id}_{secret}"


def find(session: Session, presented: str) -> ApiKey | None:
    """The key that is presented, if it is one that is good now.

    Whether there is such an id and whether the secret is the right one are told apart neither by answer nor by time.
    """
    parts = KEY.fullmatch(presented)
    key_id, secret = parts.groups() if parts else ("", "")
    row = session.execute(select(ApiKey, is_good_key()).where(ApiKey.id == key_id)).one_or_none()
    found, is_good = (None, False) if row is None else row
    is_right = hmac.compare_digest(digest_of(secret), NOBODYS if found is None else found.digest)
    return found if is_right and is_good else None


def is_noted(session: Session, key_id: str) -> bool:
    """Whether it is known of the last hour that a key is in use."""
    noted = select(ApiKey.id).where(ApiKey.id == key_id, ApiKey.used_at >= now() - USED_SECONDS)
    return session.scalar(noted) is not None


def note_use(session: Session, key_id: str) -> None:
    """Record that a key is in use."""
    session.execute(update(ApiKey).where(ApiKey.id == key_id).values(used_at=now()))


def revoke(session: Session, key_id: str) -> ApiKey:
    """Revoke a key for good. Raises UnusableKey if there is none, or it has been revoked before."""
    found = session.get(ApiKey, key_id)
    if found is None:
        raise UnusableKey(f"there is no key {key_id}; `newfound keys list` shows their ids")
    if found.revoked_at is not None:
        raise UnusableKey(f"key {key_id} has been revoked before")
    session.execute(update(ApiKey).where(ApiKey.id == key_id).values(revoked_at=now()))
    return found


def all_keys(session: Session) -> Sequence[ApiKey]:
    """All keys that were ever made, by owner, oldest first."""
    return session.scalars(select(ApiKey).order_by(ApiKey.owner, ApiKey.created_at, ApiKey.id)).all()


def are_made(session: Session) -> bool:
    """Whether any key was ever made: from then on the service asks for one."""
    return session.scalar(select(ApiKey.id).limit(1)) is not None


def digest_of(secret: str) -> str:
    """What is stored of a secret: its SHA-256, in hex."""
    return hashlib.sha256(secret.encode()).hexdigest()
