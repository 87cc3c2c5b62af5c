"""Dates, times and durations of XSD, of any year and precision, and their canonical spellings."""

from __future__ import annotations

import re
from decimal import Decimal
from typing import NamedTuple

from stratalog.lang.values.numbers import EXACT

DAY = 24 * 60 * 60
_YEAR = r"(-?(?:[1-9][0-9]{3,17}|0[0-9]{3}))"  # longer years are kept as written
_DATE = _YEAR + r"-([0-9]{2})-([0-9]{2})"
_TIME = r"([0-9]{2}):([0-9]{2}):([0-9]{2})(?:\.([0-9]+))?"
_ZONE = r"(Z|[+-](?:0[0-9]|1[0-3]):[0-5][0-9]|[+-]14:00)?"
_DATE_PATTERN = re.compile(_DATE + _ZONE)
_DATETIME_PATTERN = re.compile(_DATE + "T" + _TIME + _ZONE)
_TIME_PATTERN = re.compile(_TIME + _ZONE)
_YEAR_PATTERN = re.compile(_YEAR + _ZONE)
_AMOUNT = r"([0-9]{1,4000})"  # longer durations are kept as written
_DAYS_PATTERN = re.compile(
    rf"(-?)P(?:{_AMOUNT}D)?(?:T(?:{_AMOUNT}H)?(?:{_AMOUNT}M)?(?:{_AMOUNT}(?:\.([0-9]+))?S)?)?"
)
_MONTHS_PATTERN = re.compile(rf"(-?)P(?:{_AMOUNT}Y)?(?:{_AMOUNT}M)?")
_MONTH_DAYS = (31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)


class Moment(NamedTuple):
    """A local date and time: day 0 is 1970-01-01; `fraction` holds the digits after the dot."""

    day: int
    second: int
    fraction: str
    zone: int | None  # minutes east of UTC

    @property
    def instant(self) -> tuple[int, str]:
        """Return what orders moments that have a zone, and likewise those that have none."""
        return self.day * DAY + self.second - 60 * (self.zone or 0), self.fraction


def civil(day: int) -> tuple[int, int, int]:
    """Return year, month and day of the month of a day number, in the Gregorian calendar."""
    # Years counted from March have their leap day last; 400 of them are always 146 097 days.
    era, rest = divmod(day + 719468, 146097)
    year = (rest - rest // 1460 + rest // 36524 - rest // 146096) // 365
    in_year = rest - (365 * year + year // 4 - year // 100)
    month = (5 * in_year + 2) // 153
    date = in_year - (153 * month + 2) // 5 + 1
    month = month + 3 if month < 10 else month - 9  # noqa: PLR2004  # March is 0, January 10
    return year + era * 400 + (month <= 2), month, date  # noqa: PLR2004


def day_number(year: int, month: int, date: int) -> int | None:
    """Return the day number of a date, or None if there is no such date."""
    if not 1 <= month <= len(_MONTH_DAYS):
        return None
    leap = month == 2 and year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)  # noqa: PLR2004
    if not 1 <= date <= _MONTH_DAYS[month - 1] + leap:
        return None
    shifted = year - (month <= 2)  # noqa: PLR2004
    era, in_era = divmod(shifted, 400)
    in_year = (153 * ((month + 9) % 12) + 2) // 5 + date - 1
    return era * 146097 + in_era * 365 + in_era // 4 - in_era // 100 + in_year - 719468


def parse_date(text: str) -> Moment | None:
    """Return the start of the date that `text` spells, or None if it is ill-typed."""
    found = _DATE_PATTERN.fullmatch(text)
    if not found:
        return None
    day = day_number(int(found[1]), int(found[2]), int(found[3]))
    return None if day is None else Moment(day, 0, "", _zone(found[4]))


def parse_datetime(text: str) -> Moment | None:
    """Return the moment that `text` spells, in UTC if it has a zone, or None if it is ill-typed."""
    found = _DATETIME_PATTERN.fullmatch(text)
    if not found:
        return None
    day = day_number(int(found[1]), int(found[2]), int(found[3]))
    second = _second_of_day(found[4], found[5], found[6], found[7])
    if day is None or second is None:
        return None
    zone = _zone(found[8])
    days, second = divmod(second - 60 * (zone or 0), DAY)
    return Moment(day + days, second, _fraction(found[7]), None if zone is None else 0)


def parse_time(text: str) -> Moment | None:
    """Return the time on day 0 that `text` spells, or None if it is ill-typed."""
    found = _TIME_PATTERN.fullmatch(text)
    if not found:
        return None
    second = _second_of_day(found[1], found[2], found[3], found[4])
    if second is None:
        return None
    return Moment(0, second % DAY, _fraction(found[4]), _zone(found[5]))


def parse_year(text: str) -> Moment | None:
    """Return the start of the year that `text` spells, or None if it is ill-typed."""
    found = _YEAR_PATTERN.fullmatch(text)
    if not found:
        return None
    day = day_number(int(found[1]), 1, 1)
    return None if day is None else Moment(day, 0, "", _zone(found[2]))


def date_text(moment: Moment) -> str:
    """Return the canonical spelling of the moment's date."""
    year, month, date = civil(moment.day)
    return f"{_year_text(year)}-{month:02}-{date:02}{zone_text(moment.zone)}"


def datetime_text(moment: Moment) -> str:
    """Return the canonical spelling of the moment."""
    return date_text(moment._replace(zone=None)) + "T" + time_text(moment)


def time_text(moment: Moment) -> str:
    """Return the canonical spelling of the moment's time of day."""
    minutes, second = divmod(moment.second, 60)
    hour, minute = divmod(minutes, 60)
    fraction = "." + moment.fraction if moment.fraction else ""
    return f"{hour:02}:{minute:02}:{second:02}{fraction}{zone_text(moment.zone)}"


def year_text(moment: Moment) -> str:
    """Return the canonical spelling of the moment's year."""
    return _year_text(civil(moment.day)[0]) + zone_text(moment.zone)


def zone_text(zone: int | None) -> str:
    """Return the spelling of a time zone: empty, Z or +hh:mm."""
    if not zone:
        return "" if zone is None else "Z"
    hours, minutes = divmod(abs(zone), 60)
    return f"{'-' if zone < 0 else '+'}{hours:02}:{minutes:02}"


def parse_days(text: str) -> Decimal | None:
    """Return the seconds of the dayTimeDuration that `text` spells, or None if it is ill-typed."""
    found = _DAYS_PATTERN.fullmatch(text)
    if not found or text.endswith(("P", "T")):
        return None
    total = Decimal(f"{found[5] or 0}.{found[6] or 0}")
    for amount, unit in ((found[2], DAY), (found[3], 3600), (found[4], 60)):
        total = EXACT.add(total, EXACT.multiply(Decimal(amount or 0), Decimal(unit)))
    return total.copy_negate() if found[1] else total


def days_text(seconds: Decimal) -> str:
    """Return the canonical spelling of a dayTimeDuration."""
    whole, _, fraction = format(seconds.copy_abs(), "f").partition(".")
    fraction = fraction.rstrip("0")
    minutes, second = divmod(int(Decimal(whole)), 60)
    hours, minute = divmod(minutes, 60)
    days, hour = divmod(hours, 24)
    date = f"{Decimal(days):f}D" if days else ""
    last = f"{second}{'.' + fraction if fraction else ''}S" if second or fraction else ""
    time = (f"{hour}H" if hour else "") + (f"{minute}M" if minute else "") + last
    if not date and not time:
        return "PT0S"
    sign = "-" if seconds.is_signed() else ""
    return f"{sign}P{date}{'T' + time if time else ''}"


def parse_months(text: str) -> int | None:
    """Return the months of the yearMonthDuration that `text` spells, or None if it is ill-typed."""
    found = _MONTHS_PATTERN.fullmatch(text)
    if not found or text.endswith("P"):
        return None
    months = 12 * int(Decimal(found[2] or 0)) + int(Decimal(found[3] or 0))
    return -months if found[1] else months


def months_text(months: int) -> str:
    """Return the canonical spelling of a yearMonthDuration."""
    years, month = divmod(abs(months), 12)
    text = (f"{Decimal(years):f}Y" if years else "") + (f"{month}M" if month or not years else "")
    return f"{'-' if months < 0 else ''}P{text}"


def _zone(text: str | None) -> int | None:
    if text is None or text == "Z":
        return None if text is None else 0
    minutes = 60 * int(text[1:3]) + int(text[4:])
    return -minutes if text[0] == "-" else minutes


def _second_of_day(hour: str, minute: str, second: str, fraction: str | None) -> int | None:
    clock = (int(hour), int(minute), int(second))
    if clock == (24, 0, 0) and not _fraction(fraction):
        return DAY
    if clock[0] >= 24 or clock[1] >= 60 or clock[2] >= 60:  # noqa: PLR2004  # the clock's own limits
        return None
    return 3600 * clock[0] + 60 * clock[1] + clock[2]


def _fraction(digits: str | None) -> str:
    return (digits or "").rstrip("0")


def _year_text(year: int) -> str:
    return f"-{-year:04}" if year < 0 else f"{year:04}"
