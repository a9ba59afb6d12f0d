"""The SQL client: statements of scripts run one after the other, in a terminal or a notebook."""
