"""Queries made up at random: a tree of relations whose columns have names and kinds, so that every text is valid.

Nothing in them is left open by SQL: windows of rows are ordered by all columns, and no list is collected.
"""

from __future__ import annotations

import random
from dataclasses import dataclass

KINDS = ("number", "text", "truth", "day")
TABLES = {
    "sales": {"id": "number", "shop": "text", "n": "number", "flag": "truth", "day": "day"},
    "shops": {"shop": "text", "region": "text", "n": "number", "size": "number", "active": "truth", "opened": "day"},
    "prices": {"tag": "text", "low": "number", "high": "number", "since": "day"},
    "people": {"id": "number", "boss": "number", "name": "text", "shop": "text", "age": "number"},
}
LITERALS = {
    "number": ("0", "1", "2", "-1", "4"),
    "text": ("'a'", "'b'", "'north'"),
    "truth": ("true", "false"),
    "day": ("DATE'2026-01-03'", "DATE'2026-01-05'"),
}
AGGREGATES = {
    "number": (
        "count(*)",
        "count({number})",
        "sum({number})",
        "min({number})",
        "max({number})",
        "count(DISTINCT {text})",
        "sum(DISTINCT {number})",
        "count_if({truth})",
    ),
    "text": ("min({text})", "max({text})"),
    "truth": ("bool_or({truth})", "bool_and({truth})"),
    "day": ("max({day})", "min({day})"),
}
RANGES = ("", "", " RANGE BETWEEN 1 PRECEDING AND 1 FOLLOWING", " RANGE BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING")
ROWS = (
    " ROWS BETWEEN 1 PRECEDING AND CURRENT ROW",
    " ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW",
    " ROWS BETWEEN 1 FOLLOWING AND 2 FOLLOWING",
)
DIRECTIONS = ("", " DESC", " NULLS LAST", " DESC NULLS FIRST")
RANKS = ("rank()", "dense_rank()", "cume_dist()")


@dataclass(frozen=True)
class Relation:
    """The text of a query, and the kind of each of its columns; a share is a number with a fraction, which nothing is compared with."""

    text: str
    columns: dict[str, str]

    def of(self, kind: str) -> list[str]:
        return [name for name, has in self.columns.items() if has == kind]

    def fresh(self, prefix: str) -> str:
        return next(name for number in range(100) if (name := f"{prefix}{number}") not in self.columns)


def query(seed: int, depth: int = 3) -> str:
    return Maker(random.Random(seed)).relation(depth).text


class Maker:
    def __init__(self, chance: random.Random) -> None:
        self.chance = chance

    def relation(self, depth: int) -> Relation:
        if depth == 0:
            name = self.chance.choice(("sales", "sales", "shops", "prices", "people"))
            return Relation(f"SELECT {', '.join(TABLES[name])} FROM {name}", TABLES[name])
        one = self.relation(depth - 1)
        shapes = (self.projected, self.filtered, self.grouped, self.grouped, self.windowed, self.distinct)
        pairs = (self.joined, self.joined, self.joined, self.united, self.nested)
        if self.chance.random() < 0.5:
            return self.chance.choice(shapes)(one)
        return self.chance.choice(pairs)(one, self.relation(self.chance.randint(0, depth - 1)))

    def value(self, one: Relation, kind: str) -> str:
        """An expression of a kind over the columns of a relation."""
        chance, of = self.chance, one.of(kind)
        simple = chance.choice((*of, *of, *of, chance.choice(LITERALS[kind])))
        shape = chance.randrange(6)
        if kind == "number" and shape == 0 and of:
            return f"({chance.choice(of)} + {chance.choice(('1', '2', *of))})"
        if kind == "text" and shape == 0:
            return f"coalesce({simple}, '?')"
        if kind == "truth" and shape < 3:
            return self.condition(one)
        if shape == 1:
            return f"CASE WHEN {self.condition(one)} THEN {simple} END"
        return simple

    def condition(self, one: Relation, prefix: str = "") -> str:
        """What a row may meet; mostly what many rows meet, so that few queries have no rows."""
        chance = self.chance
        known = sorted((name, kind) for name, kind in one.columns.items() if kind in KINDS)
        if not known:
            return "true"
        name, kind = chance.choice(known)
        column = prefix + name
        if kind == "truth":
            return chance.choice((column, f"NOT {column}", f"{column} IS NOT NULL"))
        literal = chance.choice(LITERALS[kind])
        other = chance.choice([literal, *(prefix + each for each in one.of(kind))])
        return chance.choice(
            (
                f"{column} {chance.choice(('=', '<>', '>=', '<=>'))} {literal}",
                f"{column} {chance.choice(('<>', '<', '>='))} {other}",
                f"{column} IS NOT NULL",
                f"{column} IN ({', '.join(LITERALS[kind])})",
                f"NOT ({column} < {literal})",
                f"({column} >= {other} OR {column} IS NULL)",
            )
        )

    def projected(self, one: Relation) -> Relation:
        columns = {f"p{number}": self.chance.choice(KINDS) for number in range(self.chance.randint(1, 4))}
        chosen = ", ".join(f"{self.value(one, kind)} AS {name}" for name, kind in columns.items())
        return Relation(f"SELECT {chosen} FROM ({one.text})", columns)

    def filtered(self, one: Relation) -> Relation:
        return Relation(f"SELECT * FROM ({one.text}) WHERE {self.condition(one)}", one.columns)

    def distinct(self, one: Relation) -> Relation:
        return Relation(f"SELECT DISTINCT * FROM ({one.text})", one.columns)

    def joined(self, left: Relation, right: Relation) -> Relation:
        chance = self.chance
        how = chance.choice(("JOIN", "JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN", "LEFT SEMI JOIN", "LEFT ANTI JOIN"))
        pairs = [(a, b) for a, kind in left.columns.items() for b, has in right.columns.items() if kind == has]
        on = []
        if pairs:
            a, b = chance.choice(pairs)
            on.append(f"a.{a} {chance.choice(('=', '=', '=', '<=>', '<'))} b.{b}")
        if not on or chance.random() < 0.3:
            on.append(self.condition(left, "a."))
        if chance.random() < 0.2:
            on.append(self.condition(right, "b."))
        if "SEMI" in how or "ANTI" in how:
            columns, chosen = left.columns, ", ".join(f"a.{name}" for name in left.columns)
        else:
            named = [("a", name, kind) for name, kind in left.columns.items()] + [("b", name, kind) for name, kind in right.columns.items()]
            kept = chance.sample(named, min(len(named), chance.randint(2, 6)))
            columns = {f"j{number}": kind for number, (_, _, kind) in enumerate(kept)}
            chosen = ", ".join(f"{side}.{name} AS j{number}" for number, (side, name, _) in enumerate(kept))
        return Relation(f"SELECT {chosen} FROM ({left.text}) a {how} ({right.text}) b ON {' AND '.join(on)}", columns)

    def grouped(self, one: Relation) -> Relation:
        chance = self.chance
        keys = chance.sample(sorted(one.columns), min(len(one.columns), chance.choice((0, 1, 1, 2))))
        columns = {f"g{number}": one.columns[key] for number, key in enumerate(keys)}
        texts = [f"{key} AS {name}" for name, key in zip(columns, keys, strict=True)]
        for number in range(chance.randint(1, 3)):
            kind = chance.choice(("number", "number", *KINDS))
            call = chance.choice(AGGREGATES[kind]).format(**{each: self.value(one, each) for each in KINDS})
            if chance.random() < 0.25:
                call += f" FILTER (WHERE {self.condition(one)})"
            columns[f"v{number}"] = kind
            texts.append(f"{call} AS v{number}")
        text = f"SELECT {', '.join(texts)} FROM ({one.text})"
        if keys:
            text += " " + chance.choice(("GROUP BY {}", "GROUP BY {}", "GROUP BY ROLLUP ({})", "GROUP BY CUBE ({})")).format(
                ", ".join(keys)
            )
            if chance.random() < 0.2:
                text += " HAVING count(*) > 1"
        return Relation(text, columns)

    def windowed(self, one: Relation) -> Relation:
        chance, names = self.chance, sorted(one.columns)
        by, everything, argument = chance.choice(names), ", ".join(names), self.value(one, "number")
        over = f"PARTITION BY {chance.choice(names)} " if chance.random() < 0.7 else ""
        over += f"ORDER BY {by}{chance.choice(DIRECTIONS)}"
        frame = chance.choice(RANGES) if one.columns[by] == "number" else ""
        call, over = chance.choice(
            (
                (chance.choice(RANKS), over),
                (chance.choice(("row_number()", f"lag({argument})", f"lead({argument}, 2)")), f"{over}, {everything}"),
                (f"sum({argument})", f"{over}, {everything}{chance.choice(ROWS)}"),
                (chance.choice((f"sum({argument})", "count(*)", f"max({argument})")), over + frame),
            )
        )
        added = one.fresh("w")
        text = f"SELECT *, {call} OVER ({over}) AS {added} FROM ({one.text})"
        columns = one.columns | {added: "share" if call == "cume_dist()" else "number"}
        if columns[added] == "number" and chance.random() < 0.3:
            text = f"SELECT * FROM ({text}) WHERE {added} <= {chance.randint(1, 3)}"
        return Relation(text, columns)

    def united(self, left: Relation, right: Relation) -> Relation:
        kinds = sorted(set(left.columns.values()) & set(right.columns.values()) & set(KINDS))
        if not kinds:
            return left
        kind = self.chance.choice(kinds)
        how = self.chance.choice(("UNION ALL", "UNION", "INTERSECT", "INTERSECT ALL", "EXCEPT", "EXCEPT ALL"))
        sides = [f"SELECT {self.chance.choice(one.of(kind))} AS u0 FROM ({one.text})" for one in (left, right)]
        return Relation(f"{sides[0]} {how} {sides[1]}", {"u0": kind})

    def nested(self, one: Relation, other: Relation) -> Relation:
        """A subquery in the filter or in a column."""
        pairs = [(a, b) for a, kind in one.columns.items() for b, has in other.columns.items() if kind == has]
        if not pairs:
            return one
        a, b = self.chance.choice(pairs)
        shape = self.chance.choice(("EXISTS", "NOT EXISTS", "IN", "NOT IN", "count", "mark", "mark"))
        met = f"FROM ({other.text}) b WHERE b.{b} = a.{a}"
        if shape in ("EXISTS", "NOT EXISTS"):
            return Relation(f"SELECT * FROM ({one.text}) a WHERE {shape} (SELECT 1 {met})", one.columns)
        if shape in ("IN", "NOT IN"):
            return Relation(f"SELECT * FROM ({one.text}) a WHERE a.{a} {shape} (SELECT b.{b} FROM ({other.text}) b)", one.columns)
        added = one.fresh("s")
        if shape == "count":
            text, kind = f"(SELECT count(*) {met})", "number"
        else:
            text, kind = f"EXISTS (SELECT 1 {met})", "truth"
        return Relation(f"SELECT a.*, {text} AS {added} FROM ({one.text}) a", one.columns | {added: kind})
