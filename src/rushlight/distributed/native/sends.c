/* A send that UCX refuses, since the other side is gone, counts as made: MPICH 5.0 would write through the request it
   did not get (0x110 bytes behind address 0). That one was refused is kept; who is gone the store says (groups.py).

   Loaded for all to see before MPI is, this definition is the one that MPICH's library finds first. */

#include <Python.h>
#include <dlfcn.h>
#include <stdint.h>

typedef void *(*Send)(void *to, const void *bytes, size_t count, uint64_t tag, const void *how);

static volatile int any_refused = 0; /* any thread may send, without Python's lock */

static Send ucx(void) {
    void *library = dlopen("libucp.so.0", RTLD_LAZY | RTLD_NOLOAD);
    Send found = library ? (Send)dlsym(library, "ucp_tag_send_nbx") : NULL;
    if (!found)
        Py_FatalError("UCX was called and is not there (libucp.so.0)");
    return found;
}

__attribute__((visibility("default"))) void *ucp_tag_send_nbx(
    void *to, const void *bytes, size_t count, uint64_t tag, const void *how) {
    static Send send;
    if (!send)
        send = ucx();
    void *request = send(to, bytes, count, tag, how);
    if ((uintptr_t)request < (uintptr_t)-100) /* above are UCX's errors; NULL is a send that has ended */
        return request;
    any_refused = 1;
    return NULL;
}

static PyObject *refused(PyObject *self, PyObject *unused) { return PyBool_FromLong(any_refused); }

static PyMethodDef methods[] = {
    {"refused", refused, METH_NOARGS, "Whether a send of this process was refused: MPI is of no use any more."},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef module = {PyModuleDef_HEAD_INIT, "_sends", NULL, -1, methods};

PyMODINIT_FUNC PyInit__sends(void) { return PyModule_Create(&module); }
