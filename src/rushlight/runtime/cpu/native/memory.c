/* A caching allocator by size classes, four to a power of two.
 *
 * A fresh block of megabytes costs more than the kernel that fills it: the system maps and clears every
 * page on first touch. Untouched tails of a class cost nothing. */
#include "memory.h"

#include "repeat.h"

#include <pthread.h>
#include <stdlib.h>
#if defined(__linux__)
#include <sys/mman.h>
#include <unistd.h>
#endif

#define SMALLEST 16 /* blocks below 64 KiB go straight to malloc, which is good at them */
#define CLASSES (4 * (48 - SMALLEST))
#define SLOTS 64
#define LARGE_PAGES ((size_t)4 << 20)
#define MOST_KEPT ((size_t)1 << 30)

static struct {
    pthread_mutex_t lock;
    size_t kept;
    int held[CLASSES];
    void *blocks[CLASSES][SLOTS];
} cache = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* The class of a size and the bytes of its blocks; -1 for sizes that are not kept. */
static int class_of(size_t bytes, size_t *rounded) {
    if (bytes < ((size_t)1 << SMALLEST)) {
        *rounded = (bytes + 63) / 64 * 64;
        return -1;
    }
    int power = 63 - __builtin_clzll((unsigned long long)(bytes - 1));
    if (power < SMALLEST) power = SMALLEST;
    const size_t quarter = (size_t)1 << (power - 2);
    size_t steps = (bytes - 1) / quarter + 1; /* 5 to 8 quarters; 4 for an exact smallest power */
    if (steps < 5) steps = 5;
    *rounded = steps * quarter;
    const int which = 4 * (power - SMALLEST) + (int)(steps - 5);
    return which < CLASSES ? which : -1;
}

/* A fresh block; a large one in pages of 2 MB where the system gives them when asked, as NumPy does: fewer faults,
 * fewer addresses to look up. */
static void *fresh(size_t size) {
    void *block = NULL;
    if (posix_memalign(&block, 64, size)) return NULL;
#if defined(MADV_HUGEPAGE)
    if (size >= LARGE_PAGES) {
        const size_t page = (size_t)sysconf(_SC_PAGESIZE), skip = -(size_t)block % page;
        madvise((char *)block + skip, (size - skip) / page * page, MADV_HUGEPAGE); /* a wish: it may be refused */
    }
#endif
    return block;
}

static void *take(size_t bytes) {
    size_t size;
    const int which = class_of(bytes ? bytes : 1, &size);
    if (which >= 0) {
        void *found = NULL;
        pthread_mutex_lock(&cache.lock);
        if (cache.held[which]) {
            found = cache.blocks[which][--cache.held[which]];
            cache.kept -= size;
        }
        pthread_mutex_unlock(&cache.lock);
        if (found) return found;
    }
    void *block = fresh(size);
    if (block) return block;
    memory_drop();
    return fresh(size);
}

void *memory_take(size_t bytes) { return writing ? repeat_lends(bytes ? bytes : 1) : take(bytes); }

void memory_give(void *block, size_t bytes) {
    if (writing && repeat_lent(block)) return;
    size_t size;
    const int which = class_of(bytes ? bytes : 1, &size);
    if (which >= 0) {
        int taken = 0;
        pthread_mutex_lock(&cache.lock);
        if (cache.held[which] < SLOTS && cache.kept + size <= MOST_KEPT) {
            cache.blocks[which][cache.held[which]++] = block;
            cache.kept += size;
            taken = 1;
        }
        pthread_mutex_unlock(&cache.lock);
        if (taken) return;
    }
    free(block);
}

void *table_take(size_t bytes) {
    void *table = malloc(bytes ? bytes : 1);
    if (table && writing && !repeat_keeps(table)) {
        free(table);
        return NULL;
    }
    return table;
}

void table_give(void *table) {
    if (!writing || !repeat_kept(table)) free(table);
}

size_t memory_kept(void) { return cache.kept; }

void memory_drop(void) {
    pthread_mutex_lock(&cache.lock);
    for (int c = 0; c < CLASSES; c++)
        while (cache.held[c]) free(cache.blocks[c][--cache.held[c]]);
    cache.kept = 0;
    pthread_mutex_unlock(&cache.lock);
}

static void before_fork(void) { pthread_mutex_lock(&cache.lock); }
static void after_fork(void) { pthread_mutex_unlock(&cache.lock); }
static void in_child(void) { pthread_mutex_init(&cache.lock, NULL); }

void memory_init(void) { pthread_atfork(before_fork, after_fork, in_child); }
