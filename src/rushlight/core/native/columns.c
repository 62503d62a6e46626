/* What an optimiser's step reads of its parameters, in one loop, and the versions it raises.
 *
 * core/columns.py has the same in Python, and says what it is for.
 */
#include "slots.h"

static PyObject *s_params;

/* Whether an option is a tensor, or a tuple that holds one: numbers that must be read first. */
static int holds_tensor(PyObject *value)
{
    if (PyTuple_CheckExact(value))
        for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(value); i++)
            if (is_tensor(PyTuple_GET_ITEM(value, i)))
                return 1;
    return is_tensor(value);
}

static int has_tensor_options(PyObject *group)
{
    PyObject *key, *value;
    for (Py_ssize_t at = 0; PyDict_Next(group, &at, &key, &value);)
        if (holds_tensor(value))
            return 1;
    return 0;
}

/* The parameters that have a gradient, in a new list. NULL without an error when one is unusual. */
static PyObject *live_of(PyObject *params)
{
    Py_ssize_t count = PyList_GET_SIZE(params), live = 0;
    for (Py_ssize_t i = 0; i < count; i++) {
        PyObject *p = PyList_GET_ITEM(params, i), *g = is_tensor(p) ? SLOT(p, t_grad) : NULL;
        if (g == NULL || SLOT(p, t_a) == NULL || (g != Py_None && !Py_IS_TYPE(g, tensor_type)))
            return NULL;
        live += g != Py_None;
    }
    if (live == count)
        return PyList_GetSlice(params, 0, count);
    PyObject *found = PyList_New(live);
    for (Py_ssize_t i = 0, k = 0; found != NULL && i < count; i++)
        if (SLOT(PyList_GET_ITEM(params, i), t_grad) != Py_None)
            PyList_SET_ITEM(found, k++, Py_NewRef(PyList_GET_ITEM(params, i)));
    return found;
}

/* Whether all arrays are floats of one type and dtype: 1, 0, or -1 on error. */
static int are_of_one_kind(PyObject *live)
{
    PyObject *kind = NULL;
    PyTypeObject *cls = NULL;
    int alike = 1;
    for (Py_ssize_t i = 0; alike == 1 && i < PyList_GET_SIZE(live); i++) {
        PyObject *p = PyList_GET_ITEM(live, i), *a = SLOT(p, t_a);
        if (cls == NULL) {
            int letter = kind_of(a);
            alike = letter < 0 ? -1 : letter == 'f' || letter == 'V';
            cls = Py_TYPE(a);
            kind = alike == 1 ? PyObject_GetAttr(a, s_dtype) : NULL;
        } else {
            PyObject *other = PyObject_GetAttr(a, s_dtype);
            alike = other == NULL ? -1 : other == kind && Py_IS_TYPE(a, cls);
            Py_XDECREF(other);
        }
        PyObject *g = SLOT(SLOT(p, t_grad), t_a);
        if (alike == 1 && (g == NULL || !Py_IS_TYPE(g, cls)))
            alike = 0;
    }
    Py_XDECREF(kind);
    return alike;
}

/* The tensor that a parameter's state has under a name; NULL, with or without an error, when there is none. */
static PyObject *state_of(PyObject *held, PyObject *name)
{
    PyObject *t = PyDict_GetItemWithError(held, name);
    return t != NULL && is_tensor(t) && SLOT(t, t_a) != NULL ? t : NULL;
}

typedef struct {
    PyObject *live, *arrays, *kept, *counts;
    PyTypeObject *cls;
} Found;

static int read_states(Found *found, Py_ssize_t i, PyObject *held, PyObject *names, PyObject *scalars)
{
    Py_ssize_t n = PyList_GET_SIZE(found->live);
    for (Py_ssize_t k = 0; k < PyTuple_GET_SIZE(names); k++) {
        PyObject *t = state_of(held, PyTuple_GET_ITEM(names, k));
        if (t == NULL || !Py_IS_TYPE(SLOT(t, t_a), found->cls))
            return -1;
        PyList_SET_ITEM(found->arrays, 1 + (2 + k) * n + i, Py_NewRef(SLOT(t, t_a)));
        if (SLOT(t, t_ver) != Py_None && PyList_Append(found->kept, t) < 0)
            return -1;
    }
    for (Py_ssize_t k = 0; k < PyTuple_GET_SIZE(scalars); k++) {
        PyObject *t = state_of(held, PyTuple_GET_ITEM(scalars, k));
        if (t == NULL)
            return -1;
        PyList_SET_ITEM(PyList_GET_ITEM(found->counts, k), i, Py_NewRef(SLOT(t, t_a)));
    }
    return 0;
}

static int read_all(Found *found, PyObject *state, PyObject *names, PyObject *scalars)
{
    Py_ssize_t n = PyList_GET_SIZE(found->live), columns = 2 + PyTuple_GET_SIZE(names);
    found->kept = PyList_New(0);
    found->counts = PyList_New(PyTuple_GET_SIZE(scalars));
    found->arrays = PyList_New(1 + columns * n);
    if (found->kept == NULL || found->counts == NULL || found->arrays == NULL)
        return -1;
    for (Py_ssize_t k = 0; k < PyTuple_GET_SIZE(scalars); k++) {
        PyObject *column = PyList_New(n);
        if (column == NULL)
            return -1;
        PyList_SET_ITEM(found->counts, k, column);
    }
    int stateful = columns > 2 || PyTuple_GET_SIZE(scalars);
    PyList_SET_ITEM(found->arrays, 0, Py_NewRef(Py_None));
    for (Py_ssize_t i = 0; i < n; i++) {
        PyObject *p = PyList_GET_ITEM(found->live, i);
        PyList_SET_ITEM(found->arrays, 1 + i, Py_NewRef(SLOT(p, t_a)));
        PyList_SET_ITEM(found->arrays, 1 + n + i, Py_NewRef(SLOT(SLOT(p, t_grad), t_a)));
        if (!stateful)
            continue;
        PyObject *held = PyDict_GetItemWithError(state, p);
        if (held == NULL || !PyDict_CheckExact(held) || read_states(found, i, held, names, scalars) < 0)
            return -1;
    }
    return 0;
}

/* columns(group, state, names, scalars) -> (live, arrays, kept, counts), or None when something is unusual. */
PyObject *columns(PyObject *module, PyObject *const *args, Py_ssize_t n)
{
    if (n != 4 || !PyDict_Check(args[0]) || !PyTuple_Check(args[2]) || !PyTuple_Check(args[3]))
        return PyErr_Format(PyExc_TypeError, "columns() takes a group, the states, and two tuples of names");
    PyObject *params = PyDict_GetItemWithError(args[0], s_params), *result = NULL;
    Found found = {NULL, NULL, NULL, NULL, NULL};
    if (params != NULL && PyList_CheckExact(params) && PyDict_Check(args[1]) && !has_tensor_options(args[0]))
        found.live = live_of(params);
    if (found.live != NULL && PyList_GET_SIZE(found.live) && are_of_one_kind(found.live) == 1) {
        found.cls = Py_TYPE(SLOT(PyList_GET_ITEM(found.live, 0), t_a));
        if (read_all(&found, args[1], args[2], args[3]) == 0)
            result = PyTuple_Pack(4, found.live, found.arrays, found.kept, found.counts);
    }
    Py_XDECREF(found.live);
    Py_XDECREF(found.arrays);
    Py_XDECREF(found.kept);
    Py_XDECREF(found.counts);
    if (result == NULL && !PyErr_Occurred())
        Py_RETURN_NONE;
    return result;
}

/* bump_all(tensors): each of a list has another version now. */
PyObject *bump_all(PyObject *module, PyObject *tensors)
{
    if (!PyList_CheckExact(tensors))
        return PyErr_Format(PyExc_TypeError, "bump_all() takes a list of tensors");
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(tensors); i++) {
        PyObject *t = PyList_GET_ITEM(tensors, i), *cell = is_tensor(t) ? SLOT(t, t_ver) : NULL;
        if (cell == NULL || (cell != Py_None && (!PyList_CheckExact(cell) || !PyList_GET_SIZE(cell))))
            return PyErr_Format(PyExc_TypeError, "bump_all() takes a list of tensors");
        long before = cell == Py_None ? 0 : PyLong_AsLong(PyList_GET_ITEM(cell, 0));
        PyObject *now = before == -1 && PyErr_Occurred() ? NULL : PyLong_FromLong(before + 1);
        if (now == NULL)
            return NULL;
        if (cell != Py_None) {
            PyList_SetItem(cell, 0, now);
            continue;
        }
        PyObject *made = PyList_New(1);
        if (made == NULL) {
            Py_DECREF(now);
            return NULL;
        }
        PyList_SET_ITEM(made, 0, now);
        Py_SETREF(SLOT(t, t_ver), made);
    }
    Py_RETURN_NONE;
}

int name_columns(void)
{
    const Name names[] = {{&s_params, "params"}};
    return intern(names, 1);
}
