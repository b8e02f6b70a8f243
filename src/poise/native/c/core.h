/* What all files of the core share. Plain C11: no Python, no MuJoCo headers, no memory of its own. */
#ifndef POISE_CORE_H
#define POISE_CORE_H

#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

typedef double real;
typedef int64_t word;
typedef uint8_t flag;

#include "fields.h"

/* Before every function that Python calls. */
#ifdef _WIN32
#define API __declspec(dllexport)
#else
#define API __attribute__((visibility("default")))
#endif

static inline real larger(real x, real y) { return y > x ? y : x; }
static inline real smaller(real x, real y) { return y < x ? y : x; }

static inline real dot(const real *x, const real *y, word n) {
    real s = 0;
    for (word i = 0; i < n; i++) s += x[i] * y[i];
    return s;
}

/* y += s x */
static inline void add(real s, const real *restrict x, real *restrict y, word n) {
    for (word i = 0; i < n; i++) y[i] += s * x[i];
}

/* Four numbers that are added and multiplied at once, wherever they lie. */
typedef real four __attribute__((vector_size(32), aligned(8), may_alias));

/* y += Σ part[k] rows[k]; the sums stay in registers, sixteen columns at a time. */
static inline void add_all(word count, const real *part, const real *const *rows, real *restrict y, word n) {
    word at = 0;
    for (; at + 16 <= n; at += 16) {
        four *to = (four *)(y + at), a = to[0], b = to[1], c = to[2], d = to[3];
        for (word k = 0; k < count; k++) {
            const four *row = (const four *)(rows[k] + at);
            a += part[k] * row[0], b += part[k] * row[1], c += part[k] * row[2], d += part[k] * row[3];
        }
        to[0] = a, to[1] = b, to[2] = c, to[3] = d;
    }
    for (; at + 4 <= n; at += 4) {
        four *to = (four *)(y + at), a = *to;
        for (word k = 0; k < count; k++) a += part[k] * *(const four *)(rows[k] + at);
        *to = a;
    }
    for (; at < n; at++)
        for (word k = 0; k < count; k++) y[at] += part[k] * rows[k][at];
}

static inline void fill(real value, real *x, word n) {
    for (word i = 0; i < n; i++) x[i] = value;
}

static inline void cross(const real *x, const real *y, real *out) {
    out[0] = x[1] * y[2] - x[2] * y[1];
    out[1] = x[2] * y[0] - x[0] * y[2];
    out[2] = x[0] * y[1] - x[1] * y[0];
}

static inline word multiple_of_8(word n) { return (n + 7) & ~(word)7; }

/* bodies.c */
void move(Pose *p);
word place(Pose *p);
void mass_and_bias(Pose *p);
void touch(word n, Pose *p, const real *normals);
void inverse_dynamics(word n, Pose *p, const real *a, real *out);
void spatial_accelerations(const Pose *p, const real *v, const real *a, real *out);
void point_of_body(const Pose *p, word body, const real *place, const real *accelerations, real *v, real *a);
void point_row(const Pose *p, word point, const real *axis, real *out);
void point_torques(word k, word n, Pose *p, const word *bodies, const real *places, const real *forces, real *out);
void com_acceleration(const Pose *p, word root, const real *accelerations, real *out);
void com_rows(word n, Pose *p, word root, real *jacobian, real *bias);

/* ground.c */
real surface(const Ground *g, real x, real y, real *along_x, real *along_y);
void sample(word n, word m, Ground *ground, const real *places, real *heights, real *normals);
void ground_velocities(word n, word m, Ground *ground, const real *places, real *velocities);

/* filter.c, goal.c, capsules.c, reference.c: the stages of a step */
word sense(Frame *f);
void set_targets(Frame *f);
void move_goal(MovingGoal *g, Frame *f);
void advance_goal(MovingGoal *g);
void keep_apart(Legs *l, Frame *f);
word reference_frame(Actor *s, Reference *r);

/* giving.c */
void strengths_of(const Pose *p, const real *reference_v, Limbs *l);
void give_way(Frame *f);

/* system.c */
void frames(word k, const real *normals, real *out);
word write_terms(System *s);
word answer(System *s);

/* active_set.c */
word least_nonnegative(word n, const real *(*row_of)(void *, word), void *of, const real *f, const flag *warm, real *x,
                       real *room);

#endif
