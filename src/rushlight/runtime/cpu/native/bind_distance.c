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

static inline float sign(float v) { return (float)((v > 0.0f) - (v < 0.0f)); }

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

/* Fills in the shapes of rows and columns; 1, 0 where it is left to NumPy, -1 with an exception. */
static int pairs_of(Pairs *p, PyObject *x_, PyObject *y_, PyObject *attrs) {
    double order;
    if (attr_double(attrs, "p", &order) < 0) return -1;
    if (!is_plain(x_) || !is_plain(y_)) return 0;
    PyArrayObject *x = ARRAY(x_), *y = ARRAY(y_);
    const int ndim = PyArray_NDIM(x);
    if (ndim < 2 || ndim > DIMS || PyArray_NDIM(y) != ndim || !PyArray_SIZE(x) || !PyArray_SIZE(y)) return 0;
    p->batch = 1;
    for (int k = 0; k < ndim - 2; k++) {
        if (PyArray_DIM(x, k) != PyArray_DIM(y, k)) return 0;
        p->batch *= PyArray_DIM(x, k);
    }
    p->norm = order == 1.0 ? SUM_OF_SIZES : order == 2.0 ? EUCLIDEAN : LARGEST;
    p->n = PyArray_DIM(x, ndim - 1), p->rows = PyArray_DIM(x, ndim - 2), p->columns = PyArray_DIM(y, ndim - 2);
    p->x = DATA(x), p->y = DATA(y);
    return PyArray_DIM(y, ndim - 1) == p->n && (order == 1.0 || order == 2.0 || order == INFINITY);
}

static PyObject *cdist(PyObject *const *args, Py_ssize_t nargs, PyObject *attrs) {
    Pairs p;
    const int fits = pairs_of(&p, args[0], args[1], attrs);
    if (fits <= 0) return fits < 0 ? NULL : REFUSE;
    npy_intp shape[DIMS];
    const int ndim = PyArray_NDIM(ARRAY(args[0]));
    memcpy(shape, PyArray_DIMS(ARRAY(args[0])), sizeof(npy_intp) * (size_t)ndim);
    shape[ndim - 1] = p.columns;
    PyArrayObject *out = array_new(ndim, shape, NPY_FLOAT32);
    if (!out) return NULL;
    p.out = DATA(out);
    const double ns = (double)(p.batch * p.rows * p.columns) * (3.0 + 0.3 * (double)p.n);
    run_parts(distance_part, &p, threads_parts(ns, p.batch * p.rows), ns);
    return (PyObject *)out;
}

/* pair_distances_grad(g, x, y, distances): the gradient of x. */
static PyObject *cdist_grad(PyObject *const *args, Py_ssize_t nargs, PyObject *attrs) {
    Pairs p;
    const int fits = pairs_of(&p, args[1], args[2], attrs);
    if (fits <= 0) return fits < 0 ? NULL : REFUSE;
    if (!is_plain(args[0]) || !is_plain(args[3])) return REFUSE;
    const idx count = p.batch * p.rows * p.columns;
    if (PyArray_SIZE(ARRAY(args[0])) != count || PyArray_SIZE(ARRAY(args[3])) != count) return REFUSE;
    PyArrayObject *out = array_like(ARRAY(args[1]));
    if (!out) return NULL;
    p.g = DATA(ARRAY(args[0])), p.d = DATA(ARRAY(args[3])), p.out = DATA(out);
    const double ns = (double)count * (3.0 + 0.5 * (double)p.n);
    run_parts(gradient_part, &p, threads_parts(ns, p.batch * p.rows), ns);
    return (PyObject *)out;
}

const Entry distance_entries[] = {{"pair_distances", cdist, COPIES}, {"pair_distances_grad", cdist_grad, COPIES}, {NULL, NULL}};
