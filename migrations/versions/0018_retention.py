"""Jobs whose checkpoints have expired, and which atoms a job uses: what retention has to know."""

from collections.abc import Sequence

import sqlalchemy as sa
from alembic import op

revision: str = "0018"
down_revision: str | None = "0017"
branch_labels: str | Sequence[str] | None = None
depends_on: str | Sequence[str] | None = None


def upgrade() -> None:
    """Add them. Of jobs that are there nobody knows which atoms they use: all of their corpora stay with them."""
    op.add_column("jobs", sa.Column("expired_at", sa.Double(), nullable=True))
    op.add_column("jobs", sa.Column("words_digest", sa.String(64), nullable=True))


def downgrade() -> None:
    """Take them out again."""
    op.drop_column("jobs", "words_digest")
    op.drop_column("jobs", "expired_at")
