"""The life of jobs: digests of chains, living workers, requests that may be repeated."""

from collections.abc import Sequence

import sqlalchemy as sa
from alembic import op

revision: str = "0002"
down_revision: str | None = "0001"
branch_labels: str | Sequence[str] | None = None
depends_on: str | Sequence[str] | None = None


# SQLite numbers rows by itself only in a column of type INTEGER, which holds 64 bits there.
ROW_ID = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    """Add what is new.

    Columns are added in place on SQLite as well. A copy of the table in batch mode would drop the old one,
    and with each document all that hangs on it.
    """
    op.create_table(
        "workers",
        sa.Column("name", sa.String(length=200), nullable=False),
        sa.Column("seen_at", sa.Double(), nullable=False),
        sa.PrimaryKeyConstraint("name", name=op.f("pk_workers")),
    )
    op.create_table(
        "idempotent_requests",
        sa.Column("id", ROW_ID, nullable=False),
        sa.Column("scope", sa.Text(), nullable=False),
        sa.Column("key", sa.String(length=200), nullable=False),
        sa.Column("digest", sa.String(length=64), nullable=True),
        sa.Column("status", sa.Integer(), nullable=True),
        sa.Column("headers", sa.JSON(none_as_null=True), nullable=True),
        sa.Column("body", sa.Text(), nullable=True),
        sa.Column("created_at", sa.Double(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_idempotent_requests")),
        sa.UniqueConstraint("scope", "key", name=op.f("uq_idempotent_requests_scope_key")),
    )
    op.create_index(op.f("ix_idempotent_requests_created_at"), "idempotent_requests", ["created_at"])
    op.add_column("units", sa.Column("digest", sa.String(length=64), nullable=True))
    upload = sa.ForeignKey("idempotent_requests.id", name=op.f("fk_documents_upload_id"), ondelete="SET NULL")
    op.add_column("documents", sa.Column("upload_id", ROW_ID, upload, nullable=True), inline_references=True)
    op.add_column("documents", sa.Column("line", sa.Integer(), nullable=True))
    op.create_index(op.f("ix_documents_upload_id_line"), "documents", ["upload_id", "line"], unique=True)


def downgrade() -> None:
    """Take it out again. A job that is paused becomes a cancelled one, since before nobody could resume it."""
    op.execute("UPDATE jobs SET status = 'cancelled' WHERE status = 'paused'")
    op.drop_index(op.f("ix_documents_upload_id_line"), "documents")
    op.drop_column("documents", "line")
    op.drop_column("documents", "upload_id")
    op.drop_column("units", "digest")
    op.drop_table("idempotent_requests")
    op.drop_table("workers")
