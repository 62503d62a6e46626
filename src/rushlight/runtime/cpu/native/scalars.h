/* Functions of the module that read and write many 0-d arrays at once. */
#ifndef RL_SCALARS_H
#define RL_SCALARS_H

#include "arrays.h"

PyObject *m_scalars_read(PyObject *module, PyObject *arrays);
PyObject *m_scalars_write(PyObject *module, PyObject *const *args, Py_ssize_t nargs);

#endif
