/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/current.h"

#include <pthread.h>

#include "base/alloc.h"

#define KEPT 4 /* snapshots of a thread: of so many runtimes without looking anew each time */

typedef struct kept {
    uint64_t generation;
    udpai_runtime_snapshot *snapshot;
} kept;

/* What one thread is about to take, and what it has. Never freed: others look at it. */
typedef struct reader {
    _Atomic(udpai_runtime_snapshot *) about_to_take;
    struct reader *next; /* of all; never changes */
    struct reader *next_unused;
    kept kept[KEPT];
} reader;

static _Thread_local reader *own;
static _Atomic(reader *) readers;
static atomic_uint_fast64_t last_generation;

static struct {
    pthread_mutex_t mutex;
    pthread_once_t once;
    pthread_key_t key; /* of a thread's reader: notices the end of the thread */
    bool has_key;
    reader *unused; /* of threads that have ended */
} threads = {.mutex = PTHREAD_MUTEX_INITIALIZER, .once = PTHREAD_ONCE_INIT};

/* ---- threads ---- */

static void
leave(void *ended)
{
    reader *left = ended;
    own = NULL;
    for (size_t i = 0; i < KEPT; i++) {
        left->kept[i].snapshot = udpai_runtime_snapshot_unref(left->kept[i].snapshot);
        left->kept[i].generation = 0;
    }
    pthread_mutex_lock(&threads.mutex);
    left->next_unused = threads.unused;
    threads.unused = left;
    pthread_mutex_unlock(&threads.mutex);
}

static void
make_key(void)
{
    threads.has_key = pthread_key_create(&threads.key, leave) == 0;
}

static reader *
make_reader(void)
{
    reader *made = udpai_alloc(sizeof(*made));
    if (!made)
        return NULL;
    made->next = atomic_load_explicit(&readers, memory_order_relaxed);
    while (!atomic_compare_exchange_weak_explicit(&readers, &made->next, made, memory_order_seq_cst,
                                                  memory_order_relaxed))
        ;
    return made;
}

/* NULL without memory. */
static reader *
join(void)
{
    pthread_once(&threads.once, make_key);
    if (!threads.has_key)
        return NULL;
    pthread_mutex_lock(&threads.mutex);
    reader *joined = threads.unused;
    if (joined)
        threads.unused = joined->next_unused;
    pthread_mutex_unlock(&threads.mutex);
    if (!joined)
        joined = make_reader();
    if (joined && pthread_setspecific(threads.key, joined) != 0) {
        leave(joined);
        joined = NULL;
    }
    own = joined;
    return joined;
}

/* ---- writing ---- */

static bool
is_about_to_be_taken(const udpai_runtime_snapshot *snapshot)
{
    const reader *other = atomic_load_explicit(&readers, memory_order_seq_cst);
    for (; other; other = other->next)
        if (atomic_load_explicit(&other->about_to_take, memory_order_seq_cst) == snapshot)
            return true;
    return false;
}

static void
release_retired(udpai_runtime_current *current)
{
    for (size_t i = current->retired.n; i-- > 0;) {
        if (is_about_to_be_taken(current->retired.items[i]))
            continue;
        udpai_runtime_snapshot_unref(current->retired.items[i]);
        udpai_vector_remove_unordered(&current->retired, i);
    }
}

static uint64_t
next_generation(void)
{
    return atomic_fetch_add_explicit(&last_generation, 1, memory_order_relaxed) + 1;
}

void
udpai_runtime_current_init(udpai_runtime_current *current, udpai_runtime_snapshot *snapshot)
{
    memset(&current->retired, 0, sizeof(current->retired));
    atomic_init(&current->snapshot, snapshot);
    atomic_init(&current->generation, next_generation());
}

void
udpai_runtime_current_done(udpai_runtime_current *current)
{
    for (size_t i = 0; i < current->retired.n; i++)
        udpai_runtime_snapshot_unref(current->retired.items[i]);
    udpai_vector_done(&current->retired);
    udpai_runtime_snapshot_unref(
        atomic_exchange_explicit(&current->snapshot, NULL, memory_order_acquire));
}

bool
udpai_runtime_current_set(udpai_runtime_current *current, udpai_runtime_snapshot *snapshot)
{
    if (!udpai_vector_reserve(&current->retired, 1))
        return false;
    /* A thread without a reader takes its reference under this mutex. */
    pthread_mutex_lock(&threads.mutex);
    current->retired.items[current->retired.n++] =
        atomic_exchange_explicit(&current->snapshot, snapshot, memory_order_seq_cst);
    atomic_store_explicit(&current->generation, next_generation(), memory_order_release);
    pthread_mutex_unlock(&threads.mutex);
    release_retired(current);
    return true;
}

/* ---- reading ---- */

static udpai_runtime_snapshot *
take(udpai_runtime_current *current, reader *self)
{
    udpai_runtime_snapshot *taken;
    do {
        taken = atomic_load_explicit(&current->snapshot, memory_order_seq_cst);
        atomic_store_explicit(&self->about_to_take, taken, memory_order_seq_cst);
    } while (atomic_load_explicit(&current->snapshot, memory_order_seq_cst) != taken);
    udpai_runtime_snapshot_ref(taken);
    atomic_store_explicit(&self->about_to_take, NULL, memory_order_release);
    return taken;
}

const udpai_runtime_snapshot *
udpai_runtime_current_peek(udpai_runtime_current *current)
{
    reader *self = own ? own : join();
    if (!self)
        return NULL;
    uint64_t generation = atomic_load_explicit(&current->generation, memory_order_acquire);
    kept *place = &self->kept[(uintptr_t)current / sizeof(*current) % KEPT];
    if (place->generation != generation) {
        udpai_runtime_snapshot_unref(place->snapshot);
        place->snapshot = take(current, self);
        place->generation = generation;
    }
    return place->snapshot;
}

udpai_runtime_snapshot *
udpai_runtime_current_take(udpai_runtime_current *current)
{
    if (udpai_runtime_current_peek(current))
        return udpai_runtime_snapshot_ref(
            (udpai_runtime_snapshot *)(uintptr_t)udpai_runtime_current_peek(current));
    pthread_mutex_lock(&threads.mutex);
    udpai_runtime_snapshot *taken =
        udpai_runtime_snapshot_ref(atomic_load_explicit(&current->snapshot, memory_order_acquire));
    pthread_mutex_unlock(&threads.mutex);
    return taken;
}
