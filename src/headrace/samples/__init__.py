"""Small data that comes with the package, for first programs and the documentation.

>>> from pathlib import Path
>>> sorted(file.name for file in Path(CHARGES).iterdir())
['1.json', '2.json', '3.json', '4.json']
"""

from pathlib import Path

CHARGES = str(Path(__file__).parent / "charges")
"""An hour of invented card charges as JSON lines, in order of arrival: `card string, amount decimal(10,2), shop string, ts timestamp`."""
