"""`headrace completion SHELL`: a script for the shell, made from the parser itself."""

from __future__ import annotations

import argparse
from typing import Any

EPILOG = """\
bash: eval "$(headrace completion bash)"    zsh: eval "$(headrace completion zsh)"    fish: headrace completion fish | source
"""


def add(commands: Any) -> None:
    parser: argparse.ArgumentParser = commands.add_parser(
        "completion", help="print a completion script for a shell", description="Print a completion script.", epilog=EPILOG
    )
    parser.add_argument("shell", choices=("bash", "zsh", "fish"))
    parser.set_defaults(run=run)


def words() -> dict[str, list[str]]:
    """Command -> its options and choices."""
    from headrace.cli import parser

    top = parser()
    found: dict[str, list[str]] = {"": sorted(option for action in top._actions for option in action.option_strings)}
    for action in top._actions:
        if isinstance(action, argparse._SubParsersAction):
            found |= {name: sorted(_words(command)) for name, command in action.choices.items()}
    return found


def _words(command: argparse.ArgumentParser) -> set[str]:
    """The options and choices of a command, and of the commands below it."""
    found: set[str] = set()
    for action in command._actions:
        found.update(action.option_strings, map(str, action.choices or ()))
        if isinstance(action, argparse._SubParsersAction):
            for below in action.choices.values():
                found |= _words(below)
    return found


def run(asked: argparse.Namespace) -> int:
    print({"bash": bash, "zsh": _zsh, "fish": _fish}[asked.shell]())
    return 0


def bash() -> str:
    """The script for bash."""
    found = words()
    cases = "\n".join(f"    {name}) words='{' '.join(options)}' ;;" for name, options in found.items() if name)
    first = " ".join([*(name for name in found if name), *found[""]])
    return f"""\
_headrace() {{
  local current=${{COMP_WORDS[COMP_CWORD]}} words
  case "${{COMP_WORDS[1]}}" in
{cases}
    *) words='{first}' ;;
  esac
  [ "$COMP_CWORD" -eq 1 ] && words='{first}'
  COMPREPLY=( $(compgen -W "$words" -- "$current") )
}}
complete -o default -F _headrace headrace"""


def _zsh() -> str:
    return "autoload -U +X compinit && compinit -C\nautoload -U +X bashcompinit && bashcompinit\n" + bash()


def _fish() -> str:
    found = words()
    names = " ".join(name for name in found if name)
    lines = [f"complete -c headrace -n 'not __fish_seen_subcommand_from {names}' -f -a '{names}'"]
    for name, options in found.items():
        for option in options:
            when = f"-n '__fish_seen_subcommand_from {name}'" if name else "-n __fish_use_subcommand"
            what = f"-l {option[2:]}" if option.startswith("--") else f"-s {option[1:]}" if option.startswith("-") else f"-f -a {option}"
            lines.append(f"complete -c headrace {when} {what}")
    return "\n".join(lines)
