"""Vectors of documents, and categories that are described in words."""

from collections.abc import Sequence

import sqlalchemy as sa
from alembic import op

revision: str = "0014"
down_revision: str | None = "0013"
branch_labels: str | Sequence[str] | None = None
depends_on: str | Sequence[str] | None = None

FOREVER = 2**31 - 1


def upgrade() -> None:
    """Add them."""
    op.add_column("corpora", sa.Column("vector_length", sa.Integer(), nullable=True))
    op.add_column("workers", sa.Column("embedding_model", sa.String(64), nullable=True))
    op.create_table(
        "document_vectors",
        sa.Column("document_id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("made_by", sa.String(64), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("data", sa.LargeBinary(), nullable=False),
        sa.ForeignKeyConstraint(
            ["document_id"], ["documents.id"], name=op.f("fk_document_vectors_document_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("document_id", "made_by", "version", name=op.f("pk_document_vectors")),
    )
    op.create_table(
        "vector_steps",
        sa.Column("encoding_id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("made_by", sa.String(64), nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("data", sa.LargeBinary(), nullable=False),
        sa.ForeignKeyConstraint(
            ["encoding_id"], ["encodings.id"], name=op.f("fk_vector_steps_encoding_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("encoding_id", "made_by", "number", name=op.f("pk_vector_steps")),
    )
    op.create_table(
        "category_descriptions",
        sa.Column("id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("corpus_id", sa.String(36), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("until", sa.Integer(), server_default=str(FOREVER), nullable=False),
        sa.Column("name", sa.String(200), nullable=False),
        sa.Column("text", sa.Text(), nullable=False),
        sa.Column("vector", sa.LargeBinary(), nullable=True),
        sa.ForeignKeyConstraint(
            ["corpus_id"], ["corpora.id"], name=op.f("fk_category_descriptions_corpus_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_category_descriptions")),
        sa.UniqueConstraint("corpus_id", "name", "until", name=op.f("uq_category_descriptions_corpus_id_name_until")),
    )
    op.create_index(op.f("ix_category_descriptions_corpus_id_id"), "category_descriptions", ["corpus_id", "id"])


def downgrade() -> None:
    """Take them out again."""
    op.drop_table("category_descriptions")
    op.drop_table("vector_steps")
    op.drop_table("document_vectors")
    op.drop_column("workers", "embedding_model")
    op.drop_column("corpora", "vector_length")
