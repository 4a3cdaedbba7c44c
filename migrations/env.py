"""How Alembic runs: over the connection that app.core.schema.migrate hands it, in one transaction."""

from collections.abc import Iterator
from contextlib import contextmanager

from alembic import context
from sqlalchemy import Connection

from app.core.tables import Base


def run() -> None:
    """Run the migrations that were asked for."""
    connection = context.config.attributes["connection"]
    context.configure(
        connection=connection,
        target_metadata=Base.metadata,
        render_as_batch=True,  # SQLite alters a table by copying it
        transactional_ddl=True,  # true of SQLite as well, since app.core.db begins its transactions
    )
    with without_foreign_keys(connection), context.begin_transaction():
        context.run_migrations()


@contextmanager
def without_foreign_keys(connection: Connection) -> Iterator[None]:
    """Let SQLite drop a table that has been copied without what hangs on its rows; within a transaction it cannot."""
    if connection.dialect.name != "sqlite":
        yield
        return
    driver = connection.connection.driver_connection
    assert driver is not None and not driver.in_transaction
    driver.execute("PRAGMA foreign_keys=OFF")
    yield
    assert not driver.in_transaction
    driver.execute("PRAGMA foreign_keys=ON")


run()
