/* SPDX-License-Identifier: Apache-2.0 */
#include "xds/csds_own.h"

#include "base/alloc.h"
#include "session/status.h"
#include "wire/compose.h"
#include "wire/entry.h"
#include "xds/csds_internal.h"

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
           !udpai_str_eq(entry->type_url, UDPAI_STR(UDPAI_TYPE_SECRET));
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
    udpai_session session; /* first */
    const udpai_csds_own_method *method;
    udpai_timer patience;
    bool is_asking; /* the loop side has been asked, and has not answered */
    bool is_answering, is_answered, has_ended;
    bool counts;                        /* among the answers that are made, or read */
    UDPAI_VECTOR(udpa_bytes *) chunks;  /* of the answer */
    size_t at;                          /* that is written next */
    bool is_told;                       /* something was, of this answer */
    udpa_bytes *waiting;                /* a request that had been read before it was paused */
    UDPAI_VECTOR(udpa_bytes *) writing; /* the last response; borrowed but for the first part */
    uint64_t n_requests;
} own;

static own *
own_of(udpai_session *session)
{
    return UDPAI_CONTAINER_OF(session, own, session);
}

static void
leave_place(own *self)
{
    self->method->own->n_answers -= self->counts;
    self->counts = false;
}

static void
forget_writing(own *self)
{
    if (self->writing.n)
        udpa_bytes_unref(self->writing.items[0]);
    self->writing.n = 0;
}

static void
forget_answer(own *self)
{
    forget_writing(self);
    for (size_t i = 0; i < self->chunks.n; i++)
        udpa_bytes_unref(self->chunks.items[i]);
    self->chunks.n = self->at = 0;
    self->is_answering = self->is_told = false;
    leave_place(self);
}

static void
on_patience_end(udpai_timer *timer)
{
    own *self = UDPAI_CONTAINER_OF(timer, own, patience);
    udpai_session_finish(&self->session,
                         udpa_error_new(UDPA_ERR_DEADLINE, NULL, "%s",
                                        self->is_asking
                                            ? "the application is busy: ask again in a while"
                                            : "the answer was not read in time"));
}

/* ---- a request ---- */

static udpa_err
ask(own *self, bool with_bodies, udpa_error **ret_error)
{
    udpai_wheel *wheel = udpai_hub_wheel(self->session.hub);
    udpai_csds_own *shared = self->method->own;
    if (shared->n_answers >= UDPAI_CSDS_OWN_MAX)
        return udpai_fail(ret_error, UDPA_ERR_LIMIT,
                          "%zu others are being answered, which is the limit: ask again in a while",
                          shared->n_answers);
    udpai_report *report = udpai_session_report_new(&self->session, UDPAI_REPORT_OWN_STATUS);
    if (!report)
        return UDPA_ERR_NOMEM;
    report->wanted = with_bodies;
    self->is_asking = self->counts = true;
    shared->n_answers++;
    udpai_timer_set(wheel, &self->patience, wheel->now_ms + UDPAI_CSDS_OWN_PATIENCE_MS);
    udpai_hub_report(self->session.hub, report);
    return UDPA_OK;
}

/* Who asks about others is told that there are none. */
static udpa_err
begin_answer(own *self, udpai_str message, udpa_error **ret_error)
{
    udpai_csds_request request;
    udpai_csds_request_init(&request);
    self->n_requests++;
    udpa_err err = udpai_csds_request_decode(&request, message, NULL, ret_error);
    if (err == UDPA_OK) {
        const udpai_node_info *info = udpai_hub_settings(self->session.hub)->info;
        self->is_answering = true;
        self->is_told = false;
        udpai_session_pause(&self->session, true);
        if (udpai_node_matchers_fit(&request.matchers, info))
            err = ask(self, !request.excludes_contents, ret_error);
        else
            udpai_session_ready(&self->session);
    }
    udpai_csds_request_done(&request);
    return udpai_fail_code(ret_error, err);
}

static udpa_err
put_off(own *self, udpai_str message, udpa_error **ret_error)
{
    if (self->waiting)
        return udpai_fail(ret_error, UDPA_ERR_LIMIT,
                          "two requests wait for their answers: ask again when you have been "
                          "answered");
    if (message.len > UDPAI_CSDS_REQUEST_MAX)
        return udpai_fail(ret_error, UDPA_ERR_LIMIT,
                          "the request has %zu bytes, and at most %zu are taken", message.len,
                          UDPAI_CSDS_REQUEST_MAX);
    return udpai_fail_code(ret_error, udpa_bytes_new(&self->waiting, message.data, message.len));
}

static udpa_err
receive(udpai_session *session, udpai_str message, udpa_error **ret_error)
{
    own *self = own_of(session);
    if (self->method->is_fetch && self->n_requests)
        return udpai_fail(ret_error, UDPA_ERR_INVAL,
                          "a Fetch is one request: more are for StreamClientStatus");
    return self->is_answering ? put_off(self, message, ret_error)
                              : begin_answer(self, message, ret_error);
}

static udpa_err
ended(udpai_session *session, udpa_error **ret_error)
{
    own *self = own_of(session);
    if (self->method->is_fetch && self->n_requests == 0)
        return udpai_fail(ret_error, UDPA_ERR_INVAL, "a Fetch needs a ClientStatusRequest");
    self->has_ended = true;
    udpai_session_ready(session);
    return UDPA_OK;
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
    udpa_bytes *node = udpai_node_encode(udpai_hub_settings(self->session.hub)->info);
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
write_chunks(own *self, udpai_outgoing *out)
{
    size_t end =
        self->method->is_fetch ? self->chunks.n : udpai_min_size(self->at + 1, self->chunks.n);
    if (!udpai_vector_reserve(&self->writing, 1 + end - self->at))
        return UDPA_ERR_NOMEM;
    udpa_bytes *head = make_head(self, end);
    if (!head)
        return UDPA_ERR_NOMEM;
    self->writing.items[self->writing.n++] = head;
    for (; self->at < end; self->at++)
        self->writing.items[self->writing.n++] = self->chunks.items[self->at];
    out->parts = self->writing.items;
    out->n_parts = self->writing.n;
    return UDPA_OK;
}

/* A response without a ClientConfig. */
static udpa_err
write_nothing(own *self, udpai_outgoing *out)
{
    udpa_bytes *empty = NULL;
    if (!udpai_vector_reserve(&self->writing, 1) || udpa_bytes_new(&empty, "", 0) != UDPA_OK)
        return UDPA_ERR_NOMEM;
    self->writing.items[self->writing.n++] = empty;
    out->parts = self->writing.items;
    out->n_parts = 1;
    return UDPA_OK;
}

/* The next request, or the end. */
static udpa_err
go_on(own *self, udpa_error **ret_error)
{
    UDPA_AUTO(udpa_bytes_unref) udpa_bytes *message = UDPAI_TAKE(self->waiting);
    udpai_timer_cancel(&self->patience);
    forget_answer(self);
    if (message)
        return begin_answer(self, udpai_bytes_view(message), ret_error);
    if (self->has_ended || (self->method->is_fetch && self->is_answered))
        udpai_session_finish(&self->session, NULL);
    else
        udpai_session_pause(&self->session, false);
    return UDPA_OK;
}

static udpa_err
next(udpai_session *session, udpai_outgoing *out, bool *ret_any, udpa_error **ret_error)
{
    own *self = own_of(session);
    forget_writing(self);
    if (self->is_asking)
        return UDPA_OK;
    if (!self->is_answering || (self->is_told && self->at >= self->chunks.n))
        return go_on(self, ret_error);
    udpa_err err = self->counts ? write_chunks(self, out) : write_nothing(self, out);
    if (err != UDPA_OK)
        return udpai_fail_code(ret_error, err);
    udpai_wheel *wheel = udpai_hub_wheel(session->hub);
    udpai_timer_set(wheel, &self->patience, wheel->now_ms + UDPAI_CSDS_PATIENCE_MS);
    self->is_told = self->is_answered = true;
    *ret_any = true;
    return UDPA_OK;
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
    if (self->method->is_fetch && size > UDPAI_CSDS_FETCH_BYTES)
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
    udpai_session_ready(&self->session);
    return UDPA_OK;
}

static void
order(udpai_session *session, udpai_order *order)
{
    own *self = own_of(session);
    udpa_error *error = NULL;
    if (order->kind != UDPAI_ORDER_OWN_STATUS || !self->is_asking)
        return;
    self->is_asking = false;
    udpa_err err = take_answer(self, order, &error);
    if (err != UDPA_OK)
        udpai_session_finish(session,
                             error ? error : udpa_error_new(err, NULL, "%s", udpa_err_text(err)));
}

/* ---- the rest ---- */

static void
put_status(udpai_proto_writer *writer, const void *what)
{
    const own *self = what;
    udpai_status_put_session(writer, &self->session, NULL, 0);
}

static udpa_bytes *
describe(const udpai_session *session)
{
    return udpai_status_encode(put_status, UDPAI_CONTAINER_OF(session, const own, session));
}

static void
free_session(udpai_session *session)
{
    own *self = own_of(session);
    udpai_timer_cancel(&self->patience);
    forget_answer(self);
    udpai_vector_done(&self->chunks);
    udpai_vector_done(&self->writing);
    udpa_bytes_unref(self->waiting);
    udpai_free(self);
}

static const udpai_session_ops ops = {
    .name = "csds",
    .receive = receive,
    .next = next,
    .ended = ended,
    .order = order,
    .describe = describe,
    .free = free_session,
};

udpa_err
udpai_csds_own_session_new(udpai_session **ret_session,
                           udpai_hub *hub,
                           const udpai_stream_info *info)
{
    own *self = udpai_alloc(sizeof(*self));
    if (!self)
        return UDPA_ERR_NOMEM;
    udpa_err err = udpai_session_init(&self->session, hub, &ops, info);
    if (err != UDPA_OK) {
        udpai_free(self);
        return err;
    }
    self->method = info->context;
    udpai_timer_init(&self->patience, on_patience_end);
    *ret_session = &self->session;
    return UDPA_OK;
}
