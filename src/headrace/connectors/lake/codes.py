"""The error codes of Delta and Iceberg."""

from headrace.codes import Code, register

register(
    {
        "TABLE_BUSY": Code("ConnectorError", "environment", "a table to which other writers always commit first"),
        "TABLE_CHANGED": Code(
            "ConnectorError", "input", "a table whose rows go, read as if they were only added", "read what changes: changes=True."
        ),
        "TABLE_FEATURE": Code(
            "ConnectorError", "user", "a table that asks for what headrace cannot do", "read a table, or a copy of it, without that."
        ),
        "TABLE_UNREADABLE": Code(
            "ConnectorError", "environment", "a table that cannot be opened", "when it can be, the next start goes on from the last epoch."
        ),
        "VERSION_GONE": Code(
            "ConnectorError",
            "input",
            "a version of a table that was cleaned up before it was read",
            "start over with fresh=True, and keep the table's old versions for longer than the job may stand still.",
        ),
    }
)
