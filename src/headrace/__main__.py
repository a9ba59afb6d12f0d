"""`python -m headrace` is the command `headrace`."""

import sys

from headrace.cli import main

sys.exit(main())
