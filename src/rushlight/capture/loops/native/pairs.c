/* Inputs whose memory the user sees through NumPy, beside the program's copies of them: are they as they were? */
#include "match.h"
#include <string.h>

typedef struct {
    PyObject_HEAD
    Py_buffer shown, kept;
} Pair;

static void pair_free(Pair *self)
{
    PyBuffer_Release(&self->shown);
    PyBuffer_Release(&self->kept);
    Py_TYPE(self)->tp_free((PyObject *)self);
}

PyTypeObject pair_type = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "_match.Pair",
    .tp_basicsize = sizeof(Pair),
    .tp_dealloc = (destructor)pair_free,
    .tp_flags = Py_TPFLAGS_DEFAULT,
    .tp_doc = "An array of the user's, and a copy of it that lies alike.",
};

/* pair(array, copy): None where their bytes cannot be compared as they lie. */
PyObject *pair(PyObject *module, PyObject *args)
{
    PyObject *shown, *kept;
    if (!PyArg_ParseTuple(args, "OO", &shown, &kept))
        return NULL;
    Pair *made = (Pair *)pair_type.tp_alloc(&pair_type, 0);
    if (made == NULL)
        return NULL;
    if (PyObject_GetBuffer(shown, &made->shown, PyBUF_ANY_CONTIGUOUS) < 0 ||
        PyObject_GetBuffer(kept, &made->kept, PyBUF_ANY_CONTIGUOUS) < 0 || made->shown.len != made->kept.len) {
        PyErr_Clear();
        Py_DECREF(made);
        Py_RETURN_NONE;
    }
    return (PyObject *)made;
}

int as_they_were(PyObject *pairs)
{
    if (pairs == NULL || !PyList_CheckExact(pairs))
        return 0;
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(pairs); i++) {
        const Pair *p = (const Pair *)PyList_GET_ITEM(pairs, i);
        if (!Py_IS_TYPE(p, &pair_type) || memcmp(p->shown.buf, p->kept.buf, (size_t)p->shown.len) != 0)
            return 0;
    }
    return 1;
}

PyObject *unchanged(PyObject *module, PyObject *pairs) { return PyBool_FromLong(as_they_were(pairs)); }
