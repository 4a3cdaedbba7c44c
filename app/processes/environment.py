"""From the environment to settings: what is wrong there as one line each, and what is in force."""

import os
import re
from difflib import get_close_matches
from typing import Any, NamedTuple

import pydantic_settings
from pydantic import ValidationError
from pydantic_core import ErrorDetails
from sqlalchemy.engine import make_url
from sqlalchemy.exc import ArgumentError

from app.core.settings import PREFIX, Settings

# Variables with our prefix that are no settings: docker-compose.yml reads the one, clients the other.
OTHERS = {f"{PREFIX}ADDRESS", f"{PREFIX}KEY"}
SECRET = re.compile("pass|secret|token", re.IGNORECASE)  # in the name of a URL's parameter
MASK = "hidden"


class WrongSetting(ValueError):
    """A setting cannot be used; the message has one line a setting, and each names it."""


class Shown(NamedTuple):
    """A setting as it is in force."""

    name: str
    value: Any
    origin: str  # environment or default


def read_settings(**given: Any) -> Settings:
    """The settings that the environment makes, but for those that are given.

    Raises WrongSetting, which names each variable that is at fault.
    """
    unknown = unknown_names()
    try:
        settings = Settings(**given)
    except ValidationError as error:
        raise WrongSetting("\n".join([*unknown, *map(fault, error.errors(include_url=False))])) from error
    except pydantic_settings.SettingsError as error:  # what should be JSON is none
        field = re.search(r'field "(\w+)"', str(error))
        named = variable(field[1]) if field else PREFIX
        raise WrongSetting("\n".join([*unknown, f"{named}: it should be JSON"])) from error
    if unknown:
        raise WrongSetting("\n".join(unknown))
    return settings


def variable(field: str) -> str:
    """The environment variable of a setting."""
    return PREFIX + field.upper()


def unknown_names() -> list[str]:
    """A line for each variable with our prefix that no setting has."""
    known = {variable(field) for field in Settings.model_fields}
    unknown = sorted(name for name in os.environ if name.upper().startswith(PREFIX) and name.upper() not in known)
    return [
        f"{name}: unknown setting; did you mean {get_close_matches(name.upper(), known, 1, 0.0)[0]}?"
        for name in unknown
        if name not in OTHERS
    ]


def fault(details: ErrorDetails) -> str:
    """One line on what is wrong with a setting. A rule of our own says itself what it may show of the value."""
    own_words = details["msg"].removeprefix("Value error, ")
    if not details["loc"]:
        return own_words  # a rule over several settings, which names them
    name = variable(str(details["loc"][0]))
    if details["type"] == "value_error":
        return f"{name}: {own_words}"
    if details["type"] == "string_pattern_mismatch":
        own_words = "does not have the form that docs/operations.md describes"
    return f"{name}: {details['input']!r} {own_words.removeprefix('Input ')}"


def in_force(settings: Settings) -> list[Shown]:
    """Every setting, with what is used where none was given, and secrets masked."""
    used = {
        "database_url": masked(settings.database),
        "broker_url": masked(settings.broker),
        "encodings_folder": str(settings.encodings),
        "data_folder": str(settings.data_folder.absolute()),
    }
    values = settings.model_dump(mode="json") | used
    given = settings.model_fields_set
    return [
        Shown(variable(field), value, "environment" if field in given else "default") for field, value in values.items()
    ]


def masked(url: str) -> str:
    """A URL without its secrets."""
    try:
        parsed = make_url(url)
    except (ArgumentError, ValueError):
        return url.partition(":")[0] + "://"  # filesystem:// has nothing more
    secrets = {name: MASK for name in parsed.query if SECRET.search(name)}
    return parsed.update_query_dict(secrets).render_as_string(hide_password=True)
