"""The parser of the command line: argparse, which also says what was meant."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import Any

from headrace.spelling import suggestion


class Parser(argparse.ArgumentParser):
    """A parser whose complaints about commands, choices and options name the nearest one."""

    def parse_known_args(  # type: ignore[override]  # one signature for the overloads of argparse
        self, args: Sequence[str] | None = None, namespace: argparse.Namespace | None = None
    ) -> tuple[argparse.Namespace, list[str]]:
        found, unknown = super().parse_known_args(args, namespace)
        option = next((text.partition("=")[0] for text in unknown if text.startswith("-")), None)
        if option is not None:
            known = [name for action in self._actions for name in action.option_strings]
            self.error(_unknown("option", option, known, "it takes"))
        return found, unknown

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        if action.choices is not None and value not in action.choices:
            what = "command" if isinstance(action, argparse._SubParsersAction) else "choice"
            raise argparse.ArgumentError(action, _unknown(what, str(value), [str(choice) for choice in action.choices], "there are"))


def _unknown(what: str, name: str, known: list[str], has: str) -> str:
    return f"there is no {what} {name}: " + suggestion(name, known, f"{has}: {', '.join(known)}", shown="{}")
