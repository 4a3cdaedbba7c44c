"""How Alembic runs: over the connection that app.core.schema.migrate hands it, in one transaction."""

from alembic import context

from app.core.tables import Base


def run() -> None:
    """Run the migrations that were asked for."""
    context.configure(
        connection=context.config.attributes["connection"],
        target_metadata=Base.metadata,
        render_as_batch=True,  # SQLite alters a table by copying it
        transactional_ddl=True,  # true of SQLite as well, since app.core.db begins its transactions
    )
    with context.begin_transaction():
        context.run_migrations()


run()
