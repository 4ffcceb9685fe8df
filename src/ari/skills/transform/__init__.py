"""From the executed tree to data that a paper may rest on."""
