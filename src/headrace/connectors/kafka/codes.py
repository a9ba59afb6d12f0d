"""The error codes of Kafka and of schema registries."""

from headrace.codes import Code, register

register(
    {
        "DESCRIPTOR_UNREADABLE": Code("ConnectorError", "user", "an unusable Protobuf or Avro schema file"),
        "KAFKA_DENIED": Code("ConnectorError", "environment", "a Kafka cluster that denies the user access"),
        "KAFKA_FAILED": Code("ConnectorError", "environment", "a request that the Kafka brokers failed"),
        "KAFKA_FENCED": Code("RunError", "environment", "a Kafka transaction that another producer or the broker aborted"),
        "KAFKA_MARKERS_GONE": Code("ConnectorError", "environment", "an interrupted epoch whose markers Kafka has deleted"),
        "KAFKA_RECORD": Code("RunError", "input", "a row that cannot be written as a Kafka record"),
        "KAFKA_TLS": Code("ConnectorError", "environment", "a TLS connection to Kafka that failed"),
        "KAFKA_TOO_LARGE": Code("RunError", "input", "a record that is larger than the topic or producer allows"),
        "KAFKA_TRANSACTION_TIMEOUT": Code("ConnectorError", "user", "a transaction timeout that is longer than the brokers allow"),
        "KAFKA_UNREACHABLE": Code("ConnectorError", "environment", "a Kafka cluster that does not answer"),
        "OFFSETS_GONE": Code(
            "ConnectorError",
            "input",
            "Kafka records that are no longer in the topic",
            'set the retention of the topic longer than the job may be stopped; on_gap="skip" continues, with a dead letter for each gap',
        ),
        "REGISTRY_INCOMPATIBLE": Code("ConnectorError", "user", "columns that are incompatible with the registered schemas"),
        "REGISTRY_SCHEMA": Code("ConnectorError", "input", "a registry schema that does not fit the columns, or is refused"),
        "REGISTRY_SUBJECT": Code("ConnectorError", "user", "a schema registry subject that does not exist or has another type"),
        "REGISTRY_UNREACHABLE": Code(
            "ConnectorError",
            "environment",
            "a schema registry that does not answer",
            "check that it runs, and its address; the next start continues after the last committed epoch",
        ),
        "TOPIC_GONE": Code(
            "ConnectorError",
            "input",
            "a topic that was deleted while the job was reading it",
            'create it again and start over with fresh=True; with a pattern, on_gap="skip" continues without it',
        ),
        "TOPIC_MISSING": Code("ConnectorError", "input", "a topic that does not exist"),
    }
)
