/* SPDX-License-Identifier: Apache-2.0 */
#include "ctl/clients_view.h"

#include <stdlib.h>

#include "base/utf8.h"
#include "cli/client_session.h"
#include "cli/names.h"
#include "cli/order.h"
#include "ctl/status_view.h"
#include "reports/client_names.h"

#define HEAD_MAX ((size_t)60) /* bytes of a refusal */
#define TAIL_MAX ((size_t)100)
typedef Udpa__Status__V1__SessionStatus session_status;
typedef Udpa__Status__V1__SubscriptionStatus subscription_status;

/* Sorted: those of one client are adjacent. */
typedef UDPAI_VECTOR(session_status *) session_list;

/* What is added up over the sessions of one client. */
typedef struct client {
    udpai_strbuf types;
    uint64_t n_sent, n_unanswered;
    bool is_behind, has_refused, is_in_doubt;
    const subscription_status *refusal; /* of all, the last one; NULL: none */
    const char *held;                   /* what something waits for; NULL: nothing does */
    const subscription_status *pending; /* one that waits for a source; NULL: none does */
} client;

/* ---- which sessions ---- */

static bool
is_of_status(const subscription_status *subscription)
{
    return strncmp(subscription->type_url, UDPAI_CLI_STATUS_TYPES,
                   strlen(UDPAI_CLI_STATUS_TYPES)) == 0;
}

static int
compare_names(const char *a, const char *b)
{
    return udpai_cli_compare_names(udpai_str_from(a), udpai_str_from(b));
}

static int
compare(const void *a, const void *b)
{
    const session_status *one = *(session_status *const *)a, *two = *(session_status *const *)b;
    int order = compare_names(one->peer_node_id, two->peer_node_id);
    if (order == 0)
        order = compare_names(one->peer_identity, two->peer_identity);
    return order ? order : compare_names(one->peer_address, two->peer_address);
}

static void
take_sessions(udpa_resource *const *resources, size_t n, bool is_all, session_list *sessions)
{
    for (size_t i = 0; i < n; i++) {
        session_status *session = udpai_cli_client_session_read(resources[i], is_all);
        if (session && !udpai_vector_push(sessions, session))
            udpa__status__v1__session_status__free_unpacked(session, NULL);
    }
    if (sessions->n > 1)
        qsort(sessions->items, sessions->n, sizeof(*sessions->items), compare);
}

/* ---- one client ---- */

static bool
is_later(const Google__Protobuf__Timestamp *one, const Google__Protobuf__Timestamp *two)
{
    if (!one || !two)
        return one != NULL;
    return one->seconds != two->seconds ? one->seconds > two->seconds : one->nanos > two->nanos;
}

static void
add_subscription(client *self, const subscription_status *subscription)
{
    udpai_str type = udpai_cli_type_short(udpai_str_from(subscription->type_url));
    if (is_of_status(subscription))
        return;
    udpai_strbuf_printf(&self->types, "%s%.*s", self->types.len ? ", " : "", (int)type.len,
                        type.data);
    self->n_sent += subscription->n_resources_sent;
    self->n_unanswered += subscription->n_unanswered;
    for (size_t i = 0; i < subscription->n_refused_resources; i++)
        *(subscription->refused_resources[i]->in_doubt ? &self->is_in_doubt : &self->has_refused) =
            true;
    self->is_behind |= !subscription->in_sync;
    if (*subscription->held)
        self->held = subscription->held;
    if (*subscription->pending_source)
        self->pending = subscription;
    if (*subscription->last_error &&
        (!self->refusal || is_later(subscription->refused, self->refusal->refused)))
        self->refusal = subscription;
}

/* What was refused stays refused until it changes; what is in doubt, until it is sent again. */
static void
add_synced(udpai_cli_table *table, const client *self)
{
    if (self->has_refused)
        udpai_cli_table_add(table, UDPAI_STR("no: rejected"));
    else if (self->held)
        udpai_cli_table_addf(table, "no: %s", self->held);
    else if (self->pending)
        udpai_cli_table_addf(table, "pending: %s %s", self->pending->pending_source,
                             self->pending->pending_why);
    else if (self->is_in_doubt)
        udpai_cli_table_add(table, UDPAI_STR("no: in doubt"));
    else if (self->n_unanswered)
        udpai_cli_table_addf(table, "no: %llu unanswered", (unsigned long long)self->n_unanswered);
    else
        udpai_cli_table_add(table, self->is_behind ? UDPAI_STR("no: behind") : UDPAI_STR("yes"));
}

/* In one line. */
static void
put_line(udpai_strbuf *out, const char *text)
{
    bool was_blank = true;
    for (; *text; text++) {
        bool is_blank = (unsigned char)*text <= ' ';
        if (!is_blank || !was_blank)
            udpai_strbuf_putc(out, is_blank ? ' ' : *text);
        was_blank = is_blank;
    }
}

/* Begin and end of what is long: clients first name the subject, which may be a whole resource, and
 * last what is wrong with it. */
static void
put_short(udpai_strbuf *out, udpai_str line)
{
    if (line.len <= HEAD_MAX + TAIL_MAX) {
        udpai_strbuf_str(out, line);
        return;
    }
    size_t at = line.len - TAIL_MAX;
    while (at < line.len && ((unsigned char)line.data[at] & 0xc0) == 0x80)
        at++;
    udpai_strbuf_str(out, udpai_utf8_cut(line, HEAD_MAX));
    udpai_strbuf_puts(out, " … ");
    udpai_strbuf_str(out, (udpai_str){line.data + at, line.len - at});
}

/* @p why NULL: nothing was refused. */
static void
add_refusal(udpai_cli_table *table,
            const char *why,
            const Google__Protobuf__Timestamp *when,
            int64_t now_us)
{
    udpai_strbuf text = {0}, line = {0};
    if (why && when) {
        int64_t seconds = now_us / 1000000 - when->seconds;
        udpai_ctl_put_age(&text, seconds < 0 ? 0 : seconds);
        udpai_strbuf_puts(&text, " ago: ");
    }
    if (why)
        put_line(&line, why);
    if (table->layout->is_wide)
        udpai_strbuf_str(&text, udpai_strbuf_view(&line));
    else
        put_short(&text, udpai_strbuf_view(&line));
    udpai_cli_table_add(table, udpai_strbuf_view(&text));
    udpai_strbuf_done(&text);
    udpai_strbuf_done(&line);
}

static void
add_client(udpai_cli_table *table, session_status *const *sessions, size_t n, int64_t now_us)
{
    client self = {0};
    const session_status *first = sessions[0];
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < sessions[i]->n_subscriptions; k++)
            add_subscription(&self, sessions[i]->subscriptions[k]);
    udpai_cli_table_add_text(table,
                             *first->peer_node_id ? first->peer_node_id : first->peer_identity);
    udpai_cli_table_add_text(table, first->peer_address);
    udpai_cli_table_add_text(table, first->protocol);
    udpai_ctl_table_add_age(table, first->since, now_us);
    udpai_cli_table_add(table, udpai_strbuf_view(&self.types));
    udpai_cli_table_add_number(table, self.n_sent);
    add_synced(table, &self);
    add_refusal(table, self.refusal ? self.refusal->last_error : NULL,
                self.refusal ? self.refusal->refused : NULL, now_us);
    udpai_strbuf_done(&self.types);
}

void
udpai_ctl_put_clients(udpai_strbuf *out,
                      udpai_cli_layout *layout,
                      udpa_resource *const *resources,
                      size_t n,
                      bool is_all,
                      int64_t now_us)
{
    static const char *const heads[] = {"CLIENT", "ADDRESS", "PROTOCOL", "AGE",
                                        "TYPES",  "SENT",    "SYNCED",   "LAST NACK"};
    session_list sessions = {0};
    udpai_cli_table table;
    take_sessions(resources, n, is_all, &sessions);
    udpai_cli_table_begin(&table, layout, heads, UDPAI_ARRAY_LEN(heads));
    for (size_t i = 0, end; i < sessions.n; i = end) {
        for (end = i + 1; end < sessions.n; end++)
            if (compare(&sessions.items[i], &sessions.items[end]) != 0)
                break;
        add_client(&table, sessions.items + i, end - i, now_us);
    }
    if (udpai_cli_table_n_rows(&table))
        udpai_cli_table_write(&table, out);
    udpai_cli_table_done(&table);
    for (size_t i = 0; i < sessions.n; i++)
        udpa__status__v1__session_status__free_unpacked(sessions.items[i], NULL);
    udpai_vector_done(&sessions);
}

/* ---- of all nodes ---- */

typedef Udpa__Status__V1__ClientStatus client_status;
typedef Envoy__Service__Status__V3__ClientConfig__GenericXdsConfig entry_message;

/* The last of what it has refused; NULL: nothing. */
static const Envoy__Admin__V3__UpdateFailureState *
last_failure(const client_status *status)
{
    const Envoy__Admin__V3__UpdateFailureState *last = NULL;
    for (size_t i = 0; status->config && i < status->config->n_generic_xds_configs; i++) {
        const entry_message *entry = status->config->generic_xds_configs[i];
        if (entry->config_status == ENVOY__SERVICE__STATUS__V3__CONFIG_STATUS__ERROR &&
            entry->error_state &&
            (!last || is_later(entry->error_state->last_update_attempt, last->last_update_attempt)))
            last = entry->error_state;
    }
    return last;
}

/* What something waits for; NULL: nothing does. */
static const char *
held_of(const client_status *status)
{
    for (size_t i = 0; status->config && i < status->config->n_generic_xds_configs; i++) {
        const entry_message *entry = status->config->generic_xds_configs[i];
        if (entry->config_status == ENVOY__SERVICE__STATUS__V3__CONFIG_STATUS__NOT_SENT &&
            entry->error_state && *entry->error_state->details)
            return entry->error_state->details;
    }
    return NULL;
}

static void
add_state(udpai_cli_table *table, const client_status *status)
{
    const char *held = held_of(status);
    if (status->n_errors)
        udpai_cli_table_addf(table, "no: rejected %llu", (unsigned long long)status->n_errors);
    else if (held)
        udpai_cli_table_addf(table, "no: %s", held);
    else if (status->n_synced < status->n_resources)
        udpai_cli_table_addf(table, "no: %llu not acknowledged",
                             (unsigned long long)(status->n_resources - status->n_synced));
    else
        udpai_cli_table_add(table, UDPAI_STR("yes"));
}

static void
add_client_of(udpai_cli_table *table, udpai_str node, const client_status *status, int64_t now_us)
{
    const Envoy__Admin__V3__UpdateFailureState *last = last_failure(status);
    udpai_cli_table_add_text(table, *status->client_id ? status->client_id : status->peer_identity);
    udpai_cli_table_add(table, node);
    udpai_cli_table_add_text(table, status->peer_address);
    udpai_cli_table_add_text(table, status->protocol);
    udpai_ctl_table_add_age(table, status->since, now_us);
    udpai_cli_table_add_number(table, status->n_resources);
    add_state(table, status);
    add_refusal(table, last ? last->details : NULL, last ? last->last_update_attempt : NULL,
                now_us);
}

void
udpai_ctl_put_client_tree(udpai_strbuf *out,
                          udpai_cli_layout *layout,
                          udpa_resource *const *resources,
                          size_t n,
                          int64_t now_us)
{
    static const char *const heads[] = {"CLIENT", "NODE",      "ADDRESS", "PROTOCOL",
                                        "AGE",    "RESOURCES", "SYNCED",  "LAST NACK"};
    udpai_cli_table table;
    udpai_cli_table_begin(&table, layout, heads, UDPAI_ARRAY_LEN(heads));
    for (size_t i = 0; i < n; i++) {
        udpai_client_name name;
        size_t size;
        const void *payload = udpa_resource_payload(resources[i], &size);
        if (!udpai_client_name_read(udpai_str_from(udpa_resource_name(resources[i])), &name) ||
            name.is_of_node)
            continue;
        client_status *status = udpa__status__v1__client_status__unpack(NULL, size, payload);
        if (status)
            add_client_of(&table, name.node, status, now_us);
        udpa__status__v1__client_status__free_unpacked(status, NULL);
    }
    if (udpai_cli_table_n_rows(&table))
        udpai_cli_table_write(&table, out);
    udpai_cli_table_done(&table);
}
