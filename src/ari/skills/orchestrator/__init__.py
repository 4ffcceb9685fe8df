"""Studies started, watched and read from outside."""
