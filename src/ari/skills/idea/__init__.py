"""Ranked research ideas."""
