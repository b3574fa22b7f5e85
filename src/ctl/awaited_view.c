/* SPDX-License-Identifier: Apache-2.0 */
#include "ctl/awaited_view.h"

#include <time.h>

#include "cli/names.h"
#include "codec/json_text.h"
#include "ctl/status_view.h"

typedef Udpa__Status__V1__AcknowledgementStatus status_message;
typedef Udpa__Status__V1__SessionAcknowledgement session_message;

#define N_STATES 8

static bool
is_listed(const session_message *session)
{
    return session->state != UDPA__STATUS__V1__SESSION_ACKNOWLEDGEMENT__STATE__ACKNOWLEDGED;
}

/* ---- a line for each ---- */

static void
put_kind(udpai_strbuf *out, const udpai_ctl_awaited *awaited)
{
    const char *name =
        awaited->status && *awaited->status->name ? awaited->status->name : awaited->name;
    udpai_cli_put_text(out, udpai_cli_type_short(udpai_str_from(awaited->type_url)));
    udpai_strbuf_putc(out, ' ');
    udpai_cli_put_text(out, udpai_str_from(name));
}

/* What there is in place of what is waited for. */
static void
put_other(udpai_strbuf *out, const udpai_ctl_awaited *awaited)
{
    const char *again = awaited->was_there ? " again" : "",
               *still = awaited->was_there ? "" : "still ";
    if (!awaited->status)
        udpai_strbuf_puts(out, "the node has not answered");
    else if (awaited->is_removal)
        udpai_strbuf_printf(out, "is %sthere%s", still, again);
    else if (!awaited->status->exists)
        udpai_strbuf_puts(out, awaited->was_there ? "is not there any more" : "is not there");
    else
        udpai_strbuf_puts(out, awaited->was_there ? "has been replaced"
                                                  : "is not there in this "
                                                    "version");
    if (!awaited->status || !awaited->status->exists)
        return;
    udpai_strbuf_puts(out, ": the node has version ");
    udpai_cli_put_text(out, udpai_str_from(awaited->status->version));
}

static void
put_count(udpai_strbuf *out, const udpai_ctl_awaited *awaited)
{
    const status_message *status = awaited->status;
    if (status->n_subscribed == 0)
        udpai_strbuf_puts(out, "no subscribers");
    else
        udpai_strbuf_printf(out, "%llu of %llu %s", (unsigned long long)status->n_acknowledged,
                            (unsigned long long)status->n_subscribed,
                            awaited->is_removal ? "have acknowledged its removal" : "have");
    if (awaited->is_removal)
        return;
    udpai_strbuf_puts(out, status->n_subscribed ? " version " : ", version ");
    udpai_cli_put_text(out, udpai_str_from(status->version));
}

/* What is not waited for, and where more can be learnt. */
static void
put_notes(udpai_strbuf *out, const status_message *status)
{
    if (status->n_sent)
        udpai_strbuf_printf(out, " (%llu are other nodes, which were sent it: ask them)",
                            (unsigned long long)status->n_sent);
    if (status->n_untold)
        udpai_strbuf_printf(
            out, " (to %llu it cannot be reported: their protocol cannot express this removal)",
            (unsigned long long)status->n_untold);
}

static void
put_line(udpai_strbuf *out, const udpai_ctl_awaited *awaited)
{
    put_kind(out, awaited);
    udpai_strbuf_puts(out, ": ");
    if (udpai_ctl_awaited_is_there(awaited)) {
        put_count(out, awaited);
        put_notes(out, awaited->status);
    } else {
        put_other(out, awaited);
    }
    udpai_strbuf_putc(out, '\n');
}

/* ---- sessions that have not ---- */

const char *
udpai_ctl_session_state(const session_message *session)
{
    static const char *const texts[N_STATES] = {
        "?",        "not sent yet",       "no answer yet", "rejected",
        "in doubt", "cannot be reported", "is a node",     "has it",
    };
    return session->state < N_STATES ? texts[session->state] : texts[0];
}

static void
add_resource(udpai_cli_table *table, const udpai_ctl_awaited *awaited)
{
    udpai_strbuf text = {0};
    put_kind(&text, awaited);
    udpai_cli_table_add(table, udpai_strbuf_view(&text));
    udpai_strbuf_done(&text);
}

static void
add_sessions(udpai_cli_table *table, const udpai_ctl_awaited *awaited, int64_t now_us)
{
    const status_message *status = awaited->status;
    for (size_t i = 0; i < status->n_sessions; i++) {
        const session_message *session = status->sessions[i];
        if (!is_listed(session))
            continue;
        add_resource(table, awaited);
        udpai_cli_table_add_text(table, session->id);
        udpai_cli_table_add_text(table, udpai_ctl_awaited_peer(session));
        udpai_cli_table_add_text(table, session->peer_address);
        udpai_cli_table_add_text(table, session->protocol);
        udpai_cli_table_add_text(table, udpai_ctl_session_state(session));
        udpai_ctl_table_add_age(table, session->since, now_us);
        udpai_cli_table_add_text(table, session->message);
    }
    for (size_t i = 0; i < awaited->absent.n; i++) {
        if (!awaited->absent.items[i].has_left)
            continue;
        add_resource(table, awaited);
        udpai_cli_table_add_text(table, "");
        udpai_cli_table_add_text(table, awaited->absent.items[i].peer);
        udpai_cli_table_add_text(table, "");
        udpai_cli_table_add_text(table, "");
        udpai_cli_table_add_text(table, "has left");
        udpai_cli_table_add_text(table, "");
        udpai_cli_table_add_text(table, "its stream has ended before it had acknowledged it");
    }
}

void
udpai_ctl_put_awaited(udpai_strbuf *out,
                      udpai_cli_layout *layout,
                      const udpai_ctl_awaited_list *list,
                      int64_t now_us)
{
    static const char *const heads[] = {"RESOURCE", "SESSION", "PEER", "ADDRESS",
                                        "PROTOCOL", "STATE",   "AGE",  "REASON"};
    udpai_cli_table table;
    udpai_cli_table_begin(&table, layout, heads, UDPAI_ARRAY_LEN(heads));
    for (size_t i = 0; i < list->items.n; i++) {
        const udpai_ctl_awaited *awaited = &list->items.items[i];
        if (!udpai_ctl_awaited_is_meant(list, i))
            continue;
        put_line(out, awaited);
        if (udpai_ctl_awaited_is_there(awaited))
            add_sessions(&table, awaited, now_us);
    }
    if (udpai_cli_table_n_rows(&table)) {
        udpai_strbuf_putc(out, '\n');
        udpai_cli_table_write(&table, out);
    }
    udpai_cli_table_done(&table);
}

/* ---- JSON ---- */

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
put_sessions(udpai_strbuf *out, const udpai_ctl_awaited *awaited)
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
put_status(udpai_strbuf *out, const udpai_ctl_awaited *awaited)
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
put_one(udpai_strbuf *out, const udpai_ctl_awaited_list *list, size_t index)
{
    static const char *const names[] = {
        [UDPAI_CTL_UNKNOWN] = "unknown",           [UDPAI_CTL_WAITING] = "waiting",
        [UDPAI_CTL_REPLACED] = "replaced",         [UDPAI_CTL_REFUSED_BY] = "refused",
        [UDPAI_CTL_ACKNOWLEDGED] = "acknowledged",
    };
    const udpai_ctl_awaited *awaited = &list->items.items[index];
    udpai_strbuf_putc(out, '{');
    put_field(out, "typeUrl", awaited->type_url);
    put_field(out, "name", awaited->status ? awaited->status->name : awaited->name);
    if (awaited->version)
        put_field(out, "awaitedVersion", awaited->version);
    if (awaited->status)
        put_status(out, awaited);
    udpai_strbuf_printf(out, "\"result\":\"%s\"}", names[udpai_ctl_awaited_progress(list, index)]);
}

void
udpai_ctl_put_awaited_json(udpai_strbuf *out, const udpai_ctl_awaited_list *list)
{
    bool any = false;
    udpai_strbuf_putc(out, '[');
    for (size_t i = 0; i < list->items.n; i++) {
        if (!udpai_ctl_awaited_is_meant(list, i))
            continue;
        udpai_strbuf_puts(out, any ? ",\n" : "");
        put_one(out, list, i);
        any = true;
    }
    udpai_strbuf_puts(out, "]\n");
}
