/* One run of a graph of cuDNN's: seven calls of its library, which from Python cost more than the launch. */
#include "graph.h"

#include <stdint.h>
#include <string.h>

enum { VARIANT_PACK = 16, UIDS = 1000, POINTERS = 1001, WORKSPACE = 1003, WHOLE = 3, ADDRESS = 6, MOST = 24 };

/* As cuDNN declares them; bytes from Python hold their addresses in this order. */
typedef struct {
    int (*create)(int, void **);
    int (*set)(void *, int, int, int64_t, const void *);
    int (*finalize)(void *);
    int (*execute)(void *, void *, void *);
    int (*destroy)(void *);
} Functions;

static int run(const Functions *f, void *handle, void *plan, const void *uids, void *const *addresses, int64_t n,
               void *workspace)
{
    void *pack = NULL;
    int status = f->create(VARIANT_PACK, &pack);
    if (status)
        return status;
    if (!(status = f->set(pack, UIDS, WHOLE, n, uids)) && !(status = f->set(pack, POINTERS, ADDRESS, n, addresses)) &&
        !(status = f->set(pack, WORKSPACE, ADDRESS, 1, &workspace)) && !(status = f->finalize(pack)))
        status = f->execute(handle, plan, pack);
    f->destroy(pack);
    return status;
}

PyObject *run_graph(PyObject *module, PyObject *const *args, Py_ssize_t n)
{
    void *addresses[MOST], *words[3];
    Functions functions;
    if (n != 6 || !PyBytes_Check(args[0]) || PyBytes_GET_SIZE(args[0]) != sizeof functions || !PyBytes_Check(args[3]) ||
        !PyList_Check(args[4])) {
        PyErr_SetString(PyExc_TypeError, "run_graph(functions, handle, plan, uids, addresses, workspace)");
        return NULL;
    }
    memcpy(&functions, PyBytes_AS_STRING(args[0]), sizeof functions);
    Py_ssize_t count = PyList_GET_SIZE(args[4]);
    if (count > MOST || PyBytes_GET_SIZE(args[3]) != count * (Py_ssize_t)sizeof(int64_t)) {
        PyErr_SetString(PyExc_ValueError, "a graph has a number for each address, and at most 24");
        return NULL;
    }
    const int at[3] = {1, 2, 5};
    for (int i = 0; i < 3; i++)
        words[i] = PyLong_AsVoidPtr(args[at[i]]);
    for (Py_ssize_t i = 0; i < count; i++)
        addresses[i] = PyLong_AsVoidPtr(PyList_GET_ITEM(args[4], i));
    if (PyErr_Occurred())
        return NULL;
    return PyLong_FromLong(run(&functions, words[0], words[1], PyBytes_AS_STRING(args[3]), addresses, count, words[2]));
}
