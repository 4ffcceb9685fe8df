"""One module per file of the checkpoint: a typed model, its promises, and readers of legacy shapes.

The modules are named after the files they describe; `jsonio` owns strict JSON and the encoding of
non-finite numbers, `base` what all models share.
"""
