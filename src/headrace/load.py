"""hr.load: loads the job of a Python file, a SQL script, a YAML file or a JSON plan."""

from __future__ import annotations

import contextlib
import json
import runpy
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from headrace import spec
from headrace.durable import named
from headrace.engine import Job
from headrace.engine import job as job_of
from headrace.engine.building import of_script
from headrace.engine.loading import loading
from headrace.errors import HeadraceError, Site, standing
from headrace.masking import masked_problem
from headrace.ops import sinks_of
from headrace.ops.operator import connected_of
from headrace.ops.source import clean
from headrace.optimize import optimize
from headrace.plan import Plan, order
from headrace.spelling import suggestion
from headrace.sql.catalogue import Catalogue
from headrace.syntax.script import statements
from headrace.syntax.statements import Statement, lasting

_LARGEST = 64 << 20
"""The most bytes of a plan. The largest plans written have some hundred kilobytes."""


def load(path: str | Path, *, job: str | None = None) -> Job:
    """Loads a job from a file: a Python or SQL script, a job in YAML, or a plan in JSON.

    A Python file is run as an import: its `if __name__ == "__main__":` part is left out, and `run`, `hr.collect` and `hr.show` are refused.

    Args:
        path: A file that ends in `.py`, `.sql`, `.yaml`, `.yml` or `.json`.
        job: The name of the job, if a Python file creates several.

    Raises:
        ConfigError: `FILE_MISSING`, `FILE_KIND`; `JOB_UNKNOWN` if the file creates no job, several, or none of this name;
            `RUN_WHILE_LOADING`.
        PlanError: `FILE_FAILED` if the file fails or is invalid; `BAD_STATEMENT` and `UNKNOWN_NAME` for SQL, `CHECK_FAILED`, `YAML_KEY` and
            the other `YAML_` codes, `PLAN_BROKEN` and `PLAN_VERSION` for JSON.

    Examples:
        >>> import headrace as hr
        >>> import json
        >>> from pathlib import Path
        >>> charges = hr.read.memory([("a", 1)], "card string, amount int", name="charges")
        >>> job = hr.job("copy", charges.write.console())
        >>> _ = Path("plan.json").write_text(json.dumps(job.plan.to_json()))
        >>> hr.load("plan.json")
        <Job copy: charges.console>
    """
    place = named.existing(path)
    if place.suffix == ".py":
        jobs = _of_python(place)
    elif place.suffix in _READ:
        try:
            jobs = _READ[place.suffix](place)
        except RecursionError:
            hint = "reduce the depth of its nested brackets"
            raise HeadraceError("FILE_FAILED", f"{place} is nested too deeply to be read", hint=hint) from None
    else:
        raise HeadraceError(
            "FILE_KIND",
            f"{path} is not a Python, SQL, YAML or JSON file",
            hint="use a .py, .sql, .yaml or .yml file that defines a job, or a plan in a .json file",
        )
    return _one(jobs, place, job)


def _of_json(place: Path) -> list[Job]:
    if place.stat().st_size > _LARGEST:
        raise _no_plan(f"{place} is larger than {_LARGEST >> 20} MiB")
    try:
        data = json.loads(place.read_text(encoding="utf-8"), object_pairs_hook=_once, parse_constant=_no_constant)
    except ValueError as problem:
        raise _no_plan(f"{place} is not JSON: {problem}") from None
    plan = Plan.from_json(data)
    ends = [plan.nodes[name] for name in plan.sinks]
    if not plan.job or not ends or len(sinks_of(ends)) < len(ends):
        raise _no_plan(
            f"{place} is not the plan of a job: it has {'no name' if not plan.job else 'no sinks, or lists other nodes as sinks'}"
        )
    if len(order(ends)) < len(plan.nodes):
        raise _no_plan(f"{place} has nodes that lead to no sink")
    for node in connected_of(plan.nodes.values()):
        try:
            node.connect()
        except HeadraceError as error:
            error.site = node.site
            raise
    return [Job(plan)]


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members: dict[str, Any] = {}
    for name, value in pairs:
        if name in members:
            raise ValueError(f"{name[:60]!r} occurs twice in one object")
        members[name] = value
    return members


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is not a JSON number")


def _no_plan(message: str) -> HeadraceError:
    return HeadraceError("PLAN_BROKEN", message, hint="create the plan again: headrace plan FILE, or Job.plan.to_json()")


def _of_sql(place: Path) -> list[Job]:
    """Return the job of a script, if it has sinks. Statements that only show something, such as SELECT, are for `headrace sql`."""
    catalogue = Catalogue()
    for statement in script(place):
        if lasting(statement):
            catalogue.add(statement)
    return [of_script(job_name(place), catalogue)] if catalogue.sinks() else []


def script(place: Path) -> tuple[Statement, ...]:
    """Return the statements of a file."""
    try:
        return statements(place.read_text(encoding="utf-8-sig"), str(place.absolute()))
    except UnicodeDecodeError as problem:
        raise HeadraceError("FILE_FAILED", f"{place} is not UTF-8: {problem.reason}", hint="save it as UTF-8") from None


def job_name(place: Path) -> str:
    """Return the name of the job of a script that does not set one."""
    return clean(place.stem)


def _of_yaml(place: Path) -> list[Job]:
    document = spec.document(place)
    with document.in_effect():
        built = spec.build(document)
        with standing(document.site):
            job = job_of(document.job, *built.sinks)
        spec.check(document, built, job.plan, lambda plan: job._compiled().plan if plan is job.plan else optimize(plan)[0])
    return [job]


def _of_python(place: Path) -> list[Job]:
    """Run a module as an import does, without its `__main__` parts, and return the jobs among its names."""
    with _first_on_path(place.absolute().parent), loading(place):
        try:
            names: dict[str, Any] = runpy.run_path(str(place.absolute()), run_name=place.stem)
        except (HeadraceError, SystemExit, KeyboardInterrupt):
            raise
        except SyntaxError as problem:
            site = Site(problem.filename or str(place), problem.lineno or 0, (problem.text or "").strip())
            raise HeadraceError("FILE_FAILED", f"{place} is not valid Python: {problem.msg}", site=site) from masked_problem(problem)
        except Exception as problem:
            raise HeadraceError(
                "FILE_FAILED", f"{place} raised {type(problem).__name__}: {problem}", site=_line_in(place, problem), cause=problem
            ) from masked_problem(problem)
    jobs: list[Job] = []
    for value in names.values():
        if isinstance(value, Job) and value not in jobs:
            jobs.append(value)
    return jobs


@contextlib.contextmanager
def _first_on_path(folder: Path) -> Iterator[None]:
    """Put the file's folder first on the path, as Python does for a file it runs, so that modules beside it can be imported."""
    sys.path.insert(0, str(folder))
    try:
        yield
    finally:
        with contextlib.suppress(ValueError):
            sys.path.remove(str(folder))


def _line_in(place: Path, problem: BaseException) -> Site | None:
    import linecache

    site: Site | None = None
    trace = problem.__traceback__
    while trace is not None:
        file = trace.tb_frame.f_code.co_filename
        if file == str(place.absolute()):
            site = Site(file, trace.tb_lineno, linecache.getline(file, trace.tb_lineno).strip())
        trace = trace.tb_next
    return site


def _one(jobs: list[Job], place: Path, wanted: str | None) -> Job:
    names = ", ".join(job.name for job in jobs)
    if wanted is not None:
        for job in jobs:
            if job.name == wanted:
                return job
        hint = suggestion(wanted, [job.name for job in jobs], f"it has: {names}") if jobs else "create one: job = hr.job(...)"
        raise HeadraceError("JOB_UNKNOWN", f"{place} has no job {wanted}", hint=hint)
    if not jobs:
        cure = "create a sink and insert into it: CREATE SINK ... and INSERT INTO ... SELECT ..."
        hint = cure if place.suffix == ".sql" else 'assign one to a variable at the top level of the file: job = hr.job("name", ...)'
        raise HeadraceError("JOB_UNKNOWN", f"{place} creates no job", hint=hint)
    if len(jobs) > 1:
        raise HeadraceError(
            "JOB_UNKNOWN", f"{place} creates several jobs: {names}", hint="choose one: --job NAME, or hr.load(path, job=NAME)"
        )
    return jobs[0]


# The readers of files that are not run.
_READ: Mapping[str, Callable[[Path], list[Job]]] = {".json": _of_json, ".sql": _of_sql, ".yaml": _of_yaml, ".yml": _of_yaml}
KINDS = (".py", *_READ)
"""The suffixes of files that make a job."""
