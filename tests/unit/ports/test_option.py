"""Options that a connector declares as fields: constructor, checks, what a plan stores, what YAML knows of them."""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Mapping
from datetime import timedelta
from pathlib import Path
from typing import Any, ClassVar

import pytest

import headrace as hr
from headrace import ports, spec
from headrace.errors import ConnectorError
from headrace.ports import Secret, option
from tests.spark.conformance.lines import installed
from tests.unit.errors import check_error

PORTS = 1


class Sink(ports.Options, ports.Sink):
    """Shelves."""

    connector: ClassVar[str] = "shelf"

    path: str = option.path("a folder", example="shelf/", kw_only=False)
    kind: str = option.choice("what [it](../index.md) is: `open` or `shut`", ("open", "shut"), default="open", stored="always")
    rows: int = option.number("rows on a shelf", least=5, default=20)
    key: tuple[str, ...] = option.columns("columns", default=None)
    password: Secret | None = option.secret("by its name", default=None)
    wait_ms: int | None = option.duration("how long", alias="wait", default=None)
    settle: str = option.span("how long", called="the time to settle", default="1 second")
    more: dict[str, str] = option.texts("more", alias="options", default=None)

    def __post_init__(self) -> None:
        self.many = self.rows > 100

    @property
    def traits(self) -> ports.SinkTraits:
        return ports.SinkTraits("plain", "it is a shelf", ("append", "upsert"))

    def open(self, context: ports.SinkContext) -> None: ...

    def stage(self) -> dict[str, Any]:
        return {"kind": "none"}

    def commit(self, epoch: int, staged: ports.Staged) -> None: ...


class Plain(ports.Sink):
    """One that has a constructor of its own, as before there were fields."""

    connector: ClassVar[str] = "plain"

    def __init__(self, path: str) -> None:
        self.path = path

    traits, open, stage, commit = Sink.traits, Sink.open, Sink.stage, Sink.commit

    def options(self) -> dict[str, Any]:
        return {"path": self.path}

    @classmethod
    def from_options(cls, options: Mapping[str, Any]) -> Plain:
        return cls(**options)


@pytest.fixture
def stream(tmp_path: Path) -> Iterator[Any]:
    with installed("shelf", __name__, tmp_path):
        yield hr.read.memory([("a",)], "id string", name="rows")


def test_the_constructor() -> None:
    sink: Any = Sink(Path("out"), key="id", wait="5 minutes", options={"header": True})  # type: ignore[arg-type]  # as the verb takes them
    assert (sink.path, sink.kind, sink.rows, sink.key, sink.wait_ms, sink.more) == ("out", "open", 20, ("id",), 300_000, {"header": "true"})
    assert sink.many is False and Sink("out", rows=101).many is True
    assert Sink("out").more is not Sink("out").more
    shown = str(inspect.signature(Sink))
    assert shown.startswith(
        "(path: str | os.PathLike[str], *, kind: str = 'open', rows: int = 20, key: str | collections.abc.Sequence[str] |"
    )
    with pytest.raises(TypeError, match=r"Sink\.__init__\(\) got an unexpected keyword argument 'rose'"):
        Sink("out", rose=3)  # type: ignore[call-arg]  # it has none


def test_what_a_plan_stores() -> None:
    assert Sink("out").options() == {"path": "out", "kind": "open"}
    full: Any = {"rows": 20, "key": ["a", "b"], "wait": timedelta(seconds=1), "settle": "2 seconds", "password": hr.secret("P")}
    stored = Sink("out", **full).options()
    assert stored == {
        "path": "out",
        "kind": "open",
        "key": ["a", "b"],
        "password": {"env": "P"},
        "wait": "1000 ms",
        "settle": "2 seconds",
    }
    again = Sink.from_options(stored)
    assert again.options() == stored and again.password == hr.secret("P") and again.wait_ms == 1000


def test_checks_at_the_users_line(stream: Any) -> None:
    check_error(
        """
        BAD_OPTION: write.shelf: rows cannot be 4
          at test_option.py:*: lambda: stream.write.shelf("out", rows=4),
          hint: use a whole number of at least 5
          more: headrace error BAD_OPTION
        """,
        lambda: stream.write.shelf("out", rows=4),
    )
    for options, message in (
        ({"kind": "wide"}, "write.shelf: kind cannot be 'wide'"),
        ({"key": 5}, "write.shelf: key cannot be 5"),
        ({"password": "hunter2"}, "write.shelf: password must be a secret, given by its name"),
        ({"rose": 3}, "write.shelf has no option `rose`"),
    ):
        with pytest.raises(ConnectorError) as raised:
            stream.write.shelf("out", **options)
        assert raised.value.message == message


def test_the_schema_for_yaml(stream: Any) -> None:
    ways = spec.schema(only=__name__)["properties"]["sinks"]["additionalProperties"]["allOf"]
    (known,) = (way["then"]["properties"] for way in ways)
    assert known["kind"] == {
        "anyOf": [{"enum": ["open", "shut"]}, {"type": "string", "pattern": "\\$\\{"}],
        "description": "what it is: open or shut",
    }
    assert known["rows"]["anyOf"][0] == {"type": "integer", "minimum": 5}


def test_a_constructor_of_its_own() -> None:
    assert Plain.from_options(Plain("out").options()).path == "out"
