/* The extension: finds the slots of Tensor, Op, OpNode and Plan, and gives Python the methods in C.
 *
 * call.c calls ops, cast.c casts for them, views.c marks views, back.c goes back through their nodes, walk.c from one to the next, columns.c reads what an optimiser needs of its parameters,
 * modules.c calls modules, change.c writes what in-place ops computed, brackets.c reads indices.
 */
#include "slots.h"

PyTypeObject *tensor_type, *node_type, *ndarray_type;
PyObject *s_shape, *s_dtype, *empty;
static PyObject *s_kind;

Py_ssize_t t_a, t_edge, t_grad, t_ver, t_ext;
Py_ssize_t o_rule, o_passes, o_impls, o_kernel, o_view, o_differentiable, o_plans, o_variadic;
Py_ssize_t n_seq, n_op, n_plan, n_attrs, n_edges, n_hooks, n_pre, n_where, n_saved, n_outputs, n_shapes, n_count;
Py_ssize_t p_keep, p_shapes, p_outputs, p_calls, p_sums;
Py_ssize_t w_anomaly;

/* The letter of an array's kind of dtype, -1 on error. */
int kind_of(PyObject *a)
{
    if (a == NULL)
        return 0;
    if (Py_IS_TYPE(a, ndarray_type))
        return PyArray_DESCR((PyArrayObject *)a)->kind;
    PyObject *dtype = PyObject_GetAttr(a, s_dtype);
    PyObject *kind = dtype == NULL ? NULL : PyObject_GetAttr(dtype, s_kind);
    int letter = kind == NULL ? -1 : (int)PyUnicode_READ_CHAR(kind, 0);
    Py_XDECREF(kind);
    Py_XDECREF(dtype);
    return letter;
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

int find_offsets(const Slot *slots, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (offset_of(slots[i].type, slots[i].name, slots[i].offset) < 0)
            return -1;
    return 0;
}

static int find_slots(PyObject *tensor, PyObject *op, PyObject *node, PyObject *plan, PyObject *switches_type)
{
    const Slot slots[] = {
        {tensor, "_a", &t_a},           {tensor, "_edge", &t_edge},       {tensor, "_grad", &t_grad},
        {tensor, "_ver", &t_ver},       {tensor, "_ext", &t_ext},         {op, "rule", &o_rule},
        {op, "impls", &o_impls},        {op, "kernel", &o_kernel},        {op, "is_view", &o_view},
        {op, "plans", &o_plans},        {op, "variadic", &o_variadic},    {op, "differentiable", &o_differentiable},
        {op, "passes", &o_passes},
        {node, "seq", &n_seq},          {node, "op", &n_op},              {node, "plan", &n_plan},
        {node, "attrs", &n_attrs},      {node, "edges", &n_edges},        {node, "hooks", &n_hooks},
        {node, "pre_hooks", &n_pre},    {node, "where", &n_where},        {node, "saved", &n_saved},
        {node, "outputs", &n_outputs},  {node, "shapes", &n_shapes},      {node, "n_outputs", &n_count},
        {plan, "keep", &p_keep},        {plan, "shapes", &p_shapes},      {plan, "outputs", &p_outputs},
        {plan, "calls", &p_calls},      {plan, "sums", &p_sums},          {switches_type, "anomaly", &w_anomaly},
    };
    return find_offsets(slots, sizeof slots / sizeof *slots);
}

/* Tensor.__hash__: its identity, as PyTorch's. */
static PyObject *identity(PyObject *self, PyObject *none)
{
    return PyLong_FromVoidPtr(self);
}

static PyMethodDef tensor_methods[1] = {{"__hash__", identity, METH_NOARGS, "The tensor's identity, `id(self)`."}};

/* `__call__` of a class that is this function: a wrapper, as built-in types have them, so that a call goes there
 * without looking for a method and without making its arguments twice. */
PyObject *calling(PyTypeObject *type, ternaryfunc function)
{
    PyObject *example = PyObject_GetAttrString((PyObject *)&PyFunction_Type, "__call__"), *made = NULL;
    if (example != NULL && Py_IS_TYPE(example, &PyWrapperDescr_Type))
        made = PyDescr_NewWrapper(type, ((PyWrapperDescrObject *)example)->d_base, (void *)function);
    else if (example != NULL)
        PyErr_SetString(PyExc_TypeError, "functions are not called by a wrapper");
    Py_XDECREF(example);
    return made;
}

/* quicken(Tensor, Op, OpNode, Plan, here, (GRAD, INFERENCE, CASTING), switches, numbers, tensor_over,
 * mark_inference), after know_views */
static PyObject *quicken(PyObject *module, PyObject *args)
{
    PyObject *tensor, *op, *node, *plan;
    if (!PyArg_ParseTuple(args, "OOOOO(lll)OOOO", &tensor, &op, &node, &plan, &here, &GRAD, &INFERENCE, &CASTING,
                          &switches, &numbers, &tensor_over, &mark_inference))
        return NULL;
    if (find_slots(tensor, op, node, plan, (PyObject *)Py_TYPE(switches)) < 0)
        return NULL;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(args); i++)
        Py_INCREF(PyTuple_GET_ITEM(args, i)); /* for as long as the process lives */
    tensor_type = (PyTypeObject *)tensor;
    node_type = (PyTypeObject *)node;
    python_call = PyObject_GetAttrString(op, "__call__");
    python_input = PyObject_GetAttrString(node, "input");
    python_output = PyObject_GetAttrString(node, "output");
    if (python_call == NULL || python_input == NULL || python_output == NULL)
        return NULL;
    PyTypeObject *type = (PyTypeObject *)op;
    return Py_BuildValue("(NNNNNN)", calling(type, op_call), PyDescr_NewMethod(type, &op_methods[0]),
                         PyDescr_NewMethod(node_type, &node_methods[0]), PyDescr_NewMethod(node_type, &node_methods[1]),
                         PyDescr_NewMethod(node_type, &node_methods[2]),
                         PyDescr_NewMethod(tensor_type, &tensor_methods[0]));
}

/* follow(PARTS, TRACED): the bits of a thread whose kernels a tracer of loops compares. */
static PyObject *follow(PyObject *module, PyObject *args)
{
    if (!PyArg_ParseTuple(args, "ll", &PARTS, &TRACED))
        return NULL;
    Py_RETURN_NONE;
}

static PyMethodDef functions[] = {
    {"follow", follow, METH_VARARGS, "follow(PARTS, TRACED): let calls give their kernels to a tracer where these bits say so."},
    {"quicken", quicken, METH_VARARGS, "quicken(...) -> Op.__call__, Op.pair, OpNode.input, OpNode.output, OpNode.apply and Tensor.__hash__ in C."},
    {"walk", walk, METH_VARARGS, "walk(Pass, Node, AccumulateGrad, FREED, both, heappush, heappop, sparse, keepers, WrappedArray) -> Pass.run in C."},
    {"know_views", know_views, METH_VARARGS, "know_views(Extra, refresh_view): before `quicken`, which calls for them."},
    {"mark_view", (PyCFunction)(void (*)(void))mark_one_view, METH_FASTCALL, "mark_view(tensor, source, op, attrs, made): see core/views.py."},
    {"can_view", (PyCFunction)(void (*)(void))can_view, METH_FASTCALL, "can_view(array, shape): see operators/shape/views.py."},
    {"cast_to", (PyCFunction)(void (*)(void))cast_to, METH_FASTCALL, "cast_to(x, d): see operators/memory/casting.py."},
    {"know_casts", know_casts, METH_VARARGS, "know_casts(op, by_np, from_np): before `cast_to`, which calls for them."},
    {"know_policies", know_policies, METH_VARARGS,
     "know_policies(casts, leaves, policies, places, float32, float64): let autocast's casts of products be made in C."},
    {"columns", (PyCFunction)(void (*)(void))columns, METH_FASTCALL, "columns(group, state, names, scalars): see core/columns.py."},
    {"know_modules", know_modules, METH_VARARGS, "know_modules(Module, hooks of all modules, what is told of an error) -> Module.__call__ in C."},
    {"may_change", (PyCFunction)(void (*)(void))may_change, METH_FASTCALL, "may_change(tensor, others): whether an in-place op is the usual one; see core/public.py."},
    {"change_to", (PyCFunction)(void (*)(void))change_to, METH_FASTCALL, "change_to(tensor, result) -> whether it was written there."},
    {"split_brackets", (PyCFunction)(void (*)(void))split_brackets, METH_FASTCALL, "split_brackets(tensor, index): see operators/index/brackets.py."},
    {"bracketed", bracketed, METH_O, "bracketed(window): see operators/shape/windows.py."},
    {"bump_all", bump_all, METH_O, "bump_all(tensors): see core/columns.py."},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT,
    .m_name = "_call",
    .m_doc = "Calls of ops and of their derivatives in C.",
    .m_size = -1,
    .m_methods = functions,
};

int intern(const Name *names, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if ((*names[i].name = PyUnicode_InternFromString(names[i].text)) == NULL)
            return -1;
    return 0;
}

PyMODINIT_FUNC PyInit__call(void)
{
    const Name names[] = {{&s_dtype, "dtype"}, {&s_kind, "kind"}, {&s_shape, "shape"}};
    if (intern(names, 3) < 0 || name_call() < 0 || name_back() < 0 || name_views() < 0 || name_columns() < 0 || name_modules() < 0 || name_cast() < 0 ||
        name_walk() < 0 || name_brackets() < 0)
        return NULL;
    PyObject *numpy = PyImport_ImportModule("numpy");
    ndarray_type = numpy == NULL ? NULL : (PyTypeObject *)PyObject_GetAttrString(numpy, "ndarray");
    Py_XDECREF(numpy);
    if (ndarray_type == NULL)
        return NULL;
    empty = PyTuple_New(0);
    return empty == NULL ? NULL : PyModule_Create(&definition);
}
