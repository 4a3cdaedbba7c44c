"""Whether the API may be opened as the settings say: to other machines only with keys, or if somebody insists."""

import logging

from app.access import keys
from app.access.callers import is_reachable
from app.core.db import Database
from app.core.settings import PREFIX, Settings

logger = logging.getLogger(__name__)


class OpenToAll(RuntimeError):
    """Strangers could reach the API, and nobody said that they may."""


def check_opening(database: Database, settings: Settings) -> None:
    """Raise OpenToAll if other machines may reach an API that asks for no keys; say so if that is wanted, or harmless.

    Needs the schema.
    """
    with database.readers.begin() as session:
        asks = settings.api_keys == "required" or (settings.api_keys == "auto" and keys.are_made(session))
    if asks:
        return
    if not is_reachable(settings):
        logger.info(
            "no API keys are asked for: whoever can open a connection on this machine may read and change everything; "
            "`newfound keys create` makes the first key"
        )
    elif settings.api_keys == "off":
        logger.warning(
            "NEWFOUND_API_KEYS is off: whoever reaches port %d may read and delete everything", settings.port
        )
    else:
        raise OpenToAll(
            f"the API could be reached from other machines ({PREFIX}HOST is {settings.host}, or a proxy is named), and "
            f"there are no API keys: make one with `newfound keys create --owner NAME`; or set {PREFIX}API_KEYS to "
            "required, and make it later, or to off, if something else keeps strangers out"
        )
