/* cat: arrays one after the other along a dim, row by row. */
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

/* Copy `a` to where it begins in `out`; -1 with an exception. */
static int put_part(PyArrayObject *out, PyArrayObject *a, idx dim, npy_intp before) {
    char *to = PyArray_BYTES(out) + before * PyArray_STRIDE(out, dim);
    if (!PyArray_IS_C_CONTIGUOUS(a)) {
        PyArray_Descr *type = PyArray_DESCR(out);
        Py_INCREF(type);
        PyArrayObject *view = ARRAY(PyArray_NewFromDescr(&PyArray_Type, type, PyArray_NDIM(a), PyArray_DIMS(a),
                                                         PyArray_STRIDES(out), to, NPY_ARRAY_WRITEABLE, NULL));
        const int failed = !view || PyArray_CopyInto(view, a) < 0;
        Py_XDECREF(view);
        return failed ? -1 : 0;
    }
    idx outer = 1, row = PyArray_ITEMSIZE(a), step;
    for (int d = 0; d < PyArray_NDIM(a); d++) *(d < dim ? &outer : &row) *= PyArray_DIM(a, d);
    step = dim ? PyArray_STRIDE(out, dim - 1) : 0;
    const char *from = PyArray_BYTES(a);
    for (idx i = 0; i < outer; i++) memcpy(to + i * step, from + i * row, (size_t)row);
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

const Entry join_entries[] = {{"cat", cat, 0}, {NULL, NULL}};
