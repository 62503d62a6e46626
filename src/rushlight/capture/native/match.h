/* What the files of capture's extension share. */
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stddef.h>
#include <stdint.h>
#include <structmember.h>

#include "owners.h"

enum { KNOWN, FIXED, VALUE, BIND };
enum { FRESH, VIEW, GIVEN };
enum { SEEN = 1, BY_PAIRS };

typedef struct {
    PyObject_HEAD
    vectorcallfunc call;
    PyObject *owner, *path, *now, *table, *pairs;
    Py_ssize_t at;
    Py_ssize_t alarm; /* behind how many events the owner is told, once; 0 for never */
    int wary; /* an input is shown by an array of the user: SEEN, or BY_PAIRS where `pairs` tell whether it is as it was */
} Cursor;

/* The slots of Tensor and OpNode; settle.c finds them. */
extern PyTypeObject *tensor_type, *node_type;
extern Py_ssize_t t_a, t_edge, t_grad, t_ver, t_ext;
extern Py_ssize_t n_op, n_plan, n_attrs, n_edges, n_hooks, n_pre, n_saved, n_outputs, n_shapes, l_leaf, l_post; /* of OpNode and AccumulateGrad */

#define SLOT(object, offset) (*(PyObject **)((char *)(object) + (offset)))

static inline int is_tensor(PyObject *value)
{
    return Py_IS_TYPE(value, tensor_type) || PyType_IsSubtype(Py_TYPE(value), tensor_type);
}

/* An array of the program for values from outside, and the layout that these must have; on a GPU they are copied when the
 * program runs, and there is no buffer. */
typedef struct {
    Py_ssize_t number;
    PyObject *type, *shape, *dtype, *strides;
    Py_buffer to;
} Input;

typedef struct {
    Py_ssize_t count;
    Input *inputs;
    PyObject *changed; /* a dict by ids of those who own memory that the path changes */
} Inputs;

/* match.c */
int has_moved(void); /* whether the comparison under way is void: somebody else has moved the cursor */
extern PyObject *not_met; /* stands in `now` for an array that the stretch has not come to */
PyObject *taken(PyObject *pool, PyObject *arrays, PyObject *free);
extern PyTypeObject cursor_type;
int alike(PyObject *a, PyObject *b);
int same_attrs(PyObject *attrs, PyObject *expected);

/* bind.c */
int name_bind(void);
PyObject *outside(PyObject *module, PyObject *args);
int read_inputs(Inputs *t, PyObject *rows, PyObject *changed);
void clear_inputs(Inputs *t);
int bind_here(Cursor *self, const Inputs *t, Py_ssize_t number, PyObject *a);
int looks_harmless(PyObject *step, PyObject *arrays);
int is_hidden(PyObject *a);
int comes_from_host(Cursor *self, PyObject *a, PyObject *changed, PyObject *dtype);
PyObject *sent_up(Cursor *self, const Inputs *t, PyObject *kernel, PyObject *cls, PyObject *arrays, PyObject *attrs);

/* arrive.c */
int name_arrive(void);
PyObject *arrive(PyObject *module, PyObject *const *args, Py_ssize_t n);

/* graph.c */
int name_graph(void);
PyObject *walk(PyObject *module, PyObject *args);
int is_operand(Cursor *cursor, PyObject *expected, PyObject *a);
extern PyTypeObject pair_type;
PyObject *pair(PyObject *module, PyObject *args);
int as_they_were(PyObject *pairs);
PyObject *unchanged(PyObject *module, PyObject *pairs);

/* settle.c */
PyObject *new_tensor(PyObject *a);
PyObject *give(PyObject *module, PyObject *args);
PyObject *settled(PyObject *module, PyObject *args);
PyObject *busy(PyObject *module, PyObject *args);
PyObject *others(PyObject *module, PyObject *args);
PyObject *among(PyObject *module, PyObject *const *args, Py_ssize_t n);
PyObject *within(PyObject *module, PyObject *const *args, Py_ssize_t n);
PyObject *find_slots(PyObject *module, PyObject *args);
PyObject *described_fits(PyObject *module, PyObject *const *args, Py_ssize_t n);
PyObject *described_take(PyObject *module, PyObject *const *args, Py_ssize_t n);

/* versions.c */
int add_versions(PyObject *module);

/* update.c */
PyObject *stepped(PyObject *module, PyObject *args);

/* quiet.c */
extern PyTypeObject quiet_type;
int name_quiet(void);
