/* Calls of modules, and what they hold: `__call__` and `__getattr__` of nn/modules/module.py are what to read first.
 *
 * Python's own way to a member of a module is an error that is made, written out and dropped, and then a function. A class
 * whose `__getattr__` is Module's gets its members from `member` instead, from its first call on. Whoever gives a class
 * another `__getattr__` or `__getattribute__` makes Python put its own function back, and the next call looks again.
 */
#include "slots.h"

static PyObject *called, *looked_up, *told, *plain_look; /* Module's functions in Python, and object.__getattribute__ */
static PyObject *everywhere;                             /* hooks of all modules */
static Py_ssize_t g_calls;
static getattrofunc usual; /* where Python calls a `__getattr__` */
static PyObject *s_forward, *s_compiled, *s_getattr, *s_getattribute, *s_tables[3], *s_hooks[4];

/* What one of a module's tables has under a name, borrowed; NULL without an error if none has it, or where Python has to look. */
static PyObject *in_tables(PyObject *own, PyObject *name)
{
    PyObject *tables[3];
    for (int i = 0; i < 3; i++) {
        tables[i] = PyDict_GetItemWithError(own, s_tables[i]);
        if (tables[i] == NULL || !(PyDict_CheckExact(tables[i]) || PyODict_CheckExact(tables[i])))
            return NULL;
    }
    for (int i = 0; i < 3; i++) {
        PyObject *found = PyDict_GetItemWithError(tables[i], name);
        if (found != NULL || PyErr_Occurred())
            return found;
    }
    return NULL;
}

/* An attribute of a module whose `__getattr__` is Module's. */
static PyObject *member(PyObject *self, PyObject *name)
{
    PyObject *found = _PyObject_GenericGetAttrWithDict(self, name, NULL, 1);
    if (found != NULL)
        return found;
    if (PyErr_Occurred()) {
        if (!PyErr_ExceptionMatches(PyExc_AttributeError))
            return NULL;
        PyErr_Clear();
    }
    PyObject *own = PyObject_GenericGetDict(self, NULL);
    if (own != NULL) {
        found = Py_XNewRef(in_tables(own, name));
        Py_DECREF(own);
    }
    if (found == NULL) {
        PyErr_Clear(); /* if there is an error, it comes again */
        found = PyObject_CallFunctionObjArgs(looked_up, self, name, NULL);
    }
    return found;
}

/* Let a class find members in C, if both functions that Python would ask are those of Module. */
static void shorten(PyTypeObject *type)
{
    if (_PyType_Lookup(type, s_getattr) == looked_up && _PyType_Lookup(type, s_getattribute) == plain_look) {
        type->tp_getattro = member;
        PyType_Modified(type);
    }
}

/* Whether a call is nothing but one of `forward`: no hooks, and no compiled version. */
static int is_plain(PyTypeObject *type, PyObject *own)
{
    PyObject *calls = SLOT(everywhere, g_calls);
    if (calls == NULL || !PyDict_CheckExact(calls) || PyDict_GET_SIZE(calls))
        return 0;
    for (int i = 0; i < 4; i++) {
        PyObject *hooks = PyDict_GetItemWithError(own, s_hooks[i]);
        if (hooks == NULL || !(PyDict_CheckExact(hooks) || PyODict_CheckExact(hooks)) || PyDict_GET_SIZE(hooks))
            return 0;
        if (_PyType_Lookup(type, s_hooks[i]) != NULL) /* it may come before the module's own */
            return 0;
    }
    return _PyType_Lookup(type, s_compiled) == Py_None && PyDict_GetItemWithError(own, s_compiled) == NULL;
}

/* forward(self, *args) */
static PyObject *go_forward(PyObject *self, PyObject *own, PyObject *args, PyObject *names)
{
    PyObject *forward = _PyType_Lookup(Py_TYPE(self), s_forward), *given[6];
    Py_ssize_t n = PyTuple_GET_SIZE(args);
    const int alone = names == NULL || PyDict_GET_SIZE(names) == 0;
    if (forward == NULL || !PyFunction_Check(forward) || n > 4 || !alone || PyDict_GetItemWithError(own, s_forward) != NULL) {
        if (PyErr_Occurred() || (forward = PyObject_GetAttr(self, s_forward)) == NULL)
            return NULL;
        PyObject *out = PyObject_Call(forward, args, names);
        Py_DECREF(forward);
        return out;
    }
    given[0] = NULL; /* room, as callees may ask for */
    given[1] = self;
    for (Py_ssize_t i = 0; i < n; i++)
        given[i + 2] = PyTuple_GET_ITEM(args, i);
    Py_INCREF(forward); /* it may take itself away */
    PyObject *out = PyObject_Vectorcall(forward, given + 1, (size_t)(n + 1) | PY_VECTORCALL_ARGUMENTS_OFFSET, NULL);
    Py_DECREF(forward);
    return out;
}

/* Let Python add to an error in which module it came up. */
static void tell_where(PyObject *self)
{
    PyObject *type, *value, *trace;
    PyErr_Fetch(&type, &value, &trace);
    PyErr_NormalizeException(&type, &value, &trace);
    if (trace != NULL)
        PyException_SetTraceback(value, trace);
    PyObject *done = PyObject_CallFunctionObjArgs(told, self, value, NULL);
    if (done == NULL)
        PyErr_Clear();
    Py_XDECREF(done);
    PyErr_Restore(type, value, trace);
}

/* Module.__call__ */
static PyObject *module_call(PyObject *self, PyObject *args, PyObject *names)
{
    PyTypeObject *type = Py_TYPE(self);
    if (type->tp_getattro == usual)
        shorten(type);
    PyObject *own = PyObject_GenericGetDict(self, NULL);
    if (own == NULL)
        return NULL;
    PyObject *out;
    if (is_plain(type, own)) {
        out = go_forward(self, own, args, names);
        if (out == NULL && PyErr_ExceptionMatches(PyExc_RuntimeError))
            tell_where(self);
    } else {
        PyObject *given = NULL;
        PyErr_Clear(); /* if there is an error, it comes again */
        if ((given = PyTuple_New(PyTuple_GET_SIZE(args) + 1)) == NULL)
            out = NULL;
        else {
            PyTuple_SET_ITEM(given, 0, Py_NewRef(self));
            for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(args); i++)
                PyTuple_SET_ITEM(given, i + 1, Py_NewRef(PyTuple_GET_ITEM(args, i)));
            out = PyObject_Call(called, given, names);
            Py_DECREF(given);
        }
    }
    Py_DECREF(own);
    return out;
}

/* know_modules(Module, hooks of all modules, what is told of an error) -> Module.__call__ */
PyObject *know_modules(PyObject *module, PyObject *args)
{
    PyObject *type;
    if (!PyArg_ParseTuple(args, "O!OO", &PyType_Type, &type, &everywhere, &told))
        return NULL;
    const Slot slots[] = {{(PyObject *)Py_TYPE(everywhere), "calls", &g_calls}};
    if (find_offsets(slots, 1) < 0)
        return NULL;
    Py_INCREF(everywhere); /* these for as long as the process lives */
    Py_INCREF(told);
    called = PyObject_GetAttrString(type, "__call__");
    looked_up = PyObject_GetAttrString(type, "__getattr__");
    plain_look = PyObject_GetAttrString((PyObject *)&PyBaseObject_Type, "__getattribute__");
    if (called == NULL || looked_up == NULL || plain_look == NULL)
        return NULL;
    usual = ((PyTypeObject *)type)->tp_getattro;
    return calling((PyTypeObject *)type, module_call);
}

int name_modules(void)
{
    const Name names[] = {
        {&s_forward, "forward"}, {&s_compiled, "_compiled_call_impl"}, {&s_getattr, "__getattr__"},
        {&s_getattribute, "__getattribute__"}, {&s_tables[0], "_parameters"}, {&s_tables[1], "_modules"},
        {&s_tables[2], "_buffers"}, {&s_hooks[0], "_forward_hooks"}, {&s_hooks[1], "_forward_pre_hooks"},
        {&s_hooks[2], "_backward_hooks"}, {&s_hooks[3], "_backward_pre_hooks"},
    };
    return intern(names, sizeof names / sizeof *names);
}
