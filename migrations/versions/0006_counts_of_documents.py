"""Indexes that the counts of a corpus are read from."""

from collections.abc import Sequence

import sqlalchemy as sa
from alembic import op

revision: str = "0006"
down_revision: str | None = "0005"
branch_labels: str | Sequence[str] | None = None
depends_on: str | Sequence[str] | None = None

EMPTY = sa.text("text = ''")


def upgrade() -> None:
    """Add them; of a million documents each takes seconds."""
    op.create_index(op.f("ix_documents_corpus_id_label"), "documents", ["corpus_id", "label"])
    op.create_index("ix_documents_empty", "documents", ["corpus_id"], sqlite_where=EMPTY, postgresql_where=EMPTY)


def downgrade() -> None:
    """Take them out again."""
    op.drop_index("ix_documents_empty", "documents")
    op.drop_index(op.f("ix_documents_corpus_id_label"), "documents")
