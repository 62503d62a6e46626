/* DeZero's usual calls: of the Functions that every network has, what a backward pass depends on, and what an optimiser reads.
 *
 * dezero/_usual.py says which classes are meant. Whatever is unusual is answered by None, before anything was changed, and done by
 * the Python that lies beside: Function.__call__ of core.py, _bare.py, _graph.py, Layer.params.
 */
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stddef.h>
#include <structmember.h>
#define NPY_NO_DEPRECATED_API NPY_2_0_API_VERSION
#define NPY_TARGET_VERSION NPY_2_0_API_VERSION
#include <numpy/ndarraytypes.h>

enum { EDITION = 5, VARIABLE = 0, LINEAR, SINGLE, ENTROPY }; /* by which Python knows an older build; kinds of classes */

#define NAMES(X) \
    X(data, "_data") X(edge, "_edge") X(constant, "_constant") X(generation, "generation") X(link, "_link") X(inputs, "inputs") \
    X(outputs, "outputs") X(grad, "grad") X(base, "base") X(dtype, "dtype") X(shape, "shape") X(strides, "strides") X(turned, "_turned") \
    X(kept, "_kept") X(backward, "backward") X(gradients, "_gradients") X(state, "state") X(tracer, "tracer") X(cursor, "cursor") X(now, "now") \
    X(params, "params") X(own_params, "_params") X(dict, "__dict__") X(walk, "walk") X(uses, "uses") X(cleargrad, "cleargrad") X(add, "add") \
    X(buffers, "dezero_buffers") X(take, "take") X(began, "began") X(recorder, "recorder") X(in_rows, "_c_contiguous") X(in_columns, "_f_contiguous") \
    X(ndim, "ndim") X(size, "size") X(lies, "lies") X(behind, "behind") X(go, "go") X(array, "array") X(stretch, "stretch") X(log, "log") \
    X(latest, "latest") X(count, "count")
#define OBJECTS(X) /* what Python gives by name */ \
    X(here) X(switches) X(exposed) X(roots) X(gpu_types) X(numbers) X(Call) X(AccumulateGrad) X(Variable) X(Layer) X(params) X(cleargrad) \
    X(float32) X(float64) X(int64) X(ndarray) X(run) X(as_array) X(turned) X(lent) X(is_shared) X(as_written)
#define BITS(X) X(GRAD) X(INFERENCE) X(CASTING) X(WATCHED) X(TRACED) X(FOREIGN) X(PACKING)
#define SLOTS(X) /* of objects, as offsets */ \
    X(Call, seq) X(Call, hooks) X(Call, pre_hooks) X(Call, where) X(Call, function) X(Call, n_outputs) X(AccumulateGrad, leaf) X(AccumulateGrad, post_hooks)

#define X(name, text) static PyObject *s_##name;
NAMES(X)
#undef X
#define X(name) static PyObject *py_##name;
OBJECTS(X)
#undef X
#define X(name) static long name;
BITS(X)
#undef X
#define X(type, name) static Py_ssize_t of_##name;
SLOTS(X)
#undef X
#define SLOT(object, offset) (*(PyObject **)((char *)(object) + (offset)))

static PyObject *empty, *zero, *one, *own; /* `own`: the dict of the thread `owner` */
static uint64_t owner;
static Py_ssize_t of_anomaly;

/* The answer where Python has to do it, or the error. */
static PyObject *none(void)
{
    return PyErr_Occurred() ? NULL : Py_NewRef(Py_None);
}

static int truth(PyObject *object, PyObject *name) /* -1 on error */
{
    PyObject *found = PyObject_GetAttr(object, name);
    int is = found == NULL ? -1 : PyObject_IsTrue(found);
    Py_XDECREF(found);
    return is;
}

static Py_ssize_t number_of(PyObject *object, PyObject *name) /* -1 on error */
{
    PyObject *value = PyObject_GetAttr(object, name);
    Py_ssize_t found = value == NULL ? -1 : PyLong_AsSsize_t(value);
    Py_XDECREF(value);
    return found;
}

/* -- classes ----------------------------------------------------------------------------------- */

/* A class that is taken as it was written: Python's number of its changes says whether it still is. */
typedef struct {
    PyTypeObject *type;
    unsigned int tag; /* when it was last looked at; 0 for not yet */
    int kind;
    PyObject *kernel, *attrs;       /* of a Function */
    PyObject *backward, *gradients; /* its methods */
} Known;

enum { MOST = 16 };
static Known classes[MOST];
static int count;

static unsigned int tag_of(PyTypeObject *type)
{
#if PY_VERSION_HEX < 0x030C0000
    if (!PyType_HasFeature(type, Py_TPFLAGS_VALID_VERSION_TAG))
        return 0;
#endif
    return type->tp_version_tag;
}

/* NULL without an error for a class that is not ours, or not as it was written. */
static Known *known(PyTypeObject *type)
{
    for (int i = 0; i < count; i++) {
        Known *k = &classes[i];
        if (k->type != type)
            continue;
        if (k->tag != 0 && k->tag == tag_of(type))
            return k;
        PyObject *answer = PyObject_CallOneArg(py_as_written, (PyObject *)type); /* which looks its attributes up: it has a tag then */
        int found = answer == NULL ? -1 : PyObject_IsTrue(answer);
        Py_XDECREF(answer);
        k->tag = found == 1 ? tag_of(type) : 0;
        return found == 1 ? k : NULL;
    }
    return NULL;
}

static int is_variable(PyObject *v) /* of ours, as it was written */
{
    const Known *k = known(Py_TYPE(v));
    return k != NULL && k->kind == VARIABLE;
}

/* Whether a method of an object is that function still. */
static int is_method(PyObject *object, PyObject *name, PyObject *function)
{
    PyObject *method = PyObject_GetAttr(object, name);
    int is = method != NULL && PyMethod_Check(method) && PyMethod_GET_FUNCTION(method) == function && PyMethod_GET_SELF(method) == object;
    Py_XDECREF(method);
    return is;
}

/* -- threads ----------------------------------------------------------------------------------- */

/* What the thread has under a name, borrowed; NULL without an error where it has nothing. */
static PyObject *of_thread(PyObject *name)
{
    uint64_t thread = PyThreadState_GetID(PyThreadState_Get());
    if (own == NULL || thread != owner) {
        PyObject *found = PyObject_GetAttr(py_here, s_dict);
        if (found == NULL)
            return NULL;
        Py_XSETREF(own, found);
        owner = thread;
    }
    return PyDict_GetItemWithError(own, name);
}

static long state_here(void) /* -1 on error */
{
    PyObject *value = of_thread(s_state);
    if (value != NULL)
        return PyLong_AsLong(value);
    return PyErr_Occurred() ? -1 : (long)number_of(py_here, s_state); /* as every thread begins */
}

static int is_listened(long state)
{
    return (state & (TRACED | WATCHED)) != 0;
}

/* -- arrays ------------------------------------------------------------------------------------ */

/* Whether it is exactly an array of NumPy or CuPy, -1 on error. */
static int is_array(PyObject *a)
{
    static PyTypeObject *latest; /* of a GPU; such types never cease to be some */
    if (Py_IS_TYPE(a, (PyTypeObject *)py_ndarray) || Py_IS_TYPE(a, latest))
        return 1;
    int found = PySet_Contains(py_gpu_types, (PyObject *)Py_TYPE(a));
    if (found == 1)
        latest = Py_TYPE(a);
    return found;
}

/* Who owns the memory of an array; a new reference. */
static PyObject *root_of(PyObject *a)
{
    PyTypeObject *type = Py_TYPE(a);
    PyObject *root = Py_NewRef(a), *base = PyObject_GetAttr(a, s_base);
    while (base != NULL && base != Py_None) {
        if (Py_IS_TYPE(base, type))
            Py_SETREF(root, Py_NewRef(base));
        PyObject *next = PyObject_GetAttr(base, s_base); /* NumPy puts an object of its own behind as_strided */
        if (next == NULL && PyErr_ExceptionMatches(PyExc_AttributeError)) {
            PyErr_Clear();
            next = Py_NewRef(Py_None);
        }
        Py_SETREF(base, next);
    }
    if (base == NULL)
        Py_CLEAR(root);
    Py_XDECREF(base);
    return root;
}

/* Whether its memory is, or was, a user's: whose it is, a new reference; -1 on error. */
static int is_seen(PyObject *a, PyObject **root)
{
    int found = 0;
    if (PyDict_GET_SIZE(py_roots)) {
        PyObject *first = root_of(a), *key = first == NULL ? NULL : PyLong_FromVoidPtr(first);
        found = key == NULL ? -1 : PyDict_Contains(py_roots, key);
        Py_XDECREF(key);
        if (found == 1 && root != NULL)
            *root = first;
        else
            Py_XDECREF(first);
    }
    return found;
}

/* Whether the stretch that is matched has an array among its own, where Python says what follows; -1 on error. */
static int is_waiting(PyObject *tracer, PyObject *root)
{
    PyObject *cursor = PyObject_GetAttr(tracer, s_cursor), *now = cursor == NULL ? NULL : PyObject_GetAttr(cursor, s_now);
    int found = now == NULL ? -1 : !PyList_CheckExact(now);
    for (Py_ssize_t i = 0; found == 0 && i < PyList_GET_SIZE(now); i++)
        found = PyList_GET_ITEM(now, i) == root;
    Py_XDECREF(now);
    Py_XDECREF(cursor);
    return found;
}

/* Whether a kernel that reads it may wait, while somebody could change it; -1 on error. */
static int is_shared(PyObject *a, long state)
{
    PyObject *root = NULL;
    int found = is_listened(state) ? is_seen(a, &root) : 0;
    if (found != 1)
        return found;
    PyObject *tracer = state & TRACED ? of_thread(s_tracer) : NULL;
    int waits = tracer == NULL ? 1 : is_waiting(tracer, root);
    if (waits == 1 && !PyErr_Occurred()) {
        PyObject *answer = PyObject_CallOneArg(py_is_shared, a);
        found = answer == NULL ? -1 : PyObject_IsTrue(answer);
        Py_XDECREF(answer);
    }
    Py_XDECREF(root);
    return waits < 0 || PyErr_Occurred() ? -1 : found;
}

typedef struct {
    PyObject *dtype; /* to be compared, not to be held */
    Py_ssize_t dims, size, sizes[2]; /* -1 for the second of more than two, or of none */
} Layout;

static int read_layout(PyObject *a, Layout *found) /* 0 on error */
{
    found->size = found->sizes[0] = found->sizes[1] = 1;
    if (Py_IS_TYPE(a, (PyTypeObject *)py_ndarray)) {
        PyArrayObject *x = (PyArrayObject *)a;
        found->dtype = (PyObject *)PyArray_DESCR(x);
        found->dims = PyArray_NDIM(x);
        for (int i = 0; i < found->dims; i++) {
            found->size *= PyArray_DIMS(x)[i];
            if (i < 2)
                found->sizes[i] = PyArray_DIMS(x)[i];
        }
        return 1;
    }
    PyObject *dtype = PyObject_GetAttr(a, s_dtype);
    Py_XDECREF(dtype); /* it is the array's */
    found->dtype = dtype;
    found->dims = dtype == NULL ? -1 : number_of(a, s_ndim);
    found->size = found->dims < 0 ? -1 : number_of(a, s_size); /* CuPy takes longer to tell the shape */
    if (found->size < 0)
        return 0;
    if (found->dims > 0)
        found->sizes[0] = PyObject_Size(a);
    if (found->dims > 1)
        found->sizes[1] = found->dims == 2 && found->sizes[0] > 0 ? found->size / found->sizes[0] : -1;
    return !PyErr_Occurred();
}

/* Whether an array has no gaps, row by row or, if `columns`, column by column. */
static int is_dense_by(PyObject *a, int columns)
{
    if (!Py_IS_TYPE(a, (PyTypeObject *)py_ndarray))
        return truth(a, columns ? s_in_columns : s_in_rows) > 0;
    return (PyArray_FLAGS((PyArrayObject *)a) & (columns ? NPY_ARRAY_F_CONTIGUOUS : NPY_ARRAY_C_CONTIGUOUS)) != 0;
}

/* `lies` of _bare.py: how an array lies that will be copied. */
static PyObject *lies(PyObject *a)
{
    Layout at;
    if (!read_layout(a, &at))
        return NULL;
    if (at.dims <= 2 && at.size > 0 && is_dense_by(a, 0))
        return Py_BuildValue("OOnnn", Py_TYPE(a), at.dtype, at.dims, at.size, at.sizes[0]);
    PyObject *shape = PyErr_Occurred() ? NULL : PyObject_GetAttr(a, s_shape);
    return shape == NULL ? NULL : Py_BuildValue("OONN", Py_TYPE(a), at.dtype, shape, PyObject_GetAttr(a, s_strides));
}

/* -- copies of what a user may change ---------------------------------------------------------- */

enum { ROOM = 16 }; /* arguments of a copy */

/* Copy an array to where a _Buffer says: its array, a new reference. NULL without an error where it lies otherwise. */
static PyObject *copied(PyObject *buffer, PyObject *a)
{
    PyObject *before = PyObject_GetAttr(buffer, s_lies), *now = before == NULL ? NULL : lies(a), *behind = NULL, *go = NULL, *array = NULL;
    int alike = now == NULL ? -1 : PyObject_RichCompareBool(now, before, Py_EQ);
    if (alike == 1 && (behind = PyObject_GetAttr(buffer, s_behind)) != NULL && (go = PyObject_GetAttr(buffer, s_go)) != NULL &&
        PyTuple_CheckExact(behind) && PyTuple_GET_SIZE(behind) < ROOM) {
        PyObject *given[ROOM] = {a};
        Py_ssize_t n = PyTuple_GET_SIZE(behind);
        for (Py_ssize_t i = 0; i < n; i++)
            given[1 + i] = PyTuple_GET_ITEM(behind, i);
        PyObject *done = PyObject_Vectorcall(go, given, (size_t)(n + 1), NULL);
        array = done == NULL ? NULL : PyObject_GetAttr(buffer, s_array);
        Py_XDECREF(done);
    }
    Py_XDECREF(go);
    Py_XDECREF(behind);
    Py_XDECREF(now);
    Py_XDECREF(before);
    return array;
}

/* `_Buffers.take` of _bare.py for a copy that was taken before and of which nobody keeps a log; NULL without an error for others. */
static PyObject *taken(PyObject *buffers, PyObject *a, PyObject *stretch)
{
    PyObject *last = PyObject_GetAttr(buffers, s_stretch), *log = PyObject_GetAttr(buffers, s_log), *latest = PyObject_GetAttr(buffers, s_latest);
    PyObject *next = NULL, *found = NULL;
    if (last != NULL && log == Py_None && latest != NULL && PyDict_CheckExact(latest))
        next = PyLong_FromSsize_t(last == stretch ? number_of(buffers, s_count) + 1 : 1);
    PyObject *buffer = next == NULL ? NULL : Py_XNewRef(PyDict_GetItemWithError(latest, next));
    if (buffer != NULL && (found = copied(buffer, a)) != NULL &&
        (PyObject_SetAttr(buffers, s_count, next) < 0 || (last != stretch && PyObject_SetAttr(buffers, s_stretch, stretch) < 0)))
        Py_CLEAR(found);
    Py_XDECREF(buffer);
    Py_XDECREF(next);
    Py_XDECREF(latest);
    Py_XDECREF(log);
    Py_XDECREF(last);
    return found;
}

/* What a kernel that may wait reads in the place of an array; a new reference. */
static PyObject *lent(PyObject *a, long state)
{
    int shared = a == Py_None ? 0 : is_shared(a, state);
    if (shared <= 0)
        return shared < 0 ? NULL : Py_NewRef(a);
    PyObject *found = NULL, *buffers = NULL, *stretch = NULL, *tracer = Py_XNewRef(of_thread(s_tracer));
    if (tracer != NULL && (is_dense_by(a, 0) || is_dense_by(a, 1)) && !PyErr_Occurred() && (buffers = PyObject_GetAttr(tracer, s_buffers)) != NULL &&
        (stretch = PyObject_GetAttr(tracer, s_recorder)) == Py_None)
        Py_SETREF(stretch, PyObject_GetAttr(tracer, s_began));
    if (stretch != NULL) {
        found = taken(buffers, a, stretch);
        if (found == NULL && !PyErr_Occurred())
            found = PyObject_CallMethodObjArgs(buffers, s_take, a, stretch, NULL);
    } else { /* gaps, or the first copy of all */
        PyErr_Clear();
        found = PyObject_CallOneArg(py_lent, a);
    }
    Py_XDECREF(stretch);
    Py_XDECREF(buffers);
    Py_XDECREF(tracer);
    return found;
}

/* The transposed matrix of a Variable's array, a new reference. */
static PyObject *turned(PyObject *weight, PyObject *a, long state)
{
    int seen = is_listened(state) ? is_seen(a, NULL) : 0;
    PyObject *held = seen == 0 ? PyObject_GetAttr(weight, s_turned) : NULL, *found = NULL;
    if (held != NULL && PyTuple_CheckExact(held) && PyTuple_GET_SIZE(held) == 2 && PyTuple_GET_ITEM(held, 0) == a)
        found = Py_NewRef(PyTuple_GET_ITEM(held, 1));
    Py_XDECREF(held);
    if (PyErr_Occurred()) {
        if (!PyErr_ExceptionMatches(PyExc_AttributeError))
            return NULL;
        PyErr_Clear();
    }
    return found != NULL ? found : PyObject_CallOneArg(py_turned, weight);
}

/* `_go` of _usual.py, where all arrays were lent: a kernel over arrays that may wait. */
static PyObject *go(PyObject *kernel, PyObject *type, PyObject *arrays, PyObject *attrs)
{
    long state = state_here(); /* an array with gaps ends the stretch */
    PyObject *args[] = {kernel, type, arrays, attrs}, *cursor = NULL;
    if (state >= 0 && (state & (TRACED | WATCHED | FOREIGN)) == TRACED) {
        PyObject *tracer = of_thread(s_tracer);
        cursor = tracer == NULL ? NULL : PyObject_GetAttr(tracer, s_cursor);
    }
    if (PyErr_Occurred())
        return NULL;
    PyObject *out = PyObject_Vectorcall(cursor == NULL ? py_run : cursor, args, 4, NULL);
    Py_XDECREF(cursor);
    return out;
}

/* -- calls of Functions ------------------------------------------------------------------------ */

/* A Variable over an array, as `over` of core.py makes it. */
static PyObject *new_variable(PyObject *a)
{
    PyObject *made = PyBaseObject_Type.tp_new((PyTypeObject *)py_Variable, empty, NULL);
    if (made != NULL && PyObject_SetAttr(made, s_data, a) < 0)
        Py_CLEAR(made);
    return made;
}

/* An input as a Variable: itself, or a constant over an array that somebody has, or over nothing. NULL for others, or on error. */
static PyObject *as_input(PyObject *x)
{
    if (is_variable(x))
        return Py_NewRef(x);
    if (PyErr_Occurred() || (x != Py_None && is_array(x) != 1))
        return NULL;
    PyObject *made = new_variable(x);
    int seen = made == NULL ? -1 : x == Py_None ? 1 : is_seen(x, NULL);
    if (seen == 0) {
        PyObject *added = PyObject_CallMethodOneArg(py_exposed, s_add, x);
        seen = added == NULL ? -1 : 1;
        Py_XDECREF(added);
    }
    if (seen < 0 || PyObject_SetAttr(made, s_constant, Py_True) < 0)
        Py_CLEAR(made);
    return made;
}

/* Whether a kernel of networks takes its arrays as they are: of one device, nothing to be cast, shapes that fit. */
static int fits(int kind, PyObject *arrays)
{
    Layout at[3];
    PyTypeObject *type = Py_TYPE(PyTuple_GET_ITEM(arrays, 0));
    Py_ssize_t n = PyTuple_GET_SIZE(arrays);
    n -= n == 3 && PyTuple_GET_ITEM(arrays, 2) == Py_None; /* no bias */
    for (Py_ssize_t i = 0; i < n; i++) {
        PyObject *a = PyTuple_GET_ITEM(arrays, i);
        if (is_array(a) != 1 || !Py_IS_TYPE(a, type) || !read_layout(a, &at[i]))
            return 0;
    }
    if (at[0].dtype != py_float32 && at[0].dtype != py_float64)
        return 0;
    if (kind == SINGLE)
        return 1;
    if (kind == ENTROPY)
        return at[1].dtype == py_int64 && at[0].dims == 2 && at[1].dims == 1 && at[0].sizes[0] == at[1].sizes[0];
    return at[1].dtype == at[0].dtype && at[0].dims == 2 && at[1].dims == 2 && at[0].sizes[1] == at[1].sizes[0] &&
           (n == 2 || (at[2].dtype == at[0].dtype && at[2].dims == 1 && at[2].sizes[0] == at[1].sizes[1]));
}

/* Where an input comes from, for the tape: the generation of what made it, 0 for leaves; -1 on error. */
static Py_ssize_t linked(PyObject *x)
{
    PyObject *edge = PyObject_GetAttr(x, s_edge);
    Py_XDECREF(edge); /* it is the Variable's */
    if (edge != Py_None)
        return edge == NULL ? -1 : number_of(x, s_generation);
    int constant = truth(x, s_constant);
    PyObject *link = constant == 0 ? PyObject_CallMethodNoArgs(x, s_link) : NULL; /* leaves before the node that uses them: the tape goes by age */
    Py_XDECREF(link);
    return PyErr_Occurred() ? -1 : 0;
}

static PyObject *new_node(PyObject *function)
{
    PyObject *seq = Py_TYPE(py_numbers)->tp_iternext(py_numbers);
    PyObject *node = seq == NULL ? NULL : PyBaseObject_Type.tp_new((PyTypeObject *)py_Call, empty, NULL);
    if (node == NULL) {
        Py_XDECREF(seq);
        return NULL;
    }
    SLOT(node, of_seq) = seq;
    SLOT(node, of_hooks) = Py_NewRef(Py_None);
    SLOT(node, of_pre_hooks) = Py_NewRef(Py_None);
    SLOT(node, of_where) = Py_NewRef(Py_None);
    SLOT(node, of_function) = Py_NewRef(function);
    SLOT(node, of_n_outputs) = Py_NewRef(one);
    return node;
}

static int set(PyObject *object, PyObject *name, PyObject *value) /* takes the reference */
{
    int done = value == NULL ? -1 : PyObject_SetAttr(object, name, value);
    Py_XDECREF(value);
    return done;
}

/* `record` of _graph.py, for one result; -1 on error. */
static int record(PyObject *function, PyObject *inputs, PyObject *out)
{
    Py_ssize_t generation = 0;
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(inputs); i++) {
        Py_ssize_t found = linked(PyList_GET_ITEM(inputs, i));
        if (found < 0 && PyErr_Occurred())
            return -1;
        generation = found > generation ? found : generation;
    }
    PyObject *node = new_node(function);
    if (node == NULL || set(out, s_edge, Py_BuildValue("NO", node, zero)) < 0)
        return -1;
    int done = set(function, s_generation, PyLong_FromSsize_t(generation));
    done = done < 0 ? done : PyObject_SetAttr(function, s_inputs, inputs);
    done = done < 0 ? done : set(out, s_generation, PyLong_FromSsize_t(generation + 1));
    return done < 0 ? done : set(function, s_outputs, Py_BuildValue("[N]", PyWeakref_NewRef(out, NULL)));
}

/* The Variable over what the kernel of a Function has computed; takes that. */
static PyObject *result(const Known *k, PyObject *inputs, PyObject *arrays, PyObject *y)
{
    PyObject *stats = NULL, *kept = NULL, *out = NULL;
    if (k->kind == ENTROPY) { /* the loss, and what its gradient needs */
        if (!PyArg_ParseTuple(y, "OO", &out, &stats)) {
            Py_DECREF(y);
            return NULL;
        }
        kept = PyTuple_Pack(3, PyTuple_GET_ITEM(arrays, 0), stats, PyTuple_GET_ITEM(arrays, 1));
        Py_SETREF(y, Py_NewRef(out));
        out = NULL;
    }
    if (is_array(y) != 1) /* what NumPy makes of results without dims */
        Py_SETREF(y, PyErr_Occurred() ? NULL : PyObject_CallOneArg(py_as_array, y));
    if (y != NULL && k->kind == SINGLE)
        kept = PyTuple_Pack(1, y);
    PyObject *function = PyErr_Occurred() ? NULL : PyBaseObject_Type.tp_new(k->type, empty, NULL); /* as it was written: without an `__init__` */
    if (function != NULL && (kept == NULL || PyObject_SetAttr(function, s_kept, kept) == 0))
        out = new_variable(y);
    long state = out == NULL ? -1 : state_here();
    if (state < 0 || ((state & (GRAD | INFERENCE)) == GRAD && record(function, inputs, out) < 0))
        Py_CLEAR(out);
    Py_XDECREF(function);
    Py_XDECREF(kept);
    Py_XDECREF(y);
    return out;
}

/* What the kernel reads: the weight of a linear layer is turned, what a user may change is copied. */
static PyObject *operands(const Known *k, PyObject *inputs, PyObject *arrays, long state)
{
    Py_ssize_t n = PyTuple_GET_SIZE(arrays);
    PyObject *found = PyTuple_New(n);
    for (Py_ssize_t i = 0; found != NULL && i < n; i++) {
        PyObject *a = PyTuple_GET_ITEM(arrays, i), *given;
        given = k->kind == LINEAR && i == 1 ? turned(PyList_GET_ITEM(inputs, i), a, state) : lent(a, state);
        PyTuple_SET_ITEM(found, i, given);
        if (given == NULL)
            Py_CLEAR(found);
    }
    return found;
}

/* call(class, *inputs) -> the Variable, or None */
static PyObject *call(PyObject *module, PyObject *const *args, Py_ssize_t n)
{
    const Known *k = n > 1 && PyType_Check(args[0]) ? known((PyTypeObject *)args[0]) : NULL;
    long state = k == NULL || k->kind != (n == 4 ? LINEAR : n == 2 ? SINGLE : ENTROPY) || known((PyTypeObject *)py_Variable) == NULL ? -1 : state_here();
    if (state < 0 || state & (CASTING | INFERENCE) || PyObject_IsTrue(SLOT(py_switches, of_anomaly)))
        return none();
    PyObject *inputs = PyList_New(n - 1), *arrays = PyTuple_New(n - 1), *given = NULL, *y = NULL, *out = NULL;
    int done = inputs != NULL && arrays != NULL;
    for (Py_ssize_t i = 0; done && i < n - 1; i++) {
        PyObject *x = as_input(args[1 + i]), *a = x == NULL ? NULL : PyObject_GetAttr(x, s_data);
        PyList_SET_ITEM(inputs, i, x); /* NULL is allowed until somebody else sees them */
        PyTuple_SET_ITEM(arrays, i, a);
        done = a != NULL;
    }
    if (done && fits(k->kind, arrays) && !PyErr_Occurred() && (given = operands(k, inputs, arrays, state)) != NULL)
        y = go(k->kernel, (PyObject *)Py_TYPE(PyTuple_GET_ITEM(given, 0)), given, k->attrs);
    if (y != NULL)
        out = result(k, inputs, arrays, y);
    Py_XDECREF(given);
    Py_XDECREF(arrays);
    Py_XDECREF(inputs);
    return out != NULL ? out : none();
}

/* -- what a backward pass depends on ----------------------------------------------------------- */

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

/* What `backward` of a linear layer reads: values that decide its kernels. NULL on error, or where Python has to look. */
static PyObject *of_linear(Walk *w, PyObject *inputs)
{
    if (PyList_GET_SIZE(inputs) != 3)
        return NULL;
    PyObject *x = PyList_GET_ITEM(inputs, 0), *W = PyList_GET_ITEM(inputs, 1), *b = PyList_GET_ITEM(inputs, 2), *turn = NULL;
    PyObject *x0 = PyObject_GetAttr(x, s_data), *w0 = PyObject_GetAttr(W, s_data), *b0 = PyObject_GetAttr(b, s_data), *shape = NULL, *values = NULL;
    Layout at;
    int xs = truth(x, s_constant), ws = truth(W, s_constant), bs = truth(b, s_constant);
    if (x0 != NULL && w0 != NULL && b0 != NULL && xs >= 0 && ws >= 0 && bs >= 0 && is_array(w0) == 1 && is_seen(w0, NULL) == 0 &&
        reads(w, x0) == 0 && PyList_Append(w->arrays, w0) == 0) {
        if (!xs && ((turn = turned(W, w0, 0)) == NULL || PyList_Append(w->arrays, turn) < 0))
            Py_CLEAR(x0);
        if (b0 == Py_None)
            shape = Py_NewRef(b0);
        else if (is_array(b0) == 1 && read_layout(b0, &at))
            shape = at.dims == 1 ? PyLong_FromSsize_t(at.size) : PyObject_GetAttr(b0, s_shape);
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

/* The same of other Functions, which keep it. */
static PyObject *of_kept(Walk *w, PyObject *function)
{
    PyObject *kept = PyObject_GetAttr(function, s_kept);
    int done = kept != NULL && PyTuple_CheckExact(kept) ? 0 : -1;
    for (Py_ssize_t i = 0; done == 0 && i < PyTuple_GET_SIZE(kept); i++)
        done = reads(w, PyTuple_GET_ITEM(kept, i));
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
    if (!is_variable(x) || !is_bare(end, of_hooks) || !is_bare(end, of_pre_hooks) || !is_bare(end, of_post_hooks) || !is_new(w, end))
        return -1;
    PyObject *grad = PyObject_GetAttr(x, s_grad), *a = PyObject_GetAttr(x, s_data), *leaf = PyObject_CallNoArgs(SLOT(end, of_leaf));
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
    if (edge == Py_None && truth(x, s_constant) != 1)
        Py_SETREF(edge, PyObject_CallMethodNoArgs(x, s_link));
    int inner = -1;
    if (edge == Py_None)
        inner = PyList_Append(w->key, Py_None);
    else if (edge != NULL && PyTuple_CheckExact(edge) && PyTuple_GET_SIZE(edge) == 2 && PyList_Append(w->key, PyTuple_GET_ITEM(edge, 1)) == 0) {
        PyObject *node = PyTuple_GET_ITEM(edge, 0);
        if (Py_IS_TYPE(node, (PyTypeObject *)py_AccumulateGrad))
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
    if (!Py_IS_TYPE(node, (PyTypeObject *)py_Call) || !is_bare(node, of_hooks) || !is_bare(node, of_pre_hooks) || !is_new(w, node))
        return -1;
    PyObject *function = SLOT(node, of_function);
    const Known *k = known(Py_TYPE(function));
    if (k == NULL || k->kind == VARIABLE || PyList_GET_SIZE(w->functions) > CALLS)
        return -1;
    if (!is_method(function, s_backward, k->backward) || !is_method(function, s_gradients, k->gradients))
        return -1;
    PyObject *inputs = PyObject_GetAttr(function, s_inputs), *values = NULL;
    if (inputs != NULL && PyList_CheckExact(inputs) && (given == NULL || reads(w, given) == 0))
        values = k->kind == LINEAR ? of_linear(w, inputs) : of_kept(w, function);
    int done = -1, inner = 0;
    if (values != NULL && PyList_Append(w->functions, function) == 0 && PyList_Append(w->key, (PyObject *)Py_TYPE(function)) == 0)
        done = PyList_Append(w->key, values);
    for (Py_ssize_t i = 0; done >= 0 && i < PyList_GET_SIZE(inputs); i++) {
        done = follow(w, PyList_GET_ITEM(inputs, i));
        inner += done == 1;
    }
    Py_XDECREF(values);
    Py_XDECREF(inputs);
    return inner > 1 ? -1 : done; /* no key says in which order several ways are gone */
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
    return !(state & (INFERENCE | PACKING)) && PyObject_IsTrue(SLOT(py_switches, of_anomaly)) == 0 &&
           (under_way == NULL || under_way == Py_None) && (uses == NULL || uses == Py_None);
}

/* describe(edge, seed) -> (key, arrays, shared, functions, leaves), or None where something is unusual */
static PyObject *describe(PyObject *module, PyObject *const *args, Py_ssize_t n)
{
    long state = state_here();
    if (n != 2 || state < 0 || !is_usual_here(state) || !PyTuple_CheckExact(args[0]) || PyTuple_GET_SIZE(args[0]) != 2 || !is_variable(args[1]))
        return none();
    Walk w = {PyList_New(0), PyList_New(0), PyList_New(0), PyList_New(0), PyList_New(0), PyList_New(0), state, 0, {NULL}, NULL};
    PyObject *key = NULL, *found = NULL;
    if (w.key != NULL && w.arrays != NULL && w.shared != NULL && w.functions != NULL && w.leaves != NULL && w.nodes != NULL &&
        walk(&w, args[0], args[1]) >= 0 && !PyErr_Occurred() && (key = PyList_AsTuple(w.key)) != NULL)
        found = PyTuple_Pack(5, key, w.arrays, w.shared, w.functions, w.leaves);
    PyObject *made[] = {key, w.key, w.arrays, w.shared, w.functions, w.leaves, w.nodes, w.seen};
    for (size_t i = 0; i < sizeof made / sizeof *made; i++)
        Py_XDECREF(made[i]);
    if (found == NULL)
        PyErr_Clear(); /* the pass comes to the same error, if it is one */
    return found != NULL ? found : Py_NewRef(Py_None);
}

/* No gradients on the results of a Function; -1 on error. */
static int forget(PyObject *function)
{
    PyObject *outputs = PyObject_GetAttr(function, s_outputs), *row = outputs == NULL ? NULL : PySequence_Fast(outputs, "outputs");
    int done = row == NULL ? -1 : 0;
    for (Py_ssize_t i = 0; done == 0 && i < PySequence_Fast_GET_SIZE(row); i++) {
        PyObject *out = PyObject_CallNoArgs(PySequence_Fast_GET_ITEM(row, i)), *grad = NULL;
        if (out != NULL && out != Py_None)
            grad = PyObject_GetAttr(out, s_grad);
        if (grad != NULL && grad != Py_None)
            done = PyObject_SetAttr(out, s_grad, Py_None);
        done = PyErr_Occurred() ? -1 : done;
        Py_XDECREF(grad);
        Py_XDECREF(out);
    }
    Py_XDECREF(row);
    Py_XDECREF(outputs);
    return done;
}

/* accept(functions, leaves, arrays): what a pass leaves behind, gradients on leaves, none on results */
static PyObject *accept(PyObject *module, PyObject *const *args, Py_ssize_t n)
{
    if (n != 3 || !PyList_CheckExact(args[0]) || !PyList_CheckExact(args[1]) || !PyList_CheckExact(args[2]))
        return PyErr_Format(PyExc_TypeError, "accept takes three lists");
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(args[0]); i++)
        if (forget(PyList_GET_ITEM(args[0], i)) < 0)
            return NULL;
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(args[1]) && i < PyList_GET_SIZE(args[2]); i++) {
        PyObject *a = PyList_GET_ITEM(args[2], i);
        if (a != Py_None && set(PyList_GET_ITEM(args[1], i), s_grad, new_variable(a)) < 0)
            return NULL;
    }
    Py_RETURN_NONE;
}

/* -- the Parameters of a layer, and what an optimiser reads of them ---------------------------- */

/* 1 when all Parameters were found, 0 where Python has to look, -1 on error. */
static int gather(PyObject *layer, PyObject *found)
{
    if (!is_method(layer, s_params, py_params)) {
        PyErr_Clear();
        return 0;
    }
    PyObject *names = PyObject_GetAttr(layer, s_own_params), *dict = names == NULL ? NULL : PyObject_GetAttr(layer, s_dict), *name, *nothing;
    int done = dict == NULL ? -1 : PyDict_CheckExact(names) && PyDict_CheckExact(dict);
    Py_ssize_t at = 0;
    while (done == 1 && PyDict_Next(names, &at, &name, &nothing)) {
        PyObject *value = PyDict_GetItemWithError(dict, name);
        if (value == NULL)
            done = PyErr_Occurred() ? -1 : 0;
        else if (!PyType_IsSubtype(Py_TYPE(value), (PyTypeObject *)py_Layer))
            done = PyList_Append(found, value) < 0 ? -1 : 1;
        else if (Py_EnterRecursiveCall(" in layers") == 0) {
            Py_INCREF(value);
            done = gather(value, found);
            Py_DECREF(value);
            Py_LeaveRecursiveCall();
        } else
            done = -1;
    }
    Py_XDECREF(dict);
    Py_XDECREF(names);
    return done;
}

/* The Parameters of a layer in a list; NULL on error, or where Python has to look. */
static PyObject *all_of(PyObject *layer)
{
    if (!PyType_IsSubtype(Py_TYPE(layer), (PyTypeObject *)py_Layer))
        return NULL;
    PyObject *found = PyList_New(0);
    if (found != NULL && gather(layer, found) != 1)
        Py_CLEAR(found);
    return found;
}

/* params(layer) -> a list of its Parameters that have a gradient, or None */
static PyObject *params(PyObject *module, PyObject *layer)
{
    PyObject *all = all_of(layer), *found = all == NULL ? NULL : PyList_New(0);
    for (Py_ssize_t i = 0; found != NULL && i < PyList_GET_SIZE(all); i++) {
        PyObject *grad = PyObject_GetAttr(PyList_GET_ITEM(all, i), s_grad);
        if (grad == NULL || (grad != Py_None && PyList_Append(found, PyList_GET_ITEM(all, i)) < 0))
            Py_CLEAR(found);
        Py_XDECREF(grad);
    }
    Py_XDECREF(all);
    return found != NULL ? found : none();
}

/* cleargrads(layer) -> True when the gradients of its Parameters were forgotten, or None */
static PyObject *cleargrads(PyObject *module, PyObject *layer)
{
    PyObject *all = all_of(layer);
    int done = all != NULL;
    for (Py_ssize_t i = 0; done && i < PyList_GET_SIZE(all); i++)
        done = is_variable(PyList_GET_ITEM(all, i)) && is_method(PyList_GET_ITEM(all, i), s_cleargrad, py_cleargrad);
    for (Py_ssize_t i = 0; done && i < PyList_GET_SIZE(all); i++)
        done = PyObject_SetAttr(PyList_GET_ITEM(all, i), s_grad, Py_None) == 0;
    Py_XDECREF(all);
    return done ? Py_NewRef(Py_True) : none();
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
static PyObject *update(PyObject *module, PyObject *const *args, Py_ssize_t n)
{
    long state = state_here();
    if (state < 0 || n != 5 || !PyList_CheckExact(args[1]) || !PyList_CheckExact(args[3]) || !PyList_GET_SIZE(args[1]))
        return none();
    Py_ssize_t size = PyList_GET_SIZE(args[1]), held = PyList_GET_SIZE(args[3]);
    int done = 1;
    PyObject *given = PyTuple_New(1 + 2 * size + held), *out = NULL;
    if (given == NULL)
        return NULL;
    PyTuple_SET_ITEM(given, 0, Py_NewRef(args[2]));
    for (Py_ssize_t i = 0; done && i < size; i++) {
        PyObject *p = PyList_GET_ITEM(args[1], i), *a = plain(p, is_listened(state)), *grad = a == NULL ? NULL : PyObject_GetAttr(p, s_grad);
        PyObject *g = grad == NULL ? NULL : plain(grad, is_listened(state));
        done = g != NULL && same_dtype(a, g);
        PyTuple_SET_ITEM(given, 1 + i, a); /* NULL is allowed until somebody else sees the tuple */
        PyTuple_SET_ITEM(given, 1 + size + i, g);
        Py_XDECREF(grad);
    }
    for (Py_ssize_t i = 0; i < held; i++)
        PyTuple_SET_ITEM(given, 1 + 2 * size + i, Py_NewRef(PyList_GET_ITEM(args[3], i)));
    if (done)
        out = go(args[0], (PyObject *)Py_TYPE(PyTuple_GET_ITEM(given, 1)), given, args[4]);
    Py_DECREF(given);
    Py_XDECREF(out);
    return out != NULL ? Py_NewRef(Py_True) : none();
}

/* -- the module -------------------------------------------------------------------------------- */

static int offset_of(PyObject *type, const char *name, Py_ssize_t *offset) /* 0 on error */
{
    PyObject *descriptor = PyObject_GetAttrString(type, name);
    int is_slot = descriptor != NULL && Py_IS_TYPE(descriptor, &PyMemberDescr_Type);
    if (is_slot)
        *offset = ((PyMemberDescrObject *)descriptor)->d_member->offset;
    else if (descriptor != NULL)
        PyErr_Format(PyExc_TypeError, "%s is not a slot", name);
    Py_XDECREF(descriptor);
    return is_slot;
}

/* know(class, kind, kernel, attrs): a class of which nothing has been changed; the last two are None for Variables */
static PyObject *know(PyObject *module, PyObject *args)
{
    Known k = {0};
    if (!PyArg_ParseTuple(args, "O!iOO", &PyType_Type, &k.type, &k.kind, &k.kernel, &k.attrs))
        return NULL;
    if (k.kind != VARIABLE && ((k.backward = PyObject_GetAttr((PyObject *)k.type, s_backward)) == NULL ||
                               (k.gradients = PyObject_GetAttr((PyObject *)k.type, s_gradients)) == NULL))
        return NULL;
    if (count == MOST)
        return PyErr_Format(PyExc_RuntimeError, "too many classes");
    Py_INCREF(args); /* with the class, its kernel and attributes: they stay for as long as the process lives */
    classes[count++] = k;
    Py_RETURN_NONE;
}

/* setup(names): everything by name; it stays for as long as the process lives */
static PyObject *setup(PyObject *module, PyObject *names)
{
    PyObject *bit = NULL;
#define X(name) \
    if ((py_##name = PyMapping_GetItemString(names, #name)) == NULL) \
        return NULL;
    OBJECTS(X)
#undef X
#define X(name) \
    bit = PyMapping_GetItemString(names, #name); \
    name = bit == NULL ? -1 : PyLong_AsLong(bit); \
    Py_XDECREF(bit); \
    if (name < 0) \
        return NULL;
    BITS(X)
#undef X
#define X(type, name) \
    if (!offset_of(py_##type, #name, &of_##name)) \
        return NULL;
    SLOTS(X)
#undef X
    return offset_of((PyObject *)Py_TYPE(py_switches), "anomaly", &of_anomaly) ? Py_NewRef(Py_None) : NULL;
}

#define FAST(function) (PyCFunction)(void (*)(void))function, METH_FASTCALL
static PyMethodDef functions[] = {
    {"setup", setup, METH_O, "setup(names): classes, functions and bits by name"},
    {"know", know, METH_VARARGS, "know(class, kind, kernel, attrs): a class of which nothing has been changed"},
    {"call", FAST(call), "call(class, *inputs) -> the Variable that a Function gives, or None"},
    {"describe", FAST(describe), "describe(edge, seed) -> what a backward pass depends on, None if something is unusual"},
    {"accept", FAST(accept), "accept(functions, leaves, arrays): what a pass leaves behind"},
    {"params", params, METH_O, "params(layer) -> a list of its Parameters that have a gradient, or None"},
    {"cleargrads", cleargrads, METH_O, "cleargrads(layer) -> True when the gradients of its Parameters were forgotten, or None"},
    {"update", FAST(update), "update(kernel, params, numbers, states, attrs) -> True when the kernel has changed the Parameters, or None"},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT,
    .m_name = "_in_c",
    .m_doc = "Usual calls of DeZero.",
    .m_size = -1,
    .m_methods = functions,
};

PyMODINIT_FUNC PyInit__in_c(void)
{
#define X(name, text) \
    if ((s_##name = PyUnicode_InternFromString(text)) == NULL) \
        return NULL;
    NAMES(X)
#undef X
    empty = PyTuple_New(0);
    zero = PyLong_FromLong(0);
    one = PyLong_FromLong(1);
    PyObject *module = empty == NULL || zero == NULL || one == NULL ? NULL : PyModule_Create(&definition);
    if (module != NULL && PyModule_AddIntConstant(module, "EDITION", EDITION) < 0)
        Py_CLEAR(module);
    return module;
}
