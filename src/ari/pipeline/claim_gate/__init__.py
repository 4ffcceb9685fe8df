"""The claim gate: every number of a paper computed anew from the files of the study.

Rules, formats and how to read the findings: `docs/gate.md`. Deterministic, without a model, without a
network; nothing here writes a file.
"""
