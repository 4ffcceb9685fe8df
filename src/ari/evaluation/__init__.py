"""Measuring nodes: the only place from which a metric enters the tree."""
