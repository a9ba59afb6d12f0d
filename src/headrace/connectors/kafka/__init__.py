"""Topics of Apache Kafka."""

from headrace.connectors.kafka.needs import PACKAGES
from headrace.connectors.kafka.sink import Sink
from headrace.connectors.kafka.source import Source

__all__ = ["PACKAGES", "Sink", "Source"]
