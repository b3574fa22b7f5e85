/* SPDX-License-Identifier: Apache-2.0 */
#include "ctl/explain_view.h"

#include "base/alloc.h"
#include "cli/names.h"
#include "codec/json_text.h"
#include "ctl/awaited_view.h"
#include "model/type_url.h"

typedef Udpa__Status__V1__Contribution contribution_message;
typedef Udpa__Status__V1__SessionAcknowledgement session_message;
typedef Udpa__Status__V1__AcknowledgementStatus status_message;

void
udpai_ctl_explained_done(udpai_ctl_explained *explained)
{
    if (explained->origins)
        udpa__status__v1__origins_status__free_unpacked(explained->origins, NULL);
    if (explained->access)
        udpa__status__v1__access_status__free_unpacked(explained->access, NULL);
    udpai_ctl_awaited_done(&explained->acknowledgements);
    udpai_free(explained->waits);
    udpai_free(explained->rejecting);
    *explained = (udpai_ctl_explained){0};
}

/* ---- what is so ---- */

static const status_message *
status_of(const udpai_ctl_explained *explained)
{
    const udpai_ctl_awaited_list *list = &explained->acknowledgements;
    return list->items.n ? list->items.items[0].status : NULL;
}

static const contribution_message *
effective_of(const udpai_ctl_explained *explained)
{
    const Udpa__Status__V1__OriginsStatus *origins = explained->origins;
    for (size_t i = 0; origins && i < origins->n_contributions; i++)
        if (origins->contributions[i]->effective)
            return origins->contributions[i];
    return NULL;
}

bool
udpai_ctl_explained_is_served(const udpai_ctl_explained *explained)
{
    const status_message *status = status_of(explained);
    return effective_of(explained) || (status && status->exists);
}

static bool
is_called(const session_message *session, udpai_str name)
{
    return udpai_str_eq(udpai_str_from(session->peer_node_id), name) ||
           udpai_str_eq(udpai_str_from(session->peer_identity), name) ||
           udpai_str_eq(udpai_str_from(session->peer_address), name);
}

const session_message *
udpai_ctl_explained_session(const udpai_ctl_explained *explained)
{
    const status_message *status = status_of(explained);
    for (size_t i = 0; status && explained->client && i < status->n_sessions; i++)
        if (is_called(status->sessions[i], udpai_str_from(explained->client)))
            return status->sessions[i];
    return NULL;
}

/* ---- why a contribution is what it is: by the rules of the store ---- */

static const char *
why_effective(const Udpa__Status__V1__OriginsStatus *origins, const contribution_message *it)
{
    for (size_t i = 0; i < origins->n_contributions; i++) {
        const contribution_message *other = origins->contributions[i];
        bool is_rival = other != it && other->eligible && !other->superseded;
        if (is_rival && strcmp(other->authority, it->authority) != 0)
            return "its origin goes before those of other authorities";
        if (is_rival)
            return other->generation < it->generation ? "it has the highest generation"
                                                      : "its origin goes before the others";
    }
    return origins->n_contributions > 1 ? "no other can be used" : "it is the only one";
}

static const char *
why_not(const contribution_message *it, const contribution_message *effective)
{
    if (!it->eligible)
        return "its provider does not use this source now";
    if (it->superseded)
        return "something newer of its authority is known";
    if (!effective)
        return "";
    if (strcmp(it->authority, effective->authority) != 0)
        return "another authority goes before it: the node's own, files, publishers, sources in "
               "order";
    return it->generation < effective->generation ? "its generation is lower"
                                                  : "another origin, or a shorter path, goes "
                                                    "before it";
}

/* The best one of those that have come since. */
static bool
waits(const udpai_ctl_explained *explained, const contribution_message *it)
{
    return *explained->origins->frozen && it == explained->origins->contributions[0] &&
           it->eligible && !it->superseded;
}

static const char *
why(const udpai_ctl_explained *explained, const contribution_message *it)
{
    if (!it->effective && waits(explained, it))
        return "it waits: the name is frozen";
    return it->effective ? why_effective(explained->origins, it)
                         : why_not(it, effective_of(explained));
}

/* ---- lines ---- */

static void
put_way(udpai_strbuf *out, const contribution_message *it)
{
    for (size_t i = 0; i + 1 < it->n_way; i++)
        udpai_strbuf_printf(out, "%s%s", i ? " > " : "", it->way[i]);
}

static void
put_served(udpai_strbuf *out, const udpai_ctl_explained *explained)
{
    const status_message *status = status_of(explained);
    const contribution_message *effective = effective_of(explained);
    udpai_strbuf_puts(out, "is served");
    if (status && *status->version) {
        udpai_strbuf_puts(out, ": version ");
        udpai_cli_put_text(out, udpai_str_from(status->version));
    }
    if (effective) {
        udpai_strbuf_puts(out, ", from ");
        udpai_cli_put_text(out, udpai_str_from(effective->origin));
    }
    if (effective && effective->n_way > 1) {
        udpai_strbuf_puts(out, ", which came by ");
        put_way(out, effective);
    }
}

static void
put_not_served(udpai_strbuf *out, const udpai_ctl_explained *explained)
{
    const Udpa__Status__V1__OriginsStatus *origins = explained->origins;
    size_t n = origins ? origins->n_contributions : 0;
    udpai_strbuf_puts(out, "is not served: ");
    if (n)
        udpai_strbuf_puts(out, "none of its contributions can be used");
    else
        udpai_strbuf_puts(out, "no origin has it");
    if (explained->waits && *explained->waits)
        udpai_strbuf_printf(out, "; the node still waits for %s, which may have it",
                            explained->waits);
    if (explained->rejecting && *explained->rejecting)
        udpai_strbuf_printf(out,
                            "; the node has rejected resources of %s: its log says which, and why",
                            explained->rejecting);
}

/* What is so, without its end. */
static void
put_fact(udpai_strbuf *out, const udpai_ctl_explained *explained)
{
    if (udpai_ctl_explained_is_served(explained))
        put_served(out, explained);
    else
        put_not_served(out, explained);
    if (explained->origins && *explained->origins->frozen) {
        udpai_strbuf_puts(out, "; a change waits: ");
        udpai_cli_put_text(out, udpai_str_from(explained->origins->frozen));
    }
}

static void
put_access(udpai_strbuf *out, const udpai_ctl_explained *explained)
{
    const Udpa__Status__V1__AccessStatus *access = explained->access;
    if (!access)
        return;
    if (!access->has_rules)
        udpai_strbuf_puts(out, "; the node has no rules, so every peer may see it");
    else if (access->allowed)
        udpai_strbuf_printf(out, "; rule '%s' lets it see it", access->rule);
    else
        udpai_strbuf_printf(out, "; it may not see it: %s%s", access->reason,
                            access->dry_run ? " (a dry run: it sees it all the same)" : "");
}

/* Of one client, without its end. */
static void
put_client(udpai_strbuf *out, const udpai_ctl_explained *explained)
{
    const session_message *session = udpai_ctl_explained_session(explained);
    const status_message *status = status_of(explained);
    if (!session && status && status->n_subscribed > status->n_sessions)
        udpai_strbuf_puts(out, "is not among the clients that the node has named");
    else if (!session)
        udpai_strbuf_puts(out, "does not subscribe to it");
    else
        udpai_strbuf_puts(out, udpai_ctl_session_state(session));
    if (session && *session->message) {
        udpai_strbuf_puts(out, ": ");
        udpai_cli_put_text(out, udpai_str_from(session->message));
    }
    put_access(out, explained);
}

static void
put_contributions(udpai_strbuf *out, udpai_cli_layout *layout, const udpai_ctl_explained *explained)
{
    static const char *const heads[] = {"ORIGIN",     "AUTHORITY", "VERSION",
                                        "GENERATION", "IS",        "BECAUSE"};
    const Udpa__Status__V1__OriginsStatus *origins = explained->origins;
    udpai_cli_table table;
    if (!origins || !origins->n_contributions)
        return;
    udpai_cli_table_begin(&table, layout, heads, UDPAI_ARRAY_LEN(heads));
    for (size_t i = 0; i < origins->n_contributions; i++) {
        const contribution_message *it = origins->contributions[i];
        udpai_cli_table_add_text(&table, it->origin);
        udpai_cli_table_add_text(&table, it->authority);
        udpai_cli_table_add_version(&table, udpai_str_from(it->version));
        udpai_cli_table_add_number(&table, it->generation);
        udpai_cli_table_add_text(&table, it->effective ? "effective" : "shadowed");
        udpai_cli_table_add_text(&table, why(explained, it));
    }
    udpai_strbuf_putc(out, '\n');
    udpai_cli_table_write(&table, out);
    udpai_cli_table_done(&table);
}

void
udpai_ctl_put_explained(udpai_strbuf *out,
                        udpai_cli_layout *layout,
                        const udpai_ctl_explained *explained,
                        int64_t now_us)
{
    udpai_cli_put_text(out, udpai_cli_type_short(udpai_str_from(explained->type_url)));
    udpai_strbuf_putc(out, ' ');
    udpai_cli_put_text(out, udpai_str_from(explained->name));
    udpai_strbuf_putc(out, ' ');
    put_fact(out, explained);
    udpai_strbuf_putc(out, '\n');
    if (explained->client) {
        udpai_strbuf_puts(out, "client ");
        udpai_cli_put_text(out, udpai_str_from(explained->client));
        udpai_strbuf_putc(out, ' ');
        put_client(out, explained);
        udpai_strbuf_putc(out, '\n');
    }
    put_contributions(out, layout, explained);
    const status_message *status = status_of(explained);
    if (status && (status->exists || status->n_subscribed)) {
        udpai_strbuf_putc(out, '\n');
        udpai_ctl_put_awaited(out, layout, &explained->acknowledgements, now_us);
    }
}

/* ---- JSON ---- */

static void
put_field(udpai_strbuf *out, const char *name, udpai_str text)
{
    udpai_strbuf_printf(out, "\"%s\":", name);
    udpai_json_put_string(out, text);
    udpai_strbuf_putc(out, ',');
}

static void
put_sentence(udpai_strbuf *out,
             const char *name,
             const udpai_ctl_explained *explained,
             void (*put)(udpai_strbuf *out, const udpai_ctl_explained *explained))
{
    udpai_strbuf text = {0};
    put(&text, explained);
    put_field(out, name, udpai_strbuf_view(&text));
    out->failed |= udpai_strbuf_failed(&text);
    udpai_strbuf_done(&text);
}

static void
put_contribution_json(udpai_strbuf *out,
                      const udpai_ctl_explained *explained,
                      const contribution_message *it)
{
    udpai_strbuf way = {0};
    put_way(&way, it);
    udpai_strbuf_putc(out, '{');
    put_field(out, "origin", udpai_str_from(it->origin));
    put_field(out, "authority", udpai_str_from(it->authority));
    put_field(out, "version", udpai_str_from(it->version));
    udpai_strbuf_printf(out, "\"generation\":\"%llu\",", (unsigned long long)it->generation);
    put_field(out, "path", udpai_strbuf_view(&way));
    put_field(out, "because", udpai_str_from(why(explained, it)));
    udpai_strbuf_printf(out, "\"isEffective\":%s}", it->effective ? "true" : "false");
    udpai_strbuf_done(&way);
}

void
udpai_ctl_put_explained_json(udpai_strbuf *out, const udpai_ctl_explained *explained)
{
    const Udpa__Status__V1__OriginsStatus *origins = explained->origins;
    udpai_strbuf_putc(out, '{');
    put_field(out, "typeUrl", udpai_str_from(explained->type_url));
    put_field(out, "name", udpai_str_from(explained->name));
    udpai_strbuf_printf(out, "\"isServed\":%s,",
                        udpai_ctl_explained_is_served(explained) ? "true" : "false");
    put_sentence(out, "fact", explained, put_fact);
    put_field(out, "waitsFor", udpai_str_from(explained->waits ? explained->waits : ""));
    if (explained->client) {
        put_field(out, "client", udpai_str_from(explained->client));
        put_sentence(out, "clientFact", explained, put_client);
    }
    udpai_strbuf_puts(out, "\"contributions\":[");
    for (size_t i = 0; origins && i < origins->n_contributions; i++) {
        udpai_strbuf_puts(out, i ? ",\n" : "");
        put_contribution_json(out, explained, origins->contributions[i]);
    }
    udpai_strbuf_puts(out, "],\"acknowledgements\":");
    udpai_ctl_put_awaited_json(out, &explained->acknowledgements);
    udpai_strbuf_puts(out, "}\n");
}
