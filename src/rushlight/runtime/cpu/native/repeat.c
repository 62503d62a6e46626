/* Calls written down and made again: see repeat.h. */
#include "repeat.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "memory.h"

typedef struct {
    Part part; /* or */
    Check check;
    void *what;
    ptrdiff_t parts;
} Job;

struct Repeat {
    Job *jobs;
    void **tables;
    size_t count, room, kept, kept_room;
    double ns;
    uintptr_t frame;
    Scratch *scratch;
    Repeat *outer; /* what was written down before this was begun */
    int cannot;
};

_Thread_local Repeat *writing;

/* Room for one more item of `size` bytes; 0 without memory. */
static int grow(void **items, size_t count, size_t *room, size_t size) {
    if (count < *room) return 1;
    const size_t more = *room ? 2 * *room : 8;
    void *larger = realloc(*items, more * size);
    if (!larger) return 0;
    *items = larger, *room = more;
    return 1;
}

/* -- memory ----------------------------------------------------------------------------------------- */

void scratch_free(Scratch *s) {
    for (size_t i = 0; i < s->count; i++) memory_give(s->lent[i].block, s->lent[i].bytes);
    free(s->lent);
    *s = (Scratch){0};
}

/* The smallest free block that is large enough and not much too large, or a new one. */
void *repeat_lends(size_t bytes) {
    Repeat *const r = writing;
    Scratch *const s = r->scratch;
    Lent *best = NULL;
    for (size_t i = 0; i < s->count; i++) {
        Lent *l = s->lent + i;
        if (!l->taken && l->bytes >= bytes && l->bytes / 4 <= bytes && (!best || l->bytes < best->bytes)) best = l;
    }
    if (best) {
        best->taken = 1;
        return best->block;
    }
    writing = NULL;
    void *block = memory_take(bytes);
    writing = r;
    if (!block) return NULL;
    if (grow((void **)&s->lent, s->count, &s->room, sizeof *s->lent)) s->lent[s->count++] = (Lent){block, bytes, 1};
    else r->cannot = 1;
    return block;
}

int repeat_lent(const void *block) {
    const Scratch *s = writing->scratch;
    for (size_t i = 0; i < s->count; i++)
        if (s->lent[i].block == block) return 1;
    return 0;
}

int repeat_keeps(void *table) {
    Repeat *r = writing;
    if (!grow((void **)&r->tables, r->kept, &r->kept_room, sizeof *r->tables)) return 0;
    r->tables[r->kept++] = table;
    return 1;
}

int repeat_kept(const void *table) {
    for (size_t i = 0; i < writing->kept; i++)
        if (writing->tables[i] == table) return 1;
    return 0;
}

/* -- writing ---------------------------------------------------------------------------------------- */

Repeat *repeat_begin(Scratch *scratch, const void *frame) {
    Repeat *r = calloc(1, sizeof *r);
    if (!r) return NULL;
    r->frame = (uintptr_t)frame, r->scratch = scratch, r->outer = repeat_pause();
    for (size_t i = 0; i < scratch->count; i++) scratch->lent[i].taken = 0;
    return writing = r;
}

void repeat_free(Repeat *r) {
    if (!r) return;
    for (size_t i = 0; i < r->count; i++) free(r->jobs[i].what);
    for (size_t i = 0; i < r->kept; i++) free(r->tables[i]);
    free(r->jobs);
    free(r->tables);
    free(r);
}

Repeat *repeat_end(Repeat *r) {
    writing = r ? r->outer : NULL;
    if (r && !r->cannot && r->count) return r;
    repeat_free(r);
    return NULL;
}

Repeat *repeat_pause(void) {
    Repeat *const r = writing;
    if (r) r->cannot = 1;
    writing = NULL;
    return r;
}

void repeat_resume(Repeat *r) { writing = r; }

void repeat_cannot(void) {
    if (writing) writing->cannot = 1;
}

/* Whether a part is told of something on this thread's stack, which is gone when the call returns. */
static int points_to_stack(const Repeat *r, const void *what, size_t size) {
    const uintptr_t here = (uintptr_t)__builtin_frame_address(0);
    for (size_t at = 0; at + sizeof(uintptr_t) <= size; at += sizeof(uintptr_t)) {
        uintptr_t word;
        memcpy(&word, (const char *)what + at, sizeof word);
        if (word >= here && word <= r->frame) return 1;
    }
    return 0;
}

static void add(Part part, Check check, const void *what, size_t size, ptrdiff_t parts) {
    Repeat *r = writing;
    if (r->cannot) return;
    void *copy = NULL;
    if (points_to_stack(r, what, size) || !grow((void **)&r->jobs, r->count, &r->room, sizeof *r->jobs) || !(copy = malloc(size))) {
        r->cannot = 1;
        return;
    }
    memcpy(copy, what, size);
    r->jobs[r->count++] = (Job){part, check, copy, parts};
}

void repeat_part(Part part, const void *what, size_t size, ptrdiff_t parts, double ns) {
    add(part, NULL, what, size, parts);
    writing->ns += ns;
}

void repeat_check(Check check, const void *what, size_t size) { add(NULL, check, what, size, 1); }

/* -- once more --------------------------------------------------------------------------------------- */

int repeat_run(const Repeat *r, void (*run)(Part part, void *what, ptrdiff_t parts)) {
    for (size_t i = 0; i < r->count; i++) {
        const Job *job = r->jobs + i;
        if (job->check) {
            if (job->check(job->what)) return 1;
        } else run(job->part, job->what, job->parts);
    }
    return 0;
}

double repeat_ns(const Repeat *r) { return r->ns; }
