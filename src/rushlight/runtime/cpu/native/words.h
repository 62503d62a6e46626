/* Functions of the module that draw from NumPy's mt19937. */
#ifndef RL_WORDS_H
#define RL_WORDS_H

#include "arrays.h"

PyObject *m_words_unit(PyObject *module, PyObject *const *args, Py_ssize_t nargs);
PyObject *m_words_shuffled(PyObject *module, PyObject *const *args, Py_ssize_t nargs);
PyObject *m_words_below(PyObject *module, PyObject *const *args, Py_ssize_t nargs);
PyObject *m_words_uniform(PyObject *module, PyObject *const *args, Py_ssize_t nargs);
PyObject *m_words_normals(PyObject *module, PyObject *const *args, Py_ssize_t nargs);
PyObject *m_words_pairs(PyObject *module, PyObject *const *args, Py_ssize_t nargs);
PyObject *m_words_scaled(PyObject *module, PyObject *const *args, Py_ssize_t nargs);
PyObject *m_words_picked(PyObject *module, PyObject *const *args, Py_ssize_t nargs);

#endif
