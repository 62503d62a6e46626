/* Calls with their results in given memory, and such calls one after the other. */
#ifndef RL_SEQUENCE_H
#define RL_SEQUENCE_H

#include "arrays.h"

/* Of module.c. */
const Entry *entry_of(const char *name);
PyObject *call_body(const Entry *e, PyObject *rounds, PyObject *const *items, Py_ssize_t n, PyObject *attrs);

typedef struct {
    PyObject_HEAD
    const Entry *entry;
    PyObject *otherwise;
    PyObject *rounds;
    PyObject *outs; /* a tuple of arrays */
} Into;

extern PyTypeObject IntoType, SequenceType;
PyObject *into_call(PyObject *self, PyObject *args, PyObject *attrs);
PyObject *m_into(PyObject *module, PyObject *args);
PyObject *m_sequence(PyObject *module, PyObject *given);

#endif
