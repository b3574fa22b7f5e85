/* SPDX-License-Identifier: Apache-2.0 */
/* Dialling. A call is begun at once; once its headers were sent the connection is established, and
 * only then there is a session. If it fails before, the call's status has the reason. */
#include "base/alloc.h"
#include "base/log.h"
#include "transport/grpc/grpc_internal.h"

static udpai_dialled *
make_dialled(udpai_order *order)
{
    udpai_dialled *dialled = udpai_alloc(sizeof(*dialled));
    if (!dialled)
        return NULL;
    dialled->is_source = order->is_source;
    dialled->server = order->server;
    dialled->is_hurried = order->is_hurried;
    dialled->target = udpai_grpc_target_ref(order->target);
    dialled->text = grpc_empty_slice();
    grpc_metadata_array_init(&dialled->headers);
    grpc_metadata_array_init(&dialled->trailers);
    return dialled;
}

static void
begin_call(udpai_call *call)
{
    udpai_stream_thread *thread = call->stream.thread;
    udpai_dialled *dialled = call->dialled;
    const char *path = udpai_grpc_target_method(dialled->target)->path;
    dialled->channel = udpai_grpc_target_channel(dialled->target, dialled->server);
    call->max_message_bytes = thread->limits.max_source_message_bytes;
    if (!dialled->is_source && thread->limits.max_message_bytes)
        call->max_message_bytes = thread->limits.max_message_bytes;
    call->grpc = grpc_channel_create_call(dialled->channel, NULL, GRPC_PROPAGATE_DEFAULTS,
                                          thread->cq, grpc_slice_from_static_string(path), NULL,
                                          gpr_inf_future(GPR_CLOCK_MONOTONIC), NULL);
    udpai_timer_set(&thread->wheel, &call->stream.deadline,
                    thread->wheel.now_ms + udpai_client_patience_ms(call));
    const grpc_op op = {.op = GRPC_OP_SEND_INITIAL_METADATA};
    (void)udpai_call_start(call, &op, 1, &call->write_tag);
}

/* Takes the report over; false: there is no memory, and it does not. */
static bool
dial(udpai_stream_thread *thread, udpai_order *order, udpai_report *report)
{
    if (udpai_grpc_target_http_client(order->target))
        return udpai_polled_dial(thread, order, report);
    udpai_dialled *dialled = make_dialled(order);
    udpai_call *call = dialled ? udpai_call_new(thread, NULL, NULL) : NULL;
    if (!call) {
        if (dialled)
            udpai_grpc_target_unref(dialled->target);
        udpai_free(dialled);
        return false;
    }
    dialled->report = report;
    call->dialled = dialled;
    call->stream.link = order->link;
    begin_call(call);
    return true;
}

void
udpai_client_dial(udpai_stream_thread *thread, udpai_order *order)
{
    /* First what reports a failure: federation waits for one or for a session. */
    udpai_report *report = udpai_report_new(UDPAI_REPORT_CLOSED);
    if (report && !dial(thread, order, report)) {
        udpai_client_report_closed(
            thread, report, order->link,
            udpa_error_new(UDPA_ERR_NOMEM, NULL, "cannot dial: out of memory"));
    } else if (!report && order->link >= UDPAI_SIDE_LINKS && order->link < UDPAI_SIDE_LINKS_END) {
        udpai_hub_not_opened(thread->hub, order->link, NULL);
    } else if (!report) {
        udpai_log(UDPA_LOG_ERROR, UDPAI_LOG_GRPC, "out of memory: link %llu is not dialled",
                  (unsigned long long)order->link);
    }
    udpai_order_free(order);
}

/* The order may have met a session that was reported but not yet known to the sender of the order.
 */
void
udpai_client_stop_dialling(udpai_stream_thread *thread, uint64_t link)
{
    udpai_bridges_stop_dialling(thread, link);
    UDPAI_LIST_FOREACH (at, &thread->streams) {
        udpai_stream *stream = UDPAI_LIST_ENTRY(at, udpai_stream, node);
        if (stream->link != link)
            continue;
        udpai_call *call = udpai_call_of(stream);
        udpai_session *session = udpai_session_of_stream(stream);
        if (session)
            udpai_session_finish(session, NULL);
        else if (!call->dialled->is_connected)
            udpai_client_give_up(call, GRPC_STATUS_CANCELLED, "it is not wanted any more");
    }
}
