"""The `paper` skill."""
