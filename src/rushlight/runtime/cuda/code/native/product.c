/* cublasLtMatmul with everything but addresses known: `Library.launch` of library/cublaslt.py in C.
 *
 * Each has a descriptor of its own, since the address of a bias is written into it before the call.
 */
#define PY_SSIZE_T_CLEAN
#include "product.h"

#define BIAS_POINTER 8 /* CUBLASLT_MATMUL_DESC_BIAS_POINTER */

typedef int (*matmul_fn)(uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t,
                         uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t);
typedef int (*set_fn)(uint64_t, int, const void *, size_t);

struct Product {
    matmul_fn matmul;
    set_fn set;
    uint64_t handle, desc, alpha, beta, a, b, c, algo;
    uint64_t room; /* bytes of the workspace; mostly 0 */
    uint64_t alignment; /* the lowest bit of the addresses that the algorithm was chosen for, or 0 for 256 and more */
    uint64_t bias;      /* what the descriptor has */
    void *stream;       /* whose workspace is known */
    uint64_t at;        /* where that lies, or 0 */
    uint64_t known;     /* `replaced` as it was when that was asked */
    PyObject *workspace; /* (stream, room): an address that lasts, or memory for one call */
    PyObject *keep;      /* the plan, which owns the numbers at `alpha`, `beta` and `algo` */
};

static uint64_t replaced; /* how often a stream's workspace has moved */

void forget_workspaces(void)
{
    replaced++;
}

/* From (matmul, set, handle, desc, alpha, beta, a, b, c, algo, room, alignment, bias, workspace, keep). */
Product *make_product(PyObject *described)
{
    unsigned long long w[13];
    PyObject *workspace, *keep;
    if (!PyArg_ParseTuple(described, "KKKKKKKKKKKKKOO", &w[0], &w[1], &w[2], &w[3], &w[4], &w[5], &w[6], &w[7], &w[8], &w[9],
                          &w[10], &w[11], &w[12], &workspace, &keep))
        return NULL;
    Product *p = PyMem_Calloc(1, sizeof *p);
    if (p == NULL) {
        PyErr_NoMemory();
        return NULL;
    }
    p->matmul = (matmul_fn)(uintptr_t)w[0];
    p->set = (set_fn)(uintptr_t)w[1];
    p->handle = w[2], p->desc = w[3], p->alpha = w[4], p->beta = w[5];
    p->a = w[6], p->b = w[7], p->c = w[8], p->algo = w[9];
    p->room = w[10], p->alignment = w[11], p->bias = w[12];
    p->workspace = Py_NewRef(workspace);
    p->keep = Py_NewRef(keep);
    return p;
}

void free_product(Product *p)
{
    if (p == NULL)
        return;
    Py_DECREF(p->workspace);
    Py_DECREF(p->keep);
    PyMem_Free(p);
}

/* Whether addresses are aligned as those that the algorithm was chosen for: no more, no less, so that bits stay. */
int fits_product(const Product *p, const uint64_t *addresses)
{
    uint64_t low = (addresses[LEFT] | addresses[RIGHT] | addresses[VECTOR]) & 255;
    return (low & -low) == p->alignment;
}

/* Where a call works: an address, and in `*once` the owner of memory that is for this call alone. 0 with an error set. */
static uint64_t workspace(Product *p, void *stream, PyObject **once)
{
    if (p->at && stream == p->stream && p->known == replaced)
        return p->at;
    PyObject *found = PyObject_CallFunction(p->workspace, "KK", (unsigned long long)(uintptr_t)stream, (unsigned long long)p->room);
    if (found == NULL)
        return 0;
    if (PyLong_Check(found)) {
        p->at = PyLong_AsUnsignedLongLong(found);
        p->stream = stream, p->known = replaced;
        Py_DECREF(found);
        return PyErr_Occurred() ? 0 : p->at;
    }
    PyObject *number = PyObject_GetAttrString(found, "ptr");
    uint64_t at = number == NULL ? 0 : PyLong_AsUnsignedLongLong(number);
    Py_XDECREF(number);
    *once = found;
    return PyErr_Occurred() ? 0 : at;
}

int run_product(Product *p, void *stream, const uint64_t *addresses)
{
    PyObject *once = NULL;
    uint64_t at = p->room ? workspace(p, stream, &once) : 0;
    if (p->room && !at) {
        Py_XDECREF(once);
        if (!PyErr_Occurred())
            PyErr_SetString(PyExc_RuntimeError, "a product has no workspace");
        return -1;
    }
    int status = 0;
    if (addresses[VECTOR] != p->bias) {
        uint64_t bias = addresses[VECTOR];
        status = p->set(p->desc, BIAS_POINTER, &bias, sizeof bias);
        if (!status)
            p->bias = bias;
    }
    /* the library counts columns first: its first operand is our second */
    if (!status)
        status = p->matmul(p->handle, p->desc, p->alpha, addresses[RIGHT], p->a, addresses[LEFT], p->b, p->beta,
                           addresses[OUT], p->c, addresses[OUT], p->c, p->algo, at, p->room, (uint64_t)(uintptr_t)stream);
    Py_XDECREF(once);
    return status;
}
