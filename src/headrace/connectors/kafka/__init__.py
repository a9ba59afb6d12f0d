"""Topics of Apache Kafka."""

from headrace.connectors.kafka import codes as codes
from headrace.connectors.kafka.needs import PACKAGES
from headrace.connectors.kafka.sink import Sink
from headrace.connectors.kafka.source import Source

PORTS = 1

__all__ = ["PACKAGES", "PORTS", "Sink", "Source"]
