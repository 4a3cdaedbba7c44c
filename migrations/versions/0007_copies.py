"""Copies: encodings hold each text once, and answers name what a document is a copy of."""

from collections.abc import Sequence

import sqlalchemy as sa
from alembic import op

revision: str = "0007"
down_revision: str | None = "0006"
branch_labels: str | Sequence[str] | None = None
depends_on: str | Sequence[str] | None = None


def upgrade() -> None:
    """Encodings from before are not whole any more: the next job over their corpus makes them again."""
    op.add_column("encodings", sa.Column("n_texts", sa.Integer(), nullable=False, server_default="0"))
    op.execute(sa.text("UPDATE encodings SET digest = NULL"))
    op.add_column("answers", sa.Column("copy_of", sa.BigInteger(), nullable=True))
    op.add_column("audits", sa.Column("by_copies", sa.Boolean(), nullable=False, server_default=sa.false()))


def downgrade() -> None:
    """Take them out again; encodings are made again too."""
    op.drop_column("audits", "by_copies")
    op.drop_column("answers", "copy_of")
    op.execute(sa.text("UPDATE encodings SET digest = NULL"))
    op.drop_column("encodings", "n_texts")
