/* The sums of conversions: each calling thread has its own, and the workers of its kernels add to them. */
#include "watch.h"

#include <time.h>

int watching;

static const char *const names[CONVERSIONS] = {
    "image padded",  "NHWC to NCHW",    "NCHW to NHWC", "strides to contiguous",
    "weight packed", "gradient packed", "phases merged",
};
static _Thread_local Book own;
static _Thread_local Book *borrowed;

Book *watch_book(void) { return borrowed ? borrowed : &own; }

void watch_for(Book *book) { borrowed = book; }

int64_t watch_clock(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

void watch_count(int which, int64_t begin, size_t bytes) {
    Book *book = watch_book();
    __atomic_fetch_add(&book->times[which], watch_clock() - begin, __ATOMIC_RELAXED);
    __atomic_fetch_add(&book->sizes[which], (int64_t)bytes, __ATOMIC_RELAXED);
    __atomic_fetch_add(&book->counts[which], 1, __ATOMIC_RELAXED);
}

Conversion watch_take(int which) {
    return (Conversion){
        names[which],
        __atomic_exchange_n(&own.counts[which], 0, __ATOMIC_RELAXED),
        __atomic_exchange_n(&own.times[which], 0, __ATOMIC_RELAXED),
        __atomic_exchange_n(&own.sizes[which], 0, __ATOMIC_RELAXED),
    };
}
