/* SPDX-License-Identifier: Apache-2.0 */
/* How changes come to the thread of the queue. A call on a channel that leads nowhere is there to
 * wake it: an empty batch completes at once, on the queue, whoever starts it. */
#include "bare/bare.h"

static void
apply(bare_server *server, const bare_record *records, size_t n)
{
    for (size_t i = 0; i < n; i++)
        bare_store_change(&server->store, records[i].index, records[i].serial);
    bare_streams_send(server);
}

static void
on_wake(bare_tag *tag, bool ok)
{
    bare_server *server = UDPAI_CONTAINER_OF(tag, bare_server, inbox.tag);
    bare_inbox *inbox = &server->inbox;
    pthread_mutex_lock(&inbox->mutex);
    size_t n = inbox->records.n;
    bare_record *records = UDPAI_TAKE(inbox->records.items);
    inbox->records.n = inbox->records.capacity = 0;
    pthread_mutex_unlock(&inbox->mutex);
    apply(server, records, n);
    udpai_free(records);
}

/* It is woken by the first; by then it takes all that have come. */
void
bare_inbox_push(void *userdata, size_t index, uint64_t serial)
{
    bare_inbox *inbox = &((bare_server *)userdata)->inbox;
    pthread_mutex_lock(&inbox->mutex);
    bool was_pushed = udpai_vector_push(&inbox->records, ((bare_record){index, serial}));
    bool is_first = inbox->records.n == 1;
    pthread_mutex_unlock(&inbox->mutex);
    if (!was_pushed)
        peer_fail("no memory for a change");
    if (is_first)
        grpc_call_start_batch(inbox->wake, NULL, 0, &inbox->tag, NULL);
}

void
bare_inbox_init(bare_server *server)
{
    grpc_channel *lame = grpc_lame_client_channel_create(NULL, GRPC_STATUS_UNAVAILABLE, "");
    server->inbox.wake = grpc_channel_create_call(lame, NULL, GRPC_PROPAGATE_DEFAULTS, server->cq,
                                                  grpc_slice_from_static_string("/wake"), NULL,
                                                  gpr_inf_future(GPR_CLOCK_MONOTONIC), NULL);
    grpc_channel_destroy(lame); /* the call keeps it */
    server->inbox.tag.done = on_wake;
    pthread_mutex_init(&server->inbox.mutex, NULL); /* cannot fail */
}

void
bare_inbox_done(bare_inbox *inbox)
{
    pthread_mutex_destroy(&inbox->mutex);
    udpai_vector_done(&inbox->records);
}
