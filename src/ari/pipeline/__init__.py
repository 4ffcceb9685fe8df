"""The stages of a study and the deterministic helpers around `experiment.md`."""
