/* The thread of ahead.h. */
#include "ahead.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <time.h>

#define SPIN_NS 50000 /* how long it looks for more before it sleeps, and others for its end */

static struct {
    pthread_mutex_t lock; /* guards all that is no atomic */
    pthread_cond_t more, done;
    const void *owner;
    const Repeat *const *calls;
    atomic_ptrdiff_t upto, at; /* calls that may be made, that were made */
    atomic_int halt;           /* no further call is to begin */
    atomic_int inside;         /* it is making calls */
    int sleeps, waits, started;
} ahead = {
    .lock = PTHREAD_MUTEX_INITIALIZER,
    .more = PTHREAD_COND_INITIALIZER,
    .done = PTHREAD_COND_INITIALIZER,
    .halt = 1,
};

static uint64_t now_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static inline void relax(void) {
#if defined(__aarch64__)
    __asm__ volatile("isb");
#elif defined(__x86_64__)
    __builtin_ia32_pause();
#endif
}

/* -- parts of the call that the thread is in ------------------------------------------------------------- */

static struct {
    pthread_mutex_t lock;
    Part part;
    void *what;
    ptrdiff_t parts, next, busy; /* busy: parts that somebody works on */
} call = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* Work on one part that nobody has taken; 0 where there is none. */
static int help(void) {
    pthread_mutex_lock(&call.lock);
    const ptrdiff_t i = call.next < call.parts ? call.next++ : -1, parts = call.parts;
    const Part part = call.part;
    void *const what = call.what;
    call.busy += i >= 0;
    pthread_mutex_unlock(&call.lock);
    if (i < 0) return 0;
    part(what, i, parts);
    pthread_mutex_lock(&call.lock);
    call.busy--;
    pthread_mutex_unlock(&call.lock);
    return 1;
}

static int is_over(void) {
    pthread_mutex_lock(&call.lock);
    const int over = call.next >= call.parts && !call.busy;
    pthread_mutex_unlock(&call.lock);
    return over;
}

/* Parts one after the other; whoever waits for the call takes some of them. */
static void run_helped(Part part, void *what, ptrdiff_t parts) {
    if (parts == 1) {
        part(what, 0, 1);
        return;
    }
    pthread_mutex_lock(&call.lock);
    call.part = part, call.what = what, call.parts = parts, call.next = 0;
    pthread_mutex_unlock(&call.lock);
    while (help()) {}
    while (!is_over()) relax();
}

/* -- the thread ---------------------------------------------------------------------------------------- */

static int has_work(void) {
    return !atomic_load(&ahead.halt) && atomic_load(&ahead.at) < atomic_load(&ahead.upto);
}

/* Make calls until there are no more; whether it was let in. */
static int make_calls(void) {
    pthread_mutex_lock(&ahead.lock);
    const int in = has_work();
    atomic_store(&ahead.inside, in);
    const Repeat *const *calls = ahead.calls;
    pthread_mutex_unlock(&ahead.lock);
    if (!in) return 0;
    while (has_work()) {
        if (repeat_run(calls[atomic_load(&ahead.at)], run_helped)) {
            atomic_store(&ahead.halt, 1); /* its binding has to make it, in the other thread */
            break;
        }
        atomic_fetch_add(&ahead.at, 1);
    }
    pthread_mutex_lock(&ahead.lock);
    atomic_store(&ahead.inside, 0);
    if (ahead.waits) pthread_cond_signal(&ahead.done);
    pthread_mutex_unlock(&ahead.lock);
    return 1;
}

static void *thread(void *unused) {
    uint64_t until = 0;
    for (;;) {
        if (has_work() && make_calls()) {
            until = now_ns() + SPIN_NS;
        } else if (now_ns() < until) {
            for (int i = 0; i < 16; i++) relax();
        } else {
            pthread_mutex_lock(&ahead.lock);
            ahead.sleeps = 1;
            while (!has_work()) pthread_cond_wait(&ahead.more, &ahead.lock);
            ahead.sleeps = 0;
            pthread_mutex_unlock(&ahead.lock);
            until = now_ns() + SPIN_NS;
        }
    }
    return NULL;
}

static int start(void) {
    pthread_t t;
    pthread_attr_t attr;
    pthread_attr_init(&attr);
    pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
    ahead.started = pthread_create(&t, &attr, thread, NULL) == 0;
    pthread_attr_destroy(&attr);
    return ahead.started;
}

/* -- its owner ------------------------------------------------------------------------------------------ */

int ahead_begin(const void *owner, const Repeat *const *calls, ptrdiff_t upto) {
    pthread_mutex_lock(&ahead.lock);
    const int free = !ahead.owner && !atomic_load(&ahead.inside) && (ahead.started || start());
    if (free) {
        ahead.owner = owner, ahead.calls = calls;
        atomic_store(&ahead.at, 0);
        atomic_store(&ahead.upto, upto);
        atomic_store(&ahead.halt, 0);
        if (ahead.sleeps) pthread_cond_signal(&ahead.more);
    }
    pthread_mutex_unlock(&ahead.lock);
    return free;
}

void ahead_more(const void *owner, ptrdiff_t upto) {
    pthread_mutex_lock(&ahead.lock);
    if (ahead.owner == owner && upto > atomic_load(&ahead.upto)) {
        atomic_store(&ahead.upto, upto);
        if (ahead.sleeps) pthread_cond_signal(&ahead.more);
    }
    pthread_mutex_unlock(&ahead.lock);
}

ptrdiff_t ahead_stop(const void *owner) {
    pthread_mutex_lock(&ahead.lock);
    if (ahead.owner != owner) {
        pthread_mutex_unlock(&ahead.lock);
        return -1;
    }
    atomic_store(&ahead.halt, 1);
    pthread_mutex_unlock(&ahead.lock);
    const uint64_t until = now_ns() + SPIN_NS;
    while (atomic_load(&ahead.inside) && (help() || now_ns() < until)) relax();
    pthread_mutex_lock(&ahead.lock);
    ahead.waits++;
    while (atomic_load(&ahead.inside)) pthread_cond_wait(&ahead.done, &ahead.lock);
    ahead.waits--;
    ahead.owner = NULL;
    const ptrdiff_t made = atomic_load(&ahead.at);
    pthread_mutex_unlock(&ahead.lock);
    return made;
}

/* A child has no such thread. The call that it was in was not counted, and is made again by whoever stops it. */
static void before_fork(void) {
    pthread_mutex_lock(&ahead.lock);
    pthread_mutex_lock(&call.lock);
}

static void after_fork(void) {
    pthread_mutex_unlock(&call.lock);
    pthread_mutex_unlock(&ahead.lock);
}

static void in_child(void) {
    pthread_mutex_init(&ahead.lock, NULL);
    pthread_mutex_init(&call.lock, NULL);
    call.parts = call.next = call.busy = 0;
    pthread_cond_init(&ahead.more, NULL);
    pthread_cond_init(&ahead.done, NULL);
    atomic_store(&ahead.inside, 0);
    ahead.sleeps = ahead.waits = ahead.started = 0;
}

void ahead_init(void) { pthread_atfork(before_fork, after_fork, in_child); }
