/* A call written down as the parts that it works on, so that it can be made again without Python.
 *
 * All that a kernel marked `repeats` computes is in parts (run_parts, run_once) and checks (run_check); around them its
 * binding looks at layouts only, never at values. While such a call is written down, what its parts are told is copied.
 * Memory that the binding takes (memory_take) is lent to parts for the time of the call; the lists that it makes for
 * them (table_take) are kept with the writing. */
#ifndef RL_REPEAT_H
#define RL_REPEAT_H

#include <stddef.h>

#include "threads.h"

typedef struct Repeat Repeat;
typedef int (*Check)(const void *what); /* whether the call has to be made anew, by its binding */

/* Blocks that calls which follow each other use in turn. */
typedef struct {
    void *block;
    size_t bytes;
    int taken; /* by the call that is written down */
} Lent;

typedef struct {
    Lent *lent;
    size_t count, room;
} Scratch;

void scratch_free(Scratch *s);

extern _Thread_local Repeat *writing; /* the call that this thread writes down, or NULL */

/* Write down what follows; `frame`: an address in the caller's frame. NULL without memory. */
Repeat *repeat_begin(Scratch *scratch, const void *frame);
Repeat *repeat_end(Repeat *r); /* what was written, or NULL where the call cannot be repeated */
void repeat_free(Repeat *r);
/* Make the call again, its parts run by `run` (threads_run); 1 where a check asks for its binding. */
int repeat_run(const Repeat *r, void (*run)(Part part, void *what, ptrdiff_t parts));
double repeat_ns(const Repeat *r);          /* about how long that takes on one thread */

/* Somebody else's calls come in between (a collection of garbage may make them): they are not written down, and what was cannot be repeated. */
Repeat *repeat_pause(void);
void repeat_resume(Repeat *r);
void repeat_cannot(void); /* said by whoever computes beside parts, or looks at a value */
void repeat_part(Part part, const void *what, size_t size, ptrdiff_t parts, double ns);
void repeat_check(Check check, const void *what, size_t size);
void *repeat_lends(size_t bytes);     /* what memory_take gives while a call is written down */
int repeat_lent(const void *block);   /* whether it was given so */
int repeat_keeps(void *table);        /* 0 without memory */
int repeat_kept(const void *table);

#endif
