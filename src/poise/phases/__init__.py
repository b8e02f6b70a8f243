"""What happens in a motion: floor, glitches, travel, contacts, flights. No character and no physics engine."""

from poise.phases.contacts import contact_flags, contact_limits, time_to_contact_estimate, times_to_contact
from poise.phases.flights import Flight, FrameRate, airborne_frames, flight_spans, flights, implied_fps
from poise.phases.floor import carried_ground, carrying, find_floor, laid_under, leveled
from poise.phases.glitches import Glitch, find_glitches, glitch_frames, leading_rest_frames
from poise.phases.points import body_points, leg_length
from poise.phases.travel import (
    Loop,
    direction_of_travel,
    facing,
    find_loop,
    in_place_velocity,
    is_in_place,
    loops,
    off_the_spot,
    repeat,
)

__all__ = [
    "Flight",
    "FrameRate",
    "Glitch",
    "Loop",
    "airborne_frames",
    "body_points",
    "carried_ground",
    "carrying",
    "contact_flags",
    "contact_limits",
    "direction_of_travel",
    "facing",
    "find_floor",
    "find_glitches",
    "find_loop",
    "flight_spans",
    "flights",
    "glitch_frames",
    "implied_fps",
    "in_place_velocity",
    "is_in_place",
    "laid_under",
    "leading_rest_frames",
    "leg_length",
    "leveled",
    "loops",
    "off_the_spot",
    "repeat",
    "time_to_contact_estimate",
    "times_to_contact",
]
