/* What stands in a figure's way; the twins are in `physics/mujoco_sight.py`. */
#include "core.h"

#define TOUCH 0.02
#define TRIES 8
#define FARTHEST 99.0
#define APART 1e-9
#define AGAINST 0.3

typedef real (*Distance)(const void *, void *, int, int, real, real *);

/* How far a geom can be moved along a way from a place until it meets another one, −1 for passing it. */
static real meets(const Engine *engine, real *moved, word part, word other, const real *place, const real *way,
                  real most, flag is_aside, real *line) {
    real gone = 0, far = 0, normal[3] = {0};
    memcpy(moved, place, 3 * sizeof *place);
    for (int i = 0; i < TRIES; i++) {
        far = ((Distance)engine->mj_geomDistance)(engine->model, engine->data, (int)part, (int)other, FARTHEST, line);
        if (fabs(far) > APART)
            for (int c = 0; c < 3; c++) normal[c] = (line[3 + c] - line[c]) * (far >= 0 ? 1 : -1);
        if (!(far >= TOUCH) || gone > most) break;
        gone += far;
        moved[0] += far * way[0];
        moved[1] += far * way[1];
    }
    flag is_met = (is_aside && gone == 0) || dot(normal, way, 2) > AGAINST * sqrt(dot(normal, normal, 3));
    return far < TOUCH && is_met ? gone : -1;
}

/* Box around a geom along a way, to the left of it and up: least coordinates, then largest. */
static void box_of(const real *place, const real *turn, const real *box, const real *way, real *bounds) {
    real axes[3][3] = {{way[0], way[1], 0}, {-way[1], way[0], 0}, {0, 0, 1}};
    for (int a = 0; a < 3; a++) {
        real middle = dot(axes[a], place, 3), half = 0;
        for (int j = 0; j < 3; j++) {
            real own = axes[a][0] * turn[j] + axes[a][1] * turn[3 + j] + axes[a][2] * turn[6 + j];
            middle += own * box[j];
            half += fabs(own) * box[3 + j];
        }
        bounds[a] = middle - half;
        bounds[3 + a] = middle + half;
    }
}

API real first_met(word g, word t, word n, word k, word h, Engine *engine, const real *places, const real *turns,
                   const real *boxes, const real *radii, const real *weights, const word *trees, const real *paces,
                   const word *own, const word *others, const real *way, const real *root, real reach, real seconds,
                   real left, real least, real low, real *ahead, word *order, real *firsts, word *hinged, real *met,
                   word *count) {
    word kept = 0;
    real nearest = reach, theirs[6], ours[6];
    const real aside[3] = {-left * way[1], left * way[0], 0}, nowhere[2] = {0, 0};
    (void)g, (void)t;
    count[0] = 0;
    for (word i = 0; i < k; i++) {
        word other = others[i], at = kept;
        if (weights[other] < least) continue;
        const real *pace = trees[other] < 0 ? nowhere : paces + 2 * trees[other];
        box_of(places + 3 * other, turns + 9 * other, boxes + 6 * other, way, theirs);
        /* no point of it is met nearer than this */
        firsts[i] = theirs[0] - larger(0, -seconds * dot(pace, way, 2)) - dot(root, way, 2);
        if (!(theirs[5] > low) || !(firsts[i] < reach)) continue;
        for (; at > 0 && firsts[order[at - 1]] > firsts[i]; at--) order[at] = order[at - 1];
        order[at] = i;
        kept++;
    }
    for (word x = 0; x < kept && firsts[order[x]] < nearest; x++) {
        const word other = others[order[x]];
        const real *pace = trees[other] < 0 ? nowhere : paces + 2 * trees[other], *to = places + 3 * other;
        const real moves[2] = {seconds * pace[0], seconds * pace[1]};
        real there[2] = {reach * way[0] - moves[0], reach * way[1] - moves[1]}; /* as seen from the other */
        const real most = sqrt(dot(there, there, 2));
        for (int c = 0; c < 2; c++) there[c] /= larger(most, APART);
        box_of(to, turns + 9 * other, boxes + 6 * other, there, theirs);
        for (word i = 0; i < n; i++) {
            const word part = own[i];
            const real size = radii[other] + radii[part];
            real place[3], between[3], line[6];
            for (int c = 0; c < 3; c++) {
                place[c] = places[3 * part + c] + aside[c];
                between[c] = to[c] - place[c];
            }
            const real along = dot(between, there, 2), across = there[0] * between[1] - there[1] * between[0];
            if (along <= -size || along >= most + size || fabs(across) >= size || fabs(between[2]) >= size) continue;
            box_of(place, turns + 9 * part, boxes + 6 * part, there, ours);
            flag passes = theirs[3] <= ours[0] - TOUCH;
            for (int a = 1; a < 3; a++) passes |= theirs[3 + a] <= ours[a] - TOUCH || theirs[a] >= ours[3 + a] + TOUCH;
            if (passes) continue;
            const real gone = meets(engine, ahead + 3 * part, part, other, place, there, most, left != 0, line);
            if (gone < 0) continue;
            const real share = smaller(1, gone / larger(most, APART));
            const real from[2] = {line[3] + share * moves[0] - root[0], line[4] + share * moves[1] - root[1]};
            if (!isnan(weights[other])) {
                nearest = smaller(nearest, dot(from, way, 2));
            } else if (count[0] < h) {
                hinged[count[0]] = other;
                met[4 * count[0]] = dot(from, way, 2);
                memcpy(met + 4 * count[0]++ + 1, line + 3, 3 * sizeof *line);
            }
        }
    }
    return nearest;
}
