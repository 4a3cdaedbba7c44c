"""What each corpus stores and each job has live, counted for quotas; and indices for long queues."""

from collections.abc import Sequence
from typing import Any

import sqlalchemy as sa
from alembic import op

revision: str = "0017"
down_revision: str | None = "0016"
branch_labels: str | Sequence[str] | None = None
depends_on: str | Sequence[str] | None = None

COUNTS: dict[str, tuple[tuple[str, sa.types.TypeEngine[Any]], ...]] = {
    "corpora": (("stored_documents", sa.BigInteger()), ("stored_bytes", sa.BigInteger())),
    "jobs": (("waits_since", sa.Double()), ("chains", sa.Integer()), ("n_tokens", sa.BigInteger())),
}
LISTS = (["created_at", "id"], ["owner", "created_at", "id"], ["corpus_id", "created_at", "id"])  # orders of jobs
IS_LIVE = "coalesce(status, '') IN ('queued', 'running')"
BYTES = {"sqlite": "length(CAST({} AS BLOB))", "postgresql": "octet_length({}::text)"}


def upgrade() -> None:
    """Add them, and count what is there."""
    for table, columns in COUNTS.items():
        for name, kind in columns:
            op.add_column(table, sa.Column(name, kind, server_default="0", nullable=False))
    count()
    for before, after in ((LISTS[0], LISTS[0]), (LISTS[1], LISTS[1]), (LISTS[2][:1], LISTS[2])):
        op.drop_index(op.f(f"ix_jobs_{'_'.join(before)}"), "jobs")
        op.create_index(op.f(f"ix_jobs_{'_'.join(after)}_status"), "jobs", [*after, "status"])
    op.create_index(op.f("ix_jobs_owner_claimed_at"), "jobs", ["owner", "claimed_at"])
    make_partial("ix_jobs_live", "jobs", ["owner", "waits_since", "id", "status", "chains", "n_tokens"], IS_LIVE)
    make_partial("ix_side_runs_live", "side_runs", ["job_id"], IS_LIVE)
    op.drop_index(op.f("ix_units_status_lease_until"), "units")
    make_partial("ix_units_at_hand", "units", ["status", "lease_until"], "status IN ('ready', 'running')")


def make_partial(name: str, table: str, columns: list[str], which: str) -> None:
    """Make an index of some rows."""
    condition = sa.text(which)
    op.create_index(name, table, columns, sqlite_where=condition, postgresql_where=condition)


def count() -> None:
    """Count what corpora and jobs have; the tokens of a job are those of its encoding, if there is one."""
    in_bytes = BYTES[op.get_bind().dialect.name]
    text, fields, about = (in_bytes.format(column) for column in ("d.text", "d.fields", "c.text"))
    documents = "FROM documents d WHERE d.corpus_id = corpora.id"
    vectors = (
        "SELECT coalesce(sum(length(v.data)), 0) FROM document_vectors v JOIN documents d ON d.id = v.document_id "
        "WHERE d.corpus_id = corpora.id AND v.made_by = ''"
    )
    described = (
        f"SELECT coalesce(sum({about} + coalesce(length(c.vector), 0)), 0) FROM category_descriptions c "
        "WHERE c.corpus_id = corpora.id"
    )
    op.execute(
        f"UPDATE corpora SET stored_documents = (SELECT count(*) {documents}), stored_bytes = "
        f"(SELECT coalesce(sum({text} + coalesce({fields}, 0)), 0) {documents}) + ({vectors}) + ({described})"
    )
    op.execute(
        "UPDATE jobs SET waits_since = coalesce(claimed_at, created_at), "
        "chains = (SELECT count(*) FROM units u WHERE u.job_id = jobs.id AND u.kind = 'chain'), "
        "n_tokens = coalesce((SELECT e.n_tokens FROM encodings e WHERE e.id = jobs.encoding_id), 0)"
    )


def downgrade() -> None:
    """Take them out again."""
    op.drop_index("ix_units_at_hand", "units")
    op.create_index(op.f("ix_units_status_lease_until"), "units", ["status", "lease_until"])
    op.drop_index("ix_side_runs_live", "side_runs")
    op.drop_index("ix_jobs_live", "jobs")
    op.drop_index(op.f("ix_jobs_owner_claimed_at"), "jobs")
    for before, after in ((LISTS[0], LISTS[0]), (LISTS[1], LISTS[1]), (LISTS[2][:1], LISTS[2])):
        op.drop_index(op.f(f"ix_jobs_{'_'.join(after)}_status"), "jobs")
        op.create_index(op.f(f"ix_jobs_{'_'.join(before)}"), "jobs", before)
    for table, columns in reversed(COUNTS.items()):
        for name, _ in reversed(columns):
            op.drop_column(table, name)
