"""Converts Python values to and from Spark's internal values, for memory sources and results.

An internal timestamp is microseconds since 1970 in UTC, a date is days, an interval is microseconds (or months), a struct is a tuple.
A Python timestamp or text without an offset is in the session's time zone.
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from decimal import Decimal, InvalidOperation
from typing import Any
from zoneinfo import ZoneInfo, available_timezones

from headrace.errors import SchemaError, here
from headrace.schema.types import Array, Atomic, Map, Struct, Type
from headrace.spelling import suggestion

Convert = Callable[[Any], Any]

_EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
_EPOCH_NTZ = dt.datetime(1970, 1, 1)
_EPOCH_DAY = dt.date(1970, 1, 1).toordinal()
_MICRO = dt.timedelta(microseconds=1)
_BITS = {"tinyint": 8, "smallint": 16, "int": 32, "bigint": 64}


class Misfit(Exception):
    """The reason why a value does not fit its type, and the path to the part that does not."""

    def __init__(self, why: str, path: str = "") -> None:
        super().__init__(why)
        self.why = why
        self.path = path


def zone(name: str) -> dt.tzinfo:
    """Returns the time zone of a name: `Europe/Stockholm`, `UTC`, `+02:00`."""
    offset = re.fullmatch(r"(?:UTC|GMT)?([+-])(\d{1,2})(?::?(\d{2}))?", name)
    if offset:
        delta = dt.timedelta(hours=int(offset[2]), minutes=int(offset[3] or 0))
        return dt.timezone(delta if offset[1] == "+" else -delta)
    if name.upper() in ("UTC", "Z", "GMT", "ETC/UTC"):
        return dt.UTC
    try:
        return ZoneInfo(name)
    except (KeyError, ValueError, OSError):
        rest = "use a name like Europe/Stockholm or UTC; on a machine without time zone data, `pip install tzdata`"
        hint = suggestion(name, available_timezones(), rest, least=0.75)
        error = SchemaError("UNKNOWN_TIME_ZONE", f"there is no time zone `{name}`", hint=hint, site=here())
    raise error


def rows_to_internal(rows: Iterable[Any], schema: Struct, time_zone: dt.tzinfo, what: str = "") -> list[tuple[Any, ...]]:
    """Returns a user's rows, tuples or dicts, as tuples of internal values; `what` names their source in an error.

    >>> from headrace.schema import parse_schema
    >>> rows_to_internal([("a", "1970-01-01 00:00:01")], parse_schema("k string, ts timestamp"), dt.UTC, "t")
    [('a', 1000000)]
    """
    convert = to_internal(schema, time_zone)
    converted = []
    for number, row in enumerate(rows):
        try:
            if row is None:
                raise Misfit("a row cannot be None")
            converted.append(convert(row))
        except Misfit as misfit:
            place = f"rows[{number}]{f' of {what}' if what else ''}" + (f", `{misfit.path}`" if misfit.path else "")
            error = SchemaError("BAD_VALUE", f"{place}: {misfit.why}", hint=f"correct the value or the schema: {schema.ddl}", site=here())
            raise error from None
    return converted


def rows_from_internal(rows: Iterable[Sequence[Any]], schema: Struct, time_zone: dt.tzinfo) -> list[tuple[Any, ...]]:
    """Returns rows of internal values as Python values: timestamps aware in the session's zone, structs as tuples."""
    convert = from_internal(schema, time_zone)
    return [convert(row) for row in rows]


def to_internal(kind: Type, time_zone: dt.tzinfo) -> Convert:
    """Returns the function that converts a Python value of a type to the internal one; it raises Misfit."""
    match kind:
        case Struct():
            return _struct(kind, time_zone)
        case Array(element):
            return _nullable(_array(to_internal(element, time_zone)))
        case Map(key, value):
            return _nullable(_map(to_internal(key, time_zone), to_internal(value, time_zone)))
        case Atomic(name):
            return _nullable(_atomic(name, time_zone))
    raise Misfit(f"Python values of type {kind} are not supported")


def from_internal(kind: Type, time_zone: dt.tzinfo) -> Convert:
    """Returns the function that converts an internal value of a type to the Python one."""
    match kind:
        case Struct(fields):
            parts = [from_internal(field.type, time_zone) for field in fields]
            return _nullable(lambda row: tuple(part(value) for part, value in zip(parts, row, strict=True)))
        case Array(element):
            item = from_internal(element, time_zone)
            return _nullable(lambda values: [item(value) for value in values])
        case Map(key, value):
            first, second = from_internal(key, time_zone), from_internal(value, time_zone)
            return _nullable(lambda values: {first(name): second(item) for name, item in values.items()})
        case Atomic("timestamp" | "timestamp_ltz"):
            return _nullable(lambda micros: _aware(micros, time_zone))
        case Atomic("timestamp_ntz"):
            return _nullable(lambda micros: _EPOCH_NTZ + micros * _MICRO)
        case Atomic("date"):
            return _nullable(lambda day: dt.date.fromordinal(day + _EPOCH_DAY))
        case Atomic("binary"):
            return _nullable(bytes)
        case Atomic(name) if name.startswith("interval") and not _is_months(name):
            return _nullable(lambda micros: micros * _MICRO)
        case Atomic(name) if name.startswith("time("):
            return _nullable(lambda nanos: (_EPOCH_NTZ + nanos // 1000 * _MICRO).time())
    return lambda value: value


def _nullable(convert: Convert) -> Convert:
    return lambda value: None if value is None else convert(value)


def _struct(kind: Struct, time_zone: dt.tzinfo) -> Convert:
    parts = [(field.name, field.nullable, to_internal(field.type, time_zone)) for field in kind.fields]
    names = {field.name for field in kind.fields}

    def convert(row: Any) -> Any:
        if row is None:
            return None
        if isinstance(row, Mapping):
            unknown = [name for name in row if name not in names]
            if unknown:
                raise Misfit(f"there is no column `{unknown[0]}`")
            values: Sequence[Any] = [row.get(name) for name, _, _ in parts]
        elif isinstance(row, Sequence) and not isinstance(row, str | bytes):
            if len(row) != len(parts):
                raise Misfit(f"{len(row)} value{'' if len(row) == 1 else 's'} for {len(parts)} columns")
            values = row
        else:
            raise Misfit(f"{row!r} is of type {type(row).__name__}, expected a tuple or a dict")
        items = []
        for (name, nullable, part), value in zip(parts, values, strict=True):
            try:
                if value is None and not nullable:
                    raise Misfit("None is not allowed in a `not null` column")
                items.append(part(value))
            except Misfit as misfit:
                raise Misfit(misfit.why, f"{name}.{misfit.path}" if misfit.path else name) from None
        return tuple(items)

    return convert


def _array(element: Convert) -> Convert:
    def convert(values: Any) -> Any:
        if isinstance(values, str | bytes | Mapping) or not isinstance(values, Iterable):
            raise Misfit(f"{values!r} is of type {type(values).__name__}, expected a list")
        return [element(value) for value in values]

    return convert


def _map(key: Convert, value: Convert) -> Convert:
    def convert(values: Any) -> Any:
        if not isinstance(values, Mapping):
            raise Misfit(f"{values!r} is of type {type(values).__name__}, expected a dict")
        if None in values:
            raise Misfit("a map key cannot be None")
        return {key(name): value(item) for name, item in values.items()}

    return convert


def _atomic(name: str, time_zone: dt.tzinfo) -> Convert:
    if name in _BITS:
        return _integer(name)
    if name.startswith("decimal("):
        return _decimal(name)
    if name.startswith(("string", "char(", "varchar(")):
        return _text(name)
    if name.startswith("interval"):
        return _months if _is_months(name) else _interval
    if name.startswith("time("):
        return _clock
    simple = {"double": _double, "float": _double, "boolean": _boolean, "binary": _binary, "date": _date, "void": _void}
    if name in simple:
        return simple[name]
    if name in ("timestamp", "timestamp_ltz"):
        return lambda value: _timestamp(value, time_zone)
    if name == "timestamp_ntz":
        return _timestamp_ntz

    def refuse(value: Any) -> Any:
        raise Misfit(f"Python values of type {name} are not supported")

    return refuse


def _is_months(name: str) -> bool:
    return "year" in name or "month" in name


def _wrong(value: Any, name: str) -> Misfit:
    return Misfit(f"{value!r} is of type {type(value).__name__}, but the column is {name}")


def _integer(name: str) -> Convert:
    limit = 1 << (_BITS[name] - 1)

    def convert(value: Any) -> int:
        if isinstance(value, bool) or not hasattr(value, "__index__"):
            raise _wrong(value, name)
        number = int(value)
        if not -limit <= number < limit:
            raise Misfit(f"{number} is out of range for {name}")
        return number

    return convert


def _decimal(name: str) -> Convert:
    precision, scale = (int(part) for part in name[8:-1].split(","))
    step = Decimal(1).scaleb(-scale)

    def convert(value: Any) -> Decimal:
        if isinstance(value, bool) or not isinstance(value, int | str | Decimal):
            raise _wrong(value, name + " (pass a Decimal, an int or a string)" if isinstance(value, float) else name)
        try:
            number = Decimal(value)
        except InvalidOperation:
            raise Misfit(f"{value!r} is not a number") from None
        if not number.is_finite():
            raise Misfit(f"{value!r} is not a number that {name} can hold")
        if number.adjusted() >= precision - scale and number != 0:
            raise Misfit(f"{value} has too many digits for {name}")
        exact = number.quantize(step) if number.adjusted() + scale < 28 else _quantized(number, step)
        if exact != number:
            raise Misfit(f"{value} has too many decimal places for {name}")
        return exact

    return convert


def _quantized(number: Decimal, step: Decimal) -> Decimal:
    """Quantizes a number of more digits than the 28 of Python's default context."""
    from decimal import Context

    return number.quantize(step, context=Context(prec=60))


def _text(name: str) -> Convert:
    limit = int(name[name.index("(") + 1 : -1]) if "(" in name else None

    def convert(value: Any) -> str:
        if not isinstance(value, str):
            raise _wrong(value, name)
        if limit is not None and len(value) > limit:
            raise Misfit(f"{value!r} is too long for {name}")
        return value.ljust(limit) if limit is not None and name.startswith("char(") else value

    return convert


def _double(value: Any) -> float:
    if isinstance(value, bool | str | Decimal) or not hasattr(value, "__float__"):
        raise _wrong(value, "double")
    return float(value)


def _boolean(value: Any) -> bool:
    if isinstance(value, bool) or type(value).__name__ in ("bool", "bool_"):
        return bool(value)
    raise _wrong(value, "boolean")


def _binary(value: Any) -> bytearray:
    if not isinstance(value, bytes | bytearray):
        raise _wrong(value, "binary")
    return bytearray(value)


def _void(value: Any) -> Any:
    raise _wrong(value, "void")


def _date(value: Any) -> int:
    if isinstance(value, str):
        try:
            value = dt.date.fromisoformat(value)
        except ValueError:
            raise Misfit(f"{value!r} is not a date: write 2026-01-31") from None
    if not isinstance(value, dt.date) or isinstance(value, dt.datetime):
        raise _wrong(value, "date")
    return value.toordinal() - _EPOCH_DAY


def _moment(value: Any, name: str) -> dt.datetime:
    if isinstance(value, str):
        try:
            return dt.datetime.fromisoformat(value.strip())
        except ValueError:
            raise Misfit(f"{value!r} is not a timestamp: write 2026-01-31 12:00:00") from None
    if not isinstance(value, dt.datetime):
        raise _wrong(value, name)
    return value


def _timestamp(value: Any, time_zone: dt.tzinfo) -> int:
    moment = _moment(value, "timestamp")
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=time_zone)
    return (moment - _EPOCH) // _MICRO


def _aware(micros: int, time_zone: dt.tzinfo) -> dt.datetime:
    """Returns a timestamp in a time zone, or in UTC if it lies outside the years 1 to 9999 in that zone."""
    try:
        return (_EPOCH + micros * _MICRO).astimezone(time_zone)
    except OverflowError:
        pass
    try:
        return _EPOCH + micros * _MICRO
    except OverflowError:
        # The time is outside these years in UTC, but not in the zone.
        edge = dt.datetime.min if micros < 0 else dt.datetime.max
        offset = time_zone.utcoffset(edge) or dt.timedelta()
        return (_EPOCH_NTZ + (micros * _MICRO + offset)).replace(tzinfo=time_zone)


def _timestamp_ntz(value: Any) -> int:
    moment = _moment(value, "timestamp_ntz")
    if moment.tzinfo is not None:
        raise Misfit(f"{value!r} has a time zone, but the column is timestamp_ntz")
    return (moment - _EPOCH_NTZ) // _MICRO


def _interval(value: Any) -> int:
    if not isinstance(value, dt.timedelta):
        raise _wrong(value, "interval day to second")
    return value // _MICRO


def _months(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise Misfit(f"{value!r} is of type {type(value).__name__}: pass an interval of months as an int")
    return value


def _clock(value: Any) -> int:
    if not isinstance(value, dt.time):
        raise _wrong(value, "time")
    return ((value.hour * 60 + value.minute) * 60 + value.second) * 1_000_000_000 + value.microsecond * 1000
