/* SPDX-License-Identifier: Apache-2.0 */
/* When a type is requested, with which version, and what its responses are to the session.
 *
 * A type is requested again only when the session has sent ACK or NACK of the last response:
 * before, it is not known which version it has. A version is that of the names it was given for: a
 * server that compares versions alone would not send other names. */
#include "xds/polling.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "base/bytes.h"
#include "base/proto.h"
#include "wire/compose.h"

enum { /* field numbers of DiscoveryRequest and, the first, fourth and fifth, DiscoveryResponse */
    VERSION = 1,
    NODE = 2,
    NAMES = 3,
    TYPE_URL = 4,
    NONCE = 5,
    ERROR_DETAIL = 6,
};

struct udpai_polled_server {
    udpai_polling_options options;
    /* When each type may be requested, on a new stream. */
    uint64_t next_ms[UDPAI_XDS_POLLS];
    char node[];
};

typedef enum stage {
    IDLE,      /* until its time, if it is subscribed */
    REQUESTED, /* no response was received yet */
    CANCELLED, /* the same, and it will be ignored */
    BUFFERED,  /* a response, while the session reads nothing */
    DELIVERED, /* to the session, which will send ACK or NACK */
} stage;

/* A type. */
typedef struct slot {
    udpai_polling *polling;
    udpai_timer timer;
    stage stage;
    bool is_subscribed; /* the session subscribes to it */
    bool has_named;     /* once it has named one, none are none */
    bool has_requested; /* on this stream */
    bool is_changed;    /* since the last request */
    bool server_holds;  /* requests, until something changes, and states that */
    char path[UDPAI_POLLING_PATH_MAX];
    udpa_bytes *names;             /* as fields of a request, sorted; NULL: all there are */
    udpa_bytes *version;           /* that the session has of them; NULL: none */
    udpa_bytes *delivered_version; /* of the response that is BUFFERED or DELIVERED */
    udpa_bytes *buffered;          /* that response */
    udpai_trace trace;             /* that it belongs to */
    uint64_t serial;               /* of it */
    uint64_t requested_ms;         /* when the last request began */
} slot;

struct udpai_polling {
    udpai_polled_server *server;
    udpai_wheel *wheel;
    udpai_polling_ops ops;
    bool is_reading;
    bool is_over; /* it has failed, or was stopped */
    uint64_t last_serial;
    slot slots[UDPAI_XDS_POLLS];
};

/* ---- a server ---- */

udpai_polled_server *
udpai_polled_server_new(const udpai_polling_options *options)
{
    udpai_polled_server *server = udpai_alloc(sizeof(*server) + options->node.len);
    if (!server)
        return NULL;
    char *at = server->node;
    server->options = *options;
    server->options.node = udpai_str_put(&at, options->node);
    if (!options->refresh_ms)
        server->options.refresh_ms = UDPAI_POLLING_REFRESH_MS;
    if (!options->timeout_ms)
        server->options.timeout_ms = UDPAI_POLLING_TIMEOUT_MS;
    return server;
}

udpai_polled_server *
udpai_polled_server_free(udpai_polled_server *server)
{
    udpai_free(server);
    return NULL;
}

const udpai_polling_options *
udpai_polled_server_options(const udpai_polled_server *server)
{
    return &server->options;
}

/* ---- when ---- */

static size_t
index_of(const slot *self)
{
    return (size_t)(self - self->polling->slots);
}

static void
fail(udpai_polling *polling, udpa_error *error)
{
    if (polling->is_over) {
        udpa_error_unref(error);
        return;
    }
    polling->is_over = true;
    polling->ops.fail(polling->ops.userdata, error);
}

/* Up to a quarter more, so that nodes that began together do not go on together. */
static uint64_t
refresh_ms(const udpai_polling *polling)
{
    uint64_t ms = polling->server->options.refresh_ms;
    return ms + polling->ops.random(polling->ops.userdata) % (ms / 4 + 1);
}

static void
set_timer(slot *self, uint64_t due_ms)
{
    udpai_wheel *wheel = self->polling->wheel;
    udpai_timer_set(wheel, &self->timer, due_ms > wheel->now_ms ? due_ms : wheel->now_ms);
}

/* As soon as may be. */
static void
request_soon(slot *self)
{
    uint64_t due = self->has_requested ? self->requested_ms + UDPAI_POLLING_GAP_MS
                                       : self->polling->server->next_ms[index_of(self)];
    set_timer(self, due);
}

/* The time counts from the last request on: a server that holds requests until something changes
 * gets the next one at once, because that has taken longer. */
static void
request_later(slot *self)
{
    uint64_t due = self->requested_ms + refresh_ms(self->polling);
    uint64_t soonest = self->requested_ms + UDPAI_POLLING_GAP_MS;
    set_timer(self, due > soonest ? due : soonest);
}

static void
plan_next(slot *self)
{
    self->stage = IDLE;
    if (!self->is_subscribed)
        udpai_timer_cancel(&self->timer);
    else if (self->is_changed || self->server_holds)
        request_soon(self);
    else
        request_later(self);
}

/* ---- requests ---- */

static void
put_request(udpai_proto_writer *writer, const void *what)
{
    const slot *self = what;
    if (self->version)
        udpai_proto_put_bytes_opt(writer, VERSION, udpai_bytes_view(self->version));
    udpai_proto_put_bytes_opt(writer, NODE, self->polling->server->options.node);
    if (self->names)
        udpai_proto_put_raw(writer, udpai_bytes_view(self->names));
    udpai_proto_put_bytes(writer, TYPE_URL, udpai_xds_rest_type(index_of(self)));
}

static udpa_err
send_request(slot *self)
{
    udpai_polling *polling = self->polling;
    UDPA_AUTO(udpa_bytes_unref) udpa_bytes *message = udpai_proto_encode(put_request, self);
    if (!message)
        return UDPA_ERR_NOMEM;
    const udpai_polling_request request = {index_of(self), self->path, message};
    udpa_err err = polling->ops.begin(polling->ops.userdata, &request);
    if (err != UDPA_OK)
        return err;
    self->stage = REQUESTED;
    self->has_requested = true;
    self->is_changed = false;
    self->requested_ms = polling->wheel->now_ms;
    uint64_t reconnect_ms = polling->server->options.refresh_ms;
    if (reconnect_ms > UDPAI_POLLING_RECONNECT_MS)
        reconnect_ms = UDPAI_POLLING_RECONNECT_MS;
    polling->server->next_ms[index_of(self)] = self->requested_ms + reconnect_ms;
    return UDPA_OK;
}

/* ---- responses ---- */

static void
deliver(slot *self)
{
    udpai_polling *polling = self->polling;
    UDPA_AUTO(udpa_bytes_unref) udpa_bytes *response = UDPAI_TAKE(self->buffered);
    self->stage = DELIVERED;
    polling->ops.deliver(polling->ops.userdata, udpai_bytes_view(response), &self->trace);
}

static void
on_timer(udpai_timer *timer)
{
    slot *self = UDPAI_CONTAINER_OF(timer, slot, timer);
    if (self->polling->is_over)
        return;
    if (self->stage == BUFFERED && self->polling->is_reading)
        deliver(self);
    else if (self->stage == IDLE && self->is_subscribed && send_request(self) != UDPA_OK)
        fail(self->polling, udpa_error_new(UDPA_ERR_NOMEM, NULL, "cannot ask for more: %s",
                                           udpa_err_text(UDPA_ERR_NOMEM)));
}

/* The nonce by which its ACK is known is ours: it comes behind all others, and the last is valid. A
 * server that leaves the type out means that of the path. */
static udpa_err
wrap(slot *self, udpai_str response, bool has_type)
{
    udpai_str type_url = udpai_xds_rest_type(index_of(self));
    char nonce[UDPAI_NONCE_LEN];
    uint8_t *room;
    size_t size = response.len + udpai_proto_bytes_size(NONCE, sizeof(nonce)) +
                  (has_type ? 0 : udpai_proto_bytes_size(TYPE_URL, type_url.len));
    udpa_bytes_unref(self->buffered);
    self->buffered = udpai_bytes_make(size, &room);
    if (!self->buffered)
        return UDPA_ERR_NOMEM;
    self->serial = ++self->polling->last_serial;
    udpai_nonce_format(self->serial, nonce);
    udpai_proto_writer writer = {room, 0};
    udpai_proto_put_raw(&writer, response);
    if (!has_type)
        udpai_proto_put_bytes(&writer, TYPE_URL, type_url);
    udpai_proto_put_bytes(&writer, NONCE, (udpai_str){nonce, sizeof(nonce)});
    return UDPA_OK;
}

static udpa_err
is_whole(udpai_str message)
{
    udpai_proto_reader reader = udpai_proto_read(message);
    udpai_proto_field field;
    while (udpai_proto_next(&reader, &field))
        continue;
    return reader.failed ? UDPA_ERR_MALFORMED : UDPA_OK;
}

static udpa_err
read_response(slot *self, udpai_str response, udpa_error **ret_error)
{
    udpai_str type_url = udpai_proto_last_bytes(response, TYPE_URL),
              version = udpai_proto_last_bytes(response, VERSION);
    udpai_str requested = udpai_xds_rest_type(index_of(self));
    udpa_bytes *delivered_version = NULL;
    if (is_whole(response) != UDPA_OK)
        return udpai_fail(ret_error, UDPA_ERR_MALFORMED, "%s: the answer is no DiscoveryResponse",
                          self->path);
    if (type_url.len && !udpai_str_eq(type_url, requested))
        return udpai_fail(ret_error, UDPA_ERR_INVAL, "%s: the answer is of type '%.*s'", self->path,
                          UDPAI_SHOWN(type_url));
    udpa_err err = udpa_bytes_new(&delivered_version, version.data, version.len);
    if (err == UDPA_OK)
        err = wrap(self, response, type_url.len > 0);
    if (err != UDPA_OK) {
        udpa_bytes_unref(delivered_version);
        return udpai_fail_code(ret_error, err);
    }
    udpa_bytes_unref(self->delivered_version);
    self->delivered_version = delivered_version;
    return UDPA_OK;
}

static void
receive_new(slot *self, const udpai_polling_response *response)
{
    udpa_error *error = NULL;
    if (read_response(self, response->message, &error) != UDPA_OK) {
        fail(self->polling, error);
        return;
    }
    self->trace = response->trace;
    self->stage = BUFFERED;
    if (self->polling->is_reading)
        deliver(self);
}

/* A server that answers so at once does not hold requests, whatever it states. */
static void
receive_same(slot *self)
{
    uint64_t took = self->polling->wheel->now_ms - self->requested_ms;
    if (took < self->polling->server->options.refresh_ms)
        self->server_holds = false;
    plan_next(self);
}

void
udpai_polling_receive(udpai_polling *polling, size_t index, const udpai_polling_response *response)
{
    slot *self = &polling->slots[index];
    bool is_cancelled = self->stage == CANCELLED;
    if (polling->is_over)
        return;
    self->server_holds = response->server_holds;
    if (is_cancelled)
        plan_next(self);
    else if (response->outcome == UDPAI_POLLING_FAILED)
        fail(polling, udpa_error_ref((udpa_error *)(uintptr_t)response->error));
    else if (response->outcome == UDPAI_POLLING_SAME)
        receive_same(self);
    else
        receive_new(self, response);
}

/* ---- what the session sends ---- */

typedef struct request {
    udpai_str type_url, nonce;
    bool is_nack;
    bool is_wildcard;
    UDPAI_VECTOR(udpai_str) names;
} request;

static udpa_err
read_field(request *to, const udpai_proto_field *field)
{
    bool has_memory = true;
    if (field->type != UDPAI_WIRE_BYTES)
        return UDPA_OK;
    if (field->number == TYPE_URL)
        to->type_url = field->bytes;
    else if (field->number == NONCE)
        to->nonce = field->bytes;
    else if (field->number == ERROR_DETAIL)
        to->is_nack = true;
    else if (field->number == NAMES && udpai_str_eq(field->bytes, UDPAI_STR("*")))
        to->is_wildcard = true;
    else if (field->number == NAMES)
        has_memory = udpai_vector_push(&to->names, field->bytes);
    return has_memory ? UDPA_OK : UDPA_ERR_NOMEM;
}

static udpa_err
read_request(request *to, udpai_str message)
{
    udpai_proto_reader reader = udpai_proto_read(message);
    udpai_proto_field field;
    udpa_err err = UDPA_OK;
    while (err == UDPA_OK && udpai_proto_next(&reader, &field))
        err = read_field(to, &field);
    return err == UDPA_OK && reader.failed ? UDPA_ERR_MALFORMED : err;
}

static int
compare_names(const void *a, const void *b)
{
    return udpai_str_cmp(*(const udpai_str *)a, *(const udpai_str *)b);
}

static void
put_names(udpai_proto_writer *writer, const void *what)
{
    const request *from = what;
    for (size_t i = 0; i < from->names.n; i++)
        udpai_proto_put_bytes(writer, NAMES, from->names.items[i]);
}

/* By REST, no names are all names, and every server knows that. */
static udpa_err
make_names(request *from, udpa_bytes **ret_names)
{
    if (from->is_wildcard || from->names.n == 0)
        return UDPA_OK;
    qsort(from->names.items, from->names.n, sizeof(*from->names.items), compare_names);
    *ret_names = udpai_proto_encode(put_names, from);
    return *ret_names ? UDPA_OK : UDPA_ERR_NOMEM;
}

static bool
has_same(const udpa_bytes *one, const udpa_bytes *other)
{
    if (!one || !other)
        return one == other;
    return udpai_str_eq(udpai_bytes_view(one), udpai_bytes_view(other));
}

/* Consumes the names. */
static void
set_names(slot *self, bool is_subscribed, udpa_bytes *names)
{
    udpa_bytes_unref(self->names);
    self->names = names;
    self->version = udpa_bytes_unref(self->version);
    self->is_subscribed = is_subscribed;
    self->is_changed = true;
    if (self->stage == REQUESTED) {
        self->stage = CANCELLED;
        self->polling->ops.cancel(self->polling->ops.userdata, index_of(self));
    } else if (self->stage == IDLE) {
        plan_next(self);
    }
}

static udpa_err
receive_names(slot *self, request *from)
{
    udpa_bytes *names = NULL;
    udpa_err err = make_names(from, &names);
    if (err != UDPA_OK)
        return err;
    self->has_named = self->has_named || from->names.n || from->is_wildcard;
    bool is_subscribed = from->names.n || from->is_wildcard || !self->has_named;
    if (is_subscribed == self->is_subscribed && has_same(names, self->names))
        udpa_bytes_unref(names);
    else
        set_names(self, is_subscribed, names);
    return UDPA_OK;
}

/* The names may have changed since the request: then the version is not theirs. A server that would
 * send the same at once is given its time, even if it states that it holds requests. */
static void
receive_ack(slot *self, const request *from)
{
    uint64_t serial;
    if (self->stage != DELIVERED || !udpai_nonce_parse(from->nonce, &serial) ||
        serial != self->serial)
        return;
    self->server_holds =
        self->server_holds && !from->is_nack && !has_same(self->version, self->delivered_version);
    if (!from->is_nack && !self->is_changed) {
        udpa_bytes_unref(self->version);
        self->version = UDPAI_TAKE(self->delivered_version);
    }
    plan_next(self);
}

udpa_err
udpai_polling_send(udpai_polling *polling, udpai_str message)
{
    request from = {.type_url = {"", 0}, .nonce = {"", 0}};
    udpa_err err = read_request(&from, message);
    size_t index = udpai_xds_rest_index(from.type_url);
    if (err == UDPA_OK && index < UDPAI_XDS_POLLS && !polling->is_over) {
        slot *self = &polling->slots[index];
        receive_ack(self, &from);
        err = receive_names(self, &from);
    }
    udpai_vector_done(&from.names);
    return err;
}

void
udpai_polling_stop(udpai_polling *polling)
{
    polling->is_over = true;
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(polling->slots); i++)
        udpai_timer_cancel(&polling->slots[i].timer);
}

void
udpai_polling_set_reading(udpai_polling *polling, bool reading)
{
    polling->is_reading = reading;
    for (size_t i = 0; reading && !polling->is_over && i < UDPAI_ARRAY_LEN(polling->slots); i++)
        if (polling->slots[i].stage == BUFFERED)
            set_timer(&polling->slots[i], 0);
}

/* ---- beginning and end ---- */

udpai_polling *
udpai_polling_new(udpai_polled_server *server, udpai_wheel *wheel, const udpai_polling_ops *ops)
{
    udpai_polling *polling = udpai_alloc(sizeof(*polling));
    if (!polling)
        return NULL;
    polling->server = server;
    polling->wheel = wheel;
    polling->ops = *ops;
    polling->is_reading = true;
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(polling->slots); i++) {
        slot *self = &polling->slots[i];
        self->polling = polling;
        udpai_timer_init(&self->timer, on_timer);
        udpai_xds_rest_path(i, self->path, sizeof(self->path));
    }
    return polling;
}

udpai_polling *
udpai_polling_free(udpai_polling *polling)
{
    if (!polling)
        return NULL;
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(polling->slots); i++) {
        slot *self = &polling->slots[i];
        udpai_timer_cancel(&self->timer);
        udpa_bytes_unref(self->names);
        udpa_bytes_unref(self->version);
        udpa_bytes_unref(self->delivered_version);
        udpa_bytes_unref(self->buffered);
    }
    udpai_free(polling);
    return NULL;
}
