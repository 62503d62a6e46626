/* Kernels whose results go into given memory. */
#include "sequence.h"

/* Make sure that the results lie in the given arrays: a body may have refused, or used them otherwise. */
static int settle(PyObject *outs, PyObject *found) {
    const Py_ssize_t n = PyTuple_GET_SIZE(outs);
    if (!PyTuple_Check(found) || PyTuple_GET_SIZE(found) != n) {
        if (n != 1) {
            PyErr_SetString(PyExc_ValueError, "a kernel gave another number of results than it has memory for");
            return -1;
        }
        PyObject *out = PyTuple_GET_ITEM(outs, 0);
        if (found == out) return 0;
        repeat_cannot();
        return PyArray_CopyObject(ARRAY(out), found);
    }
    for (Py_ssize_t i = 0; i < n; i++) {
        PyObject *out = PyTuple_GET_ITEM(outs, i), *item = PyTuple_GET_ITEM(found, i);
        if (item == out) continue;
        repeat_cannot();
        if (PyArray_CopyObject(ARRAY(out), item) < 0) return -1;
    }
    return 0;
}

PyObject *into_call(PyObject *self, PyObject *args, PyObject *attrs) {
    Into *k = (Into *)self;
    Given mine = {.count = (int)PyTuple_GET_SIZE(k->outs)}, *before = given;
    for (int i = 0; i < mine.count; i++) mine.arrays[i] = ARRAY(PyTuple_GET_ITEM(k->outs, i));
    given = &mine;
    PyObject *found = call_body(k->entry, k->rounds, &PyTuple_GET_ITEM(args, 0), PyTuple_GET_SIZE(args), attrs);
    given = before;
    if (found == REFUSE) {
        Repeat *const r = repeat_pause(); /* it may call kernels of its own */
        found = PyObject_Call(k->otherwise, args, attrs);
        repeat_resume(r);
    }
    if (!found) return NULL;
    const int failed = settle(k->outs, found);
    Py_DECREF(found);
    if (failed) return NULL;
    Py_RETURN_NONE;
}

static void into_dealloc(PyObject *self) {
    Py_XDECREF(((Into *)self)->otherwise);
    Py_XDECREF(((Into *)self)->rounds);
    Py_XDECREF(((Into *)self)->outs);
    Py_TYPE(self)->tp_free(self);
}

PyTypeObject IntoType = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "rushlight.runtime.cpu._native.Into",
    .tp_basicsize = sizeof(Into),
    .tp_call = into_call,
    .tp_dealloc = into_dealloc,
    .tp_flags = Py_TPFLAGS_DEFAULT,
};

PyObject *m_into(PyObject *module, PyObject *args) {
    const char *name;
    PyObject *otherwise, *outs, *rounds = Py_None;
    if (!PyArg_ParseTuple(args, "sOO!|O", &name, &otherwise, &PyTuple_Type, &outs, &rounds)) return NULL;
    const Entry *e = entry_of(name);
    if (!e || PyTuple_GET_SIZE(outs) > MOST_GIVEN) Py_RETURN_NONE;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(outs); i++)
        if (!PyArray_CheckExact(PyTuple_GET_ITEM(outs, i))) {
            PyErr_SetString(PyExc_TypeError, "results go into NumPy arrays");
            return NULL;
        }
    Into *k = PyObject_New(Into, &IntoType);
    if (!k) return NULL;
    k->entry = e;
    k->otherwise = Py_NewRef(otherwise);
    k->rounds = Py_NewRef(rounds);
    k->outs = Py_NewRef(outs);
    return (PyObject *)k;
}
