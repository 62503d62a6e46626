/* Pass.run of core/gradients/tape.py in C: nodes newest first, their gradients brought to those behind them.
 *
 * What is unusual about a node (hooks, anomaly mode) is left to `Pass.answer` in Python, and a pass that collects the
 * gradients of certain tensors to the Python version as a whole.
 */
#include "slots.h"

static PyTypeObject *base_type, *leaf_type, *wrapped_type; /* Node, AccumulateGrad and WrappedArray */
static Py_ssize_t l_leaf, l_post;
static PyObject *freed, *both, *push, *pop, *python_run, *accumulate, *sparse_arrays, *keepers;
static PyObject *s_heap, *s_waiting, *s_leaves, *s_keep, *s_targets, *s_only, *s_hooked, *s_apply, *s_release, *s_answer,
    *s_finish, *s_ready, *s_abandon, *s_count, *s_anomaly, *s_base, *s_strides, *s_accumulate, *s_active, *s_edges;

typedef struct {
    PyObject *self, *heap, *waiting, *leaves, *only; /* new references; `only` may be None */
    PyObject *failed;                                /* the node that raised, new, or NULL */
    int keep;
} Walk;

/* What two gradients of one tensor are together; takes none of them. */
static PyObject *sum_of(PyObject *held, PyObject *g)
{
    return PyObject_CallFunctionObjArgs(both, held, g, NULL);
}

/* A leaf leads nowhere, so it does not wait in the heap. */
static int give_leaf(Walk *w, PyObject *leaf, PyObject *g)
{
    PyObject *held = PyDict_GetItemWithError(w->leaves, leaf);
    if (held == NULL && PyErr_Occurred())
        return -1;
    PyObject *now = held == NULL ? Py_NewRef(g) : sum_of(held, g);
    int status = now == NULL ? -1 : PyDict_SetItem(w->leaves, leaf, now);
    Py_XDECREF(now);
    PyObject *const of[] = {SLOT(leaf, l_post), SLOT(leaf, n_pre), SLOT(leaf, n_hooks)};
    for (int i = 0; status == 0 && i < 3; i++) {
        int hooks = of[i] == Py_None ? 0 : PyObject_IsTrue(of[i]);
        status = hooks <= 0 ? hooks : PyObject_SetAttr(w->self, s_hooked, Py_True);
    }
    return status;
}

static Py_ssize_t outputs_of(PyObject *node)
{
    PyObject *count = PyObject_TypeCheck(node, node_type) ? Py_XNewRef(SLOT(node, n_count)) : PyObject_GetAttr(node, s_count);
    Py_ssize_t n = count == NULL ? -1 : PyLong_AsSsize_t(count);
    Py_XDECREF(count);
    if (n < 0 && !PyErr_Occurred())
        PyErr_SetString(PyExc_TypeError, "a node without outputs");
    return n;
}

/* The first gradient that comes to a node. */
static int wait_for(Walk *w, PyObject *node, PyObject *seq, Py_ssize_t index, PyObject *g)
{
    Py_ssize_t n = outputs_of(node);
    PyObject *arriving = n < 0 ? NULL : PyList_New(n), *entry = NULL, *number = NULL, *done = NULL;
    if (arriving != NULL && (index < 0 || index >= n))
        PyErr_SetString(PyExc_IndexError, "list assignment index out of range");
    else if (arriving != NULL) {
        for (Py_ssize_t i = 0; i < n; i++)
            PyList_SET_ITEM(arriving, i, Py_NewRef(i == index ? g : Py_None));
        entry = PyTuple_Pack(2, node, arriving);
        number = entry == NULL || PyDict_SetItem(w->waiting, seq, entry) < 0 ? NULL : PyNumber_Negative(seq);
        PyObject *args[] = {w->heap, number};
        done = number == NULL ? NULL : PyObject_Vectorcall(push, args, 2, NULL);
    }
    Py_XDECREF(arriving);
    Py_XDECREF(entry);
    Py_XDECREF(number);
    Py_XDECREF(done);
    return done == NULL ? -1 : 0;
}

/* Another one, for an output that has one already or not. */
static int bring(PyObject *found, Py_ssize_t index, PyObject *g)
{
    PyObject *arriving = PyTuple_GET_ITEM(found, 1);
    PyObject *held = PyList_GetItem(arriving, index);
    if (held == NULL)
        return -1;
    PyObject *now = held == Py_None ? Py_NewRef(g) : sum_of(held, g);
    return now == NULL ? -1 : PyList_SetItem(arriving, index, now);
}

/* One gradient along one edge. */
static int send_one(Walk *w, PyObject *edge, PyObject *g)
{
    if (!PyTuple_CheckExact(edge) || PyTuple_GET_SIZE(edge) != 2 || !PyObject_TypeCheck(PyTuple_GET_ITEM(edge, 0), base_type)) {
        PyErr_SetString(PyExc_TypeError, "an edge is a node and a number");
        return -1;
    }
    PyObject *node = PyTuple_GET_ITEM(edge, 0), *seq = SLOT(node, n_seq);
    if (w->only != Py_None) {
        int wanted = PySequence_Contains(w->only, seq);
        if (wanted <= 0)
            return wanted;
    }
    if (Py_IS_TYPE(node, leaf_type))
        return give_leaf(w, node, g);
    Py_ssize_t index = PyLong_AsSsize_t(PyTuple_GET_ITEM(edge, 1));
    if (index == -1 && PyErr_Occurred())
        return -1;
    PyObject *found = PyDict_GetItemWithError(w->waiting, seq);
    if (found == NULL && PyErr_Occurred())
        return -1;
    return found == NULL ? wait_for(w, node, seq, index, g) : bring(found, index, g);
}

/* Bring gradients to the nodes at the ends of edges: `Pass.send`. */
static int send_all(Walk *w, PyObject *edges, PyObject *gradients)
{
    PyObject *ends = PySequence_Fast(edges, "edges are a sequence");
    PyObject *gs = ends == NULL ? NULL : PySequence_Fast(gradients, "gradients are a sequence");
    int status = gs == NULL ? -1 : 0;
    for (Py_ssize_t i = 0; status == 0 && i < PySequence_Fast_GET_SIZE(ends) && i < PySequence_Fast_GET_SIZE(gs); i++) {
        PyObject *edge = PySequence_Fast_GET_ITEM(ends, i), *g = PySequence_Fast_GET_ITEM(gs, i);
        if (edge == Py_None || g == Py_None)
            continue;
        Py_INCREF(edge);
        Py_INCREF(g);
        status = send_one(w, edge, g);
        Py_DECREF(edge);
        Py_DECREF(g);
    }
    Py_XDECREF(ends);
    Py_XDECREF(gs);
    return status;
}

static int release(PyObject *node)
{
    if (!Py_IS_TYPE(node, node_type)) {
        PyObject *done = PyObject_CallMethodNoArgs(node, s_release);
        Py_XDECREF(done);
        return done == NULL ? -1 : 0;
    }
    int saved = PyObject_IsTrue(SLOT(node, n_saved));
    if (saved < 0)
        return -1;
    if (saved)
        put(node, n_saved, Py_NewRef(freed));
    if (SLOT(node, n_outputs) != Py_None)
        put(node, n_outputs, Py_NewRef(freed));
    return 0;
}

static int truth_of(PyObject *object, PyObject *name)
{
    PyObject *value = PyObject_GetAttr(object, name);
    int truth = value == NULL ? -1 : PyObject_IsTrue(value);
    Py_XDECREF(value);
    return truth;
}

/* Whether hooks or anomaly mode want to see this node, -1 on error. */
static int is_watched(PyObject *node)
{
    PyObject *hooks = SLOT(node, n_hooks), *before = SLOT(node, n_pre);
    if (hooks != Py_None || before != Py_None)
        return 1;
    return truth_of(switches, s_anomaly);
}

/* The gradients of the inputs of a node, from a list that this takes. */
static PyObject *answer(Walk *w, PyObject *node, PyObject *gs)
{
    int watched = is_watched(node);
    PyObject *results = NULL;
    if (watched == 1)
        results = PyObject_CallMethodObjArgs(w->self, s_answer, node, gs, NULL);
    else if (watched == 0)
        results = Py_IS_TYPE(node, node_type) ? node_apply(node, gs) : PyObject_CallMethodOneArg(node, s_apply, gs);
    Py_DECREF(gs);
    return results;
}

/* The newest node that waits, as (node, gradients), new. */
static PyObject *next_of(Walk *w)
{
    PyObject *number = PyObject_CallOneArg(pop, w->heap);
    PyObject *seq = number == NULL ? NULL : PyNumber_Negative(number);
    PyObject *entry = seq == NULL ? NULL : Py_XNewRef(PyDict_GetItemWithError(w->waiting, seq));
    if (entry == NULL && seq != NULL && !PyErr_Occurred())
        PyErr_SetObject(PyExc_KeyError, seq);
    if (entry != NULL && PyDict_DelItem(w->waiting, seq) < 0)
        Py_CLEAR(entry);
    Py_XDECREF(seq);
    Py_XDECREF(number);
    return entry;
}

static int visit(Walk *w)
{
    PyObject *entry = next_of(w);
    if (entry == NULL)
        return -1;
    PyObject *node = Py_NewRef(PyTuple_GET_ITEM(entry, 0)), *gs = Py_NewRef(PyTuple_GET_ITEM(entry, 1));
    Py_DECREF(entry); /* the gradients' only owner is the list */
    PyObject *results = answer(w, node, gs), *edges = NULL;
    if (results == NULL)
        w->failed = Py_NewRef(node);
    int status = results == NULL || (!w->keep && release(node) < 0) ? -1 : 0;
    if (status == 0) { /* DeZero's nodes find their edges when they are asked for them */
        edges = SLOT(node, n_edges) == NULL ? PyObject_GetAttr(node, s_edges) : Py_NewRef(SLOT(node, n_edges));
        status = edges == NULL ? -1 : send_all(w, edges, results);
    }
    Py_XDECREF(edges);
    Py_XDECREF(results);
    if (status == 0) {
        int hooked = truth_of(w->self, s_hooked);
        PyObject *done = hooked > 0 ? PyObject_CallMethodOneArg(w->self, s_ready, node) : NULL;
        status = hooked < 0 || (hooked > 0 && done == NULL) ? -1 : 0;
        Py_XDECREF(done);
    }
    Py_DECREF(node);
    return status;
}

/* -- leaves ------------------------------------------------------------------------------------ */

/* Whether an array has memory of its own that nobody else holds: `owns_plainly`, where nothing is traced; -1 on error. */
static int owns_plainly(PyObject *g, PyObject *like)
{
    if (Py_TYPE(g) != Py_TYPE(like) || Py_IS_TYPE(g, wrapped_type) || Py_REFCNT(g) > 2)
        return 0;
    if (Py_REFCNT(g) == 2) { /* a launch may keep it, too, to hand it out again when nobody does */
        PyObject *keeps = PyDict_GetItemWithError(keepers, (PyObject *)Py_TYPE(g));
        PyObject *kept = keeps == NULL ? NULL : PyObject_CallOneArg(keeps, g);
        Py_XDECREF(kept); /* True and False stay */
        if (kept != Py_True)
            return PyErr_Occurred() ? -1 : 0;
    }
    PyObject *const names[] = {s_dtype, s_strides};
    PyObject *base = PyObject_GetAttr(g, s_base);
    Py_XDECREF(base);
    if (base != Py_None)
        return base == NULL ? -1 : 0;
    for (int i = 0; i < 2; i++) {
        PyObject *a = PyObject_GetAttr(g, names[i]), *b = a == NULL ? NULL : PyObject_GetAttr(like, names[i]);
        int same = b == NULL ? -1 : a == b ? 1 : PyObject_RichCompareBool(a, b, Py_EQ);
        Py_XDECREF(a);
        Py_XDECREF(b);
        if (same <= 0)
            return same;
    }
    return 1;
}

/* Whether a leaf can take its first gradient, which only the pass holds, as it is; -1 on error. */
static int takes(PyObject *node, PyObject *t, PyObject *g)
{
    if (SLOT(node, n_pre) != Py_None || SLOT(node, n_hooks) != Py_None || SLOT(node, l_post) != Py_None ||
        !Py_IS_TYPE(g, tensor_type) || Py_REFCNT(g) != 1 || !is_tensor(t) || SLOT(t, t_grad) != Py_None ||
        SLOT(t, t_edge) == Py_None)
        return 0;
    PyObject *own = PyObject_GetAttr((PyObject *)Py_TYPE(t), s_accumulate);
    Py_XDECREF(own); /* its class holds it */
    if (own != accumulate)
        return own == NULL ? -1 : 0;
    return owns_plainly(SLOT(g, t_a), SLOT(t, t_a));
}

/* Give leaves their gradients, those that can take them as they are; `Pass._finish` does the rest. */
static int finish_plainly(Walk *w)
{
    long state = state_here();
    int sparse = state < 0 ? -1 : truth_of(sparse_arrays, s_active);
    if (sparse < 0 || sparse || (state & GRAD && !(state & INFERENCE)) || state & TRACED)
        return sparse < 0 ? -1 : 0;
    PyObject *nodes = PyDict_Keys(w->leaves);
    int status = nodes == NULL ? -1 : 0;
    for (Py_ssize_t i = 0; status == 0 && i < PyList_GET_SIZE(nodes); i++) {
        PyObject *node = PyList_GET_ITEM(nodes, i), *g = PyDict_GetItemWithError(w->leaves, node);
        PyObject *t = g == NULL || SLOT(node, l_leaf) == NULL ? NULL : PyObject_CallNoArgs(SLOT(node, l_leaf));
        int can = t == NULL ? (PyErr_Occurred() ? -1 : 0) : t == Py_None ? 0 : takes(node, t, g);
        if (can > 0) {
            Py_INCREF(g);
            status = PyDict_DelItem(w->leaves, node);
            if (status == 0) {
                put(g, t_edge, Py_NewRef(Py_None));
                put(t, t_grad, g);
            } else
                Py_DECREF(g);
        } else
            status = can;
        Py_XDECREF(t);
    }
    Py_XDECREF(nodes);
    return status;
}

static PyObject *walk_run(PyObject *self, PyObject *none)
{
    PyObject *targets = PyObject_GetAttr(self, s_targets);
    if (targets == NULL)
        return NULL;
    Py_DECREF(targets);
    if (targets != Py_None)
        return PyObject_CallOneArg(python_run, self);
    Walk w = {.self = self, .heap = PyObject_GetAttr(self, s_heap)};
    w.waiting = w.heap == NULL ? NULL : PyObject_GetAttr(self, s_waiting);
    w.leaves = w.waiting == NULL ? NULL : PyObject_GetAttr(self, s_leaves);
    w.only = w.leaves == NULL ? NULL : PyObject_GetAttr(self, s_only);
    w.keep = w.only == NULL ? -1 : truth_of(self, s_keep);
    int status = w.keep < 0 ? -1 : 0;
    if (status == 0 && !(PyList_CheckExact(w.heap) && PyDict_CheckExact(w.waiting) && PyDict_CheckExact(w.leaves))) {
        PyErr_SetString(PyExc_TypeError, "a pass has a list and two dicts");
        status = -1;
    }
    while (status == 0 && PyList_GET_SIZE(w.heap))
        status = visit(&w);
    if (status == 0)
        status = finish_plainly(&w);
    if (w.failed != NULL) {
        PyObject *kind, *value, *trace;
        PyErr_Fetch(&kind, &value, &trace);
        PyObject *done = PyObject_CallMethodOneArg(self, s_abandon, w.failed);
        if (done == NULL)
            PyErr_Clear();
        Py_XDECREF(done);
        Py_DECREF(w.failed);
        PyErr_Restore(kind, value, trace);
    }
    Py_XDECREF(w.heap);
    Py_XDECREF(w.waiting);
    Py_XDECREF(w.leaves);
    Py_XDECREF(w.only);
    return status < 0 ? NULL : PyObject_CallMethodNoArgs(self, s_finish);
}

static PyMethodDef walk_methods[1] = {{"run", walk_run, METH_NOARGS, "Walk the nodes that wait, newest first."}};

/* walk(Pass, Node, AccumulateGrad, FREED, both, heappush, heappop, sparse, keepers, WrappedArray) -> Pass.run in C, after `quicken` */
PyObject *walk(PyObject *module, PyObject *args)
{
    PyObject *pass, *base, *leaf, *wrapped;
    if (!PyArg_ParseTuple(args, "OOOOOOOOO!O", &pass, &base, &leaf, &freed, &both, &push, &pop, &sparse_arrays, &PyDict_Type,
                          &keepers, &wrapped))
        return NULL;
    const Slot slots[] = {{leaf, "leaf", &l_leaf}, {leaf, "post_hooks", &l_post}};
    python_run = PyObject_GetAttrString(pass, "run");
    accumulate = PyObject_GetAttr((PyObject *)tensor_type, s_accumulate);
    if (python_run == NULL || accumulate == NULL || find_offsets(slots, 2) < 0)
        return NULL;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(args); i++)
        Py_INCREF(PyTuple_GET_ITEM(args, i)); /* for as long as the process lives */
    base_type = (PyTypeObject *)base;
    leaf_type = (PyTypeObject *)leaf;
    wrapped_type = (PyTypeObject *)wrapped;
    return PyDescr_NewMethod((PyTypeObject *)pass, &walk_methods[0]);
}

int name_walk(void)
{
    const Name names[] = {
        {&s_heap, "heap"},       {&s_waiting, "waiting"}, {&s_leaves, "leaves"},   {&s_keep, "keep"},
        {&s_targets, "targets"}, {&s_only, "only"},       {&s_hooked, "hooked"},   {&s_apply, "apply"},
        {&s_release, "release"}, {&s_answer, "answer"},   {&s_finish, "_finish"},  {&s_ready, "_finish_ready"}, {&s_abandon, "abandon"},
        {&s_count, "n_outputs"}, {&s_anomaly, "anomaly"},  {&s_edges, "edges"},
        {&s_base, "base"},       {&s_strides, "strides"}, {&s_active, "active"},   {&s_accumulate, "_accumulate"},
    };
    return intern(names, sizeof names / sizeof *names);
}
