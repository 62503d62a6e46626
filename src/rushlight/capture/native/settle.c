/* What a path does at its macros and at its end, while nothing has changed: `Backward.carry_out`, `Path.is_settled` and
 * `Path.busy` in C, and what is asked of an array that comes from outside.
 */
#include "match.h"

PyTypeObject *tensor_type, *node_type;
Py_ssize_t t_a, t_edge, t_grad, t_ver, t_ext;
Py_ssize_t n_op, n_plan, n_attrs, n_edges, n_hooks, n_pre, n_saved, n_outputs, n_shapes, l_leaf, l_post;
static PyObject *freed, *empty, *s_base;

static void put(PyObject *object, Py_ssize_t offset, PyObject *value) /* takes the reference */
{
    PyObject *before = SLOT(object, offset);
    SLOT(object, offset) = value;
    Py_XDECREF(before);
}

/* A tensor without history over an array, which it takes. */
PyObject *new_tensor(PyObject *a)
{
    PyObject *t = PyBaseObject_Type.tp_new(tensor_type, empty, NULL);
    if (t == NULL) {
        Py_DECREF(a);
        return NULL;
    }
    SLOT(t, t_a) = a;
    SLOT(t, t_edge) = Py_NewRef(Py_None);
    SLOT(t, t_grad) = Py_NewRef(Py_None);
    SLOT(t, t_ver) = Py_NewRef(Py_None);
    SLOT(t, t_ext) = Py_NewRef(Py_None);
    return t;
}

/* -- after a backward pass that was the expected one ------------------------------------------- */

/* OpNode.release() */
static int release(PyObject *node)
{
    int held = PyObject_IsTrue(SLOT(node, n_saved));
    if (held < 0)
        return -1;
    if (held)
        put(node, n_saved, Py_NewRef(freed));
    if (SLOT(node, n_outputs) != Py_None)
        put(node, n_outputs, Py_NewRef(freed));
    return 0;
}

/* A tensor without values for each row, (weak reference to a leaf, number, pool, its arrays, its counts); None where the
 * leaf is gone. Nothing else is changed before all of them are there. */
static PyObject *new_gradients(PyObject *rows)
{
    PyObject *found = PyList_New(PyTuple_GET_SIZE(rows));
    for (Py_ssize_t i = 0; found != NULL && i < PyTuple_GET_SIZE(rows); i++) {
        PyObject *row = PyTuple_GET_ITEM(rows, i), *leaf = PyWeakref_GetObject(PyTuple_GET_ITEM(row, 0)), *grad = NULL;
        if (leaf == Py_None)
            grad = Py_NewRef(Py_None);
        else if (leaf != NULL) {
            PyObject *a = taken(PyTuple_GET_ITEM(row, 2), PyTuple_GET_ITEM(row, 3), PyTuple_GET_ITEM(row, 4));
            grad = a == NULL ? NULL : new_tensor(a);
        }
        if (grad == NULL)
            Py_CLEAR(found);
        else
            PyList_SET_ITEM(found, i, grad);
    }
    return found;
}

static int give_gradients(PyObject *now, PyObject *rows, PyObject *gradients)
{
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(rows); i++) {
        PyObject *row = PyTuple_GET_ITEM(rows, i), *grad = PyList_GET_ITEM(gradients, i);
        PyObject *leaf = PyWeakref_GetObject(PyTuple_GET_ITEM(row, 0));
        if (leaf == NULL || grad == Py_None)
            continue;
        if (PyList_SetItem(now, PyLong_AsSsize_t(PyTuple_GET_ITEM(row, 1)), Py_NewRef(SLOT(grad, t_a))) < 0)
            return -1;
        put(leaf, t_grad, Py_NewRef(grad)); /* there was none */
    }
    return 0;
}

/* give(cursor, rows, nodes, which): gradients to leaves, and the nodes that the pass frees. */
PyObject *give(PyObject *module, PyObject *args)
{
    Cursor *cursor;
    PyObject *rows, *nodes, *which;
    if (!PyArg_ParseTuple(args, "O!O!O!O!", &cursor_type, &cursor, &PyTuple_Type, &rows, &PyList_Type, &nodes, &PyTuple_Type,
                          &which))
        return NULL;
    PyObject *gradients = new_gradients(rows);
    int done = gradients == NULL ? -1 : give_gradients(cursor->now, rows, gradients);
    Py_XDECREF(gradients);
    for (Py_ssize_t i = 0; done == 0 && i < PyTuple_GET_SIZE(which); i++) {
        PyObject *node = PyList_GetItem(nodes, PyLong_AsSsize_t(PyTuple_GET_ITEM(which, i)));
        done = node == NULL ? -1 : release(node);
    }
    return done < 0 ? NULL : Py_NewRef(Py_None);
}

/* -- the end of a stretch ---------------------------------------------------------------------- */

/* 1 when nobody but us holds an array, (number, its pool's arrays, their counts, numbers of its views), or one of its views. */
static int is_alone(PyObject *now, PyObject *row)
{
    PyObject *a = PyList_GetItem(now, PyLong_AsSsize_t(PyTuple_GET_ITEM(row, 0))), *views = PyTuple_GET_ITEM(row, 3);
    if (a == NULL)
        return -1;
    if (a == not_met)
        return 0;
    Py_ssize_t ours = 1; /* the list's */
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(views); i++) {
        PyObject *view = PyList_GetItem(now, PyLong_AsSsize_t(PyTuple_GET_ITEM(views, i)));
        if (view == NULL)
            return -1;
        if (!only_listed(view))
            return 0;
        PyObject *base = PyObject_GetAttr(view, s_base);
        if (base == NULL)
            return -1;
        ours += base == a;
        Py_DECREF(base);
    }
    return beyond(a, PyTuple_GET_ITEM(row, 1), PyTuple_GET_ITEM(row, 2)) <= ours;
}

/* settled(now, rows): whether nobody holds what a program does not hand out. */
PyObject *settled(PyObject *module, PyObject *args)
{
    PyObject *now, *rows;
    if (!PyArg_ParseTuple(args, "O!O!", &PyList_Type, &now, &PyTuple_Type, &rows))
        return NULL;
    int found = 1;
    for (Py_ssize_t i = 0; found == 1 && i < PyTuple_GET_SIZE(rows); i++)
        found = is_alone(now, PyTuple_GET_ITEM(rows, i));
    return found < 0 ? NULL : PyBool_FromLong(found);
}

/* busy(now, rows): the arrays that a program is about to fill though somebody holds them since an earlier run; a row is
 * (number, its pool's arrays, their counts), and the first array is the program's. */
PyObject *busy(PyObject *module, PyObject *args)
{
    PyObject *now, *rows, *found = PyList_New(0);
    if (found == NULL || !PyArg_ParseTuple(args, "O!O!", &PyList_Type, &now, &PyTuple_Type, &rows))
        goto failed;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(rows); i++) {
        PyObject *row = PyTuple_GET_ITEM(rows, i), *arrays = PyTuple_GET_ITEM(row, 1);
        PyObject *current = PyList_GetItem(now, PyLong_AsSsize_t(PyTuple_GET_ITEM(row, 0)));
        PyObject *lent = current == NULL ? NULL : PyList_GetItem(arrays, 0);
        if (lent == NULL)
            goto failed;
        if (lent != current && beyond(lent, arrays, PyTuple_GET_ITEM(row, 2)) > 0 && PyList_Append(found, lent) < 0)
            goto failed;
    }
    return found;
failed:
    Py_XDECREF(found);
    return NULL;
}

/* others(now, made, rows): those of rows (number, which result) for which another array was handed out than the program fills. */
PyObject *others(PyObject *module, PyObject *args)
{
    PyObject *now, *made, *rows, *found = PyList_New(0);
    if (found == NULL || !PyArg_ParseTuple(args, "O!O!O!", &PyList_Type, &now, &PyTuple_Type, &made, &PyTuple_Type, &rows))
        goto failed;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(rows); i++) {
        PyObject *row = PyTuple_GET_ITEM(rows, i);
        PyObject *given = PyList_GetItem(now, PyLong_AsSsize_t(PyTuple_GET_ITEM(row, 0)));
        PyObject *filled = given == NULL ? NULL : PyTuple_GetItem(made, PyLong_AsSsize_t(PyTuple_GET_ITEM(row, 1)));
        if (filled == NULL || (given != filled && PyList_Append(found, row) < 0))
            goto failed;
    }
    return found;
failed:
    Py_XDECREF(found);
    return NULL;
}

/* among(list, object): whether it is one of the list's. */
PyObject *among(PyObject *module, PyObject *const *args, Py_ssize_t n)
{
    if (n != 2 || !PyList_Check(args[0]))
        return PyErr_Format(PyExc_TypeError, "among takes a list and an object");
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(args[0]); i++)
        if (PyList_GET_ITEM(args[0], i) == args[1])
            Py_RETURN_TRUE;
    Py_RETURN_FALSE;
}

/* within(array, size): whether its integers lie in [0, size); None where they do not lie one after the other. */
PyObject *within(PyObject *module, PyObject *const *args, Py_ssize_t n)
{
    Py_ssize_t size = n == 2 ? PyLong_AsSsize_t(args[1]) : -1;
    if (size < 0)
        return PyErr_Occurred() ? NULL : PyErr_Format(PyExc_TypeError, "within takes an array and a size");
    Py_buffer b;
    if (PyObject_GetBuffer(args[0], &b, PyBUF_C_CONTIGUOUS | PyBUF_FORMAT) < 0) {
        PyErr_Clear();
        Py_RETURN_NONE;
    }
    int wide = b.itemsize == 8 && (strcmp(b.format, "l") == 0 || strcmp(b.format, "q") == 0);
    int narrow = b.itemsize == 4 && strcmp(b.format, "i") == 0;
    int outside = 0; /* all are looked at: without a way out in the middle the loops are vectors' */
    for (Py_ssize_t i = 0; wide && i < b.len / 8; i++)
        outside |= (uint64_t)((const int64_t *)b.buf)[i] >= (uint64_t)size; /* a negative one is very large */
    for (Py_ssize_t i = 0; narrow && i < b.len / 4; i++)
        outside |= (uint64_t)(int64_t)((const int32_t *)b.buf)[i] >= (uint64_t)size;
    const int inside = !outside;
    PyBuffer_Release(&b);
    return wide || narrow ? PyBool_FromLong(inside) : Py_NewRef(Py_None);
}

/* -- where Python keeps the slots of Tensor and OpNode ----------------------------------------- */

static int offset_of(PyObject *type, const char *name, Py_ssize_t *offset)
{
    PyObject *descriptor = PyObject_GetAttrString(type, name);
    if (descriptor == NULL)
        return -1;
    int is_slot = Py_IS_TYPE(descriptor, &PyMemberDescr_Type);
    if (is_slot)
        *offset = ((PyMemberDescrObject *)descriptor)->d_member->offset;
    Py_DECREF(descriptor);
    if (!is_slot)
        PyErr_Format(PyExc_TypeError, "%s is not a slot", name);
    return is_slot ? 0 : -1;
}

/* slots(Tensor, OpNode, AccumulateGrad, FREED): to be called before anything else of this file and of graph.c and update.c. */
PyObject *find_slots(PyObject *module, PyObject *args)
{
    PyObject *tensor, *node, *leaf;
    if (!PyArg_ParseTuple(args, "OOOO", &tensor, &node, &leaf, &freed))
        return NULL;
    const struct {
        PyObject *type;
        const char *name;
        Py_ssize_t *offset;
    } slots[] = {
        {tensor, "_a", &t_a},        {tensor, "_edge", &t_edge}, {tensor, "_grad", &t_grad},   {tensor, "_ver", &t_ver},
        {tensor, "_ext", &t_ext},    {node, "op", &n_op},        {node, "plan", &n_plan},      {node, "attrs", &n_attrs},
        {node, "edges", &n_edges},   {node, "hooks", &n_hooks},  {node, "pre_hooks", &n_pre},  {node, "saved", &n_saved},
        {node, "outputs", &n_outputs}, {node, "shapes", &n_shapes}, {leaf, "leaf", &l_leaf},      {leaf, "post_hooks", &l_post},
    };
    for (size_t i = 0; i < sizeof slots / sizeof *slots; i++)
        if (offset_of(slots[i].type, slots[i].name, slots[i].offset) < 0)
            return NULL;
    s_base = PyUnicode_InternFromString("base");
    empty = PyTuple_New(0);
    if (s_base == NULL || empty == NULL)
        return NULL;
    Py_INCREF(freed);
    tensor_type = (PyTypeObject *)Py_NewRef(tensor); /* for as long as the process lives */
    node_type = (PyTypeObject *)Py_NewRef(node);
    Py_RETURN_NONE;
}

/* -- a call that its caller has described: the loops of `Described.matches` and `Described.carry_out` --------- */

/* fits(expected, arrays, now) -> whether all arrays are those expected, a list of (kind, array or number); None where an
 * array comes from outside, which Python binds. */
PyObject *described_fits(PyObject *module, PyObject *const *args, Py_ssize_t n)
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
PyObject *described_take(PyObject *module, PyObject *const *args, Py_ssize_t n)
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
