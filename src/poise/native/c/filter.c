/* One step of the filter: what is sensed, and the targets that follow. Twins: filter/frame.py. */
#include "core.h"

static real height_at(const Frame *f, real x, real y) {
    real along_x, along_y;
    return surface(f->ground, x, y, &along_x, &along_y);
}

/* ---- sensing */

/* Distances of points to the ground, and which are nearer than the band. */
static void near_ground(Frame *f) {
    const Pose *p = f->pose;
    word near = 0;
    for (word i = 0; i < p->points; i++) {
        const real *n = f->surface_normals + 3 * i;
        f->gaps[i] = (p->places[3 * i + 2] + p->point_radii[i] * n[2] - f->heights[i]) * n[2] - p->point_radii[i];
        if (f->gaps[i] < f->band) {
            f->touching[near] = i;
            memcpy(f->normals + 3 * near++, n, 3 * sizeof(real));
        }
    }
    f->touching_count = near;
}

/* Whether a point stands. One that touches sticks where it will be in the next step, and goes with the ground; one that
 * leaves starts from where it was. One that lifts for a moment while its foot stands keeps its place. */
static void stick_point(Frame *f, word i, int foot_stood) {
    const Pose *p = f->pose;
    const flag *flags = f->reference->flags;
    const real *place_of = p->places + 3 * i, *base = f->base + 3 * i;
    real *offset = f->offset + 3 * i, *left_with = f->left_with + 3 * i, lift = f->heights[i] - f->floors[i];
    int stands = flags[i] && f->gaps[i] < f->band;
    if (stands && !f->stood[i] && !(f->held[i] && foot_stood)) {
        for (int c = 0; c < 2; c++) { /* it stops in the next step */
            word at = 3 * i + c;
            real speed = p->velocities[at] - f->ground_velocities[at] - f->reference->point_velocities[at];
            offset[c] = place_of[c] - base[c] + f->dt * speed;
        }
        offset[2] = lift;
    }
    if (!flags[i] && !f->swung[i]) {
        for (int c = 0; c < 2; c++) left_with[c] = f->stood[i] ? offset[c] : place_of[c] - base[c];
        left_with[2] = f->stood[i] ? offset[2] : lift;
        memcpy(f->left_at + 2 * i, base, 2 * sizeof(real));
    }
    if (stands)
        for (int c = 0; c < 2; c++) offset[c] += f->dt * f->ground_velocities[3 * i + c];
    offset[2] = lift;
    int stays = f->held[i] && flags[i] && f->has_home && (f->home[0] != 0.0 || f->home[1] != 0.0);
    f->stands[i] = f->stood[i] = (flag)stands, f->held[i] = (flag)(stands || stays);
    f->swung[i] = !flags[i], f->swings_for[i] = flags[i] ? 0.0 : f->swings_for[i] + f->dt;
}

static void stick(Frame *f) {
    word first = 0;
    for (word g = 0; g < f->groups; g++) {
        int stood = 0;
        for (word k = first; k < f->group_ends[g]; k++) stood |= f->stood[f->grouped[k]];
        for (word k = first; k < f->group_ends[g]; k++) stick_point(f, f->grouped[k], stood);
        first = f->group_ends[g];
    }
}

/* Of each limb: points that touch, of them stand, least time to lift [s], mean way home [m]. */
static void sense_limbs(Frame *f) {
    word first = 0;
    for (word limb = 0; limb < f->limbs; limb++) {
        word touching = 0, standing = 0;
        real least = INFINITY, way = 0;
        for (word k = first; k < f->ends[limb]; k++) {
            word i = f->members[k];
            if (!f->reference->flags[i]) continue;
            touching++;
            standing += f->stands[i] != 0;
            least = smaller(least, f->reference->times_to_lift[i]);
            real x = f->offset[3 * i] - f->home[0], y = f->offset[3 * i + 1] - f->home[1];
            way += sqrt(x * x + y * y);
        }
        first = f->ends[limb];
        real *out = f->limbs_seen + 4 * limb;
        out[0] = (real)touching, out[1] = (real)standing, out[2] = least, out[3] = way / (real)(touching ? touching : 1);
    }
}

/* Of each group of points that land together: whether it touches, least time to contact, most of a swing that is gone,
 * most time to lift; and the mean offset of what stands. */
static void sense_groups(Frame *f) {
    const Reference *r = f->reference;
    word first = 0;
    for (word g = 0; g < f->groups; g++) {
        real *out = f->groups_seen + 4 * g;
        out[0] = out[2] = out[3] = 0, out[1] = INFINITY;
        for (word k = first; k < f->group_ends[g]; k++) {
            word i = f->grouped[k];
            out[0] = larger(out[0], (real)r->flags[i]), out[1] = smaller(out[1], r->times_to_contact[i]);
            out[2] = larger(out[2], r->progress[i]), out[3] = larger(out[3], r->times_to_lift[i]);
        }
        first = f->group_ends[g];
    }
    f->standing_count = 0, f->standing[0] = f->standing[1] = 0;
    for (word i = 0; i < f->pose->points; i++) {
        if (!f->stands[i]) continue;
        f->standing_count++;
        for (int c = 0; c < 2; c++) f->standing[c] += f->offset[3 * i + c];
    }
    for (int c = 0; c < 2; c++) f->standing[c] /= (real)larger(1.0, (real)f->standing_count);
}

/* Where points land against the reference: with the goal, and so much farther; a foot that comes down keeps its place,
 * and the rest of one that stands in part comes down where that has landed. */
static void move_landings(Frame *f) {
    word first = 0;
    for (word g = 0; g < f->groups; g++) {
        word standing = 0;
        real landed[2] = {0, 0};
        for (word k = first; k < f->group_ends[g]; k++) {
            if (!f->stands[f->grouped[k]]) continue;
            standing++;
            add(1.0, f->offset + 3 * f->grouped[k], landed, 2);
        }
        int is_part = standing && standing < f->group_ends[g] - first, is_free = f->groups_seen[4 * g + 1] > f->late;
        for (word k = first; k < f->group_ends[g]; k++)
            for (int c = 0; c < 2; c++) {
                word at = 2 * f->grouped[k] + c;
                if (is_part) f->landing[at] = landed[c] / (real)standing;
                else if (is_free) f->landing[at] = f->shift[c] + f->landing_ahead[c];
                f->foot_shift[at] = f->landing[at] - f->shift[c];
            }
        first = f->group_ends[g];
    }
}

/* Where the ground's height is wanted: landing places, ahead, at the clearance's edge, half way there. */
static void swing_places(Frame *f) {
    const Pose *p = f->pose;
    word count = p->points;
    for (word i = 0; i < count; i++) {
        const real *landing = f->reference->landings + 3 * i, *now = p->places + 3 * i, *v = p->velocities + 3 * i;
        const real *place_of = isfinite(landing[0]) ? landing : now;
        for (int c = 0; c < 2; c++) {
            f->wanted[2 * i + c] = place_of[c] + f->shift[c] + f->foot_shift[2 * i + c];
            f->wanted[2 * (count + i) + c] = now[c] + f->look_ahead * v[c];
            f->wanted[2 * (2 * count + i) + c] = now[c] + f->clearance_time * v[c];
            f->wanted[2 * (3 * count + i) + c] = now[c] + 0.5 * f->clearance_time * v[c];
        }
    }
}

/* Move a `ground.GroundFollower` by the rates of the last step, semi-implicitly, and set those of this one. */
static void follow(Frame *f) {
    real w = f->follower_settings[0], lean = f->follower_settings[1], floor_ = f->follower_settings[2];
    real reach = f->follower_settings[3], *s = f->follower, heights[15], means[3] = {0, 0, 0};
    const real *root = f->reference->q, *v = f->reference->v;
    s[1] += f->dt * s[2];
    s[0] += f->dt * s[1];
    for (int e = 6; e < 9; e++) s[e] += f->dt * s[3 + e];
    /* crosses around three places: ahead and shifted with the goal, ahead, and now but shifted */
    for (int k = 0; k < 15; k++) {
        int is_ahead = k < 10, is_shifted = k < 5 || k >= 10, arm = k % 5;
        real at[2];
        for (int c = 0; c < 2; c++)
            at[c] = root[c] + (is_ahead ? 2.0 / w * v[c] : 0.0) + (is_shifted ? f->shift[c] : 0.0);
        at[0] += arm == 1 ? reach : arm == 2 ? -reach : 0.0;
        at[1] += arm == 3 ? reach : arm == 4 ? -reach : 0.0;
        heights[k] = height_at(f, at[0], at[1]);
        means[k / 5] += (heights[k] - floor_) / 5.0;
    }
    real slope_x = (heights[1] - heights[2]) / (2.0 * reach), slope_y = (heights[3] - heights[4]) / (2.0 * reach);
    if (s[12] == 0.0 && !f->is_planned) s[0] = means[2], s[1] = slope_x * v[0] + slope_y * v[1];
    s[12] = 1.0;
    /* with the look-ahead a steady ramp is followed exactly; a plan knows the ground, but not below a shifted goal */
    real target = f->is_planned ? means[0] - means[1] : means[0];
    s[2] = w * w * (target - s[0]) - 2.0 * w * s[1];
    /* the axis z × gradient tips up towards uphill */
    real size = sqrt(slope_x * slope_x + slope_y * slope_y), tip = size > 1e-9 ? atan(size) / size : 0.0;
    s[9] = lean * (-slope_y * tip - s[6]);
    s[10] = lean * (slope_x * tip - s[7]);
    s[11] = -lean * s[8];
}

API word sense(Frame *f) {
    Pose *p = f->pose;
    if (place(p) >= 0) return 0;
    if (!f->is_level) {
        sample(p->points, 3, f->ground, p->centers, f->heights, f->surface_normals);
        frames(p->points, f->surface_normals, f->axes);
    }
    if (f->is_moving) ground_velocities(p->points, 3, f->ground, p->centers, f->ground_velocities);
    touch(p->points, p, f->surface_normals);
    mass_and_bias(p);
    near_ground(f);
    for (word i = 0; i < p->points; i++) {
        f->floors[i] = f->floor + (f->is_planned ? f->plan_offsets[3 * i + 2] : 0.0);
        for (int c = 0; c < 3; c++)
            f->base[3 * i + c] = f->reference->points[3 * i + c] + (f->is_planned ? f->plan_offsets[3 * i + c] : 0.0);
    }
    stick(f);
    if (f->has_home) sense_limbs(f);
    sense_groups(f);
    if (!f->is_level && !f->is_planned) swing_places(f);
    if (!f->is_level) follow(f);
    if (!f->giving->hits) give_way(f);
    return 1;
}

/* ---- targets */

static void turned(const real *q, const real *x, real *out) {
    real t[3], u[3];
    cross(q + 1, x, t);
    for (int c = 0; c < 3; c++) t[c] *= 2.0;
    cross(q + 1, t, u);
    for (int c = 0; c < 3; c++) out[c] = x[c] + q[0] * t[c] + u[c];
}

static void multiply(const real *p, const real *q, real *out) {
    out[0] = p[0] * q[0] - p[1] * q[1] - p[2] * q[2] - p[3] * q[3];
    out[1] = p[0] * q[1] + p[1] * q[0] + p[2] * q[3] - p[3] * q[2];
    out[2] = p[0] * q[2] - p[1] * q[3] + p[2] * q[0] + p[3] * q[1];
    out[3] = p[0] * q[3] + p[1] * q[2] - p[2] * q[1] + p[3] * q[0];
}

/* Angular accelerations α* + speed (ω* − ω) + stiffness Log(R* Rᵀ) of the bodies, each turned by its share of the
 * trunk's sway and of the lean along the slope. */
static void turn_targets(Frame *f) {
    const Pose *p = f->pose;
    const Reference *r = f->reference;
    for (word b = 1; b < p->bodies; b++) {
        real target[4], speed[3], rate[3], d[4];
        const real *own = p->xquat + 4 * b, conjugate[4] = {own[0], -own[1], -own[2], -own[3]};
        memcpy(target, r->orientations + 4 * b, sizeof target);
        memcpy(speed, r->angular_velocities + 3 * b, sizeof speed);
        memcpy(rate, r->angular_accelerations + 3 * b, sizeof rate);
        const Limbs *l = f->giving;
        real own_turn[9] = {0};
        if (l->is_pushed) memcpy(own_turn, l->swings + 9 * b, sizeof own_turn);
        if (f->is_turned || l->is_pushed) {
            real sway = f->sway_share[b], lean = f->leaning * f->lean_share[b] - f->lying, q[4], angle = 0;
            for (int c = 0; c < 3; c++) {
                q[1 + c] = sway * f->sway[c] + lean * f->follower[6 + c] + own_turn[c];
                angle += q[1 + c] * q[1 + c];
            }
            angle = sqrt(angle);
            real scale = angle > 1e-9 ? sin(0.5 * angle) / angle : 0.5;
            q[0] = cos(0.5 * angle);
            for (int c = 0; c < 3; c++) q[1 + c] *= scale;
            multiply(q, r->orientations + 4 * b, target);
            turned(q, r->angular_velocities + 3 * b, speed);
            turned(q, r->angular_accelerations + 3 * b, rate);
            for (int c = 0; c < 3; c++) {
                speed[c] += sway * f->sway[3 + c] + lean * f->follower[9 + c] + own_turn[3 + c];
                rate[c] += sway * f->sway[6 + c] + own_turn[6 + c];
            }
        }
        multiply(target, conjugate, d);
        real sine = sqrt(dot(d + 1, d + 1, 3)), scale = sine > 1e-9 ? 2.0 * atan2(sine, fabs(d[0])) / sine : 2.0;
        if (d[0] < 0.0) scale = -scale;
        for (int c = 0; c < 3; c++)
            f->turn_target[3 * b + c] = rate[c] + f->pose_speed * (speed[c] - p->cvel[6 * b + c]) +
                                        f->pose_stiffness * (scale * d[1 + c]);
    }
}

/* Horizontal acceleration that puts the center of mass on the goal in the next step, in error form: a* + (2 e_k −
 * e_{k−1}) / Δt². Where nobody holds the root, while a limb swings freely, and as an objective, it is a critically damped
 * servo; in the first case to where the reference is against its feet. As an objective it weighs the more the faster the
 * goal goes, and is asked for the sooner. */
static void goal_target(Frame *f) {
    const Pose *p = f->pose;
    const Reference *r = f->reference;
    const Limbs *l = f->giving;
    real total = p->subtree_masses[l->root], loose = 0, com[2], limbs[2] = {0, 0}, error[2], off[2], dt = f->dt;
    for (int c = 0; c < 2; c++) com[c] = total * p->subtree_com[3 * l->root + c];
    for (word b = 0; f->has_left_out && b < p->bodies; b++) {
        if (!f->left_out[b]) continue;
        for (int c = 0; c < 2; c++) com[c] -= p->body_masses[b] * p->xipos[3 * b + c];
        total -= p->body_masses[b];
    }
    int are_pushed = l->is_pushed && !f->is_at_goal;
    for (word k = 0; k < l->limbs; k++) {
        const real *here = p->subtree_com + 3 * l->first_body[k], *there = r->subtree_coms + 3 * l->first_body[k];
        real share = l->limb_mass[k] / l->mass;
        loose = larger(loose, l->loose[k]);
        for (int c = 0; are_pushed && c < 2; c++)
            limbs[c] += share * (l->loose[k] * (here[c] - there[c] - f->moved[c]) + (l->is_leg[k] ? 0.0 : 1.0 - l->loose[k]) * l->ways[3 * k + c]);
    }
    for (int c = 0; c < 2; c++) {
        error[c] = off[c] = r->com[c] + f->moved[c] + limbs[c] - com[c] / total;
        if (f->is_strict && f->standing_count) off[c] += f->standing[c] - f->moved[c];
    }
    real ratio = (f->moved[3] * f->moved[3] + f->moved[4] * f->moved[4]) / (f->firm_speed * f->firm_speed), firm = 1.0 + ratio * ratio;
    real part = smaller(1.0, larger(f->is_soft / firm, f->loose_part * loose)), w = f->soft_frequency, shortened = 1.0;
    real here = (1.0 - part) / (dt * dt) + part * w * w, rate = (1.0 - part) / dt + part * 2.0 * w;
    if (f->is_strict) {
        w = f->goal_frequency;
        shortened = smaller(1.0, f->largest_way / larger(sqrt(off[0] * off[0] + off[1] * off[1]), 1e-12));
        here = w * w * shortened, rate = 2.0 * w;
    }
    for (int c = 0; c < 2; c++) {
        real change = f->has_previous ? (error[c] - f->goal_error[c]) / dt : 0.0;
        real own = are_pushed && !f->is_strict ? l->own_acceleration[c] : 0.0;
        f->goal_target[c] = r->com_acceleration[c] + f->moved[6 + c] + own + here * off[c] + rate * change;
        f->goal_error[c] = error[c];
    }
    f->goal_weight[0] = f->goal_weight[1] = f->soft * firm;
    f->has_previous = 1;
}

/* Where points should be: held ones at their offset, swinging ones on the way to their landing. Above other ground a
 * point stays above what is below and just ahead of it, no higher above that than the reference is above its floor. */
static void foothold_targets(Frame *f) {
    const Reference *r = f->reference;
    word count = f->pose->points;
    for (word i = 0; i < count; i++) {
        const real *own = r->points + 3 * i;
        real shift[3], part = r->progress[i] * r->progress[i] * (3.0 - 2.0 * r->progress[i]);
        if (f->held[i]) {
            for (int c = 0; c < 3; c++) f->point_goal[3 * i + c] = own[c] + f->offset[3 * i + c];
            continue;
        }
        int is_known = isfinite(r->landings[3 * i]);
        for (int c = 0; c < 2; c++) {
            real landing = f->moved[c] + f->foot_shift[2 * i + c];
            shift[c] = is_known ? (1.0 - part) * f->left_with[3 * i + c] + part * landing : landing;
        }
        if (f->is_level)
            shift[2] = is_known ? (1.0 - part) * f->left_with[3 * i + 2] : 0.0;
        else {
            const real *ground = f->wanted_heights;
            real lift = f->heights[i] - f->floor, height = own[2] - f->floor;
            if (is_known) shift[2] = (1.0 - part) * f->left_with[3 * i + 2] + part * (ground[i] - f->floor);
            else shift[2] = larger(lift, ground[count + i] - f->floor);
            real highest = larger(larger(ground[2 * count + i], ground[3 * count + i]) - f->floor, lift);
            shift[2] = larger(shift[2], highest + smaller(height, f->clearance) - height);
        }
        for (int c = 0; c < 3; c++) f->point_goal[3 * i + c] = own[c] + shift[c];
    }
}

/* The same where there is a plan: the plan, with what differs from it fading in a swing; no point goes below ground. */
static void planned_targets(Frame *f) {
    const Reference *r = f->reference;
    for (word i = 0; i < f->pose->points; i++) {
        const real *base = f->base + 3 * i, *landing = f->plan_landings + 3 * i, *left_with = f->left_with + 3 * i;
        int lands = isfinite(landing[0]);
        real x = lands ? landing[0] : 0.0, y = lands ? landing[1] : 0.0;
        f->lifts[i] = height_at(f, x + f->moved[0], y + f->moved[1]) - height_at(f, x, y);
        if (f->held[i]) {
            for (int c = 0; c < 3; c++) f->point_goal[3 * i + c] = base[c] + f->offset[3 * i + c];
            continue;
        }
        real part = isfinite(r->landings[3 * i]) ? r->progress[i] * r->progress[i] * (3.0 - 2.0 * r->progress[i]) : 1.0;
        for (int c = 0; c < 2; c++)
            f->point_goal[3 * i + c] = base[c] + ((1.0 - part) * left_with[c] + part * f->moved[c]);
        real goal = base[2] + ((1.0 - part) * left_with[2] + part * f->lifts[i]), height = base[2] - f->floors[i];
        f->point_goal[3 * i + 2] = larger(goal, f->heights[i] + smaller(height, f->clearance));
    }
}

/* Accelerations of the points along their axes, axis · (a* + speed (v* − v) + stiffness (p* − p)), and how much each
 * matters: along the tangents 1 − t / t_m, along the normal that and low · (1 − h / h_m); t is the time to contact, h
 * the distance to the ground. Source: [Levine2012]_ 2.5. Deviates by `low`: 1 where the reference is below h_m, 0 from
 * 2 h_m up, so that a fallen hand is not held down. */
/* Bring a goal into reach; returns how firmly the point is held, see the twin. */
static real keep_in_reach(Frame *f, word i) {
    const Pose *p = f->pose;
    real moved[3], *goal = f->point_goal + 3 * i, *speed = f->point_goal_v + 3 * i, v[3], unused[3], rate = 0;
    real s = f->reference->progress[i], left = 1.0 - s, reach = f->straight[i];
    int stands = f->held[i] && !(f->is_stepping && f->leaving[i]);
    if (reach == INFINITY) return 1.0;
    for (int c = 0; c < 3; c++)
        moved[c] = p->xpos[3 * f->ankle[i] + c] + goal[c] - p->places[3 * i + c] - p->xpos[3 * f->hip[i] + c];
    real far = larger(sqrt(dot(moved, moved, stands ? 3 : 2)), 1e-12);
    if (!stands) {
        reach *= 1.0 - f->bent * s * left * left * left;
        real least = f->least_reach * reach;
        reach = sqrt(larger(reach * reach - moved[2] * moved[2], least * least));
    }
    real excess = larger(0.0, 1.0 - reach / far);
    for (int c = 0; c < (stands ? 3 : 2); c++) goal[c] -= excess * moved[c];
    point_of_body(p, f->hip[i], p->xpos + 3 * f->hip[i], p->body_biases, v, unused);
    for (int c = 0; c < (stands ? 3 : 2); c++) rate += (speed[c] - v[c]) * moved[c] / far;
    if (!stands) { /* its offset goes outward no faster than the leg has length left */
        real most = larger(0.0, reach - far) / f->braking_time, own = dot(f->shift_rates + 2 * i, moved, 2) / far;
        real over = larger(0.0, smaller(rate - most, own));
        for (int c = 0; c < 2; c++) speed[c] -= over * moved[c] / far;
        return 1.0;
    }
    rate = larger(0.0, rate);
    real beyond = (far + f->foresight * rate - reach) / (f->loosening * reach), loose = smaller(1.0, larger(0.0, beyond));
    for (int c = 0; c < 3; c++) speed[c] -= loose * rate * moved[c] / far;
    return 1.0 - loose;
}

static real eased(real s) {
    s = smaller(larger(s, 0.0), 1.0);
    return s * s * (3.0 - 2.0 * s);
}

static real eased_rate(real s) { return s > 0.0 && s < 1.0 ? 6.0 * s * (1.0 - s) : 0.0; }

/* Where a point lands: the reference's place, or that of the plan; not finite where it is not known. */
static const real *landing_of(const Frame *f, word i) {
    return (f->is_planned ? f->plan_landings : f->reference->landings) + 3 * i;
}

/* How fast swinging points come from the offset they left with to that of their landing. */
static void shift_rates(Frame *f) {
    const Reference *r = f->reference;
    word count = f->pose->points;
    fill(0, f->shift_rates, 2 * count);
    for (word i = 0; !f->is_at_goal && i < count; i++) {
        real s = r->progress[i];
        if (f->held[i] || !isfinite(landing_of(f, i)[0])) continue;
        real rate = eased_rate(s) * (1.0 - s) / larger(r->times_to_contact[i], f->dt);
        for (int c = 0; c < 2; c++) {
            real lands = f->moved[c] + (f->is_planned ? 0.0 : f->foot_shift[2 * i + c]);
            f->shift_rates[2 * i + c] = rate * (lands - f->left_with[3 * i + c]);
        }
    }
}

/* Mean horizontal place of the points of a foot. */
static void middle(const Frame *f, word foot, const real *places, word stride, real *out) {
    word first = foot ? f->group_ends[foot - 1] : 0, last = f->group_ends[foot];
    out[0] = out[1] = 0;
    for (word k = first; k < last; k++)
        for (int c = 0; c < 2; c++) out[c] += places[stride * f->grouped[k] + c] / (real)(last - first);
}

/* Bend the way of one foot around the other. */
static void bend_way(Frame *f, word foot) {
    const Reference *r = f->reference;
    word first = foot ? f->group_ends[foot - 1] : 0, last = f->group_ends[foot];
    real since = INFINITY, width = f->pass_width, from[2], to[2], left[2], goal[2], shift[2], own[2], here[2], speed[2], v[2];
    for (word k = first; k < last; k++) {
        word i = f->grouped[k];
        if (r->flags[i] || f->held[i] || !isfinite(landing_of(f, i)[0])) return;
        since = smaller(since, f->swings_for[i]);
    }
    middle(f, foot, f->left_at, 2, from), middle(f, foot, landing_of(f, 0), 3, to);
    middle(f, foot, f->left_with, 3, left), middle(f, foot, f->foot_shift, 2, shift);
    middle(f, foot, f->point_goal, 3, goal), middle(f, foot, r->point_velocities, 3, v);
    middle(f, foot, f->shift_rates, 2, speed);
    middle(f, 1 - foot, f->base, 3, own), middle(f, 1 - foot, f->pose->places, 3, here);
    real u[2] = {to[0] - from[0], to[1] - from[1]}, length = larger(sqrt(dot(u, u, 2)), 1e-9);
    for (int c = 0; c < 2; c++) {
        u[c] /= length;
        left[c] += from[c] - here[c], goal[c] -= here[c], own[c] = from[c] - own[c], v[c] += speed[c];
        to[c] += f->moved[c] + (f->is_planned ? 0.0 : shift[c]) - here[c];
    }
    real n[2] = {-u[1], u[0]}, clear = dot(n, own, 2), side = clear < 0.0 ? -1.0 : 1.0;
    real behind = -dot(u, left, 2), ahead = dot(u, to, 2), whole = behind + ahead, way = behind + dot(u, goal, 2);
    if (whole <= width) return;
    real start = side * dot(n, left, 2), end = side * dot(n, to, 2);
    real crosses = larger(0.0, smaller(-f->pass_cross, side * clear) - end), passed = larger(behind, 0.0);
    real lacks = larger(0.0, smaller(width, side * clear) - start - smaller(passed / whole, 1.0) * (end - start));
    lacks *= eased(behind / width) * eased(ahead / width), passed *= eased(ahead / width);
    real rise = behind > 0.0 ? eased(way / behind) : 1.0, rises = behind > 0.0 ? eased_rate(way / behind) / behind : 0.0;
    real gone = eased((way - passed) / (whole - passed));
    real goes = eased_rate((way - passed) / (whole - passed)) / (whole - passed);
    real in = eased(since / f->leaving_time) * eased(whole / width - 1.0);
    real bend = lacks * rise * (1.0 - gone) + crosses * gone;
    real rate = (lacks * (rises * (1.0 - gone) - rise * goes) + crosses * goes) * dot(u, v, 2);
    for (word k = first; k < last; k++) {
        word i = f->grouped[k];
        for (int c = 0; c < 2; c++) {
            f->point_goal[3 * i + c] += in * side * bend * n[c];
            f->shift_rates[2 * i + c] += in * side * rate * n[c];
        }
        f->bent_share[i] = smaller(1.0, 2.0 * in * bend / width);
    }
}

/* Lead swinging feet around the one that stands; why, the twin in `filter/swinging.py` says. */
static void pass_by(Frame *f) {
    fill(0, f->bent_share, f->pose->points);
    shift_rates(f);
    if (f->feet != 2 || f->is_at_goal) return;
    for (word foot = 0; foot < 2; foot++) {
        word other = 1 - foot, stands = 0;
        for (word k = other ? f->group_ends[other - 1] : 0; k < f->group_ends[other]; k++) stands |= f->stands[f->grouped[k]];
        if (stands) bend_way(f, foot);
    }
}

static void point_targets(Frame *f) {
    const Pose *p = f->pose;
    const Reference *r = f->reference;
    pass_by(f);
    for (word i = 0; i < p->points; i++) {
        real asked[3], way = 0, firm = 1.0, *goal = f->point_goal + 3 * i;
        for (int c = 0; c < 3; c++) {
            word at = 3 * i + c;
            f->point_goal_v[at] = r->point_velocities[at] + (c < 2 ? f->shift_rates[2 * i + c] : 0.0);
            f->point_goal_a[at] = r->point_accelerations[at];
            if (f->is_planned) {
                f->point_goal_v[at] += f->plan_rates[at];
                f->point_goal_a[at] += f->plan_rates[3 * p->points + at];
            }
            if (f->stands[i]) f->point_goal_v[at] += f->ground_velocities[at];
            if (f->is_stepping) {
                goal[c] += f->stepping[at];
                f->point_goal_v[at] += f->stepping[3 * p->points + at];
                f->point_goal_a[at] += f->stepping[6 * p->points + at];
            }
        }
        if (f->has_home && (f->home[0] != 0.0 || f->home[1] != 0.0)) firm = keep_in_reach(f, i);
        for (int c = 0; c < 3; c++) way += (goal[c] - p->places[3 * i + c]) * (goal[c] - p->places[3 * i + c]);
        if (f->reach > 0.0) {
            real part = smaller(1.0, f->reach / larger(sqrt(way), 1e-12));
            for (int c = 0; c < 3; c++) goal[c] = p->places[3 * i + c] + part * (goal[c] - p->places[3 * i + c]);
        }
        real height = r->points[3 * i + 2] - f->floor, gap = f->gaps[i];
        if (f->is_planned) height = smaller(height, f->plan_gaps[i]), gap = smaller(gap, f->plan_gaps[i]);
        real tangent = smaller(larger(1.0 - r->times_to_contact[i] / f->contact_time, 0.0), 1.0);
        real low = smaller(larger(2.0 - height / f->contact_height, 0.0), 1.0);
        real normal = tangent + low * (1.0 - smaller(larger(gap / f->contact_height, 0.0), 1.0));
        if (f->is_planned) tangent = larger(tangent, f->plan_climbs[i]), normal = larger(normal, f->plan_climbs[i]);
        if (!f->is_at_goal) { /* where no landing is known, the goal does not start at where the foot left */
            real leaves = isfinite(r->landings[3 * i]) ? 1.0 - f->swings_for[i] / f->leaving_time : 0.0;
            tangent = larger(tangent, larger(leaves, f->bent_share[i]));
        }
        word limb = f->giving->limb_of[p->point_body[i]];
        if (limb >= 0 && !f->held[i]) { /* a foot that is kicked goes where the kick takes it */
            real kept = 1.0 - f->giving->loose[limb];
            tangent *= kept * kept * kept * kept, normal *= kept * kept * kept * kept;
        }
        if (r->flags[i]) normal *= 1.0 - f->giving->lifted; /* a lifted figure is not held down by its feet */
        for (int c = 0; c < 3; c++) {
            word at = 3 * i + c;
            asked[c] = f->point_goal_a[at] + f->end_speed * (f->point_goal_v[at] - p->velocities[at]) +
                      f->end_stiffness * (goal[c] - p->places[at]);
        }
        tangent *= firm, normal *= firm;
        for (int e = 0; e < 3; e++) {
            f->shares[3 * i + e] = e == 2 ? normal : tangent;
            f->point_target[3 * i + e] = dot(f->axes + 9 * i + 3 * e, asked, 3);
        }
    }
}

/* ---- bounds */

/* Twist, bend and side of rest⁻¹ · q, split as swing · twist. */
static void ball_angles(const real *q, const real *rest, const real *axis, const real *bend, const real *side,
                        real *out) {
    real d[4], inverse[4] = {rest[0], -rest[1], -rest[2], -rest[3]};
    multiply(inverse, q, d);
    if (d[0] < 0.0)
        for (int e = 0; e < 4; e++) d[e] = -d[e];
    real t = dot(d + 1, axis, 3), length = sqrt(d[0] * d[0] + t * t);
    real twist[4] = {1, 0, 0, 0}, swing[4]; /* the twist turned back */
    if (!(length < 1e-12)) {
        twist[0] = d[0] / length;
        for (int e = 0; e < 3; e++) twist[1 + e] = -t / length * axis[e];
    }
    out[0] = 2.0 * atan2(length < 1e-12 ? 0.0 : t / length, twist[0]);
    multiply(d, twist, swing);
    real sine = sqrt(dot(swing + 1, swing + 1, 3)), scale = sine > 1e-9 ? 2.0 * atan2(sine, swing[0]) / sine : 2.0;
    out[1] = scale * dot(swing + 1, bend, 3);
    out[2] = scale * dot(swing + 1, side, 3);
}

API void limit_angles(word nq, word n, const real *q, const word *limit_q, const flag *is_hinge, const real *rest,
                      const real *axis, const real *bend, const real *side, real *out) {
    (void)nq;
    for (word i = 0; i < n; i++) {
        const real *own = q + limit_q[i];
        if (is_hinge[i]) out[3 * i] = own[0], out[3 * i + 1] = out[3 * i + 2] = 0;
        else ball_angles(own, rest + 4 * i, axis + 3 * i, bend + 3 * i, side + 3 * i, out + 3 * i);
    }
}

/* Rates of (twist, bend, side) per unit of turn along the unit vector e in the joint's own axes, by central differences
 * of 1e-6 rad. */
typedef struct {
    const real *rest, *axis, *bend, *side;
} Ball;

static void ball_rate(Ball ball, const real *q, const real *e, real *out) {
    real half = 0.5e-6, ends[2][3], turn[4] = {0, e[0], e[1], e[2]}, d[4], at[4];
    multiply(q, turn, d);
    for (int k = 0; k < 2; k++) {
        for (int c = 0; c < 4; c++) at[c] = q[c] + (k ? -half : half) * d[c];
        ball_angles(at, ball.rest, ball.axis, ball.bend, ball.side, ends[k]);
    }
    for (int r = 0; r < 3; r++) out[r] = (ends[0][r] - ends[1][r]) / (4.0 * half);
}

/* Rows and lower bounds of the angles nearer to a limit than the margin, as accelerations. For an angle θ with rates
 * θ̇ = E ω: sign (θ + dt E v + dt² E a) ≥ the limit, widened to the reference's own next angle; a joint goes no more
 * than its part of the way there in a step, and from outside it comes back by a share of the way. */
API word limit_rows(word nq, word nv, word n, word most, const real *q, const real *v, const real *reference_q,
                    const real *reference_v, const real *reference_a, real dt, real margin, real share,
                    const word *limit_q, const word *limit_v, const flag *is_hinge, const real *rest, const real *axis,
                    const real *bend, const real *side, const real *below, const real *above, const real *parts,
                    real *angles, real *rows, real *bounds) {
    word m = 0;
    if (most < 3 * n) return 0;
    limit_angles(nq, n, q, limit_q, is_hinge, rest, axis, bend, side, angles);
    for (word i = 0; i < n; i++) {
        const real *angle = angles + 3 * i, *lower = below + 3 * i, *upper = above + 3 * i;
        const Ball ball = {rest + 4 * i, axis + 3 * i, bend + 3 * i, side + 3 * i};
        int is_near = 0;
        for (int c = 0; c < 3; c++) is_near |= angle[c] < lower[c] + margin || angle[c] > upper[c] - margin;
        if (!is_near) continue;
        word k = limit_q[i], d = limit_v[i], width = is_hinge[i] ? 1 : 3;
        real rates[3][3] = {{0}}, planned[3] = {0, 0, 0}, step[3];
        for (word e = 0; e < width; e++) step[e] = dt * reference_v[d + e] + dt * dt * reference_a[d + e];
        if (width == 1) {
            rates[0][0] = 1.0;
            planned[0] = reference_q[k] + step[0];
        } else {
            real size = larger(sqrt(dot(step, step, 3)), 1e-30), rate[3];
            ball_angles(reference_q + k, ball.rest, ball.axis, ball.bend, ball.side, planned);
            for (int c = 0; c < 3; c++) { /* along the joint's own axes */
                real e[3] = {c == 0, c == 1, c == 2};
                ball_rate(ball, q + k, e, rate);
                for (int r = 0; r < 3; r++) rates[r][c] = rate[r];
            }
            for (int c = 0; c < 3; c++) step[c] /= size; /* and along the reference's step */
            ball_rate(ball, reference_q + k, step, rate);
            for (int r = 0; r < 3; r++) planned[r] += size * rate[r];
        }
        for (int c = 0; c < 3; c++) {
            int is_low = angle[c] < lower[c] + margin;
            if (!(is_low || angle[c] > upper[c] - margin)) continue;
            real sign = is_low ? 1.0 : -1.0, bound = is_low ? lower[c] : -upper[c], speed = 0, *row = rows + m * nv;
            fill(0.0, row, nv);
            for (word e = 0; e < width; e++) {
                speed += rates[c][e] * v[d + e];
                row[d + e] = sign * rates[c][e];
            }
            real now = sign * angle[c], back = now + (now >= bound ? parts[i] : share) * (bound - now);
            real least = smaller(back, sign * planned[c] - 1e-9);
            bounds[m++] = (least - now - dt * sign * speed) / (dt * dt);
        }
    }
    return m;
}

/* Points nearer to the ground than `ground_reach` next step may not be below it then, nor deeper than the reference
 * itself goes; one that is below comes up by a share of the way. */
static void ground_bounds(Frame *f) {
    const Pose *p = f->pose;
    const Reference *r = f->reference;
    for (word i = 0; i < p->points; i++) {
        real *normal = f->axes + 9 * i + 6;
        real speed = dot(normal, p->velocities + 3 * i, 3) - dot(normal, f->ground_velocities + 3 * i, 3);
        real ahead = f->gaps[i] + f->dt * speed;
        memcpy(f->ground_normals + 3 * i, normal, 3 * sizeof(real));
        f->ground_lower[i] = -INFINITY;
        if (!(ahead < f->ground_reach)) continue;
        real planned = r->points[3 * i + 2] - f->floor + f->dt * r->point_velocities[3 * i + 2] +
                       f->dt * f->dt * r->point_accelerations[3 * i + 2];
        real least = smaller(0.0, planned - 1e-9 * f->giving->scale);
        if (f->gaps[i] < least) least = smaller((1.0 - f->return_share) * f->gaps[i], least);
        f->ground_lower[i] = (least - ahead) / (f->dt * f->dt);
    }
}

/* Weights: torques by the mass that each joint carries (its subtree, or for the legs a figure stands on, the rest of it)
 * times its strength; turns and places by the mass that hangs on them. */
static void weigh(Frame *f) {
    const Pose *p = f->pose;
    const Reference *r = f->reference;
    const Limbs *l = f->giving;
    real total = p->subtree_masses[l->root], *carried = f->carried, held = 1.0;
    int stands = 0, is_soft = l->is_pushed && !f->is_falling;
    memcpy(carried, p->subtree_masses, (size_t)p->bodies * sizeof(real));
    for (word i = 0; i < p->points; i++) {
        if (!f->stands[i] || (f->is_stepping && f->leaving[i])) continue;
        stands = 1;
        for (word b = p->point_body[i]; p->parents[b] != 0; b = p->parents[b])
            carried[b] = larger(carried[b], total - p->subtree_masses[b]);
    }
    /* where nothing touches and the root carries the reference, it may bring the figure back: no ground will */
    if (!f->touching_count && !f->is_falling)
        held = 1.0 - (1.0 - f->hovering) * smaller(larger(r->torque[2] / (l->gravity * total), 0.0), 1.0);
    for (word j = 0; j < p->nv; j++) {
        word b = p->dof_body[j];
        f->effort[j] = f->torque_share / (f->area * carried[b] * f->joint_strength[b]);
        if (j < 6) f->effort[j] = f->root_share / total * (j < 3 ? 1.0 : 1.0 / f->area) * (j < 2 ? 1.0 : held);
        if (is_soft) f->effort[j] /= l->strengths[b];
        f->torque_target[j] = f->is_falling ? 0.0 : r->torque[j];
    }
    for (word b = 1; b < p->bodies; b++) {
        real own = f->pose_share * f->area * p->subtree_masses[b] * smaller(f->joint_strength[b], 1.0);
        fill(is_soft ? own * l->strengths[b] : own, f->turn_weight + 3 * b, 3);
    }
    real rise = !f->is_falling && stands && (f->is_planned || l->pressed != 0.0) ? f->rise : 1.0;
    for (int e = 0; e < 3; e++) f->place_weight[e] = f->authority * f->pose_share * total * (e == 2 ? rise : 1.0);
    real loaded = 1.0 - l->lifted, harder = f->is_at_goal ? 1.0 : 1.0 + loaded * loaded * loaded * (f->holding - 1.0);
    for (word i = 0; i < 3 * p->points; i++) {
        int is_held = f->stands[i / 3] && !(f->is_stepping && f->leaving[i / 3]);
        f->point_weight[i] = f->authority * f->end_share * total * f->shares[i] * (is_held ? harder : 1.0);
    }
    if (f->is_falling) fill(0.0, f->coefficient_target, 4 * p->points);
    else memcpy(f->coefficient_target, r->coefficients, 4 * (size_t)p->points * sizeof(real));
}

API void set_targets(Frame *f) {
    const Pose *p = f->pose;
    const Reference *r = f->reference;
    if (f->lands) move_landings(f);
    for (int e = 0; e < 3; e++) f->moved[2 + 3 * e] += f->follower[e] + f->follower[3 + e];
    turn_targets(f);
    for (int c = 0; c < 3; c++) {
        f->off[c] = r->q[c] + f->moved[c] - p->q[c];
        f->place_target[c] = r->a[c] + f->moved[6 + c] + f->pose_speed * (r->v[c] + f->moved[3 + c] - p->v[c]) +
                             f->pose_stiffness * f->off[c];
    }
    if (f->is_planned) planned_targets(f);
    else {
        for (word k = 0; !f->is_level && k < 4 * p->points; k++)
            f->wanted_heights[k] = height_at(f, f->wanted[2 * k], f->wanted[2 * k + 1]);
        foothold_targets(f);
    }
    point_targets(f);
    for (word i = 0; i < f->limited; i++) { /* what a kick throws about is stopped by its tissue, not in one step */
        word limb = f->giving->limb_of[p->dof_body[f->limit_v[i]]];
        real loose = limb >= 0 && f->giving->is_leg[limb] ? f->giving->loose[limb] : 0.0;
        f->limit_part[i] = 1.0 / (1.0 + loose * f->limit_time / f->dt);
    }
    f->limit_count = limit_rows(p->nq, p->nv, f->limited, 3 * f->limited, p->q, p->v, r->q, r->v, r->a, f->dt,
                                f->limit_margin, f->return_share, f->limit_q, f->limit_v, f->is_hinge, f->limit_rest,
                                f->limit_axis, f->limit_bend, f->limit_side, f->limit_below, f->limit_above, f->limit_part,
                                f->angles, f->limit_rows, f->limit_lower);
    fill(-INFINITY, f->limit_lower + f->limit_count, 3 * f->limited - f->limit_count);
    ground_bounds(f);
    if (f->has_goal) goal_target(f);
    strengths_of(p, r->v, f->giving);
    weigh(f);
}
