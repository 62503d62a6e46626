/* Whole numbers: sums and running sums of int64, numbers of bags; and whether two arrays of one type hold the same. */
#include <math.h>

#include "arrays.h"

static int is_whole(PyObject *o) { return is_type(o, NPY_INT64) && PyArray_IS_C_CONTIGUOUS(ARRAY(o)); }

/* -- sums ------------------------------------------------------------------------------------------------ */

/* x seen as [outer][n][inner]: along n. Sums wrap around, as PyTorch's do. */
typedef struct {
    const uint64_t *x;
    uint64_t *out;
    idx outer, n, inner;
    int back;
} Whole;

static void sum_part(void *what, ptrdiff_t i, ptrdiff_t parts) {
    const Whole *w = what;
    for (idx o = share(w->outer, i, parts); o < share(w->outer, i + 1, parts); o++) {
        const uint64_t *x = w->x + o * w->n * w->inner;
        uint64_t *out = w->out + o * w->inner;
        if (w->inner == 1) {
            uint64_t chain[16] = {0}, sum = 0; /* side by side: each waits for the one before it */
            idx k = 0;
            for (; k + 16 <= w->n; k += 16)
                for (int j = 0; j < 16; j++) chain[j] += x[k + j];
            for (int j = 0; j < 16; j++) sum += chain[j];
            for (; k < w->n; k++) sum += x[k];
            *out = sum;
            continue;
        }
        memcpy(out, x, (size_t)w->inner * 8);
        for (idx k = 1; k < w->n; k++)
            for (idx c = 0; c < w->inner; c++) out[c] += x[k * w->inner + c];
    }
}

/* dim: None or a tuple of neighbouring dims. */
PyObject *whole_sum(PyObject *o, PyObject *attrs) {
    PyObject *dim = attr(attrs, "dim");
    const int keepdim = attr_flag(attrs, "keepdim");
    if (!dim || keepdim < 0) return NULL;
    if (!is_whole(o) || PyArray_SIZE(ARRAY(o)) == 0 || PyArray_NDIM(ARRAY(o)) > DIMS) return REFUSE;
    PyArrayObject *x = ARRAY(o);
    const int ndim = PyArray_NDIM(x);
    int first = 0, last = ndim - 1, found = 0;
    if (dim != Py_None) {
        if (!PyTuple_Check(dim) || PyTuple_GET_SIZE(dim) < 1) return REFUSE;
        const Py_ssize_t count = PyTuple_GET_SIZE(dim);
        for (Py_ssize_t i = 0; i < count; i++) {
            const long d = PyLong_AsLong(PyTuple_GET_ITEM(dim, i));
            if (d == -1 && PyErr_Occurred()) return NULL;
            if (i == 0) first = (int)d;
            if (d != first + i) return REFUSE;
            last = (int)d;
        }
        if (first < 0 || last >= ndim) return REFUSE;
    }
    Whole w = {.x = PyArray_DATA(x), .outer = 1, .n = 1, .inner = 1};
    npy_intp shape[DIMS];
    for (int d = 0; d < ndim; d++) {
        const int gone = d >= first && d <= last;
        *(gone ? &w.n : d < first ? &w.outer : &w.inner) *= PyArray_DIM(x, d);
        if (!gone || keepdim) shape[found++] = gone ? 1 : PyArray_DIM(x, d);
    }
    PyArrayObject *out = array_new(found, shape, NPY_INT64);
    if (!out) return NULL;
    w.out = PyArray_DATA(out);
    const double ns = 0.3 * (double)PyArray_SIZE(x);
    run_parts(sum_part, &w, threads_parts(ns, w.outer), ns);
    return (PyObject *)out;
}

/* Four rows side by side. */
static void running_rows(const Whole *w, idx o) {
    const idx n = w->n, step = w->back ? -1 : 1;
    const uint64_t *x = w->x + o * n;
    uint64_t *out = w->out + o * n, sum[4] = {0};
    for (idx i = 0, k = w->back ? n - 1 : 0; i < n; i++, k += step)
        for (idx r = 0; r < 4; r++) out[r * n + k] = sum[r] += x[r * n + k];
}

static void running_part(void *what, ptrdiff_t i, ptrdiff_t parts) {
    const Whole *w = what;
    const idx last = share(w->outer, i + 1, parts);
    idx o = share(w->outer, i, parts);
    for (; w->inner == 1 && o + 4 <= last; o += 4) running_rows(w, o);
    for (; o < last; o++) {
        const idx step = w->back ? -w->inner : w->inner;
        const uint64_t *x = w->x + o * w->n * w->inner + (w->back ? (w->n - 1) * w->inner : 0);
        uint64_t *out = w->out + (x - w->x), sum = 0;
        if (w->inner == 1) {
            for (idx k = 0; k < w->n; k++, x += step, out += step) *out = sum += *x;
            continue;
        }
        memcpy(out, x, (size_t)w->inner * 8);
        for (idx k = 1; k < w->n; k++) {
            x += step, out += step;
            for (idx c = 0; c < w->inner; c++) out[c] = out[c - step] + x[c];
        }
    }
}

PyObject *whole_cumsum(PyObject *o, PyObject *attrs) {
    idx dim;
    const int back = attr_flag(attrs, "reverse");
    if (back < 0 || attr_idx(attrs, "dim", &dim) < 0) return NULL;
    if (!is_whole(o) || PyArray_SIZE(ARRAY(o)) == 0 || dim < 0 || dim >= PyArray_NDIM(ARRAY(o))) return REFUSE;
    PyArrayObject *x = ARRAY(o);
    Whole w = {.x = PyArray_DATA(x), .outer = 1, .inner = 1, .n = PyArray_DIM(x, dim), .back = back};
    for (int d = 0; d < PyArray_NDIM(x); d++) {
        if (d < dim) w.outer *= PyArray_DIM(x, d);
        if (d > dim) w.inner *= PyArray_DIM(x, d);
    }
    PyArrayObject *out = array_new(PyArray_NDIM(x), PyArray_DIMS(x), NPY_INT64);
    if (!out) return NULL;
    w.out = PyArray_DATA(out);
    const double ns = 0.6 * (double)PyArray_SIZE(x);
    run_parts(running_part, &w, threads_parts(ns, w.outer), ns);
    return (PyObject *)out;
}

/* -- bags ------------------------------------------------------------------------------------------------ */

/* Which bag each of `total` places lies in, by where bags begin. */
static PyObject *bag_numbers(PyObject *const *args, Py_ssize_t nargs, PyObject *attrs) {
    idx total;
    if (attr_idx(attrs, "total", &total) < 0) return NULL;
    if (!is_whole(args[0]) || PyArray_NDIM(ARRAY(args[0])) != 1) return REFUSE;
    const int64_t *starts = PyArray_DATA(ARRAY(args[0]));
    const idx count = PyArray_SIZE(ARRAY(args[0]));
    if (count == 0 || starts[0] != 0 || starts[count - 1] > total) return REFUSE;
    for (idx i = 1; i < count; i++)
        if (starts[i] < starts[i - 1]) return REFUSE;
    npy_intp n = total;
    PyArrayObject *out = array_new(1, &n, NPY_INT64);
    if (!out) return NULL;
    int64_t *to = PyArray_DATA(out);
    for (idx b = 0; b < count; b++)
        for (idx i = starts[b], end = b + 1 < count ? starts[b + 1] : total; i < end; i++) to[i] = b;
    return (PyObject *)out;
}

/* -- the same everywhere ---------------------------------------------------------------------------------- */

#define STRETCH 1024 /* numbers that are compared before the answer is looked at */

static int equal_floats(const float *x, const float *y, idx n) {
    for (idx i = 0; i < n; i += STRETCH) {
        const idx end = i + STRETCH < n ? i + STRETCH : n;
        int differ = 0;
        for (idx k = i; k < end; k++) differ |= x[k] != y[k];
        if (differ) return 0;
    }
    return 1;
}

static PyObject *equal_everywhere(PyObject *const *args, Py_ssize_t nargs, PyObject *attrs) {
    if (!PyArray_CheckExact(args[0]) || !PyArray_CheckExact(args[1])) return REFUSE;
    PyArrayObject *x = ARRAY(args[0]), *y = ARRAY(args[1]);
    const int type = PyArray_TYPE(x), bits = PyTypeNum_ISINTEGER(type) || type == NPY_BOOL;
    if (PyArray_TYPE(y) != type || !(bits || type == NPY_FLOAT32) || !PyArray_ISALIGNED(x) || !PyArray_ISALIGNED(y)) return REFUSE;
    if (!PyArray_IS_C_CONTIGUOUS(x) || !PyArray_IS_C_CONTIGUOUS(y) || PyArray_SIZE(x) != PyArray_SIZE(y)) return REFUSE;
    if (!PyArray_ISNOTSWAPPED(x) || !PyArray_ISNOTSWAPPED(y)) return REFUSE;
    const int same = bits ? memcmp(PyArray_DATA(x), PyArray_DATA(y), (size_t)PyArray_NBYTES(x)) == 0
                          : equal_floats(DATA(x), DATA(y), PyArray_SIZE(x));
    return PyBool_FromLong(same);
}

const Entry whole_entries[] = {{"bag_numbers", bag_numbers}, {"equal_everywhere", equal_everywhere}, {NULL, NULL}};
