"""What metrics count of jobs, in an index that begins with the model: lists by status are not to be read from it."""

from collections.abc import Sequence

from alembic import op

revision: str = "0020"
down_revision: str | None = "0019"
branch_labels: str | Sequence[str] | None = None
depends_on: str | Sequence[str] | None = None


def upgrade() -> None:
    """Put it in the place of the other one."""
    op.drop_index("ix_jobs_status", "jobs")
    op.create_index("ix_jobs_model", "jobs", ["model", "status", "deleted_at"])


def downgrade() -> None:
    """Put the other one back."""
    op.drop_index("ix_jobs_model", "jobs")
    op.create_index("ix_jobs_status", "jobs", ["status", "model", "deleted_at"])
