/* SPDX-License-Identifier: Apache-2.0 */
/* Sessions on the stream thread with a stream that is no call of gRPC. To the hub they are streams
 * like any other; what it must not receive before its call has returned waits in due_bridges. */
#include "transport/grpc/grpc_internal.h"

void
udpai_bridge_init(udpai_bridge *bridge)
{
    udpai_list_init(&bridge->node);
    udpai_list_init(&bridge->in_due);
}

void
udpai_bridge_due(udpai_bridge *bridge)
{
    if (!udpai_list_linked(&bridge->in_due))
        udpai_list_append(&bridge->thread->due_bridges, &bridge->in_due);
}

void
udpai_bridge_written(udpai_bridge *bridge, udpa_err err)
{
    if (err != UDPA_OK && !bridge->error)
        bridge->error = udpa_error_new(err, NULL, "%s", udpa_err_text(err));
    bridge->is_written = true;
    udpai_bridge_due(bridge);
}

/* The hub knows the stream of a bridge by its address alone. */
void
udpai_bridge_stream_finish(udpai_stream *stream, const udpa_error *status)
{
    udpai_bridge *bridge = (udpai_bridge *)stream;
    if (!bridge->error)
        bridge->error = udpa_error_ref((udpa_error *)(uintptr_t)status);
    bridge->is_finished = true;
    if (bridge->stop)
        bridge->stop(bridge);
    udpai_bridge_due(bridge);
}

void
udpai_bridge_finish(udpai_bridge *bridge, udpa_error *error)
{
    if (bridge->session) {
        udpai_session_finish(bridge->session, error);
        return;
    }
    if (!bridge->is_finished)
        udpai_bridge_stream_finish((udpai_stream *)bridge, error);
    udpa_error_unref(error);
}

void
udpai_bridge_end(udpai_bridge *bridge)
{
    udpai_stream_thread *thread = bridge->thread;
    udpai_list_remove(&bridge->node);
    udpai_list_remove(&bridge->in_due);
    if (bridge->session)
        udpai_session_closed(UDPAI_TAKE(bridge->session), bridge->error);
    bridge->ended(bridge);
    udpai_thread_check_end(thread);
}

static void
settle(udpai_bridge *bridge)
{
    bool is_written = bridge->is_written;
    bridge->is_written = false;
    if (bridge->is_finished && bridge->n_requests == 0)
        udpai_bridge_end(bridge);
    else if (bridge->error && !bridge->is_finished)
        udpai_session_finish(bridge->session, udpa_error_ref(bridge->error));
    else if (is_written && !bridge->is_finished)
        udpai_session_written(bridge->session);
}

bool
udpai_bridges_settle(udpai_stream_thread *thread)
{
    udpai_list due, *at;
    udpai_list_init(&due);
    udpai_list_splice(&due, &thread->due_bridges);
    if (udpai_list_empty(&due))
        return false;
    while ((at = udpai_list_pop(&due)))
        settle(UDPAI_LIST_ENTRY(at, udpai_bridge, in_due));
    return true;
}

void
udpai_bridges_finish(udpai_stream_thread *thread, const udpa_error *why)
{
    UDPAI_LIST_FOREACH (at, &thread->bridges)
        udpai_bridge_finish(UDPAI_LIST_ENTRY(at, udpai_bridge, node),
                            udpa_error_ref((udpa_error *)(uintptr_t)why));
}

void
udpai_bridges_stop_dialling(udpai_stream_thread *thread, uint64_t link)
{
    UDPAI_LIST_FOREACH (at, &thread->bridges) {
        udpai_bridge *bridge = UDPAI_LIST_ENTRY(at, udpai_bridge, node);
        if (bridge->link == link)
            udpai_bridge_finish(bridge, NULL);
    }
}
