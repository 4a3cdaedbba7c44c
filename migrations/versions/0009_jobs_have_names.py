"""Jobs have a name, tags and a note, by which they are found; and one may be deleted without its corpus."""

from collections.abc import Sequence

import sqlalchemy as sa
from alembic import op

from migrations.orphans import delete_orphans

revision: str = "0009"
down_revision: str | None = "0008"
branch_labels: str | Sequence[str] | None = None
depends_on: str | Sequence[str] | None = None

DELETED = sa.text("deleted_at IS NOT NULL")
COLUMNS = {"name": sa.String(200), "name_folded": sa.Text(), "note": sa.Text(), "deleted_at": sa.Double()}


def upgrade() -> None:
    """Add them."""
    for name, kind in COLUMNS.items():
        op.add_column("jobs", sa.Column(name, kind, nullable=True))
    op.create_index("ix_jobs_deleted", "jobs", ["deleted_at"], sqlite_where=DELETED, postgresql_where=DELETED)
    op.create_table(
        "job_tags",
        sa.Column("job_id", sa.String(36), nullable=False),
        sa.Column("number", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("tag", sa.String(100), nullable=False),
        sa.Column("folded", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(["job_id"], ["jobs.id"], name=op.f("fk_job_tags_job_id"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("job_id", "number", name=op.f("pk_job_tags")),
    )
    op.create_index(op.f("ix_job_tags_folded_job_id"), "job_tags", ["folded", "job_id"])


def downgrade() -> None:
    """Take them out again, and the jobs that were deleted: nothing would hide them."""
    bind = op.get_bind()
    bind.execute(sa.text("DELETE FROM jobs WHERE deleted_at IS NOT NULL"))
    delete_orphans(bind)
    op.drop_table("job_tags")
    op.drop_index("ix_jobs_deleted", "jobs")
    for name in reversed(COLUMNS):
        op.drop_column("jobs", name)
