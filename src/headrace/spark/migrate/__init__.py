"""The offline rewrite of a checkpoint, for a version of its job that no start goes on with."""
