/* Calls one after the other. Those that repeat are written down, and made again without Python.
 *
 * A call is written down when it is made for the first time. The second time it is made both ways: only where both give
 * the same bits, of other numbers than the first ones, the writing is used from then on. */
#include "sequence.h"

#include <string.h>

#include "ahead.h"

enum { NEW, WRITTEN, PROVED, NEVER, LATER }; /* later: a function that may leave its calls to a kernel of ours */

typedef struct {
    int state;
    Repeat *repeat;
    void **data; /* where its arrays' numbers were */
} Slot;

typedef struct {
    PyObject_HEAD
    PyObject *calls; /* a tuple of (callable, its arguments, its attributes) */
    Slot *slots;
    const Repeat **list; /* of those that are made ahead */
    Scratch scratch;
    double settings[3]; /* under which they were written down */
    Py_ssize_t began; /* how many calls another thread may make, once it works for this; else 0 */
} Sequence;

/* -- one call --------------------------------------------------------------------------------------- */

#define CALL(s, i) PyTuple_GET_ITEM((s)->calls, i)

/* The arrays of a call, its results behind its arguments; NULL behind the last. */
static PyArrayObject *array_of(PyObject *call, Py_ssize_t i) {
    PyObject *args = PyTuple_GET_ITEM(call, 1), *outs = ((Into *)PyTuple_GET_ITEM(call, 0))->outs;
    const Py_ssize_t n = PyTuple_GET_SIZE(args);
    if (i >= n + PyTuple_GET_SIZE(outs)) return NULL;
    PyObject *found = i < n ? PyTuple_GET_ITEM(args, i) : PyTuple_GET_ITEM(outs, i - n);
    return (PyArrayObject *)found;
}

/* Whether the arrays still have their numbers where they had them. */
static int is_where_it_was(PyObject *call, const Slot *c) {
    PyArrayObject *a;
    for (Py_ssize_t i = 0; (a = array_of(call, i)); i++)
        if (PyArray_Check(a) && PyArray_DATA(a) != c->data[i]) return 0;
    return 1;
}

static int note_places(PyObject *call, Slot *c) {
    Py_ssize_t n = 0;
    while (array_of(call, n)) n++;
    if (!(c->data = malloc((size_t)n * sizeof *c->data))) return 0;
    for (Py_ssize_t i = 0; i < n; i++) {
        PyArrayObject *a = array_of(call, i);
        c->data[i] = PyArray_Check(a) ? PyArray_DATA(a) : NULL;
    }
    return 1;
}

static void forget(Slot *c, int state) {
    repeat_free(c->repeat);
    free(c->data);
    *c = (Slot){.state = state};
}

static int plainly(PyObject *call) {
    PyObject *f = PyTuple_GET_ITEM(call, 0), *args = PyTuple_GET_ITEM(call, 1), *attrs = PyTuple_GET_ITEM(call, 2);
    PyObject *done = Py_IS_TYPE(f, &IntoType) ? into_call(f, args, attrs) : PyObject_Call(f, args, attrs);
    Py_XDECREF(done);
    return done ? 0 : -1;
}

static int __attribute__((noinline)) write_down(Sequence *s, PyObject *call, Slot *c) {
    char frame = 0;
    Repeat *r = repeat_begin(&s->scratch, &frame);
    const int failed = plainly(call);
    c->repeat = repeat_end(r);
    c->state = c->repeat && !failed && note_places(call, c) ? WRITTEN : NEVER;
    return failed;
}

static int again(const Repeat *r) {
    int refused;
    if (repeat_ns(r) < LONG_WORK_NS) return repeat_run(r, threads_run);
    Py_BEGIN_ALLOW_THREADS
    refused = repeat_run(r, threads_run);
    Py_END_ALLOW_THREADS
    return refused;
}

/* Make a call both ways; whether the bits are the same. */
static int prove(PyObject *call, Slot *c) {
    PyObject *outs = ((Into *)PyTuple_GET_ITEM(call, 0))->outs;
    const Py_ssize_t n = PyTuple_GET_SIZE(outs);
    char *copies[MOST_GIVEN] = {NULL};
    int same = !again(c->repeat);
    for (Py_ssize_t i = 0; i < n && same; i++) {
        PyArrayObject *a = ARRAY(PyTuple_GET_ITEM(outs, i));
        same = is_filled(a) && (copies[i] = malloc((size_t)PyArray_NBYTES(a) + 1));
        if (same) memcpy(copies[i], PyArray_DATA(a), (size_t)PyArray_NBYTES(a));
    }
    const int failed = plainly(call);
    for (Py_ssize_t i = 0; i < n; i++) {
        PyArrayObject *a = ARRAY(PyTuple_GET_ITEM(outs, i));
        same = same && copies[i] && memcmp(copies[i], PyArray_DATA(a), (size_t)PyArray_NBYTES(a)) == 0;
        free(copies[i]);
    }
    if (same && !failed) c->state = PROVED;
    else forget(c, NEVER);
    return failed;
}

static int repeats(PyObject *f) { return Py_IS_TYPE(f, &IntoType) && ((Into *)f)->entry->repeats; }

/* Make a call of a function; where that says, by its attribute `instead`, that a kernel of ours does the same, put it in its place. */
static int ask_function(Sequence *s, Py_ssize_t i) {
    PyObject *call = CALL(s, i);
    if (plainly(call) < 0) return -1;
    PyObject *instead = PyObject_GetAttrString(PyTuple_GET_ITEM(call, 0), "instead");
    PyErr_Clear();
    s->slots[i].state = instead && repeats(instead) ? NEW : NEVER;
    if (s->slots[i].state == NEW) {
        PyObject *other = PyTuple_Pack(3, instead, PyTuple_GET_ITEM(call, 1), PyTuple_GET_ITEM(call, 2));
        if (!other) PyErr_Clear(), s->slots[i].state = NEVER;
        else {
            PyTuple_SET_ITEM(s->calls, i, other);
            Py_DECREF(call);
        }
    }
    Py_XDECREF(instead);
    return 0;
}

static int make(Sequence *s, Py_ssize_t i) {
    PyObject *call = CALL(s, i);
    Slot *c = s->slots + i;
    if (c->state == LATER) return ask_function(s, i);
    if (c->state == NEVER || watching) return plainly(call); /* what is counted is counted by bindings */
    if (c->state == NEW) return write_down(s, call, c);
    if (!is_where_it_was(call, c)) {
        forget(c, NEW);
        return write_down(s, call, c);
    }
    if (c->state == WRITTEN) return prove(call, c);
    return again(c->repeat) ? plainly(call) : 0;
}

/* -- all of them ------------------------------------------------------------------------------------- */

static Py_ssize_t stop(Sequence *s) {
    if (!s->began) return 0;
    ptrdiff_t made;
    Py_BEGIN_ALLOW_THREADS
    made = ahead_stop(s);
    Py_END_ALLOW_THREADS
    s->began = 0;
    return made < 0 ? 0 : made;
}

/* What is written down holds for a number of threads; with another one work is cut otherwise, and sums are others. */
static void keep_settings(Sequence *s) {
    const double now[3] = {threads_get(), threads_are_same_bits(), threads_get_wake_cost()};
    if (memcmp(now, s->settings, sizeof now) == 0) return;
    memcpy(s->settings, now, sizeof now);
    stop(s); /* all is made anew */
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(s->calls); i++) forget(s->slots + i, s->slots[i].state >= NEVER ? s->slots[i].state : NEW);
}

static PyObject *sequence_call(PyObject *self, PyObject *args, PyObject *attrs) {
    Sequence *s = (Sequence *)self;
    keep_settings(s);
    for (Py_ssize_t i = stop(s); i < PyTuple_GET_SIZE(s->calls); i++)
        if (make(s, i) < 0) return NULL;
    Py_RETURN_NONE;
}

/* -- ahead ------------------------------------------------------------------------------------------- */

/* How many of the first calls may be made by another thread now. */
static Py_ssize_t ready(Sequence *s, Py_ssize_t upto) {
    const Py_ssize_t n = PyTuple_GET_SIZE(s->calls);
    Py_ssize_t i = 0;
    for (; i < upto && i < n && s->slots[i].state == PROVED && is_where_it_was(CALL(s, i), s->slots + i); i++)
        s->list[i] = s->slots[i].repeat;
    return i;
}

static PyObject *sequence_begin(PyObject *self, PyObject *upto) {
    Sequence *s = (Sequence *)self;
    const Py_ssize_t wanted = PyLong_AsSsize_t(upto);
    if (wanted == -1 && PyErr_Occurred()) return NULL;
    stop(s);
    keep_settings(s);
    const Py_ssize_t found = watching ? 0 : ready(s, PyTuple_GET_SIZE(s->calls));
    if (found && wanted > 0 && ahead_begin(s, s->list, wanted < found ? wanted : found)) s->began = found;
    return PyLong_FromSsize_t(s->began);
}

static PyObject *sequence_more(PyObject *self, PyObject *upto) {
    Sequence *s = (Sequence *)self;
    const Py_ssize_t wanted = PyLong_AsSsize_t(upto);
    if (wanted == -1 && PyErr_Occurred()) return NULL;
    if (s->began) ahead_more(s, wanted < s->began ? wanted : s->began);
    Py_RETURN_NONE;
}

static PyObject *sequence_stop(PyObject *self, PyObject *unused) { return PyLong_FromSsize_t(stop((Sequence *)self)); }

static PyObject *sequence_states(PyObject *self, PyObject *unused) {
    static const char *const names[] = {"new", "written", "proved", "never", "later"};
    Sequence *s = (Sequence *)self;
    PyObject *found = PyList_New(PyTuple_GET_SIZE(s->calls));
    for (Py_ssize_t i = 0; found && i < PyTuple_GET_SIZE(s->calls); i++) {
        PyObject *name = PyUnicode_FromString(names[s->slots[i].state]);
        if (name) PyList_SET_ITEM(found, i, name);
        else Py_CLEAR(found);
    }
    return found;
}

static PyMethodDef sequence_methods[] = {
    {"begin", sequence_begin, METH_O, "begin(n): another thread makes the first n calls; how many it could make, 0 for none."},
    {"more", sequence_more, METH_O, "more(n): it may go on up to the n-th."},
    {"stop", sequence_stop, METH_NOARGS, "stop(): it makes no further one; how many it has made."},
    {"states", sequence_states, METH_NOARGS, "states(): of each call, whether it is made again without Python: new, written, proved, never or later (a function that may yet leave it to a kernel)."},
    {NULL, NULL, 0, NULL},
};

static void sequence_dealloc(PyObject *self) {
    Sequence *s = (Sequence *)self;
    if (s->began) ahead_stop(s);
    for (Py_ssize_t i = 0; s->slots && i < PyTuple_GET_SIZE(s->calls); i++) forget(s->slots + i, NEW);
    free(s->slots);
    free(s->list);
    scratch_free(&s->scratch);
    Py_XDECREF(s->calls);
    Py_TYPE(self)->tp_free(self);
}

PyTypeObject SequenceType = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "rushlight.runtime.cpu._native.Sequence",
    .tp_basicsize = sizeof(Sequence),
    .tp_call = sequence_call,
    .tp_methods = sequence_methods,
    .tp_dealloc = sequence_dealloc,
    .tp_flags = Py_TPFLAGS_DEFAULT,
};

static int is_call(PyObject *call) {
    PyObject *f, *args, *attrs;
    if (PyTuple_Check(call) && PyArg_ParseTuple(call, "OO!O!", &f, &PyTuple_Type, &args, &PyDict_Type, &attrs)) return 1;
    if (!PyErr_Occurred()) PyErr_SetString(PyExc_TypeError, "a call is (callable, arguments, attributes)");
    return 0;
}

PyObject *m_sequence(PyObject *module, PyObject *given_calls) {
    PyObject *calls = PySequence_Tuple(given_calls);
    if (!calls) return NULL;
    const Py_ssize_t n = PyTuple_GET_SIZE(calls);
    for (Py_ssize_t i = 0; i < n; i++)
        if (!is_call(PyTuple_GET_ITEM(calls, i))) {
            Py_DECREF(calls);
            return NULL;
        }
    Sequence *s = PyObject_New(Sequence, &SequenceType);
    if (!s) {
        Py_DECREF(calls);
        return NULL;
    }
    s->calls = calls, s->scratch = (Scratch){0}, s->began = 0;
    memset(s->settings, 0, sizeof s->settings);
    s->slots = calloc((size_t)n + 1, sizeof *s->slots);
    s->list = calloc((size_t)n + 1, sizeof *s->list);
    if (!s->slots || !s->list) {
        Py_DECREF(s);
        return PyErr_NoMemory();
    }
    for (Py_ssize_t i = 0; i < n; i++) {
        PyObject *f = PyTuple_GET_ITEM(PyTuple_GET_ITEM(calls, i), 0);
        s->slots[i].state = repeats(f) ? NEW : Py_IS_TYPE(f, &IntoType) ? NEVER : LATER;
    }
    return (PyObject *)s;
}
