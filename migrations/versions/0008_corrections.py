"""Corrections: a document is part of some versions of its corpus, keeps all its fields, and may be erased.

Jobs keep what was said about labels when they were submitted, and encodings what was chosen for their texts.

Uploads under an idempotency key need no longer know which lines they have stored: their rows say it themselves.
"""

from collections.abc import Sequence

import sqlalchemy as sa
from alembic import op

from migrations.orphans import delete_orphans

revision: str = "0008"
down_revision: str | None = "0007"
branch_labels: str | Sequence[str] | None = None
depends_on: str | Sequence[str] | None = None

FOREVER = "2147483647"
ROW_ID = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
EMPTY, ERASED = sa.text("text = ''"), sa.text("erased")


def upgrade() -> None:
    """Add them; on SQLite the table is copied."""
    op.drop_index("ix_documents_upload_id_line", "documents")
    op.drop_index("ix_documents_corpus_id_label", "documents")
    op.drop_index("ix_documents_empty", "documents")
    with op.batch_alter_table("documents") as documents:
        documents.drop_column("upload_id")
        documents.drop_column("line")
        documents.add_column(sa.Column("until", sa.Integer(), nullable=False, server_default=FOREVER))
        documents.add_column(sa.Column("is_counts", sa.Boolean(), nullable=False, server_default=sa.false()))
        documents.add_column(sa.Column("fields", sa.JSON(), nullable=True))
        documents.add_column(sa.Column("erased", sa.Boolean(), nullable=False, server_default=sa.false()))
        documents.drop_constraint("uq_documents_corpus_id_key", type_="unique")
        documents.create_unique_constraint(op.f("uq_documents_corpus_id_key_until"), ["corpus_id", "key", "until"])
    op.create_index(op.f("ix_documents_corpus_id_until_label"), "documents", ["corpus_id", "until", "label"])
    op.create_index(
        "ix_documents_empty", "documents", ["corpus_id", "until"], sqlite_where=EMPTY, postgresql_where=EMPTY
    )
    op.execute(sa.text("DELETE FROM calibration_steps"))  # they have fewer powers of the new side
    op.create_index("ix_documents_erased", "documents", ["corpus_id"], sqlite_where=ERASED, postgresql_where=ERASED)
    op.execute(sa.text("DELETE FROM idempotent_requests WHERE status IS NULL"))  # uploads that broke off
    op.add_column("jobs", sa.Column("warnings", sa.JSON(), nullable=True))
    op.add_column("encodings", sa.Column("facts", sa.JSON(), nullable=True))


def downgrade() -> None:
    """Take them out again; of each document only the row that is current stays."""
    op.drop_column("encodings", "facts")
    op.drop_column("jobs", "warnings")
    op.execute(sa.text(f"DELETE FROM documents WHERE until < {FOREVER}"))
    delete_orphans(op.get_bind())
    op.drop_index("ix_documents_erased", "documents")
    op.drop_index("ix_documents_empty", "documents")
    op.drop_index("ix_documents_corpus_id_until_label", "documents")
    with op.batch_alter_table("documents") as documents:
        documents.drop_constraint("uq_documents_corpus_id_key_until", type_="unique")
        documents.create_unique_constraint(op.f("uq_documents_corpus_id_key"), ["corpus_id", "key"])
        for name in ("until", "is_counts", "fields", "erased"):
            documents.drop_column(name)
    upload = sa.ForeignKey("idempotent_requests.id", name=op.f("fk_documents_upload_id"), ondelete="SET NULL")
    op.add_column("documents", sa.Column("upload_id", ROW_ID, upload, nullable=True), inline_references=True)
    op.add_column("documents", sa.Column("line", sa.Integer(), nullable=True))
    op.create_index("ix_documents_upload_id_line", "documents", ["upload_id", "line"], unique=True)
    op.create_index("ix_documents_corpus_id_label", "documents", ["corpus_id", "label"])
    op.create_index("ix_documents_empty", "documents", ["corpus_id"], sqlite_where=EMPTY, postgresql_where=EMPTY)
