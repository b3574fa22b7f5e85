/* SPDX-License-Identifier: Apache-2.0 */
/* Which sessions have what is waited for, as JSON, and in a few words. */
#include <time.h>

#include "cli/awaited.h"
#include "codec/json_text.h"

typedef Udpa__Status__V1__AcknowledgementStatus status_message;
typedef Udpa__Status__V1__SessionAcknowledgement session_message;

#define N_STATES 8

const char *
udpai_cli_session_state(const session_message *session)
{
    static const char *const texts[N_STATES] = {
        "?",        "not sent yet",       "no answer yet", "rejected",
        "in doubt", "cannot be reported", "is a node",     "has it",
    };
    return session->state < N_STATES ? texts[session->state] : texts[0];
}

static void
put_field(udpai_strbuf *out, const char *name, const char *text)
{
    udpai_strbuf_printf(out, "\"%s\":", name);
    udpai_json_put_string(out, udpai_str_from(text));
    udpai_strbuf_putc(out, ',');
}

static void
put_number(udpai_strbuf *out, const char *name, uint64_t number)
{
    udpai_strbuf_printf(out, "\"%s\":%llu,", name, (unsigned long long)number);
}

/* As proto3 JSON has it. */
static void
put_time(udpai_strbuf *out, const char *name, const Google__Protobuf__Timestamp *time)
{
    struct tm parts;
    time_t seconds = time ? (time_t)time->seconds : 0;
    char text[32] = "";
    if (seconds && gmtime_r(&seconds, &parts))
        strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", &parts);
    if (*text)
        put_field(out, name, text);
}

static void
put_session(udpai_strbuf *out, const session_message *session)
{
    static const char *const names[N_STATES] = {
        "unknown", "behind", "unanswered", "refused", "doubtful", "untold", "sent", "acknowledged",
    };
    udpai_strbuf_putc(out, '{');
    put_field(out, "session", session->id);
    put_field(out, "protocol", session->protocol);
    put_field(out, "address", session->peer_address);
    put_field(out, "identity", session->peer_identity);
    put_field(out, "nodeId", session->peer_node_id);
    put_time(out, "connected", session->connected);
    put_time(out, "since", session->since);
    if (*session->message) {
        put_number(out, "code", (uint64_t)session->code);
        put_field(out, "reason", session->message);
    }
    udpai_strbuf_printf(out, "\"state\":\"%s\"}",
                        session->state < N_STATES ? names[session->state] : names[0]);
}

static void
put_sessions(udpai_strbuf *out, const udpai_cli_awaited *awaited)
{
    const status_message *status = awaited->status;
    bool any = false;
    udpai_strbuf_puts(out, "\"sessions\":[");
    for (size_t i = 0; i < status->n_sessions; i++) {
        udpai_strbuf_puts(out, i ? "," : "");
        put_session(out, status->sessions[i]);
    }
    udpai_strbuf_puts(out, "],\"left\":[");
    for (size_t i = 0; i < awaited->absent.n; i++) {
        if (!awaited->absent.items[i].has_left)
            continue;
        udpai_strbuf_puts(out, any ? "," : "");
        udpai_json_put_string(out, udpai_str_from(awaited->absent.items[i].peer));
        any = true;
    }
    udpai_strbuf_puts(out, "],");
}

static void
put_status(udpai_strbuf *out, const udpai_cli_awaited *awaited)
{
    const status_message *status = awaited->status;
    udpai_strbuf_printf(out, "\"exists\":%s,", status->exists ? "true" : "false");
    if (status->exists) {
        put_field(out, "version", status->version);
        put_field(out, "contentVersion", status->content_version);
    }
    put_number(out, "subscribed", status->n_subscribed);
    put_number(out, "acknowledged", status->n_acknowledged);
    put_number(out, "refused", status->n_refused);
    put_number(out, "sentToNodes", status->n_sent);
    put_number(out, "untold", status->n_untold);
    put_sessions(out, awaited);
}

static void
put_one(udpai_strbuf *out, const udpai_cli_awaited_list *list, size_t index)
{
    static const char *const names[] = {
        [UDPAI_CLI_UNKNOWN] = "unknown",           [UDPAI_CLI_WAITING] = "waiting",
        [UDPAI_CLI_REPLACED] = "replaced",         [UDPAI_CLI_REFUSED_BY] = "refused",
        [UDPAI_CLI_ACKNOWLEDGED] = "acknowledged",
    };
    const udpai_cli_awaited *awaited = &list->items.items[index];
    udpai_strbuf_putc(out, '{');
    put_field(out, "typeUrl", awaited->type_url);
    put_field(out, "name", awaited->status ? awaited->status->name : awaited->name);
    if (awaited->version)
        put_field(out, "awaitedVersion", awaited->version);
    if (awaited->status)
        put_status(out, awaited);
    udpai_strbuf_printf(out, "\"result\":\"%s\"}", names[udpai_cli_awaited_progress(list, index)]);
}

void
udpai_cli_put_awaited_json(udpai_strbuf *out, const udpai_cli_awaited_list *list)
{
    bool any = false;
    udpai_strbuf_putc(out, '[');
    for (size_t i = 0; i < list->items.n; i++) {
        if (!udpai_cli_awaited_is_meant(list, i))
            continue;
        udpai_strbuf_puts(out, any ? ",\n" : "");
        put_one(out, list, i);
        any = true;
    }
    udpai_strbuf_puts(out, "]\n");
}
