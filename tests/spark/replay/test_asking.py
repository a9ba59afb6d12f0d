"""Replays of jobs that run, of jobs that have stopped, in a debugger, and what is refused."""

from __future__ import annotations

import datetime as dt
import gc
import io
import json
import sys
from bdb import BdbQuit
from pathlib import Path

import pytest

import headrace as hr
from headrace.cli import main
from headrace.errors import HeadraceError
from tests.spark.engine.test_deploy_running import running, until
from tests.unit.errors import check_error

pytestmark = pytest.mark.usefixtures("spark")

JOB = '''\
import headrace as hr

class Spent(hr.Program):
    """What a card has spent, up to the limit of its country."""

    total = hr.Value("bigint", default=0)
    limits = hr.Broadcast("string", "int")

    def on_rules(self, r):
        with hr.when(r.limit < 0):
            hr.reject("a bad rule")
        self.limits.set(r.country, r.limit)

    def on_event(self, e):
        with hr.when(e.amount < 0):
            hr.reject("not spent")
        total = self.total.get() + e.amount
        self.total.set(total)
        with hr.when(total > self.limits.get(e.country)):
            hr.emit(card=self.key.card, total=total)

def job(follow=False):
    charges = hr.read.files("charges", format="json", schema="card string, country string, amount int", name="charges", follow=follow)
    rules = hr.read.files("rules", format="json", schema="country string, limit int", name="rules", follow=follow)
    spent = charges.key_by("card").process(Spent, rules=hr.broadcast(rules), order="arrival").named("spent")
    every = charges.process(Every).named("every")
    return hr.job("limits", spent.write.files("over", format="json", name="over"), every.write.files("all", format="json", name="all"))

class Every(hr.Program):
    """A program without key."""

    n = hr.Value("int", default=0)

    def on_event(self, e):
        self.n.set(self.n.get() + 1)
        hr.emit(n=self.n.get())

limits = job()
'''


@pytest.fixture(autouse=True)
def in_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("job.py").write_text(JOB)
    receive("rules", "first", {"country": "SE", "limit": 10}, {"country": "NO", "limit": -1})
    receive("charges", "monday", *(charge("a", amount) for amount in (7, -1, 8)), charge("b", 99))


def receive(folder: str, name: str, *rows: dict[str, object]) -> None:
    Path(folder).mkdir(exist_ok=True)
    Path(f"{folder}/.{name}").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    Path(f"{folder}/.{name}").rename(f"{folder}/{name}.json")


def charge(card: str, amount: int) -> dict[str, object]:
    return {"card": card, "country": "SE", "amount": amount}


def test_steps_of_a_program_with_rules_for_all_keys() -> None:
    hr.load("job.py").run(progress=False)
    replay = hr.replay(".headrace/limits", {"card": "a"}, "spent")
    assert [call.number for call in replay.calls] == [2, 3]
    assert (replay.rows, replay.timers, dict(replay.emitted)) == (2, 0, {"main": ({"card": "a", "total": 15},)})
    assert [(step.what, step.name, step.key, step.before, step.value) for step in replay.calls[1].steps] == [
        ("when", "e.amount < 0", None, None, False),
        ("read", "total", None, None, 7),
        ("set", "total", None, 7, 15),
        ("read", "limits", "SE", None, 10),
        ("when", "coalesce(self.total.get(), CAST(0 AS bigint)) + e.amount > self.limits.get(e.country)", None, None, True),
        ("emit", "main", None, None, None),
    ]
    assert replay.calls[1].steps[0].code == "with hr.when(e.amount < 0):"
    ((reason, row),) = replay.rejected
    assert reason.startswith("not spent")
    assert json.loads(row)["amount"] == -1
    assert "changed nothing: not spent" in str(replay)
    assert not Path(".headrace/limits/candidate").exists()
    assert not Path(".headrace/limits/dead_letters/replay").exists()


class Everything(hr.Program):
    """One of each statement; a ratio that fails before anything is added."""

    n = hr.Value("int", default=0)
    words = hr.List("string")
    seen = hr.Map("string", "int")
    ratio = hr.Aggregate("count_if(x) / count(*)", "x boolean")
    due = hr.Timer(key="string")
    fired = hr.Output()

    def on_event(self, e):
        with hr.when(e.word == "bad"):
            hr.reject("a bad word")
        length = hr.let(hr.f.length(e.word), "int")
        length.set(length.get() + 1)
        self.words.append(e.word)
        self.ratio.add(x=e.word == "b")
        self.seen.set(e.word, 0)
        with hr.each(self.seen) as it:
            it.set(it.index + 1)
            it.set(it.index + 2)
        self.due.set(e.ts + hr.minutes(1), e.word)
        with hr.when(self.words.size() < 2):
            self.words.set(hr.f.array(hr.lit("x")))
        with hr.otherwise():
            self.seen.remove("a")
            self.words.clear()
            self.ratio.clear()
            self.n.clear()
            hr.emit(day=self.key.day, length=length.get())

    def on_due(self, at, word):
        self.fired.emit(word=word)


def test_the_words_of_each_step() -> None:
    rows = [
        ("2026-01-01", "a", "2026-01-01 10:00:00"),
        ("2026-01-01", "b", "2026-01-01 11:00:00"),
        ("2026-01-02", "bad", "2026-01-02 10:00:00"),
    ]
    words = hr.read.memory(rows, "day date, word string, ts timestamp", name="words").watermark("ts", "1 minute")
    handled = words.key_by("day").process(Everything).named("everything")
    distinct = words.dedupe(on="word", within="1 hour")  # a program, too
    job = hr.job("everything", handled.write.memory(name="out"), distinct.write.memory(name="once"))
    job.run(progress=False)
    replay = hr.replay(job, {"day": dt.date(2026, 1, 1)})
    assert dict(replay.key) == {"day": "2026-01-01"}
    assert [(call.title, [step.text for step in call.steps]) for call in replay.calls] == [
        (
            'row 1, on_event: day="2026-01-01", word="a", ts="2026-01-01T10:00:00+00:00"',
            [
                "when e.word = 'bad': no",
                "local = 1",
                "local = 2",
                'words: + "a"',
                "ratio: + x=false",
                'seen["a"]: null -> 0',
                'seen: key="a", value=0, index=0',
                "seen: 0 -> 1",
                "seen: 1 -> 2",
                'due["a"]: null -> "2026-01-01T10:01:00+00:00"',
                "words.size is 1",
                "when self.words.size() < 2: yes",
                'words: ["a"] -> ["x"]',
            ],
        ),
        ('timer, on_due: at="2026-01-01T10:01:00+00:00", key="a"', ['emit fired: word="a"']),
        (
            'row 2, on_event: day="2026-01-01", word="b", ts="2026-01-01T11:00:00+00:00"',
            [
                "when e.word = 'bad': no",
                "local = 1",
                "local = 2",
                'words: + "b"',
                "ratio: + x=true",
                'seen["b"]: null -> 0',
                'seen: key="a", value=2, index=0',
                "seen: 2 -> 1",
                "seen: 1 -> 2",
                'seen: key="b", value=0, index=1',
                "seen: 0 -> 2",
                "seen: 2 -> 3",
                'due["b"]: null -> "2026-01-01T11:01:00+00:00"',
                "words.size is 2",
                "when self.words.size() < 2: no",
                "otherwise: yes",
                'seen["a"]: 2 -> null',
                "words.size: 2 -> 0",
                "ratio: cleared",
                "n: cleared",
                'emit day="2026-01-01", length=2',
            ],
        ),
        ('timer, on_due: at="2026-01-01T11:01:00+00:00", key="b"', ['emit fired: word="b"']),
    ]
    only = hr.replay(job, {"day": "2026-01-02"})
    assert (only.rows, only.calls, [reason.partition(" at ")[0] for reason, _ in only.rejected]) == (0, (), ["a bad word"])
    with pytest.raises(BdbQuit):
        hr.replay(job, {"day": "2026-01-01"}, debug=lambda handler, *arguments: None)


def test_a_program_without_key_and_few_calls() -> None:
    hr.load("job.py").run(progress=False)
    replay = hr.replay(".headrace/limits", program="every", rows=2)
    assert (replay.rows, len(replay.calls), replay.calls[-1].number) == (4, 2, 4)
    assert [dict(row) for row in replay.emitted["main"]] == [{"n": 3}, {"n": 4}]
    assert "  ... 2 before" in str(replay).splitlines()
    without = hr.replay(".headrace/limits", program="every", without=1)
    assert dict(without.lost) == {"main": ({"n": 4},)}
    assert not without.gained


def test_a_job_that_runs() -> None:
    names: dict[str, object] = {"__name__": "jobs"}
    exec(compile(JOB, "job.py", "exec"), names)
    job = names["job"](follow=True)  # type: ignore[operator]
    with running(job, Path("state")) as run:
        until(lambda: run.progress.rows == 6)
        replay = hr.replay("state", {"card": "b"}, "spent")
        assert replay.pause_seconds is not None
        assert dict(replay.emitted) == {"main": ({"card": "b", "total": 99},)}
        receive("charges", "tuesday", charge("b", 1))
        until(lambda: run.progress.rows == 7)
        assert hr.replay("state", {"card": "b"}, "spent").rows == 2
        assert (run.status, run.error) == ("running", None)


def test_the_command(capsys: pytest.CaptureFixture[str]) -> None:
    hr.load("job.py").run(progress=False)
    assert main(["replay", "limits", "spent", "--key", '{"card": "a"}', "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["calls"][1]["steps"][-1]["row"] == {"card": "a", "total": 15}
    assert answer["emitted"] == {"main": [{"card": "a", "total": 15}]}
    assert main(["replay", "limits", "spent", "--key", '{"card": "a"}', "--without", "2", "--html", "page.html"]) == 0
    assert 'no longer emitted: card="a", total=15' in capsys.readouterr().out
    page = Path("page.html").read_text()
    assert "<td>job.py:18</td><td>self.total.set(total)</td><td>total: null -&gt; 8</td>" in page
    assert "no longer emitted: card=&quot;a&quot;, total=15" in page


def test_in_the_debugger(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """It stops at the first line of each call, goes on in the branches that were taken, and shows values."""
    hr.load("job.py").run(progress=False)
    monkeypatch.setattr(sys, "stdin", io.StringIO("next\nnext\nnext\np total\nc\nc\n"))
    assert main(["replay", "limits", "spent", "--key", '{"card": "a"}', "--pdb", "job.py"]) == 0
    out = capsys.readouterr().out
    assert "with hr.when(e.amount < 0):" in out
    assert 'hr.reject("not spent")' not in out
    assert "+ e.amount = 7>" in out
    assert 'limits: spent for card="a", 2 rows' in out
    monkeypatch.setattr(sys, "stdin", io.StringIO("q\n"))
    assert main(["replay", "limits", "spent", "--key", '{"card": "a"}', "--pdb", "job.py"]) == 0


def test_what_is_refused() -> None:
    hr.load("job.py").run(progress=False)
    limits = ".headrace/limits"
    check_error(
        """
        NO_SUCH_ROW: spent has no row with card="z"
          hint: a row counts that is there when all rows which the job has read are computed again
          more: headrace error NO_SUCH_ROW
        """,
        lambda: hr.replay(limits, {"card": "z"}, "spent"),
    )
    check_error(
        """
        NO_SUCH_ROW: spent has no row 4 with card="a"
          hint: a replay of all rows shows their numbers; a row that was rejected has a number, too, but changes nothing
          more: headrace error NO_SUCH_ROW
        """,
        lambda: hr.replay(limits, {"card": "a"}, "spent", without=4),
    )
    check_error(
        """
        UNKNOWN_VIEW: the job limits has no program spend
          hint: did you mean `spent`? It has: spent, every
          more: headrace error UNKNOWN_VIEW
        """,
        lambda: hr.replay(limits, {"card": "a"}, "spend"),
    )
    check_error(
        """
        UNKNOWN_VIEW: the job limits has 2 programs
          hint: name one; it has: spent, every
          more: headrace error UNKNOWN_VIEW
        """,
        lambda: hr.replay(limits, {"card": "a"}),
    )
    check_error(
        """
        UNKNOWN_COLUMN: spent has no key column `cart`
          hint: did you mean `card`? It has: card
          more: headrace error UNKNOWN_COLUMN
        """,
        lambda: hr.replay(limits, {"cart": "a"}, "spent"),
    )
    check_error(
        """
        BAD_INPUT: the key of spent lacks card
          hint: write all of it: {"card": "..."}
          more: headrace error BAD_INPUT
        """,
        lambda: hr.replay(limits, program="spent"),
    )
    check_error(
        """
        BAD_INPUT: `card` of spent is string, and None is not
          hint: write a value of that type; a key is never null
          more: headrace error BAD_INPUT
        """,
        lambda: hr.replay(limits, {"card": None}, "spent"),
    )
    with pytest.raises(HeadraceError, match=r"BAD_INPUT: hr\.replay takes a job or the folder of its checkpoint, got 7"):
        hr.replay(7)  # type: ignore[arg-type]


def test_code_that_this_process_does_not_have() -> None:
    def ran() -> None:
        names: dict[str, object] = {"__name__": "jobs"}
        Path("other.py").write_text(JOB.replace("< 0", "< -5"))
        exec(compile(Path("other.py").read_text(), "other.py", "exec"), names)
        names["limits"].run(progress=False)  # type: ignore[attr-defined]

    ran()
    gc.collect()
    check_error(
        """
        NO_SOURCE: the code of spent is not in this process, or it has changed since the job ran
          hint: pass the job itself instead of the folder of its checkpoint; on the command line, the file with the job: --pdb job.py
          more: headrace error NO_SOURCE
        """,
        lambda: hr.replay(".headrace/limits", {"card": "a"}, "spent", debug=print),
    )


def test_a_job_without_programs() -> None:
    counts = hr.read.files("charges", format="json", schema="card string", name="cards").group_by("card").agg(n="count(*)")
    hr.job("counts", counts.write.files("n", format="json", mode="changes", name="n")).run(progress=False)
    check_error(
        """
        UNKNOWN_VIEW: the job counts has no programs
          hint: rows of queries are explained by headrace why
          more: headrace error UNKNOWN_VIEW
        """,
        lambda: hr.replay(".headrace/counts", {"card": "a"}),
    )
