"""The files of a job: its own, and those it includes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from headrace.errors import PlanError, Site
from headrace.spec.reading import read
from headrace.spec.value import Table, fields, items, table, text

OWN = ("job", "settings", "include", "sources", "lookups", "views", "sinks", "checks")
INCLUDED = ("include", "sources", "lookups", "views")


@dataclass(frozen=True)
class Part:
    """One file of a job."""

    file: Path
    content: Table


def parts(file: Path, environment: Mapping[str, str]) -> tuple[Part, ...]:
    """Return the files that a job includes, each once and before the one that includes it, and last the file of the job."""
    by_place: dict[Path, Part] = {}
    _add(file, environment, by_place, ())
    return tuple(by_place.values())


def _add(file: Path, environment: Mapping[str, str], by_place: dict[Path, Part], above: tuple[Path, ...]) -> None:
    part = table(read(file, environment), f"a job in {file.name}" if not above else f"{file.name}")
    _keys(part, file, included=bool(above))
    for value in items(part.values["include"], "`include`") if "include" in part.values else ():
        name = text(value, "each item of `include`")
        other = file.parent / name
        place = other.resolve()
        if place in (*above, file.resolve()):
            raise _refused(f"{name} includes itself", "move what both files need into a third one", value.site)
        if not other.is_file():
            raise _refused(
                f"there is no file {name}",
                f"paths are relative to the including file: this one resolves to {other.absolute()}",
                value.site,
            )
        if place not in by_place:
            _add(other, environment, by_place, (*above, file.resolve()))
    by_place[file.resolve()] = Part(file, part)


def _keys(part: Table, file: Path, *, included: bool) -> None:
    if included:
        own = next((key for key in part.keys if key in OWN and key not in INCLUDED), None)
        if own is not None:
            hint = f"an included file can have: {', '.join(INCLUDED)}; move `{own}` to the file of the job"
            raise _refused(f"the included file {file.name} has `{own}`", hint, part.keys[own])
        fields(part, file.name, dict.fromkeys(INCLUDED, False))
    else:
        fields(part, "a job", {key: key in ("job", "sinks") for key in OWN})


def _refused(message: str, hint: str, site: Site) -> PlanError:
    return PlanError("YAML_INCLUDE", message, hint=hint, site=site)
