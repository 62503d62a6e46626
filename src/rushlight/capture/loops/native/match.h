/* What the files of this extension share. */
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stddef.h>
#include <structmember.h>

enum { KNOWN, FIXED, VALUE, BIND };
enum { FRESH, VIEW, GIVEN };

typedef struct {
    PyObject_HEAD
    vectorcallfunc call;
    PyObject *owner, *path, *now, *table;
    Py_ssize_t at;
    int wary; /* an input is shown by an array of the user */
} Cursor;

/* match.c */
extern PyTypeObject cursor_type;
int alike(PyObject *a, PyObject *b);
int same_attrs(PyObject *attrs, PyObject *expected);

/* graph.c */
int name_graph(void);
PyObject *walk(PyObject *module, PyObject *args);
