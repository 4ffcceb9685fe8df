"""The offline researcher: a model like any other that answers with tool calls, chosen by rules."""
