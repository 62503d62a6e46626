/* `Quiet` of capture/loops/quiet.py: a lock inside of which nobody else's code runs, entered five times an iteration. */
#include "match.h"

typedef struct {
    PyObject_HEAD
    PyObject *lock, *watched; /* signals whose handlers are functions of Python, a tuple */
    PyObject *handlers, *late, *note;
    PyObject *held, *acquire, *release; /* the lock whose methods these are */
    Py_ssize_t depth;
    char collects; /* whether collections are switched on again at the end */
} Quiet;

static PyObject *signal_, *getsignal, *s_acquire, *s_release, *s_put_back;

/* 0, or -1 with what a handler that was not put off yet has raised. */
static int put_off(Quiet *self)
{
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(self->watched); i++) {
        PyObject *n = PyTuple_GET_ITEM(self->watched, i);
        PyObject *before = PyObject_CallFunctionObjArgs(signal_, n, self->note, NULL);
        PyObject *row = before == NULL ? NULL : PyTuple_Pack(2, n, before);
        int failed = row == NULL || PyList_Append(self->handlers, row) < 0;
        Py_XDECREF(before);
        Py_XDECREF(row);
        if (failed)
            return -1;
    }
    return 0;
}

/* The handlers are those of the user again, where nothing came meanwhile; 1 if something did, which Python then tells. */
static int put_back(Quiet *self)
{
    if (PyList_GET_SIZE(self->late))
        return 1;
    PyObject *none = PyList_New(0); /* which may collect, and a finaliser may enter and leave in turn: before handlers are looked at */
    if (none == NULL)
        return -1;
    PyObject *held = self->handlers;
    self->handlers = none;
    PyObject *type = NULL, *value = NULL, *trace = NULL; /* what a handler that is back already has raised meanwhile */
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(held); i++) {
        PyObject *row = PyList_GET_ITEM(held, i), *n = PyTuple_GET_ITEM(row, 0);
        PyObject *now = PyObject_CallOneArg(getsignal, n), *done = NULL;
        for (int turn = 0; now == self->note && done == NULL && turn < 8; turn++) {
            done = PyObject_CallFunctionObjArgs(signal_, n, PyTuple_GET_ITEM(row, 1), NULL);
            if (done == NULL && type == NULL)
                PyErr_Fetch(&type, &value, &trace);
            else if (done == NULL)
                PyErr_Clear();
        }
        Py_XDECREF(now);
        Py_XDECREF(done);
    }
    Py_DECREF(held);
    if (type != NULL) {
        PyErr_Restore(type, value, trace);
        return -1;
    }
    return PyList_GET_SIZE(self->late) > 0;
}

/* The lock's methods, looked up once. */
static int know_lock(Quiet *self)
{
    if (self->held == self->lock)
        return 0;
    PyObject *acquire = PyObject_GetAttr(self->lock, s_acquire), *release = PyObject_GetAttr(self->lock, s_release);
    if (acquire == NULL || release == NULL) {
        Py_XDECREF(acquire);
        Py_XDECREF(release);
        return -1;
    }
    Py_XSETREF(self->held, Py_NewRef(self->lock));
    Py_XSETREF(self->acquire, acquire);
    Py_XSETREF(self->release, release);
    return 0;
}

static PyObject *enter(PyObject *me, PyObject *unused)
{
    Quiet *self = (Quiet *)me;
    if (know_lock(self) < 0)
        return NULL;
    if (self->depth == 0) {
        int collects = PyGC_Disable(); /* a handler that is not put off yet may enter and leave in turn, which sees it off */
        if (PyTuple_GET_SIZE(self->watched) && put_off(self) < 0) {
            PyObject *type, *value, *trace, *done;
            PyErr_Fetch(&type, &value, &trace);
            if (collects)
                PyGC_Enable();
            done = PyObject_CallMethodNoArgs(me, s_put_back);
            if (done == NULL)
                PyErr_Clear();
            Py_XDECREF(done);
            PyErr_Restore(type, value, trace);
            return NULL;
        }
        self->collects = (char)collects;
    }
    self->depth++;
    return PyObject_CallNoArgs(self->acquire);
}

static PyObject *leave(PyObject *me, PyObject *unused)
{
    Quiet *self = (Quiet *)me;
    PyObject *done = know_lock(self) < 0 ? NULL : PyObject_CallNoArgs(self->release);
    if (done == NULL)
        return NULL;
    Py_DECREF(done);
    if (--self->depth == 0) {
        if (self->collects)
            PyGC_Enable();
        if (PyList_GET_SIZE(self->handlers)) {
            int late = put_back(self);
            if (late < 0)
                return NULL;
            if (late)
                return PyObject_CallMethodNoArgs(me, s_put_back);
        }
    }
    Py_RETURN_NONE;
}

static PyObject *leave_block(PyObject *me, PyObject *const *error, Py_ssize_t n) { return leave(me, NULL); }

/* look_at(numbers): those whose handlers are functions are watched from now on. */
static PyObject *look_at(PyObject *me, PyObject *numbers)
{
    Quiet *self = (Quiet *)me;
    PyObject *found = PyTuple_Check(numbers) ? PyList_New(0) : NULL;
    for (Py_ssize_t i = 0; found != NULL && i < PyTuple_GET_SIZE(numbers); i++) {
        PyObject *n = PyTuple_GET_ITEM(numbers, i), *handler = PyObject_CallOneArg(getsignal, n);
        if (handler == NULL || (PyCallable_Check(handler) && PyList_Append(found, n) < 0))
            Py_CLEAR(found);
        Py_XDECREF(handler);
    }
    PyObject *watched = found == NULL ? NULL : PyList_AsTuple(found);
    Py_XDECREF(found);
    if (watched == NULL)
        return PyErr_Occurred() ? NULL : PyErr_Format(PyExc_TypeError, "look_at takes a tuple of signals");
    Py_SETREF(self->watched, watched);
    Py_RETURN_NONE;
}

static PyObject *quiet_new(PyTypeObject *type, PyObject *args, PyObject *names)
{
    Quiet *self = (Quiet *)type->tp_alloc(type, 0);
    if (self == NULL)
        return NULL;
    self->lock = Py_NewRef(Py_None);
    self->note = Py_NewRef(Py_None);
    self->watched = PyTuple_New(0);
    self->handlers = PyList_New(0);
    self->late = PyList_New(0);
    if (self->watched == NULL || self->handlers == NULL || self->late == NULL)
        Py_CLEAR(self);
    return (PyObject *)self;
}

static int quiet_traverse(Quiet *self, visitproc visit, void *arg)
{
    Py_VISIT(self->lock);
    Py_VISIT(self->watched);
    Py_VISIT(self->handlers);
    Py_VISIT(self->late);
    Py_VISIT(self->note);
    Py_VISIT(self->held);
    Py_VISIT(self->acquire);
    Py_VISIT(self->release);
    return 0;
}

static int quiet_clear(Quiet *self)
{
    Py_CLEAR(self->lock);
    Py_CLEAR(self->watched);
    Py_CLEAR(self->handlers);
    Py_CLEAR(self->late);
    Py_CLEAR(self->note);
    Py_CLEAR(self->held);
    Py_CLEAR(self->acquire);
    Py_CLEAR(self->release);
    return 0;
}

static void quiet_free(Quiet *self)
{
    PyObject_GC_UnTrack(self);
    quiet_clear(self);
    Py_TYPE(self)->tp_free((PyObject *)self);
}

static PyMethodDef methods[] = {
    {"enter", enter, METH_NOARGS, "From here on nobody else's code runs in this thread."},
    {"leave", leave, METH_NOARGS, "Whoever had to wait is asked now, and may raise."},
    {"__enter__", enter, METH_NOARGS, "enter()"},
    {"__exit__", (PyCFunction)(void (*)(void))leave_block, METH_FASTCALL, "leave()"},
    {"look_at", look_at, METH_O, "Watch those of some signals that have handlers."},
    {NULL, NULL, 0, NULL},
};

static PyMemberDef members[] = {
    {"lock", T_OBJECT_EX, offsetof(Quiet, lock), 0, "For other threads."},
    {"watched", T_OBJECT_EX, offsetof(Quiet, watched), READONLY, "Signals whose handlers are functions of Python."},
    {"handlers", T_OBJECT_EX, offsetof(Quiet, handlers), 0, "A list of those that are put off now."},
    {"late", T_OBJECT_EX, offsetof(Quiet, late), 0, "A list of signals that came meanwhile, and where."},
    {"note", T_OBJECT_EX, offsetof(Quiet, note), 0, "What stands in place of the handlers."},
    {"depth", T_PYSSIZET, offsetof(Quiet, depth), 0, "How often it was entered."},
    {"collects", T_BOOL, offsetof(Quiet, collects), 0, "Whether collections are switched on again at the end."},
    {NULL},
};

PyTypeObject quiet_type = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "rushlight.capture._native.Quiet",
    .tp_basicsize = sizeof(Quiet),
    .tp_dealloc = (destructor)quiet_free,
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC,
    .tp_traverse = (traverseproc)quiet_traverse,
    .tp_clear = (inquiry)quiet_clear,
    .tp_methods = methods,
    .tp_members = members,
    .tp_new = quiet_new,
    .tp_doc = "A lock inside of which nobody else's code runs.",
};

int name_quiet(void)
{
    PyObject *module = PyImport_ImportModule("_signal");
    if (module == NULL)
        return -1;
    signal_ = PyObject_GetAttrString(module, "signal");
    getsignal = PyObject_GetAttrString(module, "getsignal");
    Py_DECREF(module);
    s_acquire = PyUnicode_InternFromString("acquire");
    s_release = PyUnicode_InternFromString("release");
    s_put_back = PyUnicode_InternFromString("_put_back");
    if (signal_ == NULL || getsignal == NULL || s_acquire == NULL || s_release == NULL || s_put_back == NULL)
        return -1;
    return PyType_Ready(&quiet_type);
}
