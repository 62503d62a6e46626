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

static PyObject *special_loop(PyObject *const *args, int which, int code, double ns_each) {
    const int in_order = which != LOOP; /* a loop takes whatever has no gaps */
    if (in_order ? !is_plain(args[0]) : !(is_float(args[0]) && is_filled(ARRAY(args[0])))) return REFUSE;
    PyArrayObject *x = ARRAY(args[0]);
    Special s = {.which = which, .code = code, .x = DATA(x), .n = PyArray_SIZE(x)};
    if (which >= LOG_ADD) {
        if (!is_plain(args[1]) || PyArray_NDIM(ARRAY(args[1])) != PyArray_NDIM(x)) return REFUSE;
        if (!PyArray_CompareLists(PyArray_DIMS(ARRAY(args[1])), PyArray_DIMS(x), PyArray_NDIM(x))) return REFUSE;
        s.y = DATA(ARRAY(args[1]));
    }
    PyArrayObject *out = in_order ? array_like(x) : array_dense(x);
    if (!out) return NULL;
    s.out = DATA(out);
    const double ns = ns_each * (double)s.n;
    run_parts(special_part, &s, threads_parts(ns, (s.n + BLOCK - 1) / BLOCK), ns);
    return (PyObject *)out;
}

static PyObject *special(PyObject *const *args, int which, double ns_each) { return special_loop(args, which, 0, ns_each); }

static PyObject *lgamma_(PyObject *const *a, Py_ssize_t n, PyObject *attrs) { return special(a, LGAMMA, 4.0); }
static PyObject *digamma(PyObject *const *a, Py_ssize_t n, PyObject *attrs) { return special(a, DIGAMMA, 40.0); }
static PyObject *logaddexp(PyObject *const *a, Py_ssize_t n, PyObject *attrs) { return special(a, LOG_ADD, 4.0); }
static PyObject *xlogy(PyObject *const *a, Py_ssize_t n, PyObject *attrs) { return special(a, TIMES_LOG, 1.5); }

static PyObject *polygamma(PyObject *const *a, Py_ssize_t nargs, PyObject *attrs) { /* only the first of them */
    idx n;
    if (attr_idx(attrs, "n", &n) < 0) return NULL;
    return n == 1 ? special(a, TRIGAMMA, 40.0) : REFUSE;
}

#if defined(__aarch64__) /* k_angles.h */
#define ANGLE(name, kind, code, ns) \
    static PyObject *angle_##name(PyObject *const *a, Py_ssize_t n, PyObject *attrs) { return special_loop(a, kind, code, ns); }
ANGLE(tan, LOOP, U_TAN, 5.0)
ANGLE(asin, LOOP, U_ASIN, 4.0)
ANGLE(acos, LOOP, U_ACOS, 4.0)
ANGLE(atan, LOOP, U_ATAN, 5.0)
ANGLE(sinh, LOOP, U_SINH, 5.0)
ANGLE(cosh, LOOP, U_COSH, 5.0)
ANGLE(atanh, LOOP, U_ATANH, 5.0)
ANGLE(exp2, LOOP, U_EXP2, 1.5)
ANGLE(log2, LOOP, U_LOG2, 4.0)
ANGLE(log10, LOOP, U_LOG10, 4.0)
ANGLE(atan2, LOOP_OF_TWO, B_ATAN2, 5.0)
#endif

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

static PyObject *gate(PyObject *x_, PyObject *g, PyObject *attrs) {
    idx dim;
    if (attr_idx(attrs, "dim", &dim) < 0) return NULL;
    if (!is_plain(x_) || (g && !is_plain(g)) || PyArray_SIZE(ARRAY(x_)) == 0) return REFUSE;
    PyArrayObject *x = ARRAY(x_);
    const int ndim = PyArray_NDIM(x);
    if (ndim > DIMS || dim < 0 || dim >= ndim || PyArray_DIM(x, dim) % 2) return REFUSE;
    npy_intp shape[DIMS];
    Gate q = {.x = DATA(x), .g = g ? DATA(ARRAY(g)) : NULL, .outer = 1, .half = 1};
    for (int d = 0; d < ndim; d++) {
        shape[d] = d == dim ? PyArray_DIM(x, d) / 2 : PyArray_DIM(x, d);
        *(d < dim ? &q.outer : &q.half) *= shape[d];
    }
    if (g && PyArray_SIZE(ARRAY(g)) != q.outer * q.half) return REFUSE;
    PyArrayObject *out = g ? array_like(x) : array_new(ndim, shape, NPY_FLOAT32);
    if (!out) return NULL;
    q.out = DATA(out);
    const double ns = 2.0 * (double)(q.outer * q.half);
    run_parts(gate_part, &q, threads_parts(ns, q.outer * ((q.half + BLOCK - 1) / BLOCK)), ns);
    return (PyObject *)out;
}

static PyObject *glu(PyObject *const *a, Py_ssize_t n, PyObject *attrs) { return gate(a[0], NULL, attrs); }
static PyObject *glu_grad(PyObject *const *a, Py_ssize_t n, PyObject *attrs) { return gate(a[1], a[0], attrs); }

const Entry special_entries[] = {
#if defined(__aarch64__)
    {"tan", angle_tan}, {"asin", angle_asin}, {"acos", angle_acos}, {"atan", angle_atan},
    {"sinh", angle_sinh}, {"cosh", angle_cosh}, {"atanh", angle_atanh}, {"exp2", angle_exp2},
    {"log2", angle_log2}, {"log10", angle_log10}, {"atan2", angle_atan2},
#endif
    {"lgamma", lgamma_}, {"digamma", digamma}, {"polygamma", polygamma}, {"logaddexp", logaddexp}, {"xlogy", xlogy},
    {"glu", glu}, {"glu_grad", glu_grad}, {NULL, NULL},
};
