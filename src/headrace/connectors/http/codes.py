"""The error codes of HTTP."""

from headrace.codes import Code, register

register(
    {
        "HTTP_FAILED": Code("RunError", "environment", "an HTTP server that is unreachable or temporarily fails"),
        "HTTP_REFUSED": Code("RunError", "input", "an HTTP server that rejects a request"),
    }
)
