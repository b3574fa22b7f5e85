/* SPDX-License-Identifier: Apache-2.0 */
/* Looks at every message on its way: counts what is in it, shows it, and checks what must hold of
 * any message. */
#include "network.h"

#include <stdio.h>
#include <stdlib.h>

/* ---- showing ---- */

static void
show_subscription(const char *kind, const udpai_subscription_message *message)
{
    fprintf(stderr, " %s %.*s in '%.*s':", kind, (int)message->type_url.len, message->type_url.data,
            (int)message->name_space.len, message->name_space.data);
    for (size_t i = 0; i < message->n_names; i++)
        fprintf(stderr, " '%.*s'", (int)message->names[i].len, message->names[i].data);
    fprintf(stderr, " holds %zu %zu", message->n_versions, message->n_digests);
    for (size_t i = 0; i < message->n_digests; i++)
        fprintf(stderr, " =%.*s", (int)message->digests[i].name.len, message->digests[i].name.data);
    if (message->distance)
        fprintf(stderr, " from %u", message->distance);
}

static void
show_publication(const udpai_publication *publication)
{
    fprintf(stderr, " publish%s%s %.*s:", publication->complete ? " complete" : "",
            publication->state_of_the_world ? " state" : "", (int)publication->type_url.len,
            publication->type_url.data);
    for (size_t i = 0; i < publication->entries.n; i++) {
        const udpa_resource *resource = publication->entries.items[i].resource;
        fprintf(stderr, " %s%s@%s#%llu", publication->entries.items[i].is_refresh ? "~" : "+",
                udpa_resource_name(resource), udpa_resource_authority(resource),
                (unsigned long long)udpa_resource_generation(resource) % 100000000);
        for (size_t k = 0; k < udpa_resource_n_hops(resource); k++)
            fprintf(stderr, "/%s", udpai_resource_hop(resource, k).node_id.data);
    }
    for (size_t i = 0; i < publication->removals.n; i++) {
        const udpai_removal *removal = &publication->removals.items[i];
        fprintf(stderr, " -%s", removal->name.data);
        if (removal->statement)
            fprintf(stderr, "#%llu",
                    (unsigned long long)udpa_resource_generation(removal->statement) % 100000000);
    }
}

static void
show_message(const udpai_message *message)
{
    switch (message->kind) {
    case UDPAI_MESSAGE_SUBSCRIBE:
        show_subscription("subscribe", &message->subscription);
        break;
    case UDPAI_MESSAGE_UNSUBSCRIBE:
        show_subscription("unsubscribe", &message->subscription);
        break;
    case UDPAI_MESSAGE_SUBSCRIPTION_ERROR:
        show_subscription("subscription error", &message->subscription);
        break;
    case UDPAI_MESSAGE_PUBLISH:
        show_publication(message->publication);
        break;
    case UDPAI_MESSAGE_RECEIPT:
        fprintf(stderr, " receipt");
        break;
    default:
        break;
    }
}

/* ---- counting ---- */

static bool
is_node(const udpa_resource *resource)
{
    return udpai_str_eq(udpai_resource_type_url(resource), UDPAI_STR(UDPAI_TYPE_NODE));
}

static void
count_publication(sim_world *world, const udpai_publication *publication)
{
    world->counts[SIM_PUBLISHES]++;
    world->counts[SIM_COMPLETES] += publication->complete;
    world->counts[SIM_REMOVALS] += publication->removals.n;
    for (size_t i = 0; i < publication->entries.n; i++) {
        const udpai_publication_entry *entry = &publication->entries.items[i];
        world->counts[SIM_REFRESHES] += entry->is_refresh;
        world->counts[SIM_NODES] += is_node(entry->resource);
    }
}

static void
count_message(sim_world *world, const udpai_message *message)
{
    switch (message->kind) {
    case UDPAI_MESSAGE_SUBSCRIBE:
        world->counts[SIM_SUBSCRIBES]++;
        world->counts[SIM_PASSED_ON] += message->subscription.distance > 0;
        break;
    case UDPAI_MESSAGE_UNSUBSCRIBE:
        world->counts[SIM_UNSUBSCRIBES]++;
        break;
    case UDPAI_MESSAGE_SUBSCRIPTION_ERROR:
        world->counts[SIM_SUBSCRIPTION_ERRORS]++;
        break;
    case UDPAI_MESSAGE_PUBLISH:
        count_publication(world, message->publication);
        break;
    case UDPAI_MESSAGE_RECEIPT:
        world->counts[message->receipt.n_statuses ? SIM_RECEIPTS_REFUSED : SIM_RECEIPTS_OK]++;
        break;
    default:
        break;
    }
}

static void
show(const sim_node *from, const sim_node *to, const udpai_message *message)
{
    fprintf(stderr, "%9llu %s -> %s:", (unsigned long long)sim_ms(to->world), from ? from->id : "?",
            to->id);
    show_message(message);
    fprintf(stderr, "\n");
}

/* ---- checking ---- */

static void
fail(const sim_node *node, const char *what, const char *name)
{
    fprintf(stderr, "FAIL at %llu ms: %s at %s: %s\n", (unsigned long long)sim_ms(node->world),
            what, node->id, name);
    exit(EXIT_FAILURE);
}

static bool
is_hop(const udpa_resource *resource, size_t index, udpai_str instance)
{
    return udpai_str_eq(udpai_resource_hop(resource, index).instance, instance);
}

/* What it restored from its disk it may send to where it came from. */
static bool
has_long_known(const sim_node *node, const sim_node *source)
{
    if (node->has_restored)
        return false;
    for (size_t i = 0; i < node->known_sources.n; i++)
        if (node->known_sources.items[i].node == source)
            return node->world->now_us > node->known_sources.items[i].since_us + 5000000;
    return false;
}

static void
note_known(sim_node *node, const sim_node *source)
{
    const sim_acquaintance known = {source, node->world->now_us};
    for (size_t i = 0; i < node->known_sources.n; i++)
        if (node->known_sources.items[i].node == source)
            return;
    if (!udpai_vector_push(&node->known_sources, known))
        abort();
}

/* The last hop is the sender's; the one before it is where the sender has it from. */
static void
check_path(const sim_node *from, const sim_node *to, const udpa_resource *resource)
{
    size_t n = udpa_resource_n_hops(resource);
    const char *name = udpa_resource_name(resource);
    if (from && to->is_management && !to->recovers && n >= 2 &&
        is_hop(resource, n - 2, udpai_str_from(to->instance)) && has_long_known(from, to))
        fail(to, "a node is offered what came from it", name);
    for (size_t i = 0; i < n; i++)
        for (size_t k = i + 1; k < n; k++) {
            const udpai_hop one = udpai_resource_hop(resource, i);
            if (is_hop(resource, k, one.instance))
                fail(to, "a resource has passed a node twice", name);
            if (udpai_str_eq(udpai_resource_hop(resource, k).node_id, one.node_id))
                to->world->counts[SIM_TWINS_PASSED]++;
        }
}

static void
check_publication(const sim_node *from,
                  sim_node *to,
                  bool has_dialled,
                  const udpai_publication *publication)
{
    for (size_t i = 0; i < publication->entries.n; i++) {
        const udpa_resource *resource = publication->entries.items[i].resource;
        check_path(from, to, resource);
        if (from && has_dialled && is_node(resource))
            note_known(to, from);
    }
}

void
sim_watch(const sim_node *from, sim_node *to, bool has_dialled, const udpa_bytes *bytes)
{
    sim_world *world = to->world;
    udpai_message message = {0};
    udpa_error *error = NULL;
    if (udpai_message_decode(&world->decoder, udpai_bytes_view(bytes), true, &message, &error) !=
        UDPA_OK)
        fail(to, "it is sent what cannot be read", udpa_error_message(error));
    count_message(world, &message);
    if (world->trace)
        show(from, to, &message);
    if (message.kind == UDPAI_MESSAGE_PUBLISH)
        check_publication(from, to, has_dialled, message.publication);
    udpai_message_done(&message);
}
