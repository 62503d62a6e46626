/* float16 and bfloat16 as bits: widened exactly, rounded to the nearest with ties to even. */
#ifndef RL_HALVES_H
#define RL_HALVES_H

#include <stdint.h>
#include <string.h>

#include "arrays.h"

enum { NO_HALF, FLOAT16, BFLOAT16 };

/* Which half precision an array holds; ml_dtypes' bfloat16 has the letter E. */
static inline int half_of(PyArrayObject *a) {
    if (!PyArray_ISNOTSWAPPED(a) || PyArray_ITEMSIZE(a) != 2) return NO_HALF;
    return PyArray_TYPE(a) == NPY_HALF ? FLOAT16 : PyArray_DESCR(a)->type == 'E' ? BFLOAT16 : NO_HALF;
}

static inline uint32_t float_bits(float v) {
    uint32_t u;
    memcpy(&u, &v, 4);
    return u;
}
static inline float bits_float(uint32_t u) {
    float v;
    memcpy(&v, &u, 4);
    return v;
}

static inline float wide_bfloat16(uint16_t h) { return bits_float((uint32_t)h << 16); }
static inline float wide_float16(uint16_t h) {
    const uint32_t sign = (uint32_t)(h & 0x8000) << 16, rest = h & 0x7fff;
    if (rest >= 0x7c00) return bits_float(sign | 0x7f800000 | (rest & 0x3ff) << 13);
    if (rest >= 0x400) return bits_float(sign | ((rest << 13) + 0x38000000));
    return bits_float(sign | float_bits((float)rest * 0x1p-24f));
}

static inline uint16_t round_bfloat16(float v) {
    const uint32_t u = float_bits(v);
    if ((u & 0x7fffffff) > 0x7f800000) return (uint16_t)(u >> 16 & 0x8000) | 0x7fc0;
    return (uint16_t)((u + 0x7fff + (u >> 16 & 1)) >> 16);
}
static inline uint16_t round_float16(float v) {
    const uint32_t u = float_bits(v), rest = u & 0x7fffffff;
    const uint16_t sign = (uint16_t)(u >> 16 & 0x8000);
    if (rest > 0x7f800000) return sign | 0x7e00;
    if (rest >= 0x477ff000) return sign | 0x7c00; /* 65520 and more */
    if (rest >= 0x38800000) return sign | (uint16_t)((rest + 0xfff + (rest >> 13 & 1) - 0x38000000) >> 13);
    /* Below the smallest normal number: the last bit of 0.5 is worth as much as float16's. */
    return sign | (uint16_t)(float_bits(bits_float(rest) + 0.5f) - 0x3f000000);
}

static inline void widen_row(int half, const uint16_t *x, float *y, idx n) {
    if (half == BFLOAT16)
        for (idx i = 0; i < n; i++) y[i] = wide_bfloat16(x[i]);
    else
        for (idx i = 0; i < n; i++) y[i] = wide_float16(x[i]);
}
static inline void round_row(int half, const float *x, uint16_t *y, idx n) {
    if (half == BFLOAT16)
        for (idx i = 0; i < n; i++) y[i] = round_bfloat16(x[i]);
    else
        for (idx i = 0; i < n; i++) y[i] = round_float16(x[i]);
}

#endif
