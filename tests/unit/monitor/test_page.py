"""The status page."""

from __future__ import annotations

import dataclasses
import re
from html.parser import HTMLParser

from headrace import masking
from headrace.errors import HeadraceError
from headrace.monitor.page import page
from headrace.spark.run.progress import Progress
from tests.unit.monitor.snapshots import SUMMARY, plan, snapshot


class Texts(HTMLParser):
    """The texts of a page, and its tags."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.texts: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.feed(html)

    def handle_data(self, data: str) -> None:
        if data.strip() and self.tags[-1][0] != "style":
            self.texts.append(data.strip())

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))


def test_all_that_is_known() -> None:
    texts = Texts(page(snapshot(notices=("the sink out begins empty",)), plan())).texts
    shown = "\n".join(texts)
    assert texts[:4] == ["fraud: running", "fraud", "running", "for 30.0 s"]
    for line in (
        "rows in this run\n3,600\nrows per second\n120\nepochs in this run\n12\nlast epoch\n2.5 s\nkeys with state\n7\n"
        "watermark\n2026-03-02 12:00:00 UTC\nlag\n1 minute 30 seconds\nfiles to read\n4\nthe sink out begins empty\n",
        "Sources\nsource\nread\nmalformed\nskipped\nbroken files\ncharges\n3,600\n5\n3\n3\n",
        "Operators\ninput\nrows\nhandled\nlate\ndead\nheld\nalerts\n3,500\n3,400\n60\n30\n10\n",
        "State\noperator\nkeys\nalerts\n7\n",
        "Lookups\nlookup\nhits\nkeys\nrequests\nmissed\nseconds\ncards\n100\n20\n3\n6\n1.2\n",
        "Expectations\nexpectation\npassed\nviolated\ncharges: small\n3,000\n500\n",
        "Sinks\nsink\nrows\nout\n41\n",
        "Dead letters\nfolder\nrows\n/srv/fraud/dead_letters/main\n5\n/srv/fraud/refused/out\n2\n",
        "job fraud  (fingerprint ",
        "filter amount > 500",
    ):
        assert line in shown, line


def test_what_is_unknown_is_left_out() -> None:
    empty = dataclasses.replace(SUMMARY, sources=(), inputs=(), sinks={}, dead_letters={"/srv/x": 0}, expectations=(), lookups=())
    texts = Texts(page(snapshot(summary=empty, progress=Progress(), state_keys={}), plan())).texts
    assert {"watermark", "lag", "files to read", "Sources", "Lookups", "Dead letters", "State", "None"}.isdisjoint(texts)


def test_it_loads_nothing_and_refreshes_itself() -> None:
    html = page(snapshot(), plan())
    tags = Texts(html).tags
    assert ("meta", {"http-equiv": "refresh", "content": "5"}) in tags
    assert {"script", "link", "img", "iframe", "object", "form"}.isdisjoint(tag for tag, _ in tags)
    assert [attributes["href"] for tag, attributes in tags if "href" in attributes] == ["/metrics", "/status.json"]
    assert not [attributes for _, attributes in tags if "src" in attributes or any(name.startswith("on") for name in attributes)]
    assert "url(" not in html.replace("url(#tip)", "") and "@import" not in html
    assert "prefers-color-scheme: dark" in html
    assert html.startswith("<!doctype html>\n") and html.endswith("</html>\n")


BAD = "<script>alert('&')</script>"


def test_every_text_is_escaped() -> None:
    summary = dataclasses.replace(
        SUMMARY,
        job=BAD,
        names={"alerts__9f": f"{BAD}1"},
        sinks={f"{BAD}2": 1},
        dead_letters={f"/srv/{BAD}3": 1},
        sources=(dataclasses.replace(SUMMARY.sources[0], name=f"{BAD}4"),),
        lookups=(dataclasses.replace(SUMMARY.lookups[0], name=f"{BAD}5"),),
        expectations=(dataclasses.replace(SUMMARY.expectations[0], name=f"{BAD}6"),),
        inputs=(dataclasses.replace(SUMMARY.inputs[0], input=f"{BAD}7"),),
    )
    error = HeadraceError("SINK_FAILED", f"{BAD}8", hint=f"{BAD}9")
    html = page(snapshot(summary=summary, status=f"{BAD}10", error=error, notices=(f"{BAD}11",)), plan('card = "<script>12"'))
    tags = [tag for tag, _ in Texts(html).tags]
    assert "script" not in tags
    shown = "\n".join(Texts(html).texts)
    # once as a title; the operator three times: its input, its state, and its name in the table of inputs is that with the input
    assert [shown.count(f"{BAD}{number}") for number in range(2, 10)] == [1, 1, 1, 1, 1, 1, 1, 1]
    assert f"{BAD}10" in shown and f"{BAD}11" in shown and f"{BAD}1.{BAD}7" in shown
    # the plan: in the text, and in the drawing with its tip
    assert shown.count('card = "<script>12"') >= 2


def test_secrets_are_masked() -> None:
    masking.hide("hunter2<&>hunter2")
    secret = 'password="opensesame"'
    error = HeadraceError("SINK_FAILED", "no answer")
    error.message = f"no answer to hunter2<&>hunter2 at jdbc://app:pass@db/shop, {secret}"
    html = page(snapshot(error=error, notices=("hunter2<&>hunter2",)), plan(f"card = 'hunter2<&>hunter2' AND card != '{secret}'"))
    assert "hunter2" not in html and "opensesame" not in html and "app:pass" not in html
    assert "no answer to *** at jdbc://app:***@db/shop, password=&quot;***&quot;" in html


def test_the_error() -> None:
    error = HeadraceError("SINK_FAILED", "the sink out failed", hint="start the job again")
    assert Texts(page(snapshot(status="failed", error=error), plan())).texts[4:7] == [
        "SINK_FAILED",
        "the sink out failed",
        "start the job again",
    ]
    assert not re.search(r'class="error"', page(snapshot(), plan()))
