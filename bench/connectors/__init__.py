"""The cost of exactly-once writes to servers: one module per connector, with a function `measure`."""
