"""What a node is judged by, and its measurement."""
