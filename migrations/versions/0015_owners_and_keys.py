"""API keys, and the owners of corpora, jobs, comparisons and models."""

from collections.abc import Sequence

import sqlalchemy as sa
from alembic import op

revision: str = "0015"
down_revision: str | None = "0014"
branch_labels: str | Sequence[str] | None = None
depends_on: str | Sequence[str] | None = None

OWNED = ("corpora", "jobs", "comparisons", "models")


def upgrade() -> None:
    """Add them; what is there belongs to `local`, as what is made while no keys are asked for."""
    for table in OWNED:
        op.add_column(table, sa.Column("owner", sa.String(100), server_default="local", nullable=False))
        op.create_index(op.f(f"ix_{table}_owner_created_at_id"), table, ["owner", "created_at", "id"])
    op.create_table(
        "api_keys",
        sa.Column("id", sa.String(12), nullable=False),
        sa.Column("owner", sa.String(100), nullable=False),
        sa.Column("name", sa.String(200), nullable=True),
        sa.Column("digest", sa.String(64), nullable=False),
        sa.Column("scopes", sa.String(50), nullable=False),
        sa.Column("created_at", sa.Double(), nullable=False),
        sa.Column("expires_at", sa.Double(), nullable=True),
        sa.Column("revoked_at", sa.Double(), nullable=True),
        sa.Column("used_at", sa.Double(), nullable=True),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_api_keys")),
    )


def downgrade() -> None:
    """Take them out again: from then on everything is there for everybody."""
    op.drop_table("api_keys")
    for table in OWNED:
        op.drop_index(op.f(f"ix_{table}_owner_created_at_id"), table)
        op.drop_column(table, "owner")
