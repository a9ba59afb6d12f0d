"""Topics, and their state in the cluster before a job starts."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from headrace.connectors.kafka.cluster import ANSWER_MS, Cluster
from headrace.errors import ConnectorError, HeadraceError, here
from headrace.jvm.session import jvm, session
from headrace.ports import SourceContext
from headrace.ports.options import wrong

_RIGHTS_TO_WRITE = (
    "grant the user WRITE and READ on the topic, WRITE on transactional ids and READ on groups that begin with prefix=; "
    "with create=, also CREATE on the topic"
)
_TOPIC = re.compile(r"[A-Za-z0-9._-]{1,249}")


@dataclass(frozen=True)
class Topics:
    """The topics of a source: by name, or those that match a pattern."""

    names: tuple[str, ...] = ()
    pattern: str = ""

    @classmethod
    def of(cls, verb: str, topics: Any, pattern: str | None) -> Topics:
        """The topics from a source's options, checked."""
        if (topics is None) == (pattern is None):
            raise wrong(f"{verb}: either topics or a pattern is required", f'{verb}("orders", ...) or {verb}(pattern="orders-.*", ...)')
        if pattern is not None:
            try:
                re.compile(pattern)
            except re.error as cause:
                raise wrong(f"{verb}: the pattern {pattern!r} is not valid: {cause}", 'it is a regular expression: "orders-.*"') from None
            return cls(pattern=pattern)
        names = (topics,) if isinstance(topics, str) else topics
        if not isinstance(names, Sequence) or not names or not all(isinstance(one, str) and _TOPIC.fullmatch(one) for one in names):
            raise wrong(f"{verb}: the topics cannot be {topics!r}", 'it is the name of a topic, or several: ["orders", "returns"]')
        return cls(tuple(dict.fromkeys(names)))

    @property
    def name(self) -> str:
        return self.names[0] if len(self.names) == 1 else re.sub(r"\W+", "_", self.pattern or "_".join(self.names)).strip("_")

    def __str__(self) -> str:
        return ", ".join(self.names) or f"/{self.pattern}/"

    def options(self) -> dict[str, Any]:
        """The options that a plan stores."""
        return {"pattern": self.pattern} if self.pattern else {"topics": list(self.names)}

    def spark(self) -> dict[str, str]:
        """The options for Spark's source."""
        return {"subscribePattern": self.pattern} if self.pattern else {"subscribe": ",".join(self.names)}


@dataclass(frozen=True)
class TopicOffsets:
    """The partitions of topics, each with the offset of its first record and the one after its last, and the ids of topics."""

    partitions: Mapping[str, Mapping[int, tuple[int, int]]]
    ids: Mapping[str, str] = field(default_factory=dict)


def look(cluster: Cluster, topics: Topics) -> TopicOffsets:
    """The state of the topics in the cluster; raises the reason if the cluster does not answer."""
    patience = {"default.api.timeout.ms": str(ANSWER_MS), "request.timeout.ms": str(ANSWER_MS // 2)}
    properties = {**patience, "isolation.level": "read_committed", **cluster.properties()}
    spark = session()
    probe = jvm(spark).headrace.kafka.Probe
    answer = json.loads(probe.look(_java_map(spark, properties), ",".join(topics.names), topics.pattern or None))
    if "problem" in answer:
        raise refused(cluster, answer["problem"], answer["message"])
    partitions = {topic: {int(one): (first, end) for one, (first, end) in of.items()} for topic, of in answer["topics"].items()}
    missing = [name for name in topics.names if name not in partitions]
    if missing:
        one = len(missing) == 1
        raise ConnectorError(
            "TOPIC_MISSING",
            f"there is no topic {missing[0]} at {cluster.servers}"
            if one
            else f"there are no topics {', '.join(missing)} at {cluster.servers}",
            hint="create it, or check its name: `kafka-topics.sh --list` lists the topics that this user can see. "
            "If the job has read it before, start over with fresh=True",
            site=here(),
        )
    return TopicOffsets(partitions, answer["ids"])


def refused(cluster: Cluster, problem: str, message: str, *, writes: bool = False) -> HeadraceError:
    """The error for a cluster that does not answer a source, or a sink that `writes`, as expected."""
    message = re.sub(r"\.? Call: \w+$", "", " ".join(message.split())).rstrip(". ")
    if problem == "tls":
        hint = (
            "check that this port uses TLS, and that the certificate is for this host and signed by the authority in "
            'security={"ca": "ca.pem"}'
        )
        return ConnectorError("KAFKA_TLS", f"no TLS connection to {cluster.servers}: {message}", hint=hint, site=here())
    if problem in ("denied", "unauthorized"):
        user = f" {cluster.security['user']}" if "user" in cluster.security else ""
        lacking = _RIGHTS_TO_WRITE if writes else "grant the user READ on the topics and, with group=, on the group"
        return ConnectorError(
            "KAFKA_DENIED",
            f"Kafka at {cluster.servers} denies access to the user{user}: {message}",
            hint=lacking if problem == "unauthorized" else "check the user and the password; each start reads the password again",
            site=here(),
        )
    if problem == "settings":
        return wrong(f"Kafka's clients reject these settings: {message}", "check `security` and `options`")
    return ConnectorError(
        "KAFKA_UNREACHABLE",
        f"Kafka at {cluster.servers} does not answer: {message}",
        hint="check that it runs, that its address is right, and whether this port requires a user or TLS",
        site=here(),
    )


def read_before(context: SourceContext) -> dict[str, dict[int, int]]:
    """The offsets that the query of a checkpoint has reached, by topic and partition."""
    logs = [log for log in (context.checkpoint / "offsets").glob("*") if log.name.isdigit()]
    if not logs:
        return {}
    name = "".join(one if one.isascii() and (one.isalnum() or one == "_") else f"_{ord(one):x}_" for one in context.name)
    for line in max(logs, key=lambda log: int(log.name)).read_text(encoding="utf-8").splitlines():
        if line.startswith(f"{name}:"):
            return {topic: {int(one): at for one, at in of.items()} for topic, of in json.loads(line[len(name) + 1 :]).items()}
    return {}


def _java_map(spark: Any, entries: Mapping[str, str]) -> Any:
    java_map = jvm(spark).java.util.HashMap()
    for name, item in entries.items():
        java_map.put(name, item)
    return java_map


def kept(properties: Mapping[str, str]) -> str:
    """Store a cluster's settings in the JVM. Returns their name there."""
    spark = session()
    return str(jvm(spark).headrace.kafka.Clusters.keep(_java_map(spark, properties)))
