/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/bench/protocol.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/proto.h"
#include "tools/bench/contents.h"
#include "tools/bench/nested.h"

#define EXTENSION "udpa.ext.v1"
#define PREFIX_LEN 5 /* of a message of gRPC */

enum { /* of DeltaPublish */
    REMOVED = 2,
    TYPE_URL = 5,
};

/* ---- what comes ---- */

struct place {
    uint32_t path;
    udpai_load_meaning meaning;
};

static const struct place delta_places[] = {
    {UDPAI_PATH1(2), UDPAI_MEANS_RESOURCE},
    {UDPAI_PATH2(2, 1), UDPAI_MEANS_RESOURCE_VERSION},
    {UDPAI_PATH2(2, 3), UDPAI_MEANS_RESOURCE_NAME},
    {UDPAI_PATH1(4), UDPAI_MEANS_TYPE},
    {UDPAI_PATH1(5), UDPAI_MEANS_NONCE},
    {0, UDPAI_MEANS_NOTHING},
};

static const struct place state_of_the_world_places[] = {
    {UDPAI_PATH1(1), UDPAI_MEANS_VERSION},
    {UDPAI_PATH1(2), UDPAI_MEANS_RESOURCE},
    {UDPAI_PATH1(5), UDPAI_MEANS_NONCE},
    {0, UDPAI_MEANS_NOTHING},
};

static const struct place udpa_places[] = {
    {UDPAI_PATH1(3), UDPAI_MEANS_MORE},
    {UDPAI_PATH2(3, 1), UDPAI_MEANS_MORE},
    {UDPAI_PATH3(3, 1, 1), UDPAI_MEANS_RESOURCE},
    {UDPAI_PATH4(3, 1, 1, 1), UDPAI_MEANS_RESOURCE_NAME},
    {UDPAI_PATH4(3, 1, 1, 2), UDPAI_MEANS_RESOURCE_VERSION},
    {UDPAI_PATH3(3, 1, 2), UDPAI_MEANS_NONCE},
    {UDPAI_PATH3(3, 1, 3), UDPAI_MEANS_RECEIPT_REQUESTED},
    {UDPAI_PATH2(3, 2), UDPAI_MEANS_MORE},
    {UDPAI_PATH3(3, 2, 1), UDPAI_MEANS_RESOURCE},
    {UDPAI_PATH4(3, 2, 1, 1), UDPAI_MEANS_RESOURCE_NAME},
    {UDPAI_PATH4(3, 2, 1, 2), UDPAI_MEANS_RESOURCE_VERSION},
    {UDPAI_PATH4(3, 2, 1, 3), UDPAI_MEANS_RESOURCE_ANY},
    {UDPAI_PATH5(3, 2, 1, 3, 1), UDPAI_MEANS_RESOURCE_TYPE},
    {UDPAI_PATH3(3, 2, 3), UDPAI_MEANS_NONCE},
    {UDPAI_PATH3(3, 2, 4), UDPAI_MEANS_RECEIPT_REQUESTED},
    {UDPAI_PATH1(4), UDPAI_MEANS_RECEIPT},
    {UDPAI_PATH2(4, 1), UDPAI_MEANS_NONCE},
    {UDPAI_PATH2(4, 2), UDPAI_MEANS_RECEIPT_ERROR},
    {UDPAI_PATH3(4, 2, 2), UDPAI_MEANS_REASON},
    {UDPAI_PATH1(5), UDPAI_MEANS_REJECTION},
    {UDPAI_PATH2(5, 4), UDPAI_MEANS_MORE},
    {UDPAI_PATH3(5, 4, 2), UDPAI_MEANS_REASON},
    {0, UDPAI_MEANS_NOTHING},
};

udpai_load_meaning
udpai_load_meaning_of(udpai_load_protocol protocol, uint32_t path)
{
    static const struct place *const places[] = {delta_places, state_of_the_world_places,
                                                 udpa_places};
    const struct place *at = places[protocol];
    while (at->path && at->path != path)
        at++;
    return at->meaning;
}

const char *
udpai_load_path(udpai_load_protocol protocol)
{
    static const char *const paths[] = {
        "/envoy.service.discovery.v3.AggregatedDiscoveryService/DeltaAggregatedResources",
        "/envoy.service.discovery.v3.AggregatedDiscoveryService/StreamAggregatedResources",
        "/udpa.service.discovery.v1.UdpaDiscoveryService/StreamMessages",
    };
    return paths[protocol];
}

/* ---- what goes ---- */

static void
put_prefix(uint8_t *to, size_t size)
{
    to[0] = 0; /* it is not compressed */
    for (size_t i = 1; i < PREFIX_LEN; i++)
        to[i] = (uint8_t)(size >> 8 * (PREFIX_LEN - 1 - i));
}

/* A message of gRPC that a function puts: first to count, then to write. */
static void
put_message(udpai_strbuf *out, udpai_load_put_fn put, const void *from)
{
    udpai_proto_writer writer = {0};
    put(&writer, from);
    uint8_t *room = udpai_strbuf_extend(out, PREFIX_LEN + writer.size);
    if (!room)
        return;
    put_prefix(room, writer.size);
    writer = (udpai_proto_writer){.at = room + PREFIX_LEN};
    put(&writer, from);
}

static void
put_text(udpai_proto_writer *writer, uint32_t number, const char *text)
{
    udpai_proto_put_bytes(writer, number, udpai_str_from(text));
}

static size_t
index_of(const udpai_load_subscription *subscription, size_t i)
{
    return (subscription->first + i) % subscription->n_resources;
}

static void
put_names(udpai_proto_writer *writer, uint32_t number, const udpai_load_subscription *subscription)
{
    char room[UDPAI_CONTENTS_NAME_ROOM];
    for (size_t i = 0; i < subscription->n_names; i++)
        udpai_proto_put_bytes(
            writer, number,
            udpai_contents_name(room, subscription->name_space, index_of(subscription, i)));
}

static void
put_all_held(udpai_proto_writer *writer, const udpai_load_subscription *subscription)
{
    if (subscription->held)
        udpai_load_held_put(subscription->held, writer, subscription->first,
                            subscription->n_names ? subscription->n_names
                                                  : subscription->n_resources);
}

static const char *
node_id(char room[UDPAI_LOAD_ID_ROOM], const udpai_load_subscription *subscription)
{
    snprintf(room, UDPAI_LOAD_ID_ROOM, "%s-%u", subscription->node_id, subscription->number);
    return room;
}

static void
put_xds_node(udpai_proto_writer *writer, const void *from)
{
    char room[UDPAI_LOAD_ID_ROOM];
    put_text(writer, 1, node_id(room, from));
    put_text(writer, 2, "bench");
}

static void
put_delta_question(udpai_proto_writer *writer, const void *from)
{
    const udpai_load_subscription *subscription = from;
    if (subscription->node_id)
        udpai_load_put_nested(writer, 1, put_xds_node, subscription);
    put_text(writer, 2, subscription->type_url);
    put_names(writer, 3, subscription);
    if (!subscription->n_names)
        put_text(writer, 3, "*");
    put_all_held(writer, subscription);
}

static void
put_state_of_the_world_question(udpai_proto_writer *writer, const void *from)
{
    const udpai_load_subscription *subscription = from;
    udpai_load_put_nested(writer, 2, put_xds_node, subscription);
    put_names(writer, 3, subscription);
    put_text(writer, 4, subscription->type_url);
}

static void
put_subscribe(udpai_proto_writer *writer, const void *from)
{
    const udpai_load_subscription *subscription = from;
    put_text(writer, 1, subscription->type_url);
    put_names(writer, 2, subscription);
    if (!subscription->n_names)
        put_text(writer, 2, "*");
    put_all_held(writer, subscription);
    put_text(writer, 4, subscription->name_space);
}

static void
put_udpa_question(udpai_proto_writer *writer, const void *from)
{
    udpai_load_put_nested(writer, 1, put_subscribe, from);
}

/* In the order in which an Envoy uses them. The Node is in the first message alone. */
static void
put_questions_of_envoy(udpai_strbuf *out, const udpai_load_subscription *endpoints)
{
    udpai_load_subscription one = *endpoints;
    one.type_url = UDPAI_TYPE_CLUSTER;
    one.n_names = 0;
    put_message(out, put_delta_question, &one);
    one = *endpoints;
    one.node_id = NULL;
    put_message(out, put_delta_question, &one);
    one.type_url = UDPAI_TYPE_LISTENER;
    one.n_names = 0;
    put_message(out, put_delta_question, &one);
    one.type_url = UDPAI_TYPE_ROUTES;
    one.first = 0;
    one.n_names = 1;
    put_message(out, put_delta_question, &one);
}

void
udpai_load_put_subscription(udpai_strbuf *out,
                            udpai_load_protocol protocol,
                            const udpai_load_subscription *subscription)
{
    static const udpai_load_put_fn puts[] = {put_delta_question, put_state_of_the_world_question,
                                             put_udpa_question};
    char room[UDPAI_LOAD_ID_ROOM];
    if (subscription->is_of_envoy) {
        put_questions_of_envoy(out, subscription);
        return;
    }
    if (protocol == UDPAI_LOAD_UDPA)
        udpai_load_put_node(out, node_id(room, subscription));
    put_message(out, puts[protocol], subscription);
    for (size_t i = 1; i < subscription->n_of_a_stream; i++) {
        udpai_load_subscription more = *subscription;
        more.name_space =
            subscription->spaces[(subscription->first_space + i) % subscription->n_spaces];
        put_message(out, puts[protocol], &more);
    }
}

struct acknowledgement {
    const udpai_load_subscription *subscription;
    const udpai_load_ack *answer;
};

static void
put_delta_acknowledgement(udpai_proto_writer *writer, const void *from)
{
    const struct acknowledgement *both = from;
    if (both->answer->type_url.len)
        udpai_proto_put_bytes(writer, 2, both->answer->type_url);
    else
        put_text(writer, 2, both->subscription->type_url);
    udpai_proto_put_bytes(writer, 6, both->answer->nonce);
}

static void
put_state_of_the_world_acknowledgement(udpai_proto_writer *writer, const void *from)
{
    const struct acknowledgement *both = from;
    udpai_proto_put_bytes(writer, 1, both->answer->version);
    put_names(writer, 3, both->subscription);
    put_text(writer, 4, both->subscription->type_url);
    udpai_proto_put_bytes(writer, 5, both->answer->nonce);
}

static void
put_receipt(udpai_proto_writer *writer, const void *from)
{
    const struct acknowledgement *both = from;
    udpai_proto_put_head(writer, 4, udpai_proto_bytes_size(1, both->answer->nonce.len));
    udpai_proto_put_bytes(writer, 1, both->answer->nonce);
}

void
udpai_load_put_acknowledgement(udpai_strbuf *out,
                               udpai_load_protocol protocol,
                               const udpai_load_subscription *subscription,
                               const udpai_load_ack *answer)
{
    static const udpai_load_put_fn puts[] = {put_delta_acknowledgement,
                                             put_state_of_the_world_acknowledgement, put_receipt};
    put_message(out, puts[protocol], &(struct acknowledgement){subscription, answer});
}

/* ---- publishing ---- */

static void
put_node_contents(udpai_proto_writer *writer, const void *from)
{
    put_text(writer, 1, from);
    put_text(writer, 2, "bench");
    put_text(writer, 10, EXTENSION);
}

static void
put_node_any(udpai_proto_writer *writer, const void *from)
{
    put_text(writer, 1, UDPAI_LOAD_NODE_TYPE);
    udpai_load_put_nested(writer, 2, put_node_contents, from);
}

static void
put_node_resource(udpai_proto_writer *writer, const void *from)
{
    put_text(writer, 1, from);
    put_text(writer, 2, "1");
    udpai_load_put_nested(writer, 3, put_node_any, from);
}

static void
put_node_delta(udpai_proto_writer *writer, const void *from)
{
    udpai_load_put_nested(writer, 1, put_node_resource, from);
}

static void
put_node_publish(udpai_proto_writer *writer, const void *from)
{
    udpai_load_put_nested(writer, 2, put_node_delta, from);
}

static void
put_node_message(udpai_proto_writer *writer, const void *from)
{
    udpai_load_put_nested(writer, 3, put_node_publish, from);
}

void
udpai_load_put_node(udpai_strbuf *out, const char *id)
{
    put_message(out, put_node_message, id);
}

/* Sizes of what is nested, from the inside. */
struct sizes {
    size_t any, resource;
};

static struct sizes
sizes_of(const udpai_contents *contents, udpai_str version)
{
    size_t any = udpai_proto_bytes_size(1, sizeof(UDPAI_TYPE_ENDPOINTS) - 1) +
                 udpai_proto_bytes_size(2, contents->bytes.len);
    size_t resource = udpai_proto_bytes_size(1, contents->name.len) +
                      udpai_proto_bytes_size(2, version.len) + udpai_proto_bytes_size(3, any);
    return (struct sizes){any, resource};
}

static void
put_resource(udpai_proto_writer *writer, const udpai_contents *contents, udpai_str version)
{
    struct sizes sizes = sizes_of(contents, version);
    udpai_proto_put_head(writer, 1, sizes.resource);
    udpai_proto_put_bytes(writer, 1, contents->name);
    udpai_proto_put_bytes(writer, 2, version);
    udpai_proto_put_head(writer, 3, sizes.any);
    put_text(writer, 1, UDPAI_TYPE_ENDPOINTS);
    udpai_proto_put_bytes(writer, 2, contents->bytes);
}

static size_t
removals_size(const udpai_load_publication *all)
{
    return all->n * udpai_proto_bytes_size(REMOVED, all->contents->name.len) +
           udpai_proto_bytes_size(TYPE_URL, sizeof(UDPAI_TYPE_ENDPOINTS) - 1);
}

static void
put_all(udpai_proto_writer *writer, const udpai_load_publication *all, udpai_str version)
{
    for (size_t i = 0; i < all->n; i++) {
        udpai_contents_set(all->contents, all->first + i * all->step, all->serial);
        if (all->is_removal)
            udpai_proto_put_bytes(writer, REMOVED, all->contents->name);
        else
            put_resource(writer, all->contents, version);
    }
    if (all->is_removal)
        put_text(writer, TYPE_URL, UDPAI_TYPE_ENDPOINTS);
}

void
udpai_load_put_publication(udpai_strbuf *out, const udpai_load_publication *all)
{
    char room[24];
    int len = snprintf(room, sizeof(room), "%" PRIu64, all->serial + 1);
    const udpai_str version = {room, (size_t)len}, nonce = version;
    size_t resource = udpai_proto_bytes_size(1, sizes_of(all->contents, version).resource);
    size_t receipt = all->wants_receipt ? 2 : 0;
    size_t delta = (all->is_removal ? removals_size(all) : all->n * resource) +
                   udpai_proto_bytes_size(3, nonce.len) + receipt;
    size_t publish = udpai_proto_bytes_size(2, delta);
    size_t size = udpai_proto_bytes_size(3, publish);
    uint8_t *to = udpai_strbuf_extend(out, PREFIX_LEN + size);
    if (!to)
        return;
    put_prefix(to, size);
    udpai_proto_writer writer = {.at = to + PREFIX_LEN};
    udpai_proto_put_head(&writer, 3, publish);
    udpai_proto_put_head(&writer, 2, delta);
    put_all(&writer, all, version);
    udpai_proto_put_bytes(&writer, 3, nonce);
    udpai_proto_put_varint_opt(&writer, 4, all->wants_receipt);
}
