/* DeZero's calls in C, for the usual ones: dezero/_quick.py says which, and what else is done in Python.
 *
 * calls.c calls Functions, graph.c describes a backward pass, layers.c finds Parameters and what an optimiser reads of them. Whatever is unusual is
 * answered by None, before anything was changed, and done by the Python that lies beside.
 */
#include "quick.h"

enum { EDITION = 4 }; /* by which Python knows an older build */

PyObject *s_data, *s_edge, *s_constant, *s_generation, *s_link, *s_inputs, *s_outputs, *s_grad, *s_base, *s_dtype, *s_shape, *s_strides;
PyObject *s_turned, *s_y, *s_kept, *s_backward, *s_gradients, *s_state, *s_tracer, *s_cursor, *s_now;
PyObject *s_params, *s_own_params, *s_dict, *s_walk, *s_uses, *s_cleargrad;
PyObject *empty, *zero, *call_type, *end_type, *variable_type, *layer_type, *layer_params, *cleargrad, *exposed, *roots, *gpu_types, *numbers;
PyObject *float32, *float64, *int64, *linear_kernel, *entropy_kernel, *entropy_attrs;
PyObject *py_run, *py_over, *py_array, *py_turned, *py_lent, *py_shared, *switches;
long GRAD, INFERENCE, CASTING, WATCHED, TRACED, FOREIGN, PACKING;
Py_ssize_t n_seq, n_hooks, n_pre, n_where, c_function, c_outputs, l_leaf, l_post, w_anomaly;

static PyObject *here, *own, *as_written;
static uint64_t owner; /* the thread whose dict `own` is */
PyTypeObject *host_type;

enum { MOST = 16 };
static Known classes[MOST];
static int count;

/* -- classes ----------------------------------------------------------------------------------- */

static unsigned int tag_of(PyTypeObject *type)
{
#if PY_VERSION_HEX < 0x030C0000
    if (!PyType_HasFeature(type, Py_TPFLAGS_VALID_VERSION_TAG))
        return 0;
#endif
    return type->tp_version_tag;
}

Known *known(PyTypeObject *type)
{
    for (int i = 0; i < count; i++) {
        Known *k = &classes[i];
        if (k->type != type)
            continue;
        if (k->tag != 0 && k->tag == tag_of(type))
            return k;
        PyObject *answer = PyObject_CallOneArg(as_written, (PyObject *)type); /* which looks its attributes up: it has a tag then */
        int found = answer == NULL ? -1 : PyObject_IsTrue(answer);
        Py_XDECREF(answer);
        k->tag = found == 1 ? tag_of(type) : 0;
        return found == 1 ? k : NULL;
    }
    return NULL;
}

/* -- threads ----------------------------------------------------------------------------------- */

static int find_own(void)
{
    uint64_t thread = PyThreadState_GetID(PyThreadState_Get());
    if (own != NULL && thread == owner)
        return 0;
    PyObject *found = PyObject_GetAttr(here, s_dict);
    if (found == NULL)
        return -1;
    Py_XSETREF(own, found);
    owner = thread;
    return 0;
}

PyObject *of_thread(PyObject *name)
{
    return find_own() < 0 ? NULL : PyDict_GetItemWithError(own, name);
}

long state_here(void)
{
    PyObject *value = of_thread(s_state);
    if (value != NULL)
        return PyLong_AsLong(value);
    value = PyErr_Occurred() ? NULL : PyObject_GetAttr(here, s_state); /* as every thread begins */
    long state = value == NULL ? -1 : PyLong_AsLong(value);
    Py_XDECREF(value);
    return state;
}

/* -- arrays ------------------------------------------------------------------------------------ */

int is_array(PyObject *a)
{
    static PyTypeObject *latest; /* of a GPU; such types never cease to be some */
    if (Py_IS_TYPE(a, host_type) || Py_IS_TYPE(a, latest))
        return 1;
    int found = PySet_Contains(gpu_types, (PyObject *)Py_TYPE(a));
    if (found == 1)
        latest = Py_TYPE(a);
    return found;
}

int is_method(PyObject *object, PyObject *name, PyObject *function)
{
    PyObject *method = PyObject_GetAttr(object, name);
    int is = method != NULL && PyMethod_Check(method) && PyMethod_GET_FUNCTION(method) == function && PyMethod_GET_SELF(method) == object;
    Py_XDECREF(method);
    return is;
}

PyObject *new_variable(PyObject *a)
{
    PyObject *made = PyBaseObject_Type.tp_new((PyTypeObject *)variable_type, empty, NULL);
    if (made != NULL && PyObject_SetAttr(made, s_data, a) < 0)
        Py_CLEAR(made);
    return made;
}

int intern(const Name *names, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if ((*names[i].name = PyUnicode_InternFromString(names[i].text)) == NULL)
            return -1;
    return 0;
}

/* -- the module -------------------------------------------------------------------------------- */

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

/* know(class, kind, kernel or None): a class of which nothing has been changed */
static PyObject *know(PyObject *module, PyObject *args)
{
    PyObject *type, *kernel, *backward = NULL, *gradients = NULL;
    int kind;
    if (!PyArg_ParseTuple(args, "O!iO", &PyType_Type, &type, &kind, &kernel))
        return NULL;
    if (kind != VARIABLE && ((backward = PyObject_GetAttr(type, s_backward)) == NULL || (gradients = PyObject_GetAttr(type, s_gradients)) == NULL))
        return NULL;
    if (count == MOST)
        return PyErr_Format(PyExc_RuntimeError, "too many classes");
    classes[count++] = (Known){(PyTypeObject *)Py_NewRef(type), 0, kind, Py_NewRef(kernel), backward, gradients};
    Py_RETURN_NONE;
}

/* setup(names): everything by name; it stays for as long as the process lives */
static PyObject *setup(PyObject *module, PyObject *names)
{
    const struct {
        const char *name;
        PyObject **to;
    } objects[] = {
        {"here", &here}, {"switches", &switches}, {"exposed", &exposed}, {"roots", &roots}, {"gpu_types", &gpu_types}, {"numbers", &numbers},
        {"Call", &call_type}, {"AccumulateGrad", &end_type}, {"Variable", &variable_type}, {"Layer", &layer_type},
        {"params", &layer_params}, {"cleargrad", &cleargrad}, {"float32", &float32}, {"float64", &float64}, {"int64", &int64},
        {"linear_kernel", &linear_kernel}, {"entropy_kernel", &entropy_kernel}, {"entropy_attrs", &entropy_attrs}, {"run", &py_run},
        {"over", &py_over}, {"as_array", &py_array}, {"turned", &py_turned}, {"lent", &py_lent}, {"is_shared", &py_shared},
        {"as_written", &as_written}, {"ndarray", (PyObject **)&host_type},
    };
    const struct {
        const char *name;
        long *to;
    } bits[] = {{"GRAD", &GRAD}, {"INFERENCE", &INFERENCE}, {"CASTING", &CASTING}, {"WATCHED", &WATCHED}, {"TRACED", &TRACED}, {"FOREIGN", &FOREIGN}, {"PACKING", &PACKING}};
    for (size_t i = 0; i < sizeof objects / sizeof *objects; i++) {
        *objects[i].to = PyMapping_GetItemString(names, objects[i].name);
        if (*objects[i].to == NULL)
            return NULL;
    }
    for (size_t i = 0; i < sizeof bits / sizeof *bits; i++) {
        PyObject *value = PyMapping_GetItemString(names, bits[i].name);
        *bits[i].to = value == NULL ? -1 : PyLong_AsLong(value);
        Py_XDECREF(value);
        if (*bits[i].to < 0)
            return NULL;
    }
    if (offset_of(call_type, "seq", &n_seq) < 0 || offset_of(call_type, "hooks", &n_hooks) < 0 || offset_of(call_type, "pre_hooks", &n_pre) < 0 ||
        offset_of(call_type, "where", &n_where) < 0 || offset_of(call_type, "function", &c_function) < 0 ||
        offset_of(call_type, "n_outputs", &c_outputs) < 0 || offset_of(end_type, "leaf", &l_leaf) < 0 ||
        offset_of(end_type, "post_hooks", &l_post) < 0 || offset_of((PyObject *)Py_TYPE(switches), "anomaly", &w_anomaly) < 0)
        return NULL;
    Py_RETURN_NONE;
}

#define FAST(function) (PyCFunction)(void (*)(void))function, METH_FASTCALL
static PyMethodDef functions[] = {
    {"setup", setup, METH_O, "setup(names): classes, functions and bits by name"},
    {"know", know, METH_VARARGS, "know(class, kind, kernel or None): a class of which nothing has been changed"},
    {"linear", FAST(linear), "linear(Linear, x, W, b) -> the Variable, or None"},
    {"single", FAST(single), "single(class, x) -> the Variable that a Function of one kernel gives, or None"},
    {"entropy", FAST(entropy), "entropy(SoftmaxCrossEntropy, x, t) -> the Variable, or None"},
    {"describe", FAST(describe), "describe(edge, seed) -> what a backward pass depends on, None if Python has to say"},
    {"accept", FAST(accept), "accept(functions, leaves, arrays) -> True: what a pass leaves behind"},
    {"params", FAST(params), "params(layer, live) -> a list of its Parameters, of those with a gradient if `live`, or None"},
    {"cleargrads", cleargrads, METH_O, "cleargrads(layer) -> whether the gradients of its Parameters were forgotten"},
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
    const Name names[] = {
        {&s_data, "_data"}, {&s_edge, "_edge"}, {&s_constant, "_constant"}, {&s_generation, "generation"}, {&s_link, "_link"},
        {&s_inputs, "inputs"}, {&s_outputs, "outputs"}, {&s_grad, "grad"}, {&s_base, "base"}, {&s_dtype, "dtype"}, {&s_shape, "shape"},
        {&s_strides, "strides"}, {&s_turned, "_turned"}, {&s_y, "_y"}, {&s_kept, "_kept"}, {&s_backward, "backward"},
        {&s_gradients, "_gradients"}, {&s_state, "state"}, {&s_tracer, "tracer"}, {&s_cursor, "cursor"},
        {&s_now, "now"}, {&s_params, "params"}, {&s_own_params, "_params"}, {&s_dict, "__dict__"},
        {&s_walk, "walk"}, {&s_uses, "uses"}, {&s_cleargrad, "cleargrad"},
    };
    if (intern(names, sizeof names / sizeof *names) < 0 || name_bare() < 0)
        return NULL;
    empty = PyTuple_New(0);
    zero = PyLong_FromLong(0);
    PyObject *module = empty == NULL || zero == NULL ? NULL : PyModule_Create(&definition);
    if (module != NULL && PyModule_AddIntConstant(module, "EDITION", EDITION) < 0)
        Py_CLEAR(module);
    return module;
}
