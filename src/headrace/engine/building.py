"""hr.job: a job from its sinks, or from a script."""

from __future__ import annotations

from headrace.engine.job import Job
from headrace.errors import HeadraceError, here
from headrace.interrupts import interruptible
from headrace.ops.write import Sink
from headrace.plan import Plan
from headrace.plan.meaning import meaning, meant
from headrace.plan.naming import valid_name
from headrace.spark.compile.job import compile
from headrace.spark.run.ready import suit
from headrace.sql.catalogue import Catalogue


def of_script(name: str, catalogue: Catalogue) -> Job:
    """Return the job of a script. `name` is that of its file, for a script that names no job."""
    script = dict(catalogue.settings)
    with meant(catalogue.meaning):
        called, sinks = script.pop("job", name), catalogue.sinks()
        if not sinks:
            hint = "create a sink and insert into it: CREATE SINK out WITH (connector = 'console'); INSERT INTO out SELECT ..."
            raise HeadraceError("NO_SINKS", f"the job {called} writes nothing", hint=hint, site=here())
        built = job(called, *sinks)
    return Job(built.plan, script, built._spark)


def job(name: str, *sinks: Sink) -> Job:
    """Builds a job: sinks and everything upstream of them, under one name.

    Spark resolves all types here, which starts the session.

    Args:
        name: Begins with a letter or digit; then letters, digits, spaces, `_`, `-` and `.`; at most 200 bytes. It names the checkpoint.
        *sinks: One sink or more: `stream.write.files(...)`.

    Raises:
        PlanError: `NO_SINKS` without sinks, or for an argument that is not a sink; `BAD_NAME` for an invalid name; `NAME_CLASH` for two
            nodes with the same name; `UNKNOWN_FUNCTION`, `BAD_EXPRESSION`, `WRONG_TYPE`, `NOT_REPEATABLE` and others for a plan that
            Spark or headrace refuses.
        ProgramError: `BAD_AGGREGATE` if the expression of an `hr.Aggregate` is not made of aggregate functions.
        ConfigError: As for `hr.session`.

    Examples:
        >>> import headrace as hr
        >>> charges = hr.read.memory([("a", 1)], "card string, amount int", name="charges")
        >>> hr.job("copy", charges.write.memory())
        <Job copy: charges.memory>
    """
    if not sinks:
        hint = 'pass at least one: hr.job("name", stream.write.files(...))'
        what = f"the job {name} has no sinks" if isinstance(name, str) else f"hr.job expects a name before its sinks, got {name!r}"
        raise HeadraceError("NO_SINKS", what, hint=hint, site=here())
    hint = "write the stream to a sink: stream.write.files(...)"
    for sink in sinks:
        if not isinstance(sink, Sink):
            raise HeadraceError("NO_SINKS", f"the job {name} expects sinks, got {sink!r}", hint=hint, site=here())
    with interruptible():
        ends = [sink._use() for sink in sinks]
        plan = Plan.of(valid_name(name), ends, meaning())
        compiled = compile(plan)
        suit(compiled)
    return Job(plan, compiled=compiled)
