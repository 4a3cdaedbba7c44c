"""Jobs of the calibrated model: atoms, calibrations, power tests, draws without tables, stability, audits, topics."""

from collections.abc import Sequence
from typing import Any

import sqlalchemy as sa
from alembic import op

from migrations.orphans import delete_orphans

revision: str = "0004"
down_revision: str | None = "0003"
branch_labels: str | Sequence[str] | None = None
depends_on: str | Sequence[str] | None = None


# SQLite numbers rows by itself only in a column of type INTEGER, which holds 64 bits there.
ROW_ID = sa.BigInteger().with_variant(sa.Integer(), "sqlite")

OF_LBPL_NTM: dict[str, sa.types.TypeEngine[Any]] = {
    "n_tables": sa.Integer(),
    "alpha": sa.Double(),
    "gamma": sa.Double(),
}  # columns of draws

metadata = sa.MetaData()
jobs = sa.Table("jobs", metadata, sa.Column("id", sa.String(36)), sa.Column("settings", sa.JSON()))


def upgrade() -> None:
    """Add what is new, let draws be without tables and concentrations, and summaries without a best chain.

    For that SQLite copies both tables, on which nothing hangs; the others are changed in place (see 0002).
    """
    make_tables()
    op.add_column("units", sa.Column("n_steps", sa.Integer(), nullable=True))
    op.add_column("answers", sa.Column("stability", sa.Double(), nullable=True))
    op.add_column("categories", sa.Column("stability", sa.Double(), nullable=True))
    op.add_column("categories", sa.Column("topics", sa.JSON(), nullable=True))
    with op.batch_alter_table("draws") as draws:
        for name, kind in OF_LBPL_NTM.items():
            draws.alter_column(name, existing_type=kind, nullable=True)
        draws.add_column(sa.Column("setting", sa.Integer(), nullable=True))
    with op.batch_alter_table("summaries") as summaries:
        summaries.alter_column("best_chain", existing_type=sa.Integer(), nullable=True)


def make_tables() -> None:
    """Make the new tables."""
    op.create_table(
        "atom_runs",
        sa.Column("corpus_id", sa.String(length=36), nullable=False),
        sa.Column("words_digest", sa.String(length=64), nullable=False),
        sa.Column("options", sa.Text(), nullable=False),
        sa.Column("number", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("data", sa.LargeBinary(), nullable=False),
        sa.ForeignKeyConstraint(["corpus_id"], ["corpora.id"], name=op.f("fk_atom_runs_corpus_id"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("corpus_id", "words_digest", "options", "number", name=op.f("pk_atom_runs")),
    )
    op.create_table(
        "calibration_steps",
        sa.Column("job_id", sa.String(length=36), nullable=False),
        sa.Column("number", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("data", sa.LargeBinary(), nullable=False),
        sa.ForeignKeyConstraint(["job_id"], ["jobs.id"], name=op.f("fk_calibration_steps_job_id"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("job_id", "number", name=op.f("pk_calibration_steps")),
    )
    op.create_table(
        "power_steps",
        sa.Column("job_id", sa.String(length=36), nullable=False),
        sa.Column("number", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("data", sa.JSON(), nullable=False),
        sa.ForeignKeyConstraint(["job_id"], ["jobs.id"], name=op.f("fk_power_steps_job_id"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("job_id", "number", name=op.f("pk_power_steps")),
    )
    op.create_table(
        "audits",
        sa.Column("job_id", sa.String(length=36), nullable=False),
        sa.Column("document_id", ROW_ID, nullable=False),
        sa.Column("category", sa.Integer(), nullable=False),
        sa.Column("probability", sa.Double(), nullable=False),
        sa.Column("suggested", sa.Integer(), nullable=True),
        sa.Column("suggested_probability", sa.Double(), nullable=True),
        sa.ForeignKeyConstraint(
            ["document_id"], ["documents.id"], name=op.f("fk_audits_document_id"), ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(["job_id"], ["jobs.id"], name=op.f("fk_audits_job_id"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("job_id", "document_id", name=op.f("pk_audits")),
    )
    op.create_index(op.f("ix_audits_document_id"), "audits", ["document_id"])
    op.create_index(
        op.f("ix_audits_job_id_probability_document_id"), "audits", ["job_id", "probability", "document_id"]
    )
    op.create_table(
        "topics",
        sa.Column("job_id", sa.String(length=36), nullable=False),
        sa.Column("topic", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("share", sa.Double(), nullable=False),
        sa.Column("top_words", sa.JSON(), nullable=False),
        sa.ForeignKeyConstraint(["job_id"], ["jobs.id"], name=op.f("fk_topics_job_id"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("job_id", "topic", name=op.f("pk_topics")),
    )


def downgrade() -> None:
    """Take it out again, and with it the jobs of the calibrated model: before, nobody could tell of them."""
    op.get_bind().execute(sa.delete(jobs).where(jobs.c.settings["model"].as_string() == "calibrated"))
    delete_orphans(op.get_bind())
    with op.batch_alter_table("summaries") as summaries:
        summaries.alter_column("best_chain", existing_type=sa.Integer(), nullable=False)
    with op.batch_alter_table("draws") as draws:
        draws.drop_column("setting")
        for name, kind in OF_LBPL_NTM.items():
            draws.alter_column(name, existing_type=kind, nullable=False)
    op.drop_column("categories", "topics")
    op.drop_column("categories", "stability")
    op.drop_column("answers", "stability")
    op.drop_column("units", "n_steps")
    for table in ("topics", "audits", "power_steps", "calibration_steps", "atom_runs"):
        op.drop_table(table)
