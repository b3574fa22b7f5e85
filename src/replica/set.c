/* SPDX-License-Identifier: Apache-2.0 */
#include "replica/set.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/alloc.h"
#include "base/proto.h"
#include "base/strbuf.h"

enum {
    FIELD_FORMAT = 1,
    FIELD_ID = 2,
    FIELD_NODE = 3
};

struct udpai_set_search {
    udpai_set_search_env env;
    udpa_bytes *key, *node_id;
    char id[UDPAI_SET_ID_LEN + 1]; /* that it would give */
    udpai_etcd_call call;
    udpai_timer again;
};

static void look(udpai_set_search *search);

static void
on_again(udpai_timer *timer)
{
    look(UDPAI_CONTAINER_OF(timer, udpai_set_search, again));
}

static void
look_later(udpai_set_search *search, const udpa_error *why)
{
    udpai_timer_set(search->env.wheel, &search->again,
                    search->env.wheel->now_ms + UDPAI_SET_RETRY_MS);
    if (why)
        search->env.waiting(search->env.userdata, why);
}

/* ---- what the key has ---- */

typedef struct description {
    uint64_t format;
    udpai_str id, node_id;
} description;

static bool
read_description(udpai_str value, description *ret_description)
{
    udpai_proto_reader reader = udpai_proto_read(value);
    udpai_proto_field field;
    *ret_description = (description){0};
    while (udpai_proto_next(&reader, &field)) {
        if (field.number == FIELD_FORMAT && field.type == UDPAI_WIRE_VARINT)
            ret_description->format = field.value;
        else if (field.number == FIELD_ID && field.type == UDPAI_WIRE_BYTES)
            ret_description->id = field.bytes;
        else if (field.number == FIELD_NODE && field.type == UDPAI_WIRE_BYTES)
            ret_description->node_id = field.bytes;
    }
    return !reader.failed && ret_description->id.len == UDPAI_SET_ID_LEN;
}

static void
put_description(udpai_proto_writer *writer, const void *what)
{
    const description *from = what;
    udpai_proto_put_varint(writer, FIELD_FORMAT, from->format);
    udpai_proto_put_bytes(writer, FIELD_ID, from->id);
    udpai_proto_put_bytes(writer, FIELD_NODE, from->node_id);
}

udpa_bytes *
udpai_set_value(udpai_str id, udpai_str node_id)
{
    const description written = {UDPAI_SET_FORMAT, id, node_id};
    return udpai_proto_encode(put_description, &written);
}

bool
udpai_set_has_own_format(udpai_str value, uint64_t *ret_format)
{
    description found;
    *ret_format = read_description(value, &found) ? found.format : 0;
    return *ret_format == UDPAI_SET_FORMAT;
}

bool
udpai_set_is(udpai_str value, udpai_str id, udpai_str node_id)
{
    description found;
    return read_description(value, &found) && found.format == UDPAI_SET_FORMAT &&
           udpai_str_eq(found.id, id) && udpai_str_eq(found.node_id, node_id);
}

static void
draw_id(udpai_set_search *search)
{
    uint64_t high = search->env.random(search->env.userdata);
    uint64_t low = search->env.random(search->env.userdata);
    snprintf(search->id, sizeof(search->id), "%016" PRIx64 "%016" PRIx64, high, low);
}

/* ---- the end ---- */

static void
end(udpai_set_search *search, udpai_str id, const udpa_error *error)
{
    search->env.found(search->env.userdata, id, error);
}

static void
end_with(udpai_set_search *search, udpa_error *error)
{
    end(search, (udpai_str){0}, error);
    udpa_error_unref(error);
}

static void
take(udpai_set_search *search, udpai_str value)
{
    udpai_str key = udpai_bytes_view(search->key), own = udpai_bytes_view(search->node_id);
    description found;
    if (!read_description(value, &found))
        end_with(search, udpa_error_new(UDPA_ERR_PRECONDITION, NULL,
                                        "the key %.*s in etcd is not that of a replica set: does "
                                        "something else use store.prefix?",
                                        UDPAI_SHOWN(key)));
    else if (found.format != UDPAI_SET_FORMAT)
        end_with(search, udpa_error_new(UDPA_ERR_PRECONDITION, NULL,
                                        "the replica set in etcd has format %" PRIu64
                                        ", and this udpad has %d: update it",
                                        found.format, UDPAI_SET_FORMAT));
    else if (!udpai_str_eq(found.node_id, own))
        end_with(search, udpa_error_new(UDPA_ERR_PRECONDITION, NULL,
                                        "the replica set in etcd is the node '%.*s', and this is "
                                        "'%.*s': replicas have one node.id; another node needs "
                                        "another store.prefix",
                                        UDPAI_SHOWN(found.node_id), UDPAI_SHOWN(own)));
    else
        end(search, found.id, NULL);
}

/* ---- looking, and writing it if it is not there ---- */

static void
on_written(udpai_etcd_call *call, const udpai_etcd_result *result)
{
    udpai_set_search *search = UDPAI_CONTAINER_OF(call, udpai_set_search, call);
    if (result->outcome == UDPAI_ETCD_REJECTED)
        end(search, (udpai_str){0}, result->error);
    else /* who was first, or whether this was done, is seen by looking */
        look_later(search, result->outcome == UDPAI_ETCD_DONE ? NULL : result->error);
}

static void
write_key(udpai_set_search *search)
{
    udpai_str key = udpai_bytes_view(search->key);
    UDPA_AUTO(udpa_bytes_unref)
    udpa_bytes *value =
        udpai_set_value(udpai_str_from(search->id), udpai_bytes_view(search->node_id));
    const udpai_etcd_compare compare = {UDPAI_ETCD_COMPARE_MOD_REVISION, key, 0};
    udpai_etcd_op put = {.kind = UDPAI_ETCD_OP_PUT, .key = key};
    const udpai_etcd_txn txn = {.compares = &compare, .n_compares = 1, .ops = &put, .n_ops = 1};
    if (value)
        put.value = udpai_bytes_view(value);
    search->call.done = on_written;
    if (!value || search->env.etcd->ops->txn(search->env.etcd, &search->call, &txn) != UDPA_OK)
        look_later(search, NULL);
}

static void
on_looked(udpai_etcd_call *call, const udpai_etcd_result *result)
{
    udpai_set_search *search = UDPAI_CONTAINER_OF(call, udpai_set_search, call);
    if (result->outcome == UDPAI_ETCD_REJECTED)
        end(search, (udpai_str){0}, result->error);
    else if (result->outcome != UDPAI_ETCD_DONE)
        look_later(search, result->error);
    else if (result->n_kvs)
        take(search, result->kvs[0].value);
    else
        write_key(search);
}

static void
look(udpai_set_search *search)
{
    const udpai_etcd_range range = {.key = udpai_bytes_view(search->key), .limit = 1};
    search->call.done = on_looked;
    if (search->env.etcd->ops->range(search->env.etcd, &search->call, &range) != UDPA_OK)
        look_later(search, NULL);
}

/* ---- its life ---- */

udpa_err
udpai_set_search_new(udpai_set_search **ret_search,
                     const udpai_set_search_env *env,
                     udpai_str prefix,
                     udpai_str node_id)
{
    udpai_set_search *search = udpai_alloc(sizeof(*search));
    udpai_strbuf key = {0};
    if (!search)
        return UDPA_ERR_NOMEM;
    search->env = *env;
    udpai_timer_init(&search->again, on_again);
    draw_id(search);
    udpai_strbuf_str(&key, prefix);
    udpai_strbuf_puts(&key, UDPAI_SET_KEY);
    search->key = udpai_bytes_of(&key);
    if (!search->key || udpa_bytes_new(&search->node_id, node_id.data, node_id.len) != UDPA_OK) {
        udpai_set_search_free(search);
        return UDPA_ERR_NOMEM;
    }
    look(search);
    *ret_search = search;
    return UDPA_OK;
}

udpai_set_search *
udpai_set_search_free(udpai_set_search *search)
{
    if (!search)
        return NULL;
    udpai_timer_cancel(&search->again);
    if (search->call.engine)
        search->env.etcd->ops->cancel(search->env.etcd, &search->call);
    udpa_bytes_unref(search->key);
    udpa_bytes_unref(search->node_id);
    udpai_free(search);
    return NULL;
}
