/* Prepared launches found by the arrays of a call: by their dtypes, shapes and strides, and by what attributes are.
 *
 * code/keyed.py has the same in Python. `Keyed(body, prepare, here, watched, numbers)` is called as a kernel's body. The first call of a
 * kind asks `prepare` for a launch, or takes one that differs from it in its sizes alone; later ones make it at once. Whatever cannot be prepared (None), or is refused by its
 * launch for once (NotImplemented), goes to the body.
 */
#define PY_SSIZE_T_CLEAN
#include "gauge.h"
#include "header.h"
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define MOST_WORDS 160
#define MOST_GIVEN 16 /* arrays and attributes of a call, and what is watched */
#define FIRST_PLACES 64 /* a power of two, as their number stays */
#define MOST_KINDS 8192 /* loops whose sizes fall by one at a time have hundreds for an op */
#define MANY ((1u << 31) - (1u << 12)) /* variants.py has the same */

typedef struct {
    uint64_t hash;
    PyObject *held; /* dtypes, attributes and what was watched: their addresses are among the words */
    PyObject *call; /* NULL where the body has to do it */
    int count;      /* of words */
    uint64_t words[];
} Kind;

typedef struct {
    PyObject_HEAD
    vectorcallfunc vectorcall;
    PyObject *body, *prepare, *here, *watched;
    PyObject *offers; /* of arrays to write into, in all threads; NULL without `here` */
    Kind **places;
    int room, used; /* how many places there are, at least twice as many as are used */
    int numbers; /* whether launches take numbers and attributes, too: then what they are worth makes no kind */
} Keyed;

/* The key of a call: words, and the objects whose addresses are among them. */
typedef struct {
    uint64_t words[MOST_WORDS];
    int n;
    PyObject *seen[2 * MOST_GIVEN]; /* new references */
    int count;
} Key;

static PyObject *s_in_place, *s_itemsize;

enum { MISSING = 1, REAL, WHOLE, OBJECT, SEVERAL, ALIKE, ALONE, ALIGNED, UNALIGNED }; /* what a word stands for; no address is as small */

static int see(Key *key, PyObject *object)
{
    if (key->n + 2 > MOST_WORDS || key->count == 2 * MOST_GIVEN)
        return 0;
    key->words[key->n++] = (uint64_t)(uintptr_t)object;
    key->seen[key->count++] = Py_NewRef(object);
    return 1;
}

/* A number's part of the key where a launch is given its value: what it is. */
static int put_kind(Key *key, PyObject *value)
{
    int kind = PyFloat_CheckExact(value) ? REAL : PyLong_CheckExact(value) ? WHOLE : 0;
    if (kind)
        key->words[key->n++] = kind;
    return kind && key->n + 2 <= MOST_WORDS;
}

/* Kernels that read several elements at once have another launch for arrays that begin anywhere. */
static int put_alignment(Key *key, PyObject *a)
{
    uint64_t address;
    if (address_of(a, &address) < 0)
        return -1;
    key->words[key->n++] = address & 15 ? UNALIGNED : ALIGNED;
    return 1;
}

/* One array's part of the key: 1 when done, 0 when it does not fit, -1 on error. */
static int put_array(Key *key, PyObject *a, int numbers)
{
    if (numbers && put_kind(key, a))
        return 1;
    if (a == Py_None) {
        key->words[key->n++] = MISSING;
        return key->n + 2 <= MOST_WORDS;
    }
    if (!Py_IS_TYPE(a, (PyTypeObject *)array_type))
        return 0;
    Header h;
    int found = read_header(a, &h);
    if (found == 1 && (found = key->n + 4 + 2 * h.ndim <= MOST_WORDS && see(key, h.dtype))) {
        found = put_alignment(key, a);
        key->words[key->n++] = (uint64_t)h.ndim;
        for (int i = 0; i < h.ndim; i++)
            key->words[key->n++] = (uint64_t)h.shape[i];
        for (int i = 0; i < h.ndim; i++)
            key->words[key->n++] = (uint64_t)h.strides[i];
    }
    release_header(&h);
    return found;
}

/* An attribute's: numbers, texts and tuples by what they are, the rest by identity. */
static int put_value(Key *key, PyObject *value, int numbers)
{
    if (key->n + 4 > MOST_WORDS)
        return 0;
    if (PyTuple_Check(value)) { /* a new one in every call, as sizes are */
        int found = see(key, (PyObject *)Py_TYPE(value));
        key->words[key->n++] = SEVERAL;
        key->words[key->n++] = (uint64_t)PyTuple_GET_SIZE(value);
        for (Py_ssize_t i = 0; found && i < PyTuple_GET_SIZE(value); i++)
            found = put_value(key, PyTuple_GET_ITEM(value, i), 0);
        return found;
    }
    if (numbers && put_kind(key, value))
        return 1;
    if (PyFloat_CheckExact(value)) {
        double number = PyFloat_AS_DOUBLE(value);
        key->words[key->n++] = REAL;
        memcpy(&key->words[key->n++], &number, 8);
        return 1;
    }
    if (PyLong_CheckExact(value)) {
        int beyond;
        key->words[key->n++] = WHOLE;
        key->words[key->n++] = (uint64_t)PyLong_AsLongLongAndOverflow(value, &beyond);
        return !beyond;
    }
    key->words[key->n++] = OBJECT;
    if (PyUnicode_CheckExact(value)) { /* one object for each text */
        Py_INCREF(value);
        PyUnicode_InternInPlace(&value);
        int found = see(key, value);
        Py_DECREF(value);
        return found;
    }
    return see(key, value);
}

static void forget_key(Key *key)
{
    while (key->count)
        Py_DECREF(key->seen[--key->count]);
}

static uint64_t hash_of(const uint64_t *words, int n)
{
    uint64_t hash = 1469598103934665603ull;
    for (int i = 0; i < n; i++) {
        hash = (hash ^ words[i]) * 1099511628211ull;
        hash ^= hash >> 29;
    }
    return hash;
}

/* The place of a key: of its kind, or the free one where that belongs. */
static Kind **place_of(Keyed *self, const Key *key, uint64_t hash)
{
    for (uint64_t at = hash;; at++) {
        Kind **place = &self->places[at & (uint64_t)(self->room - 1)];
        if (*place == NULL)
            return place;
        if ((*place)->hash == hash && (*place)->count == key->n &&
            !memcmp((*place)->words, key->words, key->n * sizeof *key->words))
            return place;
    }
}

static void clear(Keyed *self)
{
    for (int i = 0; i < self->room; i++) {
        Kind *kind = self->places[i];
        self->places[i] = NULL;
        if (kind != NULL) {
            Py_XDECREF(kind->held);
            Py_XDECREF(kind->call);
            PyMem_Free(kind);
        }
    }
    self->used = 0;
}

/* Twice as many places; 0 where there is no memory for them. */
static int widen(Keyed *self)
{
    Kind **old = self->places, **wider = PyMem_Calloc(2 * self->room, sizeof *wider);
    if (wider == NULL)
        return 0;
    self->places = wider;
    self->room *= 2;
    for (int i = 0; i < self->room / 2; i++)
        if (old[i] != NULL) {
            uint64_t at = old[i]->hash;
            while (wider[at & (uint64_t)(self->room - 1)] != NULL)
                at++;
            wider[at & (uint64_t)(self->room - 1)] = old[i];
        }
    PyMem_Free(old);
    return 1;
}

static PyObject *as_tuple(PyObject *const *items, int n)
{
    PyObject *all = PyTuple_New(n);
    for (int i = 0; all != NULL && i < n; i++)
        PyTuple_SET_ITEM(all, i, Py_NewRef(items[i]));
    return all;
}

/* What is watched, by identity: 1 when done, -1 on error. */
static int put_watched(Key *key, PyObject *watched)
{
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(watched); i++) {
        PyObject *pair = PyTuple_GET_ITEM(watched, i);
        PyObject *now = PyObject_GetAttr(PyTuple_GET_ITEM(pair, 0), PyTuple_GET_ITEM(pair, 1));
        int found = now == NULL ? -1 : see(key, now);
        Py_XDECREF(now);
        if (found != 1)
            return found;
    }
    return 1;
}

/* Keep what is known of a kind; 0 on error. Takes the reference to `call`, which is NULL where there is none. */
static int keep(Keyed *self, const Key *key, uint64_t hash, PyObject *call)
{
    PyObject *held = as_tuple(key->seen, key->count);
    Kind *kind = held == NULL ? NULL : PyMem_Malloc(sizeof *kind + key->n * sizeof *key->words);
    if (kind == NULL) {
        Py_XDECREF(call);
        if (held != NULL)
            PyErr_NoMemory();
        Py_XDECREF(held);
        return 0;
    }
    if (self->used >= MOST_KINDS || (2 * self->used >= self->room && !widen(self)))
        clear(self);
    kind->hash = hash;
    kind->count = key->n;
    memcpy(kind->words, key->words, key->n * sizeof *key->words);
    kind->held = held;
    kind->call = call;
    Kind **place = place_of(self, key, hash);
    if (*place != NULL) { /* another thread was quicker */
        Py_XDECREF((*place)->held);
        Py_XDECREF((*place)->call);
        PyMem_Free(*place);
    } else
        self->used++;
    *place = kind;
    return 1;
}

/* -- sizes that were not there before ------------------------------------------------------------ */

/* What the arrays of a call have in common where all but those of one element are row-major and of one shape. */
typedef struct {
    int ndim, most; /* of the common shape, which is -1 until there is one; the dims of the others */
    Py_ssize_t shape[MOST_DIMS], count;
} Common;

static int put_common(Key *key, PyObject *a, int numbers, Common *common)
{
    if (a == Py_None || (numbers && (PyFloat_CheckExact(a) || PyLong_CheckExact(a))))
        return put_array(key, a, numbers);
    Header h;
    int found = Py_IS_TYPE(a, (PyTypeObject *)array_type) ? read_header(a, &h) : 0;
    if (found != 1)
        return found;
    PyObject *size = PyObject_GetAttr(h.dtype, s_itemsize);
    Py_ssize_t step = size == NULL ? -1 : PyLong_AsSsize_t(size), count = 1;
    Py_XDECREF(size);
    found = step < 0 ? -1 : key->n + 5 <= MOST_WORDS && see(key, h.dtype);
    found = found == 1 ? put_alignment(key, a) : found;
    for (int i = h.ndim - 1; found == 1 && i >= 0; i--) {
        found = h.shape[i] == 1 || h.strides[i] == step;
        step *= h.shape[i];
        count *= h.shape[i];
    }
    if (found == 1 && count == 1) {
        key->words[key->n++] = ALONE;
        common->most = h.ndim > common->most ? h.ndim : common->most;
    } else if (found == 1 && common->ndim < 0) {
        key->words[key->n++] = ALIKE;
        common->ndim = h.ndim;
        common->count = count;
        memcpy(common->shape, h.shape, h.ndim * sizeof *h.shape);
    } else if (found == 1) {
        key->words[key->n++] = ALIKE;
        found = h.ndim == common->ndim && !memcmp(common->shape, h.shape, h.ndim * sizeof *h.shape);
    }
    release_header(&h);
    return found;
}

/* The key of a call by all but its sizes: 1 when there is one, -1 on error. */
static int put_all_common(Keyed *self, PyObject *const *args, Py_ssize_t count, PyObject *names, Key *key, Common *common)
{
    int usable = 1;
    Py_ssize_t more = names == NULL ? 0 : PyTuple_GET_SIZE(names);
    common->ndim = common->most = -1;
    key->n = key->count = 0;
    key->words[key->n++] = (uint64_t)1 << 62 | (uint64_t)count << 8 | (uint64_t)more;
    for (Py_ssize_t i = 0; usable == 1 && i < count; i++)
        usable = put_common(key, args[i], self->numbers, common);
    for (Py_ssize_t i = 0; usable == 1 && i < more; i++) {
        usable = see(key, PyTuple_GET_ITEM(names, i));
        if (usable == 1)
            usable = put_value(key, args[count + i], self->numbers);
    }
    if (usable == 1)
        usable = put_watched(key, self->watched);
    if (usable == 1) /* 32 bits count the elements, and those of one element do not widen the result */
        usable = common->ndim >= common->most && common->ndim > 0 && common->count > 1 && common->count < MANY;
    return usable;
}

static PyObject *resized(PyObject *model, const Common *common)
{
    PyObject *shape = PyTuple_New(common->ndim);
    for (int i = 0; shape != NULL && i < common->ndim; i++) {
        PyObject *n = PyLong_FromSsize_t(common->shape[i]);
        if (n == NULL)
            Py_CLEAR(shape);
        else
            PyTuple_SET_ITEM(shape, i, n);
    }
    PyObject *call = shape == NULL ? NULL : call_for(model, shape, common->count);
    Py_XDECREF(shape);
    return call;
}

/* Find a launch, and keep it; borrowed, NULL where there is none, -1 in `status` on error. One that differs in its sizes alone
 * from a launch that is there is made of that; the rest is asked for. */
static PyObject *learn(Keyed *self, PyObject *const *args, size_t nargsf, PyObject *names, const Key *key, uint64_t hash,
                       int *status)
{
    Key by_rest;
    Common common;
    PyObject *call = NULL;
    int usable = put_all_common(self, args, PyVectorcall_NARGS(nargsf), names, &by_rest, &common);
    uint64_t rest = usable == 1 ? hash_of(by_rest.words, by_rest.n) : 0;
    const Kind *model = usable == 1 ? *place_of(self, &by_rest, rest) : NULL;
    if (usable >= 0)
        call = model != NULL ? resized(model->call, &common) : PyObject_Vectorcall(self->prepare, args, nargsf, names);
    int done = call != NULL;
    if (done && !PyCallable_Check(call))
        Py_CLEAR(call);
    if (done && usable == 1 && model == NULL && call != NULL && can_resize(call))
        done = keep(self, &by_rest, rest, Py_NewRef(call));
    if (done)
        done = keep(self, key, hash, Py_XNewRef(call));
    forget_key(&by_rest);
    Py_XDECREF(call); /* its kind holds it */
    *status = done ? 0 : -1;
    return done ? call : NULL;
}

/* The launch for a call, new; NULL where the body has to do it, -1 in `status` on error. */
static PyObject *launch_for(Keyed *self, PyObject *const *args, size_t nargsf, PyObject *names, int *status)
{
    Key key;
    key.n = key.count = 0;
    Py_ssize_t count = PyVectorcall_NARGS(nargsf), more = names == NULL ? 0 : PyTuple_GET_SIZE(names);
    *status = 0;
    if (count + more + PyTuple_GET_SIZE(self->watched) > MOST_GIVEN)
        return NULL;
    if (self->offers != NULL && PyList_GET_SIZE(self->offers)) { /* an in-place operation writes into its first operand */
        PyObject *target = PyObject_GetAttr(self->here, s_in_place);
        Py_XDECREF(target);
        *status = target == NULL ? -1 : 0;
        if (target == NULL || (count && target == args[0]))
            return NULL;
    }
    PyObject *call = NULL;
    int usable = 1;
    key.words[key.n++] = (uint64_t)count << 8 | (uint64_t)more;
    for (Py_ssize_t i = 0; usable == 1 && i < count; i++)
        usable = put_array(&key, args[i], self->numbers);
    for (Py_ssize_t i = 0; usable == 1 && i < more; i++) {
        usable = see(&key, PyTuple_GET_ITEM(names, i));
        if (usable == 1)
            usable = put_value(&key, args[count + i], self->numbers);
    }
    if (usable == 1)
        usable = put_watched(&key, self->watched);
    if (usable == 1) {
        uint64_t hash = hash_of(key.words, key.n);
        Kind *kind = *place_of(self, &key, hash);
        call = Py_XNewRef(kind != NULL ? kind->call : learn(self, args, nargsf, names, &key, hash, status));
    } else if (usable < 0)
        *status = -1;
    forget_key(&key);
    return call;
}

static PyObject *keyed_call(PyObject *callable, PyObject *const *args, size_t nargsf, PyObject *names)
{
    Keyed *self = (Keyed *)callable;
    int status;
    PyObject *call = launch_for(self, args, nargsf, names, &status);
    if (status < 0)
        return NULL;
    if (call != NULL) {
        Py_ssize_t given = PyVectorcall_NARGS(nargsf);
        if (self->numbers && names != NULL)
            given += PyTuple_GET_SIZE(names);
        PyObject *out = PyObject_Vectorcall(call, args, given, NULL);
        Py_DECREF(call);
        if (out != Py_NotImplemented)
            return out;
        Py_DECREF(out);
    }
    return PyObject_Vectorcall(self->body, args, nargsf, names);
}

static PyObject *keyed_make(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    PyObject *body, *prepare, *here, *watched;
    int numbers = 0;
    if (!PyArg_ParseTuple(args, "OOOO!|p", &body, &prepare, &here, &PyTuple_Type, &watched, &numbers))
        return NULL;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(watched); i++)
        if (!PyTuple_CheckExact(PyTuple_GET_ITEM(watched, i)) || PyTuple_GET_SIZE(PyTuple_GET_ITEM(watched, i)) != 2)
            return PyErr_Format(PyExc_TypeError, "what is watched are pairs of an object and a name");
    Keyed *self = (Keyed *)type->tp_alloc(type, 0);
    if (self == NULL)
        return NULL;
    self->vectorcall = keyed_call;
    self->numbers = numbers;
    self->body = Py_NewRef(body);
    self->prepare = Py_NewRef(prepare);
    self->here = Py_NewRef(here);
    if (here != Py_None && (self->offers = PyObject_GetAttrString(here, "offers")) == NULL) {
        Py_DECREF(self);
        return NULL;
    }
    if (self->offers != NULL && !PyList_CheckExact(self->offers)) {
        Py_DECREF(self);
        return PyErr_Format(PyExc_TypeError, "offers are a list");
    }
    self->watched = Py_NewRef(watched);
    self->room = FIRST_PLACES;
    self->places = PyMem_Calloc(self->room, sizeof *self->places);
    if (self->places == NULL) {
        Py_DECREF(self);
        return PyErr_NoMemory();
    }
    return (PyObject *)self;
}

static void keyed_free(PyObject *object)
{
    Keyed *self = (Keyed *)object;
    if (self->places != NULL)
        clear(self);
    PyMem_Free(self->places);
    Py_XDECREF(self->body);
    Py_XDECREF(self->prepare);
    Py_XDECREF(self->here);
    Py_XDECREF(self->offers);
    Py_XDECREF(self->watched);
    Py_TYPE(object)->tp_free(object);
}

static Py_ssize_t keyed_length(PyObject *object)
{
    return ((Keyed *)object)->used;
}

static PySequenceMethods as_sequence = {.sq_length = keyed_length};

PyTypeObject KeyedType = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "rushlight.runtime.cuda.code._launch.Keyed",
    .tp_basicsize = sizeof(Keyed),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_VECTORCALL,
    .tp_vectorcall_offset = offsetof(Keyed, vectorcall),
    .tp_call = PyVectorcall_Call,
    .tp_new = keyed_make,
    .tp_as_sequence = &as_sequence,
    .tp_dealloc = keyed_free,
    .tp_doc = "Keyed(body, prepare, here, watched[, numbers]): a kernel's body with its prepared launches in front of it.",
};

int name_keyed(void)
{
    s_in_place = PyUnicode_InternFromString("in_place");
    s_itemsize = PyUnicode_InternFromString("itemsize");
    return s_in_place && s_itemsize ? 0 : -1;
}
