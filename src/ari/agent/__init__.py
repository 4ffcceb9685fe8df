"""The loop of one node: its task, its model, its tools and the process it runs in."""
