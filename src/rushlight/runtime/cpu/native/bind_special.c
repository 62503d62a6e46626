/* Functions that are rarer: gamma's logarithm and its slopes; log(e^x + e^y), x log(y); angles where NumPy is slow; gates. */
#include <math.h>

#include "arrays.h"
#include "codes.h"

#define BLOCK 512 /* numbers at a time, in the first cache */

enum { LGAMMA, DIGAMMA, TRIGAMMA, LOOP, LOG_ADD, TIMES_LOG, LOOP_OF_TWO }; /* from LOG_ADD on of two arrays */

typedef struct {
    int which, code; /* code: of a loop */
    const float *x, *y;
    float *out;
    idx n;
} Special;

static inline float log_gamma(float x) {
    if (isinf(x)) return INFINITY;
#if defined(__GLIBC__)
    int sign; /* the plain function writes it to a global */
    return lgammaf_r(x, &sign);
#else
    return lgammaf(x);
#endif
}

/* Up to 6 by its recurrence, as one quotient, from there by Euler and Maclaurin's series; below 0 it is mirrored. */
static float digamma_of(float given) {
    double x = (double)given, total = 0;
    if (x == 0) return copysignf(INFINITY, -given);
    if (x < 0) {
        const double part = x - rint(x);
        if (isinf(x) || part == 0) return NAN;
        total = -M_PI / tan(M_PI * part);
        x = 1 - x;
    }
    double above = 0, below = 1;
    for (; x < 6; x += 1) above = above * x + below, below *= x;
    total -= above / below;
    const double s = 1 / (x * x);
    const double series = s * (1.0 / 12 - s * (1.0 / 120 - s * (1.0 / 252 - s * (1.0 / 240 - s * (1.0 / 132 - s * (691.0 / 32760))))));
    return (float)(total + log(x) - 0.5 / x - series);
}

/* The slope of digamma, by the same steps; at poles infinite. */
static float trigamma_of(float given) {
    double x = (double)given, total = 0, sign = 1;
    if (x <= 0) {
        const double part = x - rint(x);
        if (isinf(x) || part == 0) return INFINITY;
        const double s = M_PI / sin(M_PI * part);
        total = s * s, sign = -1, x = 1 - x;
    }
    double above = 0, below = 1;
    for (; x < 6; x += 1) above = above * (x * x) + below, below *= x * x;
    const double sum = above / below;
    const double s = 1 / (x * x);
    const double series = s / x * (1.0 / 6 - s * (1.0 / 30 - s * (1.0 / 42 - s * (1.0 / 30 - s * (5.0 / 66 - s * (691.0 / 2730))))));
    return (float)(total + sign * (sum + 1 / x + 0.5 * s + series));
}

/* The larger plus log(1 + e^-distance); equal ones, infinities among them, are a doubling. */
static void log_add_block(const float *x, const float *y, float *out, idx n) {
    float d[BLOCK];
    RL->binary(B_SUB, x, y, d, n);
    for (idx i = 0; i < n; i++) d[i] = -fabsf(d[i]);
    RL->unary(U_EXP, d, d, n);
    RL->unary(U_LOG1P, d, d, n);
    for (idx i = 0; i < n; i++) {
        const float top = x[i] > y[i] || x[i] != x[i] ? x[i] : y[i];
        out[i] = x[i] == y[i] ? x[i] + 0.693147180559945309f : top + d[i];
    }
}

/* x log(y), 0 where x is, unless y is NaN. */
static void times_log_block(const float *x, const float *y, float *out, idx n) {
    float d[BLOCK];
    RL->unary(U_LOG, y, d, n);
    for (idx i = 0; i < n; i++) out[i] = x[i] == 0 && y[i] == y[i] ? 0.0f : x[i] * d[i];
}

static void special_part(void *what, ptrdiff_t i, ptrdiff_t parts) {
    const Special *s = what;
    for (idx k = share(s->n, i, parts), end = share(s->n, i + 1, parts); k < end; k += BLOCK) {
        const idx n = end - k < BLOCK ? end - k : BLOCK;
        const float *x = s->x + k;
        float *out = s->out + k;
        switch (s->which) {
        case LGAMMA:
            RL->log_gamma(x, out, n);
            for (idx j = 0; j < n; j++)
                if (!(x[j] > 0.0f && x[j] < INFINITY)) out[j] = log_gamma(x[j]);
            break;
        case DIGAMMA:
            for (idx j = 0; j < n; j++) out[j] = digamma_of(x[j]);
            break;
        case TRIGAMMA:
            for (idx j = 0; j < n; j++) out[j] = trigamma_of(x[j]);
            break;
        case TIMES_LOG: times_log_block(x, s->y + k, out, n); break;
        case LOG_ADD: log_add_block(x, s->y + k, out, n); break;
        case LOOP: RL->unary(s->code, x, out, n); break;
        case LOOP_OF_TWO: RL->binary(s->code, x, s->y + k, out, n); break;
        }
    }
}

/* What a kernel computes with, and about how long a number takes. */
#define AND_CODE(which, code) ((which) | (code) << 8)
static void special(Call *c) {
    static const double ns_each[] = {[LGAMMA] = 4.0, [DIGAMMA] = 40.0, [TRIGAMMA] = 40.0, [LOG_ADD] = 4.0, [TIMES_LOG] = 1.5, [LOOP] = 5.0, [LOOP_OF_TWO] = 5.0};
    Special s = {.which = c->which & 255, .code = c->which >> 8};
    const int in_order = s.which != LOOP; /* a loop takes whatever has no gaps */
    if (s.which == TRIGAMMA && !need(c, idx_of(c, "n") == 1)) return; /* polygamma: only the first of them */
    PyArrayObject *x = in_order ? floats(c, 0) : strided(c, 0);
    if (!x || !need(c, in_order || is_filled(x))) return;
    if (s.which >= LOG_ADD) s.y = DATA_OR_NULL(floats_like(c, 1, x));
    s.x = DATA(x), s.n = PyArray_SIZE(x), s.out = in_order ? new_like(c, x) : new_made(c, array_dense(x));
    const double ns = s.which == LOOP && s.code == U_EXP2 ? 1.5 : ns_each[s.which];
    if (!c->ends) run_shared(special_part, &s, (s.n + BLOCK - 1) / BLOCK, ns * (double)s.n);
}

/* -- gates: the first half of a dim times the sigmoid of the second ---------------------------------------- */

typedef struct {
    const float *x, *g;
    float *out;
    idx outer, half; /* half: numbers of a half, those behind the dim included */
} Gate;

static void gate_part(void *what, ptrdiff_t i, ptrdiff_t parts) {
    const Gate *q = what;
    const idx blocks = (q->half + BLOCK - 1) / BLOCK;
    float s[BLOCK];
    for (idx k = share(q->outer * blocks, i, parts); k < share(q->outer * blocks, i + 1, parts); k++) {
        const idx o = k / blocks, first = k % blocks * BLOCK, n = q->half - first < BLOCK ? q->half - first : BLOCK;
        const float *a = q->x + o * 2 * q->half + first;
        RL->unary(U_SIGMOID, a + q->half, s, n);
        if (!q->g) {
            RL->binary(B_MUL, a, s, q->out + o * q->half + first, n);
            continue;
        }
        const float *g = q->g + o * q->half + first;
        float *to = q->out + o * 2 * q->half + first, *gate = to + q->half;
        RL->binary(B_MUL, g, s, to, n);
        for (idx j = 0; j < n; j++) gate[j] = (1 - s[j]) * s[j] * g[j] * a[j];
    }
}

/* glu(x), or of `which` 1 its gradient (g, x) */
static void gate(Call *c) {
    const idx dim = idx_of(c, "dim");
    PyArrayObject *x = floats(c, c->which);
    if (!x || !need(c, PyArray_SIZE(x) > 0 && PyArray_NDIM(x) <= DIMS && dim >= 0 && dim < PyArray_NDIM(x) && PyArray_DIM(x, dim) % 2 == 0)) return;
    npy_intp shape[DIMS];
    Gate q = {.x = DATA(x), .outer = 1, .half = 1};
    for (int d = 0; d < PyArray_NDIM(x); d++) {
        shape[d] = d == dim ? PyArray_DIM(x, d) / 2 : PyArray_DIM(x, d);
        *(d < dim ? &q.outer : &q.half) *= shape[d];
    }
    if (c->which) q.g = some_floats(c, 0, q.outer * q.half);
    q.out = c->which ? new_like(c, x) : new_floats(c, PyArray_NDIM(x), shape);
    if (!c->ends) run_shared(gate_part, &q, q.outer * ((q.half + BLOCK - 1) / BLOCK), 2.0 * (double)(q.outer * q.half));
}

#define SPECIAL(name, number) BOUND(name, special, .which = number)
const Entry special_entries[] = {
#if defined(__aarch64__) /* k_angles.h */
    SPECIAL("tan", AND_CODE(LOOP, U_TAN)), SPECIAL("asin", AND_CODE(LOOP, U_ASIN)), SPECIAL("acos", AND_CODE(LOOP, U_ACOS)),
    SPECIAL("atan", AND_CODE(LOOP, U_ATAN)), SPECIAL("sinh", AND_CODE(LOOP, U_SINH)), SPECIAL("cosh", AND_CODE(LOOP, U_COSH)),
    SPECIAL("atanh", AND_CODE(LOOP, U_ATANH)), SPECIAL("exp2", AND_CODE(LOOP, U_EXP2)), SPECIAL("log2", AND_CODE(LOOP, U_LOG2)),
    SPECIAL("log10", AND_CODE(LOOP, U_LOG10)), SPECIAL("atan2", AND_CODE(LOOP_OF_TWO, B_ATAN2)),
#endif
    SPECIAL("lgamma", LGAMMA), SPECIAL("digamma", DIGAMMA), SPECIAL("polygamma", TRIGAMMA), SPECIAL("logaddexp", LOG_ADD),
    SPECIAL("xlogy", TIMES_LOG), BOUND("glu", gate, .which = 0), BOUND("glu_grad", gate, .which = 1), {NULL},
};
