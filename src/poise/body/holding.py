"""Where hands and feet meet what they hold and stand on."""

from __future__ import annotations

from poise.body.character import Character
from poise.core.errors import InvalidValue


def hold_points(character: Character, part: str) -> list[int]:
    """Indices of the contact points that meet a hold: a hand's last, its fingers; the two sides of a foot's ball.

    Args:
        character: Whose.
        part: "left_hand", "right_hand", "left_foot" or "right_foot".

    Raises:
        InvalidValue: if the figure has no such hand or foot, or nothing on it that touches.
    """
    body = character.roles.get(part)
    own = [i for i, p in enumerate(character.contact_points) if p.body == body and p.part in ("hand", "foot")]
    if not own:
        raise InvalidValue(
            f"This figure has no {part.replace('_', ' ')} to hold on with. Roles: "
            f"{', '.join(sorted(character.roles)) or 'none'}."
        )
    if part.endswith("_hand"):
        return own[-1:]
    return [i for i in own if ".ball" in character.contact_points[i].name] or own
