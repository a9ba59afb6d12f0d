"""The error codes of files."""

from headrace.codes import Code, register

register(
    {
        "FILE_BROKEN": Code(
            "RunError",
            "input",
            "an input file that is cut off, damaged or gone",
            'put a whole copy of it in its place; with broken_files="skip" read.files goes on without such files, a dead letter for each.',
        ),
        "NOT_A_FOLDER": Code("ConnectorError", "user", "a file where a folder is expected"),
        "PARTITION_FOLDERS": Code("ConnectorError", "user", "columns in folder names, which text formats are read without"),
        "PATH_EMPTY": Code("ConnectorError", "input", "a path with nothing to read"),
        "PATH_MISSING": Code("ConnectorError", "input", "a path that does not exist"),
    }
)
