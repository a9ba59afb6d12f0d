"""The SQL client: runs statements of scripts one after the other, in a terminal or a notebook."""
