/* A call that its caller has described, compared and put off: the loops of `Told.matches` and `Told.carry_out`. */
#include "match.h"

/* fits(expected, arrays, now) -> whether all arrays are those expected, a list of (kind, array or number); None where an
 * array comes from outside, which Python binds. */
PyObject *told_fits(PyObject *module, PyObject *const *args, Py_ssize_t n)
{
    if (n != 3 || !PyList_CheckExact(args[0]) || !PyList_CheckExact(args[1]) || !PyList_CheckExact(args[2]))
        return PyErr_Format(PyExc_TypeError, "fits takes three lists");
    PyObject *expected = args[0], *arrays = args[1], *now = args[2];
    if (PyList_GET_SIZE(expected) != PyList_GET_SIZE(arrays))
        Py_RETURN_FALSE;
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(expected); i++) {
        PyObject *row = PyList_GET_ITEM(expected, i), *a = PyList_GET_ITEM(arrays, i), *what = PyTuple_GET_ITEM(row, 1);
        if (PyLong_AsLong(PyTuple_GET_ITEM(row, 0)) != FIXED) {
            what = PyList_GetItem(now, PyLong_AsSsize_t(what));
            if (what == NULL)
                return NULL;
            if (what == not_met)
                Py_RETURN_NONE;
        }
        if (what != a)
            Py_RETURN_FALSE;
    }
    Py_RETURN_TRUE;
}

/* take(rows, now) -> arrays without values, which also become those of the numbers in `now`; a row is (number, pool, its arrays,
 * their counts), or None, which stays None */
PyObject *told_take(PyObject *module, PyObject *const *args, Py_ssize_t n)
{
    if (n != 2 || !PyList_CheckExact(args[0]) || !PyList_CheckExact(args[1]))
        return PyErr_Format(PyExc_TypeError, "take takes two lists");
    PyObject *found = PyList_New(PyList_GET_SIZE(args[0]));
    for (Py_ssize_t i = 0; found != NULL && i < PyList_GET_SIZE(args[0]); i++) {
        PyObject *row = PyList_GET_ITEM(args[0], i);
        PyObject *a = row == Py_None ? Py_NewRef(row) : taken(PyTuple_GET_ITEM(row, 1), PyTuple_GET_ITEM(row, 2), PyTuple_GET_ITEM(row, 3));
        int done = a == NULL ? -1 : 0;
        if (done == 0 && row != Py_None)
            done = PyList_SetItem(args[1], PyLong_AsSsize_t(PyTuple_GET_ITEM(row, 0)), Py_NewRef(a));
        if (done == 0)
            PyList_SET_ITEM(found, i, a);
        else
            Py_CLEAR(found);
    }
    return found;
}
