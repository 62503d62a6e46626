/* The allocator in front of CuPy's pool: `_allocate_single` of memory/pool.py in C, with the gauge that it keeps. */
#define PY_SSIZE_T_CLEAN
#include "gauge.h"
#include <stddef.h>
#include <structmember.h>

typedef struct {
    PyObject_HEAD
    vectorcallfunc vectorcall;
    PyObject *malloc, *measure, *again;
    long long bound, peak, peak_reserved, ooms, limit;
} Gauge;

/* Memory of a size. Whatever goes wrong is tried again, and explained, in Python. */
static PyObject *allocate(PyObject *callable, PyObject *const *args, size_t nargsf, PyObject *names)
{
    Gauge *self = (Gauge *)callable;
    if (PyVectorcall_NARGS(nargsf) != 1 || names != NULL)
        return PyErr_Format(PyExc_TypeError, "an allocator takes one size");
    long long size = PyLong_AsLongLong(args[0]);
    if (size == -1 && PyErr_Occurred())
        return NULL;
    PyObject *found = PyObject_CallOneArg(self->malloc, args[0]);
    if (found == NULL) {
        if (!PyErr_ExceptionMatches(PyExc_Exception))
            return NULL;
        PyErr_Clear();
        return PyObject_CallOneArg(self->again, args[0]);
    }
    self->bound += (size + 511) & ~511ll;
    if (self->bound > self->peak) {
        PyObject *done = PyObject_CallOneArg(self->measure, callable);
        if (done == NULL)
            Py_CLEAR(found);
        Py_XDECREF(done);
    }
    return found;
}

static PyObject *gauge_make(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    PyObject *malloc, *measure, *again;
    if (!PyArg_ParseTuple(args, "OOO", &malloc, &measure, &again))
        return NULL;
    Gauge *self = (Gauge *)type->tp_alloc(type, 0);
    if (self == NULL)
        return NULL;
    self->vectorcall = allocate;
    self->malloc = Py_NewRef(malloc);
    self->measure = Py_NewRef(measure);
    self->again = Py_NewRef(again);
    return (PyObject *)self;
}

static void gauge_free(PyObject *object)
{
    Gauge *self = (Gauge *)object;
    Py_XDECREF(self->malloc);
    Py_XDECREF(self->measure);
    Py_XDECREF(self->again);
    Py_TYPE(object)->tp_free(object);
}

static PyMemberDef members[] = {
    {"malloc", T_OBJECT_EX, offsetof(Gauge, malloc), 0, "Where memory comes from; tests let it fail."},
    {"bound", T_LONGLONG, offsetof(Gauge, bound), 0, "Never below what is in use."},
    {"peak", T_LONGLONG, offsetof(Gauge, peak), 0, "The most that was in use."},
    {"peak_reserved", T_LONGLONG, offsetof(Gauge, peak_reserved), 0, "The most that the pool held."},
    {"ooms", T_LONGLONG, offsetof(Gauge, ooms), 0, "How often there was none."},
    {"limit", T_LONGLONG, offsetof(Gauge, limit), 0, "What this process may take, or 0."},
    {NULL, 0, 0, 0, NULL},
};

PyTypeObject GaugeType = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "rushlight.runtime.cuda.code._launch.Gauge",
    .tp_basicsize = sizeof(Gauge),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_VECTORCALL,
    .tp_vectorcall_offset = offsetof(Gauge, vectorcall),
    .tp_call = PyVectorcall_Call,
    .tp_new = gauge_make,
    .tp_members = members,
    .tp_dealloc = gauge_free,
    .tp_doc = "Gauge(malloc, measure, again): allocates, and counts as `_Gauge` of memory/pool.py.",
};
