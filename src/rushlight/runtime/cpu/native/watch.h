/* Conversions of layout inside kernels: counted and timed while a profiler watches, else free. */
#ifndef RL_WATCH_H
#define RL_WATCH_H

#include <stddef.h>
#include <stdint.h>

enum {
    PADDED, LAST_TO_FIRST, FIRST_TO_LAST, GAPS_CLOSED, WEIGHT_PACKED, GRADIENT_PACKED, PHASES_MERGED,
    CONVERSIONS,
};

typedef struct {
    const char *name;
    int64_t count, ns, bytes; /* of all workers together; bytes written */
} Conversion;

typedef struct {
    int64_t counts[CONVERSIONS], times[CONVERSIONS], sizes[CONVERSIONS];
} Book; /* the sums of the kernels that one thread called */

extern int watching;
int64_t watch_clock(void);
void watch_count(int which, int64_t begin, size_t bytes);
Conversion watch_take(int which); /* what this thread's kernels counted since the last call */
Book *watch_book(void);           /* where this thread counts */
void watch_for(Book *book);       /* a worker counts for the thread that called; NULL: for itself again */

/* Around a conversion: `begin` answers 0 when nobody watches, and `end` then does nothing. */
static inline int64_t conversion_begin(void) { return watching ? watch_clock() : 0; }
static inline void conversion_end(int which, int64_t begin, size_t bytes) {
    if (begin) watch_count(which, begin, bytes);
}

#endif
