/* Angular momentum of a flight; the twin is in `analysis/angular_momentum.py`. */
#include "core.h"

/* A body of a frame that is turned as a whole: place, orientation, inertia in world axes. */
typedef struct {
    real r[3], q[4], inertia[3][3];
} Turned;

static void turn_body(const real *t, const real *place, const real *q, const real *inertia, Turned *out) {
    real w = t[0], x = t[1], y = t[2], z = t[3], half[3][3];
    const real m[3][3] = {{1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)},
                          {2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)},
                          {2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)}};
    for (word i = 0; i < 3; i++) {
        out->r[i] = dot(m[i], place, 3);
        for (word j = 0; j < 3; j++)
            half[i][j] = m[i][0] * inertia[j] + m[i][1] * inertia[3 + j] + m[i][2] * inertia[6 + j];
    }
    out->q[0] = w * q[0] - x * q[1] - y * q[2] - z * q[3];
    out->q[1] = w * q[1] + x * q[0] + y * q[3] - z * q[2];
    out->q[2] = w * q[2] - x * q[3] + y * q[0] + z * q[1];
    out->q[3] = w * q[3] + x * q[2] - y * q[1] + z * q[0];
    for (word i = 0; i < 3; i++)
        for (word j = 0; j < 3; j++) out->inertia[i][j] = dot(half[i], m[j], 3);
}

/* Rotation vector s of b a^-1, and kappa of the inverse left Jacobian 1 - [s] / 2 + kappa [s]^2. */
static real spin(const real *a, const real *b, real *s) {
    real w = dot(a, b, 4);
    s[0] = -b[0] * a[1] + b[1] * a[0] - b[2] * a[3] + b[3] * a[2];
    s[1] = -b[0] * a[2] + b[2] * a[0] - b[3] * a[1] + b[1] * a[3];
    s[2] = -b[0] * a[3] + b[3] * a[0] - b[1] * a[2] + b[2] * a[1];
    real sine = sqrt(dot(s, s, 3)), scale = w < 0 ? -2 : 2;
    if (sine > 1e-12) scale *= atan2(sine, fabs(w)) / sine;
    for (word i = 0; i < 3; i++) s[i] *= scale;
    real angle = fabs(scale) * sine;
    return angle > 1e-3 ? 1 / (angle * angle) - 0.5 / (angle * tan(0.5 * angle)) : 1.0 / 12;
}

API void turned_momentum(word frames, word bodies, word intervals, const real *turn, const real *places,
                         const real *turns, const real *inertias, const real *masses, const real *steps,
                         real *momentum, real *earlier, real *later) {
    if (intervals != frames - 1) return;
    for (word k = 0; k < intervals; k++, momentum += 3, earlier += 9, later += 9) {
        real outer[3][3] = {{0}}, spun[2][3] = {{0}}, bend[3][3] = {{0}};
        fill(0, momentum, 3);
        for (word b = 0; b < bodies; b++) {
            Turned at[2];
            for (word e = 0; e < 2; e++) {
                word i = (k + e) * bodies + b;
                turn_body(turn + 4 * (k + e), places + 3 * i, turns + 4 * i, inertias + 9 * i, at + e);
            }
            real s[3], kappa = spin(at[0].q, at[1].q, s), square = dot(s, s, 3);
            const real skew[3][3] = {{0, -s[2], s[1]}, {s[2], 0, -s[0]}, {-s[1], s[0], 0}};
            real rest[3][3];
            for (word i = 0; i < 3; i++)
                for (word j = 0; j < 3; j++) {
                    outer[i][j] += masses[b] * at[1].r[i] * at[0].r[j];
                    rest[i][j] = kappa * (s[i] * s[j] - (i == j ? square : 0)) + (i == j);
                }
            for (word i = 0; i < 3; i++) {
                const real *before = at[0].inertia[i], *after = at[1].inertia[i];
                spun[0][i] += 0.5 * dot(before, s, 3);
                spun[1][i] += 0.5 * dot(after, s, 3);
                for (word c = 0; c < 3; c++)
                    for (word j = 0; j < 3; j++)
                        bend[i][j] += 0.25 * (after[c] - before[c]) * skew[c][j] + 0.5 * (after[c] + before[c]) * rest[c][j];
            }
        }
        real trace = outer[0][0] + outer[1][1] + outer[2][2], over = 1 / steps[k];
        for (word i = 0; i < 3; i++) {
            word j = (i + 1) % 3, l = (i + 2) % 3;
            momentum[i] = over * (outer[l][j] - outer[j][l] + spun[0][i] + spun[1][i]);
            for (word c = 0; c < 3; c++) {
                real frozen = i == c ? trace : 0;
                earlier[3 * i + c] = over * (outer[c][i] - frozen - bend[i][c]);
                later[3 * i + c] = over * (frozen - outer[i][c] + bend[i][c]);
            }
        }
        for (word i = 0; i < 3; i++) { /* - [I s] / 2 */
            word j = (i + 1) % 3, l = (i + 2) % 3;
            earlier[3 * i + j] += over * spun[0][l];
            earlier[3 * i + l] -= over * spun[0][j];
            later[3 * i + j] += over * spun[1][l];
            later[3 * i + l] -= over * spun[1][j];
        }
    }
}
