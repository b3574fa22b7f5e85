/* SPDX-License-Identifier: Apache-2.0 */
/* Answers peers while the stream thread is busy. gRPC reads its sockets on the threads that wait
 * for a completion queue, and there is but one: while that decodes, or sends a hundred thousand
 * resources, no thread answers peers that try whether we live, nor takes the answers of those that
 * we try; so that a node that is only busy would be taken for a dead one, or take others for dead.
 *
 * When a turn lasts for long, this thread waits at a queue of its own, on which nothing ever comes,
 * and so reads the sockets of all: with gRPC's poller for Linux (epoll1) they are in one set. What
 * has come for the stream thread waits for it in its own queue. A thread that hangs for good is not
 * hidden for ever. */
#include "transport/grpc/backup_poller.h"

#include <pthread.h>
#include <time.h>

#include "base/alloc.h"
#include "base/log.h"
#include "loop/clock.h"
#include "loop/thread.h"
#include "transport/grpc/grpc_internal.h"

#define LOOK_MS 200         /* so often it looks whether the stream thread is back */
#define POLLS_MAX_MS 120000 /* at most so long */

struct udpai_backup_poller {
    pthread_t pthread;
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    bool is_ending; /* under the mutex */
    uint64_t stuck_ms;
    grpc_completion_queue *cq;
    atomic_uint_fast64_t busy_since_ms; /* 0: it is not */
};

void
udpai_backup_poller_note(udpai_backup_poller *self, uint64_t now_ms)
{
    if (self)
        atomic_store_explicit(&self->busy_since_ms, now_ms, memory_order_relaxed);
}

static bool
is_needed(const udpai_backup_poller *self)
{
    uint64_t since_ms = atomic_load_explicit(&self->busy_since_ms, memory_order_relaxed);
    uint64_t now_ms = udpai_monotonic_ms();
    return since_ms && now_ms >= since_ms + self->stuck_ms && now_ms < since_ms + POLLS_MAX_MS;
}

/* False: it is to end. */
static bool
wait_for(udpai_backup_poller *self, uint64_t ms)
{
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    uint64_t ns = (uint64_t)until.tv_nsec + ms % 1000 * 1000000;
    until.tv_sec += (time_t)(ms / 1000 + ns / 1000000000);
    until.tv_nsec = (long)(ns % 1000000000);
    pthread_mutex_lock(&self->mutex);
    int woken = 0;
    while (!self->is_ending && woken == 0)
        woken = pthread_cond_timedwait(&self->changed, &self->mutex, &until);
    bool is_ending = self->is_ending;
    pthread_mutex_unlock(&self->mutex);
    return !is_ending;
}

/* Nothing ever comes; what happens, happens in it. */
static void
answer(udpai_backup_poller *self)
{
    const gpr_timespec until =
        gpr_time_add(gpr_now(GPR_CLOCK_MONOTONIC), gpr_time_from_millis(LOOK_MS, GPR_TIMESPAN));
    (void)grpc_completion_queue_next(self->cq, until, NULL);
}

static void *
run(void *userdata)
{
    udpai_backup_poller *self = userdata;
    while (wait_for(self, is_needed(self) ? 0 : self->stuck_ms / 2))
        if (is_needed(self))
            answer(self);
    return NULL;
}

static void
done(udpai_backup_poller *self)
{
    grpc_completion_queue_shutdown(self->cq);
    while (grpc_completion_queue_next(self->cq, gpr_inf_future(GPR_CLOCK_MONOTONIC), NULL).type !=
           GRPC_QUEUE_SHUTDOWN)
        continue;
    grpc_completion_queue_destroy(self->cq);
    pthread_cond_destroy(&self->changed);
    pthread_mutex_destroy(&self->mutex);
    udpai_free(self);
}

udpai_backup_poller *
udpai_backup_poller_new(uint64_t stuck_ms)
{
    udpai_backup_poller *self = udpai_alloc(sizeof(*self));
    pthread_condattr_t attributes;
    if (!self)
        return NULL;
    self->stuck_ms = stuck_ms;
    self->cq = grpc_completion_queue_create_for_next(NULL);
    atomic_init(&self->busy_since_ms, 0);
    pthread_mutex_init(&self->mutex, NULL); /* cannot fail */
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&self->changed, &attributes);
    pthread_condattr_destroy(&attributes);
    if (udpai_thread_begin(&self->pthread, "udpa-stand-in", run, self) == 0)
        return self;
    udpai_log(UDPA_LOG_WARNING, UDPAI_LOG_GRPC,
              "no thread to answer peers while this node is busy: they may take it for dead");
    done(self);
    return NULL;
}

udpai_backup_poller *
udpai_backup_poller_free(udpai_backup_poller *self)
{
    if (!self)
        return NULL;
    pthread_mutex_lock(&self->mutex);
    self->is_ending = true;
    pthread_cond_signal(&self->changed);
    pthread_mutex_unlock(&self->mutex);
    pthread_join(self->pthread, NULL);
    done(self);
    return NULL;
}
