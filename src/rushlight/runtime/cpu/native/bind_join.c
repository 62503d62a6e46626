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

/* Whether all are arrays of one usual dtype that differ at most in `dim`; their sum of sizes there to `all`. */
static int joinable(PyObject *const *args, Py_ssize_t n, idx dim, npy_intp *all) {
    int last = 1;
    *all = 0;
    for (Py_ssize_t i = 0; i < n; i++) {
        if (!PyArray_CheckExact(args[i])) return 0;
        PyArrayObject *a = ARRAY(args[i]), *first = ARRAY(args[0]);
        const int ndim = PyArray_NDIM(a), type = PyArray_TYPE(a);
        if (ndim < 1 || ndim > DIMS || ndim != PyArray_NDIM(first) || dim < 0 || dim >= ndim) return 0;
        if (type != PyArray_TYPE(first) || type >= NPY_OBJECT || !PyArray_ISBEHAVED_RO(a)) return 0;
        for (int d = 0; d < ndim; d++)
            if (d != dim && PyArray_DIM(a, d) != PyArray_DIM(first, d)) return 0;
        *all += PyArray_DIM(a, dim);
        last = last && (ndim == 4 || ndim == 5) && grows_from_channels(a);
    }
    return n > 0 && !last;
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

/* Copy `a` to where it begins in `out`; -1 with an exception. */
static int put_part(PyArrayObject *out, PyArrayObject *a, idx dim, npy_intp before) {
    char *to = PyArray_BYTES(out) + before * PyArray_STRIDE(out, dim);
    if (!PyArray_IS_C_CONTIGUOUS(a)) {
        PyArray_Descr *type = PyArray_DESCR(out);
        Py_INCREF(type);
        PyArrayObject *view = ARRAY(PyArray_NewFromDescr(&PyArray_Type, type, PyArray_NDIM(a), PyArray_DIMS(a),
                                                         PyArray_STRIDES(out), to, NPY_ARRAY_WRITEABLE, NULL));
        const int failed = !view || array_put(view, a) < 0;
        Py_XDECREF(view);
        return failed ? -1 : 0;
    }
    Rows r = {.from = PyArray_BYTES(a), .to = to, .outer = 1, .row = PyArray_ITEMSIZE(a), .step = dim ? PyArray_STRIDE(out, dim - 1) : 0};
    for (int d = 0; d < PyArray_NDIM(a); d++) *(d < dim ? &r.outer : &r.row) *= PyArray_DIM(a, d);
    run_once(rows_part, &r, 0.05 * (double)(r.outer * r.row));
    return 0;
}

static PyObject *cat(PyObject *const *args, Py_ssize_t nargs, PyObject *attrs) {
    idx dim;
    npy_intp all, shape[DIMS];
    if (attr_idx(attrs, "dim", &dim) < 0) return NULL;
    if (!joinable(args, nargs, dim, &all)) return REFUSE;
    PyArrayObject *first = ARRAY(args[0]);
    for (int d = 0; d < PyArray_NDIM(first); d++) shape[d] = d == dim ? all : PyArray_DIM(first, d);
    PyArrayObject *out = array_new(PyArray_NDIM(first), shape, PyArray_TYPE(first));
    if (!out || PyArray_SIZE(out) == 0) return (PyObject *)out;
    npy_intp before = 0;
    for (Py_ssize_t i = 0; i < nargs; i++) {
        if (PyArray_SIZE(ARRAY(args[i])) && put_part(out, ARRAY(args[i]), dim, before) < 0) {
            Py_DECREF(out);
            return NULL;
        }
        before += PyArray_DIM(ARRAY(args[i]), dim);
    }
    return (PyObject *)out;
}

/* Arrays of one shape and dtype, each a place of a new dim. */
static PyObject *stack(PyObject *const *args, Py_ssize_t nargs, PyObject *attrs) {
    idx dim;
    npy_intp shape[DIMS];
    if (attr_idx(attrs, "dim", &dim) < 0) return NULL;
    for (Py_ssize_t i = 0; i < nargs; i++) {
        if (!PyArray_CheckExact(args[i]) || !PyArray_IS_C_CONTIGUOUS(ARRAY(args[i])) || !PyArray_ISBEHAVED_RO(ARRAY(args[i]))) return REFUSE;
        PyArrayObject *a = ARRAY(args[i]), *first = ARRAY(args[0]);
        if (PyArray_TYPE(a) != PyArray_TYPE(first) || PyArray_TYPE(a) >= NPY_OBJECT || PyArray_NDIM(a) != PyArray_NDIM(first)) return REFUSE;
        if (!PyArray_CompareLists(PyArray_DIMS(a), PyArray_DIMS(first), PyArray_NDIM(a))) return REFUSE;
    }
    if (nargs < 1) return REFUSE;
    PyArrayObject *first = ARRAY(args[0]);
    const int ndim = PyArray_NDIM(first);
    if (ndim >= DIMS || dim < 0 || dim > ndim) return REFUSE;
    size_t outer = 1, row = (size_t)PyArray_ITEMSIZE(first);
    for (int d = 0; d < ndim; d++) {
        shape[d < dim ? d : d + 1] = PyArray_DIM(first, d);
        *(d < dim ? &outer : &row) *= (size_t)PyArray_DIM(first, d);
    }
    shape[dim] = nargs;
    PyArrayObject *out = array_new(ndim + 1, shape, PyArray_TYPE(first));
    if (!out) return NULL;
    char *to = PyArray_BYTES(out);
    const int numbers = row == 4;
    for (size_t o = 0; o < outer; o++)
        for (Py_ssize_t i = 0; i < nargs; i++, to += row) {
            const char *from = PyArray_BYTES(ARRAY(args[i])) + o * row;
            if (numbers) memcpy(to, from, 4);
            else memcpy(to, from, row);
        }
    return (PyObject *)out;
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
static PyObject *unwindow(PyObject *const *args, Py_ssize_t nargs, PyObject *attrs) {
    PyObject *index = attr(attrs, "index"), *of = attr(attrs, "shape");
    if (!index || !of) return NULL;
    if (nargs != 1 || !PyArray_CheckExact(args[0]) || !PyTuple_Check(index) || !PyTuple_Check(of) || PyTuple_GET_SIZE(of) > DIMS) return REFUSE;
    PyArrayObject *g = ARRAY(args[0]);
    if (!PyArray_ISBEHAVED_RO(g) || PyArray_TYPE(g) >= NPY_OBJECT || PyArray_SIZE(g) == 0) return REFUSE;
    npy_intp shape[DIMS];
    if (attr_dims(attrs, "shape", (idx *)shape, (int)PyTuple_GET_SIZE(of)) < 0) return NULL;
    PyArrayObject *out = array_new((int)PyTuple_GET_SIZE(of), shape, PyArray_TYPE(g));
    if (!out) return NULL;
    Place p = {.at = 0};
    if (!place_of(&p, index, out) || p.ndim != PyArray_NDIM(g) || !PyArray_CompareLists(p.shape, PyArray_DIMS(g), p.ndim)) {
        Py_DECREF(out);
        return REFUSE;
    }
    Zeros zeros = {PyArray_DATA(out), (size_t)PyArray_NBYTES(out)};
    if (PyArray_SIZE(g) != PyArray_SIZE(out)) run_once(zeros_part, &zeros, 0.05 * (double)zeros.bytes);
    PyArray_Descr *type = PyArray_DESCR(out);
    Py_INCREF(type);
    PyArrayObject *window = ARRAY(PyArray_NewFromDescr(&PyArray_Type, type, p.ndim, p.shape, p.step, PyArray_BYTES(out) + p.at,
                                                       NPY_ARRAY_WRITEABLE, NULL));
    if (!window || array_put(window, g) < 0) Py_CLEAR(out);
    Py_XDECREF(window);
    return (PyObject *)out;
}

static int is_written(PyObject *o) {
    return PyArray_CheckExact(o) && PyArray_ISBEHAVED(ARRAY(o)) && PyArray_TYPE(ARRAY(o)) < NPY_OBJECT && is_filled(ARRAY(o));
}

/* One array's numbers over another's that lie the same way. */
static PyObject *copy_into(PyObject *const *args, Py_ssize_t nargs, PyObject *attrs) {
    if (nargs != 2 || !is_written(args[0]) || !PyArray_CheckExact(args[1])) return REFUSE;
    PyArrayObject *to = ARRAY(args[0]), *from = ARRAY(args[1]);
    const int ndim = PyArray_NDIM(to);
    if (PyArray_TYPE(from) != PyArray_TYPE(to) || PyArray_NDIM(from) != ndim || !PyArray_ISNOTSWAPPED(from)) return REFUSE;
    for (int d = 0; d < ndim; d++) {
        const npy_intp size = PyArray_DIM(to, d);
        if (PyArray_DIM(from, d) != size || (size != 1 && PyArray_STRIDE(from, d) != PyArray_STRIDE(to, d))) return REFUSE;
    }
    memmove(PyArray_DATA(to), PyArray_DATA(from), (size_t)PyArray_NBYTES(to));
    return Py_NewRef(args[0]);
}

/* A number over all of a float32 array; zeros over others, too. */
static PyObject *fill_into(PyObject *const *args, Py_ssize_t nargs, PyObject *attrs) {
    PyObject *value = attr(attrs, "value");
    if (!value) return NULL;
    if (nargs != 1 || !is_written(args[0]) || !(PyFloat_CheckExact(value) || PyLong_CheckExact(value))) return REFUSE;
    const double number = PyFloat_AsDouble(value);
    if (number == -1.0 && PyErr_Occurred()) {
        PyErr_Clear();
        return REFUSE;
    }
    PyArrayObject *to = ARRAY(args[0]);
    if (number == 0.0 && !signbit(number)) memset(PyArray_DATA(to), 0, (size_t)PyArray_NBYTES(to));
    else if (PyArray_TYPE(to) == NPY_FLOAT32) {
        float *out = DATA(to);
        const float one = (float)number;
        for (idx i = 0, n = PyArray_SIZE(to); i < n; i++) out[i] = one;
    } else return REFUSE;
    return Py_NewRef(args[0]);
}

const Entry join_entries[] = {{"cat", cat, .repeats = 1}, {"stack", stack}, {"unwindow", unwindow, .repeats = 1}, {"copy_into", copy_into}, {"fill_into", fill_into}, {NULL, NULL}};
