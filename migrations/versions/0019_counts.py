"""What workers count for the metrics."""

from collections.abc import Sequence

import sqlalchemy as sa
from alembic import op

revision: str = "0019"
down_revision: str | None = "0014"
branch_labels: str | Sequence[str] | None = None
depends_on: str | Sequence[str] | None = None


def upgrade() -> None:
    """Add its table."""
    op.create_table(
        "counts",
        sa.Column("name", sa.String(40), nullable=False),
        sa.Column("kind", sa.String(20), nullable=False),
        sa.Column("part", sa.String(20), nullable=False),
        sa.Column("value", sa.Double(), nullable=False),
        sa.PrimaryKeyConstraint("name", "kind", "part", name=op.f("pk_counts")),
    )


def downgrade() -> None:
    """Take it out again."""
    op.drop_table("counts")
