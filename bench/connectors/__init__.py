"""What it costs that each row counts once in a server: one module per connector, with a function `measure`."""
