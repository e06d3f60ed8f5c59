"""Packet loss."""

from __future__ import annotations

from belated.delays import PacketLoss
from support.laws import DelayCase, step

CASES = [
    DelayCase(PacketLoss(0.3), step(0, 0.3), 0.7, 0),
    DelayCase(PacketLoss(0.0), step(0, 0.0), 1.0, 0),
    DelayCase(PacketLoss(1.0), step(0), 0.0, 0),
]
