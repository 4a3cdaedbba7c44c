"""The first schema: corpora, jobs and their units, draws and answers."""

from collections.abc import Sequence

import sqlalchemy as sa
from alembic import op

revision: str = "0001"
down_revision: str | None = None
branch_labels: str | Sequence[str] | None = None
depends_on: str | Sequence[str] | None = None


# SQLite numbers rows by itself only in a column of type INTEGER, which holds 64 bits there.
ROW_ID = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    """Make all tables."""
    op.create_table(
        "corpora",
        sa.Column("id", sa.String(length=36), nullable=False),
        sa.Column("name", sa.String(length=200), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("created_at", sa.Double(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_corpora")),
    )
    op.create_index(op.f("ix_corpora_created_at_id"), "corpora", ["created_at", "id"])
    op.create_table(
        "documents",
        sa.Column("id", ROW_ID, nullable=False),
        sa.Column("corpus_id", sa.String(length=36), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("key", sa.String(length=500), nullable=False),
        sa.Column("text", sa.Text(), nullable=False),
        sa.Column("label", sa.String(length=200), nullable=True),
        sa.ForeignKeyConstraint(["corpus_id"], ["corpora.id"], name=op.f("fk_documents_corpus_id"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_documents")),
        sa.UniqueConstraint("corpus_id", "key", name=op.f("uq_documents_corpus_id_key")),
    )
    op.create_index(op.f("ix_documents_corpus_id_id"), "documents", ["corpus_id", "id"])
    op.create_table(
        "encodings",
        sa.Column("id", ROW_ID, nullable=False),
        sa.Column("corpus_id", sa.String(length=36), nullable=False),
        sa.Column("corpus_version", sa.Integer(), nullable=False),
        sa.Column("options", sa.Text(), nullable=False),
        sa.Column("n_documents", sa.Integer(), nullable=False),
        sa.Column("n_tokens", sa.BigInteger(), nullable=False),
        sa.Column("n_words", sa.Integer(), nullable=False),
        sa.Column("n_known", sa.Integer(), nullable=False),
        sa.Column("data", sa.LargeBinary(), nullable=False),
        sa.Column("vocabulary", sa.JSON(), nullable=False),
        sa.Column("categories", sa.JSON(), nullable=False),
        sa.ForeignKeyConstraint(["corpus_id"], ["corpora.id"], name=op.f("fk_encodings_corpus_id"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_encodings")),
        sa.UniqueConstraint(
            "corpus_id", "corpus_version", "options", name=op.f("uq_encodings_corpus_id_corpus_version_options")
        ),
    )
    op.create_table(
        "jobs",
        sa.Column("id", sa.String(length=36), nullable=False),
        sa.Column("corpus_id", sa.String(length=36), nullable=False),
        sa.Column("corpus_version", sa.Integer(), nullable=False),
        sa.Column("settings", sa.JSON(), nullable=False),
        sa.Column("status", sa.String(length=20), nullable=False),
        sa.Column("error", sa.Text(), nullable=True),
        sa.Column("encoding_id", ROW_ID, nullable=True),
        sa.Column("created_at", sa.Double(), nullable=False),
        sa.Column("started_at", sa.Double(), nullable=True),
        sa.Column("finished_at", sa.Double(), nullable=True),
        sa.ForeignKeyConstraint(["corpus_id"], ["corpora.id"], name=op.f("fk_jobs_corpus_id"), ondelete="CASCADE"),
        sa.ForeignKeyConstraint(["encoding_id"], ["encodings.id"], name=op.f("fk_jobs_encoding_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_jobs")),
    )
    op.create_index(op.f("ix_jobs_corpus_id"), "jobs", ["corpus_id"])
    op.create_index(op.f("ix_jobs_created_at_id"), "jobs", ["created_at", "id"])
    op.create_index(op.f("ix_jobs_encoding_id"), "jobs", ["encoding_id"])
    op.create_table(
        "answers",
        sa.Column("job_id", sa.String(length=36), nullable=False),
        sa.Column("document_id", ROW_ID, nullable=False),
        sa.Column("category", sa.Integer(), nullable=True),
        sa.Column("probability", sa.Double(), nullable=True),
        sa.Column("runner_up", sa.Integer(), nullable=True),
        sa.Column("runner_up_probability", sa.Double(), nullable=True),
        sa.Column("reason", sa.Text(), nullable=True),
        sa.ForeignKeyConstraint(
            ["document_id"], ["documents.id"], name=op.f("fk_answers_document_id"), ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(["job_id"], ["jobs.id"], name=op.f("fk_answers_job_id"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("job_id", "document_id", name=op.f("pk_answers")),
    )
    op.create_index(op.f("ix_answers_document_id"), "answers", ["document_id"])
    op.create_index(op.f("ix_answers_job_id_category_document_id"), "answers", ["job_id", "category", "document_id"])
    op.create_table(
        "categories",
        sa.Column("job_id", sa.String(length=36), nullable=False),
        sa.Column("category", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("name", sa.String(length=200), nullable=False),
        sa.Column("known", sa.Boolean(), nullable=False),
        sa.Column("n_documents", sa.Integer(), nullable=False),
        sa.Column("n_labeled", sa.Integer(), nullable=False),
        sa.Column("share", sa.Double(), nullable=False),
        sa.Column("top_words", sa.JSON(), nullable=False),
        sa.ForeignKeyConstraint(["job_id"], ["jobs.id"], name=op.f("fk_categories_job_id"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("job_id", "category", name=op.f("pk_categories")),
    )
    op.create_table(
        "draws",
        sa.Column("job_id", sa.String(length=36), nullable=False),
        sa.Column("chain", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("sweep", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("n_categories", sa.Integer(), nullable=False),
        sa.Column("n_new", sa.Integer(), nullable=False),
        sa.Column("n_new_with_documents", sa.Integer(), nullable=False),
        sa.Column("n_tables", sa.Integer(), nullable=False),
        sa.Column("alpha", sa.Double(), nullable=False),
        sa.Column("gamma", sa.Double(), nullable=False),
        sa.Column("log_joint", sa.Double(), nullable=False),
        sa.ForeignKeyConstraint(["job_id"], ["jobs.id"], name=op.f("fk_draws_job_id"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("job_id", "chain", "sweep", name=op.f("pk_draws")),
    )
    op.create_table(
        "summaries",
        sa.Column("job_id", sa.String(length=36), nullable=False),
        sa.Column("best_chain", sa.Integer(), nullable=False),
        sa.Column("data", sa.JSON(), nullable=False),
        sa.ForeignKeyConstraint(["job_id"], ["jobs.id"], name=op.f("fk_summaries_job_id"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("job_id", name=op.f("pk_summaries")),
    )
    op.create_table(
        "units",
        sa.Column("id", ROW_ID, nullable=False),
        sa.Column("job_id", sa.String(length=36), nullable=False),
        sa.Column("kind", sa.String(length=20), nullable=False),
        sa.Column("chain", sa.Integer(), nullable=True),
        sa.Column("status", sa.String(length=20), nullable=False),
        sa.Column("token", sa.String(length=100), nullable=True),
        sa.Column("lease_until", sa.Double(), nullable=True),
        sa.Column("attempts", sa.Integer(), nullable=False),
        sa.Column("n_sweeps", sa.Integer(), nullable=False),
        sa.Column("n_categories", sa.Integer(), nullable=True),
        sa.Column("sweeps_per_second", sa.Double(), nullable=True),
        sa.Column("error", sa.Text(), nullable=True),
        sa.ForeignKeyConstraint(["job_id"], ["jobs.id"], name=op.f("fk_units_job_id"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_units")),
        sa.UniqueConstraint("job_id", "kind", "chain", name=op.f("uq_units_job_id_kind_chain")),
    )
    op.create_index(op.f("ix_units_status_lease_until"), "units", ["status", "lease_until"])
    op.create_table(
        "checkpoints",
        sa.Column("id", ROW_ID, nullable=False),
        sa.Column("unit_id", ROW_ID, nullable=False),
        sa.Column("n_sweeps", sa.Integer(), nullable=False),
        sa.Column("data", sa.LargeBinary(), nullable=False),
        sa.Column("created_at", sa.Double(), nullable=False),
        sa.ForeignKeyConstraint(["unit_id"], ["units.id"], name=op.f("fk_checkpoints_unit_id"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_checkpoints")),
    )
    op.create_index(op.f("ix_checkpoints_unit_id"), "checkpoints", ["unit_id"])


def downgrade() -> None:
    """Drop all tables, children first."""
    for table in (
        "checkpoints",
        "units",
        "summaries",
        "draws",
        "categories",
        "answers",
        "jobs",
        "encodings",
        "documents",
        "corpora",
    ):
        op.drop_table(table)
