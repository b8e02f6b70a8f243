/* Poses of skeletons; the twins are in `core/skeleton.py`. */
#include "core.h"

API void place_joints(word joints, word frames, const word *parents, const real *translations, const real *turns,
                      real *positions, real *orientations) {
    for (word k = 0; k < frames; k++) {
        const real *t = translations + 3 * joints * k, *r = turns + 4 * joints * k;
        real *places = positions + 3 * joints * k, *worlds = orientations + 4 * joints * k;
        for (word j = 0; j < joints; j++, t += 3, r += 4) {
            real *p = places + 3 * j, *q = worlds + 4 * j;
            if (parents[j] < 0) {
                memcpy(p, t, 3 * sizeof(real));
                memcpy(q, r, 4 * sizeof(real));
                continue;
            }
            const real *above = places + 3 * parents[j], *o = worlds + 4 * parents[j];
            real w = o[0], a = o[1], b = o[2], c = o[3];
            real x = 2 * (b * t[2] - c * t[1]), y = 2 * (c * t[0] - a * t[2]), z = 2 * (a * t[1] - b * t[0]);
            p[0] = above[0] + (t[0] + w * x + (b * z - c * y));
            p[1] = above[1] + (t[1] + w * y + (c * x - a * z));
            p[2] = above[2] + (t[2] + w * z + (a * y - b * x));
            q[0] = w * r[0] - a * r[1] - b * r[2] - c * r[3];
            q[1] = w * r[1] + a * r[0] + b * r[3] - c * r[2];
            q[2] = w * r[2] - a * r[3] + b * r[0] + c * r[1];
            q[3] = w * r[3] + a * r[2] - b * r[1] + c * r[0];
        }
    }
}
