"""Rows whose parent is gone: SQLite checks no foreign key while migrations run, see env.py, and so cascades none."""

from sqlalchemy import Connection


def delete_orphans(connection: Connection) -> None:
    """Delete, on SQLite, what ON DELETE CASCADE would have taken; to be called by whoever deletes parents."""
    if connection.dialect.name != "sqlite":
        return
    while orphans := connection.exec_driver_sql("PRAGMA foreign_key_check").all():
        for table, row, *_ in orphans:
            connection.exec_driver_sql(f"DELETE FROM {table} WHERE rowid = ?", (row,))
