/* Op.__call__ and the like in C: cast, collect the arrays, run the kernel, wrap its results, put a node on the tape.
 *
 * core/op.py has the same in Python, and is what to read first. Whatever is unusual (somebody listens at the door, tensors
 * of several devices) is handed to that version before anything was computed. What decides is this thread's state, one
 * number (runtime/thread.py), and both versions look at it. Slots of Tensor, Op, OpNode and Plan are read at the offsets
 * that Python gave them.
 */
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stddef.h>
#include <structmember.h>

#define MOST_INPUTS 16

static PyTypeObject *tensor_type, *node_type;
static PyObject *here, *switches, *numbers;
static PyObject *python_call, *python_input, *python_output, *tensor_over, *mark_view, *current_edge, *mark_inference;
static PyObject *s_state, *s_casts, *s_inference, *s_anomaly, *s_fallbacks, *s_dtype, *s_kind, *s_shape, *s_record,
    *s_sum_to_size, *empty;
static long GRAD, INFERENCE, CASTING; /* bits of a thread's state */

/* -- slots ------------------------------------------------------------------------------------- */

static Py_ssize_t t_a, t_edge, t_grad, t_ver, t_ext;
static Py_ssize_t o_rule, o_impls, o_kernel, o_view, o_differentiable, o_plans, o_variadic;
static Py_ssize_t n_seq, n_op, n_plan, n_attrs, n_edges, n_hooks, n_pre, n_where, n_saved, n_outputs, n_shapes, n_count;
static Py_ssize_t p_keep, p_shapes, p_outputs, p_calls, p_sums;

#define SLOT(object, offset) (*(PyObject **)((char *)(object) + (offset)))

static void put(PyObject *object, Py_ssize_t offset, PyObject *value) /* takes the reference */
{
    PyObject *before = SLOT(object, offset);
    SLOT(object, offset) = value;
    Py_XDECREF(before);
}

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

/* -- tensors ----------------------------------------------------------------------------------- */

static int is_tensor(PyObject *value)
{
    return Py_IS_TYPE(value, tensor_type) || PyType_IsSubtype(Py_TYPE(value), tensor_type);
}

/* A tensor without history over an array, which it takes. */
static PyObject *new_tensor(PyObject *a, PyTypeObject *cls)
{
    if (!Py_IS_TYPE(a, cls)) { /* a NumPy scalar */
        PyObject *made = PyObject_CallFunctionObjArgs(tensor_over, a, (PyObject *)cls, NULL);
        Py_DECREF(a);
        return made;
    }
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

/* (array, version cell, version): what a node keeps of a tensor. */
static PyObject *kept(PyObject *t)
{
    PyObject *cell = SLOT(t, t_ver);
    if (cell == Py_None) {
        cell = PyList_New(1);
        if (cell == NULL)
            return NULL;
        PyList_SET_ITEM(cell, 0, PyLong_FromLong(0));
        put(t, t_ver, cell);
    }
    return PyTuple_Pack(3, SLOT(t, t_a), cell, PyList_GET_ITEM(cell, 0));
}

/* The letter of an array's kind of dtype, -1 on error. */
static int kind_of(PyObject *a)
{
    PyObject *dtype = PyObject_GetAttr(a, s_dtype);
    PyObject *kind = dtype == NULL ? NULL : PyObject_GetAttr(dtype, s_kind);
    int letter = kind == NULL ? -1 : (int)PyUnicode_READ_CHAR(kind, 0);
    Py_XDECREF(kind);
    Py_XDECREF(dtype);
    return letter;
}

/* -- the tape ---------------------------------------------------------------------------------- */

static int keep_inputs(PyObject *node, PyObject *plan, PyObject *inputs, int shapes_too)
{
    PyObject *keep = SLOT(plan, p_keep);
    Py_ssize_t count = PyTuple_GET_SIZE(keep);
    if (count) {
        PyObject *saved = PyDict_New();
        if (saved == NULL)
            return -1;
        put(node, n_saved, saved);
        for (Py_ssize_t k = 0; k < count; k++) {
            PyObject *number = PyTuple_GET_ITEM(keep, k);
            PyObject *t = PyTuple_GET_ITEM(inputs, PyLong_AsSsize_t(number));
            PyObject *value = is_tensor(t) ? kept(t) : Py_NewRef(t);
            if (value == NULL || PyDict_SetItem(saved, number, value) < 0) {
                Py_XDECREF(value);
                return -1;
            }
            Py_DECREF(value);
        }
    }
    if (!shapes_too || SLOT(plan, p_shapes) != Py_True)
        return 0;
    Py_ssize_t n = PyTuple_GET_SIZE(inputs);
    PyObject *shapes = PyList_New(n);
    if (shapes == NULL)
        return -1;
    put(node, n_shapes, shapes);
    for (Py_ssize_t i = 0; i < n; i++) {
        PyObject *t = PyTuple_GET_ITEM(inputs, i);
        PyObject *shape = is_tensor(t) ? PyObject_GetAttr(SLOT(t, t_a), s_shape) : Py_NewRef(Py_None);
        if (shape == NULL)
            return -1;
        PyList_SET_ITEM(shapes, i, shape);
    }
    return 0;
}

static int point_to(PyObject *node, PyObject *const *outs, Py_ssize_t count, int keep)
{
    PyObject *outputs = NULL;
    if (keep) {
        outputs = PyList_New(count);
        if (outputs == NULL)
            return -1;
        put(node, n_outputs, outputs);
    }
    for (Py_ssize_t i = 0; i < count; i++) {
        int kind = kind_of(SLOT(outs[i], t_a));
        if (kind < 0)
            return -1;
        if (kind == 'f' || kind == 'c' || kind == 'V') { /* V: bfloat16 of ml_dtypes */
            PyObject *edge = Py_BuildValue("(On)", node, i);
            if (edge == NULL)
                return -1;
            put(outs[i], t_edge, edge);
        }
        if (keep) {
            PyObject *pair = kept(outs[i]);
            if (pair == NULL)
                return -1;
            PyList_SET_ITEM(outputs, i, pair);
        }
    }
    return 0;
}

/* Op.record for a plan that is known. */
static int record(PyObject *op, PyObject *plan, PyObject *inputs, PyObject *attrs, PyObject *edges, int same_shape,
                  PyObject *const *outs, Py_ssize_t count)
{
    if (!PyTuple_GET_SIZE(SLOT(plan, p_calls)))
        return 0;
    PyObject *seq = PyIter_Next(numbers);
    PyObject *node = seq == NULL ? NULL : PyBaseObject_Type.tp_new(node_type, empty, NULL);
    if (node == NULL) {
        Py_XDECREF(seq);
        return -1;
    }
    SLOT(node, n_seq) = seq;
    SLOT(node, n_op) = Py_NewRef(op);
    SLOT(node, n_plan) = Py_NewRef(plan);
    SLOT(node, n_attrs) = attrs == NULL ? PyDict_New() : Py_NewRef(attrs);
    SLOT(node, n_edges) = Py_NewRef(edges);
    SLOT(node, n_count) = PyLong_FromSsize_t(count);
    const Py_ssize_t none[] = {n_hooks, n_pre, n_where, n_saved, n_outputs, n_shapes};
    for (size_t i = 0; i < sizeof none / sizeof *none; i++)
        SLOT(node, none[i]) = Py_NewRef(Py_None);
    int status = keep_inputs(node, plan, inputs, !same_shape);
    if (status == 0)
        status = point_to(node, outs, count, SLOT(plan, p_outputs) == Py_True);
    Py_DECREF(node);
    return status;
}

static int record_in_python(PyObject *op, unsigned long mask, PyObject *inputs, PyObject *attrs, PyObject *edges,
                            PyObject *const *outs, Py_ssize_t count)
{
    PyObject *all = PyTuple_New(count), *given = attrs == NULL ? PyDict_New() : Py_NewRef(attrs), *done = NULL;
    if (all != NULL && given != NULL) {
        for (Py_ssize_t i = 0; i < count; i++)
            PyTuple_SET_ITEM(all, i, Py_NewRef(outs[i]));
        PyObject *bits = PyLong_FromUnsignedLong(mask);
        done = PyObject_CallMethodObjArgs(op, s_record, bits, inputs, given, all, edges, NULL);
        Py_XDECREF(bits);
    }
    Py_XDECREF(all);
    Py_XDECREF(given);
    Py_XDECREF(done);
    return done == NULL ? -1 : 0;
}

/* -- the call ---------------------------------------------------------------------------------- */

typedef struct {
    PyTypeObject *cls;             /* the arrays' type */
    PyObject *arrays[MOST_INPUTS]; /* borrowed from the inputs */
    PyObject *edges;               /* a list, or NULL when nothing is recorded */
    unsigned long mask;            /* which inputs want a gradient */
    int same_shape;                /* nothing is broadcast */
} Inputs;

/* 1 when done, 0 when the Python version must take over, -1 on error. */
static int collect(PyObject *inputs, int grad, Inputs *in)
{
    Py_ssize_t n = PyTuple_GET_SIZE(inputs);
    if (n > MOST_INPUTS)
        return 0;
    if (grad && (in->edges = PyList_New(n)) == NULL)
        return -1;
    for (Py_ssize_t i = 0; i < n; i++) {
        PyObject *t = PyTuple_GET_ITEM(inputs, i), *edge = Py_None;
        in->arrays[i] = t;
        if (is_tensor(t)) {
            PyObject *a = SLOT(t, t_a);
            if (a == NULL || (in->cls != NULL && !Py_IS_TYPE(a, in->cls)))
                return 0;
            in->cls = Py_TYPE(a);
            in->arrays[i] = a;
            if (grad && SLOT(t, t_ext) != Py_None) {
                edge = PyObject_CallOneArg(current_edge, t);
                if (edge == NULL)
                    return -1;
                Py_DECREF(edge); /* the tensor holds it */
                PyObject *inference = PyObject_GetAttr(SLOT(t, t_ext), s_inference);
                Py_XDECREF(inference);
                if (inference != Py_False)
                    return inference == NULL ? -1 : 0;
            } else if (grad)
                edge = SLOT(t, t_edge);
            if (edge != Py_None)
                in->mask |= 1ul << i;
        }
        if (grad)
            PyList_SET_ITEM(in->edges, i, Py_NewRef(edge));
    }
    return in->cls != NULL;
}

/* The kernel's answer; NULL without an error when there is no body yet. */
static PyObject *compute(PyObject *op, const Inputs *in, Py_ssize_t n, PyObject *attrs)
{
    PyObject *impl = PyDict_GetItemWithError(SLOT(op, o_impls), (PyObject *)in->cls);
    if (impl == NULL)
        return NULL;
    PyObject *out = PyObject_VectorcallDict(impl, in->arrays, n, attrs);
    if (out != Py_NotImplemented)
        return out;
    Py_DECREF(out);
    PyObject *fallbacks = PyObject_GetAttr(SLOT(op, o_kernel), s_fallbacks);
    if (fallbacks == NULL)
        return NULL;
    impl = PyObject_GetItem(fallbacks, (PyObject *)in->cls);
    Py_DECREF(fallbacks);
    if (impl == NULL)
        return NULL;
    out = PyObject_VectorcallDict(impl, in->arrays, n, attrs);
    Py_DECREF(impl);
    return out;
}

static int is_set(PyObject *object, PyObject *name)
{
    PyObject *value = PyObject_GetAttr(object, name);
    int truth = value == NULL ? -1 : PyObject_IsTrue(value);
    Py_XDECREF(value);
    return truth;
}

static int note(PyObject *op, Inputs *in, PyObject *inputs, PyObject *attrs, PyObject *const *outs, Py_ssize_t count)
{
    PyObject *plan = NULL;
    int anomaly = is_set(switches, s_anomaly);
    if (anomaly < 0)
        return -1;
    if (!anomaly && SLOT(op, o_variadic) != Py_True) {
        PyObject *key = PyLong_FromUnsignedLong(in->mask);
        plan = key == NULL ? NULL : PyDict_GetItemWithError(SLOT(op, o_plans), key);
        Py_XDECREF(key);
        if (plan == NULL && PyErr_Occurred())
            return -1;
    }
    if (plan == NULL)
        return record_in_python(op, in->mask, inputs, attrs, in->edges, outs, count);
    return record(op, plan, inputs, attrs, in->edges, in->same_shape, outs, count);
}

static PyObject *wrap_one(PyObject *op, Inputs *in, PyObject *inputs, PyObject *attrs, PyObject *out)
{
    PyObject *result = new_tensor(out, in->cls);
    if (result == NULL)
        return NULL;
    if (SLOT(op, o_view) == Py_True) {
        PyObject *given = attrs == NULL ? PyDict_New() : Py_NewRef(attrs);
        PyObject *done = PyObject_CallFunctionObjArgs(mark_view, result, PyTuple_GET_ITEM(inputs, 0), op, given, NULL);
        Py_XDECREF(given);
        if (done == NULL) {
            Py_DECREF(result);
            return NULL;
        }
        Py_DECREF(done);
    }
    if (in->mask && note(op, in, inputs, attrs, &result, 1) < 0)
        Py_CLEAR(result);
    return result;
}

static PyObject *wrap_all(PyObject *op, Inputs *in, PyObject *inputs, PyObject *attrs, PyObject *out)
{
    Py_ssize_t count = PyTuple_GET_SIZE(out);
    PyObject *results = PyTuple_New(count);
    for (Py_ssize_t i = 0; results != NULL && i < count; i++) {
        PyObject *t = new_tensor(Py_NewRef(PyTuple_GET_ITEM(out, i)), in->cls);
        if (t == NULL)
            Py_CLEAR(results);
        else
            PyTuple_SET_ITEM(results, i, t);
    }
    Py_DECREF(out);
    if (results != NULL && in->mask && note(op, in, inputs, attrs, ((PyTupleObject *)results)->ob_item, count) < 0)
        Py_CLEAR(results);
    return results;
}

static PyObject *give_up(PyObject *op, PyObject *args, PyObject *attrs)
{
    PyObject *all = PyTuple_New(PyTuple_GET_SIZE(args) + 1);
    if (all == NULL)
        return NULL;
    PyTuple_SET_ITEM(all, 0, Py_NewRef(op));
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(args); i++)
        PyTuple_SET_ITEM(all, i + 1, Py_NewRef(PyTuple_GET_ITEM(args, i)));
    PyObject *out = PyObject_Call(python_call, all, attrs);
    Py_DECREF(all);
    return out;
}

/* This thread's state, -1 on error. */
static long state_here(void)
{
    PyObject *value = PyObject_GetAttr(here, s_state);
    long state = value == NULL ? -1 : PyLong_AsLong(value);
    Py_XDECREF(value);
    return state;
}

/* Mark what inference mode made; takes the result, and gives it back. */
static PyObject *marked(PyObject *result)
{
    PyObject *outs = PyTuple_CheckExact(result) ? Py_NewRef(result) : PyTuple_Pack(1, result);
    PyObject *done = outs == NULL ? NULL : PyObject_CallOneArg(mark_inference, outs);
    Py_XDECREF(outs);
    if (done == NULL)
        Py_CLEAR(result);
    Py_XDECREF(done);
    return result;
}

/* A call whose inputs are cast and checked; NULL without an error when the Python version must do it. */
static PyObject *carry_out(PyObject *op, PyObject *inputs, PyObject *attrs, long state, int same_shape)
{
    if (!PyTuple_CheckExact(inputs))
        return NULL;
    PyObject *result = NULL;
    Inputs in = {.same_shape = same_shape};
    int records = (state & (GRAD | INFERENCE)) == GRAD && SLOT(op, o_differentiable) == Py_True;
    int found = collect(inputs, records, &in);
    PyObject *out = found > 0 ? compute(op, &in, PyTuple_GET_SIZE(inputs), attrs) : NULL;
    if (out != NULL)
        result = (PyTuple_CheckExact(out) ? wrap_all : wrap_one)(op, &in, inputs, attrs, out);
    if (result != NULL && state & INFERENCE)
        result = marked(result);
    Py_XDECREF(in.edges);
    return result;
}

/* The inputs in the dtypes that autocast asks for. */
static PyObject *cast(PyObject *op, PyObject *args)
{
    PyObject *casts = PyObject_GetAttr(here, s_casts);
    PyObject *inputs = casts == NULL ? NULL : PyObject_CallFunctionObjArgs(casts, op, args, NULL);
    Py_XDECREF(casts);
    return inputs;
}

static PyObject *op_call(PyObject *op, PyObject *args, PyObject *attrs)
{
    long state = state_here();
    if (state < 0)
        return NULL;
    if (state & ~(GRAD | INFERENCE | CASTING))
        return give_up(op, args, attrs);
    PyObject *given = state & CASTING ? cast(op, args) : Py_NewRef(args);
    if (given == NULL)
        return NULL;
    PyObject *rule = SLOT(op, o_rule), *result = NULL;
    PyObject *inputs = rule == Py_None ? Py_NewRef(given) : PyObject_CallOneArg(rule, given);
    if (inputs != NULL)
        result = carry_out(op, inputs, attrs, state, 0);
    if (result == NULL && !PyErr_Occurred())
        result = give_up(op, args, attrs);
    Py_XDECREF(inputs);
    Py_DECREF(given);
    return result;
}

/* Whether two arrays are floats of one dtype and shape. */
static int are_alike(PyObject *a, PyObject *b)
{
    PyObject *first = PyObject_GetAttr(a, s_dtype), *second = PyObject_GetAttr(b, s_dtype);
    int alike = first == NULL || second == NULL ? -1 : first == second && kind_of(a) == 'f';
    Py_XDECREF(first);
    Py_XDECREF(second);
    if (alike <= 0)
        return alike;
    first = PyObject_GetAttr(a, s_shape), second = PyObject_GetAttr(b, s_shape);
    alike = first == NULL || second == NULL ? -1 : PyObject_RichCompareBool(first, second, Py_EQ);
    Py_XDECREF(first);
    Py_XDECREF(second);
    return alike;
}

/* Op.pair: two tensors that are alike need no rule, and nothing is broadcast. */
static PyObject *op_pair(PyObject *op, PyObject *const *args, Py_ssize_t n)
{
    PyObject *x = n == 2 ? args[0] : NULL, *y = n == 2 ? args[1] : NULL;
    long state = state_here();
    if (state < 0)
        return NULL;
    if (state & ~GRAD || n != 2 || !is_tensor(x) || !is_tensor(y) || SLOT(x, t_ext) != Py_None ||
        SLOT(y, t_ext) != Py_None || !Py_IS_TYPE(SLOT(x, t_a), Py_TYPE(SLOT(y, t_a))))
        return PyObject_Vectorcall(op, args, n, NULL);
    int alike = are_alike(SLOT(x, t_a), SLOT(y, t_a));
    if (alike <= 0)
        return alike < 0 ? NULL : PyObject_Vectorcall(op, args, n, NULL);
    PyObject *inputs = PyTuple_Pack(2, x, y);
    if (inputs == NULL)
        return NULL;
    PyObject *result = carry_out(op, inputs, NULL, state, 1);
    Py_DECREF(inputs);
    if (result == NULL && !PyErr_Occurred())
        result = PyObject_Vectorcall(op, args, n, NULL);
    return result;
}

/* -- the way back ------------------------------------------------------------------------------ */

/* A tensor over what a node kept, (array, cell, version); NULL without an error when it has changed since. */
static PyObject *restored(PyObject *held, PyObject *edge)
{
    PyObject *cell = PyTuple_GET_ITEM(held, 1), *version = PyTuple_GET_ITEM(held, 2);
    PyObject *now = PyList_GET_ITEM(cell, 0);
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

/* OpNode.input; what is freed, changed or missing is told by the Python version. */
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
static PyObject *node_apply(PyObject *node, PyObject *gs)
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

/* -- the module -------------------------------------------------------------------------------- */

static PyMethodDef pair_method = {"pair", (PyCFunction)(void (*)(void))op_pair, METH_FASTCALL,
                                  "self(x, y), with a short way for two tensors that are alike."};
static PyMethodDef node_methods[] = {
    {"input", node_input, METH_O, "An input as it was."},
    {"output", node_output, METH_O, "An output as it was."},
    {"apply", node_apply, METH_O, "The gradients of the inputs from those of the outputs."},
};
static PyMethodDef call_method = {"__call__", (PyCFunction)(void (*)(void))op_call, METH_VARARGS | METH_KEYWORDS,
                                  "Compute, and record for backward."};

static int find_slots(PyObject *tensor, PyObject *op, PyObject *node, PyObject *plan)
{
    const struct {
        PyObject *type;
        const char *name;
        Py_ssize_t *offset;
    } slots[] = {
        {tensor, "_a", &t_a},           {tensor, "_edge", &t_edge},       {tensor, "_grad", &t_grad},
        {tensor, "_ver", &t_ver},       {tensor, "_ext", &t_ext},         {op, "rule", &o_rule},
        {op, "impls", &o_impls},        {op, "kernel", &o_kernel},        {op, "is_view", &o_view},
        {op, "plans", &o_plans},        {op, "variadic", &o_variadic},    {op, "differentiable", &o_differentiable},
        {node, "seq", &n_seq},          {node, "op", &n_op},              {node, "plan", &n_plan},
        {node, "attrs", &n_attrs},      {node, "edges", &n_edges},        {node, "hooks", &n_hooks},
        {node, "pre_hooks", &n_pre},    {node, "where", &n_where},        {node, "saved", &n_saved},
        {node, "outputs", &n_outputs},  {node, "shapes", &n_shapes},      {node, "n_outputs", &n_count},
        {plan, "keep", &p_keep},        {plan, "shapes", &p_shapes},      {plan, "outputs", &p_outputs},
        {plan, "calls", &p_calls},      {plan, "sums", &p_sums},
    };
    for (size_t i = 0; i < sizeof slots / sizeof *slots; i++)
        if (offset_of(slots[i].type, slots[i].name, slots[i].offset) < 0)
            return -1;
    return 0;
}

/* quicken(Tensor, Op, OpNode, Plan, here, (GRAD, INFERENCE, CASTING), switches, numbers, tensor_over, mark_view,
 * current_edge, mark_inference) */
static PyObject *quicken(PyObject *module, PyObject *args)
{
    PyObject *tensor, *op, *node, *plan;
    if (!PyArg_ParseTuple(args, "OOOOO(lll)OOOOOO", &tensor, &op, &node, &plan, &here, &GRAD, &INFERENCE, &CASTING,
                          &switches, &numbers, &tensor_over, &mark_view, &current_edge, &mark_inference))
        return NULL;
    if (find_slots(tensor, op, node, plan) < 0)
        return NULL;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(args); i++)
        Py_INCREF(PyTuple_GET_ITEM(args, i)); /* for as long as the process lives */
    tensor_type = (PyTypeObject *)tensor;
    node_type = (PyTypeObject *)node;
    python_call = PyObject_GetAttrString(op, "__call__");
    if (python_call == NULL)
        return NULL;
    PyTypeObject *type = (PyTypeObject *)op;
    python_input = PyObject_GetAttrString(node, "input");
    python_output = PyObject_GetAttrString(node, "output");
    if (python_input == NULL || python_output == NULL)
        return NULL;
    return Py_BuildValue("(NNNNN)", PyDescr_NewMethod(type, &call_method), PyDescr_NewMethod(type, &pair_method),
                         PyDescr_NewMethod(node_type, &node_methods[0]), PyDescr_NewMethod(node_type, &node_methods[1]),
                         PyDescr_NewMethod(node_type, &node_methods[2]));
}

static PyMethodDef functions[] = {
    {"quicken", quicken, METH_VARARGS, "quicken(...) -> Op.__call__, Op.pair, OpNode.input, OpNode.output and OpNode.apply in C."},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT,
    .m_name = "_call",
    .m_doc = "Calls of ops and of their derivatives in C.",
    .m_size = -1,
    .m_methods = functions,
};

PyMODINIT_FUNC PyInit__call(void)
{
    const struct {
        PyObject **name;
        const char *text;
    } names[] = {
        {&s_state, "state"},         {&s_casts, "casts"},   {&s_inference, "inference"}, {&s_anomaly, "anomaly"},
        {&s_fallbacks, "fallbacks"}, {&s_dtype, "dtype"},   {&s_kind, "kind"},           {&s_shape, "shape"},
        {&s_record, "record"},       {&s_sum_to_size, "sum_to_size"},
    };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if ((*names[i].name = PyUnicode_InternFromString(names[i].text)) == NULL)
            return NULL;
    empty = PyTuple_New(0);
    return empty == NULL ? NULL : PyModule_Create(&definition);
}
