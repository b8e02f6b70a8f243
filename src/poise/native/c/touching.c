/* Which bodies touch, and who sleeps; the twins are in `physics/touching.py`. */
#include "core.h"

static word pair_of(const word *bodies, word h) {
    return (word)(((uint64_t)bodies[0] * 2654435761u + (uint64_t)bodies[1]) % (uint64_t)h);
}

API void remember(word k, word m, word h, const word *bodies, const real *places, const word *before,
                  const real *places_before, const real *impulses, real near, flag *taken, word *head, word *following,
                  real *p) {
    memset(taken, 0, (size_t)m);
    for (word x = 0; x < h; x++) head[x] = -1; /* those of a pair follow each other in a list, the first one first */
    for (word j = m - 1; j >= 0; j--) {
        word own = pair_of(before + 2 * j, h);
        following[j] = head[own];
        head[own] = j;
    }
    for (word i = 0; i < k; i++) {
        real nearest = near;
        word found = -1;
        for (word j = head[pair_of(bodies + 2 * i, h)]; j >= 0; j = following[j]) {
            if (before[2 * j] != bodies[2 * i] || before[2 * j + 1] != bodies[2 * i + 1] || taken[j]) continue;
            real away = 0;
            for (word r = 0; r < 3; r++) away = larger(away, fabs(places[3 * i + r] - places_before[3 * j + r]));
            if (away < nearest) {
                nearest = away;
                found = j;
            }
        }
        for (word r = 0; r < 3; r++) p[3 * i + r] = found < 0 ? 0 : impulses[3 * found + r];
        if (found >= 0) taken[found] = 1;
    }
}

API void answer_free(word k, word t, word w, const word *trees, const real *inverse, const real *rows, real *answers) {
    word n = w < 6 ? w : 6;
    for (word i = 0; i < 2 * k; i++) {
        if (trees[i] < 0) {
            for (word r = 0; r < 3; r++) fill(0.0, answers + (3 * i + r) * w, n);
            continue;
        }
        const real *own = inverse + 36 * trees[i];
        for (word r = 0; r < 3; r++) {
            const real *J = rows + (3 * i + r) * w;
            real W[6] = {0};
            for (word y = 0; y < n; y++)
                for (word x = 0; x < 6; x++) W[x] += J[y] * own[6 * y + x];
            memcpy(answers + (3 * i + r) * w, W, (size_t)n * sizeof *W);
        }
    }
    (void)t;
}

API void geom_speeds(word g, word b, word t, const word *body, const word *tree, const word *root, const real *rates,
                     const real *places, const real *com, const real *sizes, real *speeds, real *fastest) {
    (void)b;
    fill(0.0, fastest, t);
    for (word i = 0; i < g; i++) {
        const real *w = rates + 6 * body[i], *v = w + 3, *from = com + 3 * root[body[i]], *at = places + 3 * i;
        const real r[3] = {at[0] - from[0], at[1] - from[1], at[2] - from[2]};
        real u[3];
        cross(w, r, u);
        add(1.0, v, u, 3);
        word own = tree[i] < 0 ? t - 1 : tree[i];
        speeds[i] = sqrt(dot(u, u, 3)) + sizes[i] * sqrt(dot(w, w, 3));
        fastest[own] = larger(fastest[own], speeds[i]);
    }
}

/* Trees that rest and touch something, with all that they touch; the last, for what never moves, sleeps. */
static void find_sleepers(word k, word t, const word *known, const int *geoms, const word *body, const word *tree,
                          const flag *has_shifted, const flag *may_sleep, const real *calm, real after, flag *sleeps) {
    memset(sleeps, 0, (size_t)t);
    for (word i = 0; i < k; i++)
        for (word side = 0; side < 2; side++) {
            word own = tree[geoms[2 * known[i] + side]];
            if (own >= 0) sleeps[own] = may_sleep[own] && calm[own] >= after;
        }
    for (word i = 0; i < k; i++) {
        const int *pair = geoms + 2 * known[i];
        if (!has_shifted[body[pair[0]]] && !has_shifted[body[pair[1]]]) continue;
        for (word side = 0; side < 2; side++)
            if (tree[pair[side]] >= 0) sleeps[tree[pair[side]]] = 0;
    }
    for (word changed = 1; changed;) {
        changed = 0;
        for (word i = 0; i < k; i++) {
            word one = tree[geoms[2 * known[i]]], other = tree[geoms[2 * known[i] + 1]];
            if (one < 0 || other < 0 || sleeps[one] == sleeps[other]) continue;
            sleeps[one] = sleeps[other] = 0;
            changed = 1;
        }
    }
    sleeps[t - 1] = 1;
}

API word find_awake(word c, word e, word g, word w, word b, word t, const int *addresses, const int *geoms,
                    const real *distances, const real *speeds, const real *thick, const word *body, const word *tree,
                    const word *width, const flag *has_shifted, const flag *may_sleep, const real *fastest, real slow,
                    real after, real margin, real dt, real *calm, flag *sleeps, word *known, real *gaps, word *counts,
                    real *deepest) {
    word found = 0, count = 0;
    (void)g, (void)w, (void)b;
    for (word i = 0; i < c; i++) {
        if (addresses[i] < 0 || addresses[i] >= e) continue;
        real gap = distances[i] + (thick[geoms[2 * i]] + thick[geoms[2 * i + 1]]);
        if (!(gap + dt * smaller(speeds[addresses[i]], 0) < margin)) continue;
        known[found] = i;
        gaps[found++] = gap;
    }
    for (word i = 0; i < t; i++) calm[i] = fastest[i] < slow ? calm[i] + dt : 0;
    find_sleepers(found, t, known, geoms, body, tree, has_shifted, may_sleep, calm, after, sleeps);
    counts[1] = 1;
    deepest[0] = 0;
    for (word i = 0; i < found; i++) {
        word one = tree[geoms[2 * known[i]]], other = tree[geoms[2 * known[i] + 1]];
        if (sleeps[one < 0 ? t - 1 : one] && sleeps[other < 0 ? t - 1 : other]) {
            deepest[0] = larger(deepest[0], -gaps[i]);
            continue;
        }
        if (one >= 0 && width[one] > counts[1]) counts[1] = width[one];
        if (other >= 0 && width[other] > counts[1]) counts[1] = width[other];
        known[count] = known[i];
        gaps[count++] = gaps[i];
    }
    counts[0] = found - count;
    return count;
}

API word fill_touches(word k, word c, word e, word j, word g, word d, word t, word w, const word *known,
                      const int *addresses, const int *geoms, const real *points, const real *axes, const real *slides,
                      const int *starts, const int *counts, const real *values, const int *columns, const word *body,
                      const word *tree, const real *centers, const flag *is_convex, const word *tree_of_dof,
                      const word *first, real *places, real *frames, real *friction, word *bodies, word *trees,
                      real *rows, flag *is_pierced) {
    word pierced = 0;
    (void)c, (void)e, (void)j, (void)g, (void)d, (void)t;
    fill(0.0, rows, 6 * w * k);
    for (word i = 0; i < k; i++) {
        word at = known[i], one = geoms[2 * at], other = geoms[2 * at + 1];
        word *own = trees + 2 * i;
        memcpy(places + 3 * i, points + 3 * at, 3 * sizeof(real));
        memcpy(frames + 9 * i, axes + 9 * at, 9 * sizeof(real));
        friction[i] = slides[5 * at];
        bodies[2 * i] = body[one], bodies[2 * i + 1] = body[other];
        own[0] = tree[one], own[1] = tree[other];
        for (word r = 0; r < 3; r++) {
            word row = addresses[at] + r;
            for (word x = starts[row]; x < starts[row] + counts[row]; x++) {
                word owner = tree_of_dof[columns[x]], side = owner != own[0];
                rows[(3 * (2 * i + side) + r) * w + columns[x] - first[owner]] = values[x];
            }
        }
        if (own[0] == own[1]) own[1] = -1;
        real apart = 0;
        for (word r = 0; r < 3; r++) apart += frames[9 * i + r] * (centers[3 * other + r] - centers[3 * one + r]);
        is_pierced[i] = apart < 0 && is_convex[one] && is_convex[other];
        pierced += is_pierced[i];
    }
    return pierced;
}
