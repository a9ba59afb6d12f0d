"""hr.letters: the dead letters of a job, to show, repair and replay."""

from __future__ import annotations

import hashlib
import json
import os
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from headrace.durable import named
from headrace.engine.loading import refuse_while_loading
from headrace.engine.reached import AT_A_KEY, Reached, Ways
from headrace.engine.records import BREAKS, Records, Unwritable
from headrace.engine.state import stored_job
from headrace.engine.table import Table
from headrace.errors import HeadraceError
from headrace.ops import Source, sources_of
from headrace.plan import DisplayNames, Plan
from headrace.plan.walk import order
from headrace.ports import Lines
from headrace.schema import parse_schema
from headrace.spark.checkpoint import repaired
from headrace.spark.checkpoint.letters import Letter, letters_in
from headrace.spelling import suggestion


class Exported(NamedTuple):
    """The result of `Letters.export`: the number of `rows` written; `left_out`, the number of letters without a row to write, by reason;
    and `reached`, the rows that may have reached sinks, to which a replay feeds them again.
    """

    rows: int
    left_out: Mapping[str, int]
    reached: tuple[Reached, ...] = ()


class Letters:
    """The dead letters of a job, except those that a stream reads, and the rows that its sinks refused. `hr.letters` opens them.

    `job` is the name of the job, `folder` its checkpoint.

    Examples:
        >>> import headrace as hr
        >>> from pathlib import Path
        >>> _ = Path("in.json").write_text('{"card": "a", "amount": 1}\\n{"card": "b", "amount": "x"}\\n')
        >>> charges = hr.read.files("in.json", format="json", schema="card string, amount int", name="charges")
        >>> job = hr.job("mended", charges.write.memory())
        >>> _ = job.run(progress=False)
        >>> letters = hr.letters(".headrace/mended")
        >>> letters.export("charges", "repair.json").rows
        1
        >>> _ = Path("repair.json").write_text('{"card": "b", "amount": 2}\\n')
        >>> letters.replay("charges", "repair.json")
        1
        >>> job.run(progress=False).rows
        1
        >>> len(letters.table(source="charges"))
        1
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._stored = stored_job(folder)
        self.job = self._stored.job
        self._shown = DisplayNames.of(Plan.from_json(self._stored.plan))

    def __repr__(self) -> str:
        return f"<Letters {self.job}: {len(self._all()):,}>"

    def table(self, *, source: str | None = None, reason: str | None = None, limit: int | None = None) -> Table:
        """Returns the letters, oldest first: `epoch`, `time`, `source`, `node`, `reason`, `file`, `position`, `raw`.

        Args:
            source: Only those of this source. Default: all.
            reason: Only those whose reason contains this text (case-insensitive). Default: all.
            limit: The maximum number of letters. Default: all.

        Raises:
            CheckpointError: `UNKNOWN_SOURCE` for a source that the job does not have.
        """
        wanted = None if source is None else self._shown.stored(source)
        if wanted is not None:
            self._known(wanted)
        chosen = [one for one in self._all() if wanted in (None, one.source) and (reason is None or reason.lower() in one.reason.lower())]
        shown = self._shown
        rows = [
            (one.epoch, one.time, one.source and shown(one.source), shown(one.node), one.reason, one.file, one.position, one.raw)
            for one in chosen
        ]
        return Table(rows[:limit], Table.letters, more=limit is not None and len(rows) > limit)

    def export(self, source: str, path: str | os.PathLike[str], *, reason: str | None = None) -> Exported:
        """Writes the rows of a source's letters to a file for repair, each row once, no matter how often it failed.

        Args:
            source: The name of the source.
            path: The file to write, in the source's format: JSON lines or CSV.
            reason: Only letters whose reason contains this text (case-insensitive). Default: all.

        Returns:
            `rows`, the number written; `left_out`, the number of letters without a row to write, by reason; `reached`, the rows that other
            sinks may already have: replaying them would duplicate them there
            ([avoid duplicates](../../guides/contracts.md#avoid-duplicates)).

        Raises:
            CheckpointError: `UNKNOWN_SOURCE` for a source that the job does not have.
            ConnectorError: `BAD_REPAIR` for a source that takes no repaired rows, `FOLDER_NOT_WRITABLE` for the file.
        """
        source = self._shown.stored(source)
        node, lines = self._source(source)
        records = Records(lines.options, parse_schema(node.schema)) if lines.kind == "csv" else None
        plan = Plan.from_json(self._stored.plan)
        downstream = {name for name, one in plan.nodes.items() if source in {str(end.name) for end in sources_of(order([one]))}}
        letters = [one for one in self._all() if one.source in (source, None) and one.node in downstream]
        rows: dict[tuple[object, ...], tuple[str, Letter]] = {}
        left_out: Counter[str] = Counter()
        for number, one in enumerate(letters):
            if (reason or "").lower() not in one.reason.lower():
                continue
            try:
                line = _line(one, source, list(node.columns), records)
                rows.setdefault((*(_origin(one) or (number,)), line), (line, one))
            except Unwritable as why:
                left_out[str(why)] += 1
        begins = [records.names] if records is not None and records.header else []
        named.write(path, "".join(f"{line}\n" for line in (*begins, *(line for line, _ in rows.values()))))
        return Exported(len(rows), left_out, self._reached(Ways(plan, source), [one for _, one in rows.values()], letters))

    def _reached(self, ways: Ways, exported: Iterable[Letter], letters: Iterable[Letter]) -> tuple[Reached, ...]:
        """Return the sinks that rows may have reached, judged by all letters of each row. `exported` has one letter per row."""
        of: dict[tuple[str, int], list[Letter]] = {}
        for one in letters:
            if one.source is not None and (origin := _origin(one)):
                of.setdefault(origin, []).append(one)
        counts: Counter[tuple[tuple[str, ...], tuple[str, ...]]] = Counter()
        for one in exported:
            origin = _origin(one)
            alike = of[origin] if origin else [one]
            sinks = ways.avoiding(ways.failed(alike))
            if sinks:
                nodes = dict.fromkeys(letter.node for letter in alike)
                counts[tuple(map(self._shown, nodes)), tuple(map(self._shown, sinks))] += 1
        return tuple(Reached(count, nodes, sinks) for (nodes, sinks), count in counts.items())

    def replay(self, source: str, path: str | os.PathLike[str], *, again: bool = False) -> int:
        """Feeds a file of repaired rows to a source, each once. The job takes them with its next epoch, or when it next runs.

        These rows are stored in the checkpoint only. Keep the file: if you restore an older checkpoint, replay it again.

        Args:
            source: The name of the source.
            path: The file, in the format that `export` writes.
            again: Accepts a file that was replayed before; its rows are added a second time.

        Returns:
            The number of rows.

        Raises:
            CheckpointError: `UNKNOWN_SOURCE`; `REPAIRED_BEFORE` for a file that was replayed before; `CHECKPOINT_SEALED` if the job takes
                no new input.
            ConnectorError: `BAD_REPAIR` for a file whose rows do not fit the source, or a source that takes no repaired rows.
            ConfigError: `FILE_MISSING`.
        """
        source = self._shown.stored(source)
        node, lines = self._source(source)
        if (self.folder / "sealing").exists():
            raise HeadraceError(
                "CHECKPOINT_SEALED",
                f"the job {self.job} has read its bounded input to the end and fired all its timers",
                hint="start over with fresh=True and repaired input; flush=False keeps a job open for later rows",
            )
        text = named.existing(path).read_bytes()
        rows = _checked(text, path, node, lines)
        digest = hashlib.sha256(text).hexdigest()[:12]
        before = next((file for file in repaired.files(self.folder, source) if digest in file.name), None)
        if before is not None and not again:
            raise HeadraceError(
                "REPAIRED_BEFORE",
                f"{path} was already replayed to {source}, as {before.name}",
                hint="its rows count once; add --again (again=True) to count them again",
            )
        repaired.give(self.folder, source, text, digest, f".{lines.kind}")
        return rows

    def _all(self) -> list[Letter]:
        return letters_in(self.folder, self._stored)

    def _sources(self) -> list[Source]:
        return list(sources_of(Plan.from_json(self._stored.plan).nodes.values()))

    def _known(self, source: str) -> None:
        """Refuse a source that the job does not have."""
        self._refuse_unknown(source, [str(node.name) for node in self._sources()], "it has")

    def _refuse_unknown(self, source: str, has: Iterable[str], what: str) -> None:
        shown = [self._shown(name) for name in has]
        if source not in {str(node.name) for node in self._sources()}:
            hint = suggestion(source, shown, f"{what}: {', '.join(shown) or 'none'}")
            raise HeadraceError("UNKNOWN_SOURCE", f"the job {self.job} has no source {source}", hint=hint)

    def _source(self, name: str) -> tuple[Source, Lines]:
        can = {str(node.name): (node, lines) for node in self._sources() if (lines := node.connect().repairs) is not None}
        if name in can:
            return can[name]
        accepting = "sources that accept repaired rows"
        self._refuse_unknown(name, can, accepting)
        raise _bad(f"the source {name} does not accept repaired rows", f"{accepting}: {', '.join(can) or 'none'}")


def letters(checkpoint: str | os.PathLike[str]) -> Letters:
    """Opens the dead letters in a job's checkpoint. Nothing is locked, so the job may run meanwhile.

    Args:
        checkpoint: The folder of the job's state.

    Raises:
        CheckpointError: `NOT_A_CHECKPOINT`, `CHECKPOINT_FORMAT`, `CHECKPOINT_UNREADABLE`.
        ConfigError: `RUN_WHILE_LOADING` while `hr.load` loads the file.

    Examples:
        >>> import headrace as hr
        >>> from pathlib import Path
        >>> _ = Path("in.json").write_text('{"card": "a", "amount": 1}\\n{"card": "b", "amount": "x"}\\n')
        >>> charges = hr.read.files("in.json", format="json", schema="card string, amount int", name="charges")
        >>> _ = hr.job("copy", charges.write.memory()).run(checkpoint="copied", progress=False)
        >>> [(letter["source"], letter["reason"], letter["raw"]) for letter in hr.letters("copied").table().to_json()]
        [('charges', "field amount: cannot read 'x' as INT", '{"card": "b", "amount": "x"}')]
    """
    refuse_while_loading("hr.letters")
    return Letters(Path(checkpoint).expanduser().absolute())


def _origin(letter: Letter) -> tuple[str, int] | None:
    """Return the place a row was read from; letters with the same place are of one row."""
    return None if letter.file is None or letter.position is None else (letter.file, letter.position)


def _line(letter: Letter, source: str, columns: list[str], records: Records | None) -> str:
    """Return the original line of a letter, or a line made from its row. Raises Unwritable."""
    code = letter.reason.partition(":")[0]
    if code in ("FILE_BROKEN", "FILE_CHANGED"):
        raise Unwritable(f"{code} is about a whole file, not a row: see headrace error {code}")
    if letter.raw is None:
        raise Unwritable("the letter has no text of the row")
    if letter.source is None:
        raise Unwritable(f"it failed in `{letter.node}`, whose rows may differ from those of the source")
    if letter.node == source and not letter.reason.startswith((*AT_A_KEY, "EXPECTATION")):
        if any(sign in letter.raw for sign in BREAKS):
            raise Unwritable("its text has a line break, and a repaired file has one row per line")
        return letter.raw
    values = _values(letter.raw, columns)
    # Use the letter's text: a Python number would lose digits.
    return letter.raw if records is None else records.line(values)


def _values(raw: str, columns: list[str]) -> list[Any]:
    """Return the values of a row in JSON, with numbers as text. Raises Unwritable."""
    try:
        values = json.loads(raw, parse_float=str, parse_int=str)
    except ValueError:
        values = None
    if not isinstance(values, dict) or list(values) != columns:
        raise Unwritable("it failed after a step that changed the columns, so it is not a row of the source")
    return list(values.values())


def _checked(text: bytes, path: str | os.PathLike[str], node: Source, lines: Lines) -> int:
    """Count the rows of a repaired file; refuses what visibly cannot be rows of the source."""
    try:
        numbered = [(number, line) for number, line in enumerate(text.decode("utf-8").split("\n"), 1) if line.strip()]
    except UnicodeDecodeError as cause:
        raise _bad(f"{path} is not UTF-8: {cause.reason} at byte {cause.start}", "save it as UTF-8") from None
    columns = list(node.columns)
    known = {name.lower() for name in columns}
    if lines.kind == "csv":
        records = Records(lines.options, parse_schema(node.schema))
        if records.header and numbered:
            number, line = numbered.pop(0)
            _known(records.split(line.removesuffix("\r")), known, columns, f"{path}, line {number}")
    else:
        for number, line in numbered:
            try:
                row = json.loads(line)
            except ValueError as cause:
                raise _bad(f"{path}, line {number} is not JSON: {cause}", "write one object per line") from None
            if not isinstance(row, dict):
                raise _bad(f"{path}, line {number} is not a JSON object", 'write one object per line: {"card": "a", "amount": 1}')
            _known(row, known, columns, f"{path}, line {number}")
    if not numbered:
        raise _bad(f"{path} has no rows", "write one row per line")
    return len(numbered)


def _known(names: Iterable[str], known: set[str], columns: list[str], place: str) -> None:
    wrong = next((name for name in names if name.strip().lower() not in known), None)
    if wrong is not None:
        hint = suggestion(wrong, columns, f"it has: {', '.join(columns)}")
        raise _bad(f"{place} has a field `{wrong}`, which the source does not have", hint)


def _bad(message: str, hint: str) -> HeadraceError:
    return HeadraceError("BAD_REPAIR", message, hint=hint)
