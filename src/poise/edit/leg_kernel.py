"""The compiled loops over the frames of one leg; `legs.py` says what they are for."""

from __future__ import annotations

import numpy as np
from numba import njit

_OPTIONS = {"cache": True, "error_model": "numpy"}

OPPOSITE = 1e-7
"""Twice the cosine of half a turn below which two directions are opposite: the least turn between has no axis [1]."""


@njit(**_OPTIONS)
def _multiply(p, q, out):
    """Quaternion product p q into out (4,), which may be either of them."""
    w = p[0] * q[0] - p[1] * q[1] - p[2] * q[2] - p[3] * q[3]
    x = p[0] * q[1] + p[1] * q[0] + p[2] * q[3] - p[3] * q[2]
    y = p[0] * q[2] - p[1] * q[3] + p[2] * q[0] + p[3] * q[1]
    z = p[0] * q[3] + p[1] * q[2] - p[2] * q[1] + p[3] * q[0]
    out[0], out[1], out[2], out[3] = w, x, y, z


@njit(**_OPTIONS)
def _local(parent, turn, out):
    """The turn (4,) as the parent's frame sees it, of unit length."""
    w, x, y, z = parent[0], -parent[1], -parent[2], -parent[3]
    out[0] = w * turn[0] - x * turn[1] - y * turn[2] - z * turn[3]
    out[1] = w * turn[1] + x * turn[0] + y * turn[3] - z * turn[2]
    out[2] = w * turn[2] - x * turn[3] + y * turn[0] + z * turn[1]
    out[3] = w * turn[3] + x * turn[2] - y * turn[1] + z * turn[0]
    size = np.sqrt(out[0] ** 2 + out[1] ** 2 + out[2] ** 2 + out[3] ** 2)
    for i in range(4):
        out[i] /= size


@njit(**_OPTIONS)
def _rotate(q, v, out):
    """The vector v (3,) turned by q into out, which may be v."""
    w, a, b, c = q[0], q[1], q[2], q[3]
    x, y, z = v[0], v[1], v[2]
    s, t, u = 2.0 * (b * z - c * y), 2.0 * (c * x - a * z), 2.0 * (a * y - b * x)
    out[0], out[1], out[2] = x + w * s + (b * u - c * t), y + w * t + (c * s - a * u), z + w * u + (a * t - b * s)


@njit(**_OPTIONS)
def measure(frames, places, turns, hip, knee, foot, axis, axis_joint, is_hinge, straight, u, w, normal, numbers):
    """Knee to hip u, knee to foot w and bend axis (n, 3) of some frames.

    Also the flexion f, and square and ρ of |u − w(f)|² = square + 2 ρ cos f, and the sine of the bend about the
    joint's own axis, as numbers (n, 4).
    """
    own, plane = np.empty(3), np.empty(3)
    for k in range(len(frames)):
        f = frames[k]
        uu, ww = 0.0, 0.0
        for i in range(3):
            u[k, i] = places[f, hip, i] - places[f, knee, i]
            w[k, i] = places[f, foot, i] - places[f, knee, i]
            uu += u[k, i] * u[k, i]
            ww += w[k, i] * w[k, i]
        _rotate(turns[f, axis_joint], axis, own)
        size = np.sqrt(uu) * np.sqrt(ww) + 1e-12
        plane[0] = (u[k, 2] * w[k, 1] - u[k, 1] * w[k, 2]) / size
        plane[1] = (u[k, 0] * w[k, 2] - u[k, 2] * w[k, 0]) / size
        plane[2] = (u[k, 1] * w[k, 0] - u[k, 0] * w[k, 1]) / size
        bend = plane[0] * own[0] + plane[1] * own[1] + plane[2] * own[2]
        if not is_hinge:
            length = 0.0
            for i in range(3):
                own[i] = (-plane[i] if bend < 0.0 else plane[i]) + straight * own[i]
                length += own[i] * own[i]
            length = max(np.sqrt(length), 1e-12)
            for i in range(3):
                own[i] /= length
        along_u, along_w = 0.0, 0.0
        for i in range(3):
            normal[k, i] = own[i]
            along_u += u[k, i] * own[i]
            along_w += w[k, i] * own[i]
        # of the parts across the normal
        cosine, sine = 0.0, 0.0
        for i in range(3):
            cosine -= (u[k, i] - along_u * own[i]) * (w[k, i] - along_w * own[i])
            sine += plane[i] * size * own[i]
        numbers[k, 0] = np.arctan2(sine, cosine)
        numbers[k, 1] = uu + ww - 2.0 * along_u * along_w
        numbers[k, 2] = np.hypot(sine, cosine)
        numbers[k, 3] = bend


@njit(**_OPTIONS)
def turn(frames, places, turns, joints, parents, foot_turns, u, w, normal, bend, goals, goal_turns, out):
    """Turn hip, knee and foot (joints) so that the knee bends by `bend` (n,) more and the foot lies toward its goal.

    Fills the rotations out (F, J, 4) of these frames; goals (F, 3) and goal_turns (F, 4) are in the world.
    """
    knee_turn, hip_turn, both, made = np.empty(4), np.empty(4), np.empty(4), np.empty(4)
    foot, goal = np.empty(3), np.empty(3)
    identity = np.array([1.0, 0.0, 0.0, 0.0])
    for k in range(len(frames)):
        f = frames[k]
        knee_turn[0], sine = np.cos(0.5 * bend[k]), np.sin(0.5 * bend[k])
        for i in range(3):
            knee_turn[1 + i] = sine * normal[k, i]
        _rotate(knee_turn, w[k], foot)
        a, b = 0.0, 0.0
        for i in range(3):
            foot[i] -= u[k, i]
            goal[i] = goals[f, i] - places[f, joints[0], i]
            a += foot[i] * foot[i]
            b += goal[i] * goal[i]
        a, b = max(np.sqrt(a), 1e-12), max(np.sqrt(b), 1e-12)
        for i in range(3):
            foot[i] /= a
            goal[i] /= b
        # the least turn from one direction to the other
        hip_turn[0] = 1.0 + foot[0] * goal[0] + foot[1] * goal[1] + foot[2] * goal[2]
        hip_turn[1] = foot[1] * goal[2] - foot[2] * goal[1]
        hip_turn[2] = foot[2] * goal[0] - foot[0] * goal[2]
        hip_turn[3] = foot[0] * goal[1] - foot[1] * goal[0]
        size = np.sqrt(hip_turn[0] ** 2 + hip_turn[1] ** 2 + hip_turn[2] ** 2 + hip_turn[3] ** 2)
        if size < OPPOSITE:  # half a turn, about what of the bend axis lies across the leg
            along = 0.0
            for i in range(3):
                along += normal[k, i] * foot[i]
            hip_turn[0] = 0.0
            for i in range(3):
                hip_turn[1 + i] = normal[k, i] - along * foot[i]
            size = np.sqrt(hip_turn[1] ** 2 + hip_turn[2] ** 2 + hip_turn[3] ** 2)
        for i in range(4):
            hip_turn[i] /= size
        _multiply(hip_turn, turns[f, joints[0]], made)
        _local(turns[f, parents[0]] if parents[0] >= 0 else identity, made, out[f, joints[0]])
        _multiply(knee_turn, turns[f, joints[1]], made)
        _local(turns[f, parents[1]], made, out[f, joints[1]])
        if foot_turns:
            _multiply(hip_turn, knee_turn, both)
            _multiply(both, turns[f, parents[2]], made)
            _local(made, goal_turns[f], out[f, joints[2]])
