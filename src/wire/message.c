/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/message.h"

#include "base/alloc.h"
#include "base/proto.h"
#include "base/utf8.h"
#include "model/waits.h"
#include "wire/resource_decode.h"

typedef Udpa__Service__Discovery__V1__UdpaMessage udpa_message;
typedef Udpa__Service__Discovery__V1__Resource resource_message;

void
udpai_decoder_init(udpai_decoder *decoder)
{
    memset(decoder, 0, sizeof(*decoder));
    udpai_arena_init(&decoder->arena);
}

void
udpai_decoder_done(udpai_decoder *decoder)
{
    udpai_arena_done(&decoder->arena);
    udpai_vector_done(&decoder->anys);
    udpai_scan_faults_clear(&decoder->faults);
    udpai_vector_done(&decoder->faults);
    decoder->last_type = udpa_bytes_unref(decoder->last_type);
    decoder->last_hop_path = udpai_hop_path_unref(decoder->last_hop_path);
}

/* The bytes without the resources that are refused by themselves. */
static udpa_err
blank_faults(udpai_decoder *decoder, udpai_str *bytes)
{
    if (decoder->faults.n == 0)
        return UDPA_OK;
    char *copy = udpai_arena_alloc(&decoder->arena, bytes->len);
    if (!copy)
        return UDPA_ERR_NOMEM;
    memcpy(copy, bytes->data, bytes->len);
    for (size_t i = 0; i < decoder->faults.n; i++) {
        udpai_str part = decoder->faults.items[i].part;
        udpai_scan_blank(copy + (part.data - bytes->data), part.len);
    }
    bytes->data = copy;
    return UDPA_OK;
}

/* Scans, then unpacks into the arena, which the next call resets. protobuf-c is stricter than the
 * scan in a few things (overlong tags and lengths); it does not report why it failed. */
static udpa_err
unpack(udpai_decoder *decoder,
       const ProtobufCMessageDescriptor *type,
       udpai_str bytes,
       void *ret_message,
       udpa_error **ret_error)
{
    /* A resource by itself has nothing around it that could be taken without it. */
    const ProtobufCMessageDescriptor *resource =
        &udpa__service__discovery__v1__resource__descriptor;
    udpai_arena_reset(&decoder->arena);
    decoder->anys.n = 0;
    udpai_scan_faults_clear(&decoder->faults);
    udpa_err err = udpai_scan_apart(type, bytes, type == resource ? NULL : resource, &decoder->anys,
                                    &decoder->faults, ret_error);
    if (err != UDPA_OK)
        return err;
    err = blank_faults(decoder, &bytes);
    void *message = err == UDPA_OK
                        ? protobuf_c_message_unpack(type, &decoder->arena.allocator, bytes.len,
                                                    (const uint8_t *)bytes.data)
                        : NULL;
    if (!message) {
        err = decoder->arena.failed ? UDPA_ERR_NOMEM : UDPA_ERR_MALFORMED;
        return udpai_fail(ret_error, err, "cannot unpack %s: %s", type->name, udpa_err_text(err));
    }
    *(void **)ret_message = message;
    return UDPA_OK;
}

static const udpai_str *
views_of(udpai_decoder *decoder, char **texts, size_t n)
{
    udpai_str *views = udpai_arena_alloc(&decoder->arena, n * sizeof(*views));
    for (size_t i = 0; views && i < n; i++)
        views[i] = udpai_str_from(texts[i]);
    return views;
}

static bool
read_names(udpai_decoder *decoder, char **names, size_t n, udpai_subscription_message *subscription)
{
    subscription->names = views_of(decoder, names, n);
    subscription->n_names = n;
    return subscription->names != NULL;
}

static bool
read_subscribe(udpai_decoder *decoder,
               const Udpa__Service__Discovery__V1__Subscribe *subscribe,
               udpai_subscription_message *ret)
{
    ret->type_url = udpai_str_from(subscribe->type_url);
    ret->name_space = udpai_str_from(subscribe->namespace_);
    ret->distance = subscribe->distance;
    ret->recovers = subscribe->recover;
    ret->n_versions = subscribe->n_initial_resource_versions;
    ret->n_digests = subscribe->n_initial_digests;
    udpai_held_version *versions =
        udpai_arena_alloc(&decoder->arena, ret->n_versions * sizeof(*versions));
    ret->n_paths = subscribe->n_initial_ways;
    udpai_held_digest *digests =
        udpai_arena_alloc(&decoder->arena, ret->n_digests * sizeof(*digests));
    udpai_held_digest *paths = udpai_arena_alloc(&decoder->arena, ret->n_paths * sizeof(*paths));
    if (!versions || !digests || !paths)
        return false;
    for (size_t i = 0; i < ret->n_versions; i++)
        versions[i] = (udpai_held_version){
            udpai_str_from(subscribe->initial_resource_versions[i]->key),
            udpai_str_from(subscribe->initial_resource_versions[i]->value),
        };
    for (size_t i = 0; i < ret->n_digests; i++)
        digests[i] = (udpai_held_digest){udpai_str_from(subscribe->initial_digests[i]->key),
                                         subscribe->initial_digests[i]->value};
    ret->versions = versions;
    for (size_t i = 0; i < ret->n_paths; i++)
        paths[i] = (udpai_held_digest){udpai_str_from(subscribe->initial_ways[i]->key),
                                       subscribe->initial_ways[i]->value};
    ret->digests = digests;
    ret->paths = paths;
    return read_names(decoder, subscribe->resource_names, subscribe->n_resource_names, ret);
}

static bool
read_unsubscribe(udpai_decoder *decoder,
                 const Udpa__Service__Discovery__V1__Unsubscribe *unsubscribe,
                 udpai_subscription_message *ret)
{
    ret->type_url = udpai_str_from(unsubscribe->type_url);
    ret->name_space = udpai_str_from(unsubscribe->namespace_);
    return read_names(decoder, unsubscribe->resource_names, unsubscribe->n_resource_names, ret);
}

static bool
read_subscription_error(udpai_decoder *decoder,
                        const Udpa__Service__Discovery__V1__SubscriptionError *error,
                        udpai_subscription_message *ret)
{
    ret->type_url = udpai_str_from(error->type_url);
    ret->name_space = udpai_str_from(error->namespace_);
    if (error->status) {
        ret->status_code = error->status->code;
        ret->status_text = udpai_str_from(error->status->message);
    }
    return read_names(decoder, error->resource_names, error->n_resource_names, ret);
}

/* One that is not known is a change. */
static udpai_effect_kind
kind_of(const Udpa__Service__Discovery__V1__Effect *effect)
{
    int kind = (int)effect->kind;
    return kind >= 0 && kind < UDPAI_EFFECT_KINDS ? (udpai_effect_kind)kind : UDPAI_EFFECT_CHANGES;
}

static bool
read_receipt(udpai_decoder *decoder,
             const Udpa__Service__Discovery__V1__Receipt *receipt,
             udpai_receipt_message *ret)
{
    udpai_status_message *statuses =
        udpai_arena_alloc(&decoder->arena, receipt->n_error_detail * sizeof(*statuses));
    udpai_effect_message *effects =
        udpai_arena_alloc(&decoder->arena, receipt->n_effects * sizeof(*effects));
    if (!statuses || !effects)
        return false;
    for (size_t i = 0; i < receipt->n_effects; i++)
        effects[i] = (udpai_effect_message){kind_of(receipt->effects[i]),
                                            udpai_str_from(receipt->effects[i]->effective)};
    for (size_t i = 0; i < receipt->n_error_detail; i++)
        statuses[i] = (udpai_status_message){receipt->error_detail[i]->code,
                                             udpai_str_from(receipt->error_detail[i]->message)};
    *ret = (udpai_receipt_message){udpai_str_from(receipt->nonce), statuses,
                                   receipt->n_error_detail, effects, receipt->n_effects};
    return true;
}

/* Does it have the version that nodes make of the content? */
static bool
has_content_version(const resource_message *message, const udpa_resource *resource)
{
    char hex[UDPAI_CONTENT_HASH_HEX];
    udpai_content_hash_hex(udpai_resource_content_hash(resource), hex);
    return udpai_str_eq(udpai_str_from(message->version), (udpai_str){hex, sizeof(hex)});
}

/* A refresh names what the receiver holds already: it has no Any, or one without a value beside a
 * ttl. Of a peer with our extensions that is a payload if the version is the hash of it: what it
 * sends so, it sends to a peer that holds nothing yet. */
static bool
is_refresh(const resource_message *message,
           udpai_str any,
           bool extended,
           const udpa_resource *resource)
{
    return any.len == 0 || (message->ttl && message->resource->value.len == 0 &&
                            !(extended && has_content_version(message, resource)));
}

/* The name of one that is malformed, if it can be read. */
static udpai_str
readable_name(udpai_str part)
{
    enum {
        RESOURCE_NAME = 1
    };

    udpai_str name = {0};
    udpai_proto_reader reader = udpai_proto_read(part);
    udpai_proto_field field;
    while (udpai_proto_next(&reader, &field))
        if (field.number == RESOURCE_NAME && field.type == UDPAI_WIRE_BYTES)
            name = field.bytes;
    return name.len <= UDPA_NAME_MAX && udpai_utf8_valid(name) ? name : (udpai_str){0};
}

/* An entry for what no resource can be made of, so that it is refused in its place. */
static udpa_err
add_refused(udpai_publication *publication, udpai_str name, udpa_error *why)
{
    UDPA_AUTO(udpa_resource_unref) udpa_resource *resource = NULL;
    UDPA_AUTO(udpa_bytes_unref) udpa_bytes *any = NULL;
    udpai_resource_parts parts = {.name = name};
    udpa_err err = udpai_resource_parts_set_any(&parts, (udpai_str){0}, &any);
    if (err == UDPA_OK)
        err = udpai_resource_make(&resource, &parts);
    if (err == UDPA_OK)
        err = udpai_publication_add(publication, resource, false);
    if (err == UDPA_OK)
        udpai_publication_refuse(&publication->entries.items[publication->entries.n - 1].error,
                                 udpa_error_new(UDPA_ERR_INVAL, NULL,
                                                "resource '%.*s' is malformed: %s", (int)name.len,
                                                name.data, udpa_error_message(why)));
    return err;
}

static udpa_err
add_entry(udpai_decoder *decoder,
          udpai_publication *publication,
          const resource_message *message,
          udpai_str any,
          bool extended)
{
    UDPA_AUTO(udpa_resource_unref) udpa_resource *resource = NULL;
    UDPA_AUTO(udpa_error_unref) udpa_error *error = NULL;
    udpa_err err = udpai_resource_from_message(decoder, message, any, &resource, &error);
    if (!resource)
        return err == UDPA_ERR_MALFORMED
                   ? add_refused(publication, udpai_str_from(message->name), error)
                   : err;
    err =
        udpai_publication_add(publication, resource, is_refresh(message, any, extended, resource));
    if (err == UDPA_OK && error)
        udpai_publication_refuse(&publication->entries.items[publication->entries.n - 1].error,
                                 UDPAI_TAKE(error));
    return err;
}

/* What both kinds of publish have in common, so that they are read by one function. */
struct publish_view {
    resource_message **resources;
    size_t n_resources;
    const Udpa__Service__Discovery__V1__DeltaPublish *delta; /* NULL: it is a state */
    const char *nonce, *type_url, *name_space;
    bool state_of_the_world, complete, receipt_required, is_trial;
};

static bool
view_publish(const Udpa__Service__Discovery__V1__Publish *publish, struct publish_view *view)
{
    memset(view, 0, sizeof(*view));
    bool is_trial = publish->kind_case == UDPA__SERVICE__DISCOVERY__V1__PUBLISH__KIND_TRIAL;
    if (is_trial || publish->kind_case == UDPA__SERVICE__DISCOVERY__V1__PUBLISH__KIND_DELTA) {
        const Udpa__Service__Discovery__V1__DeltaPublish *delta =
            is_trial ? publish->trial : publish->delta;
        *view = (struct publish_view){
            delta->resources,        delta->n_resources, delta, delta->nonce,
            delta->type_url,         delta->namespace_,  false, delta->complete,
            delta->receipt_required, is_trial,
        };
        return true;
    }
    if (publish->kind_case == UDPA__SERVICE__DISCOVERY__V1__PUBLISH__KIND_STATE_OF_THE_WORLD) {
        const Udpa__Service__Discovery__V1__StateOfTheWorldPublish *state =
            publish->state_of_the_world;
        *view = (struct publish_view){
            state->resources,
            state->n_resources,
            NULL,
            state->nonce,
            state->type_url,
            state->namespace_,
            true,
            false,
            state->receipt_required,
            false,
        };
        return true;
    }
    return false;
}

static void
put_wait(udpai_proto_writer *writer, const Udpa__Service__Discovery__V1__Wait *wait)
{
    udpai_proto_put_bytes(writer, 1, udpai_str_from(wait->instance));
    for (size_t i = 0; i < wait->n_waits_for; i++)
        udpai_proto_put_bytes(writer, 2, udpai_str_from(wait->waits_for[i]));
    udpai_proto_put_varint_opt(writer, 3, wait->round);
    udpai_proto_put_varint_opt(writer, 4, wait->distance);
}

static void
put_waits(udpai_proto_writer *writer, const Udpa__Service__Discovery__V1__DeltaPublish *delta)
{
    for (size_t i = 0; i < delta->n_waits; i++) {
        udpai_proto_writer size = {0};
        put_wait(&size, delta->waits[i]);
        udpai_proto_put_head(writer, UDPAI_WAITS_FIELD, size.size);
        put_wait(writer, delta->waits[i]);
    }
}

/* What is too long counts as nothing. */
static udpa_err
take_waits(udpai_publication *publication, const Udpa__Service__Discovery__V1__DeltaPublish *delta)
{
    udpai_proto_writer writer = {0};
    put_waits(&writer, delta);
    if (writer.size == 0 || writer.size > UDPAI_WAITS_BYTES_MAX)
        return UDPA_OK;
    char *room = udpai_alloc(writer.size);
    if (!room)
        return UDPA_ERR_NOMEM;
    publication->waits = (udpai_str){room, writer.size};
    publication->waits_behind = delta->waits_behind;
    writer = (udpai_proto_writer){.at = (uint8_t *)room};
    put_waits(&writer, delta);
    return UDPA_OK;
}

static udpa_err
fill_publication(udpai_decoder *decoder,
                 udpai_publication *publication,
                 const struct publish_view *view,
                 bool extended)
{
    publication->is_trial = view->is_trial;
    publication->state_of_the_world = view->state_of_the_world;
    publication->complete = view->complete;
    publication->receipt_required = view->receipt_required;
    udpa_err err = udpai_publication_set(&publication->nonce, udpai_str_from(view->nonce));
    if (err == UDPA_OK)
        err = udpai_publication_set(&publication->type_url, udpai_str_from(view->type_url));
    if (err == UDPA_OK)
        err = udpai_publication_set(&publication->name_space, udpai_str_from(view->name_space));
    publication->commit = view->delta && extended ? view->delta->commit : 0;
    if (view->delta && extended)
        (void)udpai_trace_read(udpai_str_from(view->delta->trace), &publication->trace);
    if (view->delta && extended && err == UDPA_OK)
        err = take_waits(publication, view->delta);
    if (view->delta && err == UDPA_OK)
        err = udpai_removals_from_message(decoder, view->delta, publication);
    /* The scan met them in the order of the resources, at most one in each. */
    size_t next_any = 0, next_fault = 0;
    for (size_t i = 0; i < view->n_resources && err == UDPA_OK; i++) {
        udpai_str any = {0};
        if (next_fault < decoder->faults.n && decoder->faults.items[next_fault].index == i) {
            const udpai_scan_fault *fault = &decoder->faults.items[next_fault++];
            err = add_refused(publication, readable_name(fault->part), fault->error);
            continue;
        }
        if (view->resources[i]->resource && next_any < decoder->anys.n)
            any = decoder->anys.items[next_any++];
        err = add_entry(decoder, publication, view->resources[i], any, extended);
    }
    return err;
}

static udpa_err
read_publish(udpai_decoder *decoder,
             const Udpa__Service__Discovery__V1__Publish *publish,
             bool extended,
             udpai_message *message)
{
    struct publish_view view;
    if (!view_publish(publish, &view)) {
        message->kind = UDPAI_MESSAGE_NONE;
        return UDPA_OK;
    }
    message->publication = udpai_publication_new();
    return message->publication ? fill_publication(decoder, message->publication, &view, extended)
                                : UDPA_ERR_NOMEM;
}

static udpa_err
read_kind(udpai_decoder *decoder, const udpa_message *from, bool extended, udpai_message *to)
{
    bool made = true;
    switch (from->message_case) {
    case UDPA__SERVICE__DISCOVERY__V1__UDPA_MESSAGE__MESSAGE_SUBSCRIBE:
        to->kind = UDPAI_MESSAGE_SUBSCRIBE;
        made = read_subscribe(decoder, from->subscribe, &to->subscription);
        break;
    case UDPA__SERVICE__DISCOVERY__V1__UDPA_MESSAGE__MESSAGE_UNSUBSCRIBE:
        to->kind = UDPAI_MESSAGE_UNSUBSCRIBE;
        made = read_unsubscribe(decoder, from->unsubscribe, &to->subscription);
        break;
    case UDPA__SERVICE__DISCOVERY__V1__UDPA_MESSAGE__MESSAGE_PUBLISH:
        to->kind = UDPAI_MESSAGE_PUBLISH;
        return read_publish(decoder, from->publish, extended, to);
    case UDPA__SERVICE__DISCOVERY__V1__UDPA_MESSAGE__MESSAGE_RECEIPT:
        to->kind = UDPAI_MESSAGE_RECEIPT;
        made = read_receipt(decoder, from->receipt, &to->receipt);
        break;
    case UDPA__SERVICE__DISCOVERY__V1__UDPA_MESSAGE__MESSAGE_SUBSCRIPTION_ERROR:
        to->kind = UDPAI_MESSAGE_SUBSCRIPTION_ERROR;
        made = read_subscription_error(decoder, from->subscription_error, &to->subscription);
        break;
    default:
        break;
    }
    return made ? UDPA_OK : UDPA_ERR_NOMEM;
}

udpa_err
udpai_message_decode(udpai_decoder *decoder,
                     udpai_str bytes,
                     bool extended,
                     udpai_message *ret_message,
                     udpa_error **ret_error)
{
    udpa_message *unpacked = NULL;
    udpa_err err = unpack(decoder, &udpa__service__discovery__v1__udpa_message__descriptor, bytes,
                          &unpacked, ret_error);
    if (err != UDPA_OK)
        return err;
    udpai_message message = {0};
    err = read_kind(decoder, unpacked, extended, &message);
    if (err != UDPA_OK) {
        udpai_message_done(&message);
        return udpai_fail(ret_error, err, "cannot take in a message of %zu bytes: %s", bytes.len,
                          udpa_err_text(err));
    }
    if (message.publication)
        message.publication->size_bytes = bytes.len;
    *ret_message = message;
    return UDPA_OK;
}

void
udpai_message_done(udpai_message *message)
{
    message->publication = udpai_publication_free(message->publication);
}

udpa_err
udpai_resource_decode(udpai_decoder *decoder,
                      udpai_str bytes,
                      udpa_resource **ret_resource,
                      udpa_error **ret_error)
{
    resource_message *unpacked = NULL;
    udpa_err err = unpack(decoder, &udpa__service__discovery__v1__resource__descriptor, bytes,
                          &unpacked, ret_error);
    if (err != UDPA_OK)
        return err;
    if (!unpacked->resource)
        return udpai_fail(ret_error, UDPA_ERR_MALFORMED, "resource '%.200s' has no payload",
                          unpacked->name);
    udpa_resource *resource = NULL;
    err = udpai_resource_from_message(decoder, unpacked, decoder->anys.items[0], &resource,
                                      ret_error);
    if (err != UDPA_OK) {
        udpa_resource_unref(resource);
        return udpai_fail_code(ret_error, err);
    }
    *ret_resource = resource;
    return UDPA_OK;
}
