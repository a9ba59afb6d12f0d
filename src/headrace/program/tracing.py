"""trace: runs each handler of a program once and returns its statements as data."""

from __future__ import annotations

import inspect
import linecache
import traceback
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count
from types import CodeType
from typing import Any
from weakref import WeakSet

from headrace.errors import HeadraceError, PlanError, ProgramError, Site, here, ours
from headrace.expr import Column
from headrace.masking import masked_problem
from headrace.program.cell import Cell
from headrace.program.meant import Owner, instead, otherwise_called
from headrace.program.output import MAIN, Output
from headrace.program.program import Program
from headrace.program.recording import TIMER_KEY, Emitted, Frame, Recording, recorded
from headrace.program.row import Row
from headrace.program.source import check_handler, inside
from headrace.program.traced import Traced, TracedHandler, TracedOutput
from headrace.spelling import nearest, suggestion

EVENT = "event"
LATE = "late"


@dataclass(frozen=True, eq=False)
class Tracing:
    """How a program was traced. `opening`: the code of its functions that open a branch or a loop, or have functions in them that do.
    `inputs`: the columns of each input. `number`: later ones have greater numbers.
    """

    traced: Traced
    program: Program
    frame: Frame
    inputs: Mapping[str, tuple[str, ...]]
    opening: frozenset[CodeType]
    number: int = field(default_factory=count().__next__)


_tracings: WeakSet[Tracing] = WeakSet()
"""Each lives as long as the program that it gave."""


def tracing_of(traced: Traced, name: str, key: tuple[str, ...]) -> Tracing | None:
    """Returns how a program was traced; for one of a stored plan, how the last one was that equals it. None if this process has none.

    Args:
        traced: The program.
        name: Its name.
        key: Its key columns.
    """
    same = [one for one in _tracings if one.traced == traced and (one.frame.program, one.frame.key) == (name, key)]
    return max(same, key=lambda one: (one.traced is traced, one.number), default=None)


def trace(
    program: type[Program] | Program,
    *,
    name: str,
    key: tuple[str, ...],
    inputs: Mapping[str, tuple[str, ...]],
    broadcast: Collection[str] = (),
) -> Traced:
    """Traces a program. `inputs` has the columns of each input, the main one under "event"; the rows of the inputs in `broadcast` go to all
    keys.

    Only Python runs, and every error names the user's line.
    """
    instance = _instance(program)
    title = type(instance).__name__
    declared = dict(_declared(instance))
    cells = {attribute: cell for attribute, cell in declared.items() if isinstance(cell, Cell)}
    outputs = {attribute: output for attribute, output in declared.items() if isinstance(output, Output)}
    _check_names(title, cells, outputs, inputs)
    timers = {attribute: "at, key" if cell.key else "at" for attribute, cell in cells.items() if cell.fires}
    handlers = _handlers(instance, title, inputs, timers)

    shared = frozenset(attribute for attribute, cell in cells.items() if cell.kind == "broadcast")
    _check_shared(title, shared, broadcast, cells)
    frame = Frame(title, key, shared, {id(cell): attribute for attribute, cell in declared.items()}, {}, frozenset(timers))
    order = [EVENT, *sorted(set(inputs) - {EVENT}), LATE, *timers]
    traced, opening = [], set()
    for on in order:
        if on in handlers:
            kind = "timer" if on in timers else "late" if on == LATE else "broadcast" if on in broadcast else "input"
            of = None if kind == "timer" else EVENT if kind == "late" else on
            recording = Recording(frame, f"on_{on}", of, inputs[of] if of is not None else (), on in broadcast)
            body = _run(handlers[on], recording, timers.get(on))
            traced.append(TracedHandler(on, kind, body))
            opening |= {code for code, lines in recording.read_sources.items() if lines}
            opening |= {code for code in recording.read_sources if any(one in opening for one in inside(code))}
    whole = Traced(
        tuple(cell.traced(attribute) for attribute, cell in cells.items()), tuple(traced), tuple(_outputs(title, outputs, frame, instance))
    )
    tracing = Tracing(whole, instance, frame, dict(inputs), frozenset(opening))
    object.__setattr__(whole, "_tracing", tracing)
    _tracings.add(tracing)
    return whole


def _instance(program: object) -> Program:
    if isinstance(program, Program):
        return program
    if isinstance(program, type) and issubclass(program, Program):
        try:
            inspect.signature(program).bind()
        except TypeError as error:
            needs = f"{program.__name__} needs arguments ({error})"
            hint = f"pass an instance: .process({program.__name__}(...))"
            raise ProgramError("NOT_A_PROGRAM", needs, hint=hint, site=here()) from None
        return program()
    what = program.__name__ if isinstance(program, type) else f"a {type(program).__name__}"
    raise ProgramError(
        "NOT_A_PROGRAM",
        f"{what} is not a state program",
        hint="derive it from hr.Program, and pass the class, or an instance if it takes arguments",
        site=here(),
    )


def _declared(program: Program) -> Iterator[tuple[str, Cell | Output]]:
    """Yields cells and outputs in the order of their declaration: base classes first, then those that __init__ has set."""
    members: dict[str, object] = {}
    for kind in reversed(type(program).__mro__):
        for attribute, value in vars(kind).items():
            if attribute in members or isinstance(value, Cell | Output):
                members[attribute] = value  # an override keeps the place; one that is no cell or output removes it
    for attribute, value in vars(program).items():
        if attribute in members or isinstance(value, Cell | Output):
            members[attribute] = value
            if isinstance(value, Cell | Output):
                value._name = attribute
    yield from ((attribute, value) for attribute, value in members.items() if isinstance(value, Cell | Output))


def _check_names(title: str, cells: Mapping[str, Cell], outputs: Mapping[str, Output], inputs: Mapping[str, tuple[str, ...]]) -> None:
    for attribute, declared in _all(cells, outputs):
        kind = type(declared).__name__
        if attribute == "key" or attribute.startswith(("on_", "__")):
            start = "names that start with on_ are handlers" if attribute.startswith("on_") else "it starts with __"
            why = "self.key is the key of the row" if attribute == "key" else start
            raise _reserved(title, kind, attribute, why, declared._site)
    for attribute, output in outputs.items():
        if attribute in (MAIN, LATE, "dead_letter") or attribute.startswith("late_"):
            raise _reserved(title, "Output", attribute, "every program has an output of that name", output._site)
    for attribute, cell in cells.items():
        if cell.fires and attribute in (EVENT, LATE):
            raise _reserved(title, "Timer", attribute, f"on_{attribute} is called for rows", cell._site)
        if cell.fires and attribute in inputs:
            raise ProgramError(
                "NAME_TWICE",
                f"{title}: `{attribute}` is a timer and an input, so on_{attribute} would be the handler of both",
                hint="give the timer or the input another name",
                site=cell._site,
            )
    if LATE in inputs:
        raise ProgramError(
            "NAME_RESERVED",
            f"{title}: an input cannot be called `late`: on_late is called for late rows",
            hint="give the input another name",
            site=here(),
        )
    _check_unique(title, cells, outputs)
    clocks = {cell.clock: attribute for attribute, cell in cells.items() if cell.clock is not None}
    if len(clocks) > 1:
        raise PlanError(
            "CLOCKS_MIXED",
            f"{title} has both clocks: `{clocks['event']}` uses event time, `{clocks['processing']}` processing time",
            hint="use one clock, or two programs that share no rows and no sink",
            site=cells[clocks["processing"]]._site,
        )


def _check_shared(title: str, shared: Collection[str], broadcast: Collection[str], cells: Mapping[str, Cell]) -> None:
    """Refuses a Broadcast that no input writes, and a broadcast input without a Broadcast."""
    for cell in sorted(shared) if not broadcast else ():
        raise ProgramError(
            "BROADCAST_USE",
            f"{title}: the Broadcast `{cell}` is never written, because no input is broadcast",
            hint=f"broadcast an input, .process({title}, rules=hr.broadcast(stream)), and write the cell in on_rules",
            site=cells[cell]._site,
        )
    for name in broadcast if not shared else ():
        raise ProgramError(
            "BROADCAST_USE",
            f"{title}: the input `{name}` is broadcast, but the program has no Broadcast cell",
            hint="declare one, limits = hr.Broadcast(key, value), or key the stream like the others",
            site=here(),
        )


def _all(cells: Mapping[str, Cell], outputs: Mapping[str, Output]) -> list[tuple[str, Cell | Output]]:
    return [*cells.items(), *outputs.items()]


def _check_unique(title: str, cells: Mapping[str, Cell], outputs: Mapping[str, Output]) -> None:
    by_identity: dict[int, str] = {}
    by_case: dict[str, str] = {}
    by_was: dict[str, str] = {}
    for attribute, declared in _all(cells, outputs):
        other = by_identity.setdefault(id(declared), attribute)
        if other != attribute:
            message = f"{title}: `{other}` and `{attribute}` are the same {type(declared).__name__}"
            raise ProgramError("NAME_TWICE", message, hint="create one for each name", site=declared._site)
        other = by_case.setdefault(attribute.lower(), attribute)
        if other != attribute:
            message = f"{title}: `{other}` and `{attribute}` differ only in case, and Spark treats them as one name"
            raise ProgramError("NAME_TWICE", message, hint="rename one of them", site=declared._site)
    for attribute, cell in cells.items():
        if cell.was is None:
            continue
        other = by_was.setdefault(cell.was, attribute)
        if other != attribute or cell.was in cells:
            taken = f"`{cell.was}` is still a cell" if cell.was in cells else f"`{other}` takes it over, too"
            raise ProgramError(
                "NAME_TWICE",
                f"{title}: `{attribute}` takes over the state of `{cell.was}`, but {taken}",
                hint="`was` names a cell that an older version had and this version no longer has",
                site=cell._site,
            )


def _reserved(title: str, kind: str, attribute: str, why: str, site: Site | None) -> ProgramError:
    hint = f"give the {kind} another name"
    return ProgramError("NAME_RESERVED", f"{title}: the {kind} `{attribute}` has a reserved name: {why}", hint=hint, site=site)


def _handlers(
    program: Program, title: str, inputs: Mapping[str, tuple[str, ...]], timers: Mapping[str, str]
) -> dict[str, Callable[..., object]]:
    """Returns the handlers by their input or timer; refuses missing, unknown and invalid ones. `timers` has the parameters of each."""
    methods = {attribute[3:]: getattr(program, attribute) for attribute in dir(program) if attribute.startswith("on_")}
    wanted = {EVENT: "the main input", **{name: f"the input `{name}`" for name in inputs if name != EVENT}}
    wanted |= {name: f"the timer `{name}`" for name in timers}
    for on, what in wanted.items():
        if on not in methods:
            near = nearest(f"on_{on}", [f"on_{name}" for name in methods if name not in wanted and name != LATE])
            cure = f"def on_{on}(self, {timers.get(on, 'e' if on == EVENT else 'r')}): ..."
            site = vars(type(program)).get(on, getattr(program, on, None))
            raise ProgramError(
                "HANDLER_MISSING",
                f"{title} has no handler for {what}",
                hint=f"`{near}` exists: did you mean `on_{on}`?" if near else f"write it: {cure}",
                site=site._site if isinstance(site, Cell) else _class_site(program),
            )
    for on, handler in methods.items():
        site = _site_of(handler)
        if on not in wanted and on != LATE:
            near = nearest(on, wanted, 0.7)
            held = getattr(program, on, None)
            if isinstance(held, Cell | Output):
                hint = f"`{on}` is a {type(held).__name__}, and only timers fire"
            elif near:
                hint = f"did you mean `on_{near}`?"
            else:
                known = ", ".join(f"on_{name}" for name in wanted)
                hint = f"pass an input by its name, .process({title}, {on}=stream.key_by(...)); the current inputs and timers allow {known}"
            raise ProgramError(
                "HANDLER_UNKNOWN",
                f"{title} has a handler on_{on}, but no timer or input `{on}`",
                hint=hint,
                site=site,
            )
        _check_handler(title, on, handler, timers.get(on), site if callable(handler) else _class_site(program))
    return methods


def _check_handler(title: str, on: str, handler: Any, timer: str | None, site: Site | None) -> None:
    parameters = timer or "e"
    if not callable(handler):
        message = f"{title}: on_{on} is a {type(handler).__name__}, not a method"
        raise ProgramError("HANDLER_KIND", message, hint=f"def on_{on}(self, {parameters}): ...", site=site)
    if inspect.iscoroutinefunction(handler) or inspect.isgeneratorfunction(handler) or inspect.isasyncgenfunction(handler):
        kind = "a generator" if inspect.isgeneratorfunction(handler) else "async"
        raise ProgramError(
            "HANDLER_KIND",
            f"{title}: on_{on} is {kind}, but a handler must be a plain method",
            hint="send rows with hr.emit(...) instead of yield" if "generator" in kind else "write def instead of async def",
            site=site,
        )
    try:
        inspect.signature(handler).bind(*parameters.split(", "))
    except TypeError:
        arguments = {None: "the row", "at": "the time it fires at"}.get(timer, "the time it fires at and its key")
        raise ProgramError(
            "HANDLER_PARAMETERS",
            f"{title}: on_{on} must accept self and {arguments}",
            hint=f"def on_{on}(self, {parameters}): the key is self.key; parameters of the program belong in __init__",
            site=site,
        ) from None


def _run(handler: Callable[..., object], recording: Recording, timer: str | None) -> tuple[Any, ...]:
    """Runs a handler and returns the statements that it records."""
    arguments: Sequence[Row | Column]
    if recording.input is None:
        arguments = [recording.value("at", "at"), recording.value(TIMER_KEY, TIMER_KEY)][: 1 if timer == "at" else 2]
    else:
        arguments = [Row(recording, "e", recording.columns, f"input `{recording.input}` of {recording.program}")]
    place = f"{recording.handler} of {recording.program}"
    check_handler(handler, recording)
    try:
        with recorded(recording):
            result = handler(*arguments)
    except HeadraceError as error:
        recording.spoken.error(error)
        raise
    except Exception as error:
        raise _failed(place, error) from masked_problem(error)
    if result is not None:
        raise ProgramError(
            "HANDLER_RETURNS",
            f"{place} returns a value, which is ignored",
            hint="send rows with hr.emit(...), keep values with cell.set(...)",
            site=_site_of(handler),
        )
    for branch in recording.unentered.values():
        raise branch.without_with()
    return recording.block.frozen()


def _failed(place: str, error: Exception) -> ProgramError:
    """The error for an exception of the user's code, at the user's line that raised it."""
    lines = [frame for frame in traceback.extract_tb(error.__traceback__) if not ours(frame.filename)]
    site = Site(lines[-1].filename, lines[-1].lineno or 0, lines[-1].line or "") if lines else None
    hint = "a handler runs once, when the program is built, not for each row: write logic that depends on a row with hr.when and columns"
    if isinstance(error, AttributeError) and isinstance(error.obj, Program | Owner):
        hint = _lacking(error.obj, error.name or "")
    elif isinstance(error, TypeError) and (called := otherwise_called(error)):
        hint = called
    elif isinstance(error, TypeError) and "Column" in str(error):
        hint = "a column has a value only when the job runs: use Spark functions, hr.f.round(...), and .is_in(...) instead of `in`"
    return ProgramError("HANDLER_FAILED", f"{place} raised {type(error).__name__}: {error}", hint=hint, site=site, cause=error)


def _lacking(owner: Program | Owner, name: str) -> str:
    """Returns the hint for a missing attribute."""
    if not isinstance(owner, Program):
        return instead(owner, name)
    known = [one for one in dir(owner) if not one.startswith(("_", "on_"))]
    return suggestion(name, known, "declare cells and parameters in the class or in __init__")


def _outputs(title: str, outputs: Mapping[str, Output], frame: Frame, program: Program) -> Iterator[TracedOutput]:
    for name, output in outputs.items():
        if name not in frame.outputs:
            raise _never(title, f"the output `{name}`", f"self.{name}.emit(...)", output._site)
    if not frame.outputs:
        raise _never(title, "anything", "hr.emit(...)", _class_site(program))
    for name in (MAIN, *outputs):
        emitted: Emitted | None = frame.outputs.get(name)
        yield TracedOutput(name, emitted.columns if emitted else ())


def _never(title: str, what: str, call: str, site: Site | None) -> ProgramError:
    message = f"no handler of {title} emits {'to ' if what != 'anything' else ''}{what}"
    return ProgramError("NEVER_EMITTED", message, hint=f"send a row with {call} in a handler", site=site)


def _site_of(handler: Any) -> Site | None:
    """Returns the line of a handler's `def`."""
    code = getattr(inspect.unwrap(getattr(handler, "__func__", handler)), "__code__", None)
    if code is None:
        return here()
    line = _def_line(code.co_filename, code.co_firstlineno)
    return Site(code.co_filename, line, linecache.getline(code.co_filename, line).strip())


def _def_line(file: str, line: int) -> int:
    """Returns the first line after the decorators of a function or class."""
    while linecache.getline(file, line).lstrip().startswith("@"):
        line += 1
    return line


def _class_site(program: Program) -> Site | None:
    """Returns the line of the program's class; without source, the line that uses it."""
    try:
        line = inspect.getsourcelines(type(program))[1]
        file = inspect.getsourcefile(type(program)) or ""
    except (OSError, TypeError):
        return here()
    line = _def_line(file, line)
    return Site(file, line, linecache.getline(file, line).strip())
