"""What the nodes of a study remember."""
