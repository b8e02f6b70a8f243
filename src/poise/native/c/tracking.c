/* Small loops of tracking; the twins are in `goals/polygon.py` and `tracking/pulls.py`. */
#include "core.h"

/* Twice the area of the triangle a b c, positive counterclockwise. */
static real turn(const real *a, const real *b, const real *c) {
    return (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0]);
}

static real apart(const real *a, const real *b) {
    return (a[0] - b[0]) * (a[0] - b[0]) + (a[1] - b[1]) * (a[1] - b[1]);
}

/* Goes round the hull from corner to corner. */
API void nearest_of_hull(word n, const real *points, const real *place, real *out) {
    word first = 0;
    for (word k = 1; k < n; k++) {
        const real *p = points + 2 * k, *f = points + 2 * first;
        if (p[0] < f[0] || (p[0] == f[0] && p[1] < f[1])) first = k;
    }
    const real *from = points + 2 * first;
    real x = place[0], y = place[1], least = INFINITY;
    int is_outside = 0;
    word corners = 0;
    out[0] = from[0], out[1] = from[1];
    while (corners < n) {
        const real *to = from;
        for (word k = 0; k < n; k++) {
            const real *p = points + 2 * k;
            real way = apart(from, p);
            if (way == 0.0) continue;
            real side = to == from ? -1.0 : turn(from, to, p);
            if (side < 0.0 || (side == 0.0 && way > apart(from, to))) to = p;
        }
        if (to == from) return; /* all are one point */
        corners++;
        is_outside |= turn(from, to, place) < 0.0;
        real share = ((x - from[0]) * (to[0] - from[0]) + (y - from[1]) * (to[1] - from[1])) / apart(from, to);
        share = smaller(larger(share, 0.0), 1.0);
        const real foot[2] = {from[0] + share * (to[0] - from[0]), from[1] + share * (to[1] - from[1])};
        real way = apart(foot, place);
        if (way < least) least = way, out[0] = foot[0], out[1] = foot[1];
        from = to;
        if (from[0] == points[2 * first] && from[1] == points[2 * first + 1]) break;
    }
    if (corners > 2 && !is_outside) out[0] = x, out[1] = y;
}

API void turning_pulls(word e, word b, word m, const word *bodies, const real *turns, const real *speeds,
                       const real *wanted, const real *spins, const real *stiffness, real *pulls) {
    (void)b, (void)m;
    for (word k = 0; k < e; k++) {
        const real *q = turns + 4 * bodies[k], *g = wanted + 4 * k, *w = speeds + 6 * bodies[k];
        real off[4] = {
            g[0] * q[0] + g[1] * q[1] + g[2] * q[2] + g[3] * q[3],
            -g[0] * q[1] + g[1] * q[0] - g[2] * q[3] + g[3] * q[2],
            -g[0] * q[2] + g[1] * q[3] + g[2] * q[0] - g[3] * q[1],
            -g[0] * q[3] - g[1] * q[2] + g[2] * q[1] + g[3] * q[0],
        };
        real sine = sqrt(dot(off + 1, off + 1, 3)), damping = 2.0 * sqrt(stiffness[k]);
        real share = sine > 1e-12 ? 2.0 * atan2(sine, fabs(off[0])) / sine : 2.0;
        share = off[0] < 0.0 ? -share : share;
        for (int c = 0; c < 3; c++)
            pulls[3 * (bodies[k] - 1) + c] = stiffness[k] * share * off[1 + c] + damping * (spins[3 * k + c] - w[c]);
    }
}

API void carrying_torques(word v, word b, const word *bodies, const real *motions, const real *coms,
                          const real *weights, real *out) {
    (void)b;
    for (word k = 0; k < v; k++) {
        const real *s = motions + 6 * k, *at = coms + 3 * bodies[k], *root = coms + 3;
        out[k] = weights[bodies[k]] * (s[5] + s[0] * (at[1] - root[1]) - s[1] * (at[0] - root[0]));
    }
}
