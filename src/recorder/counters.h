/* SPDX-License-Identifier: Apache-2.0 */
/* Counters that every thread may count on without a lock and without a line of cache that another
 * thread writes. */

/* A slot is a block of counters, of which each thread has its own. A thread gets its set of blocks
 * when it first counts; when it ends, the set is kept with all its counts for the next thread that
 * begins. So there are as many sets as threads have ever counted at one time, and a sum over the
 * sets never loses anything. One registry serves the process: the way to a thread's set must be
 * short.
 *
 * A gauge is two counters, of which one ends what the other has begun: read the ends first. */
#ifndef UDPAI_COUNTERS_H
#define UDPAI_COUNTERS_H

#include <stdatomic.h>

#include "base/util.h"

#define UDPAI_COUNTERS_PER_BLOCK 8 /* of a block: a line of cache */
#define UDPAI_COUNTERS_CHUNK 64    /* slots of which a thread gets its blocks together */
#define UDPAI_COUNTERS_CHUNKS 1024
#define UDPAI_COUNTERS_SLOTS (UDPAI_COUNTERS_CHUNK * UDPAI_COUNTERS_CHUNKS)

typedef struct udpai_counters_block {
    _Atomic uint64_t counters[UDPAI_COUNTERS_PER_BLOCK];
} udpai_counters_block;

/* The blocks of one thread; written by it alone. */
typedef struct udpai_counters_set {
    _Atomic(udpai_counters_block *) chunks[UDPAI_COUNTERS_CHUNKS]; /* NULL: not counted on yet */
    struct udpai_counters_set *next;                               /* of all; never changes */
    struct udpai_counters_set *next_free;
} udpai_counters_set;

/* A slot, and what is counted on it while a thread has no memory for blocks: shared by all. */
typedef struct udpai_counters_account {
    uint32_t slot;
    udpai_counters_block spare;
} udpai_counters_account;

/* The calling thread's; NULL: it has not counted yet. As near as a variable of a thread can be. */
extern _Thread_local udpai_counters_set *udpai_counters_own
    __attribute__((tls_model("initial-exec")));

/* Opens an account, with all counters zero. False: there are no more. */
bool udpai_counters_open(udpai_counters_account *account);
/* It is not counted on any more. */
void udpai_counters_close(udpai_counters_account *account);

/* Adds the sums of n counters, from the first, to what is there. What happened before something
 * that an earlier call has seen, is seen. */
void udpai_counters_read(const udpai_counters_account *account,
                         unsigned first,
                         unsigned n,
                         uint64_t *sums);
/* The sum of a counter that is added to by udpai_counters_add(). */
double udpai_counters_read_sum(const udpai_counters_account *account, unsigned counter);

/* Makes the calling thread's block; NULL without memory. */
udpai_counters_block *udpai_counters_make(uint32_t slot);

/* The calling thread's block. */
static inline udpai_counters_block *
udpai_counters_find(uint32_t slot)
{
    const udpai_counters_set *own = udpai_counters_own;
    if (__builtin_expect(own != NULL, 1)) {
        udpai_counters_block *chunk =
            atomic_load_explicit(&own->chunks[slot / UDPAI_COUNTERS_CHUNK], memory_order_relaxed);
        if (__builtin_expect(chunk != NULL, 1))
            return &chunk[slot % UDPAI_COUNTERS_CHUNK];
    }
    return udpai_counters_make(slot);
}

static inline void
udpai_counters_count(udpai_counters_account *account, unsigned counter)
{
    udpai_counters_block *own = udpai_counters_find(account->slot);
    if (__builtin_expect(own != NULL, 1)) {
        uint64_t n = atomic_load_explicit(&own->counters[counter], memory_order_relaxed);
        /* Releases what the thread knows: what was begun elsewhere is seen with its end. */
        atomic_store_explicit(&own->counters[counter], n + 1, memory_order_release);
    } else {
        atomic_fetch_add_explicit(&account->spare.counters[counter], 1, memory_order_release);
    }
}

/* Adds to a counter that is a floating-point number. */
void udpai_counters_add(udpai_counters_account *account, unsigned counter, double value);

#endif
