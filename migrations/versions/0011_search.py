"""Texts are searched: an index of their words, how far it is, and indexes for lists in the order of probability.

What holds words is made in SQL, since it is another thing on each database. Triggers take a text out of the index in
the transaction that takes it out of `documents`; a later revision that copies that table must make them again.
"""

from collections.abc import Sequence

import sqlalchemy as sa
from alembic import op

revision: str = "0011"
down_revision: str | None = "0010"
branch_labels: str | Sequence[str] | None = None
depends_on: str | Sequence[str] | None = None

DOUBTFUL = sa.text("suggested IS NOT NULL")  # of an audit
OF_LABELS = "ix_documents_corpus_id_until_label"

# FTS5 keeps no texts of its own. To forget one it must be told it again, and only one that it has: it keeps a row in
# `text_index_docsize` for each.
TAKE_OUT = """
    WHEN EXISTS (SELECT 1 FROM text_index_docsize WHERE id = old.id)
    BEGIN INSERT INTO text_index (text_index, rowid, text) VALUES ('delete', old.id, old.text); END
"""
SQLITE = (
    "CREATE VIRTUAL TABLE text_index USING fts5(text, content='documents', content_rowid='id', "
    "tokenize='unicode61 remove_diacritics 2')",
    f"CREATE TRIGGER text_index_deleted BEFORE DELETE ON documents {TAKE_OUT}",
    f"CREATE TRIGGER text_index_changed BEFORE UPDATE OF text ON documents {TAKE_OUT}",
)
POSTGRESQL = (
    "CREATE TABLE document_words (document_id BIGINT PRIMARY KEY REFERENCES documents (id) ON DELETE CASCADE, "
    "words TSVECTOR NOT NULL)",
    # What waits to be sorted in is read by each search, so that little may wait.
    "CREATE INDEX ix_document_words_words ON document_words USING gin (words) WITH (gin_pending_list_limit = 512)",
    "CREATE FUNCTION take_out_words() RETURNS trigger LANGUAGE plpgsql AS "
    "$$ BEGIN DELETE FROM document_words WHERE document_id = old.id; RETURN new; END $$",
    "CREATE TRIGGER document_words_changed AFTER UPDATE OF text ON documents "
    "FOR EACH ROW EXECUTE FUNCTION take_out_words()",
)
SQLITE_BACK = ("DROP TRIGGER text_index_changed", "DROP TRIGGER text_index_deleted", "DROP TABLE text_index")
POSTGRESQL_BACK = (
    "DROP TRIGGER document_words_changed ON documents",
    "DROP FUNCTION take_out_words()",
    "DROP TABLE document_words",
)


def upgrade() -> None:
    """Add them."""
    op.create_table(
        "text_indexes",
        sa.Column("corpus_id", sa.String(36), nullable=False),
        sa.Column("document_id", sa.BigInteger(), nullable=False),
        sa.Column("n_erasures", sa.Integer(), server_default="0", nullable=False),
        sa.ForeignKeyConstraint(
            ["corpus_id"], ["corpora.id"], name=op.f("fk_text_indexes_corpus_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("corpus_id", name=op.f("pk_text_indexes")),
    )
    place = ["job_id", "edition", "probability", "document_id"]
    op.create_index("ix_answers_probability", "answers", place)
    op.create_index("ix_answers_category_probability", "answers", [*place[:2], "category", *place[2:]])
    of_pairs = [*place[:2], "category", "suggested", "probability", "suggested_probability"]
    op.create_index("ix_audits_doubtful", "audits", of_pairs, sqlite_where=DOUBTFUL, postgresql_where=DOUBTFUL)
    op.drop_index(OF_LABELS, "documents")
    op.create_index("ix_documents_label", "documents", ["corpus_id", "until", "label", "id", "version"])
    for statement in SQLITE if op.get_bind().dialect.name == "sqlite" else POSTGRESQL:
        op.execute(statement)


def downgrade() -> None:
    """Take them out again."""
    for statement in SQLITE_BACK if op.get_bind().dialect.name == "sqlite" else POSTGRESQL_BACK:
        op.execute(statement)
    op.drop_index("ix_documents_label", "documents")
    op.create_index(OF_LABELS, "documents", ["corpus_id", "until", "label"])
    op.drop_index("ix_audits_doubtful", "audits")
    op.drop_index("ix_answers_category_probability", "answers")
    op.drop_index("ix_answers_probability", "answers")
    op.drop_table("text_indexes")
