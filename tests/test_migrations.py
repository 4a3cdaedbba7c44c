"""The schema is what the migrations make, on both databases."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from alembic import command
from alembic.autogenerate import compare_metadata
from alembic.runtime.migration import MigrationContext
from sqlalchemy import inspect

from app import db
from app.main import create_app
from app.models import Base
from app.settings import Settings


@pytest.fixture
def migrated(database_url: str) -> Iterator[db.Database]:
    """A database of its own, that the migrations have just been through."""
    db.migrate(database_url)
    database = db.connect(database_url)
    yield database
    database.engine.dispose()


def test_the_migrations_make_the_schema_of_the_models(migrated: db.Database) -> None:
    with migrated.engine.connect() as connection:
        context = MigrationContext.configure(connection, opts={"compare_type": True, "compare_server_default": True})
        assert compare_metadata(context, Base.metadata) == []


def test_migrations_lead_down_to_nothing_and_up_again(migrated: db.Database, database_url: str) -> None:
    config = db.migration_config()
    with migrated.engine.connect() as connection:
        config.attributes["connection"] = connection
        command.downgrade(config, "base")
    assert set(inspect(migrated.engine).get_table_names()) == {"alembic_version"}
    db.migrate(database_url)
    db.check_schema(migrated)
    assert set(inspect(migrated.engine).get_table_names()) == {"alembic_version", *Base.metadata.tables}


def test_migrating_twice_changes_nothing(migrated: db.Database, database_url: str) -> None:
    revision = db.schema_revision(migrated)
    db.migrate(database_url)
    assert db.schema_revision(migrated) == revision


def test_the_service_refuses_a_database_without_the_schema_and_says_what_to_run(
    database_url: str, tmp_path: Path
) -> None:
    with pytest.raises(db.SchemaError, match="newfound migrate"):
        create_app(Settings(data_folder=tmp_path, database_url=database_url))
