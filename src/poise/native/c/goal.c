/* The goal that pushes carry along, and the trunk that they turn. Twins: filter/goal.py, which explains them. */
#include "core.h"

#define PEAK 1.875 /* largest speed of the least-jerk way, times its duration over its length */

typedef struct {
    real place[2], time, after;
} Support;

static real length(const real *x) { return sqrt(x[0] * x[0] + x[1] * x[1]); }

static int support(const MovingGoal *g, const Frame *f, Support *s) {
    if (g->feet != 2 || g->reach == 0.0 || f->standing_count == 0 || f->groups < 2) return 0;
    const real *seen = f->groups_seen;
    real swing = g->swing, next[2];
    for (int foot = 0; foot < 2; foot++) {
        real left = 1.0 - seen[4 * foot + 2];
        if (seen[4 * foot] == 0.0 && left > 0.05) swing = smaller(seen[4 * foot + 1] / left, g->soon);
    }
    for (int foot = 0; foot < 2; foot++) {
        real time = seen[4 * foot] == 0.0 ? seen[4 * foot + 1] : INFINITY;
        next[foot] = smaller(time, seen[4 * foot + 3] + swing);
    }
    s->time = smaller(next[0], next[1]);
    if (!(s->time <= g->soon)) return 0;
    s->after = smaller(larger(larger(next[0], next[1]) - s->time, g->shortest), g->soon);
    for (int c = 0; c < 2; c++) {
        real now = f->standing[c];
        s->place[c] = now + (g->has_support ? g->moving_part * (g->support[c] - now) : 0.0);
    }
    return 1;
}

static void carried(const MovingGoal *g, const Support *s, const real *x, const real *v, const real *asked, real time,
                    real *out) {
    real w = g->pendulum, left = exp(-w * time), off[2], free[2], by_foot[2];
    for (int c = 0; c < 2; c++) {
        free[c] = w * w * (x[c] - s->place[c]);
        off[c] = x[c] + v[c] / w - s->place[c];
        by_foot[c] = asked[c] - free[c];
    }
    real most = w * w * (g->ankle + larger(0.0, length(off) - g->reach * left) / larger(1.0 - left, 1e-3));
    real part = most / sqrt(most * most + by_foot[0] * by_foot[0] + by_foot[1] * by_foot[1]);
    for (int c = 0; c < 2; c++) out[c] = free[c] + part * by_foot[c];
}

static void next_landing(const MovingGoal *g, const Support *s, real *out) {
    real w = g->pendulum, h = s->time / (real)g->ahead, x[2], v[2], asked[2], a[2];
    memcpy(x, g->shift, sizeof x);
    memcpy(v, g->velocity, sizeof v);
    for (word k = 0; k < g->ahead; k++) {
        for (int c = 0; c < 2; c++)
            asked[c] = g->frequency * g->frequency * (g->ground[c] + g->rest[c] - x[c]) - 2.0 * g->frequency * v[c];
        carried(g, s, x, v, asked, s->time - (real)k * h, a);
        for (int c = 0; c < 2; c++) v[c] += h * a[c], x[c] += h * v[c];
    }
    real farther = 1.0 + (1.0 - g->left) / (exp(w * s->after) - 1.0);
    for (int c = 0; c < 2; c++) {
        real home = g->ground[c] + g->rest[c];
        out[c] = home + farther * (x[c] + v[c] / w - home) - s->place[c];
    }
    real part = smaller(1.0, (g->farthest + length(g->rest)) / larger(length(out), 1e-9));
    for (int c = 0; c < 2; c++) out[c] = s->place[c] + part * out[c] - g->shift[c];
}

static void smooth(real s, real *out) {
    s = smaller(s, 1.0);
    out[0] = s * s * s * (10.0 - 15.0 * s + 6.0 * s * s);
    out[1] = 30.0 * s * s * (1.0 - s) * (1.0 - s);
    out[2] = 60.0 * s * (1.0 - s) * (1.0 - 2.0 * s);
}

static void recover(MovingGoal *g, const Frame *f, const Support *s) {
    real here[2], out[2], away[2], wanted[2] = {0, 0}, most = 0;
    for (int c = 0; c < 2; c++) {
        here[c] = g->shift[c] - g->ground[c];
        out[c] = here[c] + g->velocity[c] / g->pendulum;
        away[c] = out[c] - g->rest[c];
    }
    g->since += g->dt;
    real before = length(g->rest), off = length(away), leash;
    int stands = !s && f->standing_count > 0;
    fill(0.0, g->rest_rates, 4);
    if (stands && f->is_stepping && !g->is_returning) g->since = smaller(g->since, g->stands_on);
    leash = g->hold * (s ? g->walking : 1.0) / (1.0 + 0.5 * before / g->hold);
    if (g->is_returning) leash = g->hold * g->walking;
    if (off > leash) {
        for (int c = 0; c < 2; c++) g->rest[c] += (1.0 - leash / off) * away[c];
        g->since = 0, g->is_returning = 0;
    } else if (g->returns && g->since > g->settling && before != 0.0) {
        if (!g->is_returning) {
            memcpy(g->start, g->rest, 2 * sizeof(real));
            g->is_returning = 1, g->since = g->settling;
            g->lasts = g->foot_ahead + g->striding * before / g->stride;
            if (!stands) g->lasts = larger(g->lasts, PEAK * before / g->drift);
        }
        real gone[3];
        smooth((g->since - g->settling) / g->lasts, gone);
        for (int c = 0; c < 2; c++) {
            g->rest[c] = (1.0 - gone[0]) * g->start[c];
            g->rest_rates[c] = -gone[1] / g->lasts * g->start[c];
            g->rest_rates[2 + c] = -gone[2] / (g->lasts * g->lasts) * g->start[c];
        }
        if (gone[0] == 1.0) g->is_returning = 0, g->since = g->settling;
    }
    real size = length(g->rest);
    g->steps = size != 0.0 && (g->steps || size > g->far);
    real time = g->since - g->settling, then[3] = {0.0};
    for (int c = 0; c < 2; c++) g->stance[c] = g->steps ? g->rest[c] : 0.0;
    if (g->steps && g->is_returning && stands) {
        if (time >= g->lead) smooth((time + g->foot_ahead) / g->lasts, then);
        for (int c = 0; c < 2; c++) g->stance[c] = (1.0 - then[0]) * g->start[c];
    }
    real lead[2];
    for (int c = 0; c < 2; c++) lead[c] = out[c] + (f->standing_count ? g->ground[c] - f->standing[c] : 0.0);
    g->falls = g->falls || (size > before && (g->is_guided ? length(lead) > g->longest : size > g->far));
    if (s) next_landing(g, s, wanted);
    for (int c = 0; c < 2; c++) {
        if (!s && g->steps) wanted[c] = out[c] - here[c];
        g->landing[c] += g->dt / (g->bending + g->dt) * (wanted[c] - g->landing[c]);
        most = larger(most, larger(fabs(g->landing[c]), fabs(wanted[c])));
    }
    if (most < 1e-6) fill(0.0, g->landing, 2);
}

static void accelerate(MovingGoal *g, const real *force, const Support *s, real weight) {
    real a[2] = {0, 0};
    for (int c = 0; !g->flies && c < 2; c++)
        a[c] = g->frequency * g->frequency * (g->ground[c] + g->rest[c] - g->shift[c]) +
               2.0 * g->frequency * (g->ground_velocity[c] + g->rest_rates[c] - g->velocity[c]) +
               g->rest_rates[2 + c];
    if (s) carried(g, s, g->shift, g->velocity, a, s->time, a);
    real low = 0.0, against_ground[2];
    for (int c = 0; c < 2; c++) {
        g->acceleration[c] = a[c] + force[c] / g->mass;
        against_ground[c] = g->velocity[c] - g->ground_velocity[c];
    }
    if (g->steps) low = -g->sinking * length(against_ground);
    if (force[2] == 0.0 && g->height == 0.0 && g->height_velocity == 0.0 && low == 0.0) return;
    real z = g->height, w = g->flies ? 0.0 : g->vertical_frequency, dt = g->dt;
    real part = z / (z < 0.0 ? g->lowest : g->highest);
    real free = force[2] / g->mass - weight - w * w * ((1.0 + part * part) * z - low) - 2.0 * w * g->height_velocity;
    g->height_acceleration = free / (1.0 + 2.0 * w * dt + w * w * (1.0 + 3.0 * part * part) * dt * dt);
}

static void sway(MovingGoal *g, const real *moment, const real *spin) {
    real *turn = g->turn, *velocity = turn + 3, *acceleration = turn + 6, most = 0, far = 0;
    int is_any = g->sways != 0;
    for (int i = 0; i < 4; i++) is_any |= g->rest_rates[i] != 0.0;
    for (int c = 0; c < 3; c++) {
        is_any |= moment[c] != 0.0 || (spin && spin[c] != 0.0);
        most = larger(most, fabs(turn[c]));
        far += turn[c] * turn[c];
    }
    if (!is_any) return;
    g->sways = 1;
    if (spin) {
        g->whole = most < g->fresh ? 1.0 : 1.0 - (1.0 - g->whole) * g->whole_part;
        memcpy(acceleration, spin, 3 * sizeof(real));
        return;
    }
    g->whole *= g->whole_part;
    far /= g->limit * g->limit;
    far *= far;
    int returns = dot(turn, velocity, 3) < 0.0;
    real damper = g->damper * (returns ? pow(1.0 + far, 1.5) : sqrt(1.0 + far));
    real implicit = 1.0 + (far > 1.0 ? 5.0 * g->spring * far * g->dt * g->dt : 0.0) + (returns ? g->dt * damper : 0.0);
    real lean[3] = {-g->lean * g->rest_rates[3], g->lean * g->rest_rates[2], 0.0};
    for (int c = 0; c < 3; c++) {
        real pushed = (c < 2 ? g->push : g->twist) * moment[c], back = g->spring * ((1.0 + far) * turn[c] - lean[c]);
        acceleration[c] = (pushed - back - damper * velocity[c]) / implicit;
    }
}

static void whole_spin(const Limbs *l, real *out) {
    const Pose *p = l->pose;
    const real *com = p->subtree_com + 3 * l->root, *frame = p->xmat + 9 * l->root;
    real moment[3] = {0, 0, 0}, inertia[3][3], arm[3], columns[3][3];
    fill(0.0, out, 3);
    if (l->hits == 0) return;
    for (word h = 0; h < l->hits; h++) {
        real from[3], own[3];
        for (int c = 0; c < 3; c++) from[c] = l->hit_place[3 * h + c] - com[c];
        cross(from, l->hit_force + 3 * h, own);
        add(1.0, own, moment, 3);
    }
    for (int c = 0; c < 3; c++) arm[c] = com[c] - p->xpos[3 * l->root + c];
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) {
            real sum = l->mass * (arm[i] * arm[j] - (i == j ? dot(arm, arm, 3) : 0.0));
            for (int a = 0; a < 3; a++)
                for (int b = 0; b < 3; b++) sum += frame[3 * i + a] * p->M[(3 + a) * p->nv + 3 + b] * frame[3 * j + b];
            inertia[i][j] = sum;
        }
    for (int i = 0; i < 3; i++) cross(inertia[(i + 1) % 3], inertia[(i + 2) % 3], columns[i]);
    real volume = dot(inertia[0], columns[0], 3);
    for (int c = 0; c < 3; c++)
        for (int i = 0; i < 3; i++) out[c] += columns[i][c] * moment[i] / volume;
}

API void move_goal(MovingGoal *g, Frame *f) {
    const Limbs *l = f->giving;
    real force[3] = {0, 0, 0}, moment[3] = {0, 0, 0}, spin[3];
    int is_supported = 0, is_thrown = 0;
    Support s;
    g->flies = 0;
    if (g->is_moving) {
        const Reference *r = f->reference;
        int stands = 0;
        if (l->is_pushed) {
            memcpy(force, l->trunk_force, sizeof force);
            memcpy(moment, l->trunk_moment, sizeof moment);
            if (f->touching_count) force[0] += g->tipping * moment[1], force[1] -= g->tipping * moment[0];
        }
        for (word i = 0; i < f->pose->points; i++) stands |= r->flags[i];
        g->flies = !f->touching_count && !stands && fabs(r->torque[2]) < g->hovering;
        if (g->flies)
            for (int c = 0; c < 3; c++) force[c] /= g->scale;
        else if (!g->rests) {
            is_supported = g->is_guided && !g->has_fallen && support(g, f, &s);
            recover(g, f, is_supported ? &s : NULL);
        }
        is_thrown = !f->touching_count && stands && !g->flies && g->height > g->lifted;
    }
    g->has_support = is_supported;
    if (is_supported) memcpy(g->support, s.place, sizeof s.place);
    accelerate(g, force, is_supported ? &s : NULL, is_thrown ? l->gravity * g->scale : 0.0);
    if (g->flies) whole_spin(l, spin);
    sway(g, moment, g->flies ? spin : NULL);
    for (int c = 0; c < 2; c++) {
        f->moved[c] = g->shift[c], f->moved[3 + c] = g->velocity[c], f->moved[6 + c] = g->acceleration[c];
    }
    f->moved[2] = g->height, f->moved[5] = g->height_velocity, f->moved[8] = g->height_acceleration;
    for (int c = 0; c < 2; c++) {
        f->away[c] = g->shift[c] - g->ground[c] - g->rest[c], f->away[2 + c] = g->velocity[c] - g->rest_rates[c];
    }
    memcpy(f->sway, g->turn, 9 * sizeof(real));
    f->is_at_goal = g->rests;
}

API void advance_goal(MovingGoal *g) {
    int is_away = 0;
    for (int c = 0; c < 2; c++) {
        g->velocity[c] += g->dt * g->acceleration[c];
        g->shift[c] += g->dt * g->velocity[c];
        g->ground[c] += g->dt * g->ground_velocity[c];
        is_away |= g->shift[c] != 0.0 || g->velocity[c] != 0.0;
    }
    g->height_velocity += g->dt * g->height_acceleration;
    g->height += g->dt * g->height_velocity;
    for (int c = 0; g->sways && c < 3; c++) {
        g->turn[3 + c] += g->dt * g->turn[6 + c];
        g->turn[c] += g->dt * g->turn[3 + c];
    }
    g->rests = !(is_away || g->height != 0.0 || g->height_velocity != 0.0);
}
