"""An expression for every function of Spark, over one table with a column of every type.

`functions.txt` has those that are kept up to date, `refused.txt` those that are not, with what is said of them.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_HERE = Path(__file__).parent

# A type and two values; the third row of the table has none.
COLUMNS = {
    "b": ("boolean", "true", "false"),
    "ti": ("tinyint", "1", "2"),
    "si": ("smallint", "2", "5"),
    "i": ("int", "3", "1"),
    "l": ("bigint", "4", "40"),
    "f": ("float", "1.5", "-0.25"),
    "x": ("double", "0.5", "0.125"),
    "d": ("decimal(10,2)", "12.34", "0.50"),
    "s": ("string", "'Spark SQL'", r"'S_park\'s'"),
    "s2": ("string", "'1'", "'2'"),
    "s3": ("string", "'2024-02-29'", "'2023-12-31'"),
    "s4": ("string", "'12.10.05'", "'00.00.01'"),
    "lc": ("string collate UTF8_LCASE", "'Spark sql'", "'b'"),
    "csv": ("string", "'1, 0.8'", "'2;x'"),
    "j": ("string", """'{"a": 1, "b": {"c": "x"}}'""", """'{"a": 7, "z": null}'"""),
    "kv": ("string", "'a:1,b:2'", "'c=3;d=4'"),
    "xml": ("string", "'<p><a>1</a><b>0.8</b></p>'", "'<p><a>2</a><a>3</a></p>'"),
    "url": ("string", "'https://a.b/c?q=1'", "'http://x.y/z'"),
    "bin": ("binary", "X'537061726B'", "X'62'"),
    "enc": ("binary", "aes_encrypt('Spark', '0000111122223333', 'ECB')", "aes_encrypt('', '0000111122223333', 'ECB')"),
    "wkb": ("binary", "X'0101000000000000000000F03F0000000000000040'", "X'010100000000000000000000000000000000000000'"),
    "day": ("date", "'2024-02-29'", "'2023-12-31'"),
    "ts": ("timestamp", "'2024-02-29 12:34:56.789'", "'2024-03-10 02:30:00'"),
    "nt": ("timestamp_ntz", "'2024-02-29 12:34:56.789'", "'1969-12-31 23:59:59.999999'"),
    "tm": ("time", "TIME '12:34:56.123'", "TIME '00:00:00'"),
    "ym": ("interval year to month", "INTERVAL '1-2' YEAR TO MONTH", "INTERVAL '-3' MONTH"),
    "dt": ("interval day to second", "INTERVAL '1 02:03:04' DAY TO SECOND", "INTERVAL '-5' MINUTE"),
    "ci": ("interval", "make_interval(1, 2, 0, 3, 4, 5, 6)", "make_interval(0, 0, 0, 1)"),
    "xs": ("array<int>", "array(3, 1, 2)", "array(3)"),
    "ys": ("array<int>", "array(2, NULL, 2)", "array()"),
    "ss": ("array<string>", "array('p', NULL)", "array('q', 'r')"),
    "fs": ("array<float>", "array(1, 2)", "array(3, -4)"),
    "nested": ("array<array<int>>", "array(array(1, 2), array(3))", "array(array())"),
    "es": ("array<struct<k: string, w: int>>", "array(named_struct('k', 'p', 'w', 1))", "array()"),
    "m": ("map<string, int>", "map('a', 1, 'b', NULL)", "map('a', 5)"),
    "st": ("struct<a: int, b: string>", "named_struct('a', 1, 'b', 'x')", "named_struct('a', NULL, 'b', 'y')"),
    "v": ("variant", """parse_json('{"a": 1, "b": {"c": "x"}, "xs": [1, null]}')""", """parse_json('{"a": 5, "b": {}, "xs": []}')"""),
}

# What functions of sketches take: one over all rows, in each of them.
SKETCHES = {
    "hll": "hll_sketch_agg(i)",
    "theta": "theta_sketch_agg(i)",
    "kl": "kll_sketch_agg_bigint(l)",
    "kd": "kll_sketch_agg_double(x)",
    "kf": "kll_sketch_agg_float(f)",
    "tud": "tuple_sketch_agg_double(i, x)",
    "tui": "tuple_sketch_agg_integer(i, ti)",
    "topk": "approx_top_k_accumulate(i)",
}

# Types that Spark has behind a switch.
SETTINGS = {"spark.sql.timeType.enabled": "true", "spark.sql.timestampNanosTypes.enabled": "true"}


@dataclass(frozen=True)
class Use:
    """A function, and an expression with it or a whole query."""

    name: str
    text: str


@dataclass(frozen=True)
class Refusal(Use):
    """One that is refused, with the message and the hint that the user sees."""

    message: str
    hint: str = ""

    @property
    def query(self) -> str:
        text = self.text.replace("\\n", "\n")
        return text if text.split()[0] in {"SELECT", "WITH", "FROM", "INSERT", "EXPLAIN", "BEGIN"} else f"SELECT {text} FROM t"


def uses() -> dict[str, list[Use]]:
    """The lines of `functions.txt` by section: expressions over rows, aggregates, window functions, generators, whole queries."""
    return {section: [Use(*fields) for fields in lines] for section, lines in _sections("functions.txt").items()}


def refusals() -> dict[str, list[Refusal]]:
    """The lines of `refused.txt` by section: constructs, DataFrames, functions, and queries that Spark itself refuses."""
    return {section: [Refusal(*fields) for fields in lines] for section, lines in _sections("refused.txt").items()}


def table(spark: SparkSession) -> DataFrame:
    """The table `t`, also as a temporary view."""
    rows = [", ".join(f"CAST({_value(column, row)} AS {column[0]}) AS {name}" for name, column in COLUMNS.items()) for row in range(3)]
    sketches = ", ".join(f"{call} AS {name}" for name, call in SKETCHES.items())
    query = (
        f"WITH r AS ({' UNION ALL '.join(f'SELECT {row}' for row in rows)}) SELECT r.*, k.* FROM r CROSS JOIN (SELECT {sketches} FROM r) k"
    )
    frame = spark.sql(query).coalesce(1).localCheckpoint()
    frame.createOrReplaceTempView("t")
    return frame


def _value(column: tuple[str, str, str], row: int) -> str:
    return "NULL" if row == 2 else column[1 + row]


def _sections(file: str) -> dict[str, list[list[str]]]:
    sections: dict[str, list[list[str]]] = {}
    for line in (_HERE / file).read_text(encoding="utf-8").splitlines():
        if line.startswith("# "):
            section = sections.setdefault(line[2:], [])
        else:
            section.append(line.split("\t"))
    return sections
