/* The sums of conversions; several threads add to them. */
#include "watch.h"

#include <time.h>

int watching;

static const char *const names[CONVERSIONS] = {
    "image padded",  "NHWC to NCHW",    "NCHW to NHWC", "strides to contiguous",
    "weight packed", "gradient packed", "phases merged",
};
static int64_t counts[CONVERSIONS], times[CONVERSIONS], sizes[CONVERSIONS];

int64_t watch_clock(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

void watch_count(int which, int64_t begin, size_t bytes) {
    __atomic_fetch_add(&times[which], watch_clock() - begin, __ATOMIC_RELAXED);
    __atomic_fetch_add(&sizes[which], (int64_t)bytes, __ATOMIC_RELAXED);
    __atomic_fetch_add(&counts[which], 1, __ATOMIC_RELAXED);
}

Conversion watch_take(int which) {
    return (Conversion){
        names[which],
        __atomic_exchange_n(&counts[which], 0, __ATOMIC_RELAXED),
        __atomic_exchange_n(&times[which], 0, __ATOMIC_RELAXED),
        __atomic_exchange_n(&sizes[which], 0, __ATOMIC_RELAXED),
    };
}
