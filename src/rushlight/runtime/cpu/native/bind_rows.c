/* Reductions of whole rows: the largest, the length, the logarithm of a sum of exponentials; and running sums. */
#include "arrays.h"
#include "codes.h"
#include <float.h>

typedef struct {
    int which;
    const float *x;
    float *out;
    idx rows, n;
    double freedom;
    int beyond; /* a variance that leaves float's range */
} Rows;

enum { LARGEST, SMALLEST, LENGTH, LOG_SUM, VARIANCE, DEVIATION, NO_NANS };

/* log(sum of exp): a row whose largest number is no number of its own kind is that number. */
float log_sum(const float *x, idx n) {
    float both[2];
    RL->softmax_sums(x, n, both);
    if (isfinite(both[0])) return logf(both[1]) + both[0];
    for (idx i = 0; i < n; i++)
        if (x[i] != x[i]) return NAN;
    return both[0];
}

static float length(const float *x, idx n) {
    double sum = 0, square = 0;
    RL->moments(x, n, &sum, &square, 0.0f);
    return (float)sqrt(square);
}

/* The mean of squared distances from the mean; nan or more than a float holds where NumPy's body has to look at it. */
static double variance(const float *x, idx n, double freedom) {
    double sum = 0, square = 0;
    RL->moments(x, n, &sum, &square, RL->sum(x, n) / (float)n);
    const double total = square - sum * (sum / (double)n);
    return (total < 0 ? 0 : total) / (freedom > 0 ? freedom : 0.0);
}

static float variance_within(Rows *q, const float *x) {
    const double found = variance(x, q->n, q->freedom);
    if (!(found <= FLT_MAX)) __atomic_store_n(&q->beyond, 1, __ATOMIC_RELAXED);
    return (float)(q->which == DEVIATION ? sqrt(found) : found);
}

/* NaN counts as 0, some numbers at a time, in the first cache. */
static double sum_of_numbers(const float *x, idx n) {
    static const float instead[3] = {0.0f, INFINITY, -INFINITY};
    float some[1024];
    double all = 0;
    for (idx i = 0; i < n; i += 1024) {
        const idx m = n - i < 1024 ? n - i : 1024;
        RL->active(A_NUMBERS, instead, x + i, some, m);
        all += (double)RL->sum(some, m);
    }
    return all;
}

static void rows_part(void *what, ptrdiff_t i, ptrdiff_t parts) {
    Rows *q = what;
    for (idx r = share(q->rows, i, parts); r < share(q->rows, i + 1, parts); r++) {
        const float *x = q->x + r * q->n;
        switch (q->which) {
        case LARGEST: q->out[r] = RL->extreme(0, x, q->n); break;
        case SMALLEST: q->out[r] = RL->extreme(1, x, q->n); break;
        case LENGTH: q->out[r] = length(x, q->n); break;
        case LOG_SUM: q->out[r] = log_sum(x, q->n); break;
        case NO_NANS: q->out[r] = (float)sum_of_numbers(x, q->n); break;
        case VARIANCE:
        case DEVIATION: q->out[r] = variance_within(q, x); break;
        }
    }
}

/* The first of the trailing dims that are reduced; -1 with an exception, -2 where others are. `dim`: None or a tuple. */
static int first_reduced(PyObject *attrs, int ndim) {
    PyObject *dim = attr(attrs, "dim");
    if (!dim) return -1;
    if (dim == Py_None) return 0;
    if (!PyTuple_Check(dim)) return -2;
    const Py_ssize_t n = PyTuple_GET_SIZE(dim);
    for (Py_ssize_t i = 0; i < n; i++) {
        const long d = PyLong_AsLong(PyTuple_GET_ITEM(dim, i));
        if (d == -1 && PyErr_Occurred()) return -1;
        if (d != ndim - n + i) return -2;
    }
    return n ? ndim - (int)n : -2;
}

static PyObject *reduce_rows(PyObject *const *args, PyObject *attrs, int which, double ns_each) {
    double correction = 0;
    if ((which == VARIANCE || which == DEVIATION) && attr_double(attrs, "correction", &correction) < 0) return NULL;
    if (!is_plain(args[0])) return REFUSE;
    PyArrayObject *x = ARRAY(args[0]);
    const int ndim = PyArray_NDIM(x), keepdim = attr_flag(attrs, "keepdim"), first = first_reduced(attrs, ndim);
    if (keepdim < 0 || first == -1) return NULL;
    if (first < 0 || ndim > DIMS || PyArray_SIZE(x) == 0) return REFUSE;
    Rows q = {.which = which, .x = DATA(x), .rows = 1, .n = 1};
    npy_intp shape[DIMS];
    for (int d = 0; d < ndim; d++) {
        *(d < first ? &q.rows : &q.n) *= PyArray_DIM(x, d);
        shape[d] = d < first ? PyArray_DIM(x, d) : 1;
    }
    PyArrayObject *out = array_new(keepdim ? ndim : first, shape, NPY_FLOAT32);
    if (!out) return NULL;
    q.out = DATA(out), q.freedom = (double)q.n - correction;
    const double ns = ns_each * (double)PyArray_SIZE(x) + 10.0 * (double)q.rows;
    run_parts(rows_part, &q, threads_parts(ns, q.rows), ns);
    if (!q.beyond) return (PyObject *)out;
    Py_DECREF(out);
    return REFUSE;
}

static PyObject *amax(PyObject *const *a, Py_ssize_t n, PyObject *attrs) { return reduce_rows(a, attrs, LARGEST, 0.2); }
static PyObject *amin(PyObject *const *a, Py_ssize_t n, PyObject *attrs) { return reduce_rows(a, attrs, SMALLEST, 0.2); }
static PyObject *logsumexp(PyObject *const *a, Py_ssize_t n, PyObject *attrs) {
    return reduce_rows(a, attrs, LOG_SUM, 1.5);
}

static PyObject *var(PyObject *const *a, Py_ssize_t n, PyObject *attrs) { return reduce_rows(a, attrs, VARIANCE, 0.4); }
static PyObject *std(PyObject *const *a, Py_ssize_t n, PyObject *attrs) { return reduce_rows(a, attrs, DEVIATION, 0.4); }

static PyObject *nansum(PyObject *const *a, Py_ssize_t n, PyObject *attrs) { return reduce_rows(a, attrs, NO_NANS, 0.4); }

static PyObject *vector_norm(PyObject *const *a, Py_ssize_t n, PyObject *attrs) {
    double order;
    if (attr_double(attrs, "ord", &order) < 0) return NULL;
    return order == 2.0 ? reduce_rows(a, attrs, LENGTH, 0.3) : REFUSE;
}

/* Whether a row of truth values has one, or has no other: a byte that differs from the rule ends the search. */
static PyObject *truth(PyObject *const *args, PyObject *attrs, int all) {
    if (!is_type(args[0], NPY_BOOL) || !PyArray_IS_C_CONTIGUOUS(ARRAY(args[0]))) return REFUSE;
    PyArrayObject *x = ARRAY(args[0]);
    const int ndim = PyArray_NDIM(x), keepdim = attr_flag(attrs, "keepdim"), first = first_reduced(attrs, ndim);
    if (keepdim < 0 || first == -1) return NULL;
    if (first < 0 || ndim > DIMS || PyArray_SIZE(x) == 0) return REFUSE;
    npy_intp shape[DIMS];
    size_t rows = 1, n = 1;
    for (int d = 0; d < ndim; d++) {
        *(d < first ? &rows : &n) *= (size_t)PyArray_DIM(x, d);
        shape[d] = d < first ? PyArray_DIM(x, d) : 1;
    }
    PyArrayObject *out = array_new(keepdim ? ndim : first, shape, NPY_BOOL);
    if (!out) return NULL;
    const uint8_t *from = PyArray_DATA(x);
    uint8_t *to = PyArray_DATA(out);
    for (size_t r = 0; r < rows; r++, from += n) {
        const int found = memchr(from, !all, n) != NULL;
        to[r] = (uint8_t)(all ? !found : found);
    }
    return (PyObject *)out;
}

static PyObject *any(PyObject *const *a, Py_ssize_t n, PyObject *attrs) { return truth(a, attrs, 0); }
static PyObject *all(PyObject *const *a, Py_ssize_t n, PyObject *attrs) { return truth(a, attrs, 1); }

/* The length of all arrays together, as a number of its own. */
static PyObject *total_norm(PyObject *const *args, Py_ssize_t nargs, PyObject *attrs) {
    double order, sum = 0, square = 0;
    if (attr_double(attrs, "order", &order) < 0) return NULL;
    if (order != 2.0 || nargs < 1) return REFUSE;
    for (Py_ssize_t i = 0; i < nargs; i++)
        if (!is_plain(args[i])) return REFUSE;
    for (Py_ssize_t i = 0; i < nargs; i++)
        RL->moments(DATA(ARRAY(args[i])), PyArray_SIZE(ARRAY(args[i])), &sum, &square, 0.0f);
    PyArrayObject *out = array_new(0, NULL, NPY_FLOAT32);
    if (out) *DATA(out) = (float)sqrt(square);
    return (PyObject *)out;
}

const Entry row_entries[] = {
    {"amax", amax, 0, "0"}, {"amin", amin, 0, "0"}, {"max", amax, 0, "0"}, {"min", amin, 0, "0"}, {"nansum", nansum}, {"any", any}, {"all", all}, {"logsumexp", logsumexp},
    {"var", var}, {"std", std}, {"vector_norm", vector_norm}, {"foreach_total_norm", total_norm}, {NULL, NULL},
};
