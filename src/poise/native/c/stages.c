/* The stages of one step of the filter, from sensing to the next pose, in one call. Twins: filter/stages.py. */
#include "core.h"

enum { NOT_TRIED = -1, NOT_FINITE, SENSED, TARGETED, DONE };

typedef void (*Integrate)(const void *, real *, const real *, real);

API void react(Stages *s) {
    Frame *f = s->frame;
    MovingGoal *g = s->goal;
    const Pose *p = f->pose;
    if (f->giving->hits) give_way(f);
    if (f->is_moving && p->points)
        for (int c = 0; c < 2; c++) {
            real sum = 0;
            for (word i = 0; i < p->points; i++) sum += f->ground_velocities[3 * i + c];
            g->ground_velocity[c] = sum / (real)p->points;
        }
    move_goal(g, f);
    real whole = g->whole > 1e-3 ? g->whole : 0.0;
    if (whole > 0.0 || s->was_whole)
        for (word b = 0; b < p->bodies; b++) f->sway_share[b] = s->own_share[b] + whole * (1.0 - s->own_share[b]);
    s->was_whole = whole > 0.0;
}

API void aim(Stages *s) {
    Frame *f = s->frame;
    const MovingGoal *g = s->goal;
    int tips = 0;
    for (word e = 6; e < 12; e++) tips |= f->follower[e] != 0.0;
    f->leaning = f->lying = 0;
    if (tips && !f->is_falling) {
        const real *lean = s->lean;
        real part = lean[2] == -INFINITY ? 1.0 : (f->reference->com[2] - lean[1]) / (lean[2] - lean[1]);
        real stands = smaller(larger(part, 0.0), 1.0);
        f->leaning = stands * lean[0], f->lying = 1.0 - stands;
    }
    f->is_turned = g->sways || (tips && !f->is_falling);
    f->has_goal = s->is_guided && !f->is_falling;
    set_targets(f);
    s->legs->acts = !f->is_falling && (!g->rests || g->sways);
    keep_apart(s->legs, f);
}

API word integrate(word n, Stages *s, const real *a) {
    const Pose *p = s->frame->pose;
    memcpy(s->q, p->q, (size_t)p->nq * sizeof(real));
    for (word j = 0; j < n && j < p->nv; j++) {
        s->v[j] = p->v[j] + s->frame->dt * a[j];
        if (!(fabs(s->v[j]) < s->fastest)) return 0;
    }
    ((Integrate)p->engine->mj_integratePos)(p->engine->model, s->q, s->v, s->frame->dt);
    return 1;
}

API word move_on(Stages *s) {
    Frame *f = s->frame;
    System *y = s->system;
    Pose *p = f->pose;
    const Reference *r = f->reference;
    word nv = p->nv, touching = f->touching_count;
    y->is_spread = 0, y->touching = touching, y->n = 4 * touching, y->dt = f->dt;
    fill(s->friction, y->friction, touching);
    memcpy(y->contact_points, f->touching, (size_t)touching * sizeof(word));
    memcpy(y->normals, f->normals, 3 * (size_t)touching * sizeof(real));
    memcpy(y->external, f->giving->external, (size_t)nv * sizeof(real));
    if (write_terms(y)) return TARGETED;
    for (word k = 0; k < touching; k++) memcpy(y->warm + 4 * k, s->acted + 4 * f->touching[k], 4);
    memset(y->taken, 0, (size_t)y->most_bounds);
    y->has_guess = 1;
    for (word j = 0; j < nv; j++) y->guess[j] = r->a[j] + s->off[j];
    if (answer(y) != 0 || !integrate(nv, s, y->a)) return TARGETED;
    memset(s->acted, 0, 4 * (size_t)p->points);
    for (word k = 0; k < touching; k++)
        for (word c = 0; c < 4; c++) s->acted[4 * f->touching[k] + c] = y->x[4 * k + c] > 0.0;
    for (word j = 0; j < nv; j++) s->off[j] = y->a[j] - r->a[j];
    memcpy(s->com, p->subtree_com + 3 * f->giving->root, sizeof(real[3]));
    advance_goal(s->goal);
    return DONE;
}

API word may_step(Stages *s) {
    Frame *f = s->frame;
    const MovingGoal *g = s->goal;
    int is_needed = s->has_moved != 0, free = 0;
    word standing = 0;
    real x = f->shift[0] - f->home[0], y = f->shift[1] - f->home[1], away = sqrt(x * x + y * y);
    int has_rested = s->rested + f->dt >= s->pause, hurries = g->steps && !g->has_support;
    for (word limb = 0; limb < f->limbs; limb++) {
        const real *seen = f->limbs_seen + 4 * limb;
        int is_far = seen[3] > s->far && seen[2] >= s->lasting, touches = seen[0] > 0.0;
        is_needed |= is_far || f->has_stepped[limb], standing += seen[1] > 0.0;
        if (hurries)
            free |= touches && seen[1] > 0.0 && seen[3] >= s->urgent_far && seen[2] >= s->urgent_duration
                    && (has_rested || !g->is_returning);
        else
            free |= is_far && touches && seen[1] >= seen[0] && f->limbs_stood[limb] + f->dt >= s->pause
                    && has_rested && away < 0.501 * seen[3] && (!f->has_stepped[limb] || away > 3.999 * s->far);
    }
    if (!is_needed) return 0;
    if ((free && standing > s->needed) || (g->steps && g->has_support)) return 1; /* in a walk, a dragged foot may lift */
    for (word limb = 0; limb < f->limbs; limb++) {
        int touches = f->limbs_seen[4 * limb] > 0.0;
        f->limbs_stood[limb] = touches ? f->limbs_stood[limb] + f->dt : 0.0;
        f->has_stepped[limb] = f->has_stepped[limb] && touches && away <= 4.0 * s->far;
    }
    return 0;
}

/* Whether the capture point is so far from the landing place, and a landing so near, that a foot may land later than in
 * the reference. `SteppingBack._lands_later` decides; less than its factor of 2, so that rounding rules nothing out. */
static int lands_late(const Stages *s) {
    const Frame *f = s->frame;
    const MovingGoal *g = s->goal;
    real x = g->velocity[0] / g->pendulum - g->landing[0], y = g->velocity[1] / g->pendulum - g->landing[1];
    if (!g->steps || g->is_returning || !(sqrt(x * x + y * y) > 1.999 * g->far)) return 0;
    for (word group = 0; group < f->groups; group++)
        if (f->groups_seen[4 * group] == 0.0 && f->groups_seen[4 * group + 1] < s->latest) return 1;
    return 0;
}

/* Whether a foot of a walk that steps was off its place in the last step: `SteppingBack.advance` may lift it. */
static int drags(const Stages *s) {
    const Frame *f = s->frame;
    const real *places = f->pose->places;
    if (!s->goal->steps || !s->goal->has_support || f->giving->hits) return 0;
    for (word i = 0; i < 3 * f->pose->points; i += 3) {
        real x = places[i] - f->base[i] - f->offset[i], y = places[i + 1] - f->base[i + 1] - f->offset[i + 1];
        if (f->stands[i / 3] && hypot(x, y) > s->dragged) return 1;
    }
    return 0;
}

API word usual_step(Stages *s) {
    Frame *f = s->frame;
    Limbs *l = f->giving;
    const MovingGoal *g = s->goal;
    if (drags(s)) return NOT_TRIED;
    if (!sense(f)) return NOT_FINITE;
    for (word h = 0; h < l->hits; h++) memcpy(l->hit_place + 3 * h, f->pose->xipos + 3 * l->hit_body[h], sizeof(real[3]));
    react(s);
    if (f->has_home && (s->is_moving || lands_late(s) || may_step(s))) return SENSED;
    f->is_stepping = f->is_falling = 0, f->authority = 1;
    f->lands = f->shift[0] != 0.0 || f->shift[1] != 0.0 || g->landing[0] != 0.0 || g->landing[1] != 0.0;
    if (f->lands) memcpy(f->landing_ahead, g->landing, sizeof(real[2]));
    aim(s);
    return s->stops_here ? TARGETED : move_on(s);
}

API void usual_steps(Crowd *crowd) {
    for (word i = 0; i < crowd->count; i++) {
        Stages *s = (Stages *)(uintptr_t)crowd->stages[i];
        Actor *actor = (Actor *)(uintptr_t)crowd->actors[i];
        crowd->reached[i] = reference_frame(actor, s->frame->reference) ? usual_step(s) : NOT_FINITE;
    }
}
