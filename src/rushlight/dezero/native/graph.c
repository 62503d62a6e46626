/* What a backward pass depends on: `described` and `Back.accept` of dezero/_whole.py. None: Python has to say. */
#include "quick.h"

enum { CALLS = 512, FEW = 16 }; /* calls of a graph that is described, nodes that need no set */

typedef struct {
    PyObject *key, *arrays, *shared, *functions, *leaves, *nodes;
    long state;
    Py_ssize_t few;
    PyObject *first[FEW], *seen; /* nodes that were met, which their edges hold; NULL while they are few */
} Walk;

static int add(PyObject *list, PyObject *item) /* takes the reference */
{
    int done = item == NULL ? -1 : PyList_Append(list, item);
    Py_XDECREF(item);
    return done;
}

/* An array that the pass reads. */
static int reads(Walk *w, PyObject *a)
{
    int shared = is_array(a) == 1 ? is_shared(a, w->state) : -1;
    if (shared < 0)
        return -1;
    if (!shared)
        return PyList_Append(w->arrays, a) < 0 ? -1 : PyList_Append(w->key, Py_None);
    return PyList_Append(w->shared, a) < 0 ? -1 : add(w->key, lies(a));
}

static int is_constant(PyObject *v)
{
    PyObject *found = PyObject_GetAttr(v, s_constant);
    int is = found == NULL ? -1 : PyObject_IsTrue(found);
    Py_XDECREF(found);
    return is;
}

/* What `backward` of each kind of Function reads: values that decide its kernels. NULL on error, or where Python has to look. */
static PyObject *of_linear(Walk *w, PyObject *function, PyObject *inputs)
{
    if (PyList_GET_SIZE(inputs) != 3)
        return NULL;
    PyObject *x = PyList_GET_ITEM(inputs, 0), *W = PyList_GET_ITEM(inputs, 1), *b = PyList_GET_ITEM(inputs, 2), *turn = NULL;
    PyObject *x0 = PyObject_GetAttr(x, s_data), *w0 = PyObject_GetAttr(W, s_data), *b0 = PyObject_GetAttr(b, s_data), *shape = NULL, *values = NULL;
    Layout layout;
    int xs = is_constant(x), ws = is_constant(W), bs = is_constant(b);
    if (x0 != NULL && w0 != NULL && b0 != NULL && xs >= 0 && ws >= 0 && bs >= 0 && is_array(w0) == 1 && is_seen(w0, NULL) == 0 &&
        reads(w, x0) == 0 && PyList_Append(w->arrays, w0) == 0) {
        if (!xs && ((turn = turned(W, w0)) == NULL || PyList_Append(w->arrays, turn) < 0))
            Py_CLEAR(x0);
        if (b0 == Py_None)
            shape = Py_NewRef(b0);
        else if (is_array(b0) == 1 && read_layout(b0, &layout))
            shape = layout.dims == 1 ? PyLong_FromSsize_t(layout.size) : PyObject_GetAttr(b0, s_shape);
        if (shape != NULL && x0 != NULL)
            values = PyTuple_Pack(4, xs ? Py_True : Py_False, ws ? Py_True : Py_False, bs ? Py_True : Py_False, shape);
    }
    Py_XDECREF(shape);
    Py_XDECREF(turn);
    Py_XDECREF(b0);
    Py_XDECREF(w0);
    Py_XDECREF(x0);
    return values;
}

static PyObject *of_single(Walk *w, PyObject *function, PyObject *inputs)
{
    PyObject *y = PyList_GET_SIZE(inputs) == 1 ? PyObject_GetAttr(function, s_y) : NULL;
    int done = y == NULL || y == Py_None ? -1 : reads(w, y);
    Py_XDECREF(y);
    return done < 0 ? NULL : Py_NewRef(empty);
}

static PyObject *of_entropy(Walk *w, PyObject *function, PyObject *inputs)
{
    PyObject *kept = PyObject_GetAttr(function, s_kept);
    int done = -1;
    if (kept != NULL && PyTuple_CheckExact(kept) && PyTuple_GET_SIZE(kept) == 3) {
        done = reads(w, PyTuple_GET_ITEM(kept, 0)) < 0 || reads(w, PyTuple_GET_ITEM(kept, 2)) < 0
                   ? -1
                   : PyList_Append(w->arrays, PyTuple_GET_ITEM(kept, 1));
    }
    Py_XDECREF(kept);
    return done < 0 ? NULL : Py_NewRef(empty);
}

/* 1 when nothing in a slot counts: None, or an empty dict */
static int is_bare(PyObject *object, Py_ssize_t offset)
{
    PyObject *value = SLOT(object, offset);
    return value == NULL || value == Py_None || PyObject_IsTrue(value) == 0;
}

/* 1 when a node is met for the first time; the first ones are looked for among a few. */
static int is_new(Walk *w, PyObject *node)
{
    for (Py_ssize_t i = 0; i < w->few; i++)
        if (w->first[i] == node)
            return 0;
    if (w->few < FEW) {
        w->first[w->few++] = node;
        return 1;
    }
    if (w->seen == NULL && (w->seen = PySet_New(NULL)) == NULL)
        return 0;
    PyObject *key = PyLong_FromVoidPtr(node);
    int found = key != NULL && PySet_Contains(w->seen, key) == 0 && PySet_Add(w->seen, key) == 0;
    Py_XDECREF(key);
    return found;
}

/* Whether a gradient that arrives at a leaf becomes its `.grad`, and nothing else happens. */
static int add_leaf(Walk *w, PyObject *end, PyObject *x)
{
    if (!is_variable(x) || !is_bare(end, n_hooks) || !is_bare(end, n_pre) || !is_bare(end, l_post) || !is_new(w, end))
        return -1;
    PyObject *grad = PyObject_GetAttr(x, s_grad), *a = PyObject_GetAttr(x, s_data), *leaf = PyObject_CallNoArgs(SLOT(end, l_leaf));
    int done = grad == Py_None && a != NULL && a != Py_None && leaf == x ? PyList_Append(w->leaves, x) : -1;
    if (done == 0)
        done = add(w->key, PyObject_GetAttr(a, s_dtype));
    Py_XDECREF(leaf);
    Py_XDECREF(a);
    Py_XDECREF(grad);
    return done;
}

/* Where the gradient of an input goes: 1 to another call, 0 to a leaf or nowhere, -1 on error or where Python has to look. */
static int follow(Walk *w, PyObject *x)
{
    PyObject *edge = PyObject_GetAttr(x, s_edge);
    if (edge == Py_None && is_constant(x) != 1)
        Py_SETREF(edge, PyObject_CallMethodNoArgs(x, s_link));
    int inner = -1;
    if (edge == Py_None)
        inner = PyList_Append(w->key, Py_None);
    else if (edge != NULL && PyTuple_CheckExact(edge) && PyTuple_GET_SIZE(edge) == 2 && PyList_Append(w->key, PyTuple_GET_ITEM(edge, 1)) == 0) {
        PyObject *node = PyTuple_GET_ITEM(edge, 0);
        if (Py_IS_TYPE(node, (PyTypeObject *)end_type))
            inner = add_leaf(w, node, x);
        else
            inner = PyList_Append(w->nodes, node) < 0 || PyList_Append(w->key, Py_None) < 0 ? -1 : 1;
    }
    Py_XDECREF(edge);
    return inner;
}

/* One call of the graph; `given`: the gradient with which a pass begins, or NULL. */
static int visit(Walk *w, PyObject *node, PyObject *given)
{
    if (!Py_IS_TYPE(node, (PyTypeObject *)call_type) || !is_bare(node, n_hooks) || !is_bare(node, n_pre) || !is_new(w, node))
        return -1;
    PyObject *function = SLOT(node, c_function);
    const Known *k = known(Py_TYPE(function));
    if (k == NULL || k->kind == VARIABLE || PyList_GET_SIZE(w->functions) > CALLS)
        return -1;
    if (!is_method(function, s_backward, k->backward) || !is_method(function, s_gradients, k->gradients))
        return -1;
    PyObject *inputs = PyObject_GetAttr(function, s_inputs), *values = NULL;
    if (inputs != NULL && PyList_CheckExact(inputs) && (given == NULL || reads(w, given) == 0))
        values = (k->kind == LINEAR ? of_linear : k->kind == SINGLE ? of_single : of_entropy)(w, function, inputs);
    int done = -1, inner = 0;
    if (values != NULL && PyList_Append(w->functions, function) == 0 && PyList_Append(w->key, (PyObject *)Py_TYPE(function)) == 0)
        done = PyList_Append(w->key, values);
    for (Py_ssize_t i = 0; done >= 0 && i < PyList_GET_SIZE(inputs); i++) {
        done = follow(w, PyList_GET_ITEM(inputs, i));
        inner += done == 1;
    }
    Py_XDECREF(values);
    Py_XDECREF(inputs);
    return inner > 1 ? -1 : done; /* the order of several ways is Python's to find */
}

static int walk(Walk *w, PyObject *edge, PyObject *seed)
{
    if (PyList_Append(w->key, PyTuple_GET_ITEM(edge, 1)) < 0 || PyList_Append(w->nodes, PyTuple_GET_ITEM(edge, 0)) < 0)
        return -1;
    PyObject *given = PyObject_GetAttr(seed, s_data);
    int done = given == NULL ? -1 : 0;
    for (int first = 1; done >= 0 && PyList_GET_SIZE(w->nodes); first = 0) {
        Py_ssize_t last = PyList_GET_SIZE(w->nodes) - 1;
        PyObject *node = Py_NewRef(PyList_GET_ITEM(w->nodes, last));
        done = PyList_SetSlice(w->nodes, last, last + 1, NULL) < 0 ? -1 : visit(w, node, first ? given : NULL);
        Py_DECREF(node);
    }
    Py_XDECREF(given);
    return done;
}

/* Whether nobody else takes part in a backward pass of this thread. */
static int is_usual_here(long state)
{
    PyObject *under_way = of_thread(s_walk), *uses = of_thread(s_uses);
    return !(state & (INFERENCE | PACKING)) && PyObject_IsTrue(SLOT(switches, w_anomaly)) == 0 &&
           (under_way == NULL || under_way == Py_None) && (uses == NULL || uses == Py_None);
}

/* describe(edge, seed) -> (key, arrays, shared, functions, leaves), or None */
PyObject *describe(PyObject *module, PyObject *const *args, Py_ssize_t n)
{
    long state = state_here();
    if (n != 2 || state < 0 || !is_usual_here(state) || !PyTuple_CheckExact(args[0]) || PyTuple_GET_SIZE(args[0]) != 2 || !is_variable(args[1]))
        return none();
    Walk w = {PyList_New(0), PyList_New(0), PyList_New(0), PyList_New(0), PyList_New(0), PyList_New(0), state, 0, {NULL}, NULL};
    PyObject *key = NULL, *found = NULL;
    if (w.key != NULL && w.arrays != NULL && w.shared != NULL && w.functions != NULL && w.leaves != NULL && w.nodes != NULL &&
        walk(&w, args[0], args[1]) >= 0 && !PyErr_Occurred() && (key = PyList_AsTuple(w.key)) != NULL)
        found = PyTuple_Pack(5, key, w.arrays, w.shared, w.functions, w.leaves);
    Py_XDECREF(key);
    Py_XDECREF(w.key);
    Py_XDECREF(w.arrays);
    Py_XDECREF(w.shared);
    Py_XDECREF(w.functions);
    Py_XDECREF(w.leaves);
    Py_XDECREF(w.nodes);
    Py_XDECREF(w.seen);
    if (found == NULL)
        PyErr_Clear(); /* Python comes to the same error, if it is one */
    return found != NULL ? found : Py_NewRef(Py_None);
}

/* -- after a pass ------------------------------------------------------------------------------ */

/* No gradients on the results of a Function; -1 on error. */
static int forget(PyObject *function)
{
    PyObject *outputs = PyObject_GetAttr(function, s_outputs), *row = outputs == NULL ? NULL : PySequence_Fast(outputs, "outputs");
    int done = row == NULL ? -1 : 0;
    for (Py_ssize_t i = 0; done == 0 && i < PySequence_Fast_GET_SIZE(row); i++) {
        PyObject *out = PyObject_CallNoArgs(PySequence_Fast_GET_ITEM(row, i)), *grad = NULL;
        if (out != NULL && out != Py_None)
            grad = PyObject_GetAttr(out, s_grad);
        done = out == NULL || (out != Py_None && grad == NULL) ? -1 : 0;
        if (grad != NULL && grad != Py_None)
            done = PyObject_SetAttr(out, s_grad, Py_None);
        Py_XDECREF(grad);
        Py_XDECREF(out);
    }
    Py_XDECREF(row);
    Py_XDECREF(outputs);
    return done;
}

/* accept(functions, leaves, arrays) -> True: gradients on leaves, none on results */
PyObject *accept(PyObject *module, PyObject *const *args, Py_ssize_t n)
{
    if (n != 3 || !PyList_CheckExact(args[0]) || !PyList_CheckExact(args[1]) || !PyList_CheckExact(args[2]))
        return PyErr_Format(PyExc_TypeError, "accept takes three lists");
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(args[0]); i++)
        if (forget(PyList_GET_ITEM(args[0], i)) < 0)
            return NULL;
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(args[1]) && i < PyList_GET_SIZE(args[2]); i++) {
        PyObject *a = PyList_GET_ITEM(args[2], i), *grad = a == Py_None ? NULL : new_variable(a);
        int done = a == Py_None ? 0 : grad == NULL ? -1 : PyObject_SetAttr(PyList_GET_ITEM(args[1], i), s_grad, grad);
        Py_XDECREF(grad);
        if (done < 0)
            return NULL;
    }
    Py_RETURN_TRUE;
}
