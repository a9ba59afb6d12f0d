"""Options of stores and catalogs: what is secret in them is given by its name."""

from __future__ import annotations

import pytest

import headrace as hr
from headrace.connectors.iceberg import Sink
from headrace.connectors.lake.stores import options_of, revealed, stored
from tests.unit.errors import check_error

charges = hr.read.memory([], "card string, amount int", name="charges")


def test_a_password_in_the_address_of_a_catalog_is_refused() -> None:
    catalog = {"type": "sql", "uri": "postgresql://u:hunter2@h/db"}
    check_error(
        """
        BAD_OPTION: write.iceberg: uri in catalog contains a password
          at test_stores.py:*: lambda: charges.write.iceberg("db.charges", catalog=catalog),
          hint: pass the whole address as a secret: catalog={"uri": hr.secret("URI")}
          more: headrace error BAD_OPTION
        """,
        lambda: charges.write.iceberg("db.charges", catalog=catalog),
    )


@pytest.mark.parametrize(
    "address",
    [
        "postgresql+psycopg2://u:word@h:5432/db",
        "postgresql://u:wo/rd@h/db",
        "https://:word@h",
        "jdbc:postgresql://h/db?user=u&password=word",
        "mysql://h/db?a=b;sslKeyPassword=word",
    ],
)
def test_addresses_with_passwords(address: str) -> None:
    with pytest.raises(hr.HeadraceError) as raised:
        options_of("read.delta", "storage_options", {"endpoint": address}, "{}")
    assert "endpoint in storage_options contains a password" in str(raised.value) and "word@" not in str(raised.value)


@pytest.mark.parametrize(
    "address",
    [
        "sqlite:///catalog.db",
        "postgresql://u@h:5432/db",
        "abfss://container@account.dfs.core.windows.net/a",
        "http://h:8181/a@b",
        "thrift://a:9083,thrift://b:9083",
        "s3://bucket/a:b@c",
        "file:///data/warehouse",
    ],
)
def test_addresses_without(address: str) -> None:
    assert options_of("read.delta", "storage_options", {"endpoint": address}, "{}") == {"endpoint": address}


def test_an_address_that_is_secret_as_a_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CATALOG", "postgresql://u:word@h/db")
    sink = Sink("db.charges", catalog={"type": "sql", "uri": hr.secret("CATALOG")})
    assert stored(sink.place.options)["uri"] == {"env": "CATALOG"}
    assert revealed(Sink.from_options(sink.options()).place.options)["uri"] == "postgresql://u:word@h/db"
