/* SPDX-License-Identifier: Apache-2.0 */
/* The rules of udpactl check that are about what a node reports of itself, its sources and its
 * replicas. */
#include <string.h>

#include "cli/names.h"
#include "ctl/findings.h"
#include "ctl/status_view.h"
#include "model/types.h"
#include "udpa/status/v1/status.pb-c.h"

#define NAMES_SHOWN 3

typedef Udpa__Status__V1__NodeStatus node_status;
typedef Udpa__Status__V1__SourceStatus source_status;
typedef Udpa__Status__V1__SourceType source_type;
typedef Udpa__Status__V1__ReplicaStatus replica_status;

typedef struct checking {
    udpai_ctl_findings *findings;
    const char *version; /* of udpactl */
    int64_t now_us;
    const replica_status *first; /* the others are compared with it; NULL: there was none yet */
} checking;

static const udpai_ctl_finding *
finding(udpai_ctl_finding *room, udpai_ctl_level level, const char *what, const char *action)
{
    *room = (udpai_ctl_finding){.level = level, .what = what, .action = (char *)(uintptr_t)action};
    return room;
}

#define ADD(self, level, what, action, ...)                                                        \
    udpai_ctl_findings_add((self)->findings,                                                       \
                           finding(&(udpai_ctl_finding){0}, (level), (what), (action)),            \
                           __VA_ARGS__)

/* "a, b and 4 more"; the number may be larger than that of the names. */
static const char *
list(udpai_strbuf *room, char *const *names, size_t n_names, uint64_t n)
{
    size_t n_shown = udpai_min_size(n_names, NAMES_SHOWN);
    for (size_t i = 0; i < n_shown; i++)
        udpai_strbuf_printf(room, "%s%.*s", i ? ", " : "", UDPAI_SHOWN(udpai_str_from(names[i])));
    if (n > n_shown)
        udpai_strbuf_printf(room, "%s%llu more", n_shown ? " and " : "",
                            (unsigned long long)(n - n_shown));
    return room->data && !udpai_strbuf_failed(room) ? room->data : "";
}

/* ---- the node ---- */

static void
check_types(checking *self, const node_status *node)
{
    for (size_t i = 0; i < node->n_types; i++) {
        const Udpa__Status__V1__TypeStatus *type = node->types[i];
        udpai_str kind = *type->type_url ? udpai_cli_type_short(udpai_str_from(type->type_url))
                                         : UDPAI_STR("of all other types");
        udpai_strbuf where = {0}, sources = {0};
        if (type->n_unsettled == 0)
            continue;
        udpai_strbuf_printf(&where, "%.*s", UDPAI_SHOWN(kind));
        ADD(self, UDPAI_CTL_WARNING, "resources",
            "make these sources active: 'udpactl status sources' has their errors",
            where.data ? where.data : "",
            "are pending: %s has not sent all of them, so the node sends no removal of any",
            list(&sources, type->unsettled, type->n_unsettled, type->n_unsettled));
        udpai_strbuf_done(&where);
        udpai_strbuf_done(&sources);
    }
}

static void
check_sinks(checking *self, const node_status *node)
{
    for (size_t i = 0; i < node->n_sinks; i++) {
        const Udpa__Status__V1__SinkStatus *sink = node->sinks[i];
        if (sink->n_failed)
            ADD(self, UDPAI_CTL_ERROR, "sink", "look at the space and the rights of its file",
                sink->kind, "%llu lines could not be written since the node started",
                (unsigned long long)sink->n_failed);
        if (sink->n_dropped)
            ADD(self, UDPAI_CTL_WARNING, "sink",
                "raise its limits, or have clients send less; see docs/guide/sinks.md", sink->kind,
                "%llu messages were dropped since the node started",
                (unsigned long long)sink->n_dropped);
    }
}

static void
check_node(checking *self, const node_status *node)
{
    for (size_t i = 0; i < node->n_problems; i++)
        ADD(self, UDPAI_CTL_ERROR, "node", "fix what it names: it stays until then", node->node_id,
            "reports: %s", node->problems[i]);
    if (strcmp(node->version, self->version) != 0)
        ADD(self, UDPAI_CTL_WARNING, "version", "install the same release of both", node->node_id,
            "is %s, udpactl is %s", node->version, self->version);
    check_types(self, node);
    check_sinks(self, node);
}

/* ---- sources ---- */

static void
check_connection(checking *self, const source_status *source)
{
    bool has_all = source->n_types > 0;
    udpai_strbuf age = {0};
    if (source->state == UDPA__STATUS__V1__SOURCE_STATUS__STATE__UNKNOWN) /* none is needed */
        return;
    if (source->state == UDPA__STATUS__V1__SOURCE_STATUS__STATE__ACTIVE) {
        if (*source->last_error)
            ADD(self, UDPAI_CTL_WARNING, "source", "correct it at the source", source->name,
                "is active, with an error: %s", source->last_error);
        return;
    }
    for (size_t i = 0; i < source->n_types; i++)
        has_all &= source->types[i]->complete != 0;
    udpai_ctl_put_age(&age, source->since ? self->now_us / 1000000 - source->since->seconds : 0);
    ADD(self, has_all ? UDPAI_CTL_WARNING : UDPAI_CTL_ERROR, "source",
        "see that its server runs, and that name, port and certificates are right", source->name,
        "is not active for %s: %s%s", age.data ? age.data : "?",
        *source->last_error ? source->last_error : "it has not answered yet",
        has_all ? "; what it sent before is served" : "");
    udpai_strbuf_done(&age);
}

static void
check_held(checking *self, const source_status *source, const source_type *type)
{
    udpai_strbuf names = {0};
    udpai_str kind = udpai_cli_type_short(udpai_str_from(type->type_url));
    ADD(self, UDPAI_CTL_WARNING, "source",
        "have it name them again; or if they are meant to be removed, 'udpactl sources accept "
        "NAME'",
        source->name, "no longer names %llu of %.*s, which are held%s%s: %s",
        (unsigned long long)type->held, UDPAI_SHOWN(kind), *type->held_because ? ", since " : "",
        type->held_because, list(&names, type->held_names, type->n_held_names, type->held));
    udpai_strbuf_done(&names);
}

static void
check_source(checking *self, const source_status *source)
{
    udpai_strbuf names = {0};
    check_connection(self, source);
    for (size_t i = 0; i < source->n_types; i++)
        if (source->types[i]->held)
            check_held(self, source, source->types[i]);
    if (source->n_differing)
        ADD(self, UDPAI_CTL_WARNING, "source", "see docs/guide/lost-disk.md", source->name,
            "has another version than it had before of %s",
            list(&names, source->differing_names, source->n_differing_names, source->n_differing));
    if (source->not_recovered)
        ADD(self, UDPAI_CTL_WARNING, "source", "restart the node without --restored", source->name,
            "is its standby, and nothing is adopted from it");
    udpai_strbuf_done(&names);
}

/* ---- replicas ---- */

static void
check_own_replica(checking *self, const replica_status *replica)
{
    const char *why = *replica->reason ? replica->reason : "no reason is known";
    const char *next = replica->hold ? replica->hold->next : "";
    switch (replica->state) {
    case UDPA__STATUS__V1__REPLICA_STATUS__STATE__STARTING:
        ADD(self, UDPAI_CTL_WARNING, "replica", "wait, and see that etcd answers", replica->id,
            "reads the state of the set from etcd: %s", why);
        break;
    case UDPA__STATUS__V1__REPLICA_STATUS__STATE__BEHIND:
        ADD(self, UDPAI_CTL_ERROR, "replica", "see that etcd has a quorum and can be reached",
            replica->id, "is not current: %s; publications are rejected", why);
        break;
    case UDPA__STATUS__V1__REPLICA_STATUS__STATE__HELD:
        ADD(self, UDPAI_CTL_ERROR, "replica",
            "look at 'udpactl store status', then run 'udpactl store push' or 'udpactl store "
            "accept'",
            replica->id, "is held: %s%s%s", why, *next ? "; next: " : "", next);
        break;
    default:
        break;
    }
    if (replica->hidden)
        ADD(self, UDPAI_CTL_WARNING, "replica", "have the same rules and keys on all replicas",
            replica->id, "does not serve %llu resources, which others have accepted",
            (unsigned long long)replica->hidden);
    if (replica->directories_waiting)
        ADD(self, UDPAI_CTL_WARNING, "replica", "have the same files on all replicas", replica->id,
            "does not use what it has read of %llu directories: most replicas have read others",
            (unsigned long long)replica->directories_waiting);
}

static void
check_replica(checking *self, const replica_status *replica)
{
    udpai_strbuf ids = {0};
    if (replica->is_own)
        check_own_replica(self, replica);
    if (replica->n_missing_key_ids)
        ADD(self, UDPAI_CTL_ERROR, "replica", "add them to its store.keys", replica->id,
            "is not ready: it lacks the keys %s",
            list(&ids, replica->missing_key_ids, replica->n_missing_key_ids,
                 replica->n_missing_key_ids));
    udpai_strbuf_done(&ids);
    if (!self->first)
        return;
    if (strcmp(replica->version, self->first->version) != 0)
        ADD(self, UDPAI_CTL_WARNING, "version", "install the same release on all replicas",
            replica->id, "is %s, replica %s is %s", replica->version, self->first->id,
            self->first->version);
    if (strcmp(replica->config, self->first->config) != 0)
        ADD(self, UDPAI_CTL_ERROR, "replica",
            "have the same bootstrap file on all, but for addresses; see docs/guide/replicas.md",
            replica->id, "is configured otherwise than replica %s", self->first->id);
}

/* ---- all ---- */

static void
check_resource(checking *self, const udpa_resource *resource, replica_status **ret_replica)
{
    size_t size;
    const void *payload = udpa_resource_payload(resource, &size);
    const char *type_url = udpa_resource_type_url(resource);
    if (strcmp(type_url, UDPAI_TYPE_NODE_STATUS) == 0) {
        node_status *node = udpa__status__v1__node_status__unpack(NULL, size, payload);
        if (node)
            check_node(self, node);
        udpa__status__v1__node_status__free_unpacked(node, NULL);
    } else if (strcmp(type_url, UDPAI_TYPE_SOURCE_STATUS) == 0) {
        source_status *source = udpa__status__v1__source_status__unpack(NULL, size, payload);
        if (source)
            check_source(self, source);
        udpa__status__v1__source_status__free_unpacked(source, NULL);
    } else if (strcmp(type_url, UDPAI_TYPE_REPLICA_STATUS) == 0) {
        *ret_replica = udpa__status__v1__replica_status__unpack(NULL, size, payload);
        if (*ret_replica)
            check_replica(self, *ret_replica);
    }
}

void
udpai_ctl_check_status(udpai_ctl_findings *findings,
                       udpa_resource *const *resources,
                       size_t n,
                       const char *version,
                       int64_t now_us)
{
    checking self = {.findings = findings, .version = version, .now_us = now_us};
    replica_status *first = NULL;
    for (size_t i = 0; i < n; i++) {
        replica_status *replica = NULL;
        check_resource(&self, resources[i], &replica);
        if (!first)
            self.first = first = replica;
        else
            udpa__status__v1__replica_status__free_unpacked(replica, NULL);
    }
    udpa__status__v1__replica_status__free_unpacked(first, NULL);
}
