/* SPDX-License-Identifier: Apache-2.0 */
/* Where the stream thread waits for sockets of its own, gRPC serves those alone that we have
 * dialled: what completes there comes by an inbox. */
#include <stdatomic.h>

#include "base/alloc.h"
#include "loop/thread.h"
#include "transport/grpc/grpc_internal.h"

struct udpai_completions {
    udpai_stream_thread *thread;
    pthread_t pthread;
    udpai_inbox inbox;
    /* Orders what the stream thread did with a tag, before it handed the tag to gRPC again, before
     * what is done with it here. gRPC does that, too, but no sanitizer looks into it. */
    atomic_uint n_taken;
    udpai_tag shut_down;
    bool is_shut_down;
};

static void
on_shut_down(udpai_tag *tag, bool ok)
{
    (void)ok;
    UDPAI_CONTAINER_OF(tag, udpai_completions, shut_down)->is_shut_down = true;
}

static void
push(udpai_completions *self, udpai_tag *tag, bool ok)
{
    (void)atomic_load_explicit(&self->n_taken, memory_order_acquire);
    tag->ok = ok;
    udpai_list_init(&tag->node);
    (void)udpai_inbox_push(&self->inbox, &tag->node);
}

static void *
run(void *userdata)
{
    udpai_completions *self = userdata;
    grpc_event event;
    do {
        event =
            grpc_completion_queue_next(self->thread->cq, gpr_inf_future(GPR_CLOCK_MONOTONIC), NULL);
        if (event.type == GRPC_OP_COMPLETE)
            push(self, event.tag, event.success);
    } while (event.type != GRPC_QUEUE_SHUTDOWN);
    push(self, &self->shut_down, true);
    return NULL;
}

bool
udpai_completions_take(udpai_completions *self)
{
    udpai_list completed, *at;
    udpai_list_init(&completed);
    udpai_inbox_take(&self->inbox, &completed);
    while ((at = udpai_list_pop(&completed))) {
        udpai_tag *tag = UDPAI_LIST_ENTRY(at, udpai_tag, node);
        bool ok = tag->ok;
        if (tag->is_out)
            udpai_tag_forget(self->thread, tag);
        atomic_fetch_add_explicit(&self->n_taken, 1, memory_order_release);
        tag->done(tag, ok);
    }
    return !self->is_shut_down;
}

udpa_err
udpai_completions_new(udpai_completions **ret_completions, udpai_stream_thread *thread)
{
    udpai_completions *self = udpai_alloc(sizeof(*self));
    if (!self ||
        udpai_inbox_init(&self->inbox, thread->acceptance->wake, thread->accepting) != UDPA_OK) {
        udpai_free(self);
        return UDPA_ERR_NOMEM;
    }
    self->thread = thread;
    self->shut_down.done = on_shut_down;
    if (udpai_thread_begin(&self->pthread, "udpa-completed", run, self) != 0) {
        udpai_inbox_done(&self->inbox);
        udpai_free(self);
        return UDPA_ERR_IO;
    }
    *ret_completions = self;
    return UDPA_OK;
}

udpai_completions *
udpai_completions_free(udpai_completions *self)
{
    if (!self)
        return NULL;
    pthread_join(self->pthread, NULL);
    udpai_inbox_done(&self->inbox);
    udpai_free(self);
    return NULL;
}
