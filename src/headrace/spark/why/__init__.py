"""Why a row is in a result: the rows of the sources that gave it."""
