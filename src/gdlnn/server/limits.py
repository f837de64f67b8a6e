"""What a client may ask for at most. Every limit is an option of `gdlnn serve`."""

from __future__ import annotations

from dataclasses import asdict, dataclass, fields
from typing import Any

from gdlnn.errors import ServerError


@dataclass(frozen=True)
class Limits:
    """What a client may ask for at most.

    Attributes
    ----------
    body_bytes
        Size of a request's body.
    nodes
        Nodes (atoms) of one graph. A graph may have ten times as many edges.
    batch
        Graphs in one request.
    seconds
        Time for one request, waiting for a free worker not counted; then its worker is ended and replaced.
    read_seconds
        Time for a client to send a request, and to take each part of the answer.
    waiting
        Requests that may wait for a free worker; further ones are told to come back later.
    connections
        Connections open at a time.
    """

    body_bytes: int = 4 << 20
    nodes: int = 500
    batch: int = 1000
    seconds: float = 20.0
    read_seconds: float = 10.0
    waiting: int = 64
    connections: int = 128

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if not value > 0:
                raise ServerError(f"{field.name}: expected a number above 0, got {value!r}")

    @property
    def edges(self) -> int:
        """Edges of one graph."""
        return 10 * self.nodes

    def to_json(self) -> dict[str, Any]:
        """Return the limits as plain JSON values."""
        return asdict(self) | {"edges": self.edges}

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Limits:
        """Build limits from what `to_json` gave."""
        return cls(**{field.name: data[field.name] for field in fields(cls)})
