/* How CuPy's arrays lie in memory: shapes, strides, dtypes and addresses without a Python object for each. */
#ifndef HEADER_H
#define HEADER_H

#include <Python.h>
#include <stdint.h>

/* What a launch looks at. Without a known layout `shape` and `strides` are tuples that `release` lets go. */
typedef struct {
    PyObject *dtype; /* borrowed where the layout is known */
    int ndim;
    const Py_ssize_t *shape, *strides;
    Py_ssize_t room[2 * 32];
    PyObject *owned;
} Header;

#define MOST_DIMS 32

int read_header(PyObject *array, Header *h); /* 1 when done, 0 for too many dims, -1 on error */
void release_header(Header *h);
int read_address(PyObject *array, uint64_t *out); /* 1 when done, 0 where the layout is not known */
int address_of(PyObject *value, uint64_t *out);    /* launch.c: of an array, an int or None; -1 on error */
int can_resize(PyObject *call);                    /* launch.c: whether a launch is the same for any number of elements */
PyObject *call_for(PyObject *call, PyObject *shape, Py_ssize_t count);
PyObject *learn_header(PyObject *module, PyObject *probes);
PyObject *gathered(PyObject *module, PyObject *arrays);
int name_header(void);

#endif
