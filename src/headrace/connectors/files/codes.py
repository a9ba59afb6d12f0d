"""The error codes of files."""

from headrace.codes import Code, register

register(
    {
        "FILE_BROKEN": Code(
            "RunError",
            "input",
            "an input file that is truncated, damaged, or deleted before its epoch was read",
            'put a whole copy of it in its place; with broken_files="skip" read.files goes on without such files, a dead letter for each.',
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
