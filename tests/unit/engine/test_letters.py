"""Dead letters beside a checkpoint: read, written out to be repaired, and given back; all of it without Spark."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import headrace as hr
from headrace.cli import main
from headrace.durable.manifest import Manifest, StagedFile
from headrace.plan import Plan
from headrace.spark.checkpoint.folder import Stored
from headrace.spark.compile.identity import Identity
from tests.unit.errors import check_error


def letter(node: str, reason: str, raw: str | None, **more: Any) -> dict[str, Any]:
    return {"node": node, "reason": reason, "file": None, "position": None, "raw": raw, **more}


def write_letters(checkpoint: Path, epoch: int, *letters: dict[str, Any], query: str = "main") -> None:
    """An epoch's letters, as the sink for them commits them."""
    folder = checkpoint / "dead_letters" / query
    staged = folder / "_headrace" / "staging" / f"{epoch}-0-1" / "part-00000-000.json"
    staged.parent.mkdir(parents=True)
    staged.write_text("".join(json.dumps(one) + "\n" for one in letters), encoding="utf-8")
    Manifest(folder).commit(epoch, [StagedFile(str(staged.relative_to(folder)), len(letters), staged.stat().st_size)])


def stored(folder: Path, plan: Plan) -> None:
    """A checkpoint of a job that has this plan."""
    (folder / "job.json").write_text(json.dumps(Stored("c1", "fraud", plan.to_json(), {}, 1, Identity()).to_json()), encoding="utf-8")


@pytest.fixture
def checkpoint(tmp_path: Path) -> Path:
    """That of a job that reads JSON and CSV and has a source whose rows cannot be fed back."""
    charges = hr.read.files("in", format="json", schema="card string, amount int", name="charges")
    limits = hr.read.files("limits", format="csv", schema="card string, limit int, on boolean", name="limits", options={"sep": ";"})
    beats = hr.read.rate(1, name="beats")
    sound = charges.expect(positive="amount > 0").named("sound")
    halves = sound.select("card", half="10 / amount").named("halves").filter("half > 1")
    sinks = [halves.write.memory(name="out"), limits.write.memory(name="limited"), beats.write.memory(name="beaten")]
    plan = Plan.of("fraud", [sink._use() for sink in sinks])
    folder = tmp_path / "checkpoint"
    folder.mkdir()
    stored(folder, plan)
    write_letters(
        folder,
        0,
        letter("charges", "not JSON: unexpected end", '{"card": "a"', file="file:///in/1.json", position=17),
        letter("sound", "EXPECTATION: positive (amount > 0)", '{"card":"b","amount":-1}', file="file:///in/1.json", position=40),
    )
    write_letters(
        folder,
        3,
        letter("halves", "[DIVIDE_BY_ZERO]", '{"card":"c","amount":0}'),
        letter("charges.filter", "failed", '{"card":"d","half":1}'),
    )
    write_letters(folder, 1, letter("limits", "field limit: cannot read 'x' as INT", "a;x;true"), query="limited")
    write_letters(folder, 2, letter("limits", "NULL_KEY: a key column is null", '{"card":null,"limit":7,"on":true}'), query="limited")
    return folder


def test_all_of_them_oldest_first_with_their_sources(checkpoint: Path) -> None:
    rows = [(epoch, source, node, file, position) for epoch, _, source, node, _, file, position, _ in hr.letters(checkpoint).table().rows()]
    assert rows == [
        (0, "charges", "charges", "file:///in/1.json", 17),
        (0, "charges", "sound", "file:///in/1.json", 40),
        (1, "limits", "limits", None, None),
        (2, "limits", "limits", None, None),
        (3, "charges", "halves", None, None),
        (3, None, "charges.filter", None, None),
    ]


def test_some_of_them(checkpoint: Path) -> None:
    letters = hr.letters(checkpoint)
    assert [row[3] for row in letters.table(source="charges", reason="divide").rows()] == ["halves"]
    assert (len(letters.table(limit=2)), letters.table(limit=2).more) == (2, True)
    assert repr(letters) == "<Letters fraud: 6>"


def test_letters_of_a_source_that_the_job_has_not(checkpoint: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["letters", "show", str(checkpoint), "--source", "charge"]) == 1
    check_error(
        """
        UNKNOWN_SOURCE: the job fraud has no source charge
          hint: did you mean `charges`? It has: charges, limits, beats
          more: headrace error UNKNOWN_SOURCE
        """,
        capsys.readouterr().err,
    )
    assert len(hr.letters(checkpoint).table(source="beats")) == 0
    for command in ("export", "replay"):
        assert main(["letters", command, str(checkpoint), "x.json", "--source", "charge"]) == 1
        assert capsys.readouterr().err.splitlines()[:2] == [
            "UNKNOWN_SOURCE: the job fraud has no source charge",
            "  hint: did you mean `charges`? Sources that accept repaired rows: charges, limits",
        ]


def test_a_letter_that_was_taken_away_is_not_there(checkpoint: Path) -> None:
    spent = letter("spent", "[OVERFLOW]", '{"card":"a"}')
    write_letters(checkpoint, 7, {**spent, "_change": "insert"}, {**spent, "_change": "insert"}, query="spent")
    write_letters(checkpoint, 8, {**spent, "_change": "delete"}, query="spent")
    assert [row[0] for row in hr.letters(checkpoint).table(reason="overflow").rows()] == [7]


def test_what_a_sink_could_not_deliver_is_shown_too(checkpoint: Path) -> None:
    folder = checkpoint / "refused" / "out"
    folder.mkdir(parents=True)
    (folder / "00000000000000000004-00001.json").write_text(json.dumps(letter("out", "HTTP 422", '{"card":"a"}')) + "\n", encoding="utf-8")
    assert [(row[0], row[2], row[4]) for row in hr.letters(checkpoint).table().rows()[-1:]] == [(4, None, "HTTP 422")]


def test_a_commit_under_way(checkpoint: Path) -> None:
    folder = checkpoint / "dead_letters" / "main"
    file = next(folder.glob("part-*3-*.json"))
    entry = json.loads((folder / "_headrace" / f"{3:020}.json").read_text(encoding="utf-8"))
    staged = folder / entry["files"][0]["staged"]
    staged.parent.mkdir(parents=True)
    file.rename(staged)
    assert len(hr.letters(checkpoint).table()) == 6


def test_rows_of_json_to_be_repaired(checkpoint: Path, tmp_path: Path) -> None:
    assert hr.letters(checkpoint).export("charges", tmp_path / "out.json") == (3, {}, ())
    assert (tmp_path / "out.json").read_text(encoding="utf-8").splitlines() == [
        '{"card": "a"',
        '{"card":"b","amount":-1}',
        '{"card":"c","amount":0}',
    ]


def test_numbers_keep_their_digits(checkpoint: Path, tmp_path: Path) -> None:
    raw = '{"card":"b","amount":123456789012345678.91}'
    write_letters(checkpoint, 9, letter("sound", "EXPECTATION: digits", raw))
    write_letters(
        checkpoint, 9, letter("limits", "EXPECTATION: digits", '{"card":"b","limit":123456789012345678.910,"on":false}'), query="limited"
    )
    letters = hr.letters(checkpoint)
    assert letters.export("charges", tmp_path / "out", reason="digits") == (1, {}, ())
    assert (tmp_path / "out").read_text(encoding="utf-8") == raw + "\n"
    assert letters.export("limits", tmp_path / "out", reason="digits") == (1, {}, ())
    assert (tmp_path / "out").read_text(encoding="utf-8") == "card;limit;on\nb;123456789012345678.910;false\n"


def test_letters_behind_the_ledger_of_a_source_are_left_out_with_a_reason(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    charges = hr.read.files("in", format="json", schema="op string, card string, amount int", name="charges", change_column="op")
    stream = charges.expect("amount > 0").named("sound")
    stored(tmp_path, Plan.of("fraud", [stream.write.files("out", format="json", mode="changes", name="out")._use()]))
    write_letters(
        tmp_path,
        0,
        letter("charges.ledger", "NEVER_ADDED: the retracted row is not present", '{"card":"z","amount":1}'),
        letter("sound", "EXPECTATION: amount > 0", '{"card":"a","amount":0}'),
    )
    assert main(["letters", "export", str(tmp_path), str(tmp_path / "out.json"), "--source", "charges"]) == 0
    assert capsys.readouterr().out.splitlines()[1:] == [
        "1 letter left out: it failed in `charges.ledger`, whose rows may differ from those of the source",
        "1 letter left out: it failed in `sound`, whose rows may differ from those of the source",
    ]


def test_rows_that_a_sink_refused_are_left_out_with_a_reason(checkpoint: Path, tmp_path: Path) -> None:
    write_letters(checkpoint, 9, letter("limited", "HTTP 422", '{"card":"a","limit":1,"on":true}'))
    why = "it failed in `limited`, whose rows may differ from those of the source"
    assert hr.letters(checkpoint).export("limits", tmp_path / "out.csv", reason="422") == (0, {why: 1}, ())
    assert hr.letters(checkpoint).export("charges", tmp_path / "out.json", reason="422") == (0, {}, ())


@pytest.mark.parametrize("options", [{"sep": "||"}, {"sep": ";", "quote": "'"}, {"sep": "\\t"}, {"escape": '"'}], ids=str)
def test_an_exported_file_can_be_given_back(tmp_path: Path, options: dict[str, str]) -> None:
    schema = "card string, `limit;|'a` int, `on,off` boolean"
    limits = hr.read.files("in", format="csv", schema=schema, name="limits", options=options)
    stored(tmp_path, Plan.of("fraud", [limits.expect("card > 'b'").named("sound").write.memory(name="out")._use()]))
    write_letters(tmp_path, 0, letter("sound", "EXPECTATION", '{"card":"a","limit;|\'a":1,"on,off":true}'))
    letters = hr.letters(tmp_path)
    assert letters.export("limits", tmp_path / "out.csv") == (1, {}, ())
    assert letters.replay("limits", tmp_path / "out.csv") == 1


def test_a_line_with_line_breaks_is_left_out(checkpoint: Path, tmp_path: Path) -> None:
    write_letters(checkpoint, 9, letter("limits", "not CSV: text after the record", "a;1\nb;2"), query="limited")
    why = "its text has a line break, and a repaired file has one row per line"
    assert hr.letters(checkpoint).export("limits", tmp_path / "out.csv", reason="after") == (0, {why: 1}, ())


def test_rows_of_csv_to_be_repaired(checkpoint: Path, tmp_path: Path) -> None:
    # nobody in this plan refuses the row without a key, so it may be anywhere
    assert hr.letters(checkpoint).export("limits", tmp_path / "out.csv") == (2, {}, ((1, ("limits",), ("limited",)),))
    assert (tmp_path / "out.csv").read_text(encoding="utf-8").splitlines() == ["card;limit;on", "a;x;true", ";7;true"]


def test_rows_whose_columns_had_changed_are_left_out(checkpoint: Path, tmp_path: Path) -> None:
    write_letters(checkpoint, 9, letter("halves", "later", '{"card":"c","half":0}'))
    assert hr.letters(checkpoint).export("charges", tmp_path / "out.json", reason="later") == (
        0,
        {"it failed after a step that changed the columns, so it is not a row of the source": 1},
        (),
    )


class Echo(hr.Program):
    def on_event(self, e: Any) -> None:
        hr.emit(card=self.key.card)


@pytest.fixture
def branches(tmp_path: Path) -> Path:
    """The checkpoint of a job in which rows fail on some of their ways and come to their sinks on others."""
    charges = hr.read.files("in", format="csv", schema="card string, amount int", name="charges")
    halves = charges.with_columns(half="10 / amount").named("halves")
    sinks = [
        charges.group_by("card").agg(n="count(*)").write.files("out/counts", format="json", mode="changes"),
        halves.write.memory(name="halved"),
        halves.filter("1 / (half - 5) > 0").write.memory(name="some"),
        charges.union(charges.filter("1 / (amount - 2) > 0").named("far")).write.memory(name="both"),
        charges.key_by("card").process(Echo).write.memory(name="echoed"),
        charges.output("dead_letter").write.memory(name="dead"),
    ]
    stored(tmp_path, Plan.of("fraud", [sink._use() for sink in sinks]))
    return tmp_path


def at(position: int) -> dict[str, Any]:
    return {"file": "file:///in/1.csv", "position": position}


def test_sinks_that_rows_reach_although_they_failed_are_named(branches: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_letters(
        branches,
        0,
        letter("charges", "2 columns instead of 3", "a,1,2", **at(1)),
        letter("halves", "[DIVIDE_BY_ZERO]", '{"card":"b","amount":0}', **at(2)),
        letter("halves", "[DIVIDE_BY_ZERO]", '{"card":"c","amount":0}', **at(3)),
        letter("far", "[DIVIDE_BY_ZERO]", '{"card":"d","amount":2}', **at(4)),
        letter("charges", "NULL_KEY: a key column is null", '{"card":null,"amount":2}', **at(5)),
    )
    assert main(["letters", "export", str(branches), str(branches / "out.csv"), "--source", "charges"]) == 0
    assert capsys.readouterr().out.splitlines()[1:] == [
        "2 rows that failed in halves may have reached counts, both, echoed on another path: a replay feeds them there again",
        "1 row that failed in far may have reached counts, halved, some, both, echoed on another path: a replay feeds it there again",
        "1 row that failed in charges may have reached counts, halved, some, both on another path: a replay feeds it there again",
    ]


def test_a_row_that_failed_several_times_is_written_once(branches: Path) -> None:
    write_letters(
        branches,
        0,
        letter("halves", "[DIVIDE_BY_ZERO]", '{"card":null,"amount":0}', **at(1)),
        letter("charges", "NULL_KEY: a key column is null", '{"card":null,"amount":0}', **at(1)),
        letter("halves", "[DIVIDE_BY_ZERO]", '{"card":null,"amount":0}'),
        letter("halves", "[DIVIDE_BY_ZERO]", '{"card":null,"amount":0}'),
    )
    nowhere = (1, ("halves", "charges"), ("counts", "both")), (2, ("halves",), ("counts", "both", "echoed"))
    letters = hr.letters(branches)
    assert letters.export("charges", branches / "out.csv") == (3, {}, nowhere)
    assert (branches / "out.csv").read_text(encoding="utf-8").splitlines() == ["card,amount", *[",0"] * 3]
    # another letter of the row counts, whether it was asked for or not
    assert letters.export("charges", branches / "out.csv", reason="NULL_KEY") == (1, {}, nowhere[:1])


def test_rows_that_an_operator_could_not_compute_a_key_of_are_rows(branches: Path) -> None:
    write_letters(
        branches, 0, letter("charges", "[DIVIDE_BY_ZERO]", '{"card":"a","amount":0}'), letter("charges", "[DIVIDE_BY_ZERO]", '{"amount":0}')
    )
    rows, left_out, reached = hr.letters(branches).export("charges", branches / "out.csv")
    assert (rows, list(left_out.values())) == (1, [1])
    assert (branches / "out.csv").read_text(encoding="utf-8").splitlines() == ["card,amount", "a,0"]
    assert reached == ((1, ("charges",), ("counts", "halved", "some", "both", "echoed")),)


def test_letters_of_whole_files_are_left_out_for_what_they_are(
    checkpoint: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_letters(
        checkpoint,
        9,
        *(letter("charges", reason, None, file="file:///in/2.json.gz") for reason in ("FILE_BROKEN: it ends too early",) * 2),
        letter("charges", "FILE_CHANGED: it had 1 byte when it was read and has 2 now; what has changed since is not read", None),
        letter("charges", "not JSON", None),
    )
    assert main(["letters", "export", str(checkpoint), str(tmp_path / "out.json"), "--source", "charges"]) == 0
    assert capsys.readouterr().out.splitlines()[1:] == [
        "2 letters left out: FILE_BROKEN is about a whole file, not a row: see headrace error FILE_BROKEN",
        "1 letter left out: FILE_CHANGED is about a whole file, not a row: see headrace error FILE_CHANGED",
        "1 letter left out: the letter has no text of the row",
    ]


def test_a_repaired_file_is_kept_whole_in_the_order_of_giving(checkpoint: Path, tmp_path: Path) -> None:
    letters = hr.letters(checkpoint)
    mended = tmp_path / "mended.json"
    mended.write_text('{"card": "a", "amount": 1}\n\n{"CARD": "b"}', encoding="utf-8")
    assert letters.replay("charges", mended) == 2
    mended.write_text('{"card": "c"}\n', encoding="utf-8")
    assert letters.replay("charges", mended) == 1
    assert letters.replay("charges", mended, again=True) == 1
    files = sorted((checkpoint / "repaired" / "charges").iterdir())
    assert [file.name.partition("-")[0] for file in files] == ["00001", "00002", "00003"]
    assert {file.suffix for file in files} == {".json"}
    assert files[0].read_text(encoding="utf-8") == '{"card": "a", "amount": 1}\n\n{"CARD": "b"}'


def test_a_file_that_was_given_before(checkpoint: Path, tmp_path: Path) -> None:
    mended = tmp_path / "mended.csv"
    mended.write_text("card;limit\na;1\n", encoding="utf-8")
    hr.letters(checkpoint).replay("limits", mended)
    check_error(
        """
        REPAIRED_BEFORE: <folder>/mended.csv was already replayed to limits, as 00001-3d5bb7d1b2c5.csv
          hint: its rows count once; add --again (again=True) to count them again
          more: headrace error REPAIRED_BEFORE
        """,
        lambda: hr.letters(checkpoint).replay("limits", mended),
        hide={str(tmp_path): "<folder>", _digest(mended): "3d5bb7d1b2c5"},
    )


def _digest(file: Path) -> str:
    import hashlib

    return hashlib.sha256(file.read_bytes()).hexdigest()[:12]


def test_a_field_that_the_source_has_not(checkpoint: Path, tmp_path: Path) -> None:
    mended = tmp_path / "mended.json"
    mended.write_text('{"card": "a"}\n{"card": "a", "half": 1}\n', encoding="utf-8")
    check_error(
        """
        BAD_REPAIR: <folder>/mended.json, line 2 has a field `half`, which the source does not have
          hint: it has: card, amount
          more: headrace error BAD_REPAIR
        """,
        lambda: hr.letters(checkpoint).replay("charges", mended),
        hide={str(tmp_path): "<folder>"},
    )
    assert not (checkpoint / "repaired").exists()


@pytest.mark.parametrize(
    ("source", "text", "message"),
    [
        ("charges", b"{oops\n", "line 1 is not JSON: "),
        ("charges", b"[1]\n", "line 1 is not a JSON object"),
        ("charges", b"\n \n", "has no rows"),
        ("charges", b"\xff\n", "is not UTF-8: invalid start byte at byte 0"),
        ("limits", b"card;limit\n", "has no rows"),
        ("limits", b"card,limit\na,1\n", "line 1 has a field `card,limit`, which the source does not have"),
        ("beats", b"{}\n", "the source beats does not accept repaired rows"),
    ],
)
def test_files_that_cannot_be_rows(checkpoint: Path, tmp_path: Path, source: str, text: bytes, message: str) -> None:
    mended = tmp_path / "mended"
    mended.write_bytes(text)
    with pytest.raises(hr.HeadraceError) as raised:
        hr.letters(checkpoint).replay(source, mended)
    assert raised.value.code == "BAD_REPAIR" and message in raised.value.message
    if source == "beats":
        assert raised.value.hint == "sources that accept repaired rows: charges, limits"


def test_a_job_that_was_run_to_its_end(checkpoint: Path, tmp_path: Path) -> None:
    (checkpoint / "sealing").touch()
    with pytest.raises(hr.HeadraceError) as raised:
        hr.letters(checkpoint).replay("charges", tmp_path / "mended")
    assert raised.value.code == "CHECKPOINT_SEALED"


def test_the_command_line(checkpoint: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / ".headrace").mkdir()
    checkpoint.rename(tmp_path / ".headrace" / "fraud")
    assert main(["letters", "show", "fraud", "--source", "limits", "--format", "json"]) == 0
    assert [row["raw"] for row in json.loads(capsys.readouterr().out)] == ["a;x;true", '{"card":null,"limit":7,"on":true}']
    assert main(["letters", "export", "fraud", "out.json", "--source", "charges"]) == 0
    assert capsys.readouterr().out == "3 rows of charges in out.json\n"
    Path("out.json").write_text('{"card": "a", "amount": 1}\n', encoding="utf-8")
    assert main(["letters", "replay", ".headrace/fraud", "out.json", "--source", "charges"]) == 0
    assert capsys.readouterr().out == (
        "1 row for charges, to be read with the next epoch, or when the job next runs;\nif the watermark has passed their time, they are late\n"
    )
    assert main(["letters", "replay", "fraud", "out.json", "--source", "charges"]) == 1
    assert capsys.readouterr().err.startswith("REPAIRED_BEFORE: out.json was already replayed to charges, as ")
