/* In-place ops on plain tensors: whether a call is the usual one, and its result written where it belongs.
 *
 * core/inplace.py has all of it in Python; what is unusual (a graph, a view, another device, somebody who listens) goes there.
 */
#include "slots.h"

#define MOST_BYTES (1 << 18) /* more is copied by the engine, on all threads */
#define PLAIN (NPY_ARRAY_C_CONTIGUOUS | NPY_ARRAY_ALIGNED)

/* Whether a tensor is no view, and lies in memory as it is counted. */
static int is_plain(PyObject *t, int flags)
{
    PyObject *a = is_tensor(t) ? SLOT(t, t_a) : NULL;
    return a != NULL && SLOT(t, t_ext) == Py_None && Py_IS_TYPE(a, ndarray_type) &&
           PyArray_CHKFLAGS((PyArrayObject *)a, flags);
}

static int is_number(PyObject *value)
{
    return PyFloat_CheckExact(value) || PyLong_CheckExact(value) || PyBool_Check(value);
}

static int may(PyObject *t, PyObject *args)
{
    long state = state_here();
    if (state < 0)
        return -1;
    if (state & ~GRAD || !is_plain(t, PLAIN | NPY_ARRAY_WRITEABLE) || (state && SLOT(t, t_edge) != Py_None))
        return 0;
    if (SLOT(t, t_ver) != Py_None && PyList_GET_SIZE(SLOT(t, t_ver)) > 1)
        return 0; /* nodes wait behind the version for a copy */
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(args); i++) {
        PyObject *value = PyTuple_GET_ITEM(args, i);
        if (!is_number(value) && !(is_plain(value, 0) && (!state || SLOT(value, t_edge) == Py_None)))
            return 0;
    }
    return 1;
}

/* How many bytes a plain array of a common dtype has; 0 of others. */
static size_t bytes_of(PyArrayObject *a)
{
    size_t bytes = 0;
    switch (PyArray_DESCR(a)->type_num) {
    case NPY_BOOL: bytes = 1; break;
    case NPY_FLOAT16: bytes = 2; break;
    case NPY_FLOAT32:
    case NPY_INT32: bytes = 4; break;
    case NPY_FLOAT64:
    case NPY_INT64: bytes = 8; break;
    }
    for (int d = 0; d < PyArray_NDIM(a); d++)
        bytes *= (size_t)PyArray_DIMS(a)[d];
    return bytes;
}

static int written(PyObject *t, PyObject *r)
{
    if (!is_plain(r, PLAIN) || SLOT(r, t_edge) != Py_None)
        return 0;
    PyArrayObject *to = (PyArrayObject *)SLOT(t, t_a), *from = (PyArrayObject *)SLOT(r, t_a);
    int dims = PyArray_NDIM(to);
    size_t bytes = bytes_of(to);
    if (PyArray_DESCR(to) != PyArray_DESCR(from) || dims != PyArray_NDIM(from) || !bytes || bytes > MOST_BYTES ||
        memcmp(PyArray_DIMS(to), PyArray_DIMS(from), dims * sizeof(npy_intp)) != 0)
        return 0;
    PyObject *cell = version_cell(t);
    long before = cell == NULL ? -1 : PyLong_AsLong(PyList_GET_ITEM(cell, 0));
    PyObject *now = before < 0 ? NULL : PyLong_FromLong(before + 1);
    if (now == NULL)
        return -1;
    memmove(PyArray_DATA(to), PyArray_DATA(from), bytes);
    PyList_SetItem(cell, 0, now);
    return 1;
}

/* may_change(tensor, others): whether an op on them may write into it without a look at graphs and views. */
PyObject *may_change(PyObject *module, PyObject *const *args, Py_ssize_t n)
{
    if (n != 2 || !PyTuple_CheckExact(args[1]))
        return PyErr_Format(PyExc_TypeError, "may_change() takes a tensor and a tuple");
    int answer = may(args[0], args[1]);
    return answer < 0 ? NULL : PyBool_FromLong(answer);
}

/* change_to(tensor, result): write the result into a tensor that may be changed; False where that is not as simple. */
PyObject *change_to(PyObject *module, PyObject *const *args, Py_ssize_t n)
{
    if (n != 2 || !is_tensor(args[0]))
        return PyErr_Format(PyExc_TypeError, "change_to() takes two tensors");
    int answer = written(args[0], args[1]);
    return answer < 0 ? NULL : PyBool_FromLong(answer);
}
