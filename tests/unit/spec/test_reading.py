"""Values keep their text and their places, whatever YAML 1.1 would make of them."""

from __future__ import annotations

from headrace.spec.kinds import anything
from headrace.spec.reading import read
from headrace.spec.value import Items, Scalar, Table
from tests.unit.spec.conftest import Write


def test_words_and_numbers_of_yaml_1_1_stay_what_was_written(write: Write) -> None:
    content = read(write("on: no\noff: 010\n1: 1_000\ntime: 12:30:00\nday: 2026-01-01\nyes: y\n"), {})
    assert anything(content, "it") == {"on": "no", "off": "010", "1": "1_000", "time": "12:30:00", "day": "2026-01-01", "yes": "y"}


def test_what_looks_like_a_value_of_json_is_one(write: Write) -> None:
    content = read(write("[true, false, null, ~, '', -7, 2.50, 1e3, 'true', \"7\", -, x]"), {})
    assert anything(content, "it") == [True, False, None, None, "", -7, 2.5, 1000.0, "true", "7", "-", "x"]
    assert [type(one) for one in anything(content, "it")[5:8]] == [int, float, float]


def test_everything_knows_its_place(write: Write) -> None:
    content = read(write("a:\n  - x: {y: 1}\n"), {})
    assert isinstance(content, Table)
    listed = content.values["a"]
    assert isinstance(listed, Items)
    inner = listed.items[0]
    assert isinstance(inner, Table)
    deepest = inner.values["x"]
    assert isinstance(deepest, Table)
    places = [content.keys["a"], listed.site, inner.keys["x"], deepest.site, deepest.keys["y"], deepest.values["y"].site]
    assert [str(place) for place in places] == [f"job.yaml:{at}" for at in ("1:1", "2:3", "2:5", "2:8", "2:9", "2:12")]
    assert places[-1].text == "- x: {y: 1}"


def test_a_place_inside_a_text(write: Write) -> None:
    content = read(
        write("plain: SELECT x\nquoted: 'SELECT x'\nblock: |\n\n  SELECT\n    x\nfolded: >\n  SELECT\n  x\nvaried: ${V} x\n"), {"V": "long"}
    )
    assert isinstance(content, Table)

    def inside(key: str, line: int, column: int) -> str:
        value = content.values[key]
        assert isinstance(value, Scalar)
        return str(value.inside(line, column))

    assert inside("plain", 1, 8) == "job.yaml:1:15"
    assert inside("quoted", 1, 8) == "job.yaml:2:17"
    assert inside("block", 3, 3) == "job.yaml:6:5"
    # where lines were joined or variables replaced, nobody can count: the beginning
    assert inside("folded", 1, 8) == "job.yaml:7:9"
    assert inside("varied", 1, 6) == "job.yaml:10:9"


def test_an_alias_is_what_it_names(write: Write) -> None:
    content = read(write("a: &one [1]\nb: *one\n"), {})
    assert anything(content, "it") == {"a": [1], "b": [1]}


def test_variables_are_replaced_after_reading(write: Write) -> None:
    text = """
        plain: ${IN}
        default: ${OUT:-out/spend}
        empty: ${EMPTY:-used}
        itself: $${IN} costs $5
        number: ${N:-7}
        quoted: "${N:-7}"
        form: "${FORM}"
        unquoted: ${FORM}
    """
    content = read(write(text), {"IN": "data/in", "EMPTY": "", "FORM": "a: {b: [1]} # no"})
    assert anything(content, "it") == {
        "plain": "data/in",
        "default": "out/spend",
        "empty": "used",
        "itself": "${IN} costs $5",
        "number": 7,
        "quoted": "7",
        # a value never changes the form of the file
        "form": "a: {b: [1]} # no",
        "unquoted": "a: {b: [1]} # no",
    }
