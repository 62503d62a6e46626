/* Many 0-d arrays read or written by one call: an optimiser's step counts, one for each parameter. */
#include "arrays.h"

#include "scalars.h"

static int kind_of(PyObject *o) {
    if (!PyArray_CheckExact(o) || PyArray_NDIM(ARRAY(o)) != 0 || !PyArray_ISBEHAVED(ARRAY(o))) return -1;
    const int type = PyArray_TYPE(ARRAY(o));
    return type == NPY_FLOAT32 || type == NPY_FLOAT64 ? type : -1;
}

static double value_of(PyObject *o, int type) {
    const void *at = PyArray_DATA(ARRAY(o));
    return type == NPY_FLOAT32 ? (double)*(const float *)at : *(const double *)at;
}

static PyObject *not_here(void) { Py_RETURN_NOTIMPLEMENTED; }

/* scalars_read(list): the number they all hold, or a list of numbers where they differ. */
PyObject *m_scalars_read(PyObject *module, PyObject *arrays) {
    if (!PyList_CheckExact(arrays) || PyList_GET_SIZE(arrays) == 0) return not_here();
    const Py_ssize_t n = PyList_GET_SIZE(arrays);
    double first = 0;
    int alike = 1;
    for (Py_ssize_t i = 0; i < n; i++) {
        PyObject *o = PyList_GET_ITEM(arrays, i);
        const int type = kind_of(o);
        if (type < 0) return not_here();
        const double v = value_of(o, type);
        if (i == 0) first = v;
        else if (v != first) alike = 0;
    }
    if (alike) return PyFloat_FromDouble(first);
    PyObject *out = PyList_New(n);
    for (Py_ssize_t i = 0; out && i < n; i++) {
        PyObject *o = PyList_GET_ITEM(arrays, i);
        PyObject *v = PyFloat_FromDouble(value_of(o, kind_of(o)));
        if (!v) Py_CLEAR(out);
        else PyList_SET_ITEM(out, i, v);
    }
    return out;
}

/* scalars_write(list, number or list of numbers) */
PyObject *m_scalars_write(PyObject *module, PyObject *const *args, Py_ssize_t nargs) {
    if (nargs != 2 || !PyList_CheckExact(args[0])) return not_here();
    const Py_ssize_t n = PyList_GET_SIZE(args[0]);
    const int many = PyList_CheckExact(args[1]);
    if (many && PyList_GET_SIZE(args[1]) != n) return not_here();
    for (Py_ssize_t i = 0; i < n; i++)
        if (kind_of(PyList_GET_ITEM(args[0], i)) < 0) return not_here();
    double v = 0;
    for (Py_ssize_t i = 0; i < n; i++) {
        if (many || i == 0) {
            v = PyFloat_AsDouble(many ? PyList_GET_ITEM(args[1], i) : args[1]);
            if (v == -1.0 && PyErr_Occurred()) return NULL;
        }
        PyArrayObject *a = ARRAY(PyList_GET_ITEM(args[0], i));
        if (PyArray_TYPE(a) == NPY_FLOAT32) *(float *)PyArray_DATA(a) = (float)v;
        else *(double *)PyArray_DATA(a) = v;
    }
    Py_RETURN_NONE;
}
