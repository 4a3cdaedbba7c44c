"""A column of which SQLite's planner uses no index: where it would take the wrong one, and read all of it."""

from typing import Any

from sqlalchemy import ColumnElement
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.compiler import SQLCompiler
from sqlalchemy.sql.functions import FunctionElement


class Unindexed(FunctionElement[Any]):
    """The value of a column; PostgreSQL, whose planner knows what costs what, sees the column itself."""

    inherit_cache = True


@compiles(Unindexed, "sqlite")
def _in_sqlite(element: Unindexed, compiler: SQLCompiler, **options: Any) -> str:
    return f"+{compiler.process(element.clauses, **options)}"


@compiles(Unindexed, "postgresql")
def _in_postgresql(element: Unindexed, compiler: SQLCompiler, **options: Any) -> str:
    return compiler.process(element.clauses, **options)


def unindexed(column: Any) -> ColumnElement[Any]:
    """The column, where no index is to be used."""
    found = Unindexed(column)
    found.type = column.type
    return found
