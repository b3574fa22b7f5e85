/* SPDX-License-Identifier: Apache-2.0 */
/* What the stream thread is asked by others, until its end: there is nothing more to wait for. */
#include "transport/grpc/grpc_internal.h"

bool
udpai_thread_request(udpai_stream_thread *thread,
                     udpai_request *request,
                     void (*run)(udpai_request *request))
{
    udpai_list_init(&request->node);
    request->thread = thread;
    request->run = run;
    return udpai_inbox_push(&thread->requests, &request->node);
}

void
udpai_thread_check_end(udpai_stream_thread *thread)
{
    if (!thread->is_stopping || thread->is_queue_closed || thread->n_streams ||
        !udpai_list_empty(&thread->listeners) || !udpai_list_empty(&thread->bridges))
        return;
    thread->is_queue_closed = true;
    udpai_list orders, requests, *at;
    udpai_list_init(&orders);
    udpai_list_init(&requests);
    udpai_inbox_close(&thread->orders, &orders);
    udpai_inbox_close(&thread->requests, &requests);
    while ((at = udpai_list_pop(&orders)))
        udpai_order_free(UDPAI_LIST_ENTRY(at, udpai_order, node));
    while ((at = udpai_list_pop(&requests)))
        UDPAI_LIST_ENTRY(at, udpai_request, node)->run(UDPAI_LIST_ENTRY(at, udpai_request, node));
    /* Nobody wakes us any more; what is left in the queue comes out of it before its end does. */
    grpc_call_unref(thread->orders_wake.call);
    grpc_call_unref(thread->requests_wake.call);
    grpc_completion_queue_shutdown(thread->cq);
}

void
udpai_thread_count(udpai_stream_thread *thread)
{
    atomic_store_explicit(&thread->stat_streams, thread->n_streams, memory_order_relaxed);
}
