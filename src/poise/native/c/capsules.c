/* Gaps between capsules; the twin is in `physics/collisions.py`. */
#include "core.h"

#define PARALLEL 1e-8 /* middle lines whose squared sine is below this are parallel */

static real clamp(real x, real low, real high) { return x < low ? low : x > high ? high : x; }

/* Shares s, t of the points p + s d and q + t g that are nearest to each other. */
static void nearest(const real *p, const real *d, const real *q, const real *g, real *s, real *t) {
    real r[3] = {p[0] - q[0], p[1] - q[1], p[2] - q[2]};
    real a = dot(d, d, 3), b = dot(d, g, 3), e = dot(g, g, 3), c = dot(d, r, 3), f = dot(g, r, 3);
    *s = *t = 0.5;
    if (a < 1e-14) {
        if (e >= 1e-14) *t = clamp((f + 0.5 * b) / e, 0, 1);
        return;
    }
    if (e < 1e-14) {
        *s = clamp((0.5 * b - c) / a, 0, 1);
        return;
    }
    real apart = a * e - b * b;
    if (apart > PARALLEL * a * e) {
        *s = clamp((b * f - c * e) / apart, 0, 1);
    } else {
        real one = -c / a, two = (b - c) / a; /* the ends of the second line on the first */
        real low = fmax(fmin(one, two), 0), high = fmin(fmax(one, two), 1);
        *s = low <= high ? 0.5 * (low + high) : clamp(0.5 * (one + two), 0, 1);
    }
    *t = (b * *s + f) / e;
    if (*t < 0 || *t > 1) {
        *t = clamp(*t, 0, 1);
        *s = clamp((b * *t - c) / a, 0, 1);
    }
}

/* Where middle lines cross: orthogonal to both, or to the longer one, on the side of the first one's middle. */
static void across(const real *p, const real *d, const real *q, const real *g, real *normal) {
    for (word e = 0; e < 3; e++) {
        word y = (e + 1) % 3, z = (e + 2) % 3;
        normal[e] = d[y] * g[z] - d[z] * g[y];
    }
    real longer = dot(d, d, 3), wide = dot(g, g, 3), side = 0;
    if (dot(normal, normal, 3) <= PARALLEL * longer * wide) {
        const real *axis = longer >= wide ? d : g;
        real square = fmax(longer, wide);
        word least = 0;
        for (word e = 1; e < 3; e++)
            if (fabs(axis[e]) < fabs(axis[least])) least = e;
        if (!(square > 0)) least = 2;
        for (word e = 0; e < 3; e++) normal[e] = (e == least) - (square > 0 ? axis[e] * axis[least] / square : 0);
    }
    for (word e = 0; e < 3; e++) side += normal[e] * (p[e] + 0.5 * d[e] - q[e] - 0.5 * g[e]);
    real size = sqrt(dot(normal, normal, 3));
    for (word e = 0; e < 3; e++) normal[e] /= side >= 0 ? size : -size;
}

API word near_capsules(word pairs, word capsules, word bodies, const word *pair, const word *body, const real *starts,
                       const real *ends, const real *radii, const real *xpos, const real *xmat, real reach, real *lines,
                       word *out, real *gaps, real *firsts, real *seconds, real *normals) {
    for (word i = 0; i < capsules; i++) {
        word b = body[i];
        if (b < 0 || b >= bodies) return 0;
        real *line = lines + 7 * i;
        for (word e = 0; e < 3; e++) {
            const real *turn = xmat + 9 * b + 3 * e;
            line[e] = xpos[3 * b + e] + dot(turn, starts + 3 * i, 3);
            line[3 + e] = dot(turn, ends + 3 * i, 3) - dot(turn, starts + 3 * i, 3);
        }
        line[6] = sqrt(dot(line + 3, line + 3, 3));
    }
    word count = 0;
    for (word n = 0; n < pairs; n++) {
        word i = pair[2 * n], j = pair[2 * n + 1];
        if (i < 0 || i >= capsules || j < 0 || j >= capsules) return 0;
        const real *p = lines + 7 * i, *q = lines + 7 * j, *d = p + 3, *g = q + 3;
        /* balls around both tell most of them apart */
        real within = reach + radii[i] + radii[j] + 0.5 * (p[6] + q[6]), between = 0, s, t;
        for (word e = 0; e < 3; e++) {
            real way = p[e] - q[e] + 0.5 * (d[e] - g[e]);
            between += way * way;
        }
        if (within <= 0 || between >= within * within) continue;
        nearest(p, d, q, g, &s, &t);
        real *normal = normals + 3 * count;
        for (word e = 0; e < 3; e++) normal[e] = p[e] + s * d[e] - q[e] - t * g[e];
        real length = sqrt(dot(normal, normal, 3)), gap = length - radii[i] - radii[j];
        if (gap >= reach) continue;
        if (length > 1e-9)
            for (word e = 0; e < 3; e++) normal[e] /= length;
        else
            across(p, d, q, g, normal);
        for (word e = 0; e < 3; e++) {
            firsts[3 * count + e] = p[e] + s * d[e] - radii[i] * normal[e];
            seconds[3 * count + e] = q[e] + t * g[e] + radii[j] * normal[e];
        }
        out[count] = n;
        gaps[count++] = gap;
    }
    return count;
}

/* The row of n · J of the point of a body at a place. */
static void add_row(const Pose *p, word body, const real *place, const real *n, real sign, real *row) {
    const real *o = p->subtree_com + 3 * p->tree_root[body];
    real arm[3] = {place[0] - o[0], place[1] - o[1], place[2] - o[2]}, speed[3];
    for (; body > 0; body = p->parents[body])
        for (word j = p->dof_first[body]; j < p->dof_first[body] + p->dof_count[body]; j++) {
            const real *own = p->cdof + 6 * j;
            cross(own, arm, speed);
            for (word e = 0; e < 3; e++) row[j] += sign * n[e] * (own[3 + e] + speed[e]);
        }
}

/* Acceleration that brings a pair to a speed; how soon they slow down, the twin in `filter/apart.py` says. */
static real parted(const Legs *l, word k, real speed) {
    real change = speed - l->rate[k];
    real part = smaller(larger(l->gaps[k] / l->clear, 0), 1), time = change > 0 ? l->dt + part * (l->ease - l->dt) : l->dt;
    return change / time - l->bias[k];
}

API word closing_legs(Legs *l, Frame *f) {
    const Pose *p = f->pose;
    const word *limb_of = f->giving->limb_of;
    word nv = p->nv, count = 0, near;
    near = near_capsules(l->pairs, l->capsules, p->bodies, l->pair, l->body, l->starts, l->ends, l->radii, p->xpos, p->xmat,
                         l->near, l->lines, l->at, l->gaps, l->firsts, l->seconds, l->normals);
    fill(-INFINITY, l->lower, l->pairs);
    memset(l->holds, 0, (size_t)p->bodies);
    for (word i = 0; near && i < p->points; i++)
        for (word b = 1; f->stands[i] && b < p->bodies; b++)
            if (limb_of[b] >= 0 && limb_of[b] == limb_of[p->point_body[i]]) l->holds[b] = 1;
    for (word k = 0; k < near; k++) {
        word one = l->body[l->pair[2 * l->at[k]]], other = l->body[l->pair[2 * l->at[k] + 1]];
        const real *first = l->firsts + 3 * k, *second = l->seconds + 3 * k, *normal = l->normals + 3 * k;
        real v[3], w[3], a[3], b[3], rate = 0, bias = 0, gap = l->gaps[k], *row = l->rows + count * nv;
        point_of_body(p, one, first, p->body_biases, v, a);
        point_of_body(p, other, second, p->body_biases, w, b);
        for (word e = 0; e < 3; e++) rate += normal[e] * (v[e] - w[e]), bias += normal[e] * (a[e] - b[e]);
        real least = gap > 0 ? -sqrt(2 * l->braking * gap) : smaller(-gap / l->dt, l->parting);
        if (!(rate - l->dt * l->fast < least)) continue;
        int both = l->holds[one] == l->holds[other]; /* what stands does not give way, and a foot goes with its shin */
        fill(0, row, nv);
        if (both || l->holds[other]) add_row(p, l->carrier[one], first, normal, 1, row);
        if (both || l->holds[one]) add_row(p, l->carrier[other], second, normal, -1, row);
        l->at[count] = l->at[k], l->gaps[count] = gap;
        l->rate[count] = rate, l->bias[count] = bias, l->lower[count] = parted(l, count, least);
        count++;
    }
    return l->count = count;
}

API void go_on(Legs *l, Pose *reference) {
    const Pose *p = reference;
    for (word k = 0; k < l->count; k++) {
        const word *two = l->pair + 2 * l->at[k];
        word one = l->body[two[0]], other = l->body[two[1]], found;
        real gap, first[3], second[3], normal[3], v[3], w[3], unused[3], rate = 0;
        if (!near_capsules(1, l->capsules, p->bodies, two, l->body, l->starts, l->ends, l->radii, p->xpos, p->xmat, INFINITY,
                           l->lines, &found, &gap, first, second, normal))
            continue;
        point_of_body(p, one, first, p->body_biases, v, unused);
        point_of_body(p, other, second, p->body_biases, w, unused);
        for (word e = 0; e < 3; e++) rate += normal[e] * (v[e] - w[e]);
        real part = gap > 0 ? smaller(larger(l->gaps[k] / gap, 0), 1) : 1; /* as the gap is narrower than the reference's */
        l->lower[k] = smaller(l->lower[k], parted(l, k, part * rate - 1e-9));
    }
}

API void keep_apart(Legs *l, Frame *f) {
    Pose *m = l->mirror;
    const Reference *r = f->reference;
    fill(-INFINITY, l->lower, l->pairs);
    if (!l->acts || !closing_legs(l, f)) return;
    memcpy(m->q, r->q, (size_t)m->nq * sizeof(real));
    memcpy(m->v, r->v, (size_t)m->nv * sizeof(real));
    add(l->dt, r->a, m->v, m->nv);
    place(m);
    go_on(l, m);
}
