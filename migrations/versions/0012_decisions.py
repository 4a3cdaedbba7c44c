"""Decisions about the answers of jobs, and jobs that continue others."""

from collections.abc import Sequence

import sqlalchemy as sa
from alembic import op

revision: str = "0012"
down_revision: str | None = "0011"
branch_labels: str | Sequence[str] | None = None
depends_on: str | Sequence[str] | None = None


def of_job_and_document(table: str) -> list[sa.schema.SchemaItem]:
    """Columns and keys of a table that has rows of jobs and documents."""
    return [
        sa.Column("job_id", sa.String(36), nullable=False),
        sa.Column("document_id", sa.Integer() if is_sqlite() else sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(["job_id"], ["jobs.id"], name=op.f(f"fk_{table}_job_id"), ondelete="CASCADE"),
        sa.ForeignKeyConstraint(
            ["document_id"], ["documents.id"], name=op.f(f"fk_{table}_document_id"), ondelete="CASCADE"
        ),
    ]


def is_sqlite() -> bool:
    """Whether the database is SQLite."""
    return op.get_bind().dialect.name == "sqlite"


def upgrade() -> None:
    """Add them."""
    op.add_column("jobs", sa.Column("continues", sa.String(36), nullable=True))
    op.add_column("jobs", sa.Column("continued", sa.JSON(none_as_null=True), nullable=True))
    op.create_index(op.f("ix_jobs_continues"), "jobs", ["continues"])
    op.add_column("categories", sa.Column("is_named", sa.Boolean(), server_default=sa.false(), nullable=False))
    op.create_index(op.f("ix_categories_short_id"), "categories", ["short_id"])
    op.create_table(
        "decisions",
        sa.Column("job_id", sa.String(36), nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("kind", sa.String(20), nullable=False),
        sa.Column("body", sa.JSON(), nullable=False),
        sa.Column("author", sa.String(200), nullable=True),
        sa.Column("note", sa.Text(), nullable=True),
        sa.Column("made_at", sa.Double(), nullable=False),
        sa.ForeignKeyConstraint(["job_id"], ["jobs.id"], name=op.f("fk_decisions_job_id"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("job_id", "number", name=op.f("pk_decisions")),
    )
    op.create_table(
        "decided_documents",
        *of_job_and_document("decided_documents"),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("category", sa.String(200), nullable=True),
        sa.PrimaryKeyConstraint("job_id", "document_id", "number", name=op.f("pk_decided_documents")),
    )
    op.create_index(op.f("ix_decided_documents_document_id"), "decided_documents", ["document_id"])
    op.create_table(
        "clamped_labels",
        *of_job_and_document("clamped_labels"),
        sa.Column("label", sa.String(200), nullable=True),
        sa.Column("is_drawn", sa.Boolean(), nullable=False),
        sa.Column("probability", sa.Double(), nullable=True),
        sa.PrimaryKeyConstraint("job_id", "document_id", name=op.f("pk_clamped_labels")),
    )
    op.create_index(op.f("ix_clamped_labels_document_id"), "clamped_labels", ["document_id"])


def downgrade() -> None:
    """Take them out again."""
    for table in ("clamped_labels", "decided_documents", "decisions"):
        op.drop_table(table)
    op.drop_index(op.f("ix_categories_short_id"), "categories")
    op.drop_column("categories", "is_named")
    op.drop_index(op.f("ix_jobs_continues"), "jobs")
    op.drop_column("jobs", "continued")
    op.drop_column("jobs", "continues")
