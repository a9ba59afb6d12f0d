"""The error codes of Kafka and of schema registries."""

from headrace.codes import Code, register

register(
    {
        "DESCRIPTOR_UNREADABLE": Code("ConnectorError", "user", "an unusable descriptor file"),
        "KAFKA_DENIED": Code("ConnectorError", "environment", "a Kafka cluster that does not let the user in"),
        "KAFKA_FAILED": Code("ConnectorError", "environment", "brokers that did not do what they were asked for"),
        "KAFKA_FENCED": Code("RunError", "environment", "a transaction that was ended from outside"),
        "KAFKA_MARKERS_GONE": Code("ConnectorError", "environment", "a cluster that has forgotten how far a job had come"),
        "KAFKA_RECORD": Code("RunError", "input", "a row that cannot be a record"),
        "KAFKA_TLS": Code("ConnectorError", "environment", "a TLS connection to Kafka that does not come about"),
        "KAFKA_TOO_LARGE": Code("RunError", "input", "a record that is larger than a topic takes"),
        "KAFKA_TRANSACTION_TIMEOUT": Code("ConnectorError", "user", "a transaction that would take longer than the brokers allow"),
        "KAFKA_UNREACHABLE": Code("ConnectorError", "environment", "a Kafka cluster that does not answer"),
        "OFFSETS_GONE": Code(
            "ConnectorError",
            "input",
            "records of a topic that were to be read and are gone",
            'keep records for longer than a job may stand; on_gap="skip" goes on, with a dead letter for each gap.',
        ),
        "REGISTRY_INCOMPATIBLE": Code("ConnectorError", "user", "columns that the registry does not let follow those of before"),
        "REGISTRY_SCHEMA": Code("ConnectorError", "input", "a schema in the registry that does not fit"),
        "REGISTRY_SUBJECT": Code("ConnectorError", "user", "a subject that the schema registry does not have, or of another kind"),
        "REGISTRY_UNREACHABLE": Code(
            "ConnectorError",
            "environment",
            "a schema registry that does not answer",
            "the next start goes on from the last epoch, when the registry answers again.",
        ),
        "TOPIC_GONE": Code(
            "ConnectorError",
            "input",
            "a topic that was deleted while a job reads it",
            'start over with fresh=True when there is one again; with a pattern, on_gap="skip" goes on without it.',
        ),
        "TOPIC_MISSING": Code("ConnectorError", "input", "a topic that does not exist"),
    }
)
