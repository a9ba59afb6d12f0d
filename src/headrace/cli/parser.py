"""The parser of the command line: argparse with suggestions."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import Any

from headrace.spelling import suggestion


class Parser(argparse.ArgumentParser):
    """A parser whose errors suggest the nearest command, choice or option."""

    def parse_known_args(  # type: ignore[override]  # one signature in place of argparse's overloads
        self, args: Sequence[str] | None = None, namespace: argparse.Namespace | None = None
    ) -> tuple[argparse.Namespace, list[str]]:
        options, unknown = super().parse_known_args(args, namespace)
        option = next((text.partition("=")[0] for text in unknown if text.startswith("-")), None)
        if option is not None:
            known = [name for action in self._actions for name in action.option_strings]
            self.error(_unknown("option", option, known, "it takes"))
        return options, unknown

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        if action.choices is None or value in action.choices:
            return
        known = [str(choice) for choice in action.choices]
        if not isinstance(action, argparse._SubParsersAction):
            raise argparse.ArgumentError(action, _unknown("choice", str(value), known, "there are"))
        below = " or ".join(f"{name} {value}" for name, command in action.choices.items() if value in _commands(command))
        text = f"there is no command {value}: did you mean {below}? There are: {', '.join(known)}"
        raise argparse.ArgumentError(action, text if below else _unknown("command", str(value), known, "there are"))


def _commands(command: argparse.ArgumentParser) -> list[str]:
    """Return the subcommands of a command."""
    return [name for action in command._actions if isinstance(action, argparse._SubParsersAction) for name in action.choices]


def _unknown(what: str, name: str, known: list[str], has: str) -> str:
    return f"there is no {what} {name}: " + suggestion(name, known, f"{has}: {', '.join(known)}", shown="{}")
