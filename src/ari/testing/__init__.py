"""For tests, ours and those of users: a scripted model, and a model server on loopback with a script."""

from ari.testing.habits import odd_calls, useless_replies
from ari.testing.loopback import LoopbackServer, Received
from ari.testing.replies import Call, Reply, ScriptEndedError
from ari.testing.scripted import ScriptedModel

__all__ = [
    "Call",
    "LoopbackServer",
    "Received",
    "Reply",
    "ScriptEndedError",
    "ScriptedModel",
    "odd_calls",
    "useless_replies",
]
