/* Whether dicts and classes are as they were: numbers that CPython raises with every change, read without looking inside.
 *
 * Versions(dicts, classes, objects) notes them, and of which class each of the objects is; same() compares. Python 3.11 keeps a number in every dict and every class; from
 * 3.12 on both can be watched instead: one number stands for all dicts, another one for everything that is noted together
 * with classes, which hardly ever changes. */

#include "match.h"

typedef struct {
    PyObject_HEAD
    PyObject *dicts;   /* a tuple, which keeps them alive */
    PyObject *classes; /* a tuple, too; what a class inherits counts as its own */
    PyObject *objects; /* a tuple of what must stay of its class */
    uint64_t *tags;    /* of the dicts, then of the classes; behind them the objects' classes */
} Versions;

/* Where the objects' classes begin among the tags. */
static uint64_t *kinds(Versions *self)
{
    return self->tags + PyTuple_GET_SIZE(self->dicts) + PyTuple_GET_SIZE(self->classes) + 1;
}

static void note_kinds(Versions *self)
{
    Py_ssize_t n = PyTuple_GET_SIZE(self->objects);
    for (Py_ssize_t i = 0; i < n; i++)
        kinds(self)[i] = (uint64_t)(uintptr_t)Py_TYPE(PyTuple_GET_ITEM(self->objects, i));
}

static int are_of_their_kinds(Versions *self)
{
    Py_ssize_t n = PyTuple_GET_SIZE(self->objects);
    uint64_t *noted = kinds(self);
    for (Py_ssize_t i = 0; i < n; i++)
        if (noted[i] != (uint64_t)(uintptr_t)Py_TYPE(PyTuple_GET_ITEM(self->objects, i)))
            return 0;
    return 1;
}

/* A look-up gives a class a number again that lost its own to a change. */
static int give_number(PyObject *class)
{
    PyObject *found = PyObject_GetAttrString(class, "__init__"); /* `type` has no say in that */
    if (!found)
        PyErr_Clear();
    Py_XDECREF(found);
    return 0;
}

#if PY_VERSION_HEX >= 0x030C0000
static int watchers[2] = {-1, -1}, class_watcher = -1;
static uint64_t generations[2] = {0, 0};

static int on_change(PyDict_WatchEvent event, PyObject *dict, PyObject *key, PyObject *value)
{
    if (event != PyDict_EVENT_DEALLOCATED)
        generations[0]++;
    return 0;
}

static int on_change_beside_classes(PyDict_WatchEvent event, PyObject *dict, PyObject *key, PyObject *value)
{
    if (event != PyDict_EVENT_DEALLOCATED)
        generations[1]++;
    return 0;
}

static int on_class_change(PyTypeObject *class)
{
    generations[1]++;
    return 0;
}

/* Python numbers the changes of a class up to a limit (1,000 from 3.13 on); behind it nobody is told of another one. */
static int is_numbered(PyObject *class)
{
#if PY_VERSION_HEX >= 0x030D0000
    return ((PyTypeObject *)class)->tp_version_tag != 0;
#else
    return PyType_HasFeature((PyTypeObject *)class, Py_TPFLAGS_VALID_VERSION_TAG);
#endif
}

#define NEVER UINT64_MAX

static int note(Versions *self)
{
    Py_ssize_t n = PyTuple_GET_SIZE(self->dicts), m = PyTuple_GET_SIZE(self->classes);
    int known = 1;
    for (Py_ssize_t i = 0; i < n; i++)
        if (PyDict_Watch(watchers[m > 0], PyTuple_GET_ITEM(self->dicts, i)) < 0)
            return -1;
    for (Py_ssize_t i = 0; i < m; i++) {
        PyObject *class = PyTuple_GET_ITEM(self->classes, i);
        if (PyType_Watch(class_watcher, class) < 0 || give_number(class) < 0)
            return -1;
        known &= is_numbered(class);
    }
    self->tags[0] = known ? generations[m > 0] : NEVER;
    return 0;
}

static int is_same(Versions *self)
{
    return self->tags[0] == generations[PyTuple_GET_SIZE(self->classes) > 0];
}
#else
static uint64_t number_of(PyObject *class)
{
    PyTypeObject *t = (PyTypeObject *)class;
    return PyType_HasFeature(t, Py_TPFLAGS_VALID_VERSION_TAG) ? t->tp_version_tag : 0;
}

static int note(Versions *self)
{
    Py_ssize_t n = PyTuple_GET_SIZE(self->dicts), m = PyTuple_GET_SIZE(self->classes);
    for (Py_ssize_t i = 0; i < n; i++)
        self->tags[i] = ((PyDictObject *)PyTuple_GET_ITEM(self->dicts, i))->ma_version_tag;
    for (Py_ssize_t i = 0; i < m; i++) {
        PyObject *class = PyTuple_GET_ITEM(self->classes, i);
        if (give_number(class) < 0)
            return -1;
        self->tags[n + i] = number_of(class);
    }
    return 0;
}

static int is_same(Versions *self)
{
    Py_ssize_t n = PyTuple_GET_SIZE(self->dicts);
    for (Py_ssize_t i = 0; i < n; i++)
        if (self->tags[i] != ((PyDictObject *)PyTuple_GET_ITEM(self->dicts, i))->ma_version_tag)
            return 0;
    Py_ssize_t m = PyTuple_GET_SIZE(self->classes);
    for (Py_ssize_t i = 0; i < m; i++) {
        uint64_t tag = self->tags[n + i];
        if (!tag || tag != number_of(PyTuple_GET_ITEM(self->classes, i)))
            return 0;
    }
    return 1;
}
#endif

static PyObject *versions_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    PyObject *given, *given_classes = NULL, *objects = NULL;
    if (!PyArg_ParseTuple(args, "O|OO", &given, &given_classes, &objects))
        return NULL;
    Versions *self = (Versions *)type->tp_alloc(type, 0);
    if (!self)
        return NULL;
    self->dicts = PySequence_Tuple(given);
    self->classes = given_classes ? PySequence_Tuple(given_classes) : PyTuple_New(0);
    self->objects = objects ? PySequence_Tuple(objects) : PyTuple_New(0);
    if (!self->dicts || !self->classes || !self->objects) {
        Py_DECREF(self);
        return NULL;
    }
    Py_ssize_t n = PyTuple_GET_SIZE(self->dicts), m = PyTuple_GET_SIZE(self->classes), right = 1;
    for (Py_ssize_t i = 0; i < n; i++)
        right = right && PyDict_Check(PyTuple_GET_ITEM(self->dicts, i));
    for (Py_ssize_t i = 0; i < m; i++)
        right = right && PyType_Check(PyTuple_GET_ITEM(self->classes, i));
    if (!right) {
        Py_DECREF(self);
        PyErr_SetString(PyExc_TypeError, "Versions() needs dicts and classes");
        return NULL;
    }
    self->tags = PyMem_Calloc(n + m + 1 + PyTuple_GET_SIZE(self->objects), sizeof(uint64_t));
    if (!self->tags || note(self) < 0) {
        Py_DECREF(self);
        return PyErr_Occurred() ? NULL : PyErr_NoMemory();
    }
    note_kinds(self);
    return (PyObject *)self;
}

static int versions_traverse(Versions *self, visitproc visit, void *arg)
{
    Py_VISIT(self->dicts);
    Py_VISIT(self->classes);
    Py_VISIT(self->objects);
    return 0;
}

static int versions_clear(Versions *self)
{
    Py_CLEAR(self->dicts);
    Py_CLEAR(self->classes);
    Py_CLEAR(self->objects);
    return 0;
}

static void versions_dealloc(Versions *self)
{
    PyObject_GC_UnTrack(self);
    versions_clear(self);
    PyMem_Free(self->tags);
    Py_TYPE(self)->tp_free((PyObject *)self);
}

static PyObject *versions_same(Versions *self, PyObject *unused)
{
    return PyBool_FromLong(self->dicts && self->classes && self->objects && is_same(self) && are_of_their_kinds(self));
}

static PyObject *versions_renew(Versions *self, PyObject *unused)
{
    if (!self->dicts || !self->classes || !self->objects)
        Py_RETURN_NONE;
    if (note(self) < 0)
        return NULL;
    note_kinds(self);
    Py_RETURN_NONE;
}

static PyMethodDef versions_methods[] = {
    {"same", (PyCFunction)versions_same, METH_NOARGS, "Whether no dict and no class was changed since."},
    {"renew", (PyCFunction)versions_renew, METH_NOARGS, "From now on, changes from here on count."},
    {NULL, NULL, 0, NULL},
};

static PyTypeObject VersionsType = {
    PyVarObject_HEAD_INIT(NULL, 0)
    .tp_name = "rushlight.capture._native.Versions",
    .tp_basicsize = sizeof(Versions),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC,
    .tp_doc = "Dicts and classes, and whether they are as they were.",
    .tp_new = versions_new,
    .tp_dealloc = (destructor)versions_dealloc,
    .tp_traverse = (traverseproc)versions_traverse,
    .tp_clear = (inquiry)versions_clear,
    .tp_methods = versions_methods,
};

/* Adds the class to the module; -1 on error. */
int add_versions(PyObject *module)
{
    if (PyType_Ready(&VersionsType) < 0)
        return -1;
#if PY_VERSION_HEX >= 0x030C0000
    watchers[0] = PyDict_AddWatcher(on_change);
    watchers[1] = PyDict_AddWatcher(on_change_beside_classes);
    class_watcher = PyType_AddWatcher(on_class_change);
    if (watchers[0] < 0 || watchers[1] < 0 || class_watcher < 0)
        return -1;
#endif
    return PyModule_AddObjectRef(module, "Versions", (PyObject *)&VersionsType);
}
