/* The end of a call: what its binding made becomes the answer, or goes. */
#include "arrays.h"

PyArrayObject *any_type(Call *c, int i) {
    if (!need(c, i < c->count && PyArray_CheckExact(c->args[i]) && PyArray_TYPE(ARRAY(c->args[i])) != NPY_OBJECT)) return NULL;
    return typed(c, i, PyArray_TYPE(ARRAY(c->args[i])));
}

PyArrayObject *strided(Call *c, int i) { return need(c, i < c->count && is_float(c->args[i])) ? ARRAY(c->args[i]) : NULL; }

PyArrayObject *behaved(Call *c, int i) {
    PyArrayObject *a = array_at(c, i);
    return a && need(c, PyArray_ISBEHAVED_RO(a) && PyArray_TYPE(a) < NPY_OBJECT) ? a : NULL;
}

int64_t *some_wholes(Call *c, int i, idx n) {
    PyArrayObject *found = typed(c, i, NPY_INT64);
    return found && need(c, PyArray_SIZE(found) == n) ? PyArray_DATA(found) : NULL;
}

int plain_int(PyObject *o, double *out) {
    *out = PyLong_AsDouble(o);
    if (*out != -1.0 || !PyErr_Occurred()) return 1;
    PyErr_Clear(); /* an int beyond all floats: NumPy says so */
    return 0;
}

int ints_of(Call *c, const char *name, idx *out) {
    PyObject *found = attr_of(c, name);
    if (!found || !need(c, PyTuple_Check(found) && PyTuple_GET_SIZE(found) <= DIMS)) return -1;
    const int n = (int)PyTuple_GET_SIZE(found);
    for (int i = 0; i < n; i++) {
        out[i] = PyLong_AsSsize_t(PyTuple_GET_ITEM(found, i));
        if (out[i] != -1 || !PyErr_Occurred()) continue;
        if (!PyErr_ExceptionMatches(PyExc_OverflowError)) return fail(c), -1;
        PyErr_Clear(); /* beyond all sizes: NumPy says so */
        return refuse(c), -1;
    }
    return n;
}

int dims_of(Call *c, const char *name, idx *out, int n) {
    if (attr_dims(c->attrs, name, out, n) < 0) fail(c);
    return !c->ends;
}

int reduction_of(Call *c) {
    PyObject *how = attr_of(c, "reduction");
    return !how ? 0 : PyUnicode_CompareWithASCIIString(how, "mean") == 0 ? 2 : PyUnicode_CompareWithASCIIString(how, "sum") == 0;
}

int along(Call *c, PyArrayObject *x, idx dim, idx *outer, idx *n, idx *inner) {
    if (!x || !need(c, dim >= 0 && dim < PyArray_NDIM(x))) return 0;
    *outer = *inner = 1, *n = PyArray_DIM(x, dim);
    for (int d = 0; d < PyArray_NDIM(x); d++)
        if (d != dim) *(d < dim ? outer : inner) *= PyArray_DIM(x, d);
    return 1;
}

int over_dims(Call *c, PyArrayObject *x, idx keep, Over *o) {
    PyObject *dim = attr_of(c, "dim");
    if (!x || !dim || !need(c, PyArray_NDIM(x) <= DIMS && PyArray_SIZE(x) > 0)) return 0;
    const int several = PyTuple_Check(dim), count = several ? (int)PyTuple_GET_SIZE(dim) : 1;
    long first = 0, last = PyArray_NDIM(x) - 1;
    if (!need(c, count > 0 && (several || dim == Py_None || PyLong_Check(dim)))) return 0;
    for (int i = 0; dim != Py_None && i < count; i++) {
        last = PyLong_AsLong(several ? PyTuple_GET_ITEM(dim, i) : dim);
        if (last == -1 && PyErr_Occurred()) return fail(c), 0;
        if (i == 0) first = last;
        if (!need(c, last == first + i && first >= 0 && last < PyArray_NDIM(x))) return 0;
    }
    o->outer = o->n = o->inner = 1, o->ndim = 0;
    for (int d = 0; d < PyArray_NDIM(x); d++) {
        const int gone = d >= first && d <= last;
        *(gone ? &o->n : d < first ? &o->outer : &o->inner) *= PyArray_DIM(x, d);
        if (!gone || keep) o->shape[o->ndim++] = gone && keep != AS_IT_IS ? keep : PyArray_DIM(x, d);
    }
    return 1;
}

void *room(Call *c, size_t bytes) {
    if (c->ends || !bytes) return NULL;
    void *found = memory_take(bytes);
    if (!found) return fail(c), NULL;
    c->block[c->blocks].at = found, c->block[c->blocks++].bytes = bytes;
    return found;
}

void *table(Call *c, size_t bytes) {
    if (c->ends) return NULL;
    void *found = table_take(bytes);
    if (!found) return fail(c), NULL;
    c->block[c->blocks].at = found, c->block[c->blocks++].bytes = 0;
    return found;
}

PyArrayObject *aside(Call *c, PyArrayObject *copy) {
    if (!copy) return fail(c), NULL;
    return c->aside[c->copies++] = copy;
}

PyObject *call_ended(const Call *c) {
    for (int i = 0; i < c->blocks; i++)
        if (c->block[i].bytes) memory_give(c->block[i].at, c->block[i].bytes);
        else table_give(c->block[i].at);
    for (int i = 0; i < c->copies; i++) Py_DECREF(c->aside[i]);
    PyObject *out = c->value;
    if (!c->ends && c->results == 1 && !c->tuple) return (PyObject *)c->result[0];
    if (!c->ends && !out && (out = PyTuple_New(c->results)))
        for (int i = 0; i < c->results; i++) PyTuple_SET_ITEM(out, i, Py_NewRef((PyObject *)c->result[i]));
    for (int i = 0; i < c->results; i++) Py_DECREF(c->result[i]);
    if (!c->ends) return out;
    if (!(c->ends & FAILS)) return REFUSE;
    return PyErr_Occurred() ? NULL : PyErr_NoMemory();
}
