/* The Parameters of a layer, and what an optimiser reads of them: `Layer.params` and `_Fused._step` in C. */
#include "quick.h"

/* 1 when all Parameters were found, 0 where Python has to look, -1 on error. */
static int gather(PyObject *layer, PyObject *found)
{
    if (!is_method(layer, s_params, layer_params)) {
        PyErr_Clear();
        return 0;
    }
    PyObject *names = PyObject_GetAttr(layer, s_own_params), *own = names == NULL ? NULL : PyObject_GetAttr(layer, s_dict), *name, *nothing;
    int done = own == NULL ? -1 : PyDict_CheckExact(names) && PyDict_CheckExact(own);
    Py_ssize_t at = 0;
    while (done == 1 && PyDict_Next(names, &at, &name, &nothing)) {
        PyObject *value = PyDict_GetItemWithError(own, name);
        if (value == NULL)
            done = PyErr_Occurred() ? -1 : 0;
        else if (!PyType_IsSubtype(Py_TYPE(value), (PyTypeObject *)layer_type))
            done = PyList_Append(found, value) < 0 ? -1 : 1;
        else if (Py_EnterRecursiveCall(" in layers") == 0) {
            Py_INCREF(value);
            done = gather(value, found);
            Py_DECREF(value);
            Py_LeaveRecursiveCall();
        } else
            done = -1;
    }
    Py_XDECREF(own);
    Py_XDECREF(names);
    return done;
}

/* The Parameters of a layer in a list, or None; NULL on error. */
static PyObject *all_of(PyObject *layer)
{
    if (!PyType_IsSubtype(Py_TYPE(layer), (PyTypeObject *)layer_type))
        return NULL;
    PyObject *found = PyList_New(0);
    if (found != NULL && gather(layer, found) != 1)
        Py_CLEAR(found);
    return found;
}

/* params(layer, live) */
PyObject *params(PyObject *module, PyObject *const *args, Py_ssize_t n)
{
    PyObject *all = n == 2 ? all_of(args[0]) : NULL, *found = NULL;
    if (all == NULL)
        return none();
    if (args[1] != Py_True)
        return all;
    found = PyList_New(0);
    for (Py_ssize_t i = 0; found != NULL && i < PyList_GET_SIZE(all); i++) {
        PyObject *grad = PyObject_GetAttr(PyList_GET_ITEM(all, i), s_grad);
        if (grad == NULL || (grad != Py_None && PyList_Append(found, PyList_GET_ITEM(all, i)) < 0))
            Py_CLEAR(found);
        Py_XDECREF(grad);
    }
    Py_DECREF(all);
    return found;
}

PyObject *cleargrads(PyObject *module, PyObject *layer)
{
    PyObject *all = all_of(layer);
    int done = all != NULL;
    for (Py_ssize_t i = 0; done && i < PyList_GET_SIZE(all); i++)
        done = is_variable(PyList_GET_ITEM(all, i)) && is_method(PyList_GET_ITEM(all, i), s_cleargrad, cleargrad);
    for (Py_ssize_t i = 0; done && i < PyList_GET_SIZE(all); i++)
        done = PyObject_SetAttr(PyList_GET_ITEM(all, i), s_grad, Py_None) == 0;
    Py_XDECREF(all);
    return PyErr_Occurred() ? NULL : PyBool_FromLong(done);
}

/* The array of a Variable of ours, if the user has not seen it or nobody cares; a new reference. */
static PyObject *plain(PyObject *v, int listened)
{
    PyObject *a = is_variable(v) ? PyObject_GetAttr(v, s_data) : NULL;
    if (a != NULL && (is_array(a) != 1 || (listened && is_seen(a, NULL) != 0)))
        Py_CLEAR(a);
    return a;
}

static int same_dtype(PyObject *a, PyObject *b)
{
    PyObject *x = PyObject_GetAttr(a, s_dtype), *y = PyObject_GetAttr(b, s_dtype);
    Py_XDECREF(x); /* they are their arrays' */
    Py_XDECREF(y);
    return x != NULL && x == y;
}

/* update(kernel, params, numbers, states, attrs) -> True when the kernel has changed the Parameters, or None */
PyObject *update(PyObject *module, PyObject *const *args, Py_ssize_t n)
{
    long state = state_here();
    if (state < 0 || n != 5 || !PyList_CheckExact(args[1]) || !PyList_CheckExact(args[3]) || !PyList_GET_SIZE(args[1]))
        return none();
    Py_ssize_t size = PyList_GET_SIZE(args[1]), held = PyList_GET_SIZE(args[3]);
    int listened = (state & (TRACED | WATCHED)) != 0, done = 1;
    PyObject *operands = PyTuple_New(1 + 2 * size + held), *out = NULL;
    if (operands == NULL)
        return NULL;
    PyTuple_SET_ITEM(operands, 0, Py_NewRef(args[2]));
    for (Py_ssize_t i = 0; done && i < size; i++) {
        PyObject *p = PyList_GET_ITEM(args[1], i), *a = plain(p, listened), *grad = a == NULL ? NULL : PyObject_GetAttr(p, s_grad);
        PyObject *g = grad == NULL ? NULL : plain(grad, listened);
        done = g != NULL && same_dtype(a, g);
        PyTuple_SET_ITEM(operands, 1 + i, a); /* NULL is allowed until somebody else sees the tuple */
        PyTuple_SET_ITEM(operands, 1 + size + i, g);
        Py_XDECREF(grad);
    }
    for (Py_ssize_t i = 0; i < held; i++)
        PyTuple_SET_ITEM(operands, 1 + 2 * size + i, Py_NewRef(PyList_GET_ITEM(args[3], i)));
    if (done)
        out = go(args[0], (PyObject *)Py_TYPE(PyTuple_GET_ITEM(operands, 1)), operands, args[4]);
    Py_DECREF(operands);
    Py_XDECREF(out);
    return out != NULL ? Py_NewRef(Py_True) : none();
}
