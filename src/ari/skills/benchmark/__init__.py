"""Which configuration is best, and whether two of them differ."""
