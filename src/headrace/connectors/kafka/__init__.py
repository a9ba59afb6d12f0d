"""Topics of Apache Kafka."""

from headrace.connectors.kafka.needs import PACKAGES
from headrace.connectors.kafka.sink import Sink

__all__ = ["PACKAGES", "Sink"]
