"""Categories have portraits and a tree, answers their other likely categories, and models answer new documents."""

from collections.abc import Sequence

import sqlalchemy as sa
from alembic import op

revision: str = "0010"
down_revision: str | None = "0009"
branch_labels: str | Sequence[str] | None = None
depends_on: str | Sequence[str] | None = None


def upgrade() -> None:
    """Add them."""
    op.add_column("categories", sa.Column("short_id", sa.String(20), nullable=True))
    op.add_column("categories", sa.Column("portrait", sa.JSON(), nullable=True))
    op.add_column("answers", sa.Column("others", sa.JSON(), nullable=True))
    op.add_column("answers", sa.Column("leaf", sa.Integer(), nullable=True))
    op.create_table(
        "tree_nodes",
        sa.Column("job_id", sa.String(36), nullable=False),
        sa.Column("edition", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("node", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("parent", sa.Integer(), nullable=True),
        sa.Column("category", sa.Integer(), nullable=True),
        sa.Column("n_documents", sa.Integer(), nullable=False),
        sa.Column("together", sa.Double(), nullable=True),
        sa.Column("top_words", sa.JSON(), nullable=False),
        sa.ForeignKeyConstraint(["job_id"], ["jobs.id"], name=op.f("fk_tree_nodes_job_id"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("job_id", "edition", "node", name=op.f("pk_tree_nodes")),
    )
    op.create_table(
        "models",
        sa.Column("id", sa.String(36), nullable=False),
        sa.Column("job_id", sa.String(36), nullable=True),
        sa.Column("edition", sa.Integer(), nullable=True),
        sa.Column("name", sa.String(200), nullable=True),
        sa.Column("created_at", sa.Double(), nullable=False),
        sa.Column("n_bytes", sa.BigInteger(), nullable=False),
        sa.Column("digest", sa.String(64), nullable=True),
        sa.Column("facts", sa.JSON(), nullable=False),
        sa.ForeignKeyConstraint(["job_id"], ["jobs.id"], name=op.f("fk_models_job_id"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_models")),
    )
    op.create_index(op.f("ix_models_job_id"), "models", ["job_id"])
    op.create_index(op.f("ix_models_created_at_id"), "models", ["created_at", "id"])
    op.create_table(
        "model_parts",
        sa.Column("model_id", sa.String(36), nullable=False),
        sa.Column("number", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("data", sa.LargeBinary(), nullable=False),
        sa.ForeignKeyConstraint(["model_id"], ["models.id"], name=op.f("fk_model_parts_model_id"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("model_id", "number", name=op.f("pk_model_parts")),
    )
    op.create_table(
        "categorized_days",
        sa.Column("model_id", sa.String(36), nullable=False),
        sa.Column("day", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("n_documents", sa.BigInteger(), nullable=False),
        sa.Column("n_novel", sa.BigInteger(), nullable=False),
        sa.Column("n_without_evidence", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(
            ["model_id"], ["models.id"], name=op.f("fk_categorized_days_model_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("model_id", "day", name=op.f("pk_categorized_days")),
    )


def downgrade() -> None:
    """Take them out again."""
    for table in ("categorized_days", "model_parts", "models", "tree_nodes"):
        op.drop_table(table)
    for table, column in (
        ("answers", "leaf"),
        ("answers", "others"),
        ("categories", "portrait"),
        ("categories", "short_id"),
    ):
        op.drop_column(table, column)
