/* OpNode.input, output and apply in C: what a node kept as tensors again, and where its derivatives' answers go.
 *
 * core/gradients/node.py has the same in Python; what is freed, changed or missing is handed to that version, which says so.
 */
#include "slots.h"

PyObject *python_input, *python_output;
static PyObject *s_sum_to_size;

/* A tensor over what a node kept, (array, cell, version); NULL without an error when it has changed since. */
static PyObject *restored(PyObject *held, PyObject *edge)
{
    PyObject *cell = PyTuple_GET_ITEM(held, 1), *version = PyTuple_GET_ITEM(held, 2);
    PyObject *now = PyList_GET_ITEM(cell, 0);
    if (PyList_GET_SIZE(cell) > 1 && !PyWeakref_CheckRef(PyList_GET_ITEM(cell, 1)))
        return NULL; /* the data of a tensor was replaced (`Replaced` of core/memory.py) */
    int same = now == version ? 1 : PyObject_RichCompareBool(now, version, Py_EQ);
    if (same <= 0)
        return NULL;
    PyObject *t = PyBaseObject_Type.tp_new(tensor_type, empty, NULL);
    if (t == NULL)
        return NULL;
    SLOT(t, t_a) = Py_NewRef(PyTuple_GET_ITEM(held, 0));
    SLOT(t, t_edge) = Py_NewRef(edge);
    SLOT(t, t_grad) = Py_NewRef(Py_None);
    SLOT(t, t_ver) = Py_NewRef(cell);
    SLOT(t, t_ext) = Py_NewRef(Py_None);
    return t;
}

/* OpNode.input */
static PyObject *node_input(PyObject *node, PyObject *number)
{
    PyObject *saved = SLOT(node, n_saved), *edges = SLOT(node, n_edges), *held = NULL, *t = NULL;
    Py_ssize_t i = PyLong_AsSsize_t(number);
    if (PyDict_CheckExact(saved) && PyList_CheckExact(edges) && i >= 0 && i < PyList_GET_SIZE(edges))
        held = PyDict_GetItemWithError(saved, number);
    if (held != NULL && !PyTuple_CheckExact(held))
        return Py_NewRef(held);
    if (held != NULL)
        t = restored(held, PyList_GET_ITEM(edges, i));
    if (t != NULL || PyErr_Occurred())
        return t;
    return PyObject_CallFunctionObjArgs(python_input, node, number, NULL);
}

static PyObject *node_output(PyObject *node, PyObject *number)
{
    PyObject *outputs = SLOT(node, n_outputs), *t = NULL;
    Py_ssize_t i = PyLong_AsSsize_t(number);
    if (PyList_CheckExact(outputs) && i >= 0 && i < PyList_GET_SIZE(outputs)) {
        PyObject *held = PyList_GET_ITEM(outputs, i);
        if (!PyTuple_CheckExact(held))
            return PyObject_CallFunctionObjArgs(python_output, node, number, NULL);
        int kind = kind_of(PyTuple_GET_ITEM(held, 0));
        PyObject *edge = kind < 0                                     ? NULL
                         : kind == 'f' || kind == 'c' || kind == 'V' ? Py_BuildValue("(OO)", node, number)
                                                                      : Py_NewRef(Py_None);
        if (edge == NULL)
            return NULL;
        t = restored(held, edge);
        Py_DECREF(edge);
    }
    if (t != NULL || PyErr_Occurred())
        return t;
    return PyObject_CallFunctionObjArgs(python_output, node, number, NULL);
}

/* The gradient of one input, summed to its shape where it was broadcast; takes g. */
static PyObject *summed(PyObject *node, PyObject *g, PyObject *at)
{
    PyObject *shapes = SLOT(node, n_shapes);
    if (!is_tensor(g) || shapes == Py_None)
        return g;
    PyObject *wanted = PyList_GetItem(shapes, PyLong_AsSsize_t(at));
    PyObject *shape = wanted == NULL ? NULL : PyObject_GetAttr(SLOT(g, t_a), s_shape);
    int same = shape == NULL ? -1 : PyObject_RichCompareBool(shape, wanted, Py_EQ);
    Py_XDECREF(shape);
    if (same == 1)
        return g;
    PyObject *sums = same < 0 ? NULL : PyObject_CallMethodOneArg(g, s_sum_to_size, wanted);
    Py_DECREF(g);
    return sums;
}

/* Put a derivative's answer where it belongs; takes g. */
static int place(PyObject *node, PyObject *results, PyObject *at, PyObject *g)
{
    if (PyLong_CheckExact(at)) {
        if (PyObject_IsTrue(SLOT(SLOT(node, n_plan), p_sums)) && (g = summed(node, g, at)) == NULL)
            return -1;
        return PyList_SetItem(results, PyLong_AsSsize_t(at), g);
    }
    PyObject *parts = PySequence_Fast(g, "several gradients are a tuple");
    Py_DECREF(g);
    if (parts == NULL)
        return -1;
    Py_ssize_t n = PyTuple_GET_SIZE(at);
    int status = PySequence_Fast_GET_SIZE(parts) < n ? -1 : 0;
    for (Py_ssize_t i = 0; status == 0 && i < n; i++) {
        PyObject *part = Py_NewRef(PySequence_Fast_GET_ITEM(parts, i));
        status = PyList_SetItem(results, PyLong_AsSsize_t(PyTuple_GET_ITEM(at, i)), part);
    }
    Py_DECREF(parts);
    if (status < 0 && !PyErr_Occurred())
        PyErr_SetString(PyExc_ValueError, "a derivative gave too few gradients");
    return status;
}

/* OpNode.apply */
PyObject *node_apply(PyObject *node, PyObject *gs)
{
    PyObject *calls = SLOT(SLOT(node, n_plan), p_calls);
    Py_ssize_t count = PyObject_Size(SLOT(node, n_edges));
    if (count < 0 || !PyList_CheckExact(gs) || !PyList_GET_SIZE(gs))
        return PyErr_Occurred() ? NULL : PyErr_Format(PyExc_TypeError, "apply() takes a list of gradients");
    PyObject *results = PyList_New(count);
    if (results == NULL)
        return NULL;
    for (Py_ssize_t i = 0; i < count; i++)
        PyList_SET_ITEM(results, i, Py_NewRef(Py_None));
    for (Py_ssize_t k = 0; k < PyTuple_GET_SIZE(calls); k++) {
        PyObject *call = PyTuple_GET_ITEM(PyTuple_GET_ITEM(calls, k), 0), *at = PyTuple_GET_ITEM(PyTuple_GET_ITEM(calls, k), 1);
        if (at != Py_None && PyList_GET_ITEM(gs, 0) == Py_None)
            continue;
        PyObject *g = PyObject_CallFunctionObjArgs(call, node, gs, NULL);
        if (g != NULL && at == Py_None) { /* one function for all inputs */
            Py_DECREF(results);
            return g;
        }
        if (g == NULL || place(node, results, at, g) < 0) {
            Py_DECREF(results);
            return NULL;
        }
    }
    return results;
}

/* -- for the module ---------------------------------------------------------------------------- */

PyMethodDef node_methods[3] = {
    {"input", node_input, METH_O, "An input as it was."},
    {"output", node_output, METH_O, "An output as it was."},
    {"apply", node_apply, METH_O, "The gradients of the inputs from those of the outputs."},
};

int name_back(void)
{
    const Name names[] = {{&s_sum_to_size, "sum_to_size"}};
    return intern(names, 1);
}
