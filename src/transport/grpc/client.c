/* SPDX-License-Identifier: Apache-2.0 */
/* Dialling. A call is begun at once; once its headers were sent the connection is established, and
 * only then there is a session. If it fails before, the call's status has the reason. */
#include "base/alloc.h"
#include "base/log.h"
#include "transport/grpc/grpc_internal.h"

#define LOGGED_TEXT_MAX 1000

/* ---- words ---- */

static bool
contains(udpai_str text, const char *words)
{
    return text.len && memmem(text.data, text.len, words, strlen(words));
}

/* What comes after these words; all of it if they are not there. */
static udpai_str
behind(udpai_str text, const char *words)
{
    const char *found = text.len ? memmem(text.data, text.len, words, strlen(words)) : NULL;
    if (!found)
        return text;
    found += strlen(words);
    return (udpai_str){found, text.len - (size_t)(found - text.data)};
}

/* gRPC: "failed to connect to all addresses; last error: UNKNOWN: ipv4:127.0.0.1:9: Failed to
 * connect to remote host: Connection refused" */
udpai_str
udpai_client_reason(udpai_str text, const char **ret_hint)
{
    static const struct {
        const char *words, *hint;
    } hints[] = {
        {"Connection refused", "; does it run, and listen there?"},
        {"certificate verify failed",
         "; is it signed by another CA than those of ca_file, or has it expired?"},
        {"is not in peer certificate", "; set server_name to a name that the certificate has"},
        {"wrong version number", "; does it listen without TLS?"},
        {"Socket closed",
         "; it closed the connection at once: does it want TLS, or another certificate of ours?"},
        {"DNS resolution failed", "; is the name right?"},
        {"no answer within", "; does something on the way drop what we send?"},
    };

    *ret_hint = "";
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(hints) && !**ret_hint; i++)
        if (contains(text, hints[i].words))
            *ret_hint = hints[i].hint;
    static const char *const before[] = {
        "last error: ", "UNKNOWN: ", "UNAVAILABLE: ", "Failed to connect to remote host: "};
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(before); i++)
        text = behind(text, before[i]);
    return text;
}

/* A server closes the connection with the first (GOAWAY); the second is how our gRPC may report it.
 */
static bool
is_tried_too_often(udpai_str text)
{
    return contains(text, "too_many_pings") || contains(text, "Too many pings");
}

udpa_error *
udpai_client_why(const udpai_stream *stream)
{
    const udpai_dialled *dialled = stream->dialled;
    if (dialled->code == GRPC_STATUS_OK && dialled->is_connected)
        return NULL;
    udpa_err code = udpa_err_from_grpc((int)dialled->code);
    if (code == UDPA_OK)
        code = UDPA_ERR_UNAVAILABLE;
    const char *address = udpai_grpc_target_address(dialled->target, dialled->server), *hint = "";
    udpai_str text = {(const char *)GRPC_SLICE_START_PTR(dialled->text),
                      udpai_min_size(GRPC_SLICE_LENGTH(dialled->text), LOGGED_TEXT_MAX)};
    if (is_tried_too_often(text))
        udpai_grpc_target_try_less(dialled->target);
    if (dialled->is_connected)
        return udpa_error_new(code, NULL, "%s has ended the stream: %.*s", address, (int)text.len,
                              text.data);
    text = udpai_client_reason(text, &hint);
    return udpa_error_new(code, NULL, "cannot connect to %s: %.*s%s", address, (int)text.len,
                          text.data, hint);
}

/* ---- reports of what never became a session ---- */

void
udpai_client_report_closed(udpai_stream_thread *thread,
                           udpai_report *report,
                           uint64_t link,
                           udpa_error *error)
{
    report->link = link;
    report->error = error;
    if (link >= UDPAI_SIDE_LINKS && link < UDPAI_SIDE_LINKS_END) {
        udpai_hub_not_opened(thread->hub, link, error);
        udpai_report_free(report);
        return;
    }
    thread->report(thread->userdata, report);
}

void
udpai_client_closed(udpai_stream *stream)
{
    udpai_dialled *dialled = stream->dialled;
    udpa_error *error = stream->is_finishing ? stream->status : stream->why;
    udpai_client_report_closed(stream->thread, UDPAI_TAKE(dialled->report), dialled->link,
                               udpa_error_ref(error));
}

/* ---- dialling ---- */

uint64_t
udpai_client_patience_ms(const udpai_stream *stream)
{
    uint64_t ms = stream->thread->timing.dial_timeout_ms;
    return stream->dialled->is_hurried && ms > UDPAI_DIAL_HURRIED_MS ? UDPAI_DIAL_HURRIED_MS : ms;
}

static udpai_dialled *
make_dialled(udpai_order *order)
{
    udpai_dialled *dialled = udpai_alloc(sizeof(*dialled));
    if (!dialled)
        return NULL;
    dialled->link = order->link;
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
begin_call(udpai_stream *stream)
{
    udpai_stream_thread *thread = stream->thread;
    udpai_dialled *dialled = stream->dialled;
    const char *path = udpai_grpc_target_method(dialled->target)->path;
    dialled->channel = udpai_grpc_target_channel(dialled->target, dialled->server);
    stream->max_message_bytes = thread->limits.max_source_message_bytes;
    if (!dialled->is_source && thread->limits.max_message_bytes)
        stream->max_message_bytes = thread->limits.max_message_bytes;
    stream->call = grpc_channel_create_call(dialled->channel, NULL, GRPC_PROPAGATE_DEFAULTS,
                                            thread->cq, grpc_slice_from_static_string(path), NULL,
                                            gpr_inf_future(GPR_CLOCK_MONOTONIC), NULL);
    udpai_timer_set(&thread->wheel, &stream->deadline,
                    thread->wheel.now_ms + udpai_client_patience_ms(stream));
    const grpc_op op = {.op = GRPC_OP_SEND_INITIAL_METADATA};
    (void)udpai_stream_start(stream, &op, 1, &stream->write_tag);
}

/* Takes the report over; false: there is no memory, and it does not. */
static bool
dial(udpai_stream_thread *thread, udpai_order *order, udpai_report *report)
{
    if (udpai_grpc_target_http_client(order->target))
        return udpai_polled_dial(thread, order, report);
    udpai_dialled *dialled = make_dialled(order);
    udpai_stream *stream = dialled ? udpai_stream_new(thread, NULL) : NULL;
    if (!stream) {
        if (dialled)
            udpai_grpc_target_unref(dialled->target);
        udpai_free(dialled);
        return false;
    }
    dialled->report = report;
    stream->dialled = dialled;
    begin_call(stream);
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

static void
begin_session(udpai_stream *stream)
{
    UDPA_AUTO(udpai_identity_unref) udpai_identity *identity = NULL;
    UDPA_AUTO(udpa_error_unref) udpa_error *error = NULL;
    udpai_trust *trust = udpai_grpc_target_trust(stream->dialled->target);
    udpa_err err = udpai_stream_know_peer(stream, trust, &identity, &error);
    if (err == UDPA_OK)
        err = udpai_session_stream_open(stream, udpai_grpc_target_method(stream->dialled->target),
                                        identity, &error);
    if (err != UDPA_OK)
        udpai_stream_finish(stream, error);
}

void
udpai_client_connected(udpai_stream *stream, bool ok)
{
    udpai_dialled *dialled = stream->dialled;
    udpai_timer_cancel(&stream->deadline);
    if (ok && !dialled->is_given_up) {
        dialled->is_connected = true;
        begin_session(stream);
    } else {
        stream->is_broken = true;
    }
}

/* ---- giving up ---- */

void
udpai_client_give_up(udpai_stream *stream, grpc_status_code code, const char *why)
{
    stream->dialled->is_given_up = true;
    grpc_call_cancel_with_status(stream->call, code, why, NULL);
}

/* The order may have met a session that was reported but not yet known to the sender of the order.
 */
void
udpai_client_stop_dialling(udpai_stream_thread *thread, uint64_t link)
{
    udpai_bridges_stop_dialling(thread, link);
    UDPAI_LIST_FOREACH (at, &thread->streams) {
        udpai_stream *stream = UDPAI_LIST_ENTRY(at, udpai_stream, node);
        if (!stream->dialled || stream->dialled->link != link)
            continue;
        udpai_session *session = udpai_session_of_stream(stream);
        if (session)
            udpai_session_finish(session, NULL);
        else if (!stream->dialled->is_connected)
            udpai_client_give_up(stream, GRPC_STATUS_CANCELLED, "it is not wanted any more");
    }
}
