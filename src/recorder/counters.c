/* SPDX-License-Identifier: Apache-2.0 */
#include "recorder/counters.h"

#include <pthread.h>

#include "base/alloc.h"
#include "base/vector.h"

#define LINE 64 /* bytes of cache that are written together */

_Thread_local udpai_counters_set *udpai_counters_own;

static struct {
    pthread_mutex_t mutex;
    pthread_once_t once;
    pthread_key_t key; /* of a thread's set: notices the end of the thread */
    bool has_key;
    udpai_counters_set *unused; /* sets of threads that have ended */
    uint32_t n_slots;           /* that were ever in use */
    uint32_t free_slots[UDPAI_COUNTERS_SLOTS];
    uint32_t n_free_slots;
} registry = {.mutex = PTHREAD_MUTEX_INITIALIZER, .once = PTHREAD_ONCE_INIT};

/* All sets there ever were; they are read without the mutex. */
static _Atomic(udpai_counters_set *) sets;

/* ---- threads ---- */

/* The thread ends, or its end cannot be noticed: its counts stay in the set. */
static void
leave(void *set)
{
    udpai_counters_set *left = set;
    udpai_counters_own = NULL; /* what ends later may count once more */
    pthread_mutex_lock(&registry.mutex);
    left->next_free = registry.unused;
    registry.unused = left;
    pthread_mutex_unlock(&registry.mutex);
}

static void
make_key(void)
{
    registry.has_key = pthread_key_create(&registry.key, leave) == 0;
}

static udpai_counters_set *
make_set(void)
{
    udpai_counters_set *set = udpai_alloc(sizeof(*set));
    if (!set)
        return NULL;
    set->next = atomic_load_explicit(&sets, memory_order_relaxed);
    while (!atomic_compare_exchange_weak_explicit(&sets, &set->next, set, memory_order_release,
                                                  memory_order_relaxed))
        ;
    return set;
}

/* NULL without memory. */
static udpai_counters_set *
join(void)
{
    pthread_once(&registry.once, make_key);
    if (!registry.has_key)
        return NULL;
    pthread_mutex_lock(&registry.mutex);
    udpai_counters_set *set = registry.unused;
    if (set)
        registry.unused = set->next_free;
    pthread_mutex_unlock(&registry.mutex);
    if (!set)
        set = make_set();
    if (set && pthread_setspecific(registry.key, set) != 0) {
        leave(set);
        set = NULL;
    }
    udpai_counters_own = set;
    return set;
}

/* In lines of cache of their own. They are never freed: another thread may be reading them. */
static udpai_counters_block *
make_chunk(void)
{
    char *memory = udpai_alloc(UDPAI_COUNTERS_CHUNK * sizeof(udpai_counters_block) + LINE);
    return memory ? (void *)(memory + (LINE - (uintptr_t)memory % LINE)) : NULL;
}

udpai_counters_block *
udpai_counters_make(uint32_t slot)
{
    udpai_counters_set *set = udpai_counters_own ? udpai_counters_own : join();
    if (!set)
        return NULL;
    _Atomic(udpai_counters_block *) *place = &set->chunks[slot / UDPAI_COUNTERS_CHUNK];
    udpai_counters_block *chunk = atomic_load_explicit(place, memory_order_relaxed);
    if (!chunk) {
        chunk = make_chunk();
        if (!chunk)
            return NULL;
        atomic_store_explicit(place, chunk, memory_order_release);
    }
    return &chunk[slot % UDPAI_COUNTERS_CHUNK];
}

/* ---- slots ---- */

bool
udpai_counters_open(udpai_counters_account *account)
{
    pthread_mutex_lock(&registry.mutex);
    bool is_free = registry.n_free_slots || registry.n_slots < UDPAI_COUNTERS_SLOTS;
    if (is_free)
        account->slot = registry.n_free_slots ? registry.free_slots[--registry.n_free_slots]
                                              : registry.n_slots++;
    pthread_mutex_unlock(&registry.mutex);
    return is_free;
}

/* The block of a slot in a set; NULL: it was not counted on there. */
static udpai_counters_block *
block_in(udpai_counters_set *set, uint32_t slot)
{
    udpai_counters_block *chunk =
        atomic_load_explicit(&set->chunks[slot / UDPAI_COUNTERS_CHUNK], memory_order_acquire);
    return chunk ? &chunk[slot % UDPAI_COUNTERS_CHUNK] : NULL;
}

/* All counting on it happened before the caller knew that there is none any more. */
void
udpai_counters_close(udpai_counters_account *account)
{
    udpai_counters_set *set = atomic_load_explicit(&sets, memory_order_acquire);
    for (; set; set = set->next) {
        udpai_counters_block *block = block_in(set, account->slot);
        for (unsigned i = 0; block && i < UDPAI_COUNTERS_PER_BLOCK; i++)
            atomic_store_explicit(&block->counters[i], 0, memory_order_relaxed);
    }
    pthread_mutex_lock(&registry.mutex);
    registry.free_slots[registry.n_free_slots++] = account->slot;
    pthread_mutex_unlock(&registry.mutex);
}

/* ---- reading ---- */

static void
add_block(const udpai_counters_block *block, unsigned first, unsigned n, uint64_t *sums)
{
    for (unsigned i = 0; i < n; i++)
        sums[i] += atomic_load_explicit(&block->counters[first + i], memory_order_acquire);
}

void
udpai_counters_read(const udpai_counters_account *account,
                    unsigned first,
                    unsigned n,
                    uint64_t *sums)
{
    udpai_counters_set *set = atomic_load_explicit(&sets, memory_order_acquire);
    add_block(&account->spare, first, n, sums);
    for (; set; set = set->next) {
        const udpai_counters_block *block = block_in(set, account->slot);
        if (block)
            add_block(block, first, n, sums);
    }
}

/* ---- sums of floating-point numbers: their bits ---- */

static double
number(uint64_t bits)
{
    double value;
    memcpy(&value, &bits, sizeof(value));
    return value;
}

static uint64_t
bits_of(double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof(bits));
    return bits;
}

static double
number_in(const udpai_counters_block *block, unsigned counter)
{
    return number(atomic_load_explicit(&block->counters[counter], memory_order_acquire));
}

void
udpai_counters_add(udpai_counters_account *account, unsigned counter, double value)
{
    udpai_counters_block *own = udpai_counters_find(account->slot);
    if (own) {
        uint64_t sum = atomic_load_explicit(&own->counters[counter], memory_order_relaxed);
        atomic_store_explicit(&own->counters[counter], bits_of(number(sum) + value),
                              memory_order_release);
        return;
    }
    _Atomic uint64_t *shared = &account->spare.counters[counter];
    uint64_t before = atomic_load_explicit(shared, memory_order_relaxed);
    while (!atomic_compare_exchange_weak_explicit(shared, &before, bits_of(number(before) + value),
                                                  memory_order_release, memory_order_relaxed))
        ;
}

double
udpai_counters_read_sum(const udpai_counters_account *account, unsigned counter)
{
    udpai_counters_set *set = atomic_load_explicit(&sets, memory_order_acquire);
    double sum = number_in(&account->spare, counter);
    for (; set; set = set->next) {
        const udpai_counters_block *block = block_in(set, account->slot);
        if (block)
            sum += number_in(block, counter);
    }
    return sum;
}
