"""The search: what is tried next, the processes it runs in, and the study from first node to last."""
