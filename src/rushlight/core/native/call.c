/* Op.__call__ and Op.pair in C: cast, collect the arrays, run the kernel, wrap its results, put a node on the tape.
 *
 * core/op.py has the same in Python, and is what to read first. Whatever is unusual (somebody listens at the door, tensors
 * of several devices) is handed to that version before anything was computed. What decides is this thread's state, one
 * number (runtime/thread.py), and both versions look at it.
 */
#include "slots.h"

#define MOST_INPUTS 16

PyObject *here, *switches, *numbers, *python_call, *tensor_over, *mark_inference;
long GRAD, INFERENCE, CASTING, PARTS, TRACED;
static PyObject *s_state, *s_casts, *s_fallbacks, *s_record, *s_tracer, *s_cursor, *s_dict, *s_itemsize;

/* -- tensors ----------------------------------------------------------------------------------- */

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
    PyObject *cell = version_cell(t);
    return cell == NULL ? NULL : PyTuple_Pack(3, SLOT(t, t_a), cell, PyList_GET_ITEM(cell, 0));
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

/* Keep the results that derivatives read: the numbers of `wanted`. */
static int keep_outputs(PyObject *node, PyObject *const *outs, Py_ssize_t count, PyObject *wanted)
{
    if (!PyTuple_GET_SIZE(wanted))
        return 0;
    PyObject *outputs = PyList_New(count);
    if (outputs == NULL)
        return -1;
    put(node, n_outputs, outputs);
    for (Py_ssize_t i = 0; i < count; i++)
        PyList_SET_ITEM(outputs, i, Py_NewRef(Py_None));
    for (Py_ssize_t k = 0; k < PyTuple_GET_SIZE(wanted); k++) {
        Py_ssize_t i = PyLong_AsSsize_t(PyTuple_GET_ITEM(wanted, k));
        PyObject *pair = i < count ? kept(outs[i]) : PyErr_Format(PyExc_IndexError, "there is no output %zd", i);
        if (pair == NULL || PyList_SetItem(outputs, i, pair) < 0)
            return -1;
    }
    return 0;
}

static int point_to(PyObject *node, PyObject *const *outs, Py_ssize_t count)
{
    for (Py_ssize_t i = 0; i < count; i++) {
        int kind = kind_of(SLOT(outs[i], t_a));
        if (kind < 0)
            return -1;
        if (kind == 'f' || kind == 'c' || kind == 'V') { /* V: bfloat16 of ml_dtypes */
            PyObject *edge = PyTuple_New(2), *place = edge == NULL ? NULL : PyLong_FromSsize_t(i);
            if (place == NULL) {
                Py_XDECREF(edge);
                return -1;
            }
            PyTuple_SET_ITEM(edge, 0, Py_NewRef(node));
            PyTuple_SET_ITEM(edge, 1, place);
            put(outs[i], t_edge, edge);
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
        status = point_to(node, outs, count);
    if (status == 0)
        status = keep_outputs(node, outs, count, SLOT(plan, p_outputs));
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
                if ((edge = edge_of(t)) == NULL)
                    return -1;
                if (SLOT(SLOT(t, t_ext), e_inference) != Py_False)
                    return 0;
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

/* The engine's kernels are called without a tuple of their arguments: their type has a capsule, `direct`, with this. */
typedef PyObject *(*Direct)(PyObject *kernel, PyObject *const *arrays, Py_ssize_t n, PyObject *attrs);
static PyTypeObject *direct_type;
static Direct direct;

static int find_direct(PyTypeObject *type)
{
    if (direct_type != NULL || strcmp(type->tp_name, "rushlight.runtime.cpu._native.Native") != 0)
        return 0;
    PyObject *capsule = PyObject_GetAttrString((PyObject *)type, "direct");
    if (capsule != NULL)
        direct = (Direct)PyCapsule_GetPointer(capsule, "rushlight.direct");
    Py_XDECREF(capsule);
    if (PyErr_Occurred())
        PyErr_Clear(); /* an extension that an older version built */
    else
        direct_type = type;
    return direct_type != NULL;
}

static PyObject *call_body(PyObject *impl, PyObject *const *arrays, Py_ssize_t n, PyObject *attrs)
{
    if (Py_IS_TYPE(impl, direct_type) || find_direct(Py_TYPE(impl)))
        return direct(impl, arrays, n, attrs);
    return PyObject_VectorcallDict(impl, arrays, n, attrs);
}

/* The kernel's answer; NULL without an error when there is no body yet. */
static PyObject *compute(PyObject *op, const Inputs *in, Py_ssize_t n, PyObject *attrs)
{
    PyObject *impl = PyDict_GetItemWithError(SLOT(op, o_impls), (PyObject *)in->cls);
    if (impl == NULL)
        return NULL;
    PyObject *out = call_body(impl, in->arrays, n, attrs);
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

/* The answer of the one who compares kernels with those of a loop, and may put them off. */
static PyObject *traced(PyObject *op, const Inputs *in, Py_ssize_t n, PyObject *attrs)
{
    if (PyDict_GetItemWithError(SLOT(op, o_impls), (PyObject *)in->cls) == NULL)
        return NULL; /* as in `compute`: the Python version finds a body, or what has none is sparse */
    PyObject *tracer = PyObject_GetAttr(here, s_tracer);
    PyObject *cursor = tracer == NULL ? NULL : PyObject_GetAttr(tracer, s_cursor);
    PyObject *arrays = cursor == NULL ? NULL : PyTuple_New(n), *out = NULL;
    if (arrays != NULL) {
        for (Py_ssize_t i = 0; i < n; i++)
            PyTuple_SET_ITEM(arrays, i, Py_NewRef(in->arrays[i]));
        PyObject *given[] = {SLOT(op, o_kernel), (PyObject *)in->cls, arrays, attrs == NULL ? Py_None : attrs};
        out = PyObject_Vectorcall(cursor, given, 4, NULL);
    }
    Py_XDECREF(arrays);
    Py_XDECREF(cursor);
    Py_XDECREF(tracer);
    return out;
}

/* Bits that are usual beside a tracer's: it is shown parts, as a recorder is. */
static long with_tracer(long state)
{
    return state & TRACED ? TRACED | PARTS : 0;
}

static int note(PyObject *op, Inputs *in, PyObject *inputs, PyObject *attrs, PyObject *const *outs, Py_ssize_t count)
{
    PyObject *plan = NULL;
    if (SLOT(switches, w_anomaly) == Py_False && SLOT(op, o_variadic) != Py_True) {
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

static PyObject *wrap_one(PyObject *op, Inputs *in, PyObject *inputs, PyObject *attrs, PyObject *out, long state)
{
    PyObject *result = new_tensor(out, in->cls);
    if (result == NULL)
        return NULL;
    if (SLOT(op, o_view) == Py_True) {
        PyObject *given = attrs == NULL ? PyDict_New() : Py_NewRef(attrs);
        int status = given == NULL ? -1 : note_view(result, PyTuple_GET_ITEM(inputs, 0), op, given, Py_None, state);
        Py_XDECREF(given);
        if (status < 0) {
            Py_DECREF(result);
            return NULL;
        }
    }
    if (in->mask && note(op, in, inputs, attrs, &result, 1) < 0)
        Py_CLEAR(result);
    return result;
}

static PyObject *wrap_all(PyObject *op, Inputs *in, PyObject *inputs, PyObject *attrs, PyObject *out, long state)
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

static uint64_t owner; /* the thread that asked last */
static PyObject *own;  /* and the dict of what belongs to it */

/* This thread's state, -1 on error.
 *
 * Asking a threading.local costs a fifth of a small op, so the dict of the thread that asked last is kept. A thread's
 * number is never given to another one.
 */
long state_here(void)
{
    uint64_t thread = PyThreadState_GetID(PyThreadState_Get());
    if (own == NULL || thread != owner) {
        PyObject *found = PyObject_GetAttr(here, s_dict);
        if (found == NULL)
            return -1;
        Py_XSETREF(own, found);
        owner = thread;
    }
    PyObject *value = PyDict_GetItemWithError(own, s_state);
    if (value != NULL)
        return PyLong_AsLong(value);
    value = PyErr_Occurred() ? NULL : PyObject_GetAttr(here, s_state); /* as every thread begins; kept for the next call */
    long state = value == NULL || PyDict_SetItem(own, s_state, value) < 0 ? -1 : PyLong_AsLong(value);
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

/* The machine has no memory for the result: said with the op and its sizes, in an error that is PyTorch's kind, too. */
static void tell_memory(PyObject *op, PyObject *inputs)
{
    PyObject *type, *error, *trace;
    PyErr_Fetch(&type, &error, &trace);
    PyErr_NormalizeException(&type, &error, &trace);
    PyObject *name = error == NULL ? NULL : PyUnicode_FromString("no_memory");
    PyObject *told = name == NULL ? NULL : PyObject_CallMethodObjArgs(op, name, error, inputs, NULL);
    Py_XDECREF(name);
    if (told == NULL) {
        PyErr_Clear();
        PyErr_Restore(type, error, trace);
        return;
    }
    PyErr_SetObject((PyObject *)Py_TYPE(told), told);
    Py_DECREF(told);
    Py_XDECREF(type);
    Py_XDECREF(error);
    Py_XDECREF(trace);
}

/* A call whose inputs are cast and checked; NULL without an error when the Python version must do it. */
PyObject *carry_out(PyObject *op, PyObject *inputs, PyObject *attrs, long state, int same_shape)
{
    if (!PyTuple_CheckExact(inputs))
        return NULL;
    PyObject *result = NULL;
    Inputs in = {.same_shape = same_shape};
    int records = (state & (GRAD | INFERENCE)) == GRAD && SLOT(op, o_differentiable) == Py_True;
    int found = collect(inputs, records, &in);
    PyObject *out = found > 0 ? (state & TRACED ? traced : compute)(op, &in, PyTuple_GET_SIZE(inputs), attrs) : NULL;
    if (out != NULL)
        result = (PyTuple_CheckExact(out) ? wrap_all : wrap_one)(op, &in, inputs, attrs, out, state);
    else if (PyErr_Occurred() && PyErr_ExceptionMatches(PyExc_MemoryError))
        tell_memory(op, inputs);
    if (result != NULL && state & INFERENCE)
        result = marked(result);
    Py_XDECREF(in.edges);
    return result;
}

/* The inputs in the dtypes that autocast asks for; after `state_here`, whose thread's dict is looked at. */
static PyObject *cast(PyObject *op, PyObject *args, long state)
{
    PyObject *casts = Py_XNewRef(PyDict_GetItemWithError(own, s_casts));
    if (casts == NULL && !PyErr_Occurred())
        casts = PyObject_GetAttr(here, s_casts);
    PyObject *inputs = casts == NULL ? NULL : cast_inputs(op, args, casts, state);
    Py_XDECREF(casts);
    return inputs;
}

int is_usual(long state)
{
    return !(state & ~(GRAD | INFERENCE | CASTING | with_tracer(state)));
}

/* -- what a rule lets pass as it is -------------------------------------------------------------- */

enum { OTHERS, FIT, ALIKE }; /* what two arrays are to each other: of one dtype and broadcasting, or of one shape, too */

static int of_sizes(const Py_ssize_t *a, int n, const Py_ssize_t *b, int m)
{
    if (n == m && memcmp(a, b, n * sizeof *a) == 0)
        return ALIKE;
    for (int i = 1; i <= n && i <= m; i++)
        if (a[n - i] != b[m - i] && a[n - i] != 1 && b[m - i] != 1)
            return OTHERS;
    return FIT;
}

#define MOST_DIMS 64

/* The sizes in a tuple; how many, -1 where it is none of numbers. */
static int sizes_of(PyObject *a, Py_ssize_t *sizes)
{
    PyObject *shape = PyObject_GetAttr(a, s_shape);
    int n = shape != NULL && PyTuple_CheckExact(shape) && PyTuple_GET_SIZE(shape) <= MOST_DIMS ? (int)PyTuple_GET_SIZE(shape) : -1;
    for (int i = 0; i < n; i++)
        sizes[i] = PyLong_AsSsize_t(PyTuple_GET_ITEM(shape, i));
    Py_XDECREF(shape);
    return PyErr_Occurred() ? -1 : n;
}

/* Beside halves a tensor without dims may count as a number, so rules look at those that only fit. */
static int unless_half(int found, int kind, long size)
{
    return found == FIT && size < 4 && (kind == 'f' || kind == 'V') ? OTHERS : found;
}

/* The bytes of an item of those dtypes whose size is asked for; 2 of halves, 1 of others. */
static long size_of(const PyArray_Descr *d)
{
    switch (d->type_num) {
    case NPY_FLOAT: return 4;
    case NPY_DOUBLE:
    case NPY_INT64: return 8;
    }
    return d->kind == 'f' || d->kind == 'V' ? 2 : 1;
}

/* The letter of an array's kind and its items' size; 0 on error. */
static int kind_and_size(PyObject *a, long *size)
{
    if (Py_IS_TYPE(a, ndarray_type)) {
        *size = size_of(PyArray_DESCR((PyArrayObject *)a));
        return PyArray_DESCR((PyArrayObject *)a)->kind;
    }
    PyObject *dtype = PyObject_GetAttr(a, s_dtype), *itemsize = dtype == NULL ? NULL : PyObject_GetAttr(dtype, s_itemsize);
    *size = itemsize == NULL ? -1 : PyLong_AsLong(itemsize);
    Py_XDECREF(itemsize);
    Py_XDECREF(dtype);
    int kind = *size < 0 ? -1 : kind_of(a);
    return kind < 0 ? 0 : kind;
}

/* -1 on error. */
static int relation(PyObject *a, PyObject *b, const char *kinds)
{
    if (Py_IS_TYPE(a, ndarray_type)) { /* and so is b */
        PyArrayObject *x = (PyArrayObject *)a, *y = (PyArrayObject *)b;
        const int kind = PyArray_DESCR(x)->kind;
        if (PyArray_DESCR(x) != PyArray_DESCR(y) || strchr(kinds, kind) == NULL)
            return OTHERS;
        int found = of_sizes(PyArray_DIMS(x), PyArray_NDIM(x), PyArray_DIMS(y), PyArray_NDIM(y));
        return unless_half(found, kind, size_of(PyArray_DESCR(x)));
    }
    PyObject *first = PyObject_GetAttr(a, s_dtype), *second = PyObject_GetAttr(b, s_dtype);
    int same = first == NULL || second == NULL ? -1 : first == second;
    Py_XDECREF(first);
    Py_XDECREF(second);
    long size = 0;
    int kind = same > 0 ? kind_and_size(a, &size) : 0;
    if (same <= 0 || !kind || strchr(kinds, kind) == NULL)
        return PyErr_Occurred() ? -1 : OTHERS;
    Py_ssize_t of_a[MOST_DIMS], of_b[MOST_DIMS];
    int n = sizes_of(a, of_a), m = n < 0 ? -1 : sizes_of(b, of_b);
    if (n < 0 || m < 0)
        return PyErr_Occurred() ? -1 : OTHERS;
    return unless_half(of_sizes(of_a, n, of_b, m), kind, size);
}

/* Whether a number beside an array stays as it is: any but a truth value beside floats, a small whole one beside int64. */
static int number_fits(PyObject *a, PyObject *number, const char *kinds)
{
    const int whole = PyLong_CheckExact(number);
    if (!whole && !PyFloat_CheckExact(number))
        return OTHERS;
    long size;
    int kind = kind_and_size(a, &size);
    if (!kind)
        return -1;
    if (strchr(kinds, kind) == NULL)
        return OTHERS;
    if (kind == 'f')
        return size == 4 || size == 8 ? FIT : OTHERS;
    int beyond = 0;
    long long value = whole && kind == 'i' && size == 8 ? PyLong_AsLongLongAndOverflow(number, &beyond) : LLONG_MAX;
    return !beyond && value > -(1LL << 62) && value < 1LL << 62 ? FIT : OTHERS;
}

/* A tensor without an array, a parameter whose shape is not known yet, is the rule's to refuse.
   What a rule would give back as it got it, by the kinds that it says (`passing` of operators/made_of/promotion.py). */
static int passes_pair(PyObject *op, PyObject *x, PyObject *y)
{
    const char *kinds = (const char *)PyUnicode_1BYTE_DATA(SLOT(op, o_passes));
    if (!*kinds)
        return OTHERS;
    PyObject *a = is_tensor(x) ? SLOT(x, t_a) : NULL, *b = is_tensor(y) ? SLOT(y, t_a) : NULL;
    if (a != NULL && b != NULL)
        return Py_IS_TYPE(a, Py_TYPE(b)) ? relation(a, b, kinds) : OTHERS;
    if (b != NULL)
        return strchr(kinds, 'r') != NULL ? number_fits(b, x, kinds) : OTHERS;
    return a != NULL && strchr(kinds, 'n') != NULL ? number_fits(a, y, kinds) : OTHERS;
}

static int passes(PyObject *op, PyObject *inputs)
{
    Py_ssize_t n = PyTuple_GET_SIZE(inputs);
    PyObject *x = n ? PyTuple_GET_ITEM(inputs, 0) : NULL;
    if (n == 2)
        return passes_pair(op, x, PyTuple_GET_ITEM(inputs, 1));
    if (n != 1 || !is_tensor(x) || !PyUnicode_GET_LENGTH(SLOT(op, o_passes)))
        return OTHERS;
    int kind = kind_of(SLOT(x, t_a));
    if (kind <= 0)
        return kind;
    return strchr((const char *)PyUnicode_1BYTE_DATA(SLOT(op, o_passes)), kind) != NULL ? FIT : OTHERS;
}

/* -- the call ---------------------------------------------------------------------------------- */

PyObject *op_call(PyObject *op, PyObject *args, PyObject *attrs)
{
    long state = state_here();
    if (state < 0)
        return NULL;
    if (!is_usual(state))
        return give_up(op, args, attrs);
    PyObject *given = state & CASTING ? cast(op, args, state) : Py_NewRef(args);
    if (given == NULL)
        return NULL;
    PyObject *rule = SLOT(op, o_rule), *result = NULL;
    int found = rule == Py_None ? FIT : PyTuple_CheckExact(given) ? passes(op, given) : OTHERS;
    PyObject *inputs = found < 0 ? NULL : found > OTHERS ? Py_NewRef(given) : PyObject_CallOneArg(rule, given);
    if (inputs != NULL)
        result = carry_out(op, inputs, attrs, state, found == ALIKE);
    if (result == NULL && !PyErr_Occurred())
        result = give_up(op, args, attrs);
    Py_XDECREF(inputs);
    Py_DECREF(given);
    return result;
}

/* Op.pair: two tensors that the rule lets pass. */
static PyObject *op_pair(PyObject *op, PyObject *const *args, Py_ssize_t n)
{
    long state = state_here();
    if (state < 0)
        return NULL;
    int found = n == 2 && !(state & ~(GRAD | with_tracer(state))) ? passes_pair(op, args[0], args[1]) : OTHERS;
    if (found <= OTHERS)
        return found < 0 ? NULL : PyObject_Vectorcall(op, args, n, NULL);
    PyObject *inputs = PyTuple_Pack(2, args[0], args[1]);
    if (inputs == NULL)
        return NULL;
    PyObject *result = carry_out(op, inputs, NULL, state, found == ALIKE);
    Py_DECREF(inputs);
    if (result == NULL && !PyErr_Occurred())
        result = PyObject_Vectorcall(op, args, n, NULL);
    return result;
}
/* -- for the module ---------------------------------------------------------------------------- */

PyMethodDef op_methods[1] = {
    {"pair", (PyCFunction)(void (*)(void))op_pair, METH_FASTCALL,
     "self(x, y), with a short way for floats of one dtype."},
};

int name_call(void)
{
    const Name names[] = {
        {&s_state, "state"},     {&s_casts, "casts"},
        {&s_fallbacks, "fallbacks"}, {&s_record, "record"},
        {&s_tracer, "tracer"},   {&s_cursor, "cursor"},         {&s_dict, "__dict__"},
        {&s_itemsize, "itemsize"},
    };
    return intern(names, sizeof names / sizeof *names);
}
