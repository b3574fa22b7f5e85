/* SPDX-License-Identifier: Apache-2.0 */
#include "ctl/awaited_view.h"

#include "cli/names.h"
#include "ctl/status_view.h"

typedef Udpa__Status__V1__AcknowledgementStatus status_message;
typedef Udpa__Status__V1__SessionAcknowledgement session_message;

static bool
is_listed(const session_message *session)
{
    return session->state != UDPA__STATUS__V1__SESSION_ACKNOWLEDGEMENT__STATE__ACKNOWLEDGED;
}

/* ---- a line for each ---- */

static void
put_kind(udpai_strbuf *out, const udpai_cli_awaited *awaited)
{
    const char *name =
        awaited->status && *awaited->status->name ? awaited->status->name : awaited->name;
    udpai_cli_put_text(out, udpai_cli_type_short(udpai_str_from(awaited->type_url)));
    udpai_strbuf_putc(out, ' ');
    udpai_cli_put_text(out, udpai_str_from(name));
}

/* What there is in place of what is waited for. */
static void
put_other(udpai_strbuf *out, const udpai_cli_awaited *awaited)
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
put_count(udpai_strbuf *out, const udpai_cli_awaited *awaited)
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
put_line(udpai_strbuf *out, const udpai_cli_awaited *awaited)
{
    put_kind(out, awaited);
    udpai_strbuf_puts(out, ": ");
    if (udpai_cli_awaited_is_there(awaited)) {
        put_count(out, awaited);
        put_notes(out, awaited->status);
    } else {
        put_other(out, awaited);
    }
    udpai_strbuf_putc(out, '\n');
}

/* ---- sessions that have not ---- */

static void
add_resource(udpai_cli_table *table, const udpai_cli_awaited *awaited)
{
    udpai_strbuf text = {0};
    put_kind(&text, awaited);
    udpai_cli_table_add(table, udpai_strbuf_view(&text));
    udpai_strbuf_done(&text);
}

static void
add_sessions(udpai_cli_table *table, const udpai_cli_awaited *awaited, int64_t now_us)
{
    const status_message *status = awaited->status;
    for (size_t i = 0; i < status->n_sessions; i++) {
        const session_message *session = status->sessions[i];
        if (!is_listed(session))
            continue;
        add_resource(table, awaited);
        udpai_cli_table_add_text(table, session->id);
        udpai_cli_table_add_text(table, udpai_cli_awaited_peer(session));
        udpai_cli_table_add_text(table, session->peer_address);
        udpai_cli_table_add_text(table, session->protocol);
        udpai_cli_table_add_text(table, udpai_cli_session_state(session));
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
                      const udpai_cli_awaited_list *list,
                      int64_t now_us)
{
    static const char *const heads[] = {"RESOURCE", "SESSION", "PEER", "ADDRESS",
                                        "PROTOCOL", "STATE",   "AGE",  "REASON"};
    udpai_cli_table table;
    udpai_cli_table_begin(&table, layout, heads, UDPAI_ARRAY_LEN(heads));
    for (size_t i = 0; i < list->items.n; i++) {
        const udpai_cli_awaited *awaited = &list->items.items[i];
        if (!udpai_cli_awaited_is_meant(list, i))
            continue;
        put_line(out, awaited);
        if (udpai_cli_awaited_is_there(awaited))
            add_sessions(&table, awaited, now_us);
    }
    if (udpai_cli_table_n_rows(&table)) {
        udpai_strbuf_putc(out, '\n');
        udpai_cli_table_write(&table, out);
    }
    udpai_cli_table_done(&table);
}
