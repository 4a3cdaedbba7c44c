"""Dates as people write them into columns, and the day, week, month or year that each is part of."""

import re
from datetime import UTC, date, datetime, timedelta

from app.schemas.groups import Period

MAX_DATE = 16  # characters that matter: 2024-03-01T10:30, Fri, 01 Mar 2024
DAYS = " "  # with this, which no other text begins with, come days since 1970 that SQL has counted
SECONDS_A_DAY, MILLISECONDS_A_DAY = 86_400, 86_400_000

ISO = re.compile(r"(\d{4})([-/])(\d{1,2})\2(\d{1,2})(?:\D.*)?", re.ASCII | re.DOTALL)
COMPACT = re.compile(r"(\d{4})(\d{2})(\d{2})(?:T.*)?", re.ASCII | re.DOTALL)
MONTH = re.compile(r"(\d{4})-(\d{2})", re.ASCII)
YEAR = re.compile(r"([12]\d{3})", re.ASCII)
MAIL = re.compile(r"(?:[A-Z][a-z]{2}, )?(\d{1,2}) ([A-Z][a-z]{2}) (\d{4})(?:\D.*)?", re.ASCII | re.DOTALL)
MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
EPOCH = re.compile(r"(\d{9,13})(?:\.\d*)?", re.ASCII)  # shorter ones are counts or years rather than times
FIRST_MILLISECONDS = 10**11  # as seconds this would be the year 5138


def period_of(text: str, period: Period) -> str | None:
    """The period of a date that begins with this text; None if it is no date, or not so exact.

    The day is the one that is written, whatever the time zone; that of seconds or milliseconds since 1970 is in UTC.
    """
    if text.startswith(DAYS):
        return label(date(1970, 1, 1) + timedelta(days=int(text)), period)
    text = text.strip()
    if period == "year" and YEAR.fullmatch(text):
        return text
    if period in ("month", "year") and (found := MONTH.fullmatch(text)):
        return label(day_of(int(found[1]), int(found[2]), 1), period)
    return label(date_of(text), period)


def date_of(text: str) -> date | None:
    """The date that a text is; None if it is none."""
    if found := ISO.fullmatch(text):
        return day_of(int(found[1]), int(found[3]), int(found[4]))
    if found := COMPACT.fullmatch(text):
        return day_of(int(found[1]), int(found[2]), int(found[3]))
    if found := EPOCH.fullmatch(text):
        seconds = int(found[1])
        return datetime.fromtimestamp(seconds // 1000 if seconds >= FIRST_MILLISECONDS else seconds, UTC).date()
    if (found := MAIL.fullmatch(text)) and found[2] in MONTHS:
        return day_of(int(found[3]), MONTHS.index(found[2]) + 1, int(found[1]))
    return None


def day_of(year: int, month: int, day: int) -> date | None:
    """The day; None if the calendar has none such."""
    try:
        return date(year, month, day)
    except ValueError:
        return None


def label(day: date | None, period: Period) -> str | None:
    """The period that a day is part of, as ISO 8601 writes it."""
    if day is None:
        return None
    if period == "week":
        year, week, _ = day.isocalendar()
        return f"{year:04}-W{week:02}"
    return day.isoformat()[: {"year": 4, "month": 7}.get(period, 10)]
