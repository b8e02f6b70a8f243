"""Live actors: one module a protocol, each a source of poses of the same contract as clips. See docs/live.md."""

from __future__ import annotations

from poise.tracking.protocols.playout import Played, Playout
from poise.tracking.protocols.pose import Decoder, Encoder, LivePose, PacketError
from poise.tracking.protocols.source import PROTOCOLS, LiveSink, LiveSource, parse_address

__all__ = [
    "PROTOCOLS",
    "Decoder",
    "Encoder",
    "LivePose",
    "LiveSink",
    "LiveSource",
    "PacketError",
    "Played",
    "Playout",
    "parse_address",
]
