"""Every number that a finding is judged with, beside the limits of a profile.

Lengths are for a leg of HUMAN_LEG (0.82 m) and scale with the leg; times scale with its root.
"""

from __future__ import annotations

import math

from poise.core.units import GRAVITY

# What a body fitted to a skeleton knows of itself.
MASS_CENTER = 0.01
"""How far the modeled center of mass drifts from the true one in a flight without a turn [m]."""
MASS_CENTER_ALONG, MASS_CENTER_ACROSS = 0.05, 0.01
"""How far off it lies along the trunk and across it [m]: a body that turns over carries this error round."""
INERTIA, SAMPLED = 0.03, 1.0 / 3.0
"""How far the modeled inertia is off, and what turns between frames lose, over their square [1]: of a turn in the air,
this part says nothing about spin."""

# Flights.
BEND = 0.02
"""A flight that bends less than this off its chord says nothing of gravity or arc [m]."""
SIGMAS = 2.0
"""A flight's gravity is wrong where it is outside by this many standard errors of the fit [1]."""
SEEN_UP, SEEN_LEVEL = 0.03, 0.03
"""A center of mass nearer than the first to its parabola, and than the second to even ground, is not a fault [m]."""
TAKES_OFF = 0.1
"""A body that leaves the ground and comes back does so at this vertical speed at least, in √(g leg) [1]."""
STANDS_STILL, STANDS_BESIDE, STANDS_SECONDS, STANDS_FRAMES = 0.6, 0.5, 0.08, 3
"""The lowest point of a body in the air that is slower than this [m/s] and than this share of the center of mass, for
so long [s] and so many frames, carries the body: a hand in a cartwheel, on a skeleton that is too short."""
PLAUSIBLE_GRAVITY = (0.72, 1.35)
"""Flights that fall with less or more than this share of gravity speak of a wrong frame rate or size [1]."""
HIGHEST_LEAP = 1.5
"""Nobody leaps higher than this, in legs: the best high jumpers raise their center of mass by about 1.2 [1]."""
LANDS_TURNED = 3.0
"""A cure says so where the body lands turned by more than this [deg]."""
RATE_SURE = 0.7
"""Confidence from which flights call a frame rate wrong [1]: two that agree have it, one alone has not."""

BESIDE_ENDS = 0.1
"""Something must be down this soon before a flight and after it [s]: else its ends are not known."""

SHORT_LINE = 0.25
"""A flight shorter than this over the ground, in legs, is on the spot [1]."""

# Steps.
USUAL_SWING, SWING_SPREAD = 1.45, 0.18
"""Time a foot swings in walks, in √(leg / g) [1], and the standard deviation of its logarithm."""
USUAL_RATIO, RATIO_SPREAD = 1.35, 0.3
"""Step length in legs over steps in √(leg / g): people keep this walk ratio at every speed [1]; the same spread."""
PACE = 1.5
"""A walk is played at the wrong speed if its steps are off by this factor [1]."""
LEAST_STEPS, LEAST_SWINGS, LEAST_PACE = 3, 3, 0.13
"""Steps and swings that tell, and the speed of a walk, in √(g leg) [1]."""
SHORTEST_SWING = 0.25
"""A step carries a foot at least this far, in legs [1]: touches of feet that stand may come and go."""
LEAST_WAY, UPRIGHT_WALK = 2.0, 0.5
"""A walk goes so many legs far, and its trunk stays up: the cosine of its lean never falls below the second [1]."""
TALL_WALK = 0.85
"""Least height of its hips in the median, in legs [1]: walks with bent legs have shorter steps and tell no pace."""
OTHER_SLIP = 0.35
"""How much less likely than half or double another slip of the rate is, as a logarithm [1]."""

# Feet.
SETTLING, SETTLES, LONGEST_SETTLING = 0.06, 0.1, 0.15
"""Time at each end of a touch in which sliding is not judged, because of heel strike and toe-off: at least the
first [s], a share of the touch given by the second [1], at most the third [s]."""
STANDING_STILL = 0.35
"""A foot slower than this may stand [m/s]."""
RESTS = 0.5
"""A foot rests before and after a dragging step if it is slower there than this part of `STANDING_STILL` [1]."""
NEAR_FLOOR = 0.08
"""A foot lower than this may be meant to stand [m]."""
DOWN = 0.03
"""A foot lower than this is down, however it moves [m]."""
CARRIED = 0.5
"""A body that asks less of its weight than this of the ground may be in a low hop [1]."""
DIP = CARRIED / 2.0
"""A short dip of the weight that stays above this is not a hop [1]."""
GUESSED = 1.5
"""Hands, knees and trunks are guessed from bones: they may sink this many times as deep as a foot [1]."""
SINKS_SECONDS, SINKS_FAR = 0.08, 1.5
"""A sole that sinks for less long than this [s] rolls off, unless it sinks this many times deeper [1]."""
GLIDE_SECONDS = 0.1
"""Shortest time for which no foot stands that counts [s]."""
HOVER_SECONDS = math.sqrt(8.0 * SEEN_UP / GRAVITY)
"""Shortest time without any contact that counts [s]: the path of a shorter flight bends by less than `SEEN_UP`."""
CARRIED_HIPS, STAYS_UP = 0.6, 0.2
"""A body whose hips are lower than the first, in legs, in more than the second part of a stance is not carried by feet
alone [1]."""
GLIDES = 0.4
"""A body none of whose feet stands fails if the slowest slides this far [m]; less is a warning: feet can slide."""
LEVEL = 0.03
"""Points of feet this little above the lowest one may stand with it [m]."""
RISES_EVENLY = 0.4
"""A foot that rises while it stands within this of what the body rises by is carried up with it [1]."""
SHORTEST_STAND = 0.15
"""A foot that stays shorter than this tells no height [s]."""
LEAST_RISING = 0.4
"""Time on standing feet that tells [s]."""

# Balance.
BESIDE_FLIGHT = 0.08
"""The low-pass carries the push of take-off and landing this far [s]."""
SHORT_STANCE = 0.4
"""Ground between two flights shorter than this is a run's [s]."""
LEAST_SECONDS = 0.25
"""Time on the ground that tells anything of balance [s]."""
PRESSES = 0.3
"""A frame that asks less of its weight than this of the ground has no place where it presses worth judging [1]."""
STILL_SPEED, STILL_SECONDS = 0.08, 0.5
"""A figure stands still if its center of mass is slower than this, in √(g leg), for so long [s]."""
STILL_BESIDE = 0.1
"""It then fails if the weight is this far outside of the feet in every frame, in legs [1]."""
STILL_SOLE = 0.15
"""It stands on points at least this far apart, in legs: a single tip may be the lowest place of what hangs [1]."""
STANDS_HIGH = 0.75
"""It stands if its hips are at this height, in legs [1]: who sits is carried by what the clip does not hold."""
MOST_SHIFTS, FARTHEST_SHIFT = 2, 0.25
"""Stretches that a cure moves the hips in at most, and how far, in legs [1]."""
SLOWEST, LEAST_SLOWING, SPEEDS = 4.0, 1.02, 40
"""Slowest and fastest retiming offered as a cure [1], and how many between them are looked at."""
SPARE, TRIALS = 0.01, 6
"""What a retimed clip must have above the bound [1], and how many retimings are tried before none is offered."""

# Capture.
POP = 0.035
"""A root that leaves its path by this in one frame pops [m]."""
STANDS_OUT = 4.0
"""It stands out from what the path does around it by this factor [1]."""
SPIKE = 0.035
"""A place of the body that is thrown out and back by this in one frame spikes [m]."""
ONE_JOINT = 0.5
"""A spike comes from one joint if that alone throws the place out by this part [1]; frames that come a little early or
late, as in clips drawn or sampled by hand, move all joints a little."""
MOVES_ALONE, MOST_VERTICES, SEEN_TURN = 0.99, 2000, 0.01
"""Weight with which a joint moves a rigid part alone [1], and the most vertices of one that is looked at. A turn that
leaves every vertex as near as this, in legs, to another's old place is not seen [1]."""
KEYED_FPS, KEYED_FLIP = 48.0, 50.0
"""Below this rate [1/s] a turn slower than this [rad/s] is a fast pose change, not a flip."""
DRAWN_TURN, DRAWN_JOINTS = 16.0, 3
"""Below `KEYED_FPS`, so many joints that turn this fast [rad/s] in the frames of a glitch change the whole pose; fast
runs of drawn figures reach 15."""
SWINGS = 0.8
"""A flip that turns bones by less than this part of it twists them, too [1]."""
SMALL_FPS = 20.0
"""Below this rate [1/s] small pops and spikes are what was drawn."""
BURST = 4.0
"""A step of the hips this many times as long as those around it [1] is a sudden pose change of the whole body."""

# What is known of a clip.
SURE_FLOOR = 0.6
"""Confidence from which the floor is known [1]."""
SUNK = 0.25
"""A floor that feet are below in more than this share of frames is not known [1]."""
ABOVE = 0.5
"""Nor is one that nothing touches in more than this share of frames, though the body does not fly [1]."""
FLOORS_AGREE = 0.1
"""Floor of the motion and of the fitted character agree within this, in legs [1]."""
GROWN_LEGS = (0.65, 1.1)
"""Legs of grown people [m]."""
HUMAN_LEGS = (0.4, 1.3)
"""Legs of people [m]: of others, how they fall says nothing until their size is known."""
LOW_HIPS, LOW_MASS = 0.3, 0.4
"""Hips below the first under a center of mass above the second, in legs, are not hips: the limbs were not read."""

# Whole clip.
HIGH_JERK = 6500.0
"""Normalized jerk above this is high [1]: twice the jerk amplitude of a smooth reach has 2900, noise far more."""
ALTERNATES = -0.3
"""Below `KEYED_FPS` a joint shakes if its acceleration correlates with that of the next frame by less than this [1]."""
MOVES = 0.1
"""A joint that moves less than this within 0.4 s has no jerk to speak of [m]."""
WHIRLS = 3
"""Frames on end for which a joint must be too fast to fail [1]; a shorter burst is a warning."""
TOUCHES_LIMIT = math.radians(1.0)
"""A joint violates its limit from here on [rad]."""
ON_HANDS = 0.1
"""A clip in which hands, knees or the trunk touch for more than this share of its frames is not a gait [1]."""
