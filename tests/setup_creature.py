"""A creature nobody has seen, for tests of its set-up: two legs, a tail, a long neck, two little arms, odd names."""

from __future__ import annotations

import numpy as np

from poise.core import rotations
from poise.core.skeleton import EndSite, Skeleton

_BONES: list[tuple[str, str, tuple[float, float, float]]] = [
    ("n0", "", (0.0, 0.0, 0.98)),
    ("n1", "n0", (0.16, 0.0, 0.10)),
    ("n2", "n1", (0.17, 0.0, 0.10)),
    ("k1", "n2", (0.14, 0.0, 0.13)),
    ("k2", "k1", (0.10, 0.0, 0.17)),
    ("k3", "k2", (0.08, 0.0, 0.15)),
    ("w1", "n0", (-0.16, 0.0, 0.0)),
    ("w2", "w1", (-0.24, 0.0, -0.02)),
    ("w3", "w2", (-0.24, 0.0, -0.02)),
    ("w4", "w3", (-0.22, 0.0, 0.0)),
]
for _s, _y in (("a", 1.0), ("b", -1.0)):
    _BONES += [
        (f"{_s}1", "n0", (0.0, 0.13 * _y, -0.06)),
        (f"{_s}2", f"{_s}1", (0.18, 0.02 * _y, -0.36)),
        (f"{_s}3", f"{_s}2", (-0.14, 0.0, -0.38)),
        (f"{_s}4", f"{_s}3", (0.14, 0.0, -0.15)),
        (f"{_s}7", "n2", (0.05, 0.12 * _y, -0.08)),
        (f"{_s}8", f"{_s}7", (0.06, 0.0, -0.16)),
        (f"{_s}9", f"{_s}8", (0.10, 0.0, -0.09)),
    ]
_TIPS = {"k3": (0.16, 0.0, -0.03), "w4": (-0.2, 0.0, 0.0), "a4": (0.13, 0, 0), "b4": (0.13, 0, 0)} | {
    "a9": (0.07, 0.0, -0.04),
    "b9": (0.07, 0.0, -0.04),
}


def creature() -> Skeleton:
    """Its skeleton: it faces +x and stands on a4 and b4 [m]."""
    order: list[tuple[str, str, tuple[float, float, float]]] = []
    waiting = [_BONES[0]]
    while waiting:
        bone = waiting.pop()
        order.append(bone)
        waiting += [b for b in reversed(_BONES) if b[1] == bone[0]]
    names = [name for name, _, _ in order]
    return Skeleton(
        tuple(names),
        np.array([names.index(parent) if parent else -1 for _, parent, _ in order], dtype=np.int64),
        np.array([offset for _, _, offset in order]),
        np.tile(rotations.IDENTITY, (len(names), 1)),
        tuple(EndSite(names.index(n), np.array(o, dtype=np.float64)) for n, o in _TIPS.items()),
    )
