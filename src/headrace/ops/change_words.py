"""How rows of a source state their change: the words of a change column, and Debezium's envelopes."""

from __future__ import annotations

from headrace.expr.literal import text_literal
from headrace.schema import Struct
from headrace.syntax import quote

# The names of the projections after a source of changes.
WITHOUT_CHANGE, DEBEZIUM = "without_change", "debezium"

ADDS = ("insert", "i", "c", "r", "+", "+i", "update_after", "+u")
TAKES = ("delete", "d", "-", "-d", "update_before", "-u")
REPLACES = ("update", "u", "upsert", "replace")
"""Words that insert their row if a key tells which row it replaces. Without a key, the replaced row is unknown."""

_CURE = (
    '. An update does not name the row that it replaces: use change_format="upsert" with a key, or the words update_before and update_after'
)


def weight(column: str, *, keyed: bool) -> str:
    """Return the weight of a row by the word in its column, in SQL; null for any other word. Case makes no difference.

    Operators are named after this text: a change of it makes them start without state.
    """
    adds = ADDS + REPLACES if keyed else ADDS
    return f"CASE WHEN {_word(column)} IN ({_listed(adds)}) THEN 1 WHEN {_word(column)} IN ({_listed(TAKES)}) THEN -1 END"


def reason(text: str, columns: tuple[str, ...]) -> str | None:
    """Return why a row has no weight by a text of `weight`, in SQL; None for any other text."""
    weighed = ((column, keyed) for column in columns for keyed in (False, True) if text == weight(column, keyed=keyed))
    column, keyed = next(weighed, (None, False))
    if column is None:
        return None
    adds = ADDS + REPLACES if keyed else ADDS
    word = f"coalesce(concat('''', left(CAST({quote(column)} AS string), 80), ''''), 'null')"
    allowed = f"; expected {', '.join(adds)} for an insertion, {', '.join(TAKES)} for a deletion"
    cure = "''" if keyed else f"if({_word(column)} IN ({_listed(REPLACES)}), {text_literal(_CURE)}, '')"
    return f"concat({text_literal(f'NO_WEIGHT: `{column}` is ')}, {word}, {text_literal(allowed)}, {cure})"


def after_items(envelope: Struct) -> tuple[tuple[str, str], ...]:
    """Return the columns of the rows in envelopes, with their expressions over one change of an envelope."""
    after = envelope.get("after")
    assert isinstance(after, Struct)
    return tuple((field.name, f"change.row.{quote(field.name)}") for field in after.fields)


def _word(column: str) -> str:
    return f"lower(CAST({quote(column)} AS string))"


def _listed(words: tuple[str, ...]) -> str:
    return ", ".join(f"'{word}'" for word in words)
