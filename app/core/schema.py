"""The schema: which one a database has, which one this code needs, and how it gets there."""

from pathlib import Path
from typing import TYPE_CHECKING

from sqlalchemy import inspect, text

import migrations
from app.core.db import Database, connect

if TYPE_CHECKING:
    from alembic.config import Config


class SchemaError(RuntimeError):
    """The database does not have the schema that this code needs."""


def migration_config() -> "Config":
    """Alembic's configuration, without an ini file."""
    from alembic.config import Config  # takes a third of a second, and no worker needs it

    config = Config()
    config.set_main_option("script_location", str(Path(migrations.__file__).parent).replace("%", "%%"))
    return config


def migrate(url: str, revision: str = "head") -> None:
    """Upgrade the schema of the database at a URL."""
    from alembic import command

    database = connect(url)
    try:
        with database.engine.connect() as connection:
            config = migration_config()
            config.attributes["connection"] = connection
            command.upgrade(config, revision)
    finally:
        database.engine.dispose()


def schema_revision(database: Database) -> str | None:
    """The revision that the schema is at; None for a database without a schema."""
    with database.readers.begin() as session:
        if not inspect(session.connection()).has_table("alembic_version"):
            return None
        found: str | None = session.scalar(text("SELECT version_num FROM alembic_version"))
        return found


def head_revision() -> str:
    """The revision that the migrations lead to: their files are numbered."""
    files = Path(migrations.__file__).parent.glob("versions/[0-9]*.py")
    return max(file.name for file in files).partition("_")[0]


def check_schema(database: Database) -> None:
    """Raise SchemaError unless the schema is the one that the migrations make."""
    head = head_revision()
    current = schema_revision(database)
    if current != head:
        raise SchemaError(
            f"the schema of {database.engine.url!r} is at {current or 'no revision'}, not at {head}: "
            "run `newfound migrate` first"
        )
