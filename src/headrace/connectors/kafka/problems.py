"""Errors for the problems with brokers that the kernel reports when a sink opens."""

from __future__ import annotations

from headrace.connectors.kafka.cluster import Cluster
from headrace.connectors.kafka.look import refused
from headrace.errors import CODES, HeadraceError

_REFUSED = {"KAFKA_TLS": "tls", "KAFKA_DENIED": "denied", "KAFKA_UNAUTHORIZED": "unauthorized", "KAFKA_UNREACHABLE": "unreachable"}
_HINTS = {
    "CHECKPOINT_BEHIND": "two copies of one checkpoint have written this topic. Stop the other job, or give this one another topic.",
    "KAFKA_FAILED": "check the log of the broker and start again: no row is lost or duplicated",
    "TOPIC_MISSING": 'create it, or let headrace create it: create={"partitions": 4}',
    "KAFKA_TRANSACTION_TIMEOUT": 'the brokers allow less (transaction.max.timeout.ms); set transaction_timeout="5 minutes", for example',
}


def problem(code: str, cluster: Cluster, topic: str, message: str) -> HeadraceError:
    """The error for a problem that the kernel reports."""
    if code in _REFUSED:
        return refused(cluster, _REFUSED[code], message, writes=True)
    if code == "TOPIC_MISSING":
        message = f"there is no topic {topic} at {cluster.servers}"
    elif code != "CHECKPOINT_BEHIND":
        reason = message.rpartition("; ")[2].partition(" (as configured")[0]
        message = f"{topic} at {cluster.servers}: {reason}"
    known = code if code in CODES else "KAFKA_FAILED"
    return HeadraceError(known, message, hint=_HINTS.get(known))
