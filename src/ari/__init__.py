"""From data and a question to a paper in which every number can be checked."""
