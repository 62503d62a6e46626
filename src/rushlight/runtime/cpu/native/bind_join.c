/* cat and stack: arrays one after the other along a dim, or a new one, row by row; and writes over whole arrays. */
#include <math.h>

#include "arrays.h"

/* Whether strides grow from the channels outwards: then PyTorch's result, and NumPy's body, lie so too. */
static int grows_from_channels(PyArrayObject *a) {
    const int ndim = PyArray_NDIM(a);
    npy_intp least = 0;
    if (!PyArray_STRIDE(a, 1)) return 0;
    for (int i = 0; i < ndim; i++) {
        const int d = i == 0 ? 1 : i == ndim - 1 ? 0 : ndim - i;
        const npy_intp size = PyArray_DIM(a, d), step = PyArray_STRIDE(a, d);
        if (!size || step < least || (d == 0 && least == PyArray_STRIDE(a, 1))) return 0;
        least = step * size;
    }
    return 1;
}

/* Arrays of one usual dtype and as many dims: the first of them. */
static PyArrayObject *joinable(Call *c) {
    PyArrayObject *first = array_at(c, 0);
    for (int i = 0; i < c->count && !c->ends; i++) {
        PyArrayObject *a = array_at(c, i);
        need(c, a && PyArray_ISBEHAVED_RO(a) && PyArray_TYPE(a) < NPY_OBJECT && PyArray_NDIM(a) == PyArray_NDIM(first) &&
                    PyArray_TYPE(a) == PyArray_TYPE(first));
    }
    return c->ends ? NULL : first;
}

/* Whether all lie channels last. */
static int all_last(Call *c, int ndim) {
    if (ndim != 4 && ndim != 5) return 0;
    for (int i = 0; i < c->count; i++)
        if (!grows_from_channels(ARRAY(c->args[i]))) return 0;
    return 1;
}

typedef struct {
    const char *from;
    char *to;
    idx outer, row, step; /* rows in bytes, and from one to the next in the result */
} Rows;

static void rows_part(void *what, ptrdiff_t part, ptrdiff_t parts) {
    const Rows *r = what;
    for (idx i = 0; i < r->outer; i++) memcpy(r->to + i * r->step, r->from + i * r->row, (size_t)r->row);
}

/* Part of `out`, to be written to. */
static PyArrayObject *window_of(PyArrayObject *out, int ndim, const npy_intp *shape, const npy_intp *steps, char *at) {
    PyArray_Descr *type = PyArray_DESCR(out);
    Py_INCREF(type);
    return ARRAY(PyArray_NewFromDescr(&PyArray_Type, type, ndim, shape, steps, at, NPY_ARRAY_WRITEABLE, NULL));
}

/* Copy `a` to where it begins in `out`; -1 with an exception. */
static int put_part(PyArrayObject *out, PyArrayObject *a, idx dim, npy_intp before) {
    char *to = PyArray_BYTES(out) + before * PyArray_STRIDE(out, dim);
    if (!PyArray_IS_C_CONTIGUOUS(a)) {
        PyArrayObject *view = window_of(out, PyArray_NDIM(a), PyArray_DIMS(a), PyArray_STRIDES(out), to);
        const int failed = !view || array_put(view, a) < 0;
        Py_XDECREF(view);
        return failed ? -1 : 0;
    }
    Rows r = {.from = PyArray_BYTES(a), .to = to, .outer = 1, .row = PyArray_ITEMSIZE(a), .step = dim ? PyArray_STRIDE(out, dim - 1) : 0};
    for (int d = 0; d < PyArray_NDIM(a); d++) *(d < dim ? &r.outer : &r.row) *= PyArray_DIM(a, d);
    run_once(rows_part, &r, 0.05 * (double)(r.outer * r.row));
    return 0;
}

static void cat(Call *c) {
    npy_intp shape[DIMS], before = 0;
    const idx dim = idx_of(c, "dim");
    PyArrayObject *first = joinable(c);
    if (!first || !need(c, PyArray_NDIM(first) <= DIMS && dim >= 0 && dim < PyArray_NDIM(first) && !all_last(c, PyArray_NDIM(first)))) return;
    memcpy(shape, PyArray_DIMS(first), sizeof(npy_intp) * (size_t)PyArray_NDIM(first));
    shape[dim] = 0;
    for (int i = 0; i < c->count; i++) {
        PyArrayObject *a = ARRAY(c->args[i]);
        for (int d = 0; d < PyArray_NDIM(a); d++) need(c, d == dim || PyArray_DIM(a, d) == PyArray_DIM(first, d));
        shape[dim] += PyArray_DIM(a, dim);
    }
    if (!new_array(c, PyArray_NDIM(first), shape, PyArray_TYPE(first))) return;
    for (int i = 0; i < c->count && !c->ends; i++) {
        PyArrayObject *a = ARRAY(c->args[i]);
        if (PyArray_SIZE(a) && put_part(c->result[0], a, dim, before) < 0) fail(c);
        before += PyArray_DIM(a, dim);
    }
}

/* Arrays of one shape and dtype, each a place of a new dim. */
static void stack(Call *c) {
    npy_intp shape[DIMS];
    const idx dim = idx_of(c, "dim");
    PyArrayObject *first = joinable(c);
    if (!first || !need(c, PyArray_NDIM(first) < DIMS && dim >= 0 && dim <= PyArray_NDIM(first))) return;
    for (int i = 0; i < c->count; i++) need(c, PyArray_IS_C_CONTIGUOUS(ARRAY(c->args[i])) && PyArray_SAMESHAPE(ARRAY(c->args[i]), first));
    const int ndim = PyArray_NDIM(first);
    size_t outer = 1, row = (size_t)PyArray_ITEMSIZE(first);
    for (int d = 0; d < ndim; d++) {
        shape[d < dim ? d : d + 1] = PyArray_DIM(first, d);
        *(d < dim ? &outer : &row) *= (size_t)PyArray_DIM(first, d);
    }
    shape[dim] = c->count;
    char *to = new_array(c, ndim + 1, shape, PyArray_TYPE(first));
    const int numbers = row == 4;
    for (size_t o = 0; to && o < outer; o++)
        for (int i = 0; i < c->count; i++, to += row) {
            const char *from = PyArray_BYTES(ARRAY(c->args[i])) + o * row;
            if (numbers) memcpy(to, from, 4);
            else memcpy(to, from, row);
        }
}

/* -- zeros around a window ------------------------------------------------------------------------------- */

typedef struct {
    npy_intp shape[DIMS], step[DIMS], at; /* in bytes */
    int ndim;
} Place;

/* One entry of an index, of dim d of `out`: how many dims it takes (0 for a new one), or -1 where it is another thing. */
static int place_entry(Place *p, PyObject *e, PyArrayObject *out, int d) {
    if (e != Py_None && d >= PyArray_NDIM(out)) return -1;
    if (PyLong_Check(e)) {
        Py_ssize_t i = PyLong_AsSsize_t(e);
        i += i < 0 ? PyArray_DIM(out, d) : 0;
        if (PyErr_Occurred() || i < 0 || i >= PyArray_DIM(out, d)) return -1;
        p->at += i * PyArray_STRIDE(out, d);
        return 1;
    }
    if (p->ndim == DIMS) return -1;
    if (e == Py_None) {
        p->shape[p->ndim] = 1, p->step[p->ndim++] = 0;
        return 0;
    }
    if (!PyTuple_Check(e) || PyTuple_GET_SIZE(e) != 3) return -1;
    Py_ssize_t start, stop, step;
    PyObject *range = PySlice_New(PyTuple_GET_ITEM(e, 0), PyTuple_GET_ITEM(e, 1), PyTuple_GET_ITEM(e, 2));
    const int failed = !range || PySlice_Unpack(range, &start, &stop, &step) < 0;
    Py_XDECREF(range);
    if (failed) return -1;
    p->shape[p->ndim] = PySlice_AdjustIndices(PyArray_DIM(out, d), &start, &stop, step);
    p->at += p->shape[p->ndim] ? start * PyArray_STRIDE(out, d) : 0;
    p->step[p->ndim++] = step * PyArray_STRIDE(out, d);
    return 1;
}

/* Where `index` (operators/shape/windows.py) is in `out`; 0 where that is not clear. */
static int place_of(Place *p, PyObject *index, PyArrayObject *out) {
    int d = 0;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(index); i++) {
        const int taken = place_entry(p, PyTuple_GET_ITEM(index, i), out, d);
        if (taken < 0) {
            PyErr_Clear(); /* NumPy says what is wrong */
            return 0;
        }
        d += taken;
    }
    for (; d < PyArray_NDIM(out); d++, p->ndim++) {
        if (p->ndim == DIMS) return 0;
        p->shape[p->ndim] = PyArray_DIM(out, d), p->step[p->ndim] = PyArray_STRIDE(out, d);
    }
    return 1;
}

typedef struct {
    void *out;
    size_t bytes;
} Zeros;

static void zeros_part(void *what, ptrdiff_t i, ptrdiff_t parts) {
    const Zeros *z = what;
    memset(z->out, 0, z->bytes);
}

/* Zeros with g in a window of them: the gradient of a slice. */
static void unwindow(Call *c) {
    npy_intp shape[DIMS];
    PyObject *index = attr_of(c, "index");
    PyArrayObject *g = behaved(c, 0);
    const int ndim = ints_of(c, "shape", shape);
    if (c->ends || !need(c, PyTuple_Check(index) && PyArray_SIZE(g) > 0)) return;
    Zeros zeros = {.out = new_array(c, ndim, shape, PyArray_TYPE(g))};
    if (!zeros.out) return;
    PyArrayObject *out = c->result[0];
    Place p = {.at = 0};
    if (!need(c, place_of(&p, index, out) && p.ndim == PyArray_NDIM(g) && PyArray_CompareLists(p.shape, PyArray_DIMS(g), p.ndim))) return;
    zeros.bytes = (size_t)PyArray_NBYTES(out);
    if (PyArray_SIZE(g) != PyArray_SIZE(out)) run_once(zeros_part, &zeros, 0.05 * (double)zeros.bytes);
    PyArrayObject *window = window_of(out, p.ndim, p.shape, p.step, PyArray_BYTES(out) + p.at);
    if (aside(c, window) && array_put(window, g) < 0) fail(c);
}

/* An array that is written to, and is the answer. */
static PyArrayObject *written(Call *c, Py_ssize_t count) {
    PyArrayObject *a = behaved(c, 0);
    if (!a || !need(c, c->count == count && PyArray_ISWRITEABLE(a) && is_filled(a))) return NULL;
    new_made(c, ARRAY(Py_NewRef(a)));
    return a;
}

/* One array's numbers over another's that lie the same way. */
static void copy_into(Call *c) {
    PyArrayObject *to = written(c, 2), *from = array_at(c, 1);
    if (c->ends || !need(c, PyArray_TYPE(from) == PyArray_TYPE(to) && PyArray_SAMESHAPE(from, to) && PyArray_ISNOTSWAPPED(from))) return;
    for (int d = 0; d < PyArray_NDIM(to); d++) need(c, PyArray_DIM(to, d) == 1 || PyArray_STRIDE(from, d) == PyArray_STRIDE(to, d));
    if (!c->ends) memmove(PyArray_DATA(to), PyArray_DATA(from), (size_t)PyArray_NBYTES(to));
}

/* A number over all of a float32 array; zeros over others, too. */
static void fill_into(Call *c) {
    double number;
    PyObject *value = attr_of(c, "value");
    PyArrayObject *to = written(c, 1);
    if (c->ends || !need(c, plain_number(value, &number))) return;
    const float one = (float)number;
    if (number == 0.0 && !signbit(number)) memset(PyArray_DATA(to), 0, (size_t)PyArray_NBYTES(to));
    else if (need(c, PyArray_TYPE(to) == NPY_FLOAT32))
        for (idx i = 0, n = PyArray_SIZE(to); i < n; i++) DATA(to)[i] = one;
}

const Entry join_entries[] = {
    BOUND("cat", cat, .repeats = 1), BOUND("stack", stack), BOUND("unwindow", unwindow, .repeats = 1), BOUND("copy_into", copy_into),
    BOUND("fill_into", fill_into), {NULL},
};
