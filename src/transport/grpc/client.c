/* SPDX-License-Identifier: Apache-2.0 */
/* A call that we have dialled: it has a session, or a reason why there is none. */
#include "base/alloc.h"
#include "base/bytes.h"
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
udpai_client_why(const udpai_call *call)
{
    const udpai_dialled *dialled = call->dialled;
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
udpai_client_closed(udpai_call *call)
{
    udpai_dialled *dialled = call->dialled;
    udpa_error *error = call->is_finishing ? call->status : call->why;
    udpai_client_report_closed(call->stream.thread, UDPAI_TAKE(dialled->report), call->stream.link,
                               udpa_error_ref(error));
}

/* ---- being connected ---- */

uint64_t
udpai_client_patience_ms(const udpai_call *call)
{
    uint64_t ms = call->stream.thread->timing.dial_timeout_ms;
    return call->dialled->is_hurried && ms > UDPAI_DIAL_HURRIED_MS ? UDPAI_DIAL_HURRIED_MS : ms;
}

static void
begin_session(udpai_call *call)
{
    UDPA_AUTO(udpai_identity_unref) udpai_identity *identity = NULL;
    UDPA_AUTO(udpa_bytes_unref) udpa_bytes *address = udpai_call_address(call->grpc);
    UDPA_AUTO(udpa_error_unref) udpa_error *error = NULL;
    udpai_trust *trust = udpai_grpc_target_trust(call->dialled->target);
    udpa_err err = address ? udpai_call_know_peer(call, trust, &identity, &error) : UDPA_ERR_NOMEM;
    const udpai_caller caller = {.identity = identity, .address = address};
    if (err == UDPA_OK)
        err = udpai_session_stream_open(
            &call->stream, udpai_grpc_target_method(call->dialled->target), &caller, &error);
    if (err != UDPA_OK)
        udpai_stream_finish(&call->stream, error);
}

void
udpai_client_connected(udpai_call *call, bool ok)
{
    udpai_dialled *dialled = call->dialled;
    udpai_timer_cancel(&call->stream.deadline);
    if (ok && !dialled->is_given_up) {
        dialled->is_connected = true;
        begin_session(call);
    } else {
        call->is_broken = true;
    }
}

/* ---- giving up ---- */

void
udpai_client_give_up(udpai_call *call, grpc_status_code code, const char *why)
{
    call->dialled->is_given_up = true;
    grpc_call_cancel_with_status(call->grpc, code, why, NULL);
}
