/* The ground: height and slope at a place. Twins: terrain/ground.py. */
#include "core.h"

enum { PLANE, STEPS, GRID };
enum { MIDDLE = 0, AXES = 3, HALF = 12, VELOCITY = 15, SPIN = 18, BOX_SIZE = 21 }; /* numbers of a box, as in the twin */
static const real LEVEL = 0.8; /* as in the twin: a top whose normal rises by less is no ground */

/* The biquadratic B-spline over a table of control heights, with one ring of neighbors around them. */
static real grid(const Ground *g, real x, real y, real *along_x, real *along_y) {
    const real *n = g->numbers;
    word rows = g->rows - 2, columns = g->columns - 2;
    real density = n[0], c = n[6], s = n[7], dx = x - n[4], dy = y - n[5];
    int repeats = n[3] != 0.0;
    x = (c * dx + s * dy - n[1]) * density;
    y = (c * dy - s * dx - n[2]) * density;
    if (!(isfinite(x) && isfinite(y))) {
        *along_x = *along_y = NAN;
        return NAN;
    }
    if (repeats) {
        x -= floor(x / (real)columns) * (real)columns;
        y -= floor(y / (real)rows) * (real)rows;
    } else { /* half a cell beyond the last control height the surface is level: from there on it stays so */
        x = smaller(larger(x, -0.5), (real)columns - 0.5);
        y = smaller(larger(y, -0.5), (real)rows - 0.5);
    }
    word column = (word)floor(x + 0.5), row = (word)floor(y + 0.5);
    if (!repeats) {
        column = column < columns ? column : columns - 1;
        row = row < rows ? row : rows - 1;
    }
    real u = x - (real)column, v = y - (real)row;
    if (repeats) column %= columns, row %= rows;
    real z = 0, along = 0, across = 0;
    const real weight[3] = {0.5 * (0.5 - v) * (0.5 - v), 0.75 - v * v, 0.5 * (0.5 + v) * (0.5 + v)};
    const real rate[3] = {v - 0.5, -2.0 * v, v + 0.5};
    for (word i = 0; i < 3; i++) {
        const real *at = g->table + (row + i) * g->columns + column;
        real line = 0.5 * (0.5 - u) * (0.5 - u) * at[0] + (0.75 - u * u) * at[1] + 0.5 * (0.5 + u) * (0.5 + u) * at[2];
        z += weight[i] * line;
        along += weight[i] * ((u - 0.5) * at[0] - 2.0 * u * at[1] + (u + 0.5) * at[2]);
        across += rate[i] * line;
    }
    *along_x = density * (c * along - s * across);
    *along_y = density * (s * along + c * across);
    return z + n[8];
}

/* The highest box under a place whose top is ground there, above a height and no higher than `most`; -1 if none. Its
 * height and slopes are set. */
static word top_under(const Ground *g, real x, real y, real most, real *z, real *along_x, real *along_y) {
    word found = -1;
    for (word b = 0; b < g->boxes; b++) {
        const real *box = g->tops + BOX_SIZE * b, *axes = box + AXES, *half = box + HALF;
        real dx = x - box[0], dy = y - box[1], low = -INFINITY, high = INFINITY;
        int side = 0;
        for (int j = 0; j < 3; j++) { /* the upright line through the place, in the box */
            real at = axes[j] * dx + axes[3 + j] * dy, way = axes[6 + j];
            if (fabs(way) < 1e-9) {
                if (fabs(at) > half[j]) high = -INFINITY;
                continue;
            }
            real one = (-half[j] - at) / way, other = (half[j] - at) / way;
            low = larger(low, smaller(one, other));
            if (larger(one, other) < high) high = larger(one, other), side = j;
        }
        real up = axes[6 + side];
        if (!(high >= low && fabs(up) >= LEVEL)) continue;
        real top = box[2] + high;
        if (!(top > *z && top <= smaller(g->highest, most))) continue;
        *z = top, *along_x = -axes[side] / up, *along_y = -axes[3 + side] / up;
        found = b;
    }
    return found;
}

static real base(const Ground *g, real x, real y, real *along_x, real *along_y) {
    const real *n = g->numbers;
    if (g->kind_of_ground == GRID) return grid(g, x, y, along_x, along_y);
    if (g->kind_of_ground == STEPS) {
        real beyond = n[0] * x + n[1] * y - n[2];
        real risers = isinf(n[3]) ? (beyond >= 0.0 ? 1.0 : 0.0) : larger(floor(beyond / n[3]) + 1.0, 0.0);
        *along_x = *along_y = 0;
        return risers * n[4] + n[5];
    }
    *along_x = n[0];
    *along_y = n[1];
    return n[0] * x + n[1] * y + n[2];
}

real surface(const Ground *g, real x, real y, real *along_x, real *along_y) {
    real z = base(g, x, y, along_x, along_y);
    top_under(g, x, y, INFINITY, &z, along_x, along_y);
    return z;
}

API void sample(word n, word m, Ground *ground, const real *places, real *heights, real *normals) {
    for (word k = 0; k < n; k++) {
        real x, y, most = m > 2 ? places[m * k + 2] + ground->beneath : INFINITY;
        heights[k] = base(ground, places[m * k], places[m * k + 1], &x, &y);
        top_under(ground, places[m * k], places[m * k + 1], most, heights + k, &x, &y);
        real length = sqrt(1.0 + x * x + y * y);
        normals[3 * k] = -x / length, normals[3 * k + 1] = -y / length, normals[3 * k + 2] = 1.0 / length;
    }
}

API void ground_velocities(word n, word m, Ground *ground, const real *places, real *velocities) {
    const real *own = ground->numbers;
    for (word k = 0; k < n; k++)
        for (int c = 0; c < 3; c++) {
            real moved = own[3 + c] * places[m * k] + own[6 + c] * places[m * k + 1] + own[9 + c];
            velocities[3 * k + c] = ground->kind_of_ground == PLANE ? moved : 0.0; /* only a plane moves */
        }
    for (word k = 0; k < n && ground->boxes; k++) {
        real x = places[m * k], y = places[m * k + 1], slopes[2], z = base(ground, x, y, slopes, slopes + 1);
        real most = m > 2 ? places[m * k + 2] + ground->beneath : INFINITY;
        word b = top_under(ground, x, y, most, &z, slopes, slopes + 1);
        if (b < 0) continue;
        const real *box = ground->tops + BOX_SIZE * b, *w = box + SPIN, way[3] = {x - box[0], y - box[1], z - box[2]};
        for (int c = 0; c < 3; c++) {
            int i = (c + 1) % 3, j = (c + 2) % 3;
            velocities[3 * k + c] = box[VELOCITY + c] + w[i] * way[j] - w[j] * way[i];
        }
    }
}
