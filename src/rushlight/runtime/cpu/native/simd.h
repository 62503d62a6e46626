/* Vectors of floats by the compiler's vector extensions: one spelling for NEON, SSE, AVX2, AVX-512.
 *
 * A loops file (k_*.h) is compiled once per instruction set by loops.c, which sets VL (floats in a vector)
 * and ISA (a suffix for the names) before it includes this. */
#ifndef RL_SIMD_H
#define RL_SIMD_H

#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#if defined(__aarch64__)
#include <arm_neon.h>
#elif defined(__x86_64__) && VL > 4
#include <immintrin.h>
#endif

#define RL_JOIN2(a, b) a##_##b
#define RL_JOIN(a, b) RL_JOIN2(a, b)
#define K(name) RL_JOIN(name, ISA)

/* Loops over registers must vanish, or the arrays that stand for registers go to memory. */
#define UNROLL _Pragma("GCC unroll 16")
#define INLINE static inline __attribute__((always_inline))

typedef ptrdiff_t idx;
typedef float vf __attribute__((vector_size(VL * 4)));
typedef int32_t vi __attribute__((vector_size(VL * 4)));
typedef float vf_any __attribute__((vector_size(VL * 4), aligned(4), may_alias));

typedef float v4 __attribute__((vector_size(16))); /* every machine has these */
typedef float v4_any __attribute__((vector_size(16), aligned(4), may_alias));

INLINE vf load(const float *p) { return *(const vf_any *)p; }
INLINE void store(float *p, vf v) { *(vf_any *)p = v; }
INLINE vf spread(float x) { return x - (vf){0}; }
INLINE vi spread_i(int32_t x) { return x - (vi){0}; }
INLINE vf pick(vi mask, vf a, vf b) { return (vf)((mask & (vi)a) | (~mask & (vi)b)); }
#if defined(__aarch64__) && VL == 4
INLINE vf vmax(vf a, vf b) { return (vf)vmaxq_f32((float32x4_t)a, (float32x4_t)b); }
INLINE vf vmin(vf a, vf b) { return (vf)vminq_f32((float32x4_t)a, (float32x4_t)b); }
#elif defined(__x86_64__) && VL == 16
INLINE vf vmax(vf a, vf b) { return (vf)_mm512_max_ps((__m512)a, (__m512)b); }
INLINE vf vmin(vf a, vf b) { return (vf)_mm512_min_ps((__m512)a, (__m512)b); }
#elif defined(__x86_64__) && VL == 8
INLINE vf vmax(vf a, vf b) { return (vf)_mm256_max_ps((__m256)a, (__m256)b); }
INLINE vf vmin(vf a, vf b) { return (vf)_mm256_min_ps((__m256)a, (__m256)b); }
#else
INLINE vf vmax(vf a, vf b) { return pick(a > b, a, b); }
INLINE vf vmin(vf a, vf b) { return pick(a < b, a, b); }
#endif
/* The value itself, rounded: no product that makes it becomes part of a later multiply-add, which would not overflow. */
INLINE vf rounded(vf v) {
#if defined(__aarch64__) && VL == 4
    __asm__("" : "+w"(v));
#elif defined(__x86_64__) && VL == 16
    __asm__("" : "+v"(v));
#elif defined(__x86_64__)
    __asm__("" : "+x"(v));
#endif
    return v;
}
/* Inside two bounds; NaN stays NaN, since the second operand of a comparison that fails is the answer. */
INLINE vf vwithin(vf low, vf x, vf high) { return vmin(high, vmax(low, x)); }
INLINE vf vabs(vf a) { return (vf)((vi)a & spread_i(0x7fffffff)); }

/* Numbers below 2^-125 as zeros of their sign: the processor takes a hundred times as long for those that are too small
 * for a whole fraction, and what decays without end (the momentum of a unit that is never active) would stay one of them. */
INLINE vf without_tiny(vf v) {
    const vi tiny = (vi)vabs(v) < spread_i(0x01000000);
    return (vf)((vi)v & (~tiny | spread_i(INT32_MIN)));
}

INLINE float total(vf v) {
#if defined(__aarch64__) && VL == 4
    return vaddvq_f32((float32x4_t)v);
#else /* halves upon halves, by shuffles: through memory it takes five times as long */
#if VL == 16
    v += __builtin_shufflevector(v, v, 8, 9, 10, 11, 12, 13, 14, 15, 0, 1, 2, 3, 4, 5, 6, 7);
    v += __builtin_shufflevector(v, v, 4, 5, 6, 7, 0, 1, 2, 3, 12, 13, 14, 15, 8, 9, 10, 11);
#elif VL == 8
    v += __builtin_shufflevector(v, v, 4, 5, 6, 7, 0, 1, 2, 3);
#endif
    const v4 a = __builtin_shufflevector(v, v, 0, 1, 2, 3);
    const v4 b = a + __builtin_shufflevector(a, a, 2, 3, 0, 1);
    return b[0] + b[1];
#endif
}

/* The sums of four vectors, side by side: a tree of shuffles for all of them costs a third of four sums. */
INLINE v4 totals(vf a, vf b, vf c, vf d) {
#if VL == 4
#define PAIRS_LOW(a, b) __builtin_shufflevector(a, b, 0, 4, 1, 5)
#define PAIRS_HIGH(a, b) __builtin_shufflevector(a, b, 2, 6, 3, 7)
#define HALVES_LOW(a, b) __builtin_shufflevector(a, b, 0, 1, 4, 5)
#define HALVES_HIGH(a, b) __builtin_shufflevector(a, b, 2, 3, 6, 7)
#elif VL == 8
#define PAIRS_LOW(a, b) __builtin_shufflevector(a, b, 0, 8, 1, 9, 4, 12, 5, 13)
#define PAIRS_HIGH(a, b) __builtin_shufflevector(a, b, 2, 10, 3, 11, 6, 14, 7, 15)
#define HALVES_LOW(a, b) __builtin_shufflevector(a, b, 0, 1, 8, 9, 4, 5, 12, 13)
#define HALVES_HIGH(a, b) __builtin_shufflevector(a, b, 2, 3, 10, 11, 6, 7, 14, 15)
#else
#define PAIRS_LOW(a, b) \
    __builtin_shufflevector(a, b, 0, 16, 1, 17, 4, 20, 5, 21, 8, 24, 9, 25, 12, 28, 13, 29)
#define PAIRS_HIGH(a, b) \
    __builtin_shufflevector(a, b, 2, 18, 3, 19, 6, 22, 7, 23, 10, 26, 11, 27, 14, 30, 15, 31)
#define HALVES_LOW(a, b) \
    __builtin_shufflevector(a, b, 0, 1, 16, 17, 4, 5, 20, 21, 8, 9, 24, 25, 12, 13, 28, 29)
#define HALVES_HIGH(a, b) \
    __builtin_shufflevector(a, b, 2, 3, 18, 19, 6, 7, 22, 23, 10, 11, 26, 27, 14, 15, 30, 31)
#endif
    const vf ab = PAIRS_LOW(a, b) + PAIRS_HIGH(a, b), cd = PAIRS_LOW(c, d) + PAIRS_HIGH(c, d);
    const vf all = HALVES_LOW(ab, cd) + HALVES_HIGH(ab, cd); /* four sums in each quarter */
#if VL == 4
    return all;
#elif VL == 8
    return __builtin_shufflevector(all, all, 0, 1, 2, 3) + __builtin_shufflevector(all, all, 4, 5, 6, 7);
#else
    return (__builtin_shufflevector(all, all, 0, 1, 2, 3) + __builtin_shufflevector(all, all, 4, 5, 6, 7)) +
           (__builtin_shufflevector(all, all, 8, 9, 10, 11) + __builtin_shufflevector(all, all, 12, 13, 14, 15));
#endif
#undef PAIRS_LOW
#undef PAIRS_HIGH
#undef HALVES_LOW
#undef HALVES_HIGH
}

/* Four rows of four, `from` apart, written as columns, `to` apart. */
INLINE void square(const float *src, idx from, float *dst, idx to) {
    const v4 r0 = *(const v4_any *)src, r1 = *(const v4_any *)(src + from);
    const v4 r2 = *(const v4_any *)(src + 2 * from), r3 = *(const v4_any *)(src + 3 * from);
    const v4 a = __builtin_shufflevector(r0, r1, 0, 4, 1, 5), b = __builtin_shufflevector(r0, r1, 2, 6, 3, 7);
    const v4 c = __builtin_shufflevector(r2, r3, 0, 4, 1, 5), d = __builtin_shufflevector(r2, r3, 2, 6, 3, 7);
    *(v4_any *)dst = __builtin_shufflevector(a, c, 0, 1, 4, 5);
    *(v4_any *)(dst + to) = __builtin_shufflevector(a, c, 2, 3, 6, 7);
    *(v4_any *)(dst + 2 * to) = __builtin_shufflevector(b, d, 0, 1, 4, 5);
    *(v4_any *)(dst + 3 * to) = __builtin_shufflevector(b, d, 2, 3, 6, 7);
}

#if defined(__x86_64__) && VL == 16
/* Sixteen rows of four, `from` apart, written as four columns, `to` apart: each quarter of a register is a square. */
INLINE void tall_square(const float *src, idx from, float *dst, idx to) {
    __m512 row[4];
    UNROLL for (int i = 0; i < 4; i++) {
        const float *at = src + i * from;
        row[i] = _mm512_castps128_ps512(_mm_loadu_ps(at));
        row[i] = _mm512_insertf32x4(row[i], _mm_loadu_ps(at + 4 * from), 1);
        row[i] = _mm512_insertf32x4(row[i], _mm_loadu_ps(at + 8 * from), 2);
        row[i] = _mm512_insertf32x4(row[i], _mm_loadu_ps(at + 12 * from), 3);
    }
    const __m512 a = _mm512_unpacklo_ps(row[0], row[1]), b = _mm512_unpackhi_ps(row[0], row[1]);
    const __m512 c = _mm512_unpacklo_ps(row[2], row[3]), d = _mm512_unpackhi_ps(row[2], row[3]);
    _mm512_storeu_ps(dst, _mm512_shuffle_ps(a, c, 0x44));
    _mm512_storeu_ps(dst + to, _mm512_shuffle_ps(a, c, 0xee));
    _mm512_storeu_ps(dst + 2 * to, _mm512_shuffle_ps(b, d, 0x44));
    _mm512_storeu_ps(dst + 3 * to, _mm512_shuffle_ps(b, d, 0xee));
}
#endif

INLINE float largest(vf v) {
    float best = v[0];
    for (int i = 1; i < VL; i++) best = v[i] > best ? v[i] : best;
    return best;
}

/* VL floats, every other one: the second vector begins a float early, to end with the last one. */
INLINE vf load_evens(const float *p) {
    const vf a = load(p), b = load(p + VL - 1);
#if VL == 4
    return __builtin_shufflevector(a, b, 0, 2, 5, 7);
#elif VL == 8
    return __builtin_shufflevector(a, b, 0, 2, 4, 6, 9, 11, 13, 15);
#else
    return __builtin_shufflevector(a, b, 0, 2, 4, 6, 8, 10, 12, 14, 17, 19, 21, 23, 25, 27, 29, 31);
#endif
}

/* The even and the odd ones of 2 VL floats. */
#if VL == 4
#define EVENS(a, b) __builtin_shufflevector(a, b, 0, 2, 4, 6)
#define ODDS(a, b) __builtin_shufflevector(a, b, 1, 3, 5, 7)
#elif VL == 8
#define EVENS(a, b) __builtin_shufflevector(a, b, 0, 2, 4, 6, 8, 10, 12, 14)
#define ODDS(a, b) __builtin_shufflevector(a, b, 1, 3, 5, 7, 9, 11, 13, 15)
#else
#define EVENS(a, b) __builtin_shufflevector(a, b, 0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30)
#define ODDS(a, b) __builtin_shufflevector(a, b, 1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31)
#endif

/* A partial vector: `n` < VL floats, the rest zero (or `fill`). */
#if defined(__x86_64__) && VL == 16
INLINE vf load_some(const float *p, idx n, float fill) {
    return (vf)_mm512_mask_loadu_ps((__m512)spread(fill), (__mmask16)((1u << n) - 1), p);
}

INLINE void store_some(float *p, vf v, idx n) { _mm512_mask_storeu_ps(p, (__mmask16)((1u << n) - 1), (__m512)v); }
#else
INLINE vf load_some(const float *p, idx n, float fill) {
    float s[VL];
    for (int i = 0; i < VL; i++) s[i] = fill;
    memcpy(s, p, (size_t)n * 4);
    return load(s);
}

INLINE void store_some(float *p, vf v, idx n) {
    float s[VL];
    store(s, v);
    memcpy(p, s, (size_t)n * 4);
}
#endif

/* Whether rows may end within a vector: where a load or a store of a part of one costs nothing. */
#if defined(__x86_64__) && VL == 16
#define WHOLE_ROWS 1
#else
#define WHOLE_ROWS 0
#endif

/* A vector, or what is `left` of one at the end of a row. */
#define GET(p) (left >= VL ? load(p) : load_some(p, left, 0))
#define PUT(p, v) \
    do { \
        if (left >= VL) store(p, v); \
        else store_some(p, v, left); \
    } while (0)

INLINE vf vsqrt(vf v) {
#if defined(__aarch64__) && VL == 4
    return (vf)vsqrtq_f32((float32x4_t)v);
#elif defined(__x86_64__) && VL == 16
    return (vf)_mm512_sqrt_ps((__m512)v);
#elif defined(__x86_64__) && VL == 8
    return (vf)_mm256_sqrt_ps((__m256)v);
#else
    vf r;
    for (int i = 0; i < VL; i++) r[i] = sqrtf(v[i]);
    return r;
#endif
}

/* a * b + a constant. With NEON the sum takes the constant's register, and a copy made before takes the time of a
 * multiplication: it is read from memory instead, where nothing else waits. (`b` keeps it from being read once for all.) */
#if defined(__aarch64__) && VL == 4
#define TIMES_PLUS(a, b, constant) \
    ({ \
        static const float same_[4] __attribute__((aligned(16))) = {constant, constant, constant, constant}; \
        const vf by_ = (b); \
        vf sum_; \
        __asm__("ldr %q0, %1" : "=w"(sum_) : "m"(*(const float32x4_t *)same_), "w"(by_)); \
        sum_ += (a) * by_; \
        sum_; \
    })
#else
#define TIMES_PLUS(a, b, constant) ((a) * (b) + spread(constant))
#endif

INLINE vf as_float(vi v) { return __builtin_convertvector(v, vf); }
INLINE vi as_int(vf v) { return __builtin_convertvector(v, vi); }

/* Nearest integer as a float, for |x| < 2^22: adding 1.5 * 2^23 leaves no bits for a fraction. */
INLINE vf vnearest(vf x) {
#if defined(__aarch64__) && VL == 4
    return (vf)vrndnq_f32((float32x4_t)x);
#elif defined(__x86_64__) && VL == 16
    return (vf)_mm512_roundscale_ps((__m512)x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
#elif defined(__x86_64__) && VL == 8
    return (vf)_mm256_round_ps((__m256)x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
#else
    const vf big = spread(12582912.0f);
    return (x + big) - big;
#endif
}

/* x * 2^n for whole n, exact where the result is tiny. */
INLINE vf vscale(vf x, vf n) {
#if defined(__x86_64__) && VL == 16
    return (vf)_mm512_scalef_ps((__m512)x, (__m512)n);
#else
    const vi whole = as_int(n), half = whole >> 1;
    return x * (vf)((half + 127) << 23) * (vf)((whole - half + 127) << 23);
#endif
}

/* 1 / x for x in [1, 2^100], within 1 ulp: where dividing is slow, an estimate and Newton's step. */
INLINE vf vinverse(vf x) {
#if defined(__x86_64__) && VL == 16
    const vf y = (vf)_mm512_rcp14_ps((__m512)x);
    return y + y * (spread(1.0f) - x * y);
#else
    return spread(1.0f) / x;
#endif
}

#endif
