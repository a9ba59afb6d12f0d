"""`headrace completion SHELL`: a script for the shell, made from the parser."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from headrace.settings import JOBS

EPILOG = """\
bash: eval "$(headrace completion bash)"    zsh: eval "$(headrace completion zsh)"    fish: headrace completion fish | source
"""
_FILES = ("FILE", "FOLDER", "JOB")
"""The placeholders for paths; a JOB may be the folder of its state."""


@dataclass(frozen=True)
class Words:
    """The words after a command: subcommands, options with the choices of their values (None: no value), and other choices.

    `jobs` and `files`: names of jobs, or of files, may follow too.
    """

    commands: tuple[str, ...]
    options: dict[str, tuple[str, ...] | None]
    choices: tuple[str, ...]
    jobs: bool
    files: bool


def add(commands: Any) -> None:
    parser: argparse.ArgumentParser = commands.add_parser(
        "completion", help="print a completion script for a shell", description="Print a completion script.", epilog=EPILOG
    )
    parser.add_argument("shell", choices=("bash", "zsh", "fish"))
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    print({"bash": bash, "zsh": _zsh, "fish": _fish}[options.shell]())
    return 0


def words() -> dict[str, Words]:
    """Return the words after each command. A subcommand is `state show`; the empty name is `headrace` itself and comes first."""
    from headrace.cli import parser

    return dict(_words("", parser()))


def _words(name: str, command: argparse.ArgumentParser) -> Iterator[tuple[str, Words]]:
    below = next((one.choices for one in command._actions if isinstance(one, argparse._SubParsersAction)), {})
    plain = [one for one in command._actions if not isinstance(one, argparse._SubParsersAction)]
    shown = [one for one in plain if one.option_strings and one.help != argparse.SUPPRESS]
    options = {option: None if one.nargs == 0 else _choices(one) for one in shown for option in one.option_strings}
    places = [one for one in plain if not one.option_strings]
    choices = tuple(choice for one in places for choice in _choices(one))
    metavars = [str(one.metavar) for one in places]
    yield name, Words(tuple(below), options, choices, "JOB" in metavars, any(one in _FILES for one in metavars))
    for other, parser in below.items():
        yield from _words(f"{name} {other}".strip(), parser)


def _choices(action: argparse.Action) -> tuple[str, ...]:
    return tuple(map(str, action.choices or ()))


def bash() -> str:
    """Return the script for bash. Where it offers nothing, bash completes file names."""
    commands = words()
    parents = "|".join(name for name, one in commands.items() if name and one.commands)
    values, places = [], []
    for name, one in commands.items():
        values += [f"    '{name}:{option}') words='{' '.join(of)}' ;;" for option, of in one.options.items() if of is not None]
        # a command with arguments offers options only after a `-`
        here = (*one.commands, *one.choices) or (() if one.files else tuple(one.options))
        jobs = f'"$(command ls {JOBS} 2>/dev/null)"' if one.jobs else ""
        places.append(f"    '{name}') options='{' '.join(one.options)}' words='{' '.join(here)}'{jobs} ;;")
    newline = "\n"
    return f"""\
_headrace() {{
  local current=${{COMP_WORDS[COMP_CWORD]}} before=${{COMP_WORDS[COMP_CWORD-1]}} command= words= options=
  [ "$COMP_CWORD" -gt 1 ] && command=${{COMP_WORDS[1]}}
  case "$command" in
    {parents}) [ "$COMP_CWORD" -gt 2 ] && command="$command ${{COMP_WORDS[2]}}" ;;
  esac
  case "$command:$before" in
{newline.join(values)}
    *)
  case "$command" in
{newline.join(places)}
  esac
  [ "${{current:0:1}}" = - ] && words=$options ;;
  esac
  COMPREPLY=( $(compgen -W "$words" -- "$current") )
}}
complete -o default -F _headrace headrace"""


def _zsh() -> str:
    return "autoload -U +X compinit && compinit -C\nautoload -U +X bashcompinit && bashcompinit\n" + bash()


def _fish() -> str:
    commands = words()
    lines = []
    for name, one in commands.items():
        parts = [f"__fish_seen_subcommand_from {part}" for part in name.split()] or ["__fish_use_subcommand"]
        below = [f"not __fish_seen_subcommand_from {' '.join(one.commands)}"] if name and one.commands else []
        when = f"complete -c headrace -n '{'; and '.join((*parts, *below))}'"
        here = " ".join((*one.commands, *one.choices))
        lines += [f"{when} -f -a '{here}'"] if here else [] if one.files else [f"{when} -f"]
        lines += [f"{when} -a '(command ls {JOBS} 2>/dev/null)'"] if one.jobs else []
        for option, of in one.options.items():
            spelled = f"-l {option[2:]}" if option.startswith("--") else f"-s {option[1:]}"
            if of is None:
                argument = ""
            else:
                argument = f" -x -a '{' '.join(of)}'" if of else " -r"
            lines.append(f"{when} {spelled}{argument}")
    return "\n".join(lines)
