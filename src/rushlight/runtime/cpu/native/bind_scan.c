/* Running sums, products and extremes along a dim, and products of a dim: what waits for its forerunner. */
#include <math.h>

#include "arrays.h"

enum { SUM, PRODUCT, LARGEST, SMALLEST, LOGS, LINEAR };

/* x seen as [outer][n][inner]: along n. */
typedef struct {
    int which, back; /* back: from the end */
    const float *x, *factor;
    float *out;
    int64_t *at;
    idx outer, n, inner;
} Scan;

/* log(e^a + e^b), of two infinities of one sign that infinity. */
static inline float log_add(float a, float b) {
    const float low = a < b || a != a ? a : b, high = a < b || a != a ? b : a;
    if (low == high && isinf(low)) return low;
    return low != low || high != high ? low + high : high + log1pf(expf(low - high));
}

#define COLUMNS 64 /* neighbours that are followed together */

/* Columns [first, first + width) of one outer place. */
static void scan_columns(const Scan *s, idx outer, idx first, idx width) {
    const idx begin = outer * s->n * s->inner + first, step = s->back ? -s->inner : s->inner;
    idx p = begin + (s->back ? (s->n - 1) * s->inner : 0);
    double wide[COLUMNS];
    float last[COLUMNS];
    int64_t at[COLUMNS] = {0};
    for (idx c = 0; c < width; c++) wide[c] = s->which == PRODUCT, last[c] = s->which == LINEAR ? 0.0f : s->x[p + c];
    for (idx k = 0; k < s->n; k++, p += step) {
        const float *x = s->x + p;
        float *out = s->out + p;
        switch (s->which) {
        case SUM:
            for (idx c = 0; c < width; c++) out[c] = (float)(wide[c] += (double)x[c]);
            break;
        case PRODUCT:
            for (idx c = 0; c < width; c++) out[c] = (float)(wide[c] *= (double)x[c]);
            break;
        case LINEAR:
            for (idx c = 0; c < width; c++) out[c] = last[c] = s->factor[p + c] * last[c] + x[c];
            break;
        case LOGS:
            for (idx c = 0; c < width; c++) out[c] = last[c] = k ? log_add(last[c], x[c]) : x[c];
            break;
        default: /* the latest of equal ones; NaN is larger and smaller than all */
            for (idx c = 0; c < width; c++) {
                const int found = x[c] != x[c] || (s->which == LARGEST ? x[c] >= last[c] : x[c] <= last[c]);
                last[c] = found ? x[c] : last[c];
                at[c] = found ? k : at[c];
                out[c] = last[c];
                s->at[p + c] = at[c];
            }
        }
    }
}

/* The same along memory: `rows` rows side by side, since each number waits for the one before it. */
#define ROWS 4
static void scan_rows(const Scan *s, idx outer, idx rows) {
    const idx n = s->n;
    const float *x = s->x + outer * n;
    float *out = s->out + outer * n;
    double wide[ROWS];
    for (idx r = 0; r < ROWS; r++) wide[r] = s->which == PRODUCT;
    if (rows < ROWS || s->which > SMALLEST) {
        for (idx r = 0; r < rows; r++) scan_columns(s, outer + r, 0, 1);
        return;
    }
    if (s->which <= PRODUCT) {
        for (idx i = 0; i < n; i++) {
            const idx k = s->back ? n - 1 - i : i;
            for (idx r = 0; r < ROWS; r++) {
                wide[r] = s->which == SUM ? wide[r] + (double)x[r * n + k] : wide[r] * (double)x[r * n + k];
                out[r * n + k] = (float)wide[r];
            }
        }
        return;
    }
    float last[ROWS];
    int64_t at[ROWS] = {0}, *to = s->at + outer * n;
    for (idx r = 0; r < ROWS; r++) last[r] = x[r * n];
    for (idx k = 0; k < n; k++)
        for (idx r = 0; r < ROWS; r++) {
            const float v = x[r * n + k];
            const int found = v != v || (s->which == LARGEST ? v >= last[r] : v <= last[r]);
            last[r] = found ? v : last[r];
            at[r] = found ? k : at[r];
            out[r * n + k] = last[r], to[r * n + k] = at[r];
        }
}

static void scan_part(void *what, ptrdiff_t i, ptrdiff_t parts) {
    const Scan *s = what;
    if (s->inner == 1) {
        for (idx o = share(s->outer, i, parts), end = share(s->outer, i + 1, parts); o < end; o += ROWS)
            scan_rows(s, o, end - o < ROWS ? end - o : ROWS);
        return;
    }
    const idx blocks = (s->inner + COLUMNS - 1) / COLUMNS, all = s->outer * blocks;
    for (idx b = share(all, i, parts); b < share(all, i + 1, parts); b++) {
        const idx first = b % blocks * COLUMNS;
        scan_columns(s, b / blocks, first, s->inner - first < COLUMNS ? s->inner - first : COLUMNS);
    }
}

/* Fills in the shape of a scan of x along `dim`: 1, 0 where it is left to NumPy, -1 with an exception. */
static int scan_shape(Scan *s, PyObject *o, PyObject *attrs) {
    idx dim;
    if (attr_idx(attrs, "dim", &dim) < 0) return -1;
    if (!is_plain(o) || PyArray_SIZE(ARRAY(o)) == 0 || dim < 0 || dim >= PyArray_NDIM(ARRAY(o))) return 0;
    PyArrayObject *x = ARRAY(o);
    s->x = DATA(x), s->outer = s->inner = 1, s->n = PyArray_DIM(x, dim);
    for (int d = 0; d < PyArray_NDIM(x); d++) {
        if (d < dim) s->outer *= PyArray_DIM(x, d);
        if (d > dim) s->inner *= PyArray_DIM(x, d);
    }
    return 1;
}

static void scan_run(Scan *s) {
    const double ns = (double)(s->outer * s->inner) * (double)s->n * (s->which == LOGS ? 25.0 : 1.0);
    const idx most = s->inner == 1 ? (s->outer + ROWS - 1) / ROWS : s->outer * ((s->inner + COLUMNS - 1) / COLUMNS);
    run_parts(scan_part, s, threads_parts(ns, most), ns);
}

static PyObject *running(PyObject *const *args, PyObject *attrs, int which) {
    Scan s = {.which = which};
    PyObject *of = args[which == LINEAR];
    if (which == SUM && is_type(of, NPY_INT64)) return whole_cumsum(of, attrs);
    const int fits = scan_shape(&s, of, attrs);
    if (which != LOGS && (s.back = attr_flag(attrs, "reverse")) < 0) return NULL;
    if (fits <= 0) return fits ? NULL : REFUSE;
    if (which == LINEAR) {
        if (!is_plain(args[0]) || PyArray_NDIM(ARRAY(args[0])) != PyArray_NDIM(ARRAY(of))) return REFUSE;
        if (!PyArray_CompareLists(PyArray_DIMS(ARRAY(args[0])), PyArray_DIMS(ARRAY(of)), PyArray_NDIM(ARRAY(of))))
            return REFUSE;
        s.factor = DATA(ARRAY(args[0]));
    }
    PyArrayObject *out = array_like(ARRAY(of));
    if (!out) return NULL;
    s.out = DATA(out);
    scan_run(&s);
    return (PyObject *)out;
}

static PyObject *extremes(PyObject *const *args, PyObject *attrs, int which) {
    Scan s = {.which = which};
    const int fits = scan_shape(&s, args[0], attrs);
    if (fits <= 0) return fits ? NULL : REFUSE;
    PyArrayObject *x = ARRAY(args[0]), *out = array_like(x), *at = array_new(PyArray_NDIM(x), PyArray_DIMS(x), NPY_INT64);
    if (!out || !at) {
        Py_XDECREF(out);
        Py_XDECREF(at);
        return NULL;
    }
    s.out = DATA(out), s.at = PyArray_DATA(at);
    scan_run(&s);
    return Py_BuildValue("NN", out, at);
}

#define RUNNING(name, which, body) \
    static PyObject *name(PyObject *const *a, Py_ssize_t n, PyObject *attrs) { return body(a, attrs, which); }
RUNNING(cumsum, SUM, running)
RUNNING(cumprod, PRODUCT, running)
RUNNING(logcumsumexp, LOGS, running)
RUNNING(linear_scan, LINEAR, running)
RUNNING(cummax, LARGEST, extremes)
RUNNING(cummin, SMALLEST, extremes)

/* -- products of a dim -------------------------------------------------------------------------------- */

/* Sixteen chains, then their product: which numbers meet does not depend on threads. */
static float product(const float *x, idx n) {
    float chain[16], all = 1.0f;
    idx i = 0;
    for (idx j = 0; j < 16; j++) chain[j] = 1.0f;
    for (; i + 16 <= n; i += 16)
        for (idx j = 0; j < 16; j++) chain[j] *= x[i + j];
    for (idx j = 0; j < 16; j++) all *= chain[j];
    for (; i < n; i++) all *= x[i];
    return all;
}

static void prod_part(void *what, ptrdiff_t i, ptrdiff_t parts) {
    const Scan *s = what;
    for (idx o = share(s->outer, i, parts); o < share(s->outer, i + 1, parts); o++) {
        const float *x = s->x + o * s->n * s->inner;
        float *out = s->out + o * s->inner;
        if (s->inner == 1) {
            *out = product(x, s->n);
            continue;
        }
        for (idx c = 0; c < s->inner; c++) out[c] = x[c];
        for (idx k = 1; k < s->n; k++)
            for (idx c = 0; c < s->inner; c++) out[c] *= x[k * s->inner + c];
    }
}

/* dim: None, or a tuple of one dim. */
static PyObject *prod(PyObject *const *args, Py_ssize_t nargs, PyObject *attrs) {
    PyObject *dim = attr(attrs, "dim");
    const int keepdim = attr_flag(attrs, "keepdim");
    if (!dim || keepdim < 0) return NULL;
    if (!is_plain(args[0]) || PyArray_SIZE(ARRAY(args[0])) == 0 || PyArray_NDIM(ARRAY(args[0])) > DIMS) return REFUSE;
    PyArrayObject *x = ARRAY(args[0]);
    Scan s = {.x = DATA(x), .outer = 1, .inner = 1};
    npy_intp shape[DIMS];
    int ndim = 0;
    if (dim != Py_None) {
        if (!PyTuple_Check(dim) || PyTuple_GET_SIZE(dim) != 1) return REFUSE;
        const long at = PyLong_AsLong(PyTuple_GET_ITEM(dim, 0));
        if (at == -1 && PyErr_Occurred()) return NULL;
        if (at < 0 || at >= PyArray_NDIM(x)) return REFUSE;
        s.n = PyArray_DIM(x, at);
        for (int d = 0; d < PyArray_NDIM(x); d++) {
            if (d < at) s.outer *= PyArray_DIM(x, d);
            if (d > at) s.inner *= PyArray_DIM(x, d);
            if (d != at || keepdim) shape[ndim++] = d == at ? 1 : PyArray_DIM(x, d);
        }
    } else {
        s.n = PyArray_SIZE(x);
        for (int d = 0; keepdim && d < PyArray_NDIM(x); d++) shape[ndim++] = 1;
    }
    PyArrayObject *out = array_new(ndim, shape, NPY_FLOAT32);
    if (!out) return NULL;
    s.out = DATA(out);
    const double ns = 0.4 * (double)PyArray_SIZE(x);
    run_parts(prod_part, &s, threads_parts(ns, s.outer), ns);
    return (PyObject *)out;
}

const Entry scan_entries[] = {
    {"cumsum", cumsum, COPIES, "0"}, {"cumprod", cumprod, COPIES}, {"logcumsumexp", logcumsumexp, COPIES},
    {"linear_scan", linear_scan, COPIES}, {"cummax", cummax, COPIES}, {"cummin", cummin, COPIES},
    {"prod", prod, COPIES}, {NULL, NULL},
};
