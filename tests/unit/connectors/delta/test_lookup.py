"""The options of Delta tables to look up in."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import write_deltalake

import headrace as hr
from headrace.connectors.delta import Lookup
from headrace.errors import ConnectorError
from headrace.schema import parse_schema


def test_a_plan_has_what_it_needs_and_no_secret(tmp_path: Path) -> None:
    """With a schema the table is not opened."""
    storage = {"AWS_REGION": "eu-north-1", "AWS_SECRET_ACCESS_KEY.env": "KEY"}
    lookup = Lookup("s3://bucket/rates", schema="currency string, rate double", refresh="5 minutes", storage_options=storage)
    stored = json.loads(json.dumps(lookup.options()))
    assert stored == {
        "path": "s3://bucket/rates",
        "refresh_ms": 300_000,
        "storage_options": {"AWS_REGION": "eu-north-1", "AWS_SECRET_ACCESS_KEY": {"env": "KEY"}},
    }
    assert Lookup.from_options(stored, parse_schema("currency string")).options() == lookup.options()
    assert lookup.describe() == "delta s3://bucket/rates (read again after 5 minutes)" and lookup.default_name == "rates"
    first = Lookup("t", schema="k string", version=0)
    assert first.options() == {"path": "t", "version": 0} and first.describe() == "delta t version 0"
    assert first.traits.repeatable and not lookup.traits.repeatable


def test_the_table_says_its_columns_and_its_state(tmp_path: Path) -> None:
    for n in range(2):
        write_deltalake(tmp_path / "t", pa.table({f"n{n}": [n]}), mode="overwrite", schema_mode="overwrite")
    newest, first = Lookup(tmp_path / "t"), Lookup(tmp_path / "t", version=0)
    assert (newest.schema.ddl, first.schema.ddl) == ("n1 bigint", "n0 bigint")
    before = newest.state()
    assert before == Lookup(tmp_path / "t").state() != first.state()
    write_deltalake(tmp_path / "t", pa.table({"n1": [2]}), mode="append")
    assert newest.state() != before


def test_what_does_not_do() -> None:
    with pytest.raises(ConnectorError, match="a version never changes, so it is not read again"):
        hr.lookup.delta("t", schema="k string", version=3, refresh="1 minute")
    with pytest.raises(ConnectorError, match=r"lookup\.delta: version cannot be -1"):
        hr.lookup.delta("t", schema="k string", version=-1)
    with pytest.raises(hr.HeadraceError, match="`cache` does not apply to t, which is loaded as a whole"):
        hr.lookup.delta("t", schema="k string", cache="1 minute")
    for version, hint in ((None, 'set how often it is reloaded: hr.lookup.delta(..., refresh="5 minutes")'), (3, "leave out cache")):
        with pytest.raises(hr.HeadraceError) as raised:
            hr.lookup.delta("t", schema="k string", version=version, cache="1 minute")
        assert raised.value.hint == hint
