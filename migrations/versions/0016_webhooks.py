"""Jobs may have a webhook, which is told of their end."""

from collections.abc import Sequence

import sqlalchemy as sa
from alembic import op

revision: str = "0016"
down_revision: str | None = "0015"
branch_labels: str | Sequence[str] | None = None
depends_on: str | Sequence[str] | None = None

WAITING = sa.text("state = 'waiting'")


def upgrade() -> None:
    """Add them."""
    op.create_table(
        "webhooks",
        sa.Column("job_id", sa.String(36), nullable=False),
        sa.Column("url", sa.Text(), nullable=False),
        sa.Column("secret", sa.Text(), nullable=False),
        sa.Column("state", sa.String(20), nullable=False),
        sa.Column("attempts", sa.Integer(), nullable=False),
        sa.Column("next_at", sa.Double(), nullable=False),
        sa.Column("delivered_at", sa.Double(), nullable=True),
        sa.Column("last_error", sa.Text(), nullable=True),
        sa.ForeignKeyConstraint(["job_id"], ["jobs.id"], name=op.f("fk_webhooks_job_id"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("job_id", name=op.f("pk_webhooks")),
    )
    op.create_index("ix_webhooks_due", "webhooks", ["next_at"], sqlite_where=WAITING, postgresql_where=WAITING)


def downgrade() -> None:
    """Take them out again."""
    op.drop_table("webhooks")
