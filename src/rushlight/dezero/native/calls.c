/* Calls of the Functions that every network has: `Function.__call__` of dezero/core.py, with what lies below it in
 * functions_nn.py, _direct.py and _graph.py, for inputs as networks have them. None: nothing was done, and Python has to.
 */
#include "quick.h"

static int is_float(const Layout *a)
{
    return a->dtype == float32 || a->dtype == float64;
}

/* An input as a Variable: itself, or a constant over an array that somebody has. NULL where it is neither, or on error. */
static PyObject *as_input(PyObject *x)
{
    if (is_variable(x))
        return Py_NewRef(x);
    if (PyErr_Occurred() || is_array(x) != 1)
        return NULL;
    PyObject *made = new_variable(x);
    int seen = made == NULL ? -1 : is_seen(x, NULL);
    if (seen == 0) {
        PyObject *added = PyObject_CallMethod(exposed, "add", "O", x);
        seen = added == NULL ? -1 : 1;
        Py_XDECREF(added);
    }
    if (seen < 0 || PyObject_SetAttr(made, s_constant, Py_True) < 0)
        Py_CLEAR(made);
    return made;
}

/* The array of a Variable, a new reference; NULL where it has none, or on error. */
static PyObject *array_of(PyObject *v)
{
    PyObject *a = PyObject_GetAttr(v, s_data);
    if (a != NULL && is_array(a) != 1)
        Py_CLEAR(a);
    return a;
}

/* Whether a Function of this class may be called here in this way, with which state: that, or -1. */
static long may_call(PyObject *cls, int kind)
{
    const Known *k = PyType_Check(cls) ? known((PyTypeObject *)cls) : NULL;
    if (k == NULL || k->kind != kind || known((PyTypeObject *)variable_type) == NULL)
        return -1;
    long state = state_here();
    return state < 0 || state & (CASTING | INFERENCE) || PyObject_IsTrue(SLOT(switches, w_anomaly)) ? -1 : state;
}

/* -- kernels ----------------------------------------------------------------------------------- */

static int is_listened(long state)
{
    return (state & (TRACED | WATCHED)) != 0;
}

/* `_go` of _direct.py, where all arrays were lent. */
PyObject *go(PyObject *kernel, PyObject *type, PyObject *arrays, PyObject *attrs)
{
    long state = state_here(); /* an array with gaps ends the stretch */
    if (state < 0)
        return NULL;
    PyObject *args[] = {kernel, type, arrays, attrs};
    PyObject *tracer = (state & (TRACED | WATCHED | FOREIGN)) == TRACED ? of_thread(s_tracer) : NULL;
    if (tracer == NULL && PyErr_Occurred())
        return NULL;
    PyObject *cursor = tracer == NULL ? NULL : PyObject_GetAttr(tracer, s_cursor);
    if (tracer != NULL && cursor == NULL)
        return NULL;
    PyObject *out = PyObject_Vectorcall(cursor == NULL ? py_run : cursor, args, 4, NULL);
    Py_XDECREF(cursor);
    return out;
}

PyObject *turned(PyObject *weight, PyObject *a)
{
    PyObject *held = PyObject_GetAttr(weight, s_turned);
    if (held == NULL) {
        if (!PyErr_ExceptionMatches(PyExc_AttributeError))
            return NULL;
        PyErr_Clear();
    }
    if (held != NULL && PyTuple_CheckExact(held) && PyTuple_GET_SIZE(held) == 2 && PyTuple_GET_ITEM(held, 0) == a) {
        PyObject *found = Py_NewRef(PyTuple_GET_ITEM(held, 1));
        Py_DECREF(held);
        return found;
    }
    Py_XDECREF(held);
    return PyObject_CallOneArg(py_turned, weight);
}

/* -- the tape ---------------------------------------------------------------------------------- */

/* Where an input comes from, for the tape: the generation of what made it, 0 for leaves; -1 on error. */
static long linked(PyObject *x)
{
    PyObject *edge = PyObject_GetAttr(x, s_edge), *found = NULL;
    if (edge == NULL)
        return -1;
    long generation = 0;
    if (edge == Py_None) { /* leaves before the node that uses them: the tape goes by age */
        found = PyObject_GetAttr(x, s_constant);
        int constant = found == NULL ? -1 : PyObject_IsTrue(found);
        Py_CLEAR(found);
        if (constant == 0)
            found = PyObject_CallMethodNoArgs(x, s_link);
        generation = constant < 0 || (constant == 0 && found == NULL) ? -1 : 0;
    } else {
        found = PyObject_GetAttr(x, s_generation);
        generation = found == NULL ? -1 : PyLong_AsLong(found);
        if (generation < 0 && !PyErr_Occurred())
            generation = 0;
    }
    Py_XDECREF(found);
    Py_DECREF(edge);
    return generation;
}

static PyObject *new_node(PyObject *function)
{
    PyObject *seq = Py_TYPE(numbers)->tp_iternext(numbers);
    PyObject *node = seq == NULL ? NULL : PyBaseObject_Type.tp_new((PyTypeObject *)call_type, empty, NULL);
    PyObject *one = node == NULL ? NULL : PyLong_FromLong(1);
    if (one == NULL) {
        Py_XDECREF(seq);
        Py_XDECREF(node);
        return NULL;
    }
    SLOT(node, n_seq) = seq;
    SLOT(node, n_hooks) = Py_NewRef(Py_None);
    SLOT(node, n_pre) = Py_NewRef(Py_None);
    SLOT(node, n_where) = Py_NewRef(Py_None);
    SLOT(node, c_function) = Py_NewRef(function);
    SLOT(node, c_outputs) = one;
    return node;
}

static int set_number(PyObject *object, PyObject *name, long value)
{
    PyObject *number = PyLong_FromLong(value);
    int done = number == NULL ? -1 : PyObject_SetAttr(object, name, number);
    Py_XDECREF(number);
    return done;
}

/* `record` of _graph.py, for one result; -1 on error. */
static int record(PyObject *function, PyObject *inputs, PyObject *out)
{
    long generation = 0;
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(inputs); i++) {
        long found = linked(PyList_GET_ITEM(inputs, i));
        if (found < 0)
            return -1;
        generation = found > generation ? found : generation;
    }
    PyObject *node = new_node(function), *edge = node == NULL ? NULL : PyTuple_Pack(2, node, zero);
    Py_XDECREF(node);
    PyObject *reference = edge == NULL ? NULL : PyWeakref_NewRef(out, NULL), *outputs = reference == NULL ? NULL : PyList_New(1);
    int done = -1;
    if (outputs != NULL) {
        PyList_SET_ITEM(outputs, 0, Py_NewRef(reference));
        done = set_number(function, s_generation, generation);
        done = done < 0 ? done : PyObject_SetAttr(function, s_inputs, inputs);
        done = done < 0 ? done : PyObject_SetAttr(out, s_edge, edge);
        done = done < 0 ? done : set_number(out, s_generation, generation + 1);
        done = done < 0 ? done : PyObject_SetAttr(function, s_outputs, outputs);
    }
    Py_XDECREF(outputs);
    Py_XDECREF(reference);
    Py_XDECREF(edge);
    return done;
}

/* The Variable over what a Function has computed; takes the array. */
static PyObject *result(PyObject *function, PyObject *inputs, PyObject *a)
{
    if (is_array(a) != 1) /* what NumPy makes of results without dims */
        Py_SETREF(a, PyErr_Occurred() ? NULL : PyObject_CallOneArg(py_array, a));
    PyObject *out = a == NULL ? NULL : new_variable(a);
    Py_XDECREF(a);
    long state = out == NULL ? -1 : state_here();
    if (state < 0 || ((state & (GRAD | INFERENCE)) == GRAD && record(function, inputs, out) < 0))
        Py_CLEAR(out);
    return out;
}

/* A Function of ours, as it was written: without an `__init__` */
static PyObject *new_function(PyObject *cls)
{
    return PyBaseObject_Type.tp_new((PyTypeObject *)cls, empty, NULL);
}

static PyObject *list_of(PyObject *const *items, Py_ssize_t n) /* takes the references */
{
    PyObject *list = PyList_New(n);
    for (Py_ssize_t i = 0; i < n; i++) {
        if (list != NULL)
            PyList_SET_ITEM(list, i, items[i]);
        else
            Py_DECREF(items[i]);
    }
    return list;
}

/* -- the Functions ----------------------------------------------------------------------------- */

/* Whether nothing has to be cast, and all three are of one device: `linear` of _direct.py. */
static int fits_linear(PyObject *x, PyObject *w, PyObject *b)
{
    Layout lx, lw, lb;
    if (!Py_IS_TYPE(w, Py_TYPE(x)) || !Py_IS_TYPE(b, Py_TYPE(x)))
        return 0;
    if (!read_layout(x, &lx) || !read_layout(w, &lw) || !read_layout(b, &lb))
        return 0;
    return is_float(&lx) && lw.dtype == lx.dtype && lb.dtype == lx.dtype && lx.dims == 2 && lw.dims == 2 && lb.dims == 1 &&
           lx.sizes[1] == lw.sizes[0] && lb.sizes[0] == lw.sizes[1];
}

PyObject *linear(PyObject *module, PyObject *const *args, Py_ssize_t n)
{
    long state = n == 4 ? may_call(args[0], LINEAR) : -1;
    if (state < 0 || !is_variable(args[2]) || !is_variable(args[3]))
        return none();
    PyObject *x = as_input(args[1]), *out = NULL, *arrays = NULL, *wt = NULL;
    PyObject *a = x == NULL ? NULL : array_of(x), *w = a == NULL ? NULL : array_of(args[2]), *b = w == NULL ? NULL : array_of(args[3]);
    int fits = b != NULL && fits_linear(a, w, b);
    if (fits && is_listened(state)) /* what a user may have seen of the Parameters is asked by Python */
        fits = is_seen(w, NULL) == 0 && is_seen(b, NULL) == 0;
    if (fits && !PyErr_Occurred())
        wt = turned(args[2], w);
    if (wt != NULL) {
        a = lent(a, state);
        arrays = a == NULL ? NULL : PyTuple_Pack(3, a, wt, b);
    }
    PyObject *attrs = arrays == NULL ? NULL : PyDict_New();
    PyObject *y = attrs == NULL ? NULL : go(linear_kernel, (PyObject *)Py_TYPE(a), arrays, attrs);
    if (y != NULL) {
        PyObject *given[] = {Py_NewRef(x), Py_NewRef(args[2]), Py_NewRef(args[3])}, *inputs = list_of(given, 3);
        PyObject *function = inputs == NULL ? NULL : new_function(args[0]);
        if (function != NULL)
            out = result(function, inputs, Py_NewRef(y));
        Py_XDECREF(function);
        Py_XDECREF(inputs);
        Py_DECREF(y);
    }
    Py_XDECREF(attrs);
    Py_XDECREF(arrays);
    Py_XDECREF(wt);
    Py_XDECREF(b);
    Py_XDECREF(w);
    Py_XDECREF(a);
    Py_XDECREF(x);
    return out != NULL ? out : none();
}

PyObject *single(PyObject *module, PyObject *const *args, Py_ssize_t n)
{
    long state = n == 2 ? may_call(args[0], SINGLE) : -1;
    const Known *k = state < 0 ? NULL : known((PyTypeObject *)args[0]);
    if (k == NULL)
        return none();
    PyObject *x = as_input(args[1]), *out = NULL, *arrays = NULL, *a = x == NULL ? NULL : array_of(x);
    Layout layout;
    if (a != NULL && read_layout(a, &layout) && is_float(&layout)) {
        a = lent(a, state);
        arrays = a == NULL ? NULL : PyTuple_Pack(1, a);
    }
    PyObject *attrs = arrays == NULL ? NULL : PyDict_New();
    PyObject *y = attrs == NULL ? NULL : go(k->kernel, (PyObject *)Py_TYPE(a), arrays, attrs);
    if (y != NULL && is_array(y) == 0)
        Py_SETREF(y, PyObject_CallOneArg(py_array, y));
    if (y != NULL) {
        PyObject *given[] = {Py_NewRef(x)}, *inputs = list_of(given, 1);
        PyObject *function = inputs == NULL ? NULL : new_function(args[0]);
        if (function != NULL && PyObject_SetAttr(function, s_y, y) == 0)
            out = result(function, inputs, Py_NewRef(y));
        Py_XDECREF(function);
        Py_XDECREF(inputs);
        Py_DECREF(y);
    }
    Py_XDECREF(attrs);
    Py_XDECREF(arrays);
    Py_XDECREF(a);
    Py_XDECREF(x);
    return out != NULL ? out : none();
}

/* Scores and classes as the kernel takes them: `entropy` of _direct.py. */
static int fits_entropy(PyObject *x, PyObject *t)
{
    Layout lx, lt;
    if (!Py_IS_TYPE(t, Py_TYPE(x)) || !read_layout(x, &lx) || !read_layout(t, &lt))
        return 0;
    return is_float(&lx) && lt.dtype == int64 && lx.dims == 2 && lt.dims == 1 && lx.sizes[0] == lt.sizes[0];
}

/* The loss of what the kernel has found: (loss, what the gradient needs). */
static PyObject *loss_of(PyObject *cls, PyObject *x, PyObject *t, PyObject *a, PyObject *classes, PyObject *found)
{
    if (!PyTuple_CheckExact(found) || PyTuple_GET_SIZE(found) != 2)
        return PyErr_Format(PyExc_TypeError, "cross entropy has two results");
    PyObject *given[] = {Py_NewRef(x), Py_NewRef(t)}, *inputs = list_of(given, 2), *out = NULL;
    PyObject *function = inputs == NULL ? NULL : new_function(cls);
    PyObject *kept = function == NULL ? NULL : PyTuple_Pack(3, a, PyTuple_GET_ITEM(found, 1), classes);
    if (kept != NULL && PyObject_SetAttr(function, s_kept, kept) == 0)
        out = result(function, inputs, Py_NewRef(PyTuple_GET_ITEM(found, 0)));
    Py_XDECREF(kept);
    Py_XDECREF(function);
    Py_XDECREF(inputs);
    return out;
}

PyObject *entropy(PyObject *module, PyObject *const *args, Py_ssize_t n)
{
    long state = n == 3 ? may_call(args[0], ENTROPY) : -1;
    if (state < 0)
        return none();
    PyObject *x = as_input(args[1]), *t = x == NULL ? NULL : as_input(args[2]), *out = NULL, *arrays = NULL;
    PyObject *a = t == NULL ? NULL : array_of(x), *classes = a == NULL ? NULL : array_of(t);
    if (classes != NULL && fits_entropy(a, classes)) {
        PyObject *scores = lent(Py_NewRef(a), state), *numbers = scores == NULL ? NULL : lent(Py_NewRef(classes), state);
        arrays = numbers == NULL ? NULL : PyTuple_Pack(2, scores, numbers);
        Py_XDECREF(numbers);
        Py_XDECREF(scores);
    }
    PyObject *found = arrays == NULL ? NULL : go(entropy_kernel, (PyObject *)Py_TYPE(a), arrays, entropy_attrs);
    if (found != NULL)
        out = loss_of(args[0], x, t, a, classes, found);
    Py_XDECREF(found);
    Py_XDECREF(arrays);
    Py_XDECREF(classes);
    Py_XDECREF(a);
    Py_XDECREF(t);
    Py_XDECREF(x);
    return out != NULL ? out : none();
}
