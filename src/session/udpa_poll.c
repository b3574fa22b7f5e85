/* SPDX-License-Identifier: Apache-2.0 */
#include "session/udpa_poll.h"

#include "base/alloc.h"
#include "model/name.h"
#include "model/secret_type.h"
#include "model/type_url.h"
#include "session/poll.h"
#include "session/status.h"
#include "udpa/service/discovery/v1/discovery.pb-c.h"
#include "wire/entry.h"

enum { /* field numbers of FetchResponse */
    VERSION = 1,
    TYPE_URL = 2,
    RESOURCES = UDPAI_UDPA_POLL_RESOURCES,
};

typedef Udpa__Service__Discovery__V1__FetchRequest request_message;

typedef struct udpa_poll {
    udpai_session session; /* first */
    udpai_subscriber subscriber;
    const udpai_udpa_polls *polls;
    udpai_poll poll;
    udpai_subscription *subscription; /* NULL until a request was received */
    udpai_body *writing;
} udpa_poll;

static const udpai_poll_texts texts = {"a poll is one request", "a poll needs a FetchRequest",
                                       "there is"};

static udpa_poll *
poll_of(udpai_session *session)
{
    return UDPAI_CONTAINER_OF(session, udpa_poll, session);
}

/* ---- responses ---- */

static udpai_entry_form
form_of(const udpai_send_item *item)
{
    return (udpai_entry_form){.extended = true, .ttl_ms = item->ttl_ms};
}

static size_t
item_size(const udpai_renderer *renderer, const udpai_send_item *item)
{
    udpai_proto_writer writer = {0};
    (void)renderer;
    udpai_entry_put_field(&writer, RESOURCES, item->resource, form_of(item));
    return writer.size;
}

static udpai_str
version(const udpai_renderer *renderer,
        const udpa_resource *resource,
        char room[UDPAI_CONTENT_HASH_HEX])
{
    (void)renderer;
    (void)room;
    return udpai_resource_version(resource);
}

static void
put(udpai_proto_writer *writer, const udpai_render *what, udpai_str state)
{
    udpai_proto_put_bytes(writer, VERSION, state);
    udpai_proto_put_bytes(writer, TYPE_URL, what->type_url);
    for (size_t i = 0; i < what->n_items; i++)
        udpai_entry_put_field(writer, RESOURCES, what->items[i].resource, form_of(&what->items[i]));
}

static udpa_err
compose(const udpai_renderer *renderer, const udpai_render *what, udpai_body *body)
{
    (void)renderer;
    if (!what->is_state)
        return UDPA_OK; /* only states are sent */
    char *text = udpai_alloc(UDPAI_CONTENT_HASH_HEX);
    if (!text)
        return UDPA_ERR_NOMEM;
    udpai_content_hash_hex((udpai_content_hash){what->state_hash.high, what->state_hash.low}, text);
    body->version = (udpai_str){text, UDPAI_CONTENT_HASH_HEX};
    udpai_proto_writer writer = {0};
    uint8_t *room;
    put(&writer, what, body->version);
    udpa_bytes *part = udpai_bytes_make(writer.size, &room);
    if (!part)
        return UDPA_ERR_NOMEM;
    writer = (udpai_proto_writer){.at = room};
    put(&writer, what, body->version);
    return udpai_body_add_part(body, part) ? UDPA_OK : UDPA_ERR_NOMEM;
}

static const udpai_renderer renderer = {
    .item_size = item_size,
    .version = version,
    .compose = compose,
};

/* ---- the request ---- */

/* What clients report about themselves and their traffic is no configuration. */
static bool
is_of_clients(udpai_str type_url)
{
    static const char *const packages[] = {
        "udpa.load.v1.",         "udpa.status.v1.",
        "udpa.health.v1.",       "envoy.service.load_stats.",
        "envoy.service.health.", "envoy.service.status.",
    };
    udpai_str name = udpai_type_url_name(type_url);
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(packages); i++)
        if (udpai_str_starts(name, udpai_str_from(packages[i])))
            return true;
    return false;
}

static udpa_err
check(const udpa_poll *self, const request_message *request, udpa_error **ret_error)
{
    udpai_str type_url = udpai_str_from(request->type_url);
    if (type_url.len == 0 || type_url.len > UDPAI_TYPE_URL_MAX)
        return udpai_fail(ret_error, UDPA_ERR_INVAL,
                          "a FetchRequest needs a type_url of at most %d bytes, such as "
                          "type.googleapis.com/envoy.config.cluster.v3.Cluster",
                          UDPAI_TYPE_URL_MAX);
    if (is_of_clients(type_url))
        return udpai_fail(ret_error, UDPA_ERR_DENIED,
                          "'%.*s' is what clients report: REST serves configuration alone; "
                          "subscribe to it by UDPA over gRPC",
                          UDPAI_SHOWN(type_url));
    const udpai_udpa_polls *polls = self->polls;
    if (udpai_type_is_secret_of(polls->secret_types, polls->n_secret_types, type_url) &&
        !self->session.info.is_secure)
        return udpai_fail(ret_error, UDPA_ERR_DENIED,
                          "'%.*s' is a type of secrets, and they are sent by TLS alone: ask a "
                          "socket that has certificates",
                          UDPAI_SHOWN(type_url));
    return udpai_prefix_check(udpai_str_from(request->namespace_), ret_error);
}

static udpa_err
subscribe_name(const udpa_poll *self,
               const request_message *request,
               udpai_str name,
               udpa_error **ret_error)
{
    udpai_str prefix = udpai_str_from(request->namespace_);
    udpa_err err = udpai_name_check(name, ret_error);
    if (err != UDPA_OK)
        return err;
    if (!udpai_prefix_covers(prefix, name))
        return udpai_fail(ret_error, UDPA_ERR_INVAL,
                          "name '%.*s' lies outside the request's namespace '%.*s'",
                          UDPAI_SHOWN(name), UDPAI_SHOWN(prefix));
    return udpai_subscribe_name(self->subscription, name, ret_error);
}

/* A client that polls has no Node. */
static udpa_err
check_access(udpa_poll *self,
             const request_message *request,
             udpai_str name,
             bool is_wildcard,
             udpa_error **ret_error)
{
    const udpai_asked_for asked = {udpai_str_from(request->type_url), name, is_wildcard};
    return udpai_session_check_subscription(&self->session, NULL, &asked, ret_error);
}

static udpa_err
subscribe(udpa_poll *self, const request_message *request, udpa_error **ret_error)
{
    udpa_err err = UDPA_OK;
    bool is_all = request->n_resource_names == 0;
    self->subscription = udpai_subscriber_get(&self->subscriber, udpai_str_from(request->type_url),
                                              UDPAI_MODE_STATE);
    if (!self->subscription)
        return UDPA_ERR_NOMEM;
    for (size_t i = 0; i < request->n_resource_names && err == UDPA_OK; i++) {
        udpai_str name = udpai_str_from(request->resource_names[i]);
        if (udpai_name_is_wildcard(name))
            is_all = true;
        else if ((err = check_access(self, request, name, false, ret_error)) == UDPA_OK)
            err = subscribe_name(self, request, name, ret_error);
    }
    if (err == UDPA_OK && is_all)
        err = check_access(self, request, udpai_str_from(request->namespace_), true, ret_error);
    if (err == UDPA_OK && is_all)
        err = udpai_subscribe_wildcard(self->subscription, udpai_str_from(request->namespace_),
                                       ret_error);
    return err;
}

static udpa_err
receive(udpai_session *session, udpai_str message, udpa_error **ret_error)
{
    udpa_poll *self = poll_of(session);
    udpai_decoder *decoder = udpai_hub_decoder(session->hub);
    const ProtobufCMessageDescriptor *type =
        &udpa__service__discovery__v1__fetch_request__descriptor;
    udpa_err err = udpai_poll_begin(&self->poll, ret_error);
    if (err != UDPA_OK)
        return err;
    udpai_arena_reset(&decoder->arena);
    err = udpai_scan(type, message, NULL, ret_error);
    if (err != UDPA_OK)
        return err;
    request_message *request = (request_message *)protobuf_c_message_unpack(
        type, &decoder->arena.allocator, message.len, (const uint8_t *)message.data);
    if (!request)
        return udpai_fail_code(ret_error, UDPA_ERR_NOMEM);
    udpai_poll_set_version(&self->poll, udpai_str_from(request->version));
    err = check(self, request, ret_error);
    if (err == UDPA_OK)
        err = subscribe(self, request, ret_error);
    return udpai_fail_code(ret_error, err);
}

/* ---- the response ---- */

static bool
is_response(const udpa_poll *self, const udpai_delivery *delivery)
{
    return delivery->kind == UDPAI_DELIVERY_STATE && delivery->body->parts.n &&
           !udpai_poll_is_current(&self->poll, delivery->body->version);
}

static udpa_err
find(udpai_session *session, udpai_outgoing *out, bool *ret_any, udpa_error **ret_error)
{
    udpa_poll *self = poll_of(session);
    udpai_delivery delivery = {0};
    udpa_err err;
    while ((err = udpai_subscriber_next(&self->subscriber, &delivery)) == UDPA_OK &&
           delivery.body) {
        if (is_response(self, &delivery)) {
            self->writing = delivery.body;
            out->parts = delivery.body->parts.items;
            out->n_parts = delivery.body->parts.n;
            *ret_any = true;
            return UDPA_OK;
        }
        udpai_body_unref(delivery.body);
    }
    return udpai_fail_code(ret_error, err);
}

static udpa_err
next(udpai_session *session, udpai_outgoing *out, bool *ret_any, udpa_error **ret_error)
{
    return udpai_poll_next(&poll_of(session)->poll, find, out, ret_any, ret_error);
}

/* ---- what cannot be written ---- */

enum { /* field numbers */
    RESOURCE_NAME = 1,
    ERROR_NAME = 1,
    ERROR_DETAIL = 2,
};

void
udpai_udpa_poll_put_error(udpai_proto_writer *writer, udpai_str resource, udpai_str reason)
{
    udpai_proto_put_bytes(writer, ERROR_NAME, udpai_proto_last_bytes(resource, RESOURCE_NAME));
    udpai_rpc_status_put(writer, ERROR_DETAIL, udpa_err_to_grpc(UDPA_ERR_INTERNAL), reason);
}

/* ---- its life ---- */

static udpa_err
ended(udpai_session *session, udpa_error **ret_error)
{
    return udpai_poll_ended(&poll_of(session)->poll, ret_error);
}

static void
order(udpai_session *session, udpai_order *given)
{
    if (given->kind == UDPAI_ORDER_ACL)
        udpai_session_admit_again(session, &poll_of(session)->subscriber, NULL);
}

static void
put_status(udpai_proto_writer *writer, const void *what)
{
    const udpa_poll *self = what;
    const udpai_subscription_facts facts = {0};
    udpai_status_put_session(writer, &self->session, NULL, 0);
    if (self->subscription)
        udpai_status_put_subscription(writer, self->subscription, &facts);
}

static udpa_bytes *
describe(const udpai_session *session)
{
    return udpai_proto_encode(put_status, UDPAI_CONTAINER_OF(session, const udpa_poll, session));
}

static void
poll_free(udpai_session *session)
{
    udpa_poll *self = poll_of(session);
    udpai_poll_done(&self->poll);
    udpai_subscriber_done(&self->subscriber);
    udpai_body_unref(self->writing);
    udpai_free(self);
}

static const udpai_session_ops ops = {
    .name = "udpa-rest",
    .receive = receive,
    .next = next,
    .ended = ended,
    .order = order,
    .describe = describe,
    .free = poll_free,
};

static void
on_wake(udpai_subscriber *subscriber)
{
    udpai_session_ready(&UDPAI_CONTAINER_OF(subscriber, udpa_poll, subscriber)->session);
}

static const udpai_subscriber_ops subscriber_ops = {.wake = on_wake};

udpa_err
udpai_udpa_poll_new(udpai_session **ret_session, udpai_hub *hub, const udpai_stream_info *info)
{
    udpa_poll *self = udpai_alloc(sizeof(*self));
    if (!self)
        return UDPA_ERR_NOMEM;
    udpa_err err = udpai_session_init(&self->session, hub, &ops, info);
    if (err != UDPA_OK) {
        udpai_free(self);
        return err;
    }
    self->polls = info->context;
    udpai_poll_init(&self->poll, &self->session, &texts);
    *ret_session = &self->session;
    err = udpai_session_init_subscriber(&self->session, &self->subscriber, &subscriber_ops,
                                        &renderer);
    if (err == UDPA_OK)
        err = udpai_session_admit(&self->session, &self->subscriber, NULL, NULL);
    if (err != UDPA_OK)
        udpai_session_finish(&self->session, udpa_error_new(err, NULL, "%s", udpa_err_text(err)));
    return UDPA_OK;
}
