"""Turns of jobs, time that units took, side runs, editions of results, corpora that are being deleted."""

from collections.abc import Sequence

import sqlalchemy as sa
from alembic import op

from migrations.orphans import delete_orphans

revision: str = "0005"
down_revision: str | None = "0004"
branch_labels: str | Sequence[str] | None = None
depends_on: str | Sequence[str] | None = None

# Columns of the primary keys of results, before and after `edition`.
KEYS = {
    "answers": (["job_id"], ["document_id"]),
    "audits": (["job_id"], ["document_id"]),
    "categories": (["job_id"], ["category"]),
    "topics": (["job_id"], ["topic"]),
    "summaries": (["job_id"], []),
}
# Indexes of results, the same way.
INDEXES = {
    "answers": (["job_id"], ["category", "document_id"]),
    "audits": (["job_id"], ["probability", "document_id"]),
}


def upgrade() -> None:
    """Add what is new. SQLite copies the tables of results, on which nothing hangs (see 0002)."""
    op.create_table(
        "side_runs",
        sa.Column("job_id", sa.String(length=36), nullable=False),
        sa.Column("kind", sa.String(length=20), nullable=False),
        sa.Column("status", sa.String(length=20), nullable=False),
        sa.Column("error", sa.Text(), nullable=True),
        sa.Column("sweeps", sa.Integer(), nullable=True),
        sa.Column("created_at", sa.Double(), nullable=False),
        sa.Column("started_at", sa.Double(), nullable=True),
        sa.Column("finished_at", sa.Double(), nullable=True),
        sa.ForeignKeyConstraint(["job_id"], ["jobs.id"], name=op.f("fk_side_runs_job_id"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("job_id", "kind", name=op.f("pk_side_runs")),
    )
    op.add_column("workers", sa.Column("note", sa.Text(), nullable=True))
    op.add_column("corpora", sa.Column("deleted_at", sa.Double(), nullable=True))
    op.add_column("jobs", sa.Column("claimed_at", sa.Double(), nullable=True))
    op.add_column("jobs", sa.Column("edition", sa.Integer(), nullable=False, server_default="0"))
    op.add_column("units", sa.Column("side", sa.String(length=20), nullable=True))
    op.add_column("units", sa.Column("seconds", sa.Double(), nullable=False, server_default="0"))
    for table, (before, after) in INDEXES.items():
        op.drop_index(op.f(f"ix_{table}_{'_'.join(before + after)}"), table)
    for table, (before, after) in KEYS.items():
        with op.batch_alter_table(table) as altered:
            altered.add_column(sa.Column("edition", sa.Integer(), nullable=False, server_default="1"))
            altered.drop_constraint(f"pk_{table}", type_="primary")
            altered.create_primary_key(f"pk_{table}", [*before, "edition", *after])
    for table, (before, after) in INDEXES.items():
        columns = [*before, "edition", *after]
        op.create_index(op.f(f"ix_{table}_{'_'.join(columns)}"), table, columns)
    keep_what_was_concluded()


def keep_what_was_concluded() -> None:
    """What was concluded is the first edition; a job that was extended or tested meanwhile has succeeded before.

    Its units go on in a side run. A chain that had its sweeps done is told by the conclusion that waits for it.
    """
    op.execute("UPDATE jobs SET edition = 1 WHERE id IN (SELECT job_id FROM summaries)")
    op.execute("UPDATE units SET side = 'power' WHERE kind = 'power'")
    op.execute(
        "INSERT INTO side_runs (job_id, kind, status, error, created_at, started_at, finished_at)"
        " SELECT j.id, 'power', CASE WHEN u.status = 'done' THEN 'succeeded' ELSE j.status END, j.error,"
        " j.created_at, j.started_at, j.finished_at FROM jobs j JOIN units u ON u.job_id = j.id AND u.kind = 'power'"
    )
    op.execute(
        "UPDATE jobs SET status = 'succeeded', error = NULL WHERE id IN"
        " (SELECT job_id FROM side_runs WHERE kind = 'power' AND status <> 'succeeded')"
    )
    op.execute("UPDATE jobs SET finished_at = coalesce(finished_at, started_at) WHERE status = 'succeeded'")


def downgrade() -> None:
    """Take it out again: with it go results that are not the present ones. Side runs that live are cancelled."""
    op.execute("DELETE FROM corpora WHERE deleted_at IS NOT NULL")
    op.execute("DELETE FROM units WHERE kind = 'power' AND status <> 'done'")
    delete_orphans(op.get_bind())
    for table in KEYS:
        op.execute(f"DELETE FROM {table} WHERE edition <> (SELECT edition FROM jobs WHERE jobs.id = {table}.job_id)")
    for table, (before, after) in INDEXES.items():
        op.drop_index(op.f(f"ix_{table}_{'_'.join([*before, 'edition', *after])}"), table)
    for table, (before, after) in KEYS.items():
        with op.batch_alter_table(table) as altered:
            altered.drop_constraint(f"pk_{table}", type_="primary")
            altered.drop_column("edition")
            altered.create_primary_key(f"pk_{table}", before + after)
    for table, (before, after) in INDEXES.items():
        op.create_index(op.f(f"ix_{table}_{'_'.join(before + after)}"), table, before + after)
    op.drop_column("units", "seconds")
    op.drop_column("units", "side")
    op.drop_column("jobs", "edition")
    op.drop_column("jobs", "claimed_at")
    op.drop_column("corpora", "deleted_at")
    op.drop_column("workers", "note")
    op.drop_table("side_runs")
