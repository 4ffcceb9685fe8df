"""Files, contained commands and results of one node."""
