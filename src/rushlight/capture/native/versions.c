/* Whether dicts are as they were: a number that CPython raises with every change, read without looking inside.
 *
 * Versions(dicts) notes them; same() compares. Python 3.11 keeps a number in every dict; from 3.12 on dicts can
 * be watched instead, and one number stands for all of them. */

#define PY_SSIZE_T_CLEAN
#include <Python.h>

typedef struct {
    PyObject_HEAD
    PyObject *dicts; /* a tuple, which keeps them alive */
    uint64_t *tags;
} Versions;

#if PY_VERSION_HEX >= 0x030C0000
static int watcher = -1;
static uint64_t generation = 0;

static int on_change(PyDict_WatchEvent event, PyObject *dict, PyObject *key, PyObject *value)
{
    if (event != PyDict_EVENT_DEALLOCATED)
        generation++;
    return 0;
}

static int note(Versions *self)
{
    Py_ssize_t n = PyTuple_GET_SIZE(self->dicts);
    for (Py_ssize_t i = 0; i < n; i++)
        if (PyDict_Watch(watcher, PyTuple_GET_ITEM(self->dicts, i)) < 0)
            return -1;
    self->tags[0] = generation;
    return 0;
}

static int is_same(Versions *self)
{
    return self->tags[0] == generation;
}
#else
static int note(Versions *self)
{
    Py_ssize_t n = PyTuple_GET_SIZE(self->dicts);
    for (Py_ssize_t i = 0; i < n; i++)
        self->tags[i] = ((PyDictObject *)PyTuple_GET_ITEM(self->dicts, i))->ma_version_tag;
    return 0;
}

static int is_same(Versions *self)
{
    Py_ssize_t n = PyTuple_GET_SIZE(self->dicts);
    for (Py_ssize_t i = 0; i < n; i++)
        if (self->tags[i] != ((PyDictObject *)PyTuple_GET_ITEM(self->dicts, i))->ma_version_tag)
            return 0;
    return 1;
}
#endif

static PyObject *versions_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    PyObject *given;
    if (!PyArg_ParseTuple(args, "O", &given))
        return NULL;
    PyObject *dicts = PySequence_Tuple(given);
    if (!dicts)
        return NULL;
    Py_ssize_t n = PyTuple_GET_SIZE(dicts);
    for (Py_ssize_t i = 0; i < n; i++) {
        if (!PyDict_Check(PyTuple_GET_ITEM(dicts, i))) {
            Py_DECREF(dicts);
            PyErr_SetString(PyExc_TypeError, "Versions() needs dicts");
            return NULL;
        }
    }
    Versions *self = (Versions *)type->tp_alloc(type, 0);
    if (!self) {
        Py_DECREF(dicts);
        return NULL;
    }
    self->dicts = dicts;
    self->tags = PyMem_Calloc(n + 1, sizeof(uint64_t));
    if (!self->tags || note(self) < 0) {
        Py_DECREF(self);
        return PyErr_Occurred() ? NULL : PyErr_NoMemory();
    }
    return (PyObject *)self;
}

static int versions_traverse(Versions *self, visitproc visit, void *arg)
{
    Py_VISIT(self->dicts);
    return 0;
}

static int versions_clear(Versions *self)
{
    Py_CLEAR(self->dicts);
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
    return PyBool_FromLong(self->dicts && is_same(self));
}

static PyObject *versions_renew(Versions *self, PyObject *unused)
{
    if (self->dicts && note(self) < 0)
        return NULL;
    Py_RETURN_NONE;
}

static PyMethodDef versions_methods[] = {
    {"same", (PyCFunction)versions_same, METH_NOARGS, "Whether no dict was changed since."},
    {"renew", (PyCFunction)versions_renew, METH_NOARGS, "From now on, changes from here on count."},
    {NULL, NULL, 0, NULL},
};

static PyTypeObject VersionsType = {
    PyVarObject_HEAD_INIT(NULL, 0)
    .tp_name = "rushlight.capture._versions.Versions",
    .tp_basicsize = sizeof(Versions),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC,
    .tp_doc = "Dicts, and whether they are as they were.",
    .tp_new = versions_new,
    .tp_dealloc = (destructor)versions_dealloc,
    .tp_traverse = (traverseproc)versions_traverse,
    .tp_clear = (inquiry)versions_clear,
    .tp_methods = versions_methods,
};

static struct PyModuleDef module = {
    PyModuleDef_HEAD_INIT, "_versions", "Whether dicts are as they were.", -1, NULL,
};

PyMODINIT_FUNC PyInit__versions(void)
{
    if (PyType_Ready(&VersionsType) < 0)
        return NULL;
#if PY_VERSION_HEX >= 0x030C0000
    watcher = PyDict_AddWatcher(on_change);
    if (watcher < 0)
        return NULL;
#endif
    PyObject *made = PyModule_Create(&module);
    if (made && PyModule_AddObjectRef(made, "Versions", (PyObject *)&VersionsType) < 0)
        Py_CLEAR(made);
    return made;
}
