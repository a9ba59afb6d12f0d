"""The error codes of files."""

from headrace.codes import Code, register

register(
    {
        "FILE_BROKEN": Code(
            "RunError",
            "input",
            "an input file that is truncated, damaged, or deleted before its epoch was read",
            'replace it with a complete copy; with broken_files="skip", read.files continues without it, with a dead letter',
        ),
        "FILE_CHANGED": Code(
            "CheckpointError",
            "input",
            "an input file that changed after it was read",
            "restore the file and start again; put new rows into new files. fresh=True starts over",
        ),
        "NOT_A_FOLDER": Code("ConnectorError", "user", "a file where a folder is required"),
        "PARTITION_FOLDERS": Code("ConnectorError", "user", "partition columns in folder names of JSON or CSV files"),
        "PATH_EMPTY": Code("ConnectorError", "input", "a path with nothing to read"),
        "PATH_MISSING": Code("ConnectorError", "input", "a path that does not exist"),
    }
)
