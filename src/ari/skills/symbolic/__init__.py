"""The symbolic tools of `sr_harness`."""
