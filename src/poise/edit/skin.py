"""How far the skin of a file stretches: whether an edit tears it."""

from __future__ import annotations

import numpy as np

from poise.core import rotations
from poise.core.motion import Motion
from poise.core.typing import Array, Index

TORN = 0.25
"""Skin that gets longer by more than this part of its length than it ever was, is torn [1]."""
MOST_EDGES, MOST_FRAMES = 8000, 80
"""Edges and frames that are measured at most, evenly spread."""
SHORT = 0.3
"""An edge shorter than this part of the median edge counts as that long: slivers stretch at every pose [1]."""


def skin_stretch(before: Motion, after: Motion, size: float = 1.0) -> float | None:
    """How much longer an edge of the skin gets than before, as a part of its length at rest [1]; None without a skin.

    Each edge is compared with its own longest state before, so that stretch a clip already has is no tear: at most
    max_e (max_t l'(e, t) / size − max_t l(e, t)) / l₀(e).

    Args:
        before, after: The same file's motion before and after an edit; frames may differ in number.
        size: How many times as large the figure was made [1].
    """
    old, new = _longest(before), _longest(after)
    if old is None or new is None:
        return None
    (was, rest), (now, _) = old, new
    rest = np.maximum(rest, SHORT * np.median(rest))
    return float(((now / size - was) / rest).max(initial=0.0))


def _longest(motion: Motion) -> tuple[Array, Array] | None:
    """Each edge's greatest length over the clip, and its length at rest [m], shape (E,)."""
    document = motion.source.document if motion.source else None
    meshes = getattr(document, "meshes", ())
    if not meshes:
        return None
    scales = document.joint_scales  # pyright: ignore[reportOptionalMemberAccess]  # what has meshes has scales
    frames = np.unique(np.linspace(0, motion.frame_count - 1, MOST_FRAMES).astype(np.int64))
    share = MOST_EDGES / max(sum(3 * len(m.indices) for m in meshes), 1)
    positions, turned = (a[frames] for a in motion.world)
    rest_places, rest_turns = (a[None] for a in motion.skeleton.rest)
    most, rest = [], []
    for mesh in meshes:
        edges = _edges(mesh.indices, mesh.positions, share)
        binds = mesh.inverse_binds.copy()
        binds[:, :3] *= scales[:, None, None]
        used, edges = np.unique(edges, return_inverse=True)
        edges = edges.reshape(-1, 2)
        corners = np.c_[mesh.positions[used], np.ones(len(used))]
        joints, weights = mesh.joints[used], mesh.weights[used].astype(np.float64)
        local = np.einsum("vnij,vj->vni", binds[joints][:, :, :3], corners)
        for places, turns, out in ((positions, turned, most), (rest_places, rest_turns, rest)):
            lengths = np.zeros(len(edges))
            for k in range(len(places)):
                carried = places[k][joints] + rotations.rotate(turns[k][joints], local)
                posed = (weights[..., None] * carried).sum(axis=1)
                lengths = np.maximum(lengths, np.linalg.norm(posed[edges[:, 0]] - posed[edges[:, 1]], axis=1))
            out.append(lengths)
    return np.concatenate(most), np.concatenate(rest)


def _edges(triangles: Index, positions: Array, share: float) -> Index:
    """Edges of some triangles, each once, shape (E, 2)."""
    step = max(1, round(1.0 / max(share, 1e-9))) if share < 1.0 else 1
    picked = triangles[::step]
    edges = np.sort(np.concatenate([picked[:, [0, 1]], picked[:, [1, 2]], picked[:, [2, 0]]]), axis=1)
    return np.unique(edges[(positions[edges[:, 0]] != positions[edges[:, 1]]).any(axis=1)], axis=0)
