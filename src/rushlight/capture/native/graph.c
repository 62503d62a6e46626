/* Is the graph that lies there the one that a path expects? `Backward.matches` of capture/loops/graphs.py asks.
 *
 * The expected graph numbers its nodes; walking both side by side, each number is given to one node. Nothing is called but
 * the tracer, for an array that has to be bound.
 */
#include "match.h"

static PyObject *s_is_operand;

static int is_empty(PyObject *value)
{
    return value == Py_None ? 1 : PyObject_Not(value);
}

/* 1 when an array is what (kind, number or array) expects, 0 when not, -1 on error. */
int is_operand(Cursor *cursor, PyObject *expected, PyObject *a)
{
    PyObject *what = PyTuple_GET_ITEM(expected, 1);
    if (PyLong_AsLong(PyTuple_GET_ITEM(expected, 0)) == FIXED)
        return a == what;
    Py_ssize_t number = PyLong_AsSsize_t(what);
    PyObject *known = number < PyList_GET_SIZE(cursor->now) ? PyList_GET_ITEM(cursor->now, number) : NULL;
    if (known != not_met)
        return known == a;
    PyObject *answer = PyObject_CallMethodObjArgs(cursor->owner, s_is_operand, expected, a, NULL);
    int found = answer == NULL ? -1 : PyObject_IsTrue(answer);
    Py_XDECREF(answer);
    return found;
}

/* The same for what a node keeps, (array, version cell, version), which must not have changed since. */
static int is_kept(Cursor *cursor, PyObject *expected, PyObject *held)
{
    if (!PyTuple_CheckExact(held) || PyTuple_GET_SIZE(held) != 3 || !PyList_CheckExact(PyTuple_GET_ITEM(held, 1)))
        return 0;
    PyObject *version = PyTuple_GET_ITEM(held, 2), *now = PyList_GetItem(PyTuple_GET_ITEM(held, 1), 0);
    int found = now == NULL ? -1 : now == version ? 1 : PyObject_RichCompareBool(now, version, Py_EQ);
    return found == 1 ? is_operand(cursor, expected, PyTuple_GET_ITEM(held, 0)) : found;
}

/* saved: a tuple of (key, whether it is an array, what) */
static int same_saved(Cursor *cursor, PyObject *saved, PyObject *expected)
{
    Py_ssize_t n = PyTuple_GET_SIZE(expected);
    if (saved == Py_None)
        return n == 0;
    if (!PyDict_CheckExact(saved) || PyDict_GET_SIZE(saved) != n)
        return 0;
    int found = 1;
    for (Py_ssize_t i = 0; found == 1 && i < n; i++) {
        PyObject *kept = PyTuple_GET_ITEM(expected, i), *what = PyTuple_GET_ITEM(kept, 2);
        PyObject *held = PyDict_GetItemWithError(saved, PyTuple_GET_ITEM(kept, 0));
        if (held == NULL)
            return PyErr_Occurred() ? -1 : 0;
        found = PyTuple_GET_ITEM(kept, 1) == Py_True ? is_kept(cursor, what, held) : alike(held, what);
    }
    return found;
}

static int same_outputs(Cursor *cursor, PyObject *outputs, PyObject *expected)
{
    Py_ssize_t n = PyTuple_GET_SIZE(expected);
    if (outputs == Py_None)
        return n == 0;
    if (!PyList_CheckExact(outputs) || PyList_GET_SIZE(outputs) != n)
        return 0;
    int found = 1;
    for (Py_ssize_t i = 0; found == 1 && i < n; i++) {
        PyObject *kept = PyTuple_GET_ITEM(expected, i), *held = PyList_GET_ITEM(outputs, i);
        found = PyTuple_GET_ITEM(kept, 1) == Py_True ? is_kept(cursor, PyTuple_GET_ITEM(kept, 2), held) : held == Py_None;
    }
    return found;
}

/* Two shapes that are alike are not kept by every way to call an op. */
static int same_shapes(PyObject *shapes, PyObject *expected)
{
    if (shapes != Py_None && PyList_CheckExact(shapes) && PyList_GET_SIZE(shapes) == 2) {
        int equal = PyObject_RichCompareBool(PyList_GET_ITEM(shapes, 0), PyList_GET_ITEM(shapes, 1), Py_EQ);
        if (equal)
            return equal < 0 ? -1 : expected == Py_None;
    }
    if (shapes == Py_None || expected == Py_None)
        return shapes == expected;
    return PyObject_RichCompareBool(shapes, expected, Py_EQ);
}

typedef struct {
    PyObject **nodes;  /* by the expected graph's number, borrowed from the graph that lies there */
    Py_ssize_t *queue; /* numbers whose nodes are to be compared */
    Py_ssize_t count, waiting;
    PyObject *leaves; /* the expected ones, each (node, home, old, whether it has a gradient) */
} Walk;

/* Whether an edge leads where (number, output) says; a node that is met first gets the number. */
static int leads(Walk *w, PyObject *edge, PyObject *expected)
{
    if (edge == Py_None || expected == Py_None)
        return edge == expected;
    if (!PyTuple_CheckExact(edge) || PyTuple_GET_SIZE(edge) != 2)
        return 0;
    PyObject *node = PyTuple_GET_ITEM(edge, 0);
    Py_ssize_t number = PyLong_AsSsize_t(PyTuple_GET_ITEM(expected, 0));
    int same = PyObject_RichCompareBool(PyTuple_GET_ITEM(edge, 1), PyTuple_GET_ITEM(expected, 1), Py_EQ);
    if (same != 1)
        return same;
    if (number < 0)
        return PyTuple_GET_ITEM(PyTuple_GET_ITEM(w->leaves, -1 - number), 0) == node;
    if (w->nodes[number] == NULL) {
        w->nodes[number] = node;
        w->queue[w->waiting++] = number;
    }
    return w->nodes[number] == node;
}

/* expected: (op, plan, attrs, edges, saved, outputs, shapes) */
static int same_node(Cursor *cursor, Walk *w, PyObject *node, PyObject *expected)
{
    if (!Py_IS_TYPE(node, node_type) && !PyType_IsSubtype(Py_TYPE(node), node_type))
        return 0; /* a function of the user, whose nodes have other fields */
    if (SLOT(node, n_op) != PyTuple_GET_ITEM(expected, 0) || SLOT(node, n_plan) != PyTuple_GET_ITEM(expected, 1))
        return 0;
    if (is_empty(SLOT(node, n_hooks)) != 1 || is_empty(SLOT(node, n_pre)) != 1)
        return PyErr_Occurred() ? -1 : 0;
    int found = same_attrs(SLOT(node, n_attrs), PyTuple_GET_ITEM(expected, 2));
    if (found == 1)
        found = same_saved(cursor, SLOT(node, n_saved), PyTuple_GET_ITEM(expected, 4));
    if (found == 1)
        found = same_outputs(cursor, SLOT(node, n_outputs), PyTuple_GET_ITEM(expected, 5));
    if (found == 1)
        found = same_shapes(SLOT(node, n_shapes), PyTuple_GET_ITEM(expected, 6));
    PyObject *edges = SLOT(node, n_edges), *wanted = PyTuple_GET_ITEM(expected, 3);
    if (found == 1 && (!PyList_CheckExact(edges) || PyList_GET_SIZE(edges) != PyTuple_GET_SIZE(wanted)))
        return 0;
    for (Py_ssize_t i = 0; found == 1 && i < PyTuple_GET_SIZE(wanted); i++)
        found = leads(w, PyList_GET_ITEM(edges, i), PyTuple_GET_ITEM(wanted, i));
    return found;
}

static int same_leaf(Cursor *cursor, PyObject *expected)
{
    PyObject *node = PyTuple_GET_ITEM(expected, 0), *home = PyTuple_GET_ITEM(expected, 1);
    Py_ssize_t hooks[] = {n_hooks, n_pre, l_post};
    for (int i = 0; i < 3; i++)
        if (is_empty(SLOT(node, hooks[i])) != 1)
            return PyErr_Occurred() ? -1 : 0;
    PyObject *t = PyWeakref_GetObject(SLOT(node, l_leaf));
    if (t == NULL)
        return -1;
    if (t == Py_None || home == Py_None)
        return t == home;
    if (!is_tensor(t) || SLOT(t, t_edge) == Py_None)
        return 0; /* without an edge: it was frozen after the forward pass, and gets no gradient */
    PyObject *grad = SLOT(t, t_grad);
    int found = is_operand(cursor, home, SLOT(t, t_a));
    if (found != 1 || (grad != Py_None) != (PyTuple_GET_ITEM(expected, 3) == Py_True))
        return found == 1 ? 0 : found;
    if (grad == Py_None)
        return 1;
    return is_tensor(grad) ? is_operand(cursor, PyTuple_GET_ITEM(expected, 2), SLOT(grad, t_a)) : 0;
}

static int by_address(const void *a, const void *b)
{
    const char *x = *(char *const *)a, *y = *(char *const *)b;
    return x < y ? -1 : x > y;
}

/* Whether every number has a node of its own. */
static int all_distinct(PyObject *const *nodes, Py_ssize_t count)
{
    PyObject **sorted = PyMem_Malloc((count + 1) * sizeof *sorted);
    if (sorted == NULL)
        return 0;
    memcpy(sorted, nodes, count * sizeof *sorted);
    qsort(sorted, count, sizeof *sorted, by_address);
    int distinct = count == 0 || sorted[0] != NULL;
    for (Py_ssize_t i = 1; distinct && i < count; i++)
        distinct = sorted[i] != sorted[i - 1];
    PyMem_Free(sorted);
    return distinct;
}

/* roots: a list of (edge, seed's array); ends: a tuple of ((number, output), operand of the seed) */
static int compare(Cursor *cursor, Walk *w, PyObject *roots, PyObject *ends, PyObject *nodes)
{
    int found = PyList_GET_SIZE(roots) == PyTuple_GET_SIZE(ends);
    for (Py_ssize_t i = 0; found == 1 && i < PyTuple_GET_SIZE(ends); i++) {
        PyObject *root = PyList_GET_ITEM(roots, i), *end = PyTuple_GET_ITEM(ends, i);
        found = leads(w, PyTuple_GET_ITEM(root, 0), PyTuple_GET_ITEM(end, 0));
        if (found == 1)
            found = is_operand(cursor, PyTuple_GET_ITEM(end, 1), PyTuple_GET_ITEM(root, 1));
    }
    for (Py_ssize_t i = 0; found == 1 && i < PyTuple_GET_SIZE(w->leaves); i++)
        found = same_leaf(cursor, PyTuple_GET_ITEM(w->leaves, i));
    for (Py_ssize_t i = 0; found == 1 && i < w->waiting; i++)
        found = same_node(cursor, w, w->nodes[w->queue[i]], PyTuple_GET_ITEM(nodes, w->queue[i]));
    return found == 1 ? w->waiting == w->count && all_distinct(w->nodes, w->count) : found;
}

/* walk(cursor, roots, ends, nodes, leaves) -> the nodes in the expected order, or None if it is another graph */
PyObject *walk(PyObject *module, PyObject *args)
{
    Cursor *cursor;
    PyObject *roots, *ends, *nodes, *leaves, *answer = NULL;
    if (!PyArg_ParseTuple(args, "O!O!O!O!O!", &cursor_type, &cursor, &PyList_Type, &roots, &PyTuple_Type, &ends, &PyTuple_Type,
                          &nodes, &PyTuple_Type, &leaves))
        return NULL;
    Walk w = {.count = PyTuple_GET_SIZE(nodes), .leaves = leaves};
    w.nodes = PyMem_Calloc(w.count + 1, sizeof *w.nodes);
    w.queue = PyMem_Calloc(w.count + 1, sizeof *w.queue);
    int found = w.nodes == NULL || w.queue == NULL ? -1 : compare(cursor, &w, roots, ends, nodes);
    if (found == 1 && (answer = PyList_New(w.count)) != NULL)
        for (Py_ssize_t i = 0; i < w.count; i++)
            PyList_SET_ITEM(answer, i, Py_NewRef(w.nodes[i]));
    PyMem_Free(w.nodes);
    PyMem_Free(w.queue);
    if (found < 0 && !PyErr_Occurred())
        PyErr_NoMemory();
    return found == 0 ? Py_NewRef(Py_None) : answer;
}

int name_graph(void)
{
    s_is_operand = PyUnicode_InternFromString("is_operand");
    return s_is_operand == NULL ? -1 : 0;
}
