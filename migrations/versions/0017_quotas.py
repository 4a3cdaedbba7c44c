"""What each corpus stores and each job has live, counted for quotas; and indices for long queues."""

from collections.abc import Sequence

import sqlalchemy as sa
from alembic import op

revision: str = "0017"
down_revision: str | None = "0015"
branch_labels: str | Sequence[str] | None = None
depends_on: str | Sequence[str] | None = None

COUNTS = {
    "corpora": (("stored_documents", sa.BigInteger()), ("stored_bytes", sa.BigInteger())),
    "jobs": (("waits_since", sa.Double()), ("chains", sa.Integer()), ("n_tokens", sa.BigInteger())),
}
IS_LIVE = sa.text("status IN ('queued', 'running')")
LIVE = {"sqlite_where": IS_LIVE, "postgresql_where": IS_LIVE}
IS_AT_HAND = sa.text("status IN ('ready', 'running')")
AT_HAND = {"sqlite_where": IS_AT_HAND, "postgresql_where": IS_AT_HAND}
BYTES = {"sqlite": "length(CAST({} AS BLOB))", "postgresql": "octet_length({}::text)"}


def upgrade() -> None:
    """Add them, and count what is there."""
    for table, columns in COUNTS.items():
        for name, kind in columns:
            op.add_column(table, sa.Column(name, kind, server_default="0", nullable=False))
    count()
    op.create_index(op.f("ix_jobs_owner_claimed_at"), "jobs", ["owner", "claimed_at"])
    op.create_index(op.f("ix_jobs_status_created_at_id"), "jobs", ["status", "created_at", "id"])
    op.create_index("ix_jobs_live", "jobs", ["owner", "waits_since", "id", "status", "chains", "n_tokens"], **LIVE)
    op.create_index("ix_side_runs_live", "side_runs", ["job_id"], **LIVE)
    op.drop_index(op.f("ix_units_status_lease_until"), "units")
    op.create_index("ix_units_at_hand", "units", ["status", "lease_until"], **AT_HAND)


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
    op.drop_index(op.f("ix_jobs_status_created_at_id"), "jobs")
    op.drop_index(op.f("ix_jobs_owner_claimed_at"), "jobs")
    for table, columns in reversed(COUNTS.items()):
        for name, _ in reversed(columns):
            op.drop_column(table, name)
