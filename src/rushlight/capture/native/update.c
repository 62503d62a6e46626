/* Is an optimiser's step the one that a path expects? `Update.matches` of capture/loops/updates.py asks.
 *
 * Everything is compared by identity; what is not the same object (an option that became another number) is left to
 * Python, which knows which options are only numbers.
 */
#include "match.h"

/* 1 when two dicts have the same keys and, but for `params`, the very same values; 0 when that is not sure, -1 on error. */
static int same_options(PyObject *group, PyObject *options)
{
    if (PyDict_GET_SIZE(group) != PyDict_GET_SIZE(options))
        return 0;
    PyObject *key, *value;
    Py_ssize_t at = 0;
    while (PyDict_Next(options, &at, &key, &value)) {
        PyObject *given = PyDict_GetItemWithError(group, key);
        if (given == NULL)
            return PyErr_Occurred() ? -1 : 0;
        if (given != value && !(PyUnicode_Check(key) && PyUnicode_CompareWithASCIIString(key, "params") == 0))
            return 0;
    }
    return 1;
}

/* 1 when a list has the expected members. */
static int same_members(PyObject *list, PyObject *expected)
{
    if (list == NULL || !PyList_CheckExact(list) || PyList_GET_SIZE(list) != PyList_GET_SIZE(expected))
        return 0;
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(list); i++)
        if (PyList_GET_ITEM(list, i) != PyList_GET_ITEM(expected, i))
            return 0;
    return 1;
}

/* groups: a list of (group, its options, its parameters); `same_group` decides what identity does not. */
static int same_groups(PyObject *now, PyObject *groups, PyObject *same_group)
{
    if (!PyList_CheckExact(now) || PyList_GET_SIZE(now) != PyList_GET_SIZE(groups))
        return 0;
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(groups); i++) {
        PyObject *expected = PyList_GET_ITEM(groups, i), *group = PyTuple_GET_ITEM(expected, 0);
        PyObject *options = PyTuple_GET_ITEM(expected, 1), *members = PyTuple_GET_ITEM(expected, 2);
        if (PyList_GET_ITEM(now, i) != group || !PyDict_CheckExact(group))
            return 0;
        int found = same_members(PyDict_GetItemString(group, "params"), members) ? same_options(group, options) : 0;
        if (found == 0) {
            PyObject *answer = PyObject_CallFunctionObjArgs(same_group, group, options, members, NULL);
            found = answer == NULL ? -1 : PyObject_IsTrue(answer);
            Py_XDECREF(answer);
        }
        if (found != 1)
            return found;
    }
    return 1;
}

/* tensors: a list of (name, tensor, its array) that a parameter's state holds. */
static int same_state(PyObject *held, PyObject *tensors)
{
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(tensors); i++) {
        PyObject *row = PyList_GET_ITEM(tensors, i), *t = PyTuple_GET_ITEM(row, 1);
        PyObject *found = PyDict_GetItemWithError(held, PyTuple_GET_ITEM(row, 0));
        if (found != t || SLOT(t, t_a) != PyTuple_GET_ITEM(row, 2))
            return PyErr_Occurred() ? -1 : 0;
    }
    return 1;
}

/* row: (parameter, operand of its array, operand of its gradient, its state, the state's tensors) */
static int same_parameter(Cursor *cursor, PyObject *state, PyObject *row)
{
    PyObject *p = PyTuple_GET_ITEM(row, 0), *held = PyTuple_GET_ITEM(row, 3), *grad = SLOT(p, t_grad);
    if (!Py_IS_TYPE(grad, tensor_type))
        return 0;
    int found = is_operand(cursor, PyTuple_GET_ITEM(row, 1), SLOT(p, t_a));
    if (found == 1)
        found = is_operand(cursor, PyTuple_GET_ITEM(row, 2), SLOT(grad, t_a));
    if (found != 1)
        return found;
    PyObject *now = PyDict_GetItemWithError(state, p);
    if (now == NULL && PyErr_Occurred())
        return -1;
    if (now != held) { /* empty ones are made anew each time */
        if (PyList_GET_SIZE(PyTuple_GET_ITEM(row, 4)) || (now != NULL && PyObject_IsTrue(now) != 0))
            return PyErr_Occurred() ? -1 : 0;
        return 1;
    }
    return PyDict_Check(held) ? same_state(held, PyTuple_GET_ITEM(row, 4)) : 0;
}

/* stepped(cursor, param_groups, state, same_group, groups, idle, cells, live)
 *
 * groups: see same_groups; idle: parameters without a gradient; cells: (tensor, its version counter); live: see
 * same_parameter. */
PyObject *stepped(PyObject *module, PyObject *args)
{
    Cursor *cursor;
    PyObject *now, *state, *same_group, *groups, *idle, *cells, *live;
    if (!PyArg_ParseTuple(args, "O!OOOO!O!O!O!", &cursor_type, &cursor, &now, &state, &same_group, &PyList_Type, &groups,
                          &PyList_Type, &idle, &PyList_Type, &cells, &PyList_Type, &live))
        return NULL;
    int found = PyDict_Check(state) ? same_groups(now, groups, same_group) : 0;
    for (Py_ssize_t i = 0; found == 1 && i < PyList_GET_SIZE(idle); i++)
        found = SLOT(PyList_GET_ITEM(idle, i), t_grad) == Py_None;
    for (Py_ssize_t i = 0; found == 1 && i < PyList_GET_SIZE(cells); i++) {
        PyObject *pair = PyList_GET_ITEM(cells, i);
        found = SLOT(PyTuple_GET_ITEM(pair, 0), t_ver) == PyTuple_GET_ITEM(pair, 1);
    }
    for (Py_ssize_t i = 0; found == 1 && i < PyList_GET_SIZE(live); i++)
        found = same_parameter(cursor, state, PyList_GET_ITEM(live, i));
    return found < 0 ? NULL : PyBool_FromLong(found);
}
