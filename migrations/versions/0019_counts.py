"""What workers count for the metrics, and what metrics ask of jobs and units."""

from collections.abc import Sequence

import sqlalchemy as sa
from alembic import op

revision: str = "0019"
down_revision: str | None = "0018"
branch_labels: str | Sequence[str] | None = None
depends_on: str | Sequence[str] | None = None


MODEL_OF = {
    "sqlite": "UPDATE jobs SET model = json_extract(settings, '$.model') WHERE json_valid(settings)",
    "postgresql": "UPDATE jobs SET model = settings ->> 'model'",
}


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
    op.add_column("units", sa.Column("saved_at", sa.Double(), nullable=True))
    op.add_column("jobs", sa.Column("model", sa.String(20), nullable=True))
    op.execute(MODEL_OF[op.get_bind().dialect.name])
    op.create_index("ix_jobs_status", "jobs", ["status", "model", "deleted_at"])


def downgrade() -> None:
    """Take it out again."""
    op.drop_index("ix_jobs_status", "jobs")
    op.drop_column("jobs", "model")
    op.drop_column("units", "saved_at")
    op.drop_table("counts")
