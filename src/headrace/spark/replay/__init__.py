"""The rows of one key, handled again by its program, step by step."""
