/* How limbs give way to forces, and what of the forces reaches the trunk. Twins: filter/frame.py, filter/giving.py. */
#include "core.h"

static const real LEAST = 1e-3, LEAST_WAY = 1e-5;

static real norm(const real *x) { return sqrt(dot(x, x, 3)); }

static int is_zero(const real *x, word n) {
    for (word i = 0; i < n; i++)
        if (x[i] != 0.0) return 0;
    return 1;
}

/* A force enters the trunk. A push of so many body weights moves figures of any size by the same part of their legs. */
static void onto_trunk(Limbs *l, const real *place, const real *force, real *thrown) {
    const real *com = l->pose->subtree_com + 3 * l->root;
    real arm[3] = {place[0] - com[0], place[1] - com[1], place[2] - com[2] - l->pivot}, moment[3];
    cross(arm, force, moment);
    add(l->scale, force, l->trunk_force, 3);
    add(l->scale, moment, l->trunk_moment, 3);
    add(1.0, force, thrown, 3);
}

/* The place of the trunk that moves with the goal while the trunk turns: as far out as what turns with it weighs. */
static void middle_of_turning(const Limbs *l, real *out) {
    const real *root = l->pose->xpos + 3 * l->root, *com = l->pose->subtree_com + 3 * l->root;
    for (int c = 0; c < 3; c++) out[c] = com[c];
    for (word k = 0; k < l->limbs; k++)
        for (int c = 0; l->is_leg[k] && c < 3; c++)
            out[c] -= l->limb_mass[k] / l->mass * (l->pose->subtree_com[3 * l->first_body[k] + c] - root[c]);
}

/* Velocity or acceleration of the trunk where each limb hangs on it, by the goal's and its own turn, of the last step;
 * a leg is not left behind, since it has to land. */
static void bases(const Frame *f, const real *of_goal, const real *of_turn, real *out) {
    const Limbs *l = f->giving;
    real middle[3];
    middle_of_turning(l, middle);
    fill(0.0, out, 3 * l->limbs);
    if (f->is_at_goal || !f->touching_count) return;
    for (word k = 0; k < l->limbs; k++) {
        const real *start = l->pose->xpos + 3 * l->first_body[k];
        real arm[3];
        if (l->is_leg[k] || l->limb_stands[k]) continue;
        for (int c = 0; c < 3; c++) arm[c] = start[c] - middle[c];
        cross(of_turn, arm, out + 3 * k);
        for (int c = 0; c < 2; c++) out[3 * k + c] += of_goal[c];
    }
}

/* Where arms go to keep the balance: both outward, and against the fall. */
static void balance_ways(const Limbs *l, real *falls) {
    real middle[2] = {0, 0}, arms = 0;
    for (word k = 0; k < l->limbs; k++) {
        const real *start = l->pose->xpos + 3 * l->first_body[k];
        if (!l->is_arm[k]) continue;
        arms += 1.0;
        for (int c = 0; c < 2; c++) middle[c] += start[c];
    }
    for (word k = 0; k < l->limbs; k++) {
        const real *start = l->pose->xpos + 3 * l->first_body[k];
        real side[2], *fall = falls + 3 * k;
        if (l->is_arm[k] && !is_zero(fall, 3)) {
            for (int c = 0; c < 2; c++) side[c] = start[c] - middle[c] / arms;
            real wide = larger(sqrt(side[0] * side[0] + side[1] * side[1]), 1e-9);
            real aside = (side[0] * fall[0] + side[1] * fall[1]) / wide, all = sqrt(fall[0] * fall[0] + fall[1] * fall[1]);
            real out = aside + fabs(aside) + l->spread * (all - fabs(aside));
            for (int c = 0; c < 2; c++) fall[c] = l->balance * (out * side[c] / wide - fall[c]);
            fall[2] = 0.0;
        } else
            fill(0.0, fall, 3);
    }
}

/* The turn that a limb's way is: rotation vector r × y / |r|², and its rates; r reaches from its first joint to its
 * center of mass. */
static void turn_limbs(Limbs *l) {
    for (word k = 0; k < l->limbs; k++) {
        const real *start = l->pose->xpos + 3 * l->first_body[k], *com = l->pose->subtree_com + 3 * l->first_body[k];
        real r[3], least = 0.1 * l->length[k];
        for (int c = 0; c < 3; c++) r[c] = com[c] - start[c];
        real size = larger(dot(r, r, 3), least * least);
        cross(r, l->ways + 3 * k, l->turns + 9 * k);
        cross(r, l->speeds + 3 * k, l->turns + 9 * k + 3);
        cross(r, l->accelerations + 3 * k, l->turns + 9 * k + 6);
        for (int c = 0; c < 9; c++) l->turns[9 * k + c] *= (1.0 - l->loose[k]) / size;
    }
}

/* Turn of every body by the swing of its limb; a tail follows joint by joint: see `swung`. */
static void swing_bodies(Limbs *l) {
    for (word b = 1; b < l->pose->bodies; b++) {
        real *own = l->swings + 9 * b, w = l->trails[b], dt = l->dt;
        if (l->limb_of[b] < 0) continue;
        if (w == 0.0) {
            const real *turns = l->turns + 9 * l->limb_of[b];
            for (int c = 0; c < 9; c++) own[c] = l->swing_share[b] * turns[c];
            continue;
        }
        const real *before = l->swings + 9 * l->inward[b];
        real share = l->swing_share[b] / l->swing_share[l->inward[b]], square = w * w, friction = 2.0 * l->trail_damping * w;
        for (int c = 0; c < 3; c++) {
            real rest = share * before[c] - own[c] - dt * own[3 + c];
            own[6 + c] = (square * rest - friction * own[3 + c]) / (1.0 + dt * friction + dt * dt * square);
            own[3 + c] += dt * own[6 + c];
            own[c] += dt * own[3 + c];
        }
    }
}

/* One implicit step of m ÿ = f − m (1 − l) a − (K (1 + |y|² / y_m²) y − K y_b + D ẏ) (1 + m / m_trunk), linearized at
 * its start, with the trunk's acceleration a and the way y_b that keeps the balance; l is how far the limb was hit. */
static void swing(Limbs *l, const real *forces, const real *bases, const real *wanted, real *all_carried) {
    for (word k = 0; k < l->limbs; k++) {
        real *y = l->ways + 3 * k, *v = l->speeds + 3 * k, *carried = all_carried + 3 * k;
        real *own = l->accelerations + 3 * k, m = l->limb_mass[k];
        const real *f = forces + 3 * k, *base = bases + 3 * k, *asked = wanted + 3 * k;
        fill(0.0, carried, 3);
        fill(0.0, own, 3);
        if (is_zero(f, 3) && is_zero(y, 3) && is_zero(v, 3) && is_zero(base, 3) && is_zero(asked, 3)) continue;
        real stretched = dot(y, y, 3) / (l->limit[k] * l->limit[k]), dt = l->dt;
        real stiff = l->stiffness[k] * (1.0 + stretched), stiffest = l->stiffness[k] * (1.0 + 3.0 * stretched);
        real damp = l->damping[k] * sqrt(1.0 + stretched) + (l->limb_stands[k] ? 4.0 * l->damping[k] : 0.0);
        real both = 1.0 / m + 1.0 / larger(l->mass - m, 1e-9);
        int is_hit = l->loose[k] > 0.0 || !is_zero(f, 3);
        for (int e = 0; e < 3; e++) {
            real at_base = (1.0 - l->loose[k]) * base[e];
            real top = f[e] / m - at_base - both * (stiff * y[e] + damp * v[e] - l->stiffness[k] * asked[e]);
            own[e] = top / (1.0 + dt * both * damp + dt * dt * both * stiffest);
            v[e] += dt * own[e];
            y[e] += dt * v[e];
            if (is_hit) carried[e] = (f[e] / m - at_base - own[e]) / both; /* what the limb does not keep */
        }
    }
}

/* Part of a limb's giving that is left after a step without force: of arms and neck, and of legs. */
static void fades_of(const Limbs *l, real *fades) {
    fades[0] = pow(0.5, l->dt / l->halflife);
    fades[1] = pow(0.5, l->dt / l->leg_halflife);
}

/* Give after a step: it rises towards what a body or its neighbors in the limb want, and fades by half-lives. */
static void spread_give(Limbs *l, const real *wanted, real *out) {
    real rise = l->dt / (l->onset + l->dt), fades[2];
    real settled = 1.0 - pow(0.5, l->dt / l->planting);
    word bodies = l->pose->bodies;
    fades_of(l, fades);
    memcpy(out, wanted, (size_t)bodies * sizeof(real));
    for (word b = 1; b < bodies; b++) { /* a limb is a chain */
        word next = l->inward[b];
        if (next < 0) continue;
        out[b] = larger(out[b], l->amounts[next]);
        out[next] = larger(out[next], l->amounts[b]);
    }
    for (word b = 0; b < bodies; b++) {
        real own = l->amounts[b], near = out[b];
        if (l->limb_of[b] < 0) out[b] = own;
        else if (l->limb_stands[l->limb_of[b]]) out[b] = own + settled * (l->pressed - own);
        else {
            out[b] = near > own ? own + rise * (near - own) : own;
            if (wanted[b] < out[b]) out[b] *= fades[l->is_leg[l->limb_of[b]]];
        }
    }
}

API void hit_velocities(Limbs *k) {
    real unused[3];
    for (word h = 0; h < k->hits; h++)
        point_of_body(k->pose, k->hit_body[h], k->hit_place + 3 * h, k->pose->body_biases, k->hit_velocity + 3 * h, unused);
}

API void give_way(Frame *f) {
    Limbs *l = f->giving;
    const Pose *p = l->pose;
    word bodies = p->bodies, limbs = l->limbs;
    fill(0.0, l->trunk_force, 3);
    fill(0.0, l->trunk_moment, 3);
    fill(0.0, l->own_acceleration, 3);
    point_torques(l->hits, p->nv, f->pose, l->hit_body, l->hit_place, l->hit_force, l->external);
    l->is_pushed = l->hits || l->pressed != 0.0 || !f->is_at_goal || !is_zero(l->amounts, bodies) ||
                   !is_zero(l->ways, 3 * limbs);
    if (!l->is_pushed) return;
    real *wanted = l->room, *next = wanted + bodies, *on_limbs = next + bodies, *carried = on_limbs + 3 * limbs;
    real *base = carried + 3 * limbs, *asked = base + 3 * limbs, thrown[3] = {0, 0, 0};
    flag *stands = l->limb_stands;
    memset(stands, 0, (size_t)limbs);
    for (word i = 0; i < p->points; i++)
        if (f->stands[i] && l->limb_of[p->point_body[i]] >= 0) stands[l->limb_of[p->point_body[i]]] = 1;
    fill(0.0, wanted, bodies);
    fill(0.0, on_limbs, 3 * limbs);
    for (word h = 0; h < l->hits; h++) {
        const real *place = l->hit_place + 3 * h, *force = l->hit_force + 3 * h;
        word b = l->hit_body[h], k = l->limb_of[b];
        if (k < 0) {
            onto_trunk(l, place, force, thrown);
            continue;
        }
        const real *start = p->xpos + 3 * l->first_body[k];
        real way[3], inside[3];
        for (int e = 0; e < 3; e++) way[e] = place[e] - start[e];
        real outward = smaller(norm(way) / larger(l->length[k], 1e-9), 1.0);
        for (int e = 0; e < 3; e++) inside[e] = (1.0 - outward) * force[e];
        onto_trunk(l, start, inside, thrown);
        if (stands[k]) continue; /* the rest goes to the ground */
        add(outward, force, on_limbs + 3 * k, 3);
        real drive = norm(force) / (l->limb_mass[k] * l->gravity);
        real most = l->is_leg[k] ? sqrt(l->leg_share) : 1.0;
        wanted[b] = larger(wanted[b], most * drive / (drive + l->yield_share));
    }
    bases(f, f->moved + 6, f->sway + 6, base);
    real falls[3] = {0, 0, 0}, turning[3], w = sqrt(l->pendulum); /* as fast as the capture point is far */
    for (int c = 0; c < 2; c++) falls[c] = f->away[2 + c] + w * f->away[c];
    for (int c = 0; c < 3; c++) turning[c] = f->sway[3 + c] + w * f->sway[c];
    bases(f, falls, turning, asked);
    balance_ways(l, asked);
    swing(l, on_limbs, base, asked, carried);
    for (word k = 0; k < limbs; k++) {
        const real *start = p->xpos + 3 * l->first_body[k], *end = p->xpos + 3 * l->last_body[k];
        real at[3];
        if (is_zero(carried + 3 * k, 3)) continue;
        for (int e = 0; e < 3; e++) at[e] = start[e] + l->lever[k] * (end[e] - start[e]);
        onto_trunk(l, at, carried + 3 * k, thrown);
    }
    /* a leg that does not stand gives way while the trunk is pushed */
    real drive = norm(thrown) / (l->mass * l->gravity), most = 0, farthest = 0;
    for (word k = 0; k < limbs; k++) {
        if (stands[k] || drive == 0.0 || !l->is_leg[k]) continue;
        real part = l->leg_share * drive / (drive + l->yield_share);
        wanted[l->first_body[k]] = larger(wanted[l->first_body[k]], part);
    }
    spread_give(l, wanted, next);
    memcpy(l->amounts, next, (size_t)bodies * sizeof(real));
    for (word b = 0; b < bodies; b++) most = larger(most, next[b]);
    for (word i = 0; i < 3 * limbs; i++) farthest = larger(farthest, fabs(l->ways[i]));
    for (word b = 0; b < bodies; b++)
        for (int c = 0; c < 6 && l->trails[b] > 0.0; c++) farthest = larger(farthest, fabs(l->swings[9 * b + c]));
    if (!l->hits && most < LEAST && farthest < LEAST_WAY) {
        fill(0.0, l->amounts, bodies);
        fill(0.0, l->loose, limbs);
        fill(0.0, l->ways, 3 * limbs);
        fill(0.0, l->speeds, 3 * limbs);
        fill(0.0, l->accelerations, 3 * limbs);
        fill(0.0, l->turns, 9 * limbs);
        fill(0.0, l->swings, 9 * bodies);
        return;
    }
    real rise = l->dt / (l->onset + l->dt), fades[2];
    fades_of(l, fades);
    for (word k = 0; k < limbs; k++) {
        if (is_zero(on_limbs + 3 * k, 3)) l->loose[k] *= fades[l->is_leg[k]];
        else l->loose[k] += rise * (1.0 - l->loose[k]);
        add((l->is_leg[k] ? l->loose[k] : 1.0) * l->limb_mass[k] / l->mass, l->accelerations + 3 * k, l->own_acceleration, 3);
    }
    turn_limbs(l);
    swing_bodies(l);
}

void strengths_of(const Pose *p, const real *reference_v, Limbs *l) {
    fill(0.0, l->strengths, p->bodies);
    for (word j = 0; j < p->nv; j++) {
        real more = p->v[j] - reference_v[j];
        l->strengths[p->dof_body[j]] += more * more;
    }
    for (word b = 0; b < p->bodies; b++) {
        real held = larger(0.0, 1.0 - l->strengths[b] / (l->fastest * l->fastest));
        l->strengths[b] = l->amounts[b] == 0.0 ? 1.0 : pow(l->softest[b], l->amounts[b] * held);
    }
}
