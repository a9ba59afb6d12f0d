"""The error codes of HTTP."""

from headrace.codes import Code, register

register(
    {
        "HTTP_FAILED": Code("RunError", "environment", "a server that does not answer, or cannot take what is sent for now"),
        "HTTP_REFUSED": Code("RunError", "input", "a server that refuses what is sent"),
    }
)
