"""The program and the key that a question names."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from headrace.errors import HeadraceError
from headrace.expr import literal
from headrace.ops.dedupe import forgets_keys_after
from headrace.ops.program import Program, programs_of
from headrace.schema import Struct, Type
from headrace.spark.compile.job import SparkJob
from headrace.spark.deploy.correction import under
from headrace.spelling import suggestion


def program_of(job: SparkJob, name: str | None) -> Program:
    """Return a program of a job by its name; None: its only program."""
    programs = {str(one.name): one for one in programs_of(job.plan.nodes.values())}
    written = [one for one in programs.values() if forgets_keys_after(one) is None]  # a `dedupe` is a program, too
    shown = {job.shown(str(one.name)): str(one.name) for one in written}
    has = f"it has: {', '.join(shown)}" if shown else "it has none"
    if name is None and len(written) == 1:
        return written[0]
    if name is None:
        hint = f"name one; {has}" if shown else "rows of queries are explained by headrace why"
        raise HeadraceError("UNKNOWN_VIEW", f"the job {job.plan.job} has {len(written) or 'no'} programs", hint=hint)
    known = name if name in programs else shown.get(name)
    if known is None:
        raise HeadraceError("UNKNOWN_VIEW", f"the job {job.plan.job} has no program {name}", hint=suggestion(name, shown, has))
    return programs[known]


def key_of(job: SparkJob, program: Program, key: Mapping[str, Any]) -> dict[str, str]:
    """Return the values of a key as texts, by column."""
    title, columns = job.shown(str(program.name)), [name for name, _ in program.keys[0]]
    written = {str(name).lower(): value for name, value in key.items()}
    known = f"it has: {', '.join(columns)}" if columns else "the program has no key"
    for name in key:
        if str(name).lower() not in (column.lower() for column in columns):
            raise HeadraceError("UNKNOWN_COLUMN", f"{title} has no key column `{name}`", hint=suggestion(str(name), columns, known))
    missing = [name for name in columns if name.lower() not in written]
    if missing:
        example = json.dumps(dict.fromkeys(columns, "..."))
        raise HeadraceError("BAD_INPUT", f"the key of {title} lacks {', '.join(missing)}", hint=f"write all of it: {example}")
    types = job.schemas.keys[str(program.name)] if columns else Struct(())
    return {name: _text(title, name, written[name.lower()], field.type, job) for name, field in zip(columns, types.fields, strict=True)}


def _text(title: str, name: str, value: Any, kind: Type, job: SparkJob) -> str:
    """Return a value of a key as a text."""
    if isinstance(value, dict | list | tuple):
        parts = literal(json.dumps({"v": value}, default=str)), literal(f"v {kind}")
        text = f"from_json({', '.join(parts)}).v"
        check = f"{text} IS NOT NULL"
    else:
        known, text, tried = literal(value), *(f"{cast}({literal(value)} AS {kind})" for cast in ("CAST", "TRY_CAST"))
        # 1.5 can be cast to a whole number, and is none
        check = f"CASE WHEN {tried} IS NULL THEN false ELSE {tried} = {known} END"
    with under(job.settings) as spark:
        if not spark.range(1).selectExpr(check).collect()[0][0]:
            what = f"`{name}` of {title} is {kind}, and {value!r} is not"
            raise HeadraceError("BAD_INPUT", what, hint="write a value of that type; a key is never null")
    return text
