"""The tables that a query reads."""

from __future__ import annotations

from typing import Any


def tables(query: str) -> tuple[str, ...] | None:
    """Return the names of the tables of a query, without those that it defines by WITH; None if sqlglot cannot parse it.

    >>> tables("WITH large AS (SELECT * FROM charges) SELECT * FROM large JOIN `all cards` USING (card)")
    ('charges', 'all cards')
    >>> tables("SELECT FROM WHERE") is None
    True
    """
    import logging

    import sqlglot
    from sqlglot import exp
    from sqlglot.errors import SqlglotError

    # Spark judges what sqlglot does not know, so sqlglot's warnings would only alarm.
    logging.getLogger("sqlglot").setLevel(logging.ERROR)
    try:
        tree = sqlglot.parse_one(query, read="spark")
    except (SqlglotError, RecursionError):
        return None
    if not isinstance(tree, exp.Query):
        return None
    nodes = [table for table in tree.find_all(exp.Table) if isinstance(table.this, exp.Identifier) and not table.db]
    names = [(table.this.meta.get("start", 0), table.name) for table in nodes if not _defined(table)]
    return tuple(dict.fromkeys(name for _, name in sorted(names)))


def _defined(table: Any) -> bool:
    """Return whether a WITH defines a table's name at that place: inside its list only earlier names count, after it all of them."""
    from sqlglot import exp

    name, inside = table.name.lower(), table
    while (above := inside.parent) is not None:
        if isinstance(above, exp.With):
            before = [one.alias.lower() for one in above.expressions if one is not inside]
            place = [one is inside for one in above.expressions].index(True)
            if name in before[:place] or (above.recursive and inside.alias.lower() == name):
                return True
        else:
            listed = next((one for one in above.args.values() if isinstance(one, exp.With) and one is not inside), None)
            if listed is not None and name in (one.alias.lower() for one in listed.expressions):
                return True
        inside = above
    return False
