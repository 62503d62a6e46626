/* Distances between all rows of two matrices, and their gradient. */
#include <math.h>

#include "arrays.h"

typedef float v4 __attribute__((vector_size(16)));
typedef float v4_any __attribute__((vector_size(16), aligned(4), may_alias));
typedef int32_t i4 __attribute__((vector_size(16)));

enum { SUM_OF_SIZES, EUCLIDEAN, LARGEST };

typedef struct {
    int norm;
    const float *g, *x, *y, *d; /* x of [batch][rows][n], y of [batch][columns][n], g and d of [batch][rows][columns] */
    float *out;
    idx batch, rows, columns, n;
} Pairs;

static inline v4 sizes(v4 v) { return (v4)((i4)v & 0x7fffffff); }

static inline float distance(int norm, const float *x, const float *y, idx n) {
    v4 s = {0}, t = {0};
    float sum = 0.0f;
    idx k = 0;
    if (norm == EUCLIDEAN) {
        for (; k + 8 <= n; k += 8) {
            const v4 a = *(const v4_any *)(x + k) - *(const v4_any *)(y + k), b = *(const v4_any *)(x + k + 4) - *(const v4_any *)(y + k + 4);
            s += a * a, t += b * b;
        }
        for (; k < n; k++) sum += (x[k] - y[k]) * (x[k] - y[k]);
    } else if (norm == SUM_OF_SIZES) {
        for (; k + 8 <= n; k += 8) {
            s += sizes(*(const v4_any *)(x + k) - *(const v4_any *)(y + k));
            t += sizes(*(const v4_any *)(x + k + 4) - *(const v4_any *)(y + k + 4));
        }
        for (; k < n; k++) sum += fabsf(x[k] - y[k]);
    } else {
        for (; k + 4 <= n; k += 4) { /* a NaN stays: nothing is larger */
            const v4 size = sizes(*(const v4_any *)(x + k) - *(const v4_any *)(y + k));
            const i4 new = (size > s) | (size != size);
            s = (v4)((new & (i4)size) | (~new & (i4)s));
        }
        for (int i = 0; i < 4; i++) sum = s[i] > sum || s[i] != s[i] ? s[i] : sum;
        for (; k < n; k++) {
            const float size = fabsf(x[k] - y[k]);
            sum = size > sum || size != size ? size : sum;
        }
        return sum;
    }
    s += t;
    sum += (s[0] + s[2]) + (s[1] + s[3]);
    return norm == EUCLIDEAN ? sqrtf(sum) : sum;
}

static void distance_part(void *what, ptrdiff_t i, ptrdiff_t parts) {
    const Pairs *p = what;
    const idx n = p->n;
    for (idx r = share(p->batch * p->rows, i, parts); r < share(p->batch * p->rows, i + 1, parts); r++) {
        const float *x = p->x + r * n, *y = p->y + r / p->rows * p->columns * n;
        float *out = p->out + r * p->columns;
        switch (p->norm) { /* a loop for each */
        case SUM_OF_SIZES:
            for (idx c = 0; c < p->columns; c++) out[c] = distance(SUM_OF_SIZES, x, y + c * n, n);
            break;
        case EUCLIDEAN:
            for (idx c = 0; c < p->columns; c++) out[c] = distance(EUCLIDEAN, x, y + c * n, n);
            break;
        default:
            for (idx c = 0; c < p->columns; c++) out[c] = distance(LARGEST, x, y + c * n, n);
        }
    }
}

static inline float sign(float v) { return v != v ? v : (float)((v > 0.0f) - (v < 0.0f)); }

static void gradient_part(void *what, ptrdiff_t i, ptrdiff_t parts) {
    const Pairs *p = what;
    const idx n = p->n;
    for (idx r = share(p->batch * p->rows, i, parts); r < share(p->batch * p->rows, i + 1, parts); r++) {
        const float *restrict x = p->x + r * n, *g = p->g + r * p->columns, *d = p->d + r * p->columns;
        const float *restrict y = p->y + r / p->rows * p->columns * n;
        float *restrict out = p->out + r * n;
        memset(out, 0, (size_t)n * 4);
        for (idx c = 0; c < p->columns; c++, y += n) {
            const float by = g[c], far = d[c];
            if (p->norm == EUCLIDEAN) {
                const float slope = far == 0.0f ? 0.0f : by / far;
                for (idx k = 0; k < n; k++) out[k] += slope * (x[k] - y[k]);
            } else if (p->norm == SUM_OF_SIZES)
                for (idx k = 0; k < n; k++) out[k] += by * sign(x[k] - y[k]);
            else
                for (idx k = 0; k < n; k++) {
                    const float v = x[k] - y[k];
                    out[k] += by * sign(v) * (fabsf(v) == far ? 1.0f : 0.0f); /* a gradient that is nan or inf spreads */
                }
        }
    }
}

/* Fills in what arguments `first` and the next one and the attribute say; whether the call goes on. */
static int pairs_of(Call *c, Pairs *p, int first) {
    const double order = double_of(c, "p");
    PyArrayObject *x = floats(c, first), *y = floats(c, first + 1);
    if (c->ends || !need(c, PyArray_NDIM(x) >= 2 && PyArray_NDIM(x) <= DIMS && PyArray_NDIM(y) == PyArray_NDIM(x))) return 0;
    const int last = PyArray_NDIM(x) - 1;
    p->norm = order == 1.0 ? SUM_OF_SIZES : order == 2.0 ? EUCLIDEAN : LARGEST;
    p->batch = PyArray_MultiplyList(PyArray_DIMS(x), last - 1);
    p->n = PyArray_DIM(x, last), p->rows = PyArray_DIM(x, last - 1), p->columns = PyArray_DIM(y, last - 1);
    p->x = DATA(x), p->y = DATA(y);
    return need(c, PyArray_SIZE(x) && PyArray_SIZE(y) && PyArray_CompareLists(PyArray_DIMS(x), PyArray_DIMS(y), last - 1) &&
                       PyArray_DIM(y, last) == p->n && (order == 1.0 || order == 2.0 || order == INFINITY));
}

static void cdist(Call *c) {
    Pairs p;
    npy_intp shape[DIMS];
    if (!pairs_of(c, &p, 0)) return;
    const int ndim = PyArray_NDIM(ARRAY(c->args[0]));
    memcpy(shape, PyArray_DIMS(ARRAY(c->args[0])), sizeof(npy_intp) * (size_t)ndim);
    shape[ndim - 1] = p.columns;
    if ((p.out = new_floats(c, ndim, shape)))
        run_shared(distance_part, &p, p.batch * p.rows, (double)(p.batch * p.rows * p.columns) * (3.0 + 0.3 * (double)p.n));
}

/* pair_distances_grad(g, x, y, distances): the gradient of x. */
static void cdist_grad(Call *c) {
    Pairs p;
    if (!pairs_of(c, &p, 1)) return;
    const idx count = p.batch * p.rows * p.columns;
    p.g = some_floats(c, 0, count), p.d = some_floats(c, 3, count);
    if ((p.out = new_like(c, ARRAY(c->args[1])))) run_shared(gradient_part, &p, p.batch * p.rows, (double)count * (3.0 + 0.5 * (double)p.n));
}

const Entry distance_entries[] = {BOUND("pair_distances", cdist, .copies = COPIES), BOUND("pair_distances_grad", cdist_grad, .copies = COPIES), {NULL}};
