/* A graph of cuDNN's that is run by one call. */
#ifndef RUSHLIGHT_GRAPH_H
#define RUSHLIGHT_GRAPH_H

#include <Python.h>

/* run_graph(functions, handle, plan, uids, addresses, workspace): run a plan of cuDNN's -> its status. */
PyObject *run_graph(PyObject *module, PyObject *const *args, Py_ssize_t n);

#endif
