/* SPDX-License-Identifier: Apache-2.0 */
#include "recorder/bank.h"

#include <pthread.h>

#include "base/alloc.h"
#include "base/vector.h"

#define LINE 64 /* bytes of cache that are written together */

_Thread_local udpai_bank_set *udpai_bank_own;

static struct {
    pthread_mutex_t mutex;
    pthread_once_t once;
    pthread_key_t key; /* of a thread's set: tells when the thread ends */
    bool has_key;
    udpai_bank_set *unused; /* sets of threads that have ended */
    uint32_t n_slots;       /* that were ever in use */
    uint32_t free_slots[UDPAI_BANK_SLOTS];
    uint32_t n_free_slots;
} bank = {.mutex = PTHREAD_MUTEX_INITIALIZER, .once = PTHREAD_ONCE_INIT};

/* All sets there ever were; they are read without the mutex. */
static _Atomic(udpai_bank_set *) sets;

/* ---- threads ---- */

/* The thread ends, or cannot be told of: its counts stay in the set. */
static void
leave(void *set)
{
    udpai_bank_set *left = set;
    udpai_bank_own = NULL; /* what ends later may count once more */
    pthread_mutex_lock(&bank.mutex);
    left->next_free = bank.unused;
    bank.unused = left;
    pthread_mutex_unlock(&bank.mutex);
}

static void
make_key(void)
{
    bank.has_key = pthread_key_create(&bank.key, leave) == 0;
}

static udpai_bank_set *
make_set(void)
{
    udpai_bank_set *set = udpai_alloc(sizeof(*set));
    if (!set)
        return NULL;
    set->next = atomic_load_explicit(&sets, memory_order_relaxed);
    while (!atomic_compare_exchange_weak_explicit(&sets, &set->next, set, memory_order_release,
                                                  memory_order_relaxed))
        ;
    return set;
}

/* NULL without memory. */
static udpai_bank_set *
join(void)
{
    pthread_once(&bank.once, make_key);
    if (!bank.has_key)
        return NULL;
    pthread_mutex_lock(&bank.mutex);
    udpai_bank_set *set = bank.unused;
    if (set)
        bank.unused = set->next_free;
    pthread_mutex_unlock(&bank.mutex);
    if (!set)
        set = make_set();
    if (set && pthread_setspecific(bank.key, set) != 0) {
        leave(set);
        set = NULL;
    }
    udpai_bank_own = set;
    return set;
}

/* In lines of cache of their own. They are never freed: somebody may be reading them. */
static udpai_bank_block *
make_chunk(void)
{
    char *memory = udpai_alloc(UDPAI_BANK_CHUNK * sizeof(udpai_bank_block) + LINE);
    return memory ? (void *)(memory + (LINE - (uintptr_t)memory % LINE)) : NULL;
}

udpai_bank_block *
udpai_bank_make(uint32_t slot)
{
    udpai_bank_set *set = udpai_bank_own ? udpai_bank_own : join();
    if (!set)
        return NULL;
    _Atomic(udpai_bank_block *) *place = &set->chunks[slot / UDPAI_BANK_CHUNK];
    udpai_bank_block *chunk = atomic_load_explicit(place, memory_order_relaxed);
    if (!chunk) {
        chunk = make_chunk();
        if (!chunk)
            return NULL;
        atomic_store_explicit(place, chunk, memory_order_release);
    }
    return &chunk[slot % UDPAI_BANK_CHUNK];
}

/* ---- slots ---- */

bool
udpai_bank_open(udpai_bank_account *account)
{
    pthread_mutex_lock(&bank.mutex);
    bool is_free = bank.n_free_slots || bank.n_slots < UDPAI_BANK_SLOTS;
    if (is_free)
        account->slot = bank.n_free_slots ? bank.free_slots[--bank.n_free_slots] : bank.n_slots++;
    pthread_mutex_unlock(&bank.mutex);
    return is_free;
}

/* The block of a slot in a set; NULL: it was not counted on there. */
static udpai_bank_block *
block_in(udpai_bank_set *set, uint32_t slot)
{
    udpai_bank_block *chunk =
        atomic_load_explicit(&set->chunks[slot / UDPAI_BANK_CHUNK], memory_order_acquire);
    return chunk ? &chunk[slot % UDPAI_BANK_CHUNK] : NULL;
}

/* Whoever has counted on it has done so before whoever closes it knew that nobody does. */
void
udpai_bank_close(udpai_bank_account *account)
{
    udpai_bank_set *set = atomic_load_explicit(&sets, memory_order_acquire);
    for (; set; set = set->next) {
        udpai_bank_block *block = block_in(set, account->slot);
        for (unsigned i = 0; block && i < UDPAI_BANK_COUNTERS; i++)
            atomic_store_explicit(&block->counters[i], 0, memory_order_relaxed);
    }
    pthread_mutex_lock(&bank.mutex);
    bank.free_slots[bank.n_free_slots++] = account->slot;
    pthread_mutex_unlock(&bank.mutex);
}

/* ---- reading ---- */

static void
add_block(const udpai_bank_block *block, unsigned first, unsigned n, uint64_t *sums)
{
    for (unsigned i = 0; i < n; i++)
        sums[i] += atomic_load_explicit(&block->counters[first + i], memory_order_acquire);
}

void
udpai_bank_read(const udpai_bank_account *account, unsigned first, unsigned n, uint64_t *sums)
{
    udpai_bank_set *set = atomic_load_explicit(&sets, memory_order_acquire);
    add_block(&account->spare, first, n, sums);
    for (; set; set = set->next) {
        const udpai_bank_block *block = block_in(set, account->slot);
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
number_in(const udpai_bank_block *block, unsigned counter)
{
    return number(atomic_load_explicit(&block->counters[counter], memory_order_acquire));
}

void
udpai_bank_add(udpai_bank_account *account, unsigned counter, double value)
{
    udpai_bank_block *own = udpai_bank_find(account->slot);
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
udpai_bank_read_sum(const udpai_bank_account *account, unsigned counter)
{
    udpai_bank_set *set = atomic_load_explicit(&sets, memory_order_acquire);
    double sum = number_in(&account->spare, counter);
    for (; set; set = set->next) {
        const udpai_bank_block *block = block_in(set, account->slot);
        if (block)
            sum += number_in(block, counter);
    }
    return sum;
}
