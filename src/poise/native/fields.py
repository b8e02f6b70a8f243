"""The blocks of numbers that Python and C share, each declared once: name, type, shape, unit, meaning.

From these lists come the C structures (`build.header`), the ctypes structures and the NumPy views (`Block`). Needs the
standard library alone, since the build reads it before Poise is installed.

Types: `real` (float64), `word` (int64), `flag` (bool), `address`, or the name of another block. An extent is a number
or a name; one that is a `word` of the block itself is set with it.
"""

from __future__ import annotations

from typing import NamedTuple


class Field(NamedTuple):
    """One entry of a block; an empty shape is one number, or one address."""

    name: str
    kind: str
    shape: str
    meaning: str


def _fields(text: str) -> tuple[Field, ...]:
    """Lines of "name, name: type[extent, extent]  meaning"."""
    out = []
    for line in text.strip().splitlines():
        head, _, meaning = line.strip().partition("  ")
        names, _, kind = head.partition(": ")
        kind, _, shape = kind.partition("[")
        out += [Field(name, kind, shape.rstrip("]"), meaning.strip()) for name in names.split(", ")]
    return tuple(out)


BLOCKS: dict[str, tuple[Field, ...]] = {
    # MuJoCo's model and data of one state, and its functions by name
    "Engine": _fields("""
        model: address  mjModel
        data: address  mjData
        mj_kinematics, mj_comVel: address  places of the bodies, their velocities
        mj_comPos: address  centers of mass, motions of the dofs
        mj_makeM: address  mass matrix, in the engine's own form
        mj_fullM: address  the same as a full matrix
        mj_rne: address  inverse dynamics by recursion
        mj_integratePos: address  coordinates after a time with velocities
        mj_geomDistance: address  distance of two geoms
    """),
    # a figure and one state of it; body 0 is the world
    "Pose": _fields("""
        engine: Engine  what moves it
        nq: word  coordinates
        nv: word  dofs
        bodies: word  bodies
        points: word  contact points
        parents: word[bodies]  parent of each body
        tree_root: word[bodies]  body on which its tree hangs
        dof_first: word[bodies]  first dof of its joint
        dof_count: word[bodies]  dofs of its joint
        dof_body: word[nv]  body of each dof
        body_masses: real[bodies]  [kg]
        subtree_masses: real[bodies]  [kg]
        point_body: word[points]  body of each contact point
        point_offsets: real[points, 3]  its center in the body's frame [m]
        point_radii: real[points]  [m]
        q: real[nq]  coordinates
        v: real[nv]  velocities
        a: real[nv]  accelerations that inverse dynamics are asked for
        M: real[nv, nv]  mass matrix
        bias: real[nv]  Coriolis and gravity force
        inverse: real[nv]  M a + bias by recursion
        xpos: real[bodies, 3]  place of each body [m]
        xmat: real[bodies, 9]  its axes, row-major
        xquat: real[bodies, 4]  its orientation
        xipos: real[bodies, 3]  its center of mass [m]
        subtree_com: real[bodies, 3]  center of mass of its subtree [m]
        cdof: real[nv, 6]  spatial motion of each dof (angular, linear), at the center of mass of its tree
        cdof_dot: real[nv, 6]  its rate
        cvel: real[bodies, 6]  spatial velocity of each body
        body_biases: real[bodies, 6]  spatial acceleration of each body at a = 0
        centers: real[points, 3]  center of each contact point [m]
        places: real[points, 3]  where it touches: center − radius · normal [m]
        velocities: real[points, 3]  [m/s]
        point_biases: real[points, 3]  acceleration at a = 0 [m/s²]
    """),
    # one step: its list, brought to one symmetric system, and the answer
    "System": _fields("""
        pose: Pose  the state
        touching, n, c: word  contacts, their coefficients λ, and the columns u through which those act
        dt: real  length of the step [s]
        k: word  equalities
        bounds: word  soft bounds
        most_bounds: word  room for them
        is_coupled: word  1 where contact forces enter a bound
        is_spread: word  1 where directions, owner, share, first, width and acts are written already
        directed: word  objectives on points along directions
        rows: word  objectives given as rows
        com_count: word  equalities on the center of mass, the first ones
        com_first, com_root: word  its first axis, 0 … 2, and its tree
        tabled_rows, tabled_bounds: word  objectives given as rows, and bounds, from the table: the first ones
        held_count: word  equalities on torques, behind those
        held_first: word  their first dof
        has_guess: word  1 where `guess` counts
        has_turns: word  1 where an objective is on turns of bodies
        friction: real[most_touching]  Coulomb coefficient of each plain contact
        relative: real  above zero: weight of λ as a share of the mean diagonal of B W Bᵀ, W = relative_weight
        terms: word  terms of the list that `write_terms` writes, see step/table.py
        table: word[most_terms, 7]  kind, first dof or body, rows, addresses of target, weight, points, directions
        bounds_needed: word  more bounds than there is room for, written by `write_terms`
        contact_points: word[most_touching]  the touching points
        normals: real[most_touching, 3]  surface normals there
        directions: real[most_n, 3]  columns of V as rows
        owner: word[most_n]  contact of each
        share: real[most_n, 6]  what each coefficient adds to `width` columns from `first` on
        first: word[most_n]  its first column
        width: word[most_n]  its columns
        acts: real[nv, most_c]  generalized force of each column, packed to (nv, c)
        external: real[nv]  generalized force of pushes and pulls
        torque_weight: real[nv]  of the torque of each dof
        torque_target: real[nv]  [N m, N]
        damping: real[nv]  Δt times the damping that torques asked for have on top
        relative_weight: real[nv]  W of `relative`
        turn_weight: real[bodies, 3]  of the angular acceleration of each body; row 0 is the world's
        turn_target: real[bodies, 3]  [rad/s²]
        dof_weight: real[nv]  of single accelerations
        dof_pull: real[nv]  weight times target
        direction_point: word[most_directed]  point of each direction; −1 a place on a body, −2 a body's turning
        direction_body: word[most_directed]  then the body
        direction_place: real[most_directed, 3]  and the place in the world [m]; of turning its value at a = 0
        direction: real[most_directed, 3]  along what it is measured
        direction_weight: real[most_directed]  its weight
        direction_target: real[most_directed]  [m/s²]
        row_a: real[most_rows, nv]  rows on accelerations
        row_u: real[most_rows, most_c]  rows on columns, packed to (rows, c)
        row_weight: real[most_rows]  their weight
        row_target: real[most_rows]  target less the constant part
        weight: real[most_n]  of λ − λ*
        target: real[most_n]  λ* [N]
        warm: flag[most_n]  coefficients expected to be positive
        G: real[most_k, nv]  equalities G a + D u = g
        D: real[most_k, most_c]  packed to (k, c)
        g: real[most_k]  for the center of mass its acceleration, else less the constant part
        is_given: flag[most_bounds]  J and lower are written already
        bound_point: word[most_bounds]  else the point that the bound is on; −1 − dof for a torque
        bound_axis: real[most_bounds, 3]  along what; of a torque its sign
        J: real[most_bounds, nv]  soft bounds J a + X u − s ≥ lower
        X: real[most_bounds, most_c]  packed to (bounds, c)
        lower: real[most_bounds]  lower bounds
        bound_weight: real[most_bounds]  their weights
        taken: flag[most_bounds]  bounds expected to act
        guess: real[nv]  accelerations expected
        form: real[most_form]  the symmetric system, see system.c
        room: real[most_room]  room to work in
        squares: real[bodies, 42]  objectives on the spatial accelerations of bodies: 6 × 6 and 6 numbers each
        a: real[nv]  accelerations
        x: real[most_n]  λ [N]
        slacks: real[most_bounds]  s
        acting: flag[most_bounds]  bounds that act
        torque: real[nv]  what joints and root must supply [N m, N]
        forces: real[most_touching, 3]  of each contact [N]
        residuals: real[5]  primal, dual, gap, small solves, inverse dynamics against M a + bias
    """),
    # the ground, placed, at one time
    "Ground": _fields("""
        kind_of_ground: word  0 plane, 1 steps, 2 grid of control heights
        rows, columns, boxes: word  of the table; boxes on the ground, whose tops are ground too
        numbers: real[12]  place, size and motion; see terrain/ground.py
        table: real[rows, columns]  control heights [m]
        highest, beneath: real  height of the highest top that counts; a point so far below one is beneath its box [m]
        tops: real[boxes, 21]  of each box; see MIDDLE in terrain/shapes.py
    """),
    # the undisturbed character at one instant; see filter/reference.py
    "Reference": _fields("""
        q: real[nq]  coordinates
        v: real[nv]  velocities
        a: real[nv]  accelerations
        orientations: real[bodies, 4]  in the world
        angular_velocities: real[bodies, 3]  [rad/s]
        angular_accelerations: real[bodies, 3]  [rad/s²]
        points: real[points, 3]  places of the contact points [m]
        point_velocities: real[points, 3]  [m/s]
        point_accelerations: real[points, 3]  [m/s²]
        com: real[3]  center of mass [m]
        com_acceleration: real[3]  [m/s²]
        subtree_coms: real[bodies, 3]  center of mass of each body's subtree [m]
        flags: flag[points]  touches
        times_to_contact: real[points]  [s]
        landings: real[points, 3]  where it will touch next, nan where unknown [m]
        progress: real[points]  part of the swing that is over
        times_to_lift: real[points]  [s]
        torque: real[nv]  torque left when the touching points carry what they can
        coefficients: real[points, 4]  contact coefficients
    """),
    # what makes reference frames
    "Actor": _fields("""
        pose: Pose  moved to the reference
        root: word  body on which the figure hangs
        estimates: word  contacts are estimated
        knows_touch: word  but not which points touch, and when others will
        floor: real  height of the reference's own floor [m]
        height_limit: real  points touch below it [m]
        least_speed: real  that are slower than this [m/s]
        travel_share: real  or than this part of the root's speed
        contact_time: real  a landing is known so long before [s]
        regularization: real  of the coefficients, as a share of the mean diagonal
        length: real  moments count over so many meters
        directions: real[points, 4, 3]  friction pyramid of each point above level ground
        needed: real[nv]  force that the motion needs
        wrenches: real[most, 6]  wrench of each coefficient about the root
        H: real[most, most]  least squares of the coefficients
        f: real[most]  the same
        cacc: real[bodies, 6]  spatial accelerations of the bodies
        warm: flag[most]  coefficients that acted in the last frame
        room: real[most_room]  room to work in
    """),
    # limbs that give way to forces, and what of the forces reaches the trunk; see filter/giving.py
    "Limbs": _fields("""
        pose: Pose  the simulated character
        root: word  body on which the figure hangs
        limbs: word  that can give
        hits: word  forces of this step
        is_pushed: word  something reaches the trunk, or a limb gives; written by `give_way`
        dt: real  [s]
        mass: real  of the figure [kg]
        gravity: real  [m/s²]
        scale: real  leg length / 0.82 m
        pivot: real  of the trunk above the center of mass [m]
        pressed: real  how much what stands gives to a load from above or a lift, 0 … 1
        lifted: real  how far a lift has taken the load off what stands, 0 … 1
        balance, spread, onset, halflife, leg_halflife, planting, yield_share, leg_share, fastest: real  of `Giving`
        first_body, last_body: word[limbs]  from the trunk outward
        is_leg, is_arm: flag[limbs]  it may stand; it keeps the balance
        lever: real[limbs]  what it passes on enters so far out on it
        limb_mass, length: real[limbs]  [kg]; from its first joint to its end [m]
        stiffness, damping: real[limbs]  of its spring at small ways [N/m], [N s/m]
        limit: real[limbs]  way at which the spring is twice as stiff [m]
        limb_of: word[bodies]  limb of each body, −1 for none
        inward: word[bodies]  next body inward in the same limb, −1 at its root
        softest: real[bodies]  strength of each joint that gives entirely
        hit_body: word[most_hits]  where each force acts
        hit_place, hit_force: real[most_hits, 3]  [m], [N]
        hit_velocity: real[most_hits, 3]  of the place, written by `hit_velocities` [m/s]
        amounts: real[bodies]  how far each joint gives, 0 … 1
        loose: real[limbs]  how far each limb goes its own way, 0 … 1
        ways, speeds, accelerations: real[limbs, 3]  of the limbs' masses against the trunk [m], [m/s], [m/s²]
        turns: real[limbs, 9]  the limbs' turns by their ways: rotation vectors and their rates
        swing_share, trails: real[bodies]  part of its limb's turn; how it follows the body before, 0 at once [rad/s]
        swings: real[bodies, 9]  turn of each body by the swing of its limb, its rate and that one's rate
        pendulum, trail_damping: real  of a person that falls over [1/s²]; ratio, of bodies that follow
        trunk_force: real[3]  on the trunk, as on a leg of 0.82 m [N]
        trunk_moment: real[3]  about its pivot [N m]
        own_acceleration: real[3]  what the limbs' own accelerations add to that of the center of mass [m/s²]
        strengths: real[bodies]  factor on the strength of each joint, written by `set_targets`
        external: real[nv]  generalized force of all that pushes
        limb_stands: flag[limbs]  a point of it stands
        room: real[most_room]  room to work in
    """),
    # one step of the filter: what is sensed, what is kept from step to step, and the targets
    "Frame": _fields("""
        pose: Pose  the simulated character
        ground: Ground  what is below it
        reference: Reference  the undisturbed character
        giving: Limbs  what gives way to a push
        is_level, is_moving: word  the ground is level and stands still; it moves
        is_planned: word  there is a plan over the ground
        has_home: word  the goal was moved, and will rest at `home`
        is_turned: word  trunk or figure are turned by a push or a slope
        is_stepping: word  a limb steps back
        is_strict: word  nobody holds the root
        is_falling: word  it has lost its balance: the reference's forces say nothing
        has_goal: word  the center of mass is guided
        is_at_goal, is_soft: word  nothing moved the goal; its path is an objective
        has_previous, has_left_out: word  `goal_error` is that of the last step; the goal leaves some bodies out
        limbs: word  limbs that can step
        groups, feet: word  of points that land together; the leading ones of them are feet
        lands: word  places where points land are to be moved
        standing_count: word  points that stand, written by `sense`
        touching_count: word  points in contact, written by `sense`
        limited, limit_count: word  joints with limits; those that are near, written by `set_targets`
        dt: real  [s]
        floor: real  height of the reference's own floor [m]
        late: real  a foot that lands sooner keeps its place [s]
        band: real  points nearer to the ground than this may push [m]
        look_ahead, clearance_time: real  [s]
        pose_speed, pose_stiffness: real  of the servo of the pose [1/s], [1/s²]
        end_speed, end_stiffness: real  of the servo of contact points [1/s], [1/s²]
        contact_time, contact_height: real  points matter so long before they touch [s], and so near to the ground [m]
        limit_margin: real  a limit acts from so near on [rad]
        limit_time: real  a joint of a leg that was hit would take at least this time to its limit at its speed [s]
        return_share: real  from outside a limit, part of the way back in a step
        ground_reach: real  points nearer than this may not go below the ground [m]
        clearance: real  height of a swing over rising ground [m]
        reach: real  points are asked no further than this at once, 0 where they may be [m]
        torque_share, root_share: real  weights of the preset: joint torque; root wrench, with the knob
        pose_share, end_share: real  pose; end effectors
        bent, least_reach: real  how much shorter a leg is early in a swing; part of it that reaches aside at least
        foresight, loosening: real  a foot soon out of reach by this part of the leg is let go [s]
        leaving_time, braking_time, pass_width, pass_cross: real  of swinging feet, see filter/sensing.py [s, s, m, m]
        holding: real  times as much for those that stand while the goal is away
        authority: real  factor on what needs the ground's help, below 1 for a figure that falls
        rise: real  factor on the weight of the root's height where a plan says it and something stands
        hovering: real  part of the root's weight that is left where a motion hovers
        area: real  (leg length / 0.82 m)²
        largest_way, goal_frequency: real  nor is the center of mass there; of its servo, where nobody holds the root
        soft, firm_speed: real  weight of the path while the goal rests; speed of the goal that doubles it [m/s]
        loose_part, soft_frequency: real  how far a limb goes its own way that makes the goal a servo, of this [1/s]
        leaning: real  how much of its share of the slope's turn a body takes
        lying: real  how far the figure lies along the slope, 0 … 1
        shift, home: real[2]  of the goal, and where it will rest [m]
        moved: real[9]  of the root: way, velocity, acceleration
        away: real[2, 2]  place and velocity of the goal, measured from its resting place [m], [m/s]
        sway: real[9]  of the trunk: rotation vector and its rates
        sway_share, lean_share: real[bodies]  part of the sway, of the lean that each body takes
        surface_normals: real[points, 3]  of the ground below each point
        heights: real[points]  of the ground below each point [m]
        axes: real[points, 3, 3]  two tangents and the normal there
        gaps: real[points]  distance to the ground [m]
        ground_velocities: real[points, 3]  [m/s]
        touching: word[points]  points in contact, the leading ones
        normals: real[points, 3]  surface normals there
        base: real[points, 3]  the reference's points, with the plan [m]
        floors: real[points]  floor that each belongs to [m]
        plan_offsets: real[points, 3]  of the plan [m]
        plan_gaps: real[points]  [m]
        plan_climbs: real[points]  least weight
        plan_landings: real[points, 3]  [m]
        plan_rates: real[2, points, 3]  velocities and accelerations of the plan
        stepping: real[3, points, 3]  way, velocity, acceleration of a limb that steps back
        follower_settings: real[4]  frequency of height and lean, floor, reach; see filter/footing.py
        follower: real[13]  how the body follows the ground
        offset: real[points, 3]  of standing points to the reference [m]
        left_with: real[points, 3]  the same where a swing began
        left_at, shift_rates: real[points, 2]  where the reference's were there [m]; of the shift against it [m/s]
        swings_for, bent_share: real[points]  time since then [s]; how firmly it is led around the other foot, 0 … 1
        stood, swung: flag[points]  stood, swung in the last step
        stands: flag[points]  touches in the reference and is near the ground
        held: flag[points]  its goal is at its offset
        leaving: flag[points]  on their way in a step back
        foot_shift: real[points, 2]  of its landing place [m]
        members: word[most_members]  points of all limbs, limb after limb
        ends: word[limbs]  where each limb ends in `members`
        limbs_seen: real[limbs, 4]  touching, standing, least time to lift, mean way home
        limbs_stood: real[limbs]  each touches in the reference for so long, see filter/steps.py [s]
        has_stepped: flag[limbs]  and since then neither lifted nor has the goal gone far
        grouped: word[points]  points foot by foot, then each of the others by itself
        group_ends: word[groups]  where each such group ends in `grouped`
        groups_seen: real[groups, 4]  touches, least time to contact, most of a swing gone, most time to lift
        standing: real[2]  mean offset of the points that stand [m]
        landing: real[points, 2]  where points land against the reference [m]
        landing_ahead: real[2]  by how much more than the goal those land that are not about to [m]
        wanted: real[most_wanted, 2]  places at which the height of the ground is asked for
        wanted_heights: real[most_wanted]  the heights [m]
        lifts: real[points]  how much higher points land for being shifted [m]
        hip, ankle: word[points]  bodies that begin and end the leg of a foot's point
        straight: real[points]  how far apart these may be with the point at its place, ∞ for other points [m]
        point_goal: real[points, 3]  where points should be [m]
        point_goal_v: real[points, 3]  how fast [m/s]
        point_goal_a: real[points, 3]  and accelerated [m/s²]
        shares: real[point_rows]  how much each row of a point matters, 0 … 2
        point_target: real[point_rows]  accelerations of the points along their axes [m/s²]
        turn_target: real[bodies, 3]  angular accelerations of the bodies [rad/s²]
        place_target: real[3]  acceleration of the root [m/s²]
        off: real[3]  way of the root to its place [m]
        turn_weight: real[bodies, 3]  of `turn_target`
        place_weight: real[3]  of `place_target` [kg]
        point_weight: real[point_rows]  of `point_target` [kg]
        torque_target: real[nv]  torque of the reference [N m, N]
        effort: real[nv]  weight of the torque of every dof [1/kg] and [1/(kg m²)]
        coefficient_target: real[points, 4]  contact coefficients of the reference
        joint_strength: real[bodies]  strength of each joint, divides the weight of its torque
        carried: real[bodies]  mass that each joint carries [kg]
        goal_target: real[2]  acceleration of the center of mass [m/s²]
        goal_error, goal_weight: real[2]  of its place [m]; of its path while that is an objective
        left_out: flag[bodies]  bodies that the goal leaves out
        limit_q: word[limited]  first coordinate of each limited joint
        limit_v: word[limited]  its first dof
        is_hinge: flag[limited]  has one angle
        limit_rest: real[limited, 4]  orientation from which the angles count
        limit_axis, limit_bend, limit_side: real[limited, 3]  of twist, bend and side
        limit_below, limit_above: real[limited, 3]  lower and upper limits [rad]
        limit_part: real[limited]  part of the way left to its limit that a joint may go in a step
        angles: real[limited, 3]  twist, bend, side [rad]
        limit_rows: real[most_limits, nv]  rates of the angles that are near a limit
        limit_lower: real[most_limits]  least accelerations, −∞ where no limit is near
        ground_normals: real[points, 1, 3]  of the ground at each point
        ground_lower: real[points]  least accelerations, −∞ where the ground is far
    """),
    # the goal that pushes carry along, and the trunk that they turn; see filter/goal.py
    "MovingGoal": _fields("""
        feet: word  that the figure stands on
        ahead: word  steps in which the goal is looked ahead
        is_guided: word  something keeps the figure up
        returns: word  it goes home again after stepping
        is_moving: word  pushes move it in this step
        has_fallen: word  it lies, or is about to
        flies: word  nothing touches; written by `move_goal`
        rests: word  it is at the reference's own place and does not move
        sways: word  something has turned the trunk
        has_support: word  `support` is that of the last step
        steps, is_returning: word  the figure takes protective steps; it goes home
        falls: word  it fell
        dt, mass, scale: real  [s], of the figure [kg], leg length / 0.82 m
        hovering: real  a reference that is carried by more flies not [N]
        lifted: real  a figure farther above what it stands on is thrown [m]
        frequency: real  of the particle [1/s]
        vertical_frequency: real  [1/s]
        lowest, highest: real  way down and way up at which its spring is twice as stiff [m]
        sinking: real  it sinks by its speed times this [s]
        tipping: real  part of the moment that carries it along [1/m]
        pendulum: real  frequency of a figure that falls over [1/s]
        hold, walking: real  a capture point so far off needs no step, and factor on it for a walk [m], [1]
        longest: real  farther off than this it falls [m]
        far: real  it steps where ankles and hips miss by more than this [m]
        settling, stride, striding: real  it goes home after so long, so far with each step of so long [s], [m], [s]
        drift, lasts: real  a walk goes home no faster; the way home that has begun lasts so long [m/s], [s]
        stands_on, lead, foot_ahead: real  most of `settling` while a foot steps; feet begin later, land ahead by [s]
        bending, ankle: real  landing places follow with this time constant; pressure under a foot goes so far [s], [m]
        reach: real  a capture point so far off when the next foot lands needs no help, 0 where none is looked for [m]
        farthest: real  a foot lands no farther from the other, beyond the clip's own way [m]
        left: real  part of the capture point's way that is left one step later
        swing: real  a foot that stands will swing for so long [s]
        shortest: real  no step is shorter [s]
        soon: real  a figure whose next foot lands later stands [s]
        moving_part: real  part of the way to the next support that is left after a step
        push, twist: real  angular acceleration of the trunk by a moment across, about the vertical [1/(kg m²)]
        spring, damper, lean: real  of the trunk [1/s²], [1/s]; how far it leans into the way home [s²/m]
        limit: real  turn at which the spring is twice as stiff [rad]
        fresh: real  a trunk turned by less when it begins to fly turns with the whole figure at once [rad]
        whole_part: real  else part of the way there that is left after a step
        height: real  of the root against the reference, upward [m]
        height_velocity, height_acceleration: real  [m/s], [m/s²]
        since: real  how long since it last had to be moved outward [s]
        whole: real  how far legs and root turn with the trunk, 1 in flight … 0 on the ground
        shift: real[2]  of the goal against the reference [m]
        velocity, acceleration: real[2]  [m/s], [m/s²]
        ground: real[2]  where the ground has carried the reference's place [m]
        ground_velocity: real[2]  [m/s]
        rest: real[2]  its resting place after a push, measured from its place without one [m]
        rest_rates: real[2, 2]  velocity and acceleration of that on the way home [m/s], [m/s²]
        stance, start: real[2]  the same of feet that step, and of where the way home began [m]
        landing: real[2]  by how much more than the goal the landing place of a swinging foot is moved [m]
        support: real[2]  place of the foot that stands while the other is about to land, against the reference [m]
        turn: real[3, 3]  of the trunk, a rotation vector in world axes, and its rates
    """),
    # legs that may meet; see filter/apart.py
    "Legs": _fields("""
        mirror: Pose  of a state to be moved to the reference
        acts: word  something has moved the figure; else nothing is bounded
        pairs: word  of capsules on two different legs
        capsules: word  of all bodies
        count: word  pairs that may meet, written by `closing_legs`
        dt: real  [s]
        near: real  legs nearer than this are looked at [m]
        braking: real  a leg can slow down by so much [m/s²]
        parting, ease, clear: real  legs in each other part so fast [m/s]; others slow in this [s], so far apart [m]
        fast: real  legs that could only meet with a larger acceleration are left out [m/s²]
        pair: word[pairs, 2]  the two capsules of each
        body: word[capsules]  whose they are
        carrier: word[bodies]  body whose place takes each away from the other leg: the shin, of feet and toes
        starts, ends: real[capsules, 3]  in the body's frame [m]
        radii: real[capsules]  [m]
        lines: real[capsules, 7]  room to work in
        at: word[pairs]
        gaps: real[pairs]
        firsts, seconds, normals: real[pairs, 3]
        holds: flag[bodies]  bodies of legs that stand, written by `closing_legs`, as the next two
        rows: real[pairs, nv]  how the accelerations of the joints part each pair, the leading ones
        lower: real[pairs]  least accelerations at which they part [m/s²], −∞ for the other rows
        rate, bias: real[pairs]  how fast they part [m/s], and would without an acceleration of a dof [m/s²]
    """),
    # the stages of one step of the filter, from sensing to the next pose; see filter/stages.py
    "Stages": _fields("""
        frame: Frame  what is sensed, and the targets
        goal: MovingGoal  what a push moves
        legs: Legs  that may meet
        system: System  the list and its answer
        is_guided: word  the center of mass has a goal
        is_moving, has_moved: word  a limb is on its way back; one was in the last step
        stops_here: word  Python adds to the list before it is solved
        needed: word  so many other limbs must stand while one steps
        was_whole: word  the figure turned with its trunk in the last step
        friction: real  Coulomb coefficient
        fastest: real  a joint faster than this means that the run diverged [rad/s, m/s]
        far, lasting, latest, dragged: real  of a step back, see `SteppingBack` [m], [s], [s], [m]
        pause, rested, urgent_far, urgent_duration: real  the same [s], [s], [m], [s]
        lean: real[3]  of the upright, and heights of the center of mass at which a figure lies and stands [m]
        own_share: real[bodies]  part of the trunk's sway that each body takes by itself
        acted: flag[points, 4]  coefficients that acted in the last step
        off: real[nv]  accelerations of the last step, against the reference's
        com: real[3]  center of mass [m]
        q: real[nq]  coordinates of the next pose
        v: real[nv]  its velocities
    """),
    # many figures, each with what makes its reference
    "Crowd": _fields("""
        count: word  figures
        actors: word[count]  addresses of their blocks "Actor"
        stages: word[count]  and of "Stages"
        reached: word[count]  how far each came, see filter/stages.py
    """),
}
