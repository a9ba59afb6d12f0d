"""The kernel's case classes of its documents are those of the dataclasses in Python, and say what these say."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import pytest
from tools import parts

from headrace.jvm.parts import Int, Part, Place, inline
from headrace.ops.parts import RelationText
from headrace.plan.step import Where

RELATIONS = [text for text, _ in parts.kinds(RelationText)]


def test_the_case_classes_are_current() -> None:
    assert parts.written() == parts.files(), "write them again: make parts"


def test_the_kernel_knows_each_operator() -> None:
    assert parts.OPERATORS.read_text(encoding="utf-8") == parts.operators(), "write it again: make parts"


def test_each_operator_has_its_object_in_scala() -> None:
    scala = "".join(file.read_text(encoding="utf-8") for file in (parts.KERNEL / "operator").rglob("*.scala"))
    objects = {f"object {name.removesuffix('Text')} extends RelationalKind[{name}]" for name in map(parts.scala_name, RELATIONS)}
    assert {one for one in objects if one not in scala} == set()


@dataclass(frozen=True, kw_only=True)
class Inner(Part):
    first: str
    lists: tuple[tuple[str, int | None], ...]


@dataclass(frozen=True, kw_only=True)
class Outer(Part):
    """A part; `of_all` is its number."""

    of_all: Int
    type: str | None
    inner: Inner = field(metadata=inline())
    maybe: Inner | None = field(metadata=inline())
    names: Mapping[str, bool]
    left_out: int | None = None
    flag: bool | None = None
    class_: tuple[Inner, ...]


def test_a_part_in_json() -> None:
    inner = Inner(first="a", lists=(("b", 1), ("c", None)))
    outer = Outer(of_all=1, type=None, inner=inner, maybe=None, names={"x": True}, class_=(inner,))
    lists = [["b", 1], ["c", None]]
    assert outer.to_json() == {
        "of_all": 1,
        "type": None,
        "first": "a",
        "lists": lists,
        "names": {"x": True},
        "class": [{"first": "a", "lists": lists}],
    }
    assert list(outer.to_json()) == ["of_all", "type", "first", "lists", "names", "class"]


@dataclass(frozen=True, kw_only=True)
class Doubled(Part):
    first: str
    inner: Inner = field(metadata=inline())


def test_two_fields_of_one_name() -> None:
    with pytest.raises(AssertionError, match=r"Doubled has two fields \{'first'\}"):
        Doubled(first="b", inner=Inner(first="a", lists=())).to_json()


def test_what_all_kinds_have_comes_last() -> None:
    step = Where(where="v > 1", reason=None, place=Place(node="n", site="job.py:1", quiet=True))
    assert list(step.to_json().items()) == [("where", "v > 1"), ("node", "n"), ("site", "job.py:1"), ("quiet", True)]


def test_a_part_in_scala() -> None:
    assert "\n".join(parts.case_class(Outer)) == (
        "/** A part; `ofAll` is its number. */\n"
        "final case class OuterText(\n"
        "    ofAll: Int,\n"
        "    `type`: Option[String],\n"
        "    inner: InnerText,\n"
        "    maybe: Option[InnerText],\n"
        "    names: Map[String, Boolean],\n"
        "    leftOut: Option[Long],\n"
        "    flag: Boolean,\n"
        "    `class`: Seq[InnerText])\n"
        "\n"
        "object OuterText {\n"
        "  private[document] def of(f: Fields): OuterText = OuterText(\n"
        '    f[Int]("of_all"),\n'
        '    f[Option[String]]("type"),\n'
        "    InnerText.of(f),\n"
        '    Option.when(f.has("first"))(InnerText.of(f)),\n'
        '    f[Map[String, Boolean]]("names"),\n'
        '    f.maybe[Long]("left_out"),\n'
        '    f.flag("flag"),\n'
        '    f[Seq[InnerText]]("class"))\n'
        '  implicit val reader: Reader[OuterText] = Reader.of("OuterText")(of)\n'
        "}\n"
    )


def test_a_type_that_the_kernel_does_not_read() -> None:
    with pytest.raises(TypeError, match="the kernel reads no"):
        parts.scala_type(set[str])
