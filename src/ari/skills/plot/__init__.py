"""The `plot` skill."""
