/* SPDX-License-Identifier: Apache-2.0 */
#include "federation/stamps.h"

#include "base/alloc.h"
#include "base/map.h"
#include "base/strbuf.h"
#include "model/removal.h"
#include "model/secret_type.h"

#define KEY "stamp:"

typedef struct stamp {
    udpai_content_hash hash;
    uint64_t generation;    /* as the set has it; 0: not yet */
    uint64_t proposed;      /* what this node proposes; 0: nothing */
    udpa_resource *carrier; /* of that; a reference */
    udpa_resource *seen;    /* of the generation; a reference; NULL: of none */
} stamp;

/* All of one name. */
typedef struct stamped {
    udpai_list in_changed, in_pending, in_crowded;
    udpa_bytes *type; /* with a NUL */
    udpa_bytes *name;
    UDPAI_VECTOR(stamp) stamps;
    size_t len;
    char key[]; /* type, NUL, name */
} stamped;

struct udpai_stamps {
    udpai_context *context;
    udpai_map by_name;
    udpai_list changed, crowded;
    udpai_list pending, proposed; /* to be proposed; and until that has come back */
    udpai_timer again;
};

static udpai_str
key_of(const void *item)
{
    const stamped *one = item;
    return (udpai_str){one->key, one->len};
}

static bool
is_same(udpai_content_hash a, udpai_content_hash b)
{
    return a.high == b.high && a.low == b.low;
}

/* ---- names ---- */

/* NULL without memory, or, if it is not to be made, if there is none. */
static stamped *
find(const udpai_stamps *stamps, udpai_str type_url, udpai_str name)
{
    char room[UDPAI_TYPE_URL_MAX + 1 + UDPAI_NAME_MAX], *at = room;
    if (type_url.len > UDPAI_TYPE_URL_MAX || name.len > UDPAI_NAME_MAX)
        return NULL;
    (void)udpai_str_put(&at, type_url);
    *at++ = '\0';
    (void)udpai_str_put(&at, name);
    return udpai_map_get(&stamps->by_name, (udpai_str){room, (size_t)(at - room)});
}

static void
free_stamp(const stamp *own)
{
    udpa_resource_unref(own->carrier);
    udpa_resource_unref(own->seen);
}

static void
free_stamped(stamped *one)
{
    for (size_t i = 0; i < one->stamps.n; i++)
        free_stamp(&one->stamps.items[i]);
    udpai_vector_done(&one->stamps);
    udpai_list_remove(&one->in_changed);
    udpai_list_remove(&one->in_pending);
    udpai_list_remove(&one->in_crowded);
    udpa_bytes_unref(one->type);
    udpa_bytes_unref(one->name);
    udpai_free(one);
}

static stamped *
make(udpai_stamps *stamps, udpai_str type_url, udpai_str name)
{
    size_t len = type_url.len + 1 + name.len;
    stamped *one = type_url.len <= UDPAI_TYPE_URL_MAX && name.len <= UDPAI_NAME_MAX
                       ? udpai_alloc(sizeof(*one) + len)
                       : NULL;
    if (!one)
        return NULL;
    char *at = one->key;
    udpai_list_init(&one->in_changed);
    udpai_list_init(&one->in_pending);
    udpai_list_init(&one->in_crowded);
    (void)udpai_str_put_terminated(&at, type_url);
    (void)udpai_str_put(&at, name);
    one->len = len;
    one->type = udpai_bytes_cstring(type_url);
    if (one->type && udpa_bytes_new(&one->name, name.data, name.len) == UDPA_OK &&
        udpai_map_add(&stamps->by_name, one))
        return one;
    free_stamped(one);
    return NULL;
}

static stamp *
find_stamp(stamped *one, udpai_content_hash hash)
{
    for (size_t i = 0; one && i < one->stamps.n; i++)
        if (is_same(one->stamps.items[i].hash, hash))
            return &one->stamps.items[i];
    return NULL;
}

/* NULL without memory. */
static stamp *
get_stamp(udpai_stamps *stamps, udpai_str type_url, udpai_str name, udpai_content_hash hash)
{
    stamped *one = find(stamps, type_url, name);
    one = one ? one : make(stamps, type_url, name);
    stamp *found = find_stamp(one, hash);
    if (found || !one || !udpai_vector_push(&one->stamps, (stamp){.hash = hash}))
        return found;
    return &one->stamps.items[one->stamps.n - 1];
}

static void
move_to(udpai_list *list, udpai_list *node)
{
    udpai_list_remove(node);
    udpai_list_append(list, node);
}

/* ---- what the set has ---- */

bool
udpai_stamps_is_key(udpai_str origin)
{
    return udpai_str_starts(origin, UDPAI_STR(KEY));
}

static bool
read_hash(udpai_str origin, udpai_content_hash *ret_hash)
{
    const char *hex = origin.data + strlen(KEY);
    if (origin.len != strlen(KEY) + UDPAI_CONTENT_HASH_HEX)
        return false;
    for (size_t i = 0; i < UDPAI_CONTENT_HASH_HEX; i++)
        if (!strchr("0123456789abcdef", hex[i]) || !hex[i])
            return false;
    *ret_hash = udpai_content_hash_from(hex);
    return true;
}

static void
drop_proposed(stamp *own)
{
    udpa_resource_unref(own->carrier);
    own->carrier = NULL;
    own->proposed = 0;
}

static void
take_delete(udpai_stamps *stamps, const udpai_durable_op *op, udpai_content_hash hash)
{
    const udpai_str type = {udpa_bytes_data(op->type), udpa_bytes_size(op->type) - 1};
    stamped *one = find(stamps, type, udpai_bytes_view(op->name));
    stamp *own = find_stamp(one, hash);
    if (own && own->proposed)
        own->generation = 0;
    if (!own || own->proposed)
        return;
    free_stamp(own);
    udpai_vector_remove_unordered(&one->stamps, (size_t)(own - one->stamps.items));
}

/* One that no replica writes is as if it were not there. */
udpa_err
udpai_stamps_take(udpai_stamps *stamps, const udpai_durable_op *op)
{
    udpai_content_hash hash;
    if (!read_hash(udpai_bytes_view(op->origin), &hash))
        return UDPA_OK;
    if (op->kind != UDPAI_DURABLE_PUT) {
        take_delete(stamps, op, hash);
        return UDPA_OK;
    }
    udpai_str type_url = udpai_resource_type_url(op->resource);
    udpai_str name = udpai_resource_name(op->resource);
    stamp *own = get_stamp(stamps, type_url, name, hash);
    if (!own)
        return UDPA_ERR_NOMEM;
    stamped *one = find(stamps, type_url, name);
    own->generation = udpa_resource_generation(op->resource);
    udpa_resource_ref(op->resource);
    udpa_resource_unref(own->seen);
    own->seen = op->resource;
    if (own->generation >= own->proposed) /* a generation does not go down */
        drop_proposed(own);
    move_to(&stamps->changed, &one->in_changed);
    if (one->stamps.n > UDPAI_STAMPS_PER_NAME)
        move_to(&stamps->crowded, &one->in_crowded);
    udpai_context_touch(stamps->context);
    return UDPA_OK;
}

static bool
has_proposed(stamped *one)
{
    size_t n_kept = 0;
    for (size_t i = 0; i < one->stamps.n; i++) {
        stamp own = one->stamps.items[i];
        own.generation = 0;
        udpa_resource_unref(own.seen);
        own.seen = NULL;
        if (own.proposed)
            one->stamps.items[n_kept++] = own;
    }
    one->stamps.n = n_kept;
    return n_kept > 0;
}

/* What this node proposes stays. */
void
udpai_stamps_clear(udpai_stamps *stamps)
{
    udpai_map before = stamps->by_name;
    size_t at = 0;
    stamped *one;
    udpai_map_init(&stamps->by_name, key_of);
    while ((one = udpai_map_next(&before, &at)))
        if (!has_proposed(one) || !udpai_map_add(&stamps->by_name, one))
            free_stamped(one);
    udpai_map_done(&before);
}

uint64_t
udpai_stamps_of(const udpai_stamps *stamps, const udpa_resource *resource)
{
    const stamp *own =
        find_stamp(find(stamps, udpai_resource_type_url(resource), udpai_resource_name(resource)),
                   udpai_resource_content_hash(resource));
    return own && !own->proposed ? own->generation : 0;
}

bool
udpai_stamps_next_changed(udpai_stamps *stamps, udpai_str *ret_type_url, udpai_str *ret_name)
{
    udpai_list *at = udpai_list_pop(&stamps->changed);
    if (!at)
        return false;
    const stamped *one = UDPAI_LIST_ENTRY(at, stamped, in_changed);
    *ret_type_url = (udpai_str){udpa_bytes_data(one->type), udpa_bytes_size(one->type) - 1};
    *ret_name = udpai_bytes_view(one->name);
    return true;
}

/* ---- what this node reads ---- */

static void
propose(udpai_stamps *stamps, const udpa_resource *resource, uint64_t generation)
{
    udpai_str type_url = udpai_resource_type_url(resource), name = udpai_resource_name(resource);
    udpa_resource *carrier = udpai_removal_of(resource, generation);
    stamp *own =
        carrier ? get_stamp(stamps, type_url, name, udpai_resource_content_hash(resource)) : NULL;
    if (!own) {
        udpa_resource_unref(carrier);
        return;
    }
    drop_proposed(own);
    own->proposed = generation;
    own->carrier = carrier;
    move_to(&stamps->pending, &find(stamps, type_url, name)->in_pending);
    udpai_context_touch(stamps->context);
}

uint64_t
udpai_stamps_choose(udpai_stamps *stamps,
                    const udpa_resource *resource,
                    uint64_t before,
                    uint64_t candidate)
{
    if (udpai_type_is_secret(udpai_resource_type_url(resource)))
        return candidate;
    uint64_t known = udpai_stamps_of(stamps, resource);
    if (known > before)
        return known;
    propose(stamps, resource, candidate);
    return candidate;
}

/* ---- proposals ---- */

static void
on_again(udpai_timer *timer)
{
    udpai_stamps *stamps = UDPAI_CONTAINER_OF(timer, udpai_stamps, again);
    udpai_list_splice(&stamps->pending, &stamps->proposed);
    if (!udpai_list_empty(&stamps->pending))
        udpai_context_touch(stamps->context);
}

static void
again_later(udpai_stamps *stamps)
{
    bool is_any = !udpai_list_empty(&stamps->pending) || !udpai_list_empty(&stamps->proposed);
    if (is_any && !udpai_timer_is_set(&stamps->again))
        udpai_timer_set(stamps->context->wheel, &stamps->again,
                        udpai_context_now(stamps->context) + UDPAI_STAMPS_AGAIN_MS);
}

static udpa_err
add(udpai_durable_batch *batch,
    udpai_durable_kind kind,
    const stamped *one,
    const stamp *own,
    udpa_resource *resource)
{
    char text[sizeof(KEY) + UDPAI_CONTENT_HASH_HEX] = KEY;
    UDPA_AUTO(udpa_bytes_unref) udpa_bytes *origin = NULL;
    udpai_content_hash_hex(own->hash, text + strlen(KEY));
    udpa_err err = udpa_bytes_new(&origin, text, strlen(KEY) + UDPAI_CONTENT_HASH_HEX);
    if (err != UDPA_OK)
        return err;
    bool is_put = kind == UDPAI_DURABLE_PUT;
    return udpai_durable_batch_add(batch, &(udpai_durable_op){
                                              .kind = kind,
                                              .origin = origin,
                                              .resource = resource,
                                              .type = is_put ? NULL : one->type,
                                              .name = is_put ? NULL : one->name,
                                          });
}

udpa_err
udpai_stamps_copy(const udpai_stamps *stamps, udpai_durable_batch *batch)
{
    size_t at = 0;
    const stamped *one;
    udpa_err err = UDPA_OK;
    while (err == UDPA_OK && (one = udpai_map_next(&stamps->by_name, &at)))
        for (size_t i = 0; i < one->stamps.n && err == UDPA_OK; i++)
            if (one->stamps.items[i].generation && one->stamps.items[i].seen)
                err = add(batch, UDPAI_DURABLE_PUT, one, &one->stamps.items[i],
                          one->stamps.items[i].seen);
    return err;
}

/* False: it proposes nothing, or there is no memory. */
static bool
add_proposed(udpai_durable_batch *batch, const stamped *one)
{
    size_t n_before = batch->ops.n;
    for (size_t i = 0; i < one->stamps.n; i++)
        if (one->stamps.items[i].proposed &&
            add(batch, UDPAI_DURABLE_PUT, one, &one->stamps.items[i],
                one->stamps.items[i].carrier) != UDPA_OK)
            return false;
    return batch->ops.n > n_before;
}

/* Without memory it is later. */
udpai_durable_batch *
udpai_stamps_next_proposal(udpai_stamps *stamps)
{
    udpai_list *at;
    bool may_propose = stamps->context->is_current && !udpai_list_empty(&stamps->pending);
    UDPA_AUTO(udpai_durable_batch_free)
    udpai_durable_batch *batch = may_propose ? udpai_durable_batch_new() : NULL;
    while (batch && batch->ops.n < UDPAI_STAMPS_BATCH && (at = udpai_list_pop(&stamps->pending)))
        if (add_proposed(batch, UDPAI_LIST_ENTRY(at, stamped, in_pending)))
            udpai_list_append(&stamps->proposed, at);
    again_later(stamps);
    return batch && batch->ops.n ? UDPAI_TAKE(batch) : NULL;
}

static const stamp *
oldest_of(const stamped *one)
{
    const stamp *oldest = NULL;
    for (size_t i = 0; i < one->stamps.n; i++) {
        const stamp *own = &one->stamps.items[i];
        if (!own->proposed && (!oldest || own->generation < oldest->generation))
            oldest = own;
    }
    return oldest;
}

/* What is lost is deleted when there is another one too many. */
udpai_durable_batch *
udpai_stamps_next_deletion(udpai_stamps *stamps)
{
    udpai_list *at = udpai_list_pop(&stamps->crowded);
    const stamped *one = at ? UDPAI_LIST_ENTRY(at, stamped, in_crowded) : NULL;
    const stamp *oldest = one && one->stamps.n > UDPAI_STAMPS_PER_NAME ? oldest_of(one) : NULL;
    UDPA_AUTO(udpai_durable_batch_free)
    udpai_durable_batch *batch = oldest ? udpai_durable_batch_new() : NULL;
    if (!batch || add(batch, UDPAI_DURABLE_DELETE, one, oldest, NULL) != UDPA_OK)
        return NULL;
    batch->is_janitors = true;
    return UDPAI_TAKE(batch);
}

/* ---- its life ---- */

udpa_err
udpai_stamps_new(udpai_stamps **ret_stamps, udpai_context *context)
{
    udpai_stamps *stamps = udpai_alloc(sizeof(*stamps));
    if (!stamps)
        return UDPA_ERR_NOMEM;
    stamps->context = context;
    udpai_map_init(&stamps->by_name, key_of);
    udpai_list_init(&stamps->changed);
    udpai_list_init(&stamps->crowded);
    udpai_list_init(&stamps->pending);
    udpai_list_init(&stamps->proposed);
    udpai_timer_init(&stamps->again, on_again);
    *ret_stamps = stamps;
    return UDPA_OK;
}

void
udpai_stamps_free(udpai_stamps *stamps)
{
    size_t at = 0;
    stamped *one;
    if (!stamps)
        return;
    udpai_timer_cancel(&stamps->again);
    while ((one = udpai_map_next(&stamps->by_name, &at)))
        free_stamped(one);
    udpai_map_done(&stamps->by_name);
    udpai_free(stamps);
}
