"""What the kernel tells of brokers, as errors with their cures."""

from __future__ import annotations

from headrace.errors import CODES, HeadraceError

_HINTS = {
    "KAFKA_UNREACHABLE": "does the broker run, and is this the address that it advertises to others?",
    "KAFKA_LOGIN": "check user and password, and that the listener asks for them in this way: security={...}",
    "KAFKA_NOT_ALLOWED": "the user needs READ and WRITE on the topic, READ on groups and WRITE on transactional ids with the prefix",
    "KAFKA_TOPIC": 'make the topic, or let headrace make it: create={"partitions": 4}',
    "KAFKA_TRANSACTION_TIMEOUT": 'the brokers allow less (transaction.max.timeout.ms): transaction_timeout="5 minutes"',
}


def problem(code: str, place: str, message: str) -> HeadraceError:
    """The error for a problem with a topic at some servers."""
    known = code if code in CODES else "KAFKA_FAILED"
    return HeadraceError(known, f"{place}: {message}", hint=_HINTS.get(known))
