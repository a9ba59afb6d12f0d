"""Reads a traced program from JSON, and refuses unknown fields."""

from __future__ import annotations

from typing import Any

from headrace.errors import PlanError, Site


class Fields:
    """A JSON object that is read field by field; an error names the field that is invalid."""

    def __init__(self, value: object, what: str) -> None:
        self.what = what
        if not isinstance(value, dict):
            raise self.wrong(f"expected an object, got {value!r}")
        self.fields: dict[str, Any] = value

    def wrong(self, message: str) -> PlanError:
        hint = "create the plan again: headrace plan FILE, or Job.plan.to_json()"
        return PlanError("PLAN_BROKEN", f"{self.what} of a state program cannot be read: {message}", hint=hint)

    def only(self, *names: str) -> None:
        """Refuses other fields than these."""
        unknown = sorted(set(self.fields) - set(names))
        if unknown:
            raise PlanError(
                "PLAN_UNKNOWN_FIELD",
                f"this version of headrace does not know the field `{unknown[0]}` of {self.what} of a state program",
                hint="install the newer headrace that wrote the plan; if the plan was edited by hand, correct the name",
            )

    def _get(self, name: str) -> Any:
        if name not in self.fields:
            raise self.wrong(f"{name!r} is missing")
        return self.fields[name]

    def text(self, name: str) -> str:
        value = self._get(name)
        if not isinstance(value, str):
            raise self.wrong(f"{name!r} must be a string, not {value!r}")
        return value

    def optional_text(self, name: str) -> str | None:
        return None if self.fields.get(name) is None else self.text(name)

    def optional_number(self, name: str) -> int | None:
        value = self.fields.get(name)
        if value is not None and not (isinstance(value, int) and not isinstance(value, bool)):
            raise self.wrong(f"{name!r} must be a whole number, not {value!r}")
        return value

    def flag(self, name: str) -> bool:
        value = self._get(name)
        if not isinstance(value, bool):
            raise self.wrong(f"{name!r} must be true or false, not {value!r}")
        return value

    def list(self, name: str) -> list[Any]:
        value = self._get(name)
        if not isinstance(value, list):
            raise self.wrong(f"{name!r} must be a list, not {value!r}")
        return value

    def texts(self, name: str) -> tuple[str, ...]:
        values = self.list(name)
        if not all(isinstance(value, str) for value in values):
            raise self.wrong(f"{name!r} must be a list of strings, not {values!r}")
        return tuple(values)

    def optional_texts(self, name: str) -> tuple[str | None, ...]:
        values = self.list(name)
        if not all(value is None or isinstance(value, str) for value in values):
            raise self.wrong(f"{name!r} must be a list of strings and nulls, not {values!r}")
        return tuple(values)


def place(fields: Fields) -> Site | None:
    """Returns the site of a statement or cell."""
    text = fields.optional_text("site")
    return None if text is None else Site.parse(text)
