"""What the joints of a skeleton are for, as data: `limbs.find_anatomy` finds it."""

from __future__ import annotations

from dataclasses import dataclass

from poise.core.typing import Array


@dataclass(frozen=True)
class Chain:
    """A limb as joints of the skeleton, before bodies exist.

    Attributes:
        kind: "leg", "arm", "spine", "neck", "tail" or "other".
        side: "left", "right" or "".
        place: "front" or "hind" for the legs of a four-legged figure, else "".
        hub: Joint of the trunk it hangs on.
        joints: Simulated joints, from the trunk outwards.
        upper: Place in `joints` of the thigh or upper arm; 0 for other kinds.
    """

    kind: str
    side: str
    place: str
    hub: int
    joints: tuple[int, ...]
    upper: int = 0

    @property
    def name(self) -> str:
        """Such as "left_hind_leg" or "tail"."""
        return "_".join(w for w in (self.side, self.place, self.kind) if w)


@dataclass(frozen=True)
class Anatomy:
    """What the joints of a skeleton are for.

    Attributes:
        root: Joint of the root body, the pelvis.
        chest: Joint the arms or front legs hang on; the pelvis if there is no spine.
        chains: Limbs, the spine first.
        forward: Direction the figure faces, level, in each frame, shape (F, 3).
        lengths: Bone length from each joint's parent to it [m], shape (J,).
        span: Longest path through the bones, such as toe to fingertip [m].
        four_legged: True if it stands on its front limbs as well.
        simulated: Joints that become bodies, depth first.
    """

    root: int
    chest: int
    chains: tuple[Chain, ...]
    forward: Array
    lengths: Array
    span: float
    four_legged: bool
    simulated: tuple[int, ...]

    def limbs(self, kind: str) -> tuple[Chain, ...]:
        """All chains of this kind."""
        return tuple(c for c in self.chains if c.kind == kind)
