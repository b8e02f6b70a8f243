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

/* Before every function that Python calls. */
#ifdef _WIN32
#define API __declspec(dllexport)
#else
#define API __attribute__((visibility("default")))
#endif

static inline real dot(const real *x, const real *y, word n) {
    real s = 0;
    for (word i = 0; i < n; i++) s += x[i] * y[i];
    return s;
}

/* y += s x */
static inline void add(real s, const real *restrict x, real *restrict y, word n) {
    for (word i = 0; i < n; i++) y[i] += s * x[i];
}

static inline void fill(real value, real *x, word n) {
    for (word i = 0; i < n; i++) x[i] = value;
}

#endif
