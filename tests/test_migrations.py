"""The schema is what the migrations make, on both databases."""

import hashlib
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from alembic import command
from alembic.autogenerate import compare_metadata
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import inspect, text
from starlette.testclient import TestClient

from app.core import db, schema
from app.core.settings import Settings
from app.core.tables import FOREVER, Base, Job
from app.http.main import create_app
from sampler.archive import pack
from sampler.corpus import UNLABELED, Corpus
from tests.app.uploads.sending import lines, send
from worker import encodings

NEW_TABLES = (
    "workers",
    "idempotent_requests",
    "encoding_parts",
    "atom_runs",
    "calibration_steps",
    "power_steps",
    "audits",
    "topics",
    "side_runs",
    "job_tags",
    "tree_nodes",
    "models",
    "model_parts",
    "categorized_days",
    "text_indexes",
    "decisions",
    "decided_documents",
    "clamped_labels",
    "comparisons",
    "number_answers",
    "document_vectors",
    "vector_steps",
    "webhooks",
    "category_descriptions",
    "api_keys",
    "counts",
)
# What holds the words of texts: made in SQL by revision 0011, and no tables of the models.
OF_SEARCH = {"text_index", "document_words", *(f"text_index_{part}" for part in ("data", "idx", "docsize", "config"))}
# What revisions add to rows that are there: the job was concluded, so its results are the first edition.
ADDED = {
    "categories": {"is_named": False},
    "answers": {"edition": 1},
    "summaries": {"edition": 1},
    "jobs": {"edition": 1, "owner": "local", "waits_since": 2.0, "chains": 1, "n_tokens": 0},
    "corpora": {"owner": "local", "stored_documents": 1, "stored_bytes": len("galaxy")},
    "units": {"seconds": 0.0},
    "documents": {"until": FOREVER, "is_counts": False, "erased": False},
}


@pytest.fixture
def migrated(database_url: str) -> Iterator[db.Database]:
    """A database of its own, that the migrations have just been through."""
    schema.migrate(database_url)
    database = db.connect(database_url)
    yield database
    database.engine.dispose()


def differences(database: db.Database) -> list[Any]:
    """Where the schema is not what the models say.

    On SQLite without foreign keys, whose ON DELETE SQLAlchemy does not read where a column was added with
    it: a test of their own asks SQLite itself.
    """
    is_sqlite = database.engine.dialect.name == "sqlite"

    def is_compared(_: object, name: str | None, kind: str, *___: object) -> bool:
        return not (is_sqlite and kind == "foreign_key_constraint") and not (kind == "table" and name in OF_SEARCH)

    with database.engine.connect() as connection:
        options = {"compare_type": True, "compare_server_default": True, "include_object": is_compared}
        return list(compare_metadata(MigrationContext.configure(connection, opts=options), Base.metadata))


def test_the_migrations_make_the_schema_of_the_models(migrated: db.Database) -> None:
    assert differences(migrated) == []


@pytest.mark.parametrize("kind", ["sqlite"])
def test_the_migrations_make_the_foreign_keys_of_the_models(migrated: db.Database) -> None:
    for table in Base.metadata.sorted_tables:
        with migrated.engine.connect() as connection:
            made = connection.execute(text(f"PRAGMA foreign_key_list({table.name})")).all()
        found = {(key[3], key[2], key[4], key[6]) for key in made}  # from, table, to, on_delete
        assert found == {
            (key.parent.name, key.column.table.name, key.column.name, key.ondelete or "NO ACTION")
            for key in table.foreign_keys
        }


def test_migrations_lead_down_to_nothing_and_up_again(migrated: db.Database, database_url: str) -> None:
    migrate_down(migrated, "base")
    assert set(inspect(migrated.engine).get_table_names()) == {"alembic_version"}
    schema.migrate(database_url)
    schema.check_schema(migrated)
    assert set(inspect(migrated.engine).get_table_names()) - OF_SEARCH == {"alembic_version", *Base.metadata.tables}


def add_rows(database: db.Database) -> None:
    """A row of every kind in the tables of the first schema, told in SQL: models know only the last one."""
    corpus, job = "'11111111-2222-4333-8444-555555555555'", "'b9a1d7c2-1f6e-4a38-8f0b-6f2f4f1f7e15'"
    rows = {
        "corpora (id, name, version, created_at)": f"{corpus}, 'corpus', 1, 1.5",
        "documents (id, corpus_id, version, key, text, label)": f"1, {corpus}, 1, 'k', 'galaxy', NULL",
        "jobs (id, corpus_id, corpus_version, settings, status, created_at)": f"{job}, {corpus}, 1, '[]', 'queued', 2",
        "units (id, job_id, kind, chain, status, attempts, n_sweeps)": f"1, {job}, 'chain', 0, 'done', 0, 7",
        "checkpoints (id, unit_id, n_sweeps, data, created_at)": "1, 1, 7, '', 3",
        "draws (job_id, chain, sweep, n_categories, n_new, n_new_with_documents, n_tables, alpha, gamma, log_joint)": (
            f"{job}, 0, 1, 2, 1, 1, 3, 0.5, 0.25, -7"
        ),
        "answers (job_id, document_id, category)": f"{job}, 1, 0",
        "summaries (job_id, best_chain, data)": f"{job}, 0, '{{}}'",
    }
    with database.sessions.begin() as session:
        for table, values in rows.items():
            session.execute(text(f"INSERT INTO {table} VALUES ({values})"))


def contents(database: db.Database) -> dict[str, list[Any]]:
    """All rows of all tables by column, but for columns without a value."""
    found: dict[str, list[Any]] = {}
    with database.readers.begin() as session:
        for name in set(inspect(database.engine).get_table_names()) - OF_SEARCH:
            rows = session.execute(text(f"SELECT * FROM {name}")).mappings()
            found[name] = [{key: value for key, value in row.items() if value is not None} for row in rows]
    return found


def migrate_down(database: db.Database, revision: str) -> None:
    """Downgrade the schema."""
    config = schema.migration_config()
    with database.engine.connect() as connection:
        config.attributes["connection"] = connection
        command.downgrade(config, revision)


def test_rows_survive_the_way_up_and_down_and_up_again(database_url: str) -> None:
    """No table on which others hang is copied on the way: what hangs on its rows would go with the old one."""
    schema.migrate(database_url, "0001")
    database = db.connect(database_url)
    add_rows(database)
    first = contents(database)
    assert min(len(rows) for name, rows in first.items() if name not in ("encodings", "categories")) == 1

    schema.migrate(database_url)
    second = contents(database)
    assert [(batch["n_texts"], batch["n_copies"]) for batch in second.pop("text_batches")] == [(1, 0)]
    assert all(second.pop(name) == [] for name in NEW_TABLES)
    with_added = {name: [{**row, **ADDED.get(name, {})} for row in rows] for name, rows in first.items()}
    assert second == {**with_added, "alembic_version": [{"version_num": schema.head_revision()}]}
    with database.sessions.begin() as session:
        session.execute(text("INSERT INTO workers (name, seen_at) VALUES ('worker-1', 5)"))
        session.execute(
            text("INSERT INTO idempotent_requests (id, scope, key, created_at) VALUES (1, 'POST /v1/jobs', 'k', 5)")
        )
        session.execute(text("UPDATE documents SET fields = '{}'"))
        session.execute(text("UPDATE units SET digest = 'd'"))
        session.execute(text("UPDATE jobs SET status = 'paused'"))

    migrate_down(database, "0001")
    assert differing(first, contents(database)) == {"jobs"}
    assert contents(database)["jobs"][0]["status"] == "cancelled", "before, no job was paused"

    schema.migrate(database_url)
    schema.check_schema(database)
    assert differences(database) == []
    assert differing(second, {name: contents(database)[name] for name in second}) == {"jobs"}
    with database.sessions.begin() as session:
        session.execute(text("DELETE FROM corpora"))
    assert {name for name, rows in contents(database).items() if rows} == {"alembic_version"}
    database.engine.dispose()


def test_going_back_takes_calibrated_jobs_out_and_leaves_the_others(migrated: db.Database) -> None:
    add_rows(migrated)
    with migrated.sessions.begin() as session:
        session.execute(text("UPDATE jobs SET edition = 1"))
    before = contents(migrated)
    job = "'c0a1d7c2-1f6e-4a38-8f0b-6f2f4f1f7e15'"
    rows = {
        "jobs (id, corpus_id, corpus_version, settings, status, created_at)": (
            f"{job}, '11111111-2222-4333-8444-555555555555', 1, '{{\"model\": \"calibrated\"}}', 'succeeded', 2"
        ),
        "units (id, job_id, kind, status, attempts, n_sweeps, n_steps)": f"2, {job}, 'atoms', 'done', 0, 7, 7",
        "atom_runs (corpus_id, words_digest, options, number, data)": (
            "'11111111-2222-4333-8444-555555555555', 'd', '{}', 0, ''"
        ),
        "calibration_steps (job_id, number, data)": f"{job}, 0, ''",
        "power_steps (job_id, number, data)": f"{job}, 0, '{{}}'",
        "draws (job_id, chain, sweep, n_categories, n_new, n_new_with_documents, log_joint, setting)": (
            f"{job}, 0, 1, 2, 1, 1, -7, 3"
        ),
        "summaries (job_id, best_chain, data)": f"{job}, NULL, '{{}}'",
        "audits (job_id, document_id, category, probability)": f"{job}, 1, 0, 0.25",
        "topics (job_id, topic, share, top_words)": f"{job}, 0, 0.5, '[]'",
    }
    with migrated.sessions.begin() as session:
        for table, values in rows.items():
            session.execute(text(f"INSERT INTO {table} VALUES ({values})"))
    migrate_down(migrated, "0003")
    after = contents(migrated)
    assert after["alembic_version"] == [{"version_num": "0003"}]
    without_added = {
        name: [{key: value for key, value in row.items() if key not in ADDED.get(name, {})} for row in rows]
        for name, rows in before.items()
    }
    assert {name: rows for name, rows in without_added.items() if name in after and name != "alembic_version"} == {
        name: rows for name, rows in after.items() if name != "alembic_version"
    }


def differing(one: dict[str, list[Any]], other: dict[str, list[Any]]) -> set[str]:
    """The tables whose rows differ."""
    assert one.keys() == other.keys()
    return {name for name in one if one[name] != other[name]}


def test_of_a_corrected_document_the_current_row_goes_the_way_down(migrated: db.Database) -> None:
    add_rows(migrated)
    with migrated.sessions.begin() as session:
        session.execute(text("UPDATE documents SET until = 2"))
        values = "2, corpus_id, 2, key, 'corrected', label"
        session.execute(
            text(f"INSERT INTO documents (id, corpus_id, version, key, text, label) SELECT {values} FROM documents")
        )
    migrate_down(migrated, "0007")
    left = contents(migrated)
    assert [row["text"] for row in left["documents"]] == ["corrected"]
    assert left["answers"] == []


def test_deleted_jobs_go_the_way_down_and_the_others_stay(migrated: db.Database) -> None:
    add_rows(migrated)
    with migrated.sessions.begin() as session:
        session.execute(text("UPDATE jobs SET name = 'n', name_folded = 'n', note = 'note'"))
        columns = "id, corpus_id, corpus_version, settings, status, created_at, deleted_at"
        values = "'c0a1d7c2-1f6e-4a38-8f0b-6f2f4f1f7e15', corpus_id, 1, '{}', 'cancelled', 2, 3"
        session.execute(text(f"INSERT INTO jobs ({columns}) SELECT {values} FROM jobs"))
        session.execute(text("INSERT INTO job_tags SELECT id, 0, 'T', 't' FROM jobs"))
    before = contents(migrated)
    migrate_down(migrated, "0008")
    left = contents(migrated)
    added = ("name", "name_folded", "note", "deleted_at", "owner", "waits_since", "chains", "n_tokens")
    [kept] = [row for row in before["jobs"] if "deleted_at" not in row]
    assert left["jobs"] == [{name: value for name, value in kept.items() if name not in added}]
    assert "job_tags" not in left


def add_encoding(database: db.Database, number: int, data: bytes, corpus: Corpus) -> None:
    """A row in `encodings` as it was before revision 0003."""
    columns = "id, corpus_id, corpus_version, options, n_documents, n_tokens, n_words, n_known, vocabulary, categories"
    values = f"{number}, '11111111-2222-4333-8444-555555555555', {number}, '{{}}', :n_documents, :n_tokens, 900, 2"
    given = {"n_documents": corpus.n_documents, "n_tokens": corpus.n_tokens, "data": data}
    with database.sessions.begin() as session:
        session.execute(text(f"INSERT INTO encodings ({columns}, data) VALUES ({values}, '[]', '[]', :data)"), given)


@pytest.mark.parametrize("n_tokens", [3, 1_100_000])  # of an odd number, the filling; of a large one, several parts
def test_encodings_are_cut_into_parts_and_put_together_again(database_url: str, n_tokens: int) -> None:
    words = np.random.default_rng(1).integers(0, 900, n_tokens, np.int32)
    offsets = np.array([0, 1, n_tokens], np.int64)
    corpus = Corpus(words, offsets, np.array([1, UNLABELED], np.int32), n_words=900, n_known=2)
    document_ids = np.array([2**40, 7])
    old = pack({}, {"words": words, "offsets": offsets, "labels": corpus.labels, "document_ids": document_ids})
    schema.migrate(database_url, "0002")
    database = db.connect(database_url)
    add_rows(database)
    add_encoding(database, 1, old, corpus)
    add_encoding(database, 2, old[:-9] + bytes([old[-9] ^ 1]) + old[-8:], corpus)
    with database.sessions.begin() as session:
        session.execute(text("UPDATE jobs SET encoding_id = 1"))

    schema.migrate(database_url, "0003")
    filled = b"".join(zlib.decompress(part) for part in parts_of(database, 1))
    assert filled == b"".join(
        data + bytes(-len(data) % 8)
        for data in (words.tobytes(), offsets.tobytes(), corpus.labels.tobytes(), document_ids.tobytes())
    )
    digests = {row["id"]: row["digest"] for row in contents(database)["encodings"] if "digest" in row}
    assert digests == {1: hashlib.sha256(filled).hexdigest()}, "the damaged one is encoded anew by the next job"

    migrate_down(database, "0002")
    assert [(row["id"], bytes(row["data"])) for row in contents(database)["encodings"]] == [(1, old)]
    schema.migrate(database_url, "0003")
    assert {row["id"]: row["digest"] for row in contents(database)["encodings"] if "digest" in row} == digests
    assert contents(database)["jobs"][0]["encoding_id"] == 1
    database.engine.dispose()


def parts_of(database: db.Database, encoding_id: int) -> list[bytes]:
    """The parts of an encoding in order."""
    rows = [row for row in contents(database)["encoding_parts"] if row["encoding_id"] == encoding_id]
    return [bytes(row["data"]) for row in sorted(rows, key=lambda row: int(row["number"]))]


def test_encodings_from_before_copies_were_joined_are_made_again(database_url: str) -> None:
    schema.migrate(database_url, "0006")
    database = db.connect(database_url)
    add_rows(database)
    columns = "corpus_id, corpus_version, options, n_documents, n_tokens, n_words, n_known, vocabulary, categories"
    with database.sessions.begin() as session:
        session.execute(
            text(
                f"INSERT INTO encodings ({columns}, digest) VALUES (:corpus, 1, '{{}}', 2, 3, 1, 1, '[]', '[]', 'ab')"
            ),
            {"corpus": "11111111-2222-4333-8444-555555555555"},
        )
    schema.migrate(database_url)
    job = Job(corpus_id="11111111-2222-4333-8444-555555555555", corpus_version=1, settings={"text": {}})
    with database.readers.begin() as session:
        assert encodings.find(session, job) is None
    database.engine.dispose()


def test_texts_of_documents_from_before_are_counted_as_those_of_later_ones(database_url: str, tmp_path: Path) -> None:
    """What comes again afterwards is nothing new."""
    texts = ["a  b", "a\nb", "", "caf\u00e9", "cafe\u0301", "A b", "\u2003a b", "c", "d\x1ce"]
    corpora = ["11111111-2222-4333-8444-555555555555", "22222222-2222-4333-8444-555555555555"]
    schema.migrate(database_url, "0006")
    database = db.connect(database_url)
    with database.sessions.begin() as session:
        for corpus_id in corpora:
            session.execute(text("INSERT INTO corpora VALUES (:id, 'corpus', 2, 1.5, NULL)"), {"id": corpus_id})
            for number, written in enumerate(texts):
                row = {"corpus": corpus_id, "version": 1 + (number > 4), "key": f"k{number}", "text": written}
                columns = "corpus_id, version, key, text"
                session.execute(text(f"INSERT INTO documents ({columns}) VALUES (:corpus, :version, :key, :text)"), row)
    schema.migrate(database_url)
    settings = Settings(data_folder=tmp_path, database_url=database_url, trusted_hosts="testserver")
    with TestClient(create_app(settings)) as client:
        for corpus_id in corpora:
            corpus = client.get(f"/v1/corpora/{corpus_id}").json()
            assert (corpus["copies"], corpus["distinct_texts"]) == (3, 5)
            again = send(client, f"/v1/corpora/{corpus_id}", lines(*({"text": written} for written in texts)))
            assert again.json()["copies"] == 8
    database.engine.dispose()


def test_the_last_of_the_numbered_files_is_the_revision_that_the_migrations_lead_to() -> None:
    assert ScriptDirectory.from_config(schema.migration_config()).get_heads() == [schema.head_revision()]


def test_migrating_twice_changes_nothing(migrated: db.Database, database_url: str) -> None:
    revision = schema.schema_revision(migrated)
    schema.migrate(database_url)
    assert schema.schema_revision(migrated) == revision


def test_the_service_refuses_a_database_without_the_schema_and_says_what_to_run(
    database_url: str, tmp_path: Path
) -> None:
    with pytest.raises(schema.SchemaError, match="newfound migrate"):
        create_app(Settings(data_folder=tmp_path, database_url=database_url))
