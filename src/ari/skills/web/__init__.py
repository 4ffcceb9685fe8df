"""Literature from public services."""
