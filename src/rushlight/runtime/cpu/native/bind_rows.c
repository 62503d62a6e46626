/* Reductions over neighbouring dims: the largest, the length, the logarithm of a sum of exponentials, variances. */
#include "arrays.h"
#include "codes.h"
#include <float.h>

typedef struct {
    int which;
    const float *x;
    float *out;
    idx rows, n, inner; /* inner: numbers behind the dims that are reduced */
    double freedom;
    int beyond; /* a variance that leaves float's range */
} Rows;

enum { LARGEST, SMALLEST, LENGTH, LOG_SUM, VARIANCE, DEVIATION, NO_NANS, SIZES, LARGEST_SIZE, NOT_ZERO };

/* log(sum of exp): a row whose largest number is no number of its own kind is that number. */
float log_sum(const float *x, idx n) {
    float both[2];
    RL->softmax_sums(x, n, both);
    if (isfinite(both[0])) return logf(both[1]) + both[0];
    for (idx i = 0; i < n; i++)
        if (x[i] != x[i]) return NAN;
    return both[0];
}

#define SHORT 64 /* rows for which calls of loops cost more than what they compute */

/* The sum of squares, or of sizes. */
static float short_sum(const float *x, idx n, int squares) {
    float chain[8] = {0}, sum = 0;
    idx i = 0;
    for (; i + 8 <= n; i += 8)
        for (int j = 0; j < 8; j++) chain[j] += squares ? x[i + j] * x[i + j] : fabsf(x[i + j]);
    for (int j = 0; j < 8; j++) sum += chain[j];
    for (; i < n; i++) sum += squares ? x[i] * x[i] : fabsf(x[i]);
    return sum;
}

static float length(const float *x, idx n) {
    if (n <= SHORT) {
        const float sum = short_sum(x, n, 1);
        if (sum > 1e-30f && sum < 1e30f) return sqrtf(sum); /* squares that float holds */
    }
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
        float sum = RL->sum(x + i, m);
        if (sum != sum) { /* there is one, or infinities of both signs */
            RL->active(A_NAN_TO_NUM, instead, x + i, some, m);
            sum = RL->sum(some, m);
        }
        all += (double)sum;
    }
    return all;
}

static double sum_of_sizes(const float *x, idx n) {
    if (n <= SHORT) return (double)short_sum(x, n, 0);
    float some[1024];
    double all = 0;
    for (idx i = 0; i < n; i += 1024) {
        const idx m = n - i < 1024 ? n - i : 1024;
        RL->unary(U_ABS, x + i, some, m);
        all += (double)RL->sum(some, m);
    }
    return all;
}

/* Of absolute values; NaN where one is. */
static float largest_size(const float *x, idx n) {
    const float high = RL->extreme(0, x, n), low = RL->extreme(1, x, n);
    return high != high ? high : fabsf(high) > fabsf(low) ? fabsf(high) : fabsf(low);
}

static float not_zero(const float *x, idx n) {
    idx count = 0;
    for (idx i = 0; i < n; i++) count += x[i] != 0;
    return (float)count;
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
        case SIZES: q->out[r] = (float)sum_of_sizes(x, q->n); break;
        case LARGEST_SIZE: q->out[r] = largest_size(x, q->n); break;
        case NOT_ZERO: q->out[r] = not_zero(x, q->n); break;
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

/* -- dims in front of others: neighbours are followed together ------------------------------------------------- */

#define COLUMNS 256
#define FEW 64 /* rows that are added in floats before their sums become doubles */

/* What of a row is added up, or compared. */
static const float *of_row(const Rows *q, const float *x, const float *tops, float *some, idx m) {
    static const float instead[3] = {0.0f, INFINITY, -INFINITY};
    switch (q->which) {
    case LENGTH: RL->binary(B_MUL, x, x, some, m); break;
    case SIZES:
    case LARGEST_SIZE: RL->unary(U_ABS, x, some, m); break;
    case NO_NANS: RL->active(A_NAN_TO_NUM, instead, x, some, m); break;
    case LOG_SUM:
        RL->binary(B_SUB, x, tops, some, m);
        RL->unary(U_EXP, some, some, m);
        break;
    case NOT_ZERO:
        for (idx c = 0; c < m; c++) some[c] = x[c] != 0 ? 1.0f : 0.0f;
        break;
    default: return x;
    }
    return some;
}

static void extremes_of_columns(const Rows *q, const float *x, float *best, idx m) {
    float some[COLUMNS];
    memcpy(best, of_row(q, x, NULL, some, m), (size_t)m * 4);
    for (idx k = 1; k < q->n; k++)
        RL->binary(q->which == SMALLEST ? B_MINIMUM : B_MAXIMUM, best, of_row(q, x + k * q->inner, NULL, some, m), best, m);
}

static void sums_of_columns(const Rows *q, const float *x, const float *tops, double *sums, idx m) {
    float some[COLUMNS], few[COLUMNS];
    for (idx c = 0; c < m; c++) sums[c] = 0;
    for (idx k = 0; k < q->n; k += FEW) {
        const idx end = q->n - k < FEW ? q->n : k + FEW;
        memcpy(few, of_row(q, x + k * q->inner, tops, some, m), (size_t)m * 4);
        for (idx j = k + 1; j < end; j++) RL->add_into(few, of_row(q, x + j * q->inner, tops, some, m), m);
        for (idx c = 0; c < m; c++) sums[c] += (double)few[c];
    }
}

static void columns_of(Rows *q, const float *x, float *out, idx m) {
    double sums[COLUMNS], squares[COLUMNS];
    float tops[COLUMNS], finite[COLUMNS];
    switch (q->which) {
    case LARGEST:
    case SMALLEST:
    case LARGEST_SIZE: extremes_of_columns(q, x, out, m); break;
    case VARIANCE:
    case DEVIATION:
        RL->column_moments(x, q->n, q->inner, m, sums, squares);
        for (idx c = 0; c < m; c++) {
            const double total = squares[c] - sums[c] * (sums[c] / (double)q->n);
            const double found = (total < 0 ? 0 : total) / (q->freedom > 0 ? q->freedom : 0.0);
            if (!(found <= FLT_MAX)) __atomic_store_n(&q->beyond, 1, __ATOMIC_RELAXED);
            out[c] = (float)(q->which == DEVIATION ? sqrt(found) : found);
        }
        break;
    case LOG_SUM: /* a column whose largest number is infinite, or none, is that number */
        q = &(Rows){.which = LARGEST, .n = q->n, .inner = q->inner};
        extremes_of_columns(q, x, tops, m);
        for (idx c = 0; c < m; c++) finite[c] = isfinite(tops[c]) ? tops[c] : 0.0f;
        q->which = LOG_SUM;
        sums_of_columns(q, x, finite, sums, m);
        for (idx c = 0; c < m; c++) out[c] = isfinite(tops[c]) ? (float)(log(sums[c]) + (double)tops[c]) : tops[c];
        break;
    default:
        sums_of_columns(q, x, NULL, sums, m);
        for (idx c = 0; c < m; c++) out[c] = (float)(q->which == LENGTH ? sqrt(sums[c]) : sums[c]);
    }
}

static void columns_part(void *what, ptrdiff_t i, ptrdiff_t parts) {
    Rows *q = what;
    const idx blocks = (q->inner + COLUMNS - 1) / COLUMNS;
    for (idx b = share(q->rows * blocks, i, parts); b < share(q->rows * blocks, i + 1, parts); b++) {
        const idx row = b / blocks, first = b % blocks * COLUMNS, left = q->inner - first;
        columns_of(q, q->x + row * q->n * q->inner + first, q->out + row * q->inner + first, left < COLUMNS ? left : COLUMNS);
    }
}

static PyObject *reduce_rows(PyObject *const *args, PyObject *attrs, int which, double ns_each) {
    double correction = 0;
    if ((which == VARIANCE || which == DEVIATION) && attr_double(attrs, "correction", &correction) < 0) return NULL;
    if (which <= SMALLEST && is_type(args[0], NPY_INT64)) return whole_extreme(args[0], attrs, which == SMALLEST);
    if (!is_plain(args[0])) return REFUSE;
    PyArrayObject *x = ARRAY(args[0]);
    int first, last, found = 0;
    const int ndim = PyArray_NDIM(x), keepdim = attr_flag(attrs, "keepdim"), fits = neighbours(attrs, ndim, &first, &last);
    if (keepdim < 0 || fits < 0) return NULL;
    if (!fits || ndim > DIMS || PyArray_SIZE(x) == 0) return REFUSE;
    Rows q = {.which = which, .x = DATA(x), .rows = 1, .n = 1, .inner = 1};
    npy_intp shape[DIMS];
    for (int d = 0; d < ndim; d++) {
        const int gone = d >= first && d <= last;
        *(gone ? &q.n : d < first ? &q.rows : &q.inner) *= PyArray_DIM(x, d);
        if (!gone || keepdim) shape[found++] = gone ? 1 : PyArray_DIM(x, d);
    }
    PyArrayObject *out = array_new(found, shape, NPY_FLOAT32);
    if (!out) return NULL;
    q.out = DATA(out), q.freedom = (double)q.n - correction;
    const double ns = ns_each * (double)PyArray_SIZE(x) + 10.0 * (double)q.rows;
    if (q.inner == 1) run_parts(rows_part, &q, threads_parts(ns, q.rows), ns);
    else run_parts(columns_part, &q, threads_parts(ns, q.rows * ((q.inner + COLUMNS - 1) / COLUMNS)), ns);
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
    if (order == 2.0) return reduce_rows(a, attrs, LENGTH, 0.3);
    if (order == 1.0) return reduce_rows(a, attrs, SIZES, 0.3);
    if (order == 0.0) return reduce_rows(a, attrs, NOT_ZERO, 0.5);
    return order == INFINITY ? reduce_rows(a, attrs, LARGEST_SIZE, 0.4) : REFUSE;
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
