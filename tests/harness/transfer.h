/* SPDX-License-Identifier: Apache-2.0 */
/* Are two orders, or two reports, the same in everything that they say? For tests and fuzz targets
 * of what crosses between processes. */
#ifndef UDPAI_TESTS_TRANSFER_H
#define UDPAI_TESTS_TRANSFER_H

#include "session/messages.h"

static inline bool
same_texts(const udpai_str *a, size_t n_a, const udpai_str *b, size_t n_b)
{
    bool same = n_a == n_b;
    for (size_t i = 0; same && i < n_a; i++)
        same = udpai_str_eq(a[i], b[i]);
    return same;
}

static inline bool
same_bytes(const udpa_bytes *a, const udpa_bytes *b)
{
    return !a || !b ? a == b : udpai_str_eq(udpai_bytes_view(a), udpai_bytes_view(b));
}

static inline bool
same_error(const udpa_error *a, const udpa_error *b)
{
    return !a == !b && udpa_error_code(a) == udpa_error_code(b) &&
           strcmp(udpa_error_message(a), udpa_error_message(b)) == 0;
}

/* ---- resources ---- */

static inline bool
same_hops(const udpai_resource_parts *a, const udpai_resource_parts *b)
{
    bool same = a->n_hops == b->n_hops;
    for (size_t i = 0; same && i < a->n_hops; i++)
        same = udpai_str_eq(a->hops[i].node_id, b->hops[i].node_id) &&
               udpai_str_eq(a->hops[i].authority, b->hops[i].authority) &&
               udpai_str_eq(a->hops[i].instance, b->hops[i].instance) &&
               a->hops[i].time_us == b->hops[i].time_us;
    return same;
}

static inline bool
same_signature(const udpai_signature *a, const udpai_signature *b)
{
    return a->algorithm == b->algorithm && udpai_str_eq(a->key_id, b->key_id) &&
           a->not_before_us == b->not_before_us && a->not_after_us == b->not_after_us &&
           udpai_str_eq(a->value, b->value);
}

/* However each keeps it. */
static inline bool
same_any(const udpa_resource *one, const udpa_resource *other)
{
    const udpa_resource *both[] = {one, other};
    udpa_bytes *bytes[2] = {NULL, NULL};
    for (size_t i = 0; i < 2; i++) {
        udpai_any_room room;
        udpai_proto_writer writer = {0};
        bytes[i] = udpai_bytes_make(udpai_resource_any_size(both[i]), &writer.at);
        udpai_proto_put_raw(&writer, udpai_resource_any_head(both[i], &room));
        udpai_proto_put_raw(&writer, udpai_resource_any_body(both[i]));
    }
    bool same = same_bytes(bytes[0], bytes[1]);
    udpa_bytes_unref(bytes[0]);
    udpa_bytes_unref(bytes[1]);
    return same;
}

static inline bool
same_resource(const udpa_resource *one, const udpa_resource *other)
{
    udpai_resource_room rooms[2];
    const udpai_resource_parts a = udpai_resource_parts_of(one, &rooms[0]);
    const udpai_resource_parts b = udpai_resource_parts_of(other, &rooms[1]);
    return udpai_str_eq(a.name, b.name) && udpai_str_eq(a.version, b.version) &&
           udpai_str_eq(a.authority, b.authority) && same_any(one, other) &&
           same_bytes(a.type, b.type) && a.generation == b.generation && a.ttl_ms == b.ttl_ms &&
           a.lazy == b.lazy && a.do_not_cache == b.do_not_cache &&
           same_signature(&a.signature, &b.signature) && same_hops(&a, &b) &&
           same_texts(a.aliases, a.n_aliases, b.aliases, b.n_aliases) &&
           udpai_str_eq(a.constraints, b.constraints) &&
           udpai_str_eq(a.redirected_type, b.redirected_type) &&
           udpai_resource_is_redirect(one) == udpai_resource_is_redirect(other) &&
           udpai_resource_digest(one) == udpai_resource_digest(other) &&
           udpai_resource_n_constraint_keys(one) == udpai_resource_n_constraint_keys(other);
}

static inline bool
same_removal(const udpa_resource *a, const udpa_resource *b)
{
    return a && b ? same_resource(a, b) : a == b;
}

static inline bool
same_changes(const udpai_change_set *one, const udpai_change_set *other)
{
    if (!one || !other)
        return one == other;
    bool same = udpai_change_set_size(one) == udpai_change_set_size(other);
    for (size_t i = 0; same && i < udpai_change_set_size(one); i++) {
        const udpai_change *a = udpai_change_set_at(one, i), *b = udpai_change_set_at(other, i);
        same = a->kind == b->kind && a->deadline_ms == b->deadline_ms &&
               same_bytes(a->from_node, b->from_node) && same_bytes(a->visible_to, b->visible_to) &&
               same_resource(a->resource, b->resource) && same_removal(a->removal, b->removal);
    }
    return same;
}

static inline bool
same_publication(const udpai_publication *a, const udpai_publication *b)
{
    if (!a || !b)
        return a == b;
    bool same = a->state_of_the_world == b->state_of_the_world && a->complete == b->complete &&
                a->receipt_required == b->receipt_required &&
                udpai_str_eq(a->type_url, b->type_url) &&
                udpai_str_eq(a->name_space, b->name_space) && udpai_str_eq(a->nonce, b->nonce) &&
                udpai_str_eq(a->waits, b->waits) && a->waits_behind == b->waits_behind &&
                a->commit == b->commit && a->size_bytes == b->size_bytes &&
                a->entries.n == b->entries.n && a->removals.n == b->removals.n;
    for (size_t i = 0; same && i < a->entries.n; i++)
        same = a->entries.items[i].is_refresh == b->entries.items[i].is_refresh &&
               a->entries.items[i].is_ignored == b->entries.items[i].is_ignored &&
               same_error(a->entries.items[i].error, b->entries.items[i].error) &&
               same_resource(a->entries.items[i].resource, b->entries.items[i].resource);
    for (size_t i = 0; same && i < a->removals.n; i++)
        same = udpai_str_eq(a->removals.items[i].name, b->removals.items[i].name) &&
               same_error(a->removals.items[i].error, b->removals.items[i].error) &&
               same_removal(a->removals.items[i].statement, b->removals.items[i].statement);
    return same;
}

/* ---- what is settled ---- */

static inline bool
same_words(const udpai_unsettled *a, const udpai_unsettled *b)
{
    bool same = a->n_waiting == b->n_waiting;
    for (size_t i = 0; same && i < a->n_waiting; i++)
        same = udpai_str_eq(a->waiting[i].waits, b->waiting[i].waits) &&
               same_texts(a->waiting[i].asked, a->waiting[i].n_asked, b->waiting[i].asked,
                          b->waiting[i].n_asked);
    return same;
}

static inline bool
same_missing(const udpai_unsettled *a, const udpai_unsettled *b)
{
    return udpai_str_eq(a->type_url, b->type_url) && udpai_str_eq(a->prefix, b->prefix) &&
           udpai_str_eq(a->source, b->source) && udpai_str_eq(a->peer_node, b->peer_node) &&
           udpai_str_eq(a->waits, b->waits) && same_words(a, b) &&
           a->may_wait_for_us == b->may_wait_for_us && a->since_ms == b->since_ms &&
           same_texts(a->answered, a->n_answered, b->answered, b->n_answered) &&
           a->of_groups == b->of_groups && a->on_demand == b->on_demand &&
           a->by_name == b->by_name && a->only_absence == b->only_absence &&
           same_texts(a->asked, a->n_asked, b->asked, b->n_asked);
}

struct same_groups {
    const udpai_settled_groups *other; /* NULL: only count */
    size_t n;
};

static inline bool
has_same_group(void *userdata, const udpai_settled_group *group)
{
    struct same_groups *same = userdata;
    same->n++;
    if (!same->other)
        return true;
    const udpai_settled_group *found =
        udpai_settled_groups_find(same->other, udpai_settled_group_key(group));
    return found && udpai_settled_group_equal(group, found);
}

static inline bool
same_groups(const udpai_settled_groups *a, const udpai_settled_groups *b)
{
    struct same_groups of_a = {b, 0}, of_b = {NULL, 0};
    bool same = udpai_settled_groups_visit(a, (udpai_str){"", 0}, has_same_group, &of_a);
    udpai_settled_groups_visit(b, (udpai_str){"", 0}, has_same_group, &of_b);
    return of_a.n == of_b.n && (same || of_a.n == 0);
}

static inline bool
same_names(const udpai_settled_names *one, const udpai_settled_names *other)
{
    const udpai_settled_name *a, *b;
    size_t n = udpai_settled_names_all(one, &a);
    bool same = !one == !other && udpai_settled_names_all(other, &b) == n;
    for (size_t i = 0; same && i < n; i++)
        same = udpai_str_eq(a[i].type_url, b[i].type_url) && udpai_str_eq(a[i].name, b[i].name) &&
               a[i].is_missing == b[i].is_missing && udpai_str_eq(a[i].source, b[i].source) &&
               udpai_str_eq(a[i].peer_node, b[i].peer_node) &&
               a[i].may_wait_for_us == b[i].may_wait_for_us && a[i].since_ms == b[i].since_ms &&
               udpai_str_eq(a[i].waits, b[i].waits);
    return same;
}

static inline bool
same_settled(const udpai_settled *one, const udpai_settled *other)
{
    if (!one || !other)
        return one == other;
    const udpai_settled_facts *a = udpai_settled_facts_of(one), *b = udpai_settled_facts_of(other);
    bool same = a->n_missing == b->n_missing && same_groups(a->groups, b->groups) &&
                same_names(a->names, b->names) && a->asks_for_status == b->asks_for_status &&
                a->only_known_types == b->only_known_types && udpai_str_eq(a->self, b->self) &&
                same_texts(a->known_types, a->n_known_types, b->known_types, b->n_known_types);
    for (size_t i = 0; same && i < a->n_missing; i++)
        same = same_missing(&a->missing[i], &b->missing[i]);
    return same;
}

/* ---- the rest ---- */

static inline bool
same_digests(const udpai_held_digest *a, size_t n_a, const udpai_held_digest *b, size_t n_b)
{
    bool same = n_a == n_b;
    for (size_t i = 0; same && i < n_a; i++)
        same = udpai_str_eq(a[i].name, b[i].name) && a[i].digest == b[i].digest;
    return same;
}

static inline bool
same_subscription(const udpai_subscription_message *a, const udpai_subscription_message *b)
{
    if (!a || !b)
        return a == b;
    bool same =
        udpai_str_eq(a->type_url, b->type_url) && udpai_str_eq(a->name_space, b->name_space) &&
        same_texts(a->names, a->n_names, b->names, b->n_names) && a->n_versions == b->n_versions &&
        same_digests(a->digests, a->n_digests, b->digests, b->n_digests) &&
        same_digests(a->paths, a->n_paths, b->paths, b->n_paths) &&
        a->status_code == b->status_code && udpai_str_eq(a->status_text, b->status_text);
    for (size_t i = 0; same && i < a->n_versions; i++)
        same = udpai_str_eq(a->versions[i].name, b->versions[i].name) &&
               udpai_str_eq(a->versions[i].version, b->versions[i].version);
    return same;
}

static inline bool
same_acl(const udpai_acl *one, const udpai_acl *other)
{
    if (!one || !other)
        return one == other;
    const udpai_acl_options *a = udpai_acl_settings(one), *b = udpai_acl_settings(other);
    bool same = a->n_rules == b->n_rules && a->is_dry_run == b->is_dry_run &&
                a->binds_node_id == b->binds_node_id && a->trusts_node_ids == b->trusts_node_ids;
    for (size_t i = 0; same && i < a->n_rules; i++) {
        const udpai_acl_rule *x = &a->rules[i], *y = &b->rules[i];
        same = udpai_str_eq(x->name, y->name) && x->actions == y->actions &&
               same_texts(x->identities, x->n_identities, y->identities, y->n_identities) &&
               same_texts(x->types, x->n_types, y->types, y->n_types) &&
               same_texts(x->prefixes, x->n_prefixes, y->prefixes, y->n_prefixes) &&
               same_texts(x->on_behalf_of, x->n_on_behalf_of, y->on_behalf_of, y->n_on_behalf_of);
    }
    return same;
}

static inline bool
same_identity(const udpai_identity *one, const udpai_identity *other)
{
    if (!one || !other)
        return one == other;
    const udpai_identity_parts *a = udpai_identity_parts_of(one);
    const udpai_identity_parts *b = udpai_identity_parts_of(other);
    return udpai_str_eq(a->common_name, b->common_name) && a->authenticated == b->authenticated &&
           same_texts(a->uris, a->n_uris, b->uris, b->n_uris) &&
           same_texts(a->dns_names, a->n_dns_names, b->dns_names, b->n_dns_names);
}

static inline bool
same_marks(const udpai_order *a, const udpai_order *b)
{
    bool same = a->since_ms == b->since_ms && a->marks.n == b->marks.n;
    for (size_t i = 0; same && i < a->marks.n; i++)
        same = a->marks.items[i].number == b->marks.items[i].number &&
               a->marks.items[i].change == b->marks.items[i].change;
    return same;
}

static inline bool
same_order(const udpai_order *a, const udpai_order *b)
{
    return a->kind == b->kind && a->session == b->session && a->link == b->link &&
           a->ticket == b->ticket && a->is_source == b->is_source && a->is_set == b->is_set &&
           a->place == b->place && a->target == b->target && !a->answer == !b->answer &&
           (!a->answer || a->answer->kind == b->answer->kind) &&
           same_changes(a->changes, b->changes) && same_settled(a->settled, b->settled) &&
           same_error(a->error, b->error) && same_subscription(a->subscription, b->subscription) &&
           same_publication(a->publication, b->publication) && same_acl(a->acl, b->acl) &&
           same_bytes(a->events, b->events) && same_bytes(a->announced, b->announced) &&
           a->commit == b->commit && same_marks(a, b);
}

static inline bool
same_report(const udpai_report *a, const udpai_report *b)
{
    bool same = a->kind == b->kind && a->session == b->session && a->link == b->link &&
                a->ticket == b->ticket && a->is_extended == b->is_extended &&
                a->subscribed == b->subscribed && a->is_disowned == b->is_disowned &&
                a->is_client == b->is_client && same_identity(a->identity, b->identity) &&
                same_bytes(a->address, b->address) && !a->info == !b->info &&
                (!a->info || udpai_node_info_equal(a->info, b->info)) &&
                same_bytes(a->name_space, b->name_space) &&
                same_publication(a->publication, b->publication) &&
                same_subscription(a->subscription, b->subscription) &&
                same_error(a->error, b->error) && same_bytes(a->events, b->events) &&
                a->statuses.n == b->statuses.n && a->outcome == b->outcome &&
                a->took_ms == b->took_ms;
    for (size_t i = 0; same && i < a->statuses.n; i++)
        same = same_bytes(a->statuses.items[i], b->statuses.items[i]);
    return same;
}

#endif
