"""Answers of one job for several numbers of categories, and comparisons of methods."""

from collections.abc import Sequence

import sqlalchemy as sa
from alembic import op

revision: str = "0013"
down_revision: str | None = "0012"
branch_labels: str | Sequence[str] | None = None
depends_on: str | Sequence[str] | None = None


def upgrade() -> None:
    """Add them."""
    op.add_column("jobs", sa.Column("comparison_id", sa.String(36), nullable=True))
    op.create_index(op.f("ix_jobs_comparison_id"), "jobs", ["comparison_id"])
    op.create_table(
        "comparisons",
        sa.Column("id", sa.String(36), nullable=False),
        sa.Column("corpus_id", sa.String(36), nullable=False),
        sa.Column("corpus_version", sa.Integer(), nullable=False),
        sa.Column("name", sa.String(200), nullable=True),
        sa.Column("settings", sa.JSON(), nullable=False),
        sa.Column("created_at", sa.Double(), nullable=False),
        sa.ForeignKeyConstraint(
            ["corpus_id"], ["corpora.id"], name=op.f("fk_comparisons_corpus_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_comparisons")),
    )
    op.create_index(op.f("ix_comparisons_corpus_id"), "comparisons", ["corpus_id"])
    op.create_table(
        "number_answers",
        sa.Column("job_id", sa.String(36), nullable=False),
        sa.Column("edition", sa.Integer(), nullable=False),
        sa.Column("n_categories", sa.Integer(), nullable=False),
        sa.Column("data", sa.LargeBinary(), nullable=False),
        sa.ForeignKeyConstraint(["job_id"], ["jobs.id"], name=op.f("fk_number_answers_job_id"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("job_id", "edition", "n_categories", name=op.f("pk_number_answers")),
    )


def downgrade() -> None:
    """Take them out again."""
    op.drop_table("number_answers")
    op.drop_table("comparisons")
    op.drop_index(op.f("ix_jobs_comparison_id"), "jobs")
    op.drop_column("jobs", "comparison_id")
