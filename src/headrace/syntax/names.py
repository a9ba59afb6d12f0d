"""Names in Spark SQL text: the columns that an expression refers to, and quoting."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any

from headrace.syntax.tokens import continued, tokens, written

_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")
_SELECT = "SELECT "
_QUOTED = re.compile(r"`((?:[^`]|``)+)`\Z")
_PART = re.compile(r"[A-Za-z_][A-Za-z0-9_]*|`(?:[^`]|``)+`")
_DOTTED = re.compile(rf"(?:{_PART.pattern})(?:\.(?:{_PART.pattern}))+")

# Words with a meaning of their own in expressions: a column of that name needs back quotes.
_SPARK_WORDS = """all and any as between by case cast collate collation cross current_catalog current_database current_date
current_schema current_time current_timestamp current_user distinct else end escape except exists false for from group having
ilike in intersect interval is join lateral like localtime localtimestamp minus natural not null on or order over rlike select
semi session_user some then true try_cast union unique user using when where window with within"""
_WORDS = frozenset(_SPARK_WORDS.split())

# Functions that Spark calls without parentheses; sqlglot takes some of them for columns.
_NILADIC = frozenset(word for word in _WORDS if word.startswith(("current_", "local")) or word.endswith("user"))

# First arguments of date functions; sqlglot takes the rarer ones for columns.
_UNITS = frozenset(("year", "quarter", "month", "week", "day", "dayofyear", "hour", "minute", "second", "millisecond", "microsecond"))


def quote(name: str) -> str:
    """Return a column's name as SQL text, quoted if necessary.

    >>> quote("amount"), quote("two words"), quote("case")
    ('amount', '`two words`', '`case`')
    """
    if _PLAIN.match(name) and name.lower() not in _WORDS:
        return name
    return "`" + name.replace("`", "``") + "`"


def plain_name(text: str) -> str | None:
    """Return the column's name if a text is just one name, else None.

    >>> plain_name("amount"), plain_name("`two words`"), plain_name("amount + 1")
    ('amount', 'two words', None)
    """
    text = text.strip()
    if _PLAIN.match(text) and text.lower() not in _WORDS:
        return text
    quoted = _QUOTED.match(text)
    return quoted[1].replace("``", "`") if quoted else None


def path_of(text: str) -> tuple[str, ...] | None:
    """Return the path of a column or field if a text is just names with dots between them, else None.

    >>> path_of("amount"), path_of("w.`the end`"), path_of("amount + 1"), path_of("1.5")
    (('amount',), ('w', 'the end'), None, None)
    """
    name = plain_name(text)
    if name is not None:
        return (name,)
    text = text.strip()
    # A keyword before or after a dot is a name.
    return tuple(_unquoted(part) for part in _PART.findall(text)) if _DOTTED.fullmatch(text) else None


def _unquoted(name: str) -> str:
    return name[1:-1].replace("``", "`") if name.startswith("`") else name


@lru_cache(maxsize=8192)
def words(text: str) -> frozenset[str] | None:
    """Return the words and names of a text in lower case, without literals and comments; None if sqlglot cannot read it.

    >>> sorted(words("coalesce(`my card`, 'now') > 1 -- a note"))
    ['coalesce', 'my card']
    """
    parsed = tokens(text)
    kept = (token for token in parsed if not token.token_type.name.endswith(("STRING", "NUMBER")))
    return frozenset(token.text.lower() for token in kept if re.search(r"\w", token.text)) if parsed else None


@lru_cache(maxsize=8192)
def references(text: str) -> tuple[tuple[str, ...], ...] | None:
    """Return the columns a text refers to, each as its path, in the order of first use; None if sqlglot cannot parse it.

    >>> references("e.amount + fee")
    (('e', 'amount'), ('fee',))
    >>> references("amount >") is None
    True
    """
    name = plain_name(text)
    if name is not None:
        return ((name,),)
    tree = parsed(text)
    if tree is None:
        return None
    from sqlglot import exp

    places: dict[tuple[str, ...], int] = {}
    for column in tree.find_all(exp.Column):
        if isinstance(column.this, exp.Star) or _names_collation(column):
            continue
        path = tuple(part.name for part in column.parts)
        bare = len(path) == 1 and not column.this.args.get("quoted")
        if bare and (path[0].lower() in _NILADIC or path[0].lower() in _UNITS):
            continue
        place = column.this.meta.get("start", 0)
        places[path] = min(place, places.get(path, place))
    return tuple(sorted(places, key=lambda path: places[path]))


def used(text: str, columns: Iterable[str]) -> frozenset[str] | None:
    """Return the columns that a text may name, in lower case, rather too many than too few. None if it may name all by a star.

    A column counts wherever its name is a word of the text, because sqlglot drops arguments of some functions that it does not know.

    >>> sorted(used("percentile(n, 0.5, day)", ["n", "day", "card"]) or ())
    ['day', 'n']
    >>> used("to_json(struct(*))", ["day"]), used("count(*)", ["day"])
    (None, frozenset())
    """
    if _all(text):
        return None
    low = text.lower()
    words = set(re.findall(r"\w+", low))
    names = (name.lower() for name in columns)
    return frozenset(name for name in names if name in words or (not _PLAIN.match(name) and name.replace("`", "``") in low))


def _all(text: str) -> bool:
    """Return whether a text may name all columns by a star; the star of `count(*)` names none."""
    if "*" not in text:
        return False
    from sqlglot import exp

    tree = parsed(text)
    return tree is None or any(not isinstance(star.parent, exp.Count) for star in tree.find_all(exp.Star))


def split_alias(text: str) -> tuple[str, str | None]:
    """Split an expression and its alias after AS; without AS the alias is None.

    >>> split_alias("amount * 2 AS twice")
    ('amount * 2', 'twice')
    >>> split_alias("cast(amount as int)"), split_alias("amount descending")
    (('cast(amount as int)', None), ('amount descending', None))
    """
    name = _alias(text)
    if name is None:
        return text, None
    *before, word, last = tokens(text)
    return (written(text, before), name) if _is_as(word) and last.text == name else (text, None)


def loose_alias(text: str) -> str | None:
    """Return the alias that a text gives without AS, which is a mistake or a missing comma, else None.

    >>> loose_alias("amount descending"), loose_alias("amount AS spent")
    ('descending', None)
    """
    name = _alias(text)
    return None if name is None or any(_is_as(word) for word in tokens(text)[-2:-1]) else name


def around_as(text: str) -> tuple[str, str] | None:
    """Return the texts before and after a final AS, by tokens alone, for a text that cannot be parsed.

    >>> around_as("sum(amount AS spent"), around_as("amount")
    (('sum(amount', 'spent'), None)
    """
    words = tokens(text)
    if len(words) < 3 or not _is_as(words[-2]):
        return None
    return written(text, words[:-2]), str(words[-1].text)


def _alias(text: str) -> str | None:
    """Return the alias of an expression, with or without AS."""
    tree = parsed(text) if plain_name(text) is None else None
    if tree is None:
        return None
    from sqlglot import exp

    alias = tree.expressions[0]
    return str(alias.alias) if isinstance(alias, exp.Alias) and len(tokens(text)) > 1 else None


def _is_as(token: Any) -> bool:
    return str(token.token_type.name) == "ALIAS"


def unqualified(text: str, alias: str, renamed: Mapping[str, str] | None = None) -> str:
    """Remove a qualifier from the columns of a text; everything else stays as written.

    `renamed` maps names of such columns, in lower case, to new names.

    >>> unqualified("c.amount > 3 AND d.amount > 4", "c")
    'amount > 3 AND d.amount > 4'
    >>> unqualified("c.amount > 3 AND d.amount > 4", "d", {"amount": "amount_right"})
    'c.amount > 3 AND amount_right > 4'
    """
    paths = references(text) or ()
    tree = parsed(text) if any(len(path) > 1 and path[0].lower() == alias.lower() for path in paths) else None
    if tree is None:
        return text
    from sqlglot import exp

    changes = []
    for column in tree.find_all(exp.Column):
        first, *rest = column.parts
        if rest and first.name.lower() == alias.lower():
            other = (renamed or {}).get(rest[0].name.lower())
            start, end = first.meta["start"] - len(_SELECT), rest[0].meta["start"] - len(_SELECT)
            changes.append((start, end, "") if other is None else (start, rest[0].meta["end"] + 1 - len(_SELECT), quote(other)))
    for start, end, put in sorted(changes, reverse=True):
        text = text[:start] + put + text[end:]
    return text


def _names_collation(column: Any) -> bool:
    """Return whether sqlglot's column is a collation: `card COLLATE utf8_lcase`, `CAST(card AS STRING COLLATE utf8_lcase)`."""
    from sqlglot import exp

    above = column.parent
    return isinstance(above, exp.DataType) or (isinstance(above, exp.Collate) and column.arg_key == "expression")


@lru_cache(maxsize=8192)
def parsed(text: str):  # type: ignore[no-untyped-def]  # sqlglot is imported only when needed
    import logging

    import sqlglot
    from sqlglot.errors import SqlglotError

    # Spark judges what sqlglot does not know, so sqlglot's warnings would only alarm.
    logging.getLogger("sqlglot").setLevel(logging.ERROR)
    try:
        tree = sqlglot.parse_one(_SELECT + continued(text), read="spark")
    except (SqlglotError, RecursionError):
        return None
    from sqlglot import exp

    if (
        not isinstance(tree, exp.Select)
        or len(tree.expressions) != 1
        or any(tree.args[part] for part in tree.args if part != "expressions")
    ):
        return None
    return tree if sum(1 for _ in tree.find_all(exp.Query)) == 1 else None
