"""Environment variables in the texts of a job: `${NAME}` and `${NAME:-default}`; `$${` is a literal `${`."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

SIGN = re.compile(r"\$\$\{|\$\{([^}\n]*)(\}?)")
_VARIABLE = re.compile(r"([A-Za-z_]\w*)(:-(.*))?", re.ASCII)

Complain = Callable[[str, str, str], Exception]


def replaced(text: str, environment: Mapping[str, str], complain: Complain) -> str:
    """Return a text with its variables replaced. `complain` makes an error from the variable as written, a message and a hint.

    As in a shell, the default also replaces an empty value.

    >>> replaced("${IN:-data}/${YEAR} $${x}", {"YEAR": "2026"}, lambda sign, message, hint: ValueError(message))
    'data/2026 ${x}'
    """

    def value(match: re.Match[str]) -> str:
        sign, inner, end = match[0], match[1], match[2]
        if inner is None:
            return "${"
        if not end:
            raise complain(sign, f"`{sign}` is not closed", "write a variable as ${NAME}, and the characters themselves as $${")
        known = _VARIABLE.fullmatch(inner)
        if known is None:
            hint = "write ${NAME} or ${NAME:-default}, and the characters themselves as $${"
            raise complain(sign, f"`{sign}` is not an environment variable", hint)
        name, defaults, default = known.groups()
        variable = environment.get(name)
        if defaults:
            return variable or default
        if variable is None:
            raise complain(sign, f"the environment variable {name} is not set", f"set it, or give a default: ${{{name}:-...}}")
        return variable

    return SIGN.sub(value, text)
