/* SPDX-License-Identifier: Apache-2.0 */
/* The effective snapshot: one thread puts another in its place, and any number of threads read,
 * without a lock and without waiting.
 *
 * Each thread keeps the snapshot that it has read last, and looks at one number to know whether
 * that is still the newest. If it is not, it writes into a place of its own which one it is about
 * to take, looks whether that is still effective, and takes a reference (hazard pointers). What is
 * put away is released as soon as no thread is about to take it. A thread that does not read any
 * more keeps one old snapshot alive until it ends. */
#ifndef UDPAI_RUNTIME_CURRENT_H
#define UDPAI_RUNTIME_CURRENT_H

#include <stdatomic.h>

#include "base/vector.h"
#include "runtime/snapshot.h"

typedef struct udpai_runtime_current {
    _Atomic(udpai_runtime_snapshot *) snapshot;
    atomic_uint_fast64_t generation; /* of all in the process; never the same of two */
    UDPAI_VECTOR(udpai_runtime_snapshot *) retired; /* a thread was about to take them */
} udpai_runtime_current;

/* Consumes the reference. */
void udpai_runtime_current_init(udpai_runtime_current *current, udpai_runtime_snapshot *snapshot);
/* No thread reads any more, or will. */
void udpai_runtime_current_done(udpai_runtime_current *current);

/* Consumes the reference. One thread at a time. False: without memory; nothing has changed, and the
 * reference is the caller's. */
bool udpai_runtime_current_set(udpai_runtime_current *current, udpai_runtime_snapshot *snapshot);

/* The newest; any thread. Borrowed: it is there until this thread calls the next time. NULL: there
 * is no memory for what a thread needs, once; a reference can be taken all the same. */
const udpai_runtime_snapshot *udpai_runtime_current_peek(udpai_runtime_current *current);
/* A reference to the newest; never NULL. */
udpai_runtime_snapshot *udpai_runtime_current_take(udpai_runtime_current *current);

#endif
