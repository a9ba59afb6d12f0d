"""The checks of a job: a guarantee, bounded state, a schema."""

from __future__ import annotations

from collections.abc import Callable

from headrace.errors import HeadraceError, PlanError, standing
from headrace.plan import Node, Plan, facts, order
from headrace.schema import Struct, parse_schema
from headrace.spec.build import Built, find, rows_of
from headrace.spec.document import Check, Document
from headrace.spec.value import unknown

Rewrite = Callable[[Plan], Plan]


def check(document: Document, built: Built, plan: Plan, rewritten: Rewrite) -> None:
    """Raise an error for the first check that fails. `rewritten` returns a plan as it runs, which may keep less state than as written."""
    for one in document.checks:
        with standing(one.site):
            _check(one, document, built, plan, rewritten)


def _check(check: Check, document: Document, built: Built, plan: Plan, rewritten: Rewrite) -> None:
    if check.schema is not None and check.view is not None:
        _schema(check.view.name, check.schema.text, _node(check, document, built))
    elif check.require == "bounded state":
        of = Plan.of(plan.job, [_node(check, document, built)], plan.settings) if check.view or check.sink else plan
        _bounded(rewritten(of))
    else:
        _guarantee(_sinks(check, document, built, plan), plan)


def _node(check: Check, document: Document, built: Built) -> Node:
    """Return the node of the view or sink that a check names."""
    if check.view is not None:
        return rows_of(built.streams[find(document, check.view).name.lower()], check.view)._node
    assert check.sink is not None
    names = [one.name for one in document.sinks]
    if check.sink.name not in names:
        raise unknown(f"there is no sink `{check.sink.name}`", check.sink.name, names, check.sink.site, "YAML_NAME", "there are")
    return built.sinks[names.index(check.sink.name)]._node


def _sinks(check: Check, document: Document, built: Built, plan: Plan) -> tuple[str, ...]:
    """Return the sinks of a check: the one it names, those downstream of its view, or all."""
    if check.sink is not None:
        return (str(_node(check, document, built).name),)
    if check.view is None:
        return plan.sinks
    node = _node(check, document, built)
    behind = tuple(str(one._node.name) for one in built.sinks if node in order([one._node]))
    if not behind:
        hint = "only a sink has this guarantee: check a view that is written, or require something else"
        raise PlanError("CHECK_FAILED", f"no sink writes the view {check.view.name}", hint=hint, site=check.view.site)
    return behind


def _guarantee(sinks: tuple[str, ...], plan: Plan) -> None:
    known = facts(plan, "guarantee")
    weak = [name for name in sinks if known[name].value != "exactly once"]
    if weak:
        more = f" (nor are {len(weak) - 1} more sinks)" if len(weak) > 1 else ""
        message = f"{weak[0]} is not written exactly once, but {known[weak[0]].text}{more}"
        raise HeadraceError("GUARANTEE", message, hint="use an exactly-once sink such as files; explain shows the reasons for each sink")


def _bounded(plan: Plan) -> None:
    growing = {name: one for name, one in facts(plan, "state").items() if str(one.value).startswith("grows")}
    if growing:
        name, one = next(iter(growing.items()))
        more = f" (nor is that of {len(growing) - 1} more)" if len(growing) > 1 else ""
        raise PlanError(
            "CHECK_FAILED", f"the state of {name} is not bounded: it {one.text}{more}", hint="explain shows what each operator keeps"
        )


def _schema(view: str, wanted: str, node: Node) -> None:
    plan = Plan.of("", [node])
    has, columns = parse_schema(str(facts(plan, "schema")[plan.sinks[0]].value)), parse_schema(wanted)
    if _columns(has) != _columns(columns):
        raise PlanError("CHECK_FAILED", f"the columns of the view {view} differ from the check", hint=f"it has: {has.ddl}")


def _columns(schema: Struct) -> list[tuple[str, str]]:
    return [(field.name.lower(), field.type.text) for field in schema.fields]
