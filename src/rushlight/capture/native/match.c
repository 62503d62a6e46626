/* The cursor of a loop in C: is a kernel the one that the path expects next? Then an array is handed out for its result.
 *
 * `Cursor` of capture/loops/cursor.py is a subclass of this one. Whatever is unusual (no path, a macro, an input that the
 * user can change, a view) is left to its methods.
 */
#include "match.h"

#include <math.h>

enum { ROW = 16 }; /* by which Python knows an older build */

typedef struct {
    int kind;
    Py_ssize_t number; /* of an array, for KNOWN and BIND */
    PyObject *value;   /* the array or value itself, for FIXED and VALUE */
} Operand;

typedef struct {
    PyObject *event;  /* the step as Python knows it */
    PyObject *kernel; /* NULL for a macro */
    PyObject *attrs, *look;
    Py_ssize_t count, results;
    Operand *operands;
    int how, several;
    PyObject *shape; /* of a view that a method of its operand makes, the first: (name, arguments), or None */
    int apart;       /* it reads no memory of an input */
    Py_ssize_t *outs;
    PyObject **arrays, **free; /* the lists of each result's pool */
    PyObject **pools;
} Step;

typedef struct {
    PyObject_HEAD
    Py_ssize_t count;
    Step *steps;
    Inputs inputs;
} Table;

static PyObject *s_start_ahead, *s_differs, *s_bind, *s_hand_out, *s_take, *s_careful, *s_quiet, *s_enter, *s_leave, *s_getitem, *same;
PyObject *not_met;
long extra;

/* A comparison under way. Where it has to ask Python, nobody else's code may run until it is over (quiet.py): a handler
 * of a signal that computes would move the cursor. */
typedef struct {
    Cursor *cursor;
    PyObject *table; /* with which it began, and where */
    Py_ssize_t at;
    PyObject *quiet; /* entered, or NULL */
} Comparison;
static Comparison *current;

/* Whether somebody else has moved the cursor since: a handler, or a collection that computed. */
static int moved(const Comparison *c)
{
    return c->cursor->table != c->table || c->cursor->at != c->at;
}

int has_moved(void) { return current != NULL && moved(current); }

/* 0 when Python may be asked; 1 when the comparison is void, since the last who was let in has moved the cursor; -1 on error. */
static int hush(void)
{
    Comparison *c = current;
    if (c == NULL || c->quiet != NULL)
        return 0;
    PyObject *quiet = PyObject_GetAttr(c->cursor->owner, s_quiet);
    PyObject *entered = quiet == NULL ? NULL : PyObject_CallMethodNoArgs(quiet, s_enter);
    if (entered == NULL) {
        Py_XDECREF(quiet);
        return -1;
    }
    Py_DECREF(entered);
    c->quiet = quiet;
    return moved(c);
}

/* The comparison's answer, or NULL if somebody who had to wait raises now. */
static PyObject *unhush(Comparison *c, PyObject *out)
{
    if (c->quiet == NULL)
        return out;
    PyObject *type, *value, *trace;
    PyErr_Fetch(&type, &value, &trace);
    PyObject *left = PyObject_CallMethodNoArgs(c->quiet, s_leave);
    Py_CLEAR(c->quiet);
    if (left == NULL) {
        Py_XDECREF(type);
        Py_XDECREF(value);
        Py_XDECREF(trace);
        Py_CLEAR(out);
        return NULL;
    }
    Py_DECREF(left);
    PyErr_Restore(type, value, trace);
    return out;
}

/* -- the table of a path ----------------------------------------------------------------------- */

static void clear_step(Step *s)
{
    for (Py_ssize_t i = 0; i < s->count; i++)
        Py_XDECREF(s->operands[i].value);
    for (Py_ssize_t i = 0; i < s->results; i++) {
        if (s->arrays != NULL) {
            Py_XDECREF(s->arrays[i]);
            Py_XDECREF(s->free[i]);
            Py_XDECREF(s->pools[i]);
        }
    }
    PyMem_Free(s->operands);
    PyMem_Free(s->outs);
    PyMem_Free(s->arrays);
    PyMem_Free(s->free);
    PyMem_Free(s->pools);
    Py_XDECREF(s->event);
    Py_XDECREF(s->kernel);
    Py_XDECREF(s->attrs);
    Py_XDECREF(s->look);
    Py_XDECREF(s->shape);
}

static void table_free(Table *t)
{
    for (Py_ssize_t i = 0; i < t->count; i++)
        clear_step(&t->steps[i]);
    PyMem_Free(t->steps);
    clear_inputs(&t->inputs);
    PyObject_Free(t);
}

static PyTypeObject table_type = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "rushlight.capture._native.Table",
    .tp_basicsize = sizeof(Table),
    .tp_dealloc = (destructor)table_free,
    .tp_flags = Py_TPFLAGS_DEFAULT,
    .tp_doc = "The steps of a path, as the cursor compares them.",
};

/* operands: a tuple of (kind, number or value) */
static int read_operands(Step *s, PyObject *operands)
{
    s->count = PyTuple_GET_SIZE(operands);
    s->operands = PyMem_Calloc(s->count + 1, sizeof(Operand));
    if (s->operands == NULL)
        return -1;
    for (Py_ssize_t i = 0; i < s->count; i++) {
        PyObject *pair = PyTuple_GET_ITEM(operands, i), *what = PyTuple_GET_ITEM(pair, 1);
        Operand *o = &s->operands[i];
        o->kind = (int)PyLong_AsLong(PyTuple_GET_ITEM(pair, 0));
        if (o->kind == KNOWN || o->kind == BIND)
            o->number = PyLong_AsSsize_t(what);
        else
            o->value = Py_NewRef(what);
    }
    return PyErr_Occurred() ? -1 : 0;
}

/* outs: a tuple of numbers; pools: a tuple of (pool, its arrays, its counts), empty unless results are fresh */
static int read_results(Step *s, PyObject *outs, PyObject *pools)
{
    s->results = PyTuple_GET_SIZE(outs);
    s->outs = PyMem_Calloc(s->results + 1, sizeof(Py_ssize_t));
    if (s->outs == NULL)
        return -1;
    for (Py_ssize_t i = 0; i < s->results; i++)
        s->outs[i] = PyLong_AsSsize_t(PyTuple_GET_ITEM(outs, i));
    if (!PyTuple_GET_SIZE(pools))
        return PyErr_Occurred() ? -1 : 0;
    s->arrays = PyMem_Calloc(s->results + 1, sizeof(PyObject *));
    s->free = PyMem_Calloc(s->results + 1, sizeof(PyObject *));
    s->pools = PyMem_Calloc(s->results + 1, sizeof(PyObject *));
    if (s->arrays == NULL || s->free == NULL || s->pools == NULL)
        return -1;
    for (Py_ssize_t i = 0; i < s->results; i++) {
        PyObject *pool = PyTuple_GET_ITEM(pools, i);
        s->pools[i] = Py_NewRef(PyTuple_GET_ITEM(pool, 0));
        s->arrays[i] = Py_NewRef(PyTuple_GET_ITEM(pool, 1));
        s->free[i] = Py_NewRef(PyTuple_GET_ITEM(pool, 2));
    }
    return 0;
}

/* table(rows, inputs, changed) -> Table; a row is (event, kernel, attrs, operands, how, outs, several, look, pools, shape or
 * None, apart), or None for a macro; the others: bind.c */
static PyObject *make_table(PyObject *module, PyObject *args)
{
    PyObject *rows, *inputs, *changed;
    if (!PyArg_ParseTuple(args, "O!O!O!", &PyList_Type, &rows, &PyTuple_Type, &inputs, &PyDict_Type, &changed))
        return NULL;
    Py_ssize_t n = PyList_GET_SIZE(rows);
    Table *t = PyObject_New(Table, &table_type);
    if (t == NULL)
        return NULL;
    t->count = 0;
    memset(&t->inputs, 0, sizeof t->inputs);
    t->steps = PyMem_Calloc(n + 1, sizeof(Step));
    for (Py_ssize_t i = 0; t->steps != NULL && i < n; i++) {
        PyObject *row = PyList_GET_ITEM(rows, i), *operands, *outs, *pools;
        Step *s = &t->steps[t->count++];
        if (row == Py_None)
            continue;
        if (!PyArg_ParseTuple(row, "OOO!O!iO!pOO!Op", &s->event, &s->kernel, &PyDict_Type, &s->attrs, &PyTuple_Type, &operands,
                              &s->how, &PyTuple_Type, &outs, &s->several, &s->look, &PyTuple_Type, &pools, &s->shape, &s->apart)) {
            s->event = s->kernel = s->attrs = s->look = s->shape = NULL;
            Py_DECREF(t);
            return NULL;
        }
        Py_INCREF(s->event);
        Py_INCREF(s->kernel);
        Py_INCREF(s->attrs);
        Py_INCREF(s->look);
        Py_INCREF(s->shape);
        if (read_operands(s, operands) < 0 || read_results(s, outs, pools) < 0) {
            Py_DECREF(t);
            return PyErr_Occurred() ? NULL : PyErr_NoMemory();
        }
    }
    if (read_inputs(&t->inputs, inputs, changed) < 0) {
        Py_DECREF(t);
        return NULL;
    }
    return (PyObject *)t;
}

/* -- comparing --------------------------------------------------------------------------------- */

/* Whether two values are the same; floats by their bits' meaning, so that 0.0 is not -0.0. */
int alike(PyObject *a, PyObject *b)
{
    if (a == b)
        return 1;
    PyTypeObject *type = Py_TYPE(a);
    if (type != Py_TYPE(b))
        return 0;
    if (type == &PyLong_Type || type == &PyUnicode_Type)
        return PyObject_RichCompareBool(a, b, Py_EQ);
    if (type == &PyTuple_Type) {
        Py_ssize_t n = PyTuple_GET_SIZE(a);
        int found = n == PyTuple_GET_SIZE(b);
        for (Py_ssize_t i = 0; found == 1 && i < n; i++)
            found = alike(PyTuple_GET_ITEM(a, i), PyTuple_GET_ITEM(b, i));
        return found;
    }
    if (type == &PyFloat_Type) {
        double x = PyFloat_AS_DOUBLE(a), y = PyFloat_AS_DOUBLE(b);
        return x != x ? y != y : x == y && !signbit(x) == !signbit(y);
    }
    int hushed = hush();
    if (hushed)
        return hushed < 0 ? -1 : 0;
    PyObject *answer = PyObject_CallFunctionObjArgs(same, a, b, NULL);
    int found = answer == NULL ? -1 : PyObject_IsTrue(answer);
    Py_XDECREF(answer);
    return found;
}

int same_attrs(PyObject *attrs, PyObject *expected)
{
    if (attrs == expected)
        return 1;
    Py_ssize_t n = attrs == Py_None ? 0 : PyDict_CheckExact(attrs) ? PyDict_GET_SIZE(attrs) : -1;
    if (n != PyDict_GET_SIZE(expected))
        return 0;
    PyObject *key, *value;
    Py_ssize_t at = 0;
    while (n && PyDict_Next(expected, &at, &key, &value)) {
        PyObject *given = PyDict_GetItemWithError(attrs, key);
        int found = given == NULL ? (PyErr_Occurred() ? -1 : 0) : alike(given, value);
        if (found != 1)
            return found;
    }
    return 1;
}

/* 1 when an operand is the expected one, 0 when not, -1 on error. */
static int fits(Cursor *self, const Inputs *inputs, const Operand *o, PyObject *a)
{
    if (o->kind == FIXED)
        return a == o->value;
    if (o->kind == VALUE)
        return alike(a, o->value);
    if (o->number >= PyList_GET_SIZE(self->now))
        return 0;
    PyObject *known = PyList_GET_ITEM(self->now, o->number);
    if (known == a || o->kind == KNOWN || known != not_met)
        return known == a;
    if (!self->wary && bind_here(self, inputs, o->number, a))
        return 1;
    int hushed = hush();
    if (hushed)
        return hushed < 0 ? -1 : 0;
    PyObject *number = PyLong_FromSsize_t(o->number);
    PyObject *bound = number == NULL ? NULL : PyObject_CallMethodObjArgs(self->owner, s_bind, number, a, NULL);
    int found = bound == NULL ? -1 : PyObject_IsTrue(bound);
    Py_XDECREF(number);
    Py_XDECREF(bound);
    return found;
}

static int expected(Cursor *self, const Inputs *inputs, const Step *s, PyObject *kernel, PyObject *arrays, PyObject *attrs)
{
    if (s->kernel != kernel || PyTuple_GET_SIZE(arrays) != s->count)
        return 0;
    int found = same_attrs(attrs, s->attrs);
    for (Py_ssize_t i = 0; found == 1 && i < s->count; i++)
        found = fits(self, inputs, &s->operands[i], PyTuple_GET_ITEM(arrays, i));
    if (found == 1 && s->look != Py_None && !looks_harmless(s->look, arrays)) {
        int hushed = hush();
        if (hushed)
            return hushed < 0 ? -1 : 0;
        PyObject *seen = PyObject_CallFunctionObjArgs(PyTuple_GET_ITEM(s->look, 1), arrays, s->attrs, NULL);
        found = seen == NULL ? -1 : PyObject_IsTrue(seen);
        Py_XDECREF(seen);
    }
    return found;
}

/* -- handing out ------------------------------------------------------------------------------- */

/* An array of a pool that nobody holds, a new one if there is none. */
PyObject *taken(PyObject *pool, PyObject *arrays, PyObject *free)
{
    PyObject *a = idle(arrays, free);
    return a != NULL ? Py_NewRef(a) : PyObject_CallMethodNoArgs(pool, s_take);
}

/* Whether handing out calls Python: for views, and where all arrays of a pool are held. */
static int asks_python(const Step *s)
{
    if (s->how != FRESH)
        return s->how == VIEW && s->shape == Py_None;
    for (Py_ssize_t i = 0; i < s->results; i++)
        if (idle(s->arrays[i], s->free[i]) == NULL)
            return 1;
    return 0;
}

/* What a method of an array answers: (name, arguments). No function of Python runs. */
static PyObject *answer_of(PyObject *a, PyObject *method)
{
    PyObject *name = PyTuple_GET_ITEM(method, 0), *args = PyTuple_GET_ITEM(method, 1), *given[4];
    Py_ssize_t n = PyTuple_GET_SIZE(args);
    if (name == s_getitem)
        return PyObject_GetItem(a, PyTuple_GET_ITEM(args, 0));
    given[0] = NULL; /* room, as callees may ask for */
    given[1] = a;
    for (Py_ssize_t i = 0; i < n && i < 2; i++)
        given[i + 2] = PyTuple_GET_ITEM(args, i);
    return PyObject_VectorcallMethod(name, given + 1, (size_t)(n + 1) | PY_VECTORCALL_ARGUMENTS_OFFSET, NULL);
}

/* `found` is a tuple for the results where a kernel has several; it is taken. NULL without an error: to be compared again. */
static PyObject *hand_out(Cursor *self, const Step *s, PyObject *cls, PyObject *arrays, PyObject *found)
{
    if (s->how == VIEW && s->shape != Py_None) {
        PyObject *view = answer_of(PyTuple_GET_ITEM(arrays, 0), s->shape);
        if (view != NULL && has_moved()) /* a collection that computed: CuPy's arrays are collected */
            Py_CLEAR(view);
        if (view != NULL) {
            PyList_SetItem(self->now, s->outs[0], Py_NewRef(view));
            self->at++;
        }
        return view;
    }
    if (s->how == VIEW) {
        Py_XDECREF(found);
        return PyObject_CallMethodObjArgs((PyObject *)self, s_hand_out, s->event, cls, arrays, NULL);
    }
    for (Py_ssize_t i = 0; i < s->results; i++) {
        PyObject *a = s->how == GIVEN ? Py_NewRef(PyTuple_GET_ITEM(arrays, s->outs[i]))
                                      : taken(s->pools[i], s->arrays[i], s->free[i]);
        if (a == NULL) {
            Py_XDECREF(found);
            return NULL;
        }
        if (s->how == FRESH)
            PyList_SetItem(self->now, s->outs[i], Py_NewRef(a));
        if (s->several)
            PyTuple_SET_ITEM(found, i, a);
        else
            found = a;
    }
    self->at++;
    return found;
}

/* Tell the owner that the cursor has come as far as it wanted to know; 0 on error. */
static int told(Cursor *self)
{
    self->alarm = 0;
    if (hush() < 0)
        return 0;
    PyObject *done = PyObject_CallMethodNoArgs(self->owner, s_start_ahead);
    Py_XDECREF(done);
    return done != NULL;
}

/* A call where nothing is unusual; whether it is the expected one is asked first, and the answer is left to Python if not. */
static PyObject *compared(Cursor *self, PyObject *kernel, PyObject *cls, PyObject *arrays, PyObject *attrs)
{
    PyObject *kept = Py_XNewRef(self->table), *results = NULL, *out = NULL; /* binding may end the path */
    Table *table = kept != NULL && Py_IS_TYPE(kept, &table_type) ? (Table *)kept : NULL;
    Py_ssize_t at = self->at;
    const Step *s = table != NULL && at < table->count ? &table->steps[at] : NULL;
    Comparison here = {self, kept, at, NULL}, *before = current;
    const int wary = self->wary; /* what is shown from here on has not been looked at */
    const Py_ssize_t pairs = wary ? PyList_GET_SIZE(self->pairs) : 0;
    int found = 0;
    current = &here;
    if (s != NULL && s->kernel != NULL)
        found = expected(self, &table->inputs, s, kernel, arrays, attrs);
    if (found == 1 && asks_python(s) && hush() < 0)
        found = -1;
    if (found == 1 && s->several && (results = PyTuple_New(s->results)) == NULL)
        found = -1;
    if (found == 1 && !moved(&here) && self->wary == wary && (!wary || PyList_GET_SIZE(self->pairs) == pairs)) {
        out = hand_out(self, s, cls, arrays, results);
        results = NULL;
        if (out != NULL && self->alarm && self->at >= self->alarm && !told(self))
            Py_CLEAR(out);
    }
    current = NULL;
    if (found == 1 && out == NULL && !PyErr_Occurred())
        out = PyObject_CallMethodObjArgs((PyObject *)self, s_careful, kernel, cls, arrays, attrs, NULL);
    else if (found == 0) {
        if (table != NULL && (s == NULL || s->kernel != kernel))
            out = sent_up(self, &table->inputs, kernel, cls, arrays, attrs);
        if (out == NULL && !PyErr_Occurred())
            out = PyObject_CallMethodObjArgs(self->owner, s_differs, kernel, cls, arrays, attrs, NULL);
    }
    current = before;
    Py_XDECREF(results);
    Py_XDECREF(kept);
    return unhush(&here, out);
}

/* Whether inputs that the user can change by NumPy need no look now: they are as they were, or the next step reads none of them.
 * Kernels that wait read copies, which have the values that inputs had when a kernel read them. */
static int is_steady(const Cursor *self)
{
    if (!self->wary)
        return 1;
    if (self->table != NULL && Py_IS_TYPE(self->table, &table_type)) {
        const Table *table = (Table *)self->table;
        if (self->at < table->count && table->steps[self->at].kernel != NULL && table->steps[self->at].apart)
            return 1;
    }
    return self->wary == BY_PAIRS && as_they_were(self->pairs);
}

static PyObject *cursor_call(PyObject *me, PyObject *const *args, size_t flags, PyObject *names)
{
    Cursor *self = (Cursor *)me;
    if (PyVectorcall_NARGS(flags) != 4 || names != NULL)
        return PyErr_Format(PyExc_TypeError, "a cursor takes a kernel, a type, arrays and attributes");
    PyObject *kernel = args[0], *cls = args[1], *attrs = args[3];
    PyObject *arrays = PySequence_Tuple(args[2]), *out = NULL;
    if (arrays == NULL)
        return NULL;
    if (!is_steady(self))
        out = PyObject_CallMethodObjArgs(me, s_careful, kernel, cls, arrays, attrs, NULL);
    else
        out = compared(self, kernel, cls, arrays, attrs);
    Py_DECREF(arrays);
    return out;
}

/* -- the types and the module ------------------------------------------------------------------ */

static PyObject *cursor_new(PyTypeObject *type, PyObject *args, PyObject *names)
{
    Cursor *self = (Cursor *)type->tp_alloc(type, 0);
    if (self != NULL)
        self->call = cursor_call;
    return (PyObject *)self;
}

static int cursor_traverse(Cursor *self, visitproc visit, void *arg)
{
    Py_VISIT(self->owner);
    Py_VISIT(self->path);
    Py_VISIT(self->now);
    Py_VISIT(self->table);
    Py_VISIT(self->pairs);
    return 0;
}

static int cursor_clear(Cursor *self)
{
    Py_CLEAR(self->owner);
    Py_CLEAR(self->path);
    Py_CLEAR(self->now);
    Py_CLEAR(self->table);
    Py_CLEAR(self->pairs);
    return 0;
}

static void cursor_free(Cursor *self)
{
    PyObject_GC_UnTrack(self);
    cursor_clear(self);
    Py_TYPE(self)->tp_free((PyObject *)self);
}

static PyMemberDef members[] = {
    {"owner", T_OBJECT_EX, offsetof(Cursor, owner), 0, "The tracer."},
    {"path", T_OBJECT_EX, offsetof(Cursor, path), 0, "The path, or None."},
    {"now", T_OBJECT_EX, offsetof(Cursor, now), 0, "Arrays by number."},
    {"table", T_OBJECT_EX, offsetof(Cursor, table), 0, "The path's steps, or None."},
    {"pairs", T_OBJECT_EX, offsetof(Cursor, pairs), 0, "Inputs that the user sees by NumPy, and the copies of them."},
    {"at", T_PYSSIZET, offsetof(Cursor, at), 0, "Which event comes next."},
    {"alarm", T_PYSSIZET, offsetof(Cursor, alarm), 0, "Behind how many events the owner is told."},
    {"wary", T_INT, offsetof(Cursor, wary), 0, "Whether inputs can change behind our back."},
    {NULL},
};

PyTypeObject cursor_type = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "rushlight.capture._native.Cursor",
    .tp_basicsize = sizeof(Cursor),
    .tp_dealloc = (destructor)cursor_free,
    .tp_vectorcall_offset = offsetof(Cursor, call),
    .tp_call = PyVectorcall_Call,
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL,
    .tp_traverse = (traverseproc)cursor_traverse,
    .tp_clear = (inquiry)cursor_clear,
    .tp_members = members,
    .tp_new = cursor_new,
    .tp_doc = "Where a thread is on a path.",
};

/* setup(same, the mark of what was not met, list of one object, what Python counts for it) */
static PyObject *setup(PyObject *module, PyObject *args)
{
    PyObject *list;
    long counted;
    if (!PyArg_ParseTuple(args, "OOO!l", &same, &not_met, &PyList_Type, &list, &counted))
        return NULL;
    Py_INCREF(same);
    Py_INCREF(not_met);
    compare_counts(list, counted);
    Py_RETURN_NONE;
}

static PyMethodDef functions[] = {
    {"setup", setup, METH_VARARGS, "setup(same, mark, [object], its references as Python counts them)"},
    {"table", make_table, METH_VARARGS, "table(rows, inputs, changed) -> the steps of a path"},
    {"outside", outside, METH_VARARGS, "outside(exposed, rows, classes, move, np.ndarray): what is asked about values from outside"},
    {"slots", find_slots, METH_VARARGS, "slots(Tensor, OpNode, AccumulateGrad, FREED)"},
    {"give", give, METH_VARARGS, "give(cursor, rows, nodes, which): what a backward pass changes apart from values"},
    {"settled", settled, METH_VARARGS, "settled(now, rows) -> whether nobody holds what a program does not hand out"},
    {"busy", busy, METH_VARARGS, "busy(now, rows) -> arrays of a program that somebody holds since an earlier run"},
    {"others", others, METH_VARARGS, "others(now, made, rows) -> results that were handed out as other arrays than the program fills"},
    {"among", (PyCFunction)(void (*)(void))among, METH_FASTCALL, "among(list, object) -> whether it is one of the list's"},
    {"within", (PyCFunction)(void (*)(void))within, METH_FASTCALL, "within(array, size) -> whether its integers lie in [0, size), or None"},
    {"stepped", stepped, METH_VARARGS, "stepped(cursor, optimizer's groups, state, groups, idle, cells, live) -> whether they are as they were"},
    {"arrive", (PyCFunction)(void (*)(void))arrive, METH_FASTCALL,
     "arrive(cursor, row, changed, copy, current, tensor, device) -> the tensor on the device, or None"},
    {"fits", (PyCFunction)(void (*)(void))described_fits, METH_FASTCALL, "fits(expected, arrays, now) -> whether they are the same; None: ask Python"},
    {"take", (PyCFunction)(void (*)(void))described_take, METH_FASTCALL, "take(rows, now) -> arrays without values"},
    {"pair", pair, METH_VARARGS, "pair(array, copy) -> what tells whether the array is as it was, or None"},
    {"unchanged", unchanged, METH_O, "unchanged(pairs) -> whether all arrays are as they were"},
    {"walk", walk, METH_VARARGS, "walk(cursor, roots, ends, nodes, leaves) -> the nodes of a graph, if it is the expected one"},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT,
    .m_name = "_native",
    .m_doc = "What capture has in C: the cursor of a hot loop, and whether dicts and classes are as they were.",
    .m_size = -1,
    .m_methods = functions,
};

PyMODINIT_FUNC PyInit__native(void)
{
    const struct {
        PyObject **name;
        const char *text;
    } names[] = {
        {&s_start_ahead, "start_ahead"}, {&s_differs, "differs"}, {&s_bind, "bind"}, {&s_hand_out, "hand_out"}, {&s_take, "take"}, {&s_careful, "careful"},
        {&s_quiet, "quiet"}, {&s_enter, "enter"}, {&s_leave, "leave"}, {&s_getitem, "__getitem__"},
    };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if ((*names[i].name = PyUnicode_InternFromString(names[i].text)) == NULL)
            return NULL;
    if (name_bind() < 0 || name_arrive() < 0 || name_graph() < 0 || name_quiet() < 0 || PyType_Ready(&table_type) < 0 || PyType_Ready(&cursor_type) < 0 || PyType_Ready(&pair_type) < 0)
        return NULL;
    PyObject *module = PyModule_Create(&definition);
    if (module == NULL)
        return NULL;
    if (add_versions(module) < 0 || PyModule_AddIntConstant(module, "ROW", ROW) < 0 ||
        PyModule_AddObjectRef(module, "Cursor", (PyObject *)&cursor_type) < 0 ||
        PyModule_AddObjectRef(module, "Quiet", (PyObject *)&quiet_type) < 0)
        Py_CLEAR(module);
    return module;
}
