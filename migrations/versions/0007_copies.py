"""Copies: encodings hold each text once, answers name what a document is a copy of, and corpora count copies.

Answers also say how probable it is that a document is of a known category.
"""

import hashlib
import unicodedata
from collections.abc import Iterator, Sequence
from itertools import groupby
from operator import attrgetter
from typing import Any

import sqlalchemy as sa
from alembic import op

revision: str = "0007"
down_revision: str | None = "0006"
branch_labels: str | Sequence[str] | None = None
depends_on: str | Sequence[str] | None = None

DOCUMENTS_AT_ONCE = 1_000
DIGEST_BYTES = 8

metadata = sa.MetaData()
documents = sa.Table(
    "documents",
    metadata,
    sa.Column("id", sa.BigInteger(), primary_key=True),
    sa.Column("corpus_id", sa.String(36)),
    sa.Column("version", sa.Integer()),
    sa.Column("text", sa.Text()),
)
text_batches = sa.Table(
    "text_batches",
    metadata,
    sa.Column("corpus_id", sa.String(36), primary_key=True),
    sa.Column("version", sa.Integer(), primary_key=True),
    sa.Column("n_texts", sa.Integer()),
    sa.Column("n_copies", sa.Integer()),
    sa.Column("digests", sa.LargeBinary()),
)


def upgrade() -> None:
    """Add them. What was derived from documents one by one is made again: encodings, and steps of calibrations."""
    op.add_column("encodings", sa.Column("n_texts", sa.Integer(), nullable=False, server_default="0"))
    op.execute(sa.text("UPDATE encodings SET digest = NULL"))
    op.execute(sa.text("DELETE FROM calibration_steps"))
    op.add_column("answers", sa.Column("copy_of", sa.BigInteger(), nullable=True))
    op.add_column("answers", sa.Column("known_probability", sa.Double(), nullable=True))
    op.add_column("audits", sa.Column("by_copies", sa.Boolean(), nullable=False, server_default=sa.false()))
    op.create_table(
        "text_batches",
        sa.Column("corpus_id", sa.String(length=36), nullable=False),
        sa.Column("version", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("n_texts", sa.Integer(), nullable=False),
        sa.Column("n_copies", sa.Integer(), nullable=False),
        sa.Column("digests", sa.LargeBinary(), nullable=False),
        sa.ForeignKeyConstraint(
            ["corpus_id"], ["corpora.id"], name=op.f("fk_text_batches_corpus_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("corpus_id", "version", name=op.f("pk_text_batches")),
    )
    connection = op.get_bind()
    for corpus_id in connection.scalars(sa.text("SELECT id FROM corpora")).all():
        note_texts(connection, corpus_id)


def note_texts(connection: sa.Connection, corpus_id: str) -> None:
    """Note which texts came with each version of a corpus, as uploads do from now on."""
    known: set[int] = set()
    for version, batch in groupby(documents_of(connection, corpus_id), attrgetter("version")):
        texts = [digest_of(document.text) for document in batch if document.text]
        new = sorted(set(texts) - known)
        known.update(new)
        row = {"corpus_id": corpus_id, "version": version, "n_texts": len(new), "n_copies": len(texts) - len(new)}
        row["digests"] = b"".join(digest.to_bytes(DIGEST_BYTES, "little") for digest in new)
        if texts:
            connection.execute(sa.insert(text_batches).values(row))


def documents_of(connection: sa.Connection, corpus_id: str) -> Iterator[Any]:
    """The documents of a corpus in the order of their ids, which is that of their versions."""
    mine = sa.select(documents.c.id, documents.c.version, documents.c.text).where(documents.c.corpus_id == corpus_id)
    last = 0
    while found := connection.execute(
        mine.where(documents.c.id > last).order_by(documents.c.id).limit(DOCUMENTS_AT_ONCE)
    ).all():
        yield from found
        last = found[-1].id


def digest_of(text: str) -> int:
    """What texts have in common that are equal but for white space and the Unicode form."""
    text = " ".join(unicodedata.normalize("NFC", text).split())
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=DIGEST_BYTES).digest(), "little")


def downgrade() -> None:
    """Take them out again; what is derived is made again too."""
    op.drop_table("text_batches")
    op.drop_column("audits", "by_copies")
    op.drop_column("answers", "known_probability")
    op.drop_column("answers", "copy_of")
    op.execute(sa.text("UPDATE encodings SET digest = NULL"))
    op.execute(sa.text("DELETE FROM calibration_steps"))
    op.drop_column("encodings", "n_texts")
