"""Dates as people write them, and the periods that they are part of."""

from datetime import UTC, date, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.http.periods import MAX_DATE, date_of, period_of


@pytest.mark.parametrize(
    ("written", "day"),
    [
        ("2024-03-01", date(2024, 3, 1)),
        ("2024-03-01T23:30:00-08:00", date(2024, 3, 1)),  # the day that is written
        ("2024-03-01 00:10", date(2024, 3, 1)),
        ("2024/3/1", date(2024, 3, 1)),
        ("20240301", date(2024, 3, 1)),
        ("20240301T101500Z", date(2024, 3, 1)),
        ("Fri, 01 Mar 2024 10:00:00 +0100", date(2024, 3, 1)),
        ("1 Mar 2024", date(2024, 3, 1)),
        ("1709251200", date(2024, 3, 1)),
        ("1709251199.75", date(2024, 2, 29)),
        ("1709251200123", date(2024, 3, 1)),
        ("2024-02-30", None),
        ("2024-03-011", None),
        ("01.03.2024", None),
        ("17", None),
        ("", None),
        ("yesterday", None),
    ],
)
def test_dates_are_read_as_they_are_written(written: str, day: date | None) -> None:
    assert date_of(written) == day
    assert period_of(written[:MAX_DATE], "day") == (None if day is None else day.isoformat())


@given(st.datetimes(datetime(1974, 1, 1), datetime(2286, 1, 1)))
def test_every_date_is_read_in_every_form(at: datetime) -> None:
    forms = [at.isoformat(), at.isoformat(" "), f"{at:%Y%m%dT%H%M}", str(int(at.replace(tzinfo=UTC).timestamp()))]
    forms += [f"{at:%a, %d %b %Y %H:%M:%S} +0000", str(int(at.replace(tzinfo=UTC).timestamp()) * 1000)]
    for written in forms:
        assert date_of(written[:MAX_DATE]) == at.date(), written
        assert period_of(written[:MAX_DATE], "week") == f"{at:%G-W%V}"
        assert period_of(written[:MAX_DATE], "month") == f"{at:%Y-%m}"
        assert period_of(written[:MAX_DATE], "year") == f"{at:%Y}"


def test_days_that_sql_has_counted_are_days() -> None:
    assert [period_of(f" {n}", "day") for n in (0, 19783)] == ["1970-01-01", "2024-03-01"]


def test_a_month_or_a_year_has_no_finer_period() -> None:
    assert [period_of("2024-03", period) for period in ("day", "week", "month", "year")] == [
        None, None, "2024-03", "2024",
    ]  # fmt: skip
    assert [period_of("2024", period) for period in ("day", "week", "month", "year")] == [None, None, None, "2024"]
