/* SPDX-License-Identifier: Apache-2.0 */
#include "ctl/status_view.h"

#include <inttypes.h>
#include <stdio.h>

#include "cli/names.h"
#include "ctl/load_hint.h"
#include "model/digest.h"
#include "udpa/status/v1/status.pb-c.h"

#define STATUS "udpa.status.v1."

/* ---- pieces ---- */

void
udpai_ctl_put_age(udpai_strbuf *out, int64_t seconds)
{
    static const struct {
        int64_t seconds;
        const char *unit;
    } units[] = {{86400, "d"}, {3600, "h"}, {60, "min"}, {1, "s"}};

    int n_put = 0;
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(units) && n_put < 2; i++) {
        int64_t count = seconds / units[i].seconds;
        seconds -= count * units[i].seconds;
        if (count > 0) {
            udpai_strbuf_printf(out, "%s%lld %s", n_put ? " " : "", (long long)count,
                                units[i].unit);
            n_put++;
        } else if (n_put) {
            break;
        }
    }
    if (n_put == 0)
        udpai_strbuf_puts(out, "0 s");
}

void
udpai_ctl_table_add_age(udpai_cli_table *table,
                        const Google__Protobuf__Timestamp *since,
                        int64_t now_us)
{
    udpai_strbuf text = {0};
    int64_t seconds = since ? now_us / 1000000 - since->seconds : 0;
    if (since && since->seconds)
        udpai_ctl_put_age(&text, seconds < 0 ? 0 : seconds);
    udpai_cli_table_add_quantity(table, (double)seconds, udpai_strbuf_view(&text));
    udpai_strbuf_done(&text);
}

static udpai_str
kind_of(const char *type_url)
{
    return udpai_cli_type_short(udpai_str_from(type_url));
}

/* A list's items, with a comma between. */
static void
add_list(udpai_cli_table *table, char *const *items, size_t n)
{
    udpai_strbuf text = {0};
    for (size_t i = 0; i < n; i++)
        udpai_strbuf_printf(&text, "%s%s", i ? ", " : "", *items[i] ? items[i] : "(all)");
    udpai_cli_table_add(table, udpai_strbuf_view(&text));
    udpai_strbuf_done(&text);
}

/* A table, unless there is nothing in it. */
static void
finish(udpai_strbuf *out, udpai_cli_table *table, const char *title)
{
    if (udpai_cli_table_n_rows(table)) {
        udpai_strbuf_printf(out, "%s%s\n", out->len ? "\n" : "", title);
        udpai_cli_table_write(table, out);
    }
    udpai_cli_table_done(table);
}

static bool
is_of(const udpa_resource *resource, const char *kind)
{
    const char *type_url = udpa_resource_type_url(resource);
    const char *slash = strrchr(type_url, '/');
    return slash && strncmp(slash + 1, STATUS, strlen(STATUS)) == 0 &&
           strcmp(slash + 1 + strlen(STATUS), kind) == 0;
}

/* ---- nodes ---- */

static void
put_types(udpai_strbuf *out, udpai_cli_layout *layout, const Udpa__Status__V1__NodeStatus *node)
{
    static const char *const heads[] = {"TYPE", "RESOURCES", "PENDING"};
    udpai_cli_table table;
    udpai_cli_table_begin(&table, layout, heads, UDPAI_ARRAY_LEN(heads));
    for (size_t i = 0; i < node->n_types; i++) {
        const Udpa__Status__V1__TypeStatus *type = node->types[i];
        udpai_cli_table_add(&table,
                            *type->type_url ? kind_of(type->type_url) : UDPAI_STR("(others)"));
        udpai_cli_table_add_number(&table, type->n_resources);
        add_list(&table, type->unsettled, type->n_unsettled);
    }
    finish(out, &table, "RESOURCES");
}

static void
put_sinks(udpai_strbuf *out, udpai_cli_layout *layout, const Udpa__Status__V1__NodeStatus *node)
{
    static const char *const heads[] = {"SINK",    "CLIENTS",  "ACCEPTED", "BYTES",
                                        "DROPPED", "REJECTED", "HELD",     "WRITTEN",
                                        "LOST",    "READERS",  "MISSED"};
    udpai_cli_table table;
    udpai_cli_table_begin(&table, layout, heads, UDPAI_ARRAY_LEN(heads));
    for (size_t i = 0; i < node->n_sinks; i++) {
        const Udpa__Status__V1__SinkStatus *sink = node->sinks[i];
        const uint64_t counters[] = {
            sink->n_clients, sink->n_accepted, sink->n_bytes,  sink->n_dropped, sink->n_refused,
            sink->n_held,    sink->n_written,  sink->n_failed, sink->n_readers, sink->n_missed,
        };
        udpai_cli_table_add_text(&table, sink->kind);
        for (size_t k = 0; k < UDPAI_ARRAY_LEN(counters); k++)
            udpai_cli_table_add_number(&table, counters[k]);
    }
    finish(out, &table, "SINKS");
}

static void
put_forwards(udpai_strbuf *out, udpai_cli_layout *layout, const Udpa__Status__V1__NodeStatus *node)
{
    static const char *const heads[] = {"SINK", "TO", "STREAMS", "SENT", "NOT SENT"};
    udpai_cli_table table;
    udpai_cli_table_begin(&table, layout, heads, UDPAI_ARRAY_LEN(heads));
    for (size_t i = 0; i < node->n_sinks; i++) {
        const Udpa__Status__V1__SinkStatus *sink = node->sinks[i];
        if (!*sink->forwarded_to)
            continue;
        udpai_cli_table_add_text(&table, sink->kind);
        udpai_cli_table_add_text(&table, sink->forwarded_to);
        udpai_cli_table_add_number(&table, sink->n_forward_streams);
        udpai_cli_table_add_number(&table, sink->n_forwarded);
        udpai_cli_table_add_number(&table, sink->n_not_forwarded);
    }
    finish(out, &table, "FORWARDED");
}

static void
put_problems(udpai_strbuf *out, const Udpa__Status__V1__NodeStatus *node)
{
    for (size_t i = 0; i < node->n_problems; i++) {
        udpai_strbuf_puts(out, i ? "" : "\nPROBLEMS\n");
        udpai_cli_put_text(out, udpai_str_from(node->problems[i]));
        udpai_strbuf_putc(out, '\n');
    }
}

static void
put_node(udpai_strbuf *out,
         udpai_cli_layout *layout,
         const Udpa__Status__V1__NodeStatus *node,
         size_t n_hidden,
         int64_t now_us)
{
    static const char *const heads[] = {"NODE", "VERSION", "UPTIME", "SESSIONS"};
    udpai_cli_table table;
    udpai_cli_table_begin(&table, layout, heads, UDPAI_ARRAY_LEN(heads));
    udpai_cli_table_add_text(&table, node->node_id);
    udpai_cli_table_add_text(&table, node->version);
    udpai_ctl_table_add_age(&table, node->started, now_us);
    udpai_cli_table_add_number(&table,
                               node->n_sessions - udpai_min_size(node->n_sessions, n_hidden));
    udpai_cli_table_write(&table, out);
    udpai_cli_table_done(&table);
    put_types(out, layout, node);
    put_sinks(out, layout, node);
    put_forwards(out, layout, node);
    put_problems(out, node);
}

void
udpai_ctl_put_nodes(udpai_strbuf *out,
                    udpai_cli_layout *layout,
                    udpa_resource *const *resources,
                    size_t n,
                    size_t n_hidden,
                    int64_t now_us)
{
    for (size_t i = 0; i < n; i++) {
        size_t size;
        const void *payload = udpa_resource_payload(resources[i], &size);
        Udpa__Status__V1__NodeStatus *node =
            is_of(resources[i], "NodeStatus")
                ? udpa__status__v1__node_status__unpack(NULL, size, payload)
                : NULL;
        if (node)
            put_node(out, layout, node, n_hidden, now_us);
        udpa__status__v1__node_status__free_unpacked(node, NULL);
    }
}

/* ---- sources ---- */

static const char *
state_text(Udpa__Status__V1__SourceStatus__State state)
{
    switch (state) {
    case UDPA__STATUS__V1__SOURCE_STATUS__STATE__WAITING:
        return "waiting";
    case UDPA__STATUS__V1__SOURCE_STATUS__STATE__CONNECTING:
        return "connecting";
    case UDPA__STATUS__V1__SOURCE_STATUS__STATE__CONNECTED:
        return "connected";
    case UDPA__STATUS__V1__SOURCE_STATUS__STATE__ACTIVE:
        return "active";
    default:
        return "idle";
    }
}

/* Of how many types all is known, and what is not as the source has it. */
static void
add_complete(udpai_cli_table *table,
             const Udpa__Status__V1__SourceStatus *source,
             size_t n_complete,
             unsigned long long n_held)
{
    char held[40] = "", differing[40] = "";
    if (n_held)
        snprintf(held, sizeof(held), ", %llu held", n_held);
    if (source->n_differing)
        snprintf(differing, sizeof(differing), ", %llu differ",
                 (unsigned long long)source->n_differing);
    const char *name = source->n_differing_names ? source->differing_names[0] : "";
    udpai_cli_table_addf(table, "%zu of %zu%s%s%s%s%s", n_complete, source->n_types, held,
                         differing, *name ? " (" : "", name,
                         !*name                          ? ""
                         : source->n_differing_names > 1 ? ", ...)"
                                                         : ")");
}

static void
add_source(udpai_cli_table *table, const Udpa__Status__V1__SourceStatus *source, int64_t now_us)
{
    size_t n_complete = 0;
    unsigned long long n_held = 0;
    for (size_t i = 0; i < source->n_types; i++) {
        n_complete += source->types[i]->complete != 0;
        n_held += source->types[i]->held;
    }
    udpai_cli_table_add_text(table, source->name);
    udpai_cli_table_addf(table, "%s%s", source->kind, *source->delivered_by ? ", delivered" : "");
    udpai_cli_table_add_text(table, *source->server ? source->server : source->address);
    udpai_cli_table_addf(table, "%s%s", state_text(source->state),
                         source->not_recovered ? ", not recovered (--restored)"
                         : source->recovering  ? ", recovering"
                                               : "");
    udpai_ctl_table_add_age(table, source->since, now_us);
    udpai_cli_table_add_text(table,
                             *source->peer_identity ? source->peer_identity : source->peer_node_id);
    add_complete(table, source, n_complete, n_held);
    udpai_cli_table_add_number(table, source->n_resources_received);
    udpai_cli_table_add_number(table, source->n_refused);
    udpai_cli_table_add_text(table, source->last_error);
}

/* Which, and why: below the table. */
static void
put_held(udpai_strbuf *out, const Udpa__Status__V1__SourceStatus *source)
{
    for (size_t i = 0; i < source->n_types; i++) {
        const Udpa__Status__V1__SourceType *type = source->types[i];
        if (!type->held)
            continue;
        udpai_strbuf_puts(out, "\nHeld of ");
        udpai_cli_put_text(out, udpai_str_from(source->name));
        udpai_strbuf_printf(out, ": %llu of ", (unsigned long long)type->held);
        udpai_cli_put_text(out, udpai_str_from(type->type_url));
        if (*type->held_because) {
            udpai_strbuf_puts(out, " (");
            udpai_cli_put_text(out, udpai_str_from(type->held_because));
            udpai_strbuf_puts(out, ")");
        }
        for (size_t k = 0; k < type->n_held_names; k++) {
            udpai_strbuf_puts(out, k ? ", " : ": ");
            udpai_cli_put_text(out, udpai_str_from(type->held_names[k]));
        }
        if (type->held > type->n_held_names)
            udpai_strbuf_printf(out, " and %llu more",
                                (unsigned long long)(type->held - type->n_held_names));
        udpai_strbuf_puts(out, "\n");
    }
}

void
udpai_ctl_put_sources(udpai_strbuf *out,
                      udpai_cli_layout *layout,
                      udpa_resource *const *resources,
                      size_t n,
                      int64_t now_us)
{
    static const char *const heads[] = {"NAME", "KIND",   "ADDRESS",  "STATE",    "AGE",
                                        "PEER", "SYNCED", "RECEIVED", "REJECTED", "LAST ERROR"};
    udpai_cli_table table;
    udpai_strbuf held = {0};
    udpai_cli_table_begin(&table, layout, heads, UDPAI_ARRAY_LEN(heads));
    for (size_t i = 0; i < n; i++) {
        size_t size;
        const void *payload = udpa_resource_payload(resources[i], &size);
        Udpa__Status__V1__SourceStatus *source =
            is_of(resources[i], "SourceStatus")
                ? udpa__status__v1__source_status__unpack(NULL, size, payload)
                : NULL;
        if (source) {
            add_source(&table, source, now_us);
            put_held(&held, source);
        }
        udpa__status__v1__source_status__free_unpacked(source, NULL);
    }
    finish(out, &table, "SOURCES");
    udpai_strbuf_str(out, udpai_strbuf_view(&held));
    udpai_strbuf_done(&held);
}

/* ---- replicas ---- */

/* Of a replica that is not ready all others know it. */
static const char *
replica_state(const Udpa__Status__V1__ReplicaStatus *replica)
{
    if (replica->n_missing_key_ids)
        return "not ready";
    switch (replica->state) {
    case UDPA__STATUS__V1__REPLICA_STATUS__STATE__STARTING:
        return "starting";
    case UDPA__STATUS__V1__REPLICA_STATUS__STATE__CURRENT:
        return "current";
    case UDPA__STATUS__V1__REPLICA_STATUS__STATE__BEHIND:
        return "behind";
    case UDPA__STATUS__V1__REPLICA_STATUS__STATE__HELD:
        return "held";
    default:
        return "";
    }
}

/* Of several directories one digest. */
static void
add_files(udpai_cli_table *table, const Udpa__Status__V1__ReplicaStatus *replica)
{
    uint64_t digest = 0;
    for (size_t i = 0; i < replica->n_files; i++) {
        digest = udpai_digest_behind(digest, udpai_str_from(replica->files[i]->path));
        digest = udpai_digest_behind(digest, udpai_str_from(replica->files[i]->digest));
    }
    if (replica->n_files == 1)
        udpai_cli_table_addf(table, "%.8s", replica->files[0]->digest);
    else if (replica->n_files)
        udpai_cli_table_addf(table, "%08" PRIx32, (uint32_t)(digest >> 32));
    else
        udpai_cli_table_add_text(table, "");
}

/* The beginning of the digest tells those apart that differ. */
static void
add_replica(udpai_cli_table *table, const Udpa__Status__V1__ReplicaStatus *replica, int64_t now_us)
{
    if (*replica->id)
        udpai_cli_table_addf(table, "%s%s%s", replica->id, replica->is_own ? " (this)" : "",
                             replica->is_janitor ? " (janitor)" : "");
    else
        udpai_cli_table_add_text(table, "(this)");
    udpai_cli_table_add_text(table, replica->address);
    udpai_cli_table_add_text(table, replica->version);
    udpai_cli_table_addf(table, "%.8s", replica->config);
    udpai_cli_table_addf(table, "%.8s%s", replica->n_key_ids ? replica->key_ids[0] : "",
                         replica->n_key_ids > 1 ? ", …" : "");
    add_files(table, replica);
    udpai_cli_table_add_number(table, (uint64_t)replica->revision);
    if (replica->etcd_revision)
        udpai_cli_table_add_number(table, (uint64_t)replica->etcd_revision);
    else
        udpai_cli_table_add_text(table, "");
    udpai_cli_table_add_number(table, replica->streams);
    udpai_cli_table_add_number(table, replica->share);
    udpai_cli_table_add_text(table, replica_state(replica));
    udpai_ctl_table_add_age(table, replica->since, now_us);
    if (replica->n_missing_key_ids && !replica->is_own)
        udpai_cli_table_addf(table, "lacks key %s", replica->missing_key_ids[0]);
    else
        udpai_cli_table_add_text(table, replica->reason);
}

/* "Held: in etcd 2 are missing, …; would be lost: Cluster a", and what will happen. */
static void
put_hold(udpai_strbuf *out, const Udpa__Status__V1__ReplicaHold *hold)
{
    uint64_t n_lost = hold->n_missing + hold->n_older;
    if (hold->is_compared)
        udpai_strbuf_printf(out,
                            "Held: in etcd %llu are missing, %llu are older, %llu are others, %llu "
                            "are newer, and %llu are there alone",
                            (unsigned long long)hold->n_missing, (unsigned long long)hold->n_older,
                            (unsigned long long)hold->n_other, (unsigned long long)hold->n_newer,
                            (unsigned long long)hold->n_returned);
    else
        udpai_strbuf_puts(out, "Held: etcd was not compared yet");
    if (hold->n_locked)
        udpai_strbuf_printf(out, "; %llu cannot be decrypted here",
                            (unsigned long long)hold->n_locked);
    for (size_t i = 0; i < hold->n_names; i++) {
        udpai_strbuf_puts(out, i ? ", " : "; would be lost: ");
        udpai_cli_put_text(out, udpai_str_from(hold->names[i]));
    }
    if (n_lost > hold->n_names)
        udpai_strbuf_printf(out, " and %llu more", (unsigned long long)(n_lost - hold->n_names));
    udpai_strbuf_puts(out, "\nNext: ");
    udpai_cli_put_text(out, udpai_str_from(hold->next));
    udpai_strbuf_puts(out, "\n");
}

void
udpai_ctl_put_replicas(udpai_strbuf *out,
                       udpai_cli_layout *layout,
                       udpa_resource *const *resources,
                       size_t n,
                       int64_t now_us)
{
    static const char *const heads[] = {"REPLICA", "ADDRESS",  "VERSION", "CONFIG",  "KEYS",
                                        "FILES",   "REVISION", "ETCD",    "STREAMS", "SHARE",
                                        "STATE",   "AGE",      "REASON"};
    udpai_cli_table table;
    udpai_strbuf holds = {0};
    udpai_cli_table_begin(&table, layout, heads, UDPAI_ARRAY_LEN(heads));
    for (size_t i = 0; i < n; i++) {
        size_t size;
        const void *payload = udpa_resource_payload(resources[i], &size);
        Udpa__Status__V1__ReplicaStatus *replica =
            is_of(resources[i], "ReplicaStatus")
                ? udpa__status__v1__replica_status__unpack(NULL, size, payload)
                : NULL;
        if (replica)
            add_replica(&table, replica, now_us);
        if (replica && replica->hold)
            put_hold(&holds, replica->hold);
        udpa__status__v1__replica_status__free_unpacked(replica, NULL);
    }
    finish(out, &table, "REPLICAS");
    udpai_strbuf_str(out, udpai_strbuf_view(&holds));
    udpai_strbuf_done(&holds);
}

/* ---- sessions ---- */

/* "2 for 12 s" */
static void
add_unanswered(udpai_cli_table *table,
               const Udpa__Status__V1__SubscriptionStatus *subscription,
               int64_t now_us)
{
    const Google__Protobuf__Timestamp *since = subscription->unanswered_since;
    udpai_strbuf text = {0};
    udpai_strbuf_printf(&text, "%llu", (unsigned long long)subscription->n_unanswered);
    if (since && now_us / 1000000 > since->seconds) {
        udpai_strbuf_puts(&text, " for ");
        udpai_ctl_put_age(&text, now_us / 1000000 - since->seconds);
    }
    udpai_cli_table_add_quantity(table, (double)subscription->n_unanswered,
                                 udpai_strbuf_view(&text));
    udpai_strbuf_done(&text);
}

static void
add_subscription(udpai_cli_table *table,
                 const Udpa__Status__V1__SessionStatus *session,
                 const Udpa__Status__V1__SubscriptionStatus *subscription,
                 int64_t now_us)
{
    udpai_cli_table_add_text(table, session->id);
    udpai_cli_table_add(table, kind_of(subscription->type_url));
    if (subscription->n_names)
        udpai_cli_table_addf(table, "%llu names", (unsigned long long)subscription->n_names);
    else
        add_list(table, subscription->namespaces, subscription->n_namespaces);
    udpai_cli_table_add_number(table, subscription->n_resources_sent);
    udpai_cli_table_add_number(table, subscription->n_removals_sent);
    udpai_cli_table_add_number(table, subscription->n_acknowledged);
    udpai_cli_table_add_number(table, subscription->n_refused);
    add_unanswered(table, subscription, now_us);
    udpai_cli_table_add_text(table, subscription->in_sync ? "yes" : "no");
    udpai_cli_table_add_text(table, subscription->last_error);
}

static void
add_session(udpai_cli_table *table, const Udpa__Status__V1__SessionStatus *session, int64_t now_us)
{
    udpai_cli_table_add_text(table, session->id);
    udpai_cli_table_add_text(table, *session->peer_identity ? session->peer_identity
                                                            : session->peer_node_id);
    udpai_cli_table_add_text(table, session->peer_address);
    udpai_cli_table_add_text(table, session->protocol);
    udpai_cli_table_add_text(table, session->audience);
    udpai_ctl_table_add_age(table, session->since, now_us);
    udpai_cli_table_add_text(table, session->source);
    udpai_cli_table_add_number(table, session->n_resources_received);
}

static void
add_unknown_receipts(udpai_cli_table *table,
                     const Udpa__Status__V1__SessionStatus *session,
                     int64_t now_us)
{
    (void)now_us;
    if (!session->n_unknown_receipts)
        return;
    udpai_cli_table_add_text(table, session->id);
    udpai_cli_table_add_number(table, session->n_unknown_receipts);
}

typedef void (*session_fn)(udpai_cli_table *table,
                           const Udpa__Status__V1__SessionStatus *session,
                           int64_t now_us);

static void
add_subscriptions(udpai_cli_table *table,
                  const Udpa__Status__V1__SessionStatus *session,
                  int64_t now_us)
{
    for (size_t i = 0; i < session->n_subscriptions; i++)
        add_subscription(table, session, session->subscriptions[i], now_us);
}

static void
add_reason(udpai_cli_table *table, const Udpa__Status__V1__RefusedResource *refused)
{
    udpai_strbuf text = {0};
    udpai_strbuf_puts(&text, refused->in_doubt ? "in doubt: " : "");
    udpai_strbuf_puts(&text, refused->message);
    udpai_cli_table_add(table, udpai_strbuf_view(&text));
    udpai_strbuf_done(&text);
}

static void
add_refused(udpai_cli_table *table, const Udpa__Status__V1__SessionStatus *session, int64_t now_us)
{
    for (size_t i = 0; i < session->n_subscriptions; i++) {
        const Udpa__Status__V1__SubscriptionStatus *subscription = session->subscriptions[i];
        for (size_t k = 0; k < subscription->n_refused_resources; k++) {
            udpai_cli_table_add_text(table, session->id);
            udpai_cli_table_add(table, kind_of(subscription->type_url));
            udpai_cli_table_add_text(table, subscription->refused_resources[k]->name);
            udpai_cli_table_add_version(
                table, udpai_str_from(subscription->refused_resources[k]->version));
            udpai_ctl_table_add_age(table, subscription->refused_resources[k]->time, now_us);
            add_reason(table, subscription->refused_resources[k]);
        }
    }
}

static void
visit_sessions(udpai_cli_table *table,
               udpa_resource *const *resources,
               size_t n,
               session_fn visit,
               int64_t now_us)
{
    for (size_t i = 0; i < n; i++) {
        size_t size;
        const void *payload = udpa_resource_payload(resources[i], &size);
        Udpa__Status__V1__SessionStatus *session =
            is_of(resources[i], "SessionStatus")
                ? udpa__status__v1__session_status__unpack(NULL, size, payload)
                : NULL;
        if (session)
            visit(table, session, now_us);
        udpa__status__v1__session_status__free_unpacked(session, NULL);
    }
}

void
udpai_ctl_put_sessions(udpai_strbuf *out,
                       udpai_cli_layout *layout,
                       udpa_resource *const *resources,
                       size_t n,
                       int64_t now_us)
{
    static const char *const heads[] = {"SESSION",  "PEER", "ADDRESS", "PROTOCOL",
                                        "AUDIENCE", "AGE",  "SOURCE",  "RECEIVED"};
    static const char *const subscription_heads[] = {
        "SESSION",      "TYPE",     "SUBSCRIBED", "SENT",   "REMOVED",
        "ACKNOWLEDGED", "REJECTED", "UNANSWERED", "SYNCED", "LAST ERROR"};
    static const char *const refused_heads[] = {"SESSION", "TYPE", "NAME",
                                                "VERSION", "AGE",  "REASON"};
    static const char *const unknown_heads[] = {"SESSION", "RECEIPTS"};

    const struct {
        const char *title, *const *heads;
        size_t n;
        session_fn visit;
    } tables[] = {
        {"SESSIONS", heads, UDPAI_ARRAY_LEN(heads), add_session},
        {"SUBSCRIPTIONS", subscription_heads, UDPAI_ARRAY_LEN(subscription_heads),
         add_subscriptions},
        {"REJECTED", refused_heads, UDPAI_ARRAY_LEN(refused_heads), add_refused},
        {"UNKNOWN RECEIPTS", unknown_heads, UDPAI_ARRAY_LEN(unknown_heads), add_unknown_receipts},
    };

    for (size_t i = 0; i < UDPAI_ARRAY_LEN(tables); i++) {
        udpai_cli_table table;
        udpai_cli_table_begin(&table, layout, tables[i].heads, tables[i].n);
        visit_sessions(&table, resources, n, tables[i].visit, now_us);
        finish(out, &table, tables[i].title);
    }
    udpai_ctl_put_load_hint(out, resources, n);
}
