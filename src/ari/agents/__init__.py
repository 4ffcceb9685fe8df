"""Agents that do one job of their own, alone or for a node of a study: symbolic regression."""
