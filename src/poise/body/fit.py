"""A character from any skeleton, with no parameters."""

from __future__ import annotations

from collections.abc import Sequence

from poise.body.character import Character
from poise.core.motion import Motion
from poise.core.skeleton import Skeleton


def fit(source: Motion | Skeleton | Sequence[Motion], *, mass: float | None = None, masses: str = "auto") -> Character:
    """Fit a character to a motion, to several motions of one skeleton, or to a bare skeleton's rest pose.

    Bodies stand on the joints that matter; fingers, faces, doubled and unturnable joints are carried. Limbs are read
    from geometry and motion (`poise.body.limbs`). Leg length and mass come from the skeleton alone, so that every clip
    of it gives the same figure. Capsules are sized from bones (`anthropometry`), contact points and the floor fitted
    to the clip (`contact_points`), limits widened until every frame is inside (`limits`).

    Args:
        source: What to fit to.
        mass: Whole mass [kg]; by default 70 kg for a human-sized figure, else 70 kg · (height / 1.7 m)³.
        masses: "auto" shares the mass by the segment table of de Leva (1996) where the figure is a person, else by
            bone length; "anthropometric" by that table, for people only; "length" in proportion to bone length for
            all, as [Levine2012]_ 2.1 does.

    Raises:
        InvalidValue: if the mass is not positive, `masses` is none of these, the motions have different
            skeletons, or the table is asked for a figure that is no person.
    """
    return Character.fit(source, mass=mass, masses=masses)
