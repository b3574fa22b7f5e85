/* SPDX-License-Identifier: Apache-2.0 */
#include "xds/csds_own.h"

#include "base/alloc.h"
#include "model/secret_type.h"
#include "wire/compose.h"
#include "wire/entry.h"
#include "xds/csds_internal.h"
#include "xds/csds_session.h"

enum { /* field numbers of ClientStatusResponse, ClientConfig, GenericXdsConfig, UpdateFailureState
        */
    RESPONSE_CONFIG = 1,
    NODE = 1,
    CONFIGS = 3,
    TYPE_URL = 1,
    NAME = 2,
    VERSION = 3,
    XDS_CONFIG = 4,
    LAST_UPDATED = 5,
    CLIENT_STATUS = 7,
    ERROR_STATE = 8,
    FAILED_CONFIGURATION = 1,
    LAST_ATTEMPT = 2,
    DETAILS = 3,
    FAILED_VERSION = 4,
};

/* ---- one resource ---- */

static bool
shows_body(const udpai_own_entry *entry, const udpa_resource *resource)
{
    return entry->with_bodies && udpai_resource_any_size(resource) <= UDPAI_CSDS_BODY_MAX &&
           !udpai_type_is_secret(entry->type_url);
}

static void
put_version(udpai_proto_writer *writer, uint32_t number, const udpa_resource *resource)
{
    char room[UDPAI_CONTENT_HASH_HEX];
    udpai_str version = udpai_resource_version(resource);
    if (version.len == 0) {
        udpai_resource_content_hex(resource, room);
        version = (udpai_str){room, sizeof(room)};
    }
    udpai_proto_put_bytes(writer, number, version);
}

static void
put_failure(udpai_proto_writer *writer, const udpai_own_entry *entry)
{
    if (entry->failed && shows_body(entry, entry->failed))
        udpai_resource_put_any(writer, FAILED_CONFIGURATION, entry->failed);
    if (entry->failed_us > 0)
        udpai_timestamp_put(writer, LAST_ATTEMPT, entry->failed_us);
    udpai_proto_put_bytes_opt(writer, DETAILS, udpai_str_from(udpa_error_message(entry->error)));
    if (entry->failed)
        put_version(writer, FAILED_VERSION, entry->failed);
}

static void
put_fields(udpai_proto_writer *writer, const udpai_own_entry *entry)
{
    udpai_proto_put_bytes(writer, TYPE_URL, entry->type_url);
    udpai_proto_put_bytes(writer, NAME, entry->name);
    if (entry->good)
        put_version(writer, VERSION, entry->good);
    if (entry->good && shows_body(entry, entry->good))
        udpai_resource_put_any(writer, XDS_CONFIG, entry->good);
    if (entry->good && entry->updated_us > 0)
        udpai_timestamp_put(writer, LAST_UPDATED, entry->updated_us);
    udpai_proto_put_varint(writer, CLIENT_STATUS, entry->state);
    if (!entry->error)
        return;
    udpai_proto_writer size = {0};
    put_failure(&size, entry);
    udpai_proto_put_head(writer, ERROR_STATE, size.size);
    put_failure(writer, entry);
}

bool
udpai_own_entry_put(udpai_strbuf *out, const udpai_own_entry *entry)
{
    udpai_proto_writer size = {0}, whole = {0};
    put_fields(&size, entry);
    udpai_proto_put_head(&whole, CONFIGS, size.size);
    udpai_proto_writer writer = {udpai_strbuf_extend(out, whole.size + size.size), 0};
    if (!writer.at)
        return false;
    udpai_proto_put_head(&writer, CONFIGS, size.size);
    put_fields(&writer, entry);
    return true;
}

/* ---- the session ---- */

typedef struct own {
    udpai_csds_session base;           /* first */
    size_t *n_answers;                 /* of all sessions */
    udpai_timer patience;              /* with the loop side */
    bool is_asking;                    /* the loop side has been asked, and has not answered */
    UDPAI_VECTOR(udpa_bytes *) chunks; /* of the answer */
    size_t at;                         /* that is written next */
} own;

static own *
own_of(udpai_csds_session *base)
{
    return UDPAI_CONTAINER_OF(base, own, base);
}

static void
forget_answer(udpai_csds_session *base)
{
    own *self = own_of(base);
    udpai_timer_cancel(&self->patience);
    for (size_t i = 0; i < self->chunks.n; i++)
        udpa_bytes_unref(self->chunks.items[i]);
    self->chunks.n = self->at = 0;
}

static void
on_patience_end(udpai_timer *timer)
{
    udpai_csds_session_fail(
        &UDPAI_CONTAINER_OF(timer, own, patience)->base, UDPA_ERR_DEADLINE,
        udpa_error_new(UDPA_ERR_DEADLINE, NULL, "the application is busy: ask again in a while"));
}

/* ---- a request ---- */

static udpa_err
ask(own *self, bool with_bodies, udpa_error **ret_error)
{
    udpai_session *session = &self->base.session;
    udpai_wheel *wheel = udpai_hub_wheel(session->hub);
    udpa_err err = udpai_csds_session_count(&self->base, self->n_answers, ret_error);
    if (err != UDPA_OK)
        return err;
    udpai_report *report = udpai_session_report_new(session, UDPAI_REPORT_OWN_STATUS);
    if (!report)
        return UDPA_ERR_NOMEM;
    report->subscribed = with_bodies;
    self->is_asking = true;
    udpai_timer_set(wheel, &self->patience, wheel->now_ms + UDPAI_CSDS_OWN_PATIENCE_MS);
    udpai_hub_report(session->hub, report);
    return UDPA_OK;
}

/* A question about others is answered that there are none. */
static udpa_err
begin_answer(udpai_csds_session *base, udpai_str message, udpa_error **ret_error)
{
    udpai_csds_request request;
    udpai_csds_request_init(&request);
    udpa_err err = udpai_csds_request_decode(&request, message, NULL, ret_error);
    if (err == UDPA_OK &&
        udpai_node_matchers_fit(&request.matchers, udpai_hub_settings(base->session.hub)->info))
        err = ask(own_of(base), !request.excludes_contents, ret_error);
    udpai_csds_request_done(&request);
    return err;
}

/* ---- the answer ---- */

static size_t
size_of(const own *self, size_t end)
{
    size_t size = 0;
    for (size_t i = self->at; i < end; i++)
        size += udpa_bytes_size(self->chunks.items[i]);
    return size;
}

/* Up to there, of a ClientConfig. */
static udpa_bytes *
make_head(const own *self, size_t end)
{
    uint8_t *room;
    udpai_proto_writer node_size = {0}, size = {0};
    UDPA_AUTO(udpa_bytes_unref)
    udpa_bytes *node = udpai_node_encode(udpai_hub_settings(self->base.session.hub)->info);
    if (!node)
        return NULL;
    udpai_proto_put_bytes(&node_size, NODE, udpai_bytes_view(node));
    size_t whole = node_size.size + size_of(self, end);
    udpai_proto_put_head(&size, RESPONSE_CONFIG, whole);
    udpa_bytes *head = udpai_bytes_make(size.size + node_size.size, &room);
    udpai_proto_writer writer = {room, 0};
    if (!head)
        return NULL;
    udpai_proto_put_head(&writer, RESPONSE_CONFIG, whole);
    udpai_proto_put_bytes(&writer, NODE, udpai_bytes_view(node));
    return head;
}

/* A Fetch has one response, a stream one for each chunk. */
static udpa_err
write_chunks(own *self)
{
    size_t end =
        self->base.is_fetch ? self->chunks.n : udpai_min_size(self->at + 1, self->chunks.n);
    if (!udpai_vector_reserve(&self->base.writing, 1 + end - self->at))
        return UDPA_ERR_NOMEM;
    udpa_err err = udpai_csds_session_put(&self->base, make_head(self, end));
    for (; err == UDPA_OK && self->at < end; self->at++)
        self->base.writing.items[self->base.writing.n++] = self->chunks.items[self->at];
    return err;
}

/* A response without a ClientConfig. */
static udpa_err
write_nothing(udpai_csds_session *base)
{
    udpa_bytes *empty = NULL;
    udpa_err err = udpa_bytes_new(&empty, "", 0);
    return err == UDPA_OK ? udpai_csds_session_put(base, empty) : err;
}

static udpa_err
write(udpai_csds_session *base, bool *ret_over, udpa_error **ret_error)
{
    own *self = own_of(base);
    (void)ret_error;
    if (self->is_asking)
        return UDPA_OK;
    udpa_err err = base->counts_among ? write_chunks(self) : write_nothing(base);
    *ret_over = self->at >= self->chunks.n;
    return err;
}

static udpa_err
take_answer(own *self, udpai_order *order, udpa_error **ret_error)
{
    size_t size = 0;
    for (size_t i = 0; i < order->answers.n; i++)
        size += udpa_bytes_size(order->answers.items[i]);
    if (order->error) {
        *ret_error = UDPAI_TAKE(order->error);
        return udpa_error_code(*ret_error);
    }
    if (self->base.is_fetch && size > UDPAI_CSDS_FETCH_BYTES)
        return udpai_fail(ret_error, UDPA_ERR_LIMIT,
                          "the answer is larger than %zu bytes, which is the limit of a Fetch: ask "
                          "with exclude_resource_contents, or by StreamClientStatus, which answers "
                          "in pieces",
                          UDPAI_CSDS_FETCH_BYTES);
    if (!udpai_vector_reserve(&self->chunks, order->answers.n))
        return UDPA_ERR_NOMEM;
    for (size_t i = 0; i < order->answers.n; i++)
        self->chunks.items[self->chunks.n++] = order->answers.items[i];
    order->answers.n = 0;
    udpai_session_ready(&self->base.session);
    return UDPA_OK;
}

static void
order(udpai_csds_session *base, udpai_order *order)
{
    own *self = own_of(base);
    udpa_error *error = NULL;
    if (order->kind != UDPAI_ORDER_OWN_STATUS || !self->is_asking)
        return;
    self->is_asking = false;
    udpai_timer_cancel(&self->patience);
    udpa_err err = take_answer(self, order, &error);
    if (err != UDPA_OK)
        udpai_csds_session_fail(base, err, error);
}

/* ---- the rest ---- */

static void
free_answer(udpai_csds_session *base)
{
    forget_answer(base);
    udpai_vector_done(&own_of(base)->chunks);
}

static const udpai_csds_answerer answerer = {
    .max_answers = UDPAI_CSDS_OWN_MAX,
    .max_waiting = 1,
    .begin = begin_answer,
    .write = write,
    .end = forget_answer,
    .order = order,
    .free = free_answer,
};

udpa_err
udpai_csds_own_session_new(udpai_session **ret_session,
                           udpai_hub *hub,
                           const udpai_stream_info *info)
{
    const udpai_csds_own_method *method = info->context;
    own *self = udpai_alloc(sizeof(*self));
    if (!self)
        return UDPA_ERR_NOMEM;
    udpa_err err = udpai_csds_session_init(&self->base, hub, info, &answerer);
    if (err != UDPA_OK) {
        udpai_free(self);
        return err;
    }
    self->base.is_fetch = method->is_fetch;
    self->n_answers = &method->own->n_answers;
    udpai_timer_init(&self->patience, on_patience_end);
    *ret_session = &self->base.session;
    return UDPA_OK;
}
