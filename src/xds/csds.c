/* SPDX-License-Identifier: Apache-2.0 */
/* The session: one answer at a time. While it is made, nothing is read, and what had been read
 * already waits; a slice of it is made each time that the session may write, and by a timer where
 * that made no whole response: so others come in between. */
#include "xds/csds.h"

#include "base/alloc.h"
#include "session/access.h"
#include "session/status.h"
#include "xds/csds_internal.h"

/* Requests that had been read when the first of them was begun: one, by the transport's rules. */
#define WAITING_MAX 4
#define PAUSE_MS 1 /* between slices */

typedef struct csds {
    udpai_session session; /* first */
    const udpai_csds_method *method;
    udpai_timer pause, patience;
    bool is_answering, is_answered, has_ended;
    bool is_waiting;            /* for others to tell of their clients; then the walk begins */
    udpai_csds_tree *tree;      /* NULL: nobody else has any */
    bool counts;                /* among the answers that are made or read */
    udpai_csds_request request; /* while it is answered, with the walk */
    udpai_csds_walk walk;
    UDPAI_VECTOR(udpa_bytes *) waiting; /* requests */
    udpa_bytes *writing;                /* the last response */
    uint64_t n_requests;
} csds;

static csds *
csds_of(udpai_session *session)
{
    return UDPAI_CONTAINER_OF(session, csds, session);
}

static void
on_pause_end(udpai_timer *timer)
{
    udpai_session_ready(&UDPAI_CONTAINER_OF(timer, csds, pause)->session);
}

static void
on_patience_end(udpai_timer *timer)
{
    udpai_session_finish(&UDPAI_CONTAINER_OF(timer, csds, patience)->session,
                         udpa_error_new(UDPA_ERR_DEADLINE, NULL,
                                        "nothing of the answer was read within %d s",
                                        UDPAI_CSDS_PATIENCE_MS / 1000));
}

/* ---- how many ask at a time ---- */

static udpa_err
take_place(csds *self, udpa_error **ret_error)
{
    udpai_csds *shared = self->method->csds;
    if (!self->counts && shared->n_answers >= UDPAI_CSDS_ANSWERS_MAX)
        return udpai_fail(ret_error, UDPA_ERR_LIMIT,
                          "%zu others are being answered, which is the limit: ask again in a while",
                          shared->n_answers);
    shared->n_answers += !self->counts;
    self->counts = true;
    return UDPA_OK;
}

static void
leave_place(csds *self)
{
    self->method->csds->n_answers -= self->counts;
    self->counts = false;
}

/* ---- who may ask ---- */

/* As for what a node says of itself. */
static udpa_err
check_asker(csds *self, udpa_error **ret_error)
{
    const udpai_asked_for asked = {
        .type_url = UDPAI_STR(UDPAI_CSDS_TYPE),
        .name = UDPAI_STR(UDPAI_CSDS_NAME),
    };
    udpai_csds_viewer *viewer = &self->walk.viewer;
    const udpai_node_info *node = self->request.node;
    udpa_err err = udpai_session_check_subscription(&self->session, node, &asked, ret_error);
    if (err != UDPA_OK)
        return err;
    viewer->access = udpai_hub_access(self->session.hub);
    return udpai_session_visibility(&self->session, node, &viewer->visibility);
}

/* ---- a request ---- */

static bool
needs_others(const csds *self)
{
    return self->method->csds->has_workers || self->method->csds->asks_tree;
}

static udpa_err
begin_walk(csds *self, udpa_error **ret_error)
{
    udpai_csds_walk *walk = &self->walk;
    walk->hub = self->session.hub;
    walk->request = &self->request;
    walk->response_bytes = self->method->is_fetch ? 0 : UDPAI_CSDS_RESPONSE_BYTES;
    walk->viewer.csds = self->method->csds;
    walk->viewer.excludes_contents = self->request.excludes_contents;
    udpa_err err = check_asker(self, ret_error);
    if (err != UDPA_OK || !needs_others(self))
        return err == UDPA_OK ? udpai_csds_walk_begin(walk) : err;
    if (!self->tree)
        err = udpai_csds_tree_new(&self->tree, &self->session, self->method->csds, ret_error);
    if (err != UDPA_OK)
        return err;
    walk->tree = self->tree;
    self->is_waiting = true;
    udpai_csds_tree_begin(self->tree);
    return UDPA_OK;
}

static udpa_err
begin_answer(csds *self, udpai_str message, udpa_error **ret_error)
{
    udpai_csds_request_init(&self->request);
    self->is_answering = true;
    self->n_requests++;
    udpa_err err = take_place(self, ret_error);
    if (err == UDPA_OK)
        err = udpai_csds_request_decode(&self->request, message, self->method->csds->regex,
                                        ret_error);
    if (err == UDPA_OK)
        err = begin_walk(self, ret_error);
    if (err != UDPA_OK)
        return udpai_fail_code(ret_error, err);
    udpai_session_pause(&self->session, true);
    udpai_session_ready(&self->session);
    return UDPA_OK;
}

static void
end_answer(csds *self)
{
    if (!self->is_answering)
        return;
    udpai_csds_walk_done(&self->walk);
    udpai_csds_request_done(&self->request);
    self->is_answering = self->is_waiting = false;
    self->is_answered = true;
}

static udpa_err
put_off(csds *self, udpai_str message, udpa_error **ret_error)
{
    udpa_bytes *copy = NULL;
    if (self->waiting.n == WAITING_MAX)
        return udpai_fail(ret_error, UDPA_ERR_LIMIT,
                          "more than %d requests wait for their answers: ask again when you have "
                          "been answered",
                          WAITING_MAX);
    if (message.len > UDPAI_CSDS_REQUEST_MAX)
        return udpai_fail(ret_error, UDPA_ERR_LIMIT,
                          "the request has %zu bytes, and at most %zu are taken", message.len,
                          UDPAI_CSDS_REQUEST_MAX);
    udpa_err err = udpa_bytes_new(&copy, message.data, message.len);
    if (err == UDPA_OK && !udpai_vector_push(&self->waiting, copy)) {
        udpa_bytes_unref(copy);
        err = UDPA_ERR_NOMEM;
    }
    return udpai_fail_code(ret_error, err);
}

static udpa_err
receive(udpai_session *session, udpai_str message, udpa_error **ret_error)
{
    csds *self = csds_of(session);
    if (self->method->is_fetch && self->n_requests)
        return udpai_fail(ret_error, UDPA_ERR_INVAL,
                          "a Fetch is one request: more are for StreamClientStatus");
    return self->is_answering ? put_off(self, message, ret_error)
                              : begin_answer(self, message, ret_error);
}

static udpa_err
ended(udpai_session *session, udpa_error **ret_error)
{
    csds *self = csds_of(session);
    if (self->method->is_fetch && self->n_requests == 0)
        return udpai_fail(ret_error, UDPA_ERR_INVAL, "a Fetch needs a ClientStatusRequest");
    self->has_ended = true;
    udpai_session_ready(session);
    return UDPA_OK;
}

/* ---- the answer ---- */

/* The next one, or the end. */
static udpa_err
go_on(csds *self, udpa_error **ret_error)
{
    bool is_over = self->has_ended || (self->method->is_fetch && self->is_answered);
    leave_place(self);
    if (self->waiting.n) {
        UDPA_AUTO(udpa_bytes_unref) udpa_bytes *message = self->waiting.items[0];
        self->waiting.n--;
        memmove(self->waiting.items, self->waiting.items + 1,
                self->waiting.n * sizeof(self->waiting.items[0]));
        return begin_answer(self, udpai_bytes_view(message), ret_error);
    }
    if (is_over)
        udpai_session_finish(&self->session, NULL);
    else
        udpai_session_pause(&self->session, false);
    return UDPA_OK;
}

static udpa_err
check_fetch(const csds *self, udpa_error **ret_error)
{
    if (!self->method->is_fetch || udpai_csds_walk_size(&self->walk) <= UDPAI_CSDS_FETCH_BYTES)
        return UDPA_OK;
    return udpai_fail(ret_error, UDPA_ERR_LIMIT,
                      "the answer is larger than %zu bytes, which is the limit of a Fetch, after "
                      "%zu clients of up to %zu: ask with exclude_resource_contents, about fewer "
                      "clients (node_matchers), or by StreamClientStatus, which answers in pieces",
                      UDPAI_CSDS_FETCH_BYTES, self->walk.n_done, self->walk.clients.n);
}

/* For a while, if it has to. */
static void
pause_for(csds *self, uint64_t ms)
{
    udpai_wheel *wheel = udpai_hub_wheel(self->session.hub);
    udpai_timer_set(wheel, &self->pause, wheel->now_ms + ms);
}

/* Whoever came and went while others were waited for is not told of. */
static udpa_err
wait_for_others(csds *self)
{
    uint64_t again_ms = 0;
    bool is_settled = false;
    udpa_err err = udpai_csds_tree_look(self->tree, &is_settled, &again_ms);
    if (err == UDPA_OK && is_settled)
        err = udpai_csds_walk_begin(&self->walk);
    if (err != UDPA_OK)
        return err;
    self->is_waiting = !is_settled;
    if (!is_settled)
        pause_for(self, again_ms);
    return UDPA_OK;
}

static udpa_err
next(udpai_session *session, udpai_outgoing *out, bool *ret_any, udpa_error **ret_error)
{
    csds *self = csds_of(session);
    udpai_csds_progress progress;
    self->writing = udpa_bytes_unref(self->writing);
    udpai_timer_cancel(&self->patience);
    if (!self->is_answering)
        return go_on(self, ret_error);
    udpa_err err = self->is_waiting ? wait_for_others(self) : UDPA_OK;
    if (err != UDPA_OK || self->is_waiting)
        return udpai_fail_code(ret_error, err);
    err = udpai_csds_walk_on(&self->walk, self->method->csds->n_answers, &progress);
    if (err == UDPA_OK)
        err = check_fetch(self, ret_error);
    if (err != UDPA_OK)
        return udpai_fail_code(ret_error, err);
    if (progress == UDPAI_CSDS_GOES_ON) {
        pause_for(self, PAUSE_MS);
        return UDPA_OK;
    }
    udpai_wheel *wheel = udpai_hub_wheel(session->hub);
    self->writing = udpai_csds_walk_take(&self->walk);
    if (!self->writing)
        return udpai_fail_code(ret_error, UDPA_ERR_NOMEM);
    if (progress == UDPAI_CSDS_OVER)
        end_answer(self);
    udpai_timer_set(wheel, &self->patience, wheel->now_ms + UDPAI_CSDS_PATIENCE_MS);
    out->parts = &self->writing;
    out->n_parts = 1;
    *ret_any = true;
    return UDPA_OK;
}

/* ---- the rest ---- */

/* Other rules hold: who may not ask any more is told no more. */
static void
order(udpai_session *session, udpai_order *order)
{
    csds *self = csds_of(session);
    udpa_error *error = NULL;
    if (order->kind != UDPAI_ORDER_ACL || !self->is_answering)
        return;
    udpa_err err = check_asker(self, &error);
    if (err != UDPA_OK)
        udpai_session_finish(session,
                             error ? error : udpa_error_new(err, NULL, "%s", udpa_err_text(err)));
}

static void
put(udpai_proto_writer *writer, const void *what)
{
    const csds *self = what;
    udpai_status_put_session(writer, &self->session, NULL, 0);
}

static udpa_bytes *
describe(const udpai_session *session)
{
    return udpai_status_encode(put, UDPAI_CONTAINER_OF(session, const csds, session));
}

static void
csds_free(udpai_session *session)
{
    csds *self = csds_of(session);
    udpai_timer_cancel(&self->pause);
    udpai_timer_cancel(&self->patience);
    end_answer(self);
    leave_place(self);
    udpai_csds_tree_free(self->tree);
    for (size_t i = 0; i < self->waiting.n; i++)
        udpa_bytes_unref(self->waiting.items[i]);
    udpai_vector_done(&self->waiting);
    udpa_bytes_unref(self->writing);
    udpai_free(self);
}

static const udpai_session_ops ops = {
    .name = "csds",
    .receive = receive,
    .next = next,
    .ended = ended,
    .order = order,
    .describe = describe,
    .free = csds_free,
};

udpa_err
udpai_csds_session_new(udpai_session **ret_session, udpai_hub *hub, const udpai_stream_info *info)
{
    csds *self = udpai_alloc(sizeof(*self));
    if (!self)
        return UDPA_ERR_NOMEM;
    udpa_err err = udpai_session_init(&self->session, hub, &ops, info);
    if (err != UDPA_OK) {
        udpai_free(self);
        return err;
    }
    self->method = info->context;
    udpai_timer_init(&self->pause, on_pause_end);
    udpai_timer_init(&self->patience, on_patience_end);
    *ret_session = &self->session;
    return UDPA_OK;
}
