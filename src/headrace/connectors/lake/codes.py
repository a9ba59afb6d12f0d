"""The error codes of Delta and Iceberg."""

from headrace.codes import Code, register

register(
    {
        "TABLE_BUSY": Code("ConnectorError", "environment", "a table to which other writers always commit first"),
        "TABLE_CHANGED": Code(
            "ConnectorError", "input", "a table with deleted or updated rows, read as append-only", "read the changes: changes=True"
        ),
        "TABLE_FEATURE": Code(
            "ConnectorError", "user", "a table that requires an unsupported feature", "read a table, or a copy of it, without the feature"
        ),
        "TABLE_UNREADABLE": Code(
            "ConnectorError",
            "environment",
            "a table that cannot be opened",
            "once it can be opened, the next start continues after the last committed epoch",
        ),
        "VERSION_GONE": Code(
            "ConnectorError",
            "input",
            "a table version that was removed before it was read",
            "start over with fresh=True, and keep the table's old versions for longer than the job may be stopped",
        ),
    }
)
