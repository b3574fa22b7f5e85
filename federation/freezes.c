/* SPDX-License-Identifier: Apache-2.0 */
#include "federation/freezes.h"

#include "base/alloc.h"
#include "base/error.h"
#include "base/strbuf.h"
#include "base/time_text.h"
#include "model/client_type.h"
#include "model/name.h"
#include "model/types.h"
#include "store/freeze.h"
#include "udpa/status/v1/status.pb-c.h"

#define KEY "freeze:"
#define NAME_BEGIN UDPAI_NODE_NAMESPACE "/freeze/"

typedef struct kept {
    udpa_resource *resource; /* a reference */
    Udpa__Status__V1__Freeze *message;
} kept;

struct udpai_freezes {
    udpai_context *context;
    UDPAI_VECTOR(kept) all;
    bool is_awaiting; /* what comes from the beginning on */
};

/* ---- what is frozen ---- */

static udpai_freeze
freeze_of(const kept *one)
{
    return (udpai_freeze){
        .prefix = udpai_str_from(one->message->prefix),
        .reason = udpai_str_from(one->message->reason),
        .by = udpai_str_from(one->message->by),
        .since_us = one->message->since_us,
        .is_all = one->message->all,
    };
}

size_t
udpai_freezes_n(const udpai_freezes *freezes)
{
    return freezes->all.n;
}

bool
udpai_freezes_next(const udpai_freezes *freezes, size_t *position, udpai_freeze *ret_freeze)
{
    if (*position >= freezes->all.n)
        return false;
    *ret_freeze = freeze_of(&freezes->all.items[(*position)++]);
    return true;
}

/* Of an instance that serves: where it is, and what it proves it by. */
static bool
goes_on(udpai_str type_url)
{
    return udpai_str_eq(type_url, UDPAI_STR(UDPAI_TYPE_ENDPOINTS)) ||
           udpai_str_eq(type_url, UDPAI_STR(UDPAI_TYPE_MEMBER)) ||
           udpai_str_eq(type_url, UDPAI_STR(UDPAI_TYPE_SECRET));
}

static bool
is_never_frozen(udpai_str type_url, udpai_str name)
{
    return udpai_type_is_client(type_url) ||
           udpai_prefix_covers(UDPAI_STR(UDPAI_NODE_NAMESPACE), name);
}

/* NULL: it is not frozen. */
static const kept *
find_covering(const udpai_freezes *freezes, udpai_str type_url, udpai_str name)
{
    if (freezes->all.n == 0 || is_never_frozen(type_url, name))
        return NULL;
    for (size_t i = 0; i < freezes->all.n; i++) {
        const kept *one = &freezes->all.items[i];
        if ((one->message->all || !goes_on(type_url)) &&
            udpai_prefix_covers(udpai_str_from(one->message->prefix), name))
            return one;
    }
    return NULL;
}

udpa_err
udpai_freezes_check(const udpai_freezes *freezes,
                    udpai_str type_url,
                    udpai_str name,
                    udpa_error **ret_error)
{
    const kept *one = find_covering(freezes, type_url, name);
    char since[UDPAI_TIME_TEXT_SIZE];
    if (!one)
        return UDPA_OK;
    udpai_time_text(since, one->message->since_us);
    return udpai_fail(ret_error, UDPA_ERR_PRECONDITION,
                      "'%.*s' is frozen, by %s since %s: %s (udpactl thaw ends it)",
                      UDPAI_SHOWN(name), one->message->by, since, one->message->reason);
}

void
udpai_freezes_visit_problems(const udpai_freezes *freezes, udpai_problem_fn visit, void *userdata)
{
    size_t n_waiting = udpai_store_n_frozen(freezes->context->store);
    for (size_t i = 0; i < freezes->all.n; i++) {
        const Udpa__Status__V1__Freeze *one = freezes->all.items[i].message;
        char since[UDPAI_TIME_TEXT_SIZE];
        udpai_strbuf text = {0};
        udpai_time_text(since, one->since_us);
        udpai_strbuf_printf(&text,
                            "%s is frozen%s, by %s since %s: %s; publications are rejected, and "
                            "%zu change%s (udpactl thaw shows what)",
                            *one->prefix ? one->prefix : "everything",
                            one->all ? ", endpoints and secrets, too" : "", one->by, since,
                            one->reason, n_waiting, n_waiting == 1 ? " waits" : "s wait");
        if (!udpai_strbuf_failed(&text))
            visit(userdata, text.data);
        udpai_strbuf_done(&text);
    }
}

static bool
is_held(void *userdata, udpai_str type_url, udpai_str name)
{
    const udpai_freezes *freezes = userdata;
    return !freezes->is_awaiting && find_covering(freezes, type_url, name);
}

/* ---- beginning and ending ---- */

/* NULL without memory. */
static udpa_bytes *
name_of(udpai_str prefix)
{
    udpai_strbuf text = {0};
    udpai_strbuf_puts(&text, NAME_BEGIN);
    udpai_strbuf_str(&text, prefix.len ? prefix : UDPAI_STR("*"));
    return udpai_bytes_of(&text);
}

/* protobuf-c writes nothing to it. */
static char *
text_of(const udpa_bytes *bytes)
{
    return (char *)(uintptr_t)udpa_bytes_data(bytes);
}

static udpa_bytes *
pack(const udpai_freeze *freeze)
{
    UDPA_AUTO(udpa_bytes_unref) udpa_bytes *prefix = udpai_bytes_cstring(freeze->prefix);
    UDPA_AUTO(udpa_bytes_unref) udpa_bytes *reason = udpai_bytes_cstring(freeze->reason);
    UDPA_AUTO(udpa_bytes_unref) udpa_bytes *by = udpai_bytes_cstring(freeze->by);
    Udpa__Status__V1__Freeze message = UDPA__STATUS__V1__FREEZE__INIT;
    if (!prefix || !reason || !by)
        return NULL;
    message.prefix = text_of(prefix);
    message.reason = text_of(reason);
    message.by = text_of(by);
    message.since_us = freeze->since_us;
    message.all = freeze->is_all;
    uint8_t *room;
    udpa_bytes *bytes =
        udpai_bytes_make(udpa__status__v1__freeze__get_packed_size(&message), &room);
    if (bytes)
        udpa__status__v1__freeze__pack(&message, room);
    return bytes;
}

static udpa_err
make_resource(const udpai_freezes *freezes, const udpai_freeze *freeze, udpa_resource **ret)
{
    UDPA_AUTO(udpa_bytes_unref) udpa_bytes *name = name_of(freeze->prefix);
    UDPA_AUTO(udpa_bytes_unref) udpa_bytes *value = pack(freeze);
    UDPA_AUTO(udpa_bytes_unref)
    udpa_bytes *type = udpai_bytes_cstring(UDPAI_STR(UDPAI_TYPE_FREEZE));
    if (!name || !value || !type)
        return UDPA_ERR_NOMEM;
    return udpai_resource_make(ret, &(udpai_resource_parts){
                                        .name = udpai_bytes_view(name),
                                        .value = value,
                                        .type = type,
                                        .authority = udpai_bytes_view(freezes->context->authority),
                                    });
}

static udpa_err
add(udpai_durable_batch *batch, udpai_durable_kind kind, udpa_resource *resource, udpa_bytes *name)
{
    UDPA_AUTO(udpa_bytes_unref) udpa_bytes *origin = NULL;
    UDPA_AUTO(udpa_bytes_unref)
    udpa_bytes *type = udpai_bytes_cstring(UDPAI_STR(UDPAI_TYPE_FREEZE));
    if (!type || udpa_bytes_new(&origin, KEY, strlen(KEY)) != UDPA_OK)
        return UDPA_ERR_NOMEM;
    return udpai_durable_batch_add(batch, &(udpai_durable_op){
                                              .kind = kind,
                                              .origin = origin,
                                              .resource = resource,
                                              .type = resource ? NULL : type,
                                              .name = name,
                                              .cause = UDPAI_CAUSE_STATED,
                                          });
}

static kept *
find(const udpai_freezes *freezes, udpai_str name)
{
    for (size_t i = 0; i < freezes->all.n; i++)
        if (udpai_str_eq(udpai_resource_name(freezes->all.items[i].resource), name))
            return &freezes->all.items[i];
    return NULL;
}

static bool
has_controls(udpai_str text)
{
    for (size_t i = 0; i < text.len; i++)
        if ((unsigned char)text.data[i] < ' ' || text.data[i] == 0x7f)
            return true;
    return false;
}

static udpa_err
check_begin(const udpai_freezes *freezes,
            const udpai_freeze *freeze,
            const udpa_resource *resource,
            udpa_error **ret_error)
{
    udpa_err err = udpai_prefix_check(freeze->prefix, ret_error);
    if (err != UDPA_OK)
        return err;
    if (freeze->reason.len == 0 || freeze->reason.len > UDPAI_FREEZE_REASON_MAX ||
        has_controls(freeze->reason))
        return udpai_fail(ret_error, UDPA_ERR_INVAL,
                          "a freeze takes a reason: one line of at most %d bytes, which publishers "
                          "and operators are shown",
                          UDPAI_FREEZE_REASON_MAX);
    if (freezes->all.n >= UDPAI_FREEZES_MAX && !find(freezes, udpai_resource_name(resource)))
        return udpai_fail(ret_error, UDPA_ERR_LIMIT,
                          "there are %d freezes, which is the limit: thaw some, or freeze a prefix "
                          "that covers more",
                          UDPAI_FREEZES_MAX);
    return UDPA_OK;
}

udpa_err
udpai_freezes_begin(const udpai_freezes *freezes,
                    const udpai_freeze *freeze,
                    udpai_durable_batch *batch,
                    udpa_error **ret_error)
{
    UDPA_AUTO(udpa_resource_unref) udpa_resource *resource = NULL;
    udpa_err err = make_resource(freezes, freeze, &resource);
    if (err != UDPA_OK)
        return udpai_fail_code(ret_error, err);
    err = check_begin(freezes, freeze, resource, ret_error);
    if (err != UDPA_OK)
        return err;
    return udpai_fail_code(ret_error, add(batch, UDPAI_DURABLE_PUT, resource, NULL));
}

udpa_err
udpai_freezes_end(const udpai_freezes *freezes,
                  udpai_str prefix,
                  udpai_durable_batch *batch,
                  udpa_error **ret_error)
{
    UDPA_AUTO(udpa_bytes_unref) udpa_bytes *name = name_of(prefix);
    if (!name)
        return udpai_fail_code(ret_error, UDPA_ERR_NOMEM);
    if (!find(freezes, udpai_bytes_view(name)))
        return udpai_fail(ret_error, UDPA_ERR_NOT_FOUND,
                          "%.*s is not frozen as such: 'udpactl status' shows what is",
                          UDPAI_SHOWN(prefix.len ? prefix : UDPAI_STR("everything")));
    return udpai_fail_code(ret_error, add(batch, UDPAI_DURABLE_DELETE, NULL, name));
}

/* ---- what is kept, and what replicas have ---- */

bool
udpai_freezes_is_key(udpai_str origin)
{
    return udpai_str_eq(origin, UDPAI_STR(KEY));
}

static void
drop(kept *one)
{
    udpa_resource_unref(one->resource);
    udpa__status__v1__freeze__free_unpacked(one->message, NULL);
}

static void
take_delete(udpai_freezes *freezes, udpai_str name)
{
    kept *one = find(freezes, name);
    if (!one)
        return;
    drop(one);
    udpai_vector_remove_unordered(&freezes->all, (size_t)(one - freezes->all.items));
    udpai_store_thaw(freezes->context->store);
}

static udpa_err
take_put(udpai_freezes *freezes, udpa_resource *resource)
{
    size_t size;
    const void *payload = udpa_resource_payload(resource, &size);
    kept new = {NULL, udpa__status__v1__freeze__unpack(NULL, size, payload)};
    kept *before = find(freezes, udpai_resource_name(resource));
    if (!new.message)
        return UDPA_OK;
    if (!before && !udpai_vector_push(&freezes->all, new)) {
        drop(&new);
        return UDPA_ERR_NOMEM;
    }
    new.resource = udpa_resource_ref(resource);
    if (before)
        drop(before);
    else
        before = &freezes->all.items[freezes->all.n - 1];
    *before = new;
    udpai_store_thaw(freezes->context->store); /* it may cover less than before */
    return UDPA_OK;
}

udpa_err
udpai_freezes_take(udpai_freezes *freezes, const udpai_durable_op *op)
{
    udpai_context_touch(freezes->context);
    if (op->kind == UDPAI_DURABLE_PUT)
        return take_put(freezes, op->resource);
    take_delete(freezes, udpai_bytes_view(op->name));
    return UDPA_OK;
}

udpa_err
udpai_freezes_take_replicated(udpai_freezes *freezes, const udpai_durable_op *op)
{
    bool is_put = op->kind == UDPAI_DURABLE_PUT;
    const kept *before = is_put ? find(freezes, udpai_resource_name(op->resource)) : NULL;
    bool is_known = before && udpai_resource_same_payload(before->resource, op->resource);
    bool has_nothing = freezes->context->position.revision == 0;
    udpa_err err = udpai_freezes_take(freezes, op);
    if (err != UDPA_OK)
        return err;
    freezes->is_awaiting |= is_put && has_nothing;
    if (!is_known)
        udpai_store_note_op(freezes->context->store, op);
    return UDPA_OK;
}

void
udpai_freezes_clear(udpai_freezes *freezes)
{
    UDPA_AUTO(udpa_bytes_unref) udpa_bytes *origin = NULL;
    if (freezes->all.n && udpa_bytes_new(&origin, KEY, strlen(KEY)) == UDPA_OK)
        udpai_store_note_op(freezes->context->store, &(udpai_durable_op){
                                                         .kind = UDPAI_DURABLE_FORGET_ORIGIN,
                                                         .origin = origin,
                                                     });
    while (freezes->all.n)
        drop(&freezes->all.items[--freezes->all.n]);
    udpai_store_thaw(freezes->context->store);
}

udpa_err
udpai_freezes_copy(const udpai_freezes *freezes, udpai_durable_batch *batch)
{
    udpa_err err = UDPA_OK;
    for (size_t i = 0; i < freezes->all.n && err == UDPA_OK; i++)
        err = add(batch, UDPAI_DURABLE_PUT, freezes->all.items[i].resource, NULL);
    return err;
}

void
udpai_freezes_settle(udpai_freezes *freezes, const udpai_settled *settled)
{
    if (freezes->is_awaiting && settled && !udpai_settled_first_missing(settled))
        freezes->is_awaiting = false;
}

/* ---- the part ---- */

udpa_err
udpai_freezes_new(udpai_freezes **ret_freezes, udpai_context *context)
{
    udpai_freezes *freezes = udpai_alloc(sizeof(*freezes));
    if (!freezes)
        return UDPA_ERR_NOMEM;
    freezes->context = context;
    udpai_store_set_frozen(context->store, is_held, freezes);
    *ret_freezes = freezes;
    return UDPA_OK;
}

void
udpai_freezes_free(udpai_freezes *freezes)
{
    if (!freezes)
        return;
    while (freezes->all.n)
        drop(&freezes->all.items[--freezes->all.n]);
    udpai_vector_done(&freezes->all);
    udpai_free(freezes);
}
