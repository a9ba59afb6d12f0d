"""The plots, the page and the terminal's picture, from a small set of findings."""

from __future__ import annotations

import inspect
import io
import re
from datetime import date, datetime
from html.parser import HTMLParser
from pathlib import Path
from xml.etree import ElementTree

import pytest
from rich.console import Console

from headrace.demo import events, page, picture, pipeline, programs, svg
from headrace.demo.findings import Findings
from headrace.spark.run.summary import InputCounts, Summary

FINDINGS = Findings(
    year={
        "flights": 1000,
        "aircraft": 40,
        "cancelled": 12,
        "without_tail": 3,
        "with_weather": 990,
        "late": 200,
        "late_minutes": 9000,
    },
    handed={
        "turns": 300,
        "after_late": 60,
        "minutes": 4000,
        "inherited": 2400,
        "recovered": 1600,
        "late_after_late": 0.6,
        "late_after_punctual": 0.2,
        "chains": 21,
        "longest": 5,
    },
    away={"alarms": 9, "aircraft": 8, "gone": 4},
    by_gap=[(3, 10, 0.5, 0.1), (4, 20, 0.6, 0.2)],
    by_hour=[(0, 30, 4), (5, 0, 100), (17, 1200, 800), (22, 1170, 696)],
    by_day=[(date(2013, 1, 1), 400, 0, 100), (date(2013, 2, 8), 100, 12, 90), (date(2013, 2, 9), 1900, 0, 95), (date(2014, 1, 1), 0, 0, 3)],
    by_length=[(2, 18, 2000), (5, 3, 400)],
    largest=[("N1<&>", datetime(2013, 2, 8, 9, 5), datetime(2013, 2, 9, 23, 0), 5, 300, 20)],
    by_carrier=[("B6", 40, 0.61, 1900), ("ZZ", 20, 0.5, 500)],
    by_visibility=[("under ½", 20, 0.4, 0.1), ("10, clear", 970, 0.2, 0.0)],
    regulars=[("N2", "B6", datetime(2013, 8, 26, 20, 0), "RDU", 480)],
)
SUMMARY = Summary(
    job="delays",
    sources=(),
    inputs=(InputCounts("turns", "event", 988, 988, 0, 0, 0),),
    sinks={},
    dead_letters={},
    rows=1200,
    epochs=4,
    seconds=2.0,
    sealed=True,
    stopped=False,
)


class Reader(HTMLParser):
    """Checks that what is opened is closed, in order; gathers texts and links."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.texts: list[str] = []
        self.links: list[str] = []

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        if tag not in ("meta", "br"):
            self.open.append(tag)
        self.links += [str(value) for name, value in attributes if name in ("src", "href")]

    def handle_startendtag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        pass

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, text: str) -> None:
        self.texts.append(text)


def drawn(text: str) -> ElementTree.Element:
    """The SVG of a plot, parsed as the XML it must be."""
    return ElementTree.fromstring(text[text.index("<svg") :])


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> str:
    file = tmp_path_factory.mktemp("page") / "delays.html"
    page.write(file, FINDINGS, SUMMARY, "plan <of> the job", events.tables_folder())
    return file.read_text(encoding="utf-8")


def test_the_page_is_one_file_that_needs_nothing_else(written: str) -> None:
    reader = Reader()
    reader.feed(written)
    assert reader.open == [] and reader.links == []
    assert "http:" not in written and "https:" not in written and "$" not in written.replace("$(", "")
    assert len(written) < 200_000


def test_the_page_says_the_numbers(written: str) -> None:
    reader = Reader()
    reader.feed(written)
    text = re.sub(r"\s+", " ", " ".join(reader.texts))
    for sentence in (
        "late, too, in 60 % of cases, against 20 % after a punctual arrival",
        "The worst days were 9 February, 1 January and 8 February. On 8 February there was little to hand on: 12 of 90 flights were cancelled.",
        "There were 21; most end after the second flight, the longest went on for 5",
        "plan <of> the job",
        "class DelayChain(hr.Program):",
        "1,200 events went through in 2 seconds",
    ):
        assert sentence in text, sentence
    assert "N1&lt;&amp;&gt;" in written
    assert [cell for cell in reader.texts if cell in ("JetBlue Airways", "26 August", "480")] != []
    assert written.count('class="day"') == 3, "the calendar has the days of its year alone"


def test_columns_stand_on_the_axis_or_hang_from_it() -> None:
    up, down = svg.Series("in", "--a", [10, 20]), svg.Series("out", "--b", [20, 5])
    bars = [
        element for element in drawn(svg.columns(["x", "y"], [up, down], "minutes", mirrored=True)).iter() if element.tag.endswith("rect")
    ]
    tops = [(float(bar.attrib["y"]), float(bar.attrib["height"])) for bar in bars]
    axis = tops[2][0]
    assert [round(y + height, 1) for y, height in tops[:2]] == [axis, axis] and tops[3][0] == axis
    assert tops[1][1] == tops[2][1] == 2 * tops[0][1] == 4 * tops[3][1]
    assert [bar[0].text for bar in bars] == ["x: 10 minutes in", "y: 20 minutes in", "x: 20 minutes out", "y: 5 minutes out"]


def test_lines_show_shares() -> None:
    points = drawn(svg.lines(["a", "b"], [svg.Series("s", "--a", [0.5, 0.25])], "late")).iter()
    assert [element.text for element in points if element.attrib.get("class") == "value"] == ["50 %", "25 %"]


def test_the_calendar_has_a_column_per_week() -> None:
    days = {date(2013, 1, 6): 0.0, date(2013, 1, 7): 25.0, date(2013, 1, 14): 100.0}  # a Sunday, two Mondays
    squares = [element for element in drawn(svg.calendar(days, str)).iter() if element.attrib.get("class") == "day"]
    assert [square[0].text for square in squares] == ["2013-01-06", "2013-01-07", "2013-01-14"]
    columns = [float(square.attrib["x"]) for square in squares]
    assert columns[1] - columns[0] == columns[2] - columns[1] > 0
    assert [square.attrib["style"] for square in squares] == ["--depth:0%", "--depth:50%", "--depth:100%"]


@pytest.mark.parametrize(("value", "round_number"), [(54_685, 60_000), (0.66, 0.8), (100, 100), (101, 150), (2.1, 2.5), (9.1, 10)])
def test_scales_end_at_round_numbers(value: float, round_number: float) -> None:
    assert svg.ceiling(value) == pytest.approx(round_number)


def terminal(width: int) -> str:
    out = io.StringIO()
    picture.show(Console(file=out, width=width, color_system=None, highlight=False), FINDINGS)
    return out.getvalue()


def test_the_terminal_shows_the_day() -> None:
    lines = terminal(100).splitlines()
    hours = [line for line in lines if re.search(r"\d+h ", line)]
    # from the early morning on, and the night at its end
    assert [re.search(r"(\d+)h ", line)[1] for line in hours] == ["5", "17", "22", "0"]  # type: ignore[index]
    assert hours[1].count("█") == 34 + 23 - 1 and "1,200" in hours[1]
    assert any("N1<&>" in line for line in lines)


@pytest.mark.parametrize("width", [60, 80, 200])
def test_the_terminal_picture_fits(width: int) -> None:
    assert max(map(len, terminal(width).splitlines())) <= width


def test_sentences() -> None:
    assert picture.sentences(FINDINGS) == [
        "After a late arrival of its aircraft 60% of the flights left late; after a punctual one 20%.",
        "40 hours of delay were handed from flight to flight in 21 chains, the longest of 5 flights; 27 hours were recovered on the way.",
        "9 times an aircraft stayed away for 30 days; 1 of the regulars (at least 100 flights) never came back in 2013.",
        "99.0% of the flights found the weather of their hour. 12 were cancelled, among them all 3 without a tail number; those hand nothing on.",
    ]


def test_no_row_is_missing() -> None:
    assert picture.accounted(SUMMARY) == "The programs got 988 rows: 988 were handled, 0 late, 0 dead, and 0 are held."


def test_files_to_open(tmp_path: Path) -> None:
    assert [path.name for _, path in picture.next_files(tmp_path / "delays.html", tmp_path)] == [
        "delays.html",
        "flights",
        "turns",
        "chains",
        "vanished",
    ]


def test_the_documentation_shows_the_programs_as_they_are() -> None:
    text = (Path(__file__).resolve().parents[3] / "docs" / "start" / "demo.md").read_text(encoding="utf-8")
    for shown in (pipeline.delays, programs.HourOfWeather, programs.DelayChain):
        assert inspect.getsource(shown).strip() in text, f"docs/start/demo.md has another {shown.__name__}"
