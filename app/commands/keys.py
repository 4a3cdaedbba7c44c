"""`newfound keys`: make, list and revoke API keys, over the database of the service."""

import argparse
import json
import sys
from datetime import UTC, datetime

from rich.console import Console
from rich.table import Table

from app.access import keys
from app.commands import CommandFailed
from app.core.db import Database, connect
from app.core.schema import check_schema
from app.core.settings import Settings
from app.core.tables import LOCAL, ApiKey

DAY = 86_400.0


def add_arguments(command: argparse.ArgumentParser) -> None:
    """What can be done with keys."""
    actions = command.add_subparsers(dest="action", required=True, metavar="ACTION")
    create = actions.add_parser("create", help="make a key, and print it: it is shown this once")
    create.add_argument(
        "--owner", default=LOCAL, help="to whom all belongs that is made with it (default: %(default)s)"
    )
    create.add_argument(
        "--scopes", nargs="+", choices=keys.SCOPES, default=["read", "write"],
        help="read: look; write: also change; admin: also what belongs to others, and metrics (default: read write)",
    )  # fmt: skip
    create.add_argument("--name", help="for people: who has it, or where")
    create.add_argument("--days", type=float, help="after which it expires (default: never)")
    listed = actions.add_parser("list", help="show all keys that were ever made, without their secrets")
    listed.add_argument("--json", action="store_true")
    actions.add_parser("revoke", help="refuse a key from now on").add_argument(
        "id", help="as `newfound keys list` has it"
    )


def run(settings: Settings, parsed: argparse.Namespace) -> int:
    """Do it. Raises CommandFailed."""
    database = connect(settings.database)
    check_schema(database)
    try:
        {"create": create, "list": list_keys, "revoke": revoke}[parsed.action](database, parsed)
    except keys.UnusableKey as error:
        raise CommandFailed(str(error)) from error
    finally:
        database.engine.dispose()
    return 0


def create(database: Database, parsed: argparse.Namespace) -> None:
    """Make a key. It alone goes to the standard output, so that a script can keep it."""
    if parsed.days is not None and not 0 < parsed.days <= 36_500:
        raise CommandFailed("--days: a key is good for more than 0 and at most 36500 days")
    seconds = None if parsed.days is None else parsed.days * DAY
    with database.sessions.begin() as session:
        is_first = not keys.are_made(session)
        made = keys.create(session, parsed.owner, parsed.scopes, parsed.name, seconds)
    print(made)
    print(f"Keep it now: it is not shown again. It is that of {parsed.owner!r}.", file=sys.stderr)
    if is_first:
        print("It is the first one: from now on the service asks for keys.", file=sys.stderr)


def list_keys(database: Database, parsed: argparse.Namespace) -> None:
    """Show all keys."""
    with database.readers.begin() as session:
        found = [told(key) for key in keys.all_keys(session)]
    if parsed.json:
        print(json.dumps(found, indent=2))
        return
    names = ("id", "owner", "name", "scopes", "created", "used", "expires", "revoked")
    table = Table(*names, box=None, pad_edge=False)
    for key in found:
        table.add_row(*(key[name] or "" for name in names))
    Console(soft_wrap=True).print(table)


def revoke(database: Database, parsed: argparse.Namespace) -> None:
    """Revoke a key."""
    with database.sessions.begin() as session:
        found = keys.revoke(session, parsed.id)
    print(f"key {found.id} of {found.owner!r} is refused from now on, by running services within seconds")


def told(key: ApiKey) -> dict[str, str | None]:
    """What is shown of a key."""
    times = {"created": key.created_at, "used": key.used_at, "expires": key.expires_at, "revoked": key.revoked_at}
    return {"id": key.id, "owner": key.owner, "name": key.name, "scopes": key.scopes} | {
        name: None if at is None else f"{datetime.fromtimestamp(at, UTC):%Y-%m-%d %H:%M} UTC"
        for name, at in times.items()
    }
