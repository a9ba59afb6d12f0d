"""Flags: arguments that are True or False."""

from __future__ import annotations

from headrace.errors import HeadraceError, here


def refuse_others(**flags: object) -> None:
    """Refuse values other than True and False: the text "false" would count as True, and fresh=True removes results."""
    for name, value in flags.items():
        if not isinstance(value, bool):
            raise HeadraceError("BAD_SETTING", f"{name} cannot be {value!r}", hint=f"write {name}=True or {name}=False", site=here())
