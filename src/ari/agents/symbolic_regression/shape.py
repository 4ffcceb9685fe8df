"""How much an agent may ask its model: R × C × L × K."""

from __future__ import annotations

from dataclasses import dataclass, fields

from ari.errors import ConfigError

MOST = 1_000


@dataclass(frozen=True)
class Shape:
    """The four numbers of the search; their product is the most requests that it makes.

    Attributes:
        restarts: Searches that begin afresh and know nothing of each other.
        conversations: Conversations of a restart; each begins with the restart's best formulas.
        depth: Steps of a conversation: a reply, its measurements, and what the model makes of them.
        samples: Replies asked for at each step; the conversation goes on with the best of them.

    Raises:
        ConfigError: A number that is not from 1 to 1,000.
    """

    restarts: int = 1
    conversations: int = 2
    depth: int = 4
    samples: int = 2

    def __post_init__(self) -> None:
        for item in fields(self):
            value = getattr(self, item.name)
            if not isinstance(value, int) or isinstance(value, bool) or not 1 <= value <= MOST:
                raise ConfigError(
                    f"{item.name} of the symbolic-regression agent is {value!r}",
                    cure=f"Give a whole number from 1 to {MOST}.",
                )

    @property
    def requests(self) -> int:
        """The most requests that a search of this shape makes."""
        return self.restarts * self.conversations * self.depth * self.samples
