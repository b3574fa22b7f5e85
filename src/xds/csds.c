/* SPDX-License-Identifier: Apache-2.0 */
/* A node answers for its clients. A slice of the answer is made each time that the session may
 * write, and by a timer where that made no whole response: so others come in between. */
#include "xds/csds.h"

#include "base/alloc.h"
#include "session/access.h"
#include "xds/csds_internal.h"
#include "xds/csds_session.h"

/* Requests that had been read when the first of them was begun: one, by the transport's rules. */
#define WAITING_MAX 4
#define PAUSE_MS 1 /* between slices */

typedef struct csds {
    udpai_csds_session base; /* first */
    const udpai_csds_method *method;
    udpai_timer pause;
    bool is_waiting;       /* for others to report their clients; then the walk begins */
    udpai_csds_tree *tree; /* NULL: nobody else has any */
    bool is_walking;       /* or about to; then there are: */
    udpai_csds_request request;
    udpai_csds_walk walk;
} csds;

static csds *
csds_of(udpai_csds_session *base)
{
    return UDPAI_CONTAINER_OF(base, csds, base);
}

static void
on_pause_end(udpai_timer *timer)
{
    udpai_session_ready(&UDPAI_CONTAINER_OF(timer, csds, pause)->base.session);
}

/* ---- which peers may ask ---- */

/* As for the node's own status. */
static udpa_err
check_client(csds *self, udpa_error **ret_error)
{
    const udpai_asked_for asked = {
        .type_url = UDPAI_STR(UDPAI_CSDS_TYPE),
        .name = UDPAI_STR(UDPAI_CSDS_NAME),
    };
    udpai_csds_viewer *viewer = &self->walk.viewer;
    const udpai_node_info *node = self->request.node;
    udpa_err err = udpai_session_check_subscription(&self->base.session, node, &asked, ret_error);
    if (err != UDPA_OK)
        return err;
    viewer->access = udpai_hub_access(self->base.session.hub);
    return udpai_session_visibility(&self->base.session, node, &viewer->visibility);
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
    walk->hub = self->base.session.hub;
    walk->request = &self->request;
    walk->response_bytes = self->method->is_fetch ? 0 : UDPAI_CSDS_RESPONSE_BYTES;
    walk->viewer.csds = self->method->csds;
    walk->viewer.excludes_contents = self->request.excludes_contents;
    udpa_err err = check_client(self, ret_error);
    if (err != UDPA_OK || !needs_others(self))
        return err == UDPA_OK ? udpai_csds_walk_begin(walk) : err;
    if (!self->tree)
        err = udpai_csds_tree_new(&self->tree, &self->base.session, self->method->csds, ret_error);
    if (err != UDPA_OK)
        return err;
    walk->tree = self->tree;
    self->is_waiting = true;
    udpai_csds_tree_begin(self->tree);
    return UDPA_OK;
}

static udpa_err
begin_answer(udpai_csds_session *base, udpai_str message, udpa_error **ret_error)
{
    csds *self = csds_of(base);
    udpai_csds_request_init(&self->request);
    self->is_walking = true;
    udpa_err err = udpai_csds_session_count(base, &self->method->csds->n_answers, ret_error);
    if (err == UDPA_OK)
        err = udpai_csds_request_decode(&self->request, message, self->method->csds->regex,
                                        ret_error);
    return err == UDPA_OK ? begin_walk(self, ret_error) : err;
}

static void
end_answer(udpai_csds_session *base)
{
    csds *self = csds_of(base);
    if (!self->is_walking)
        return;
    udpai_csds_walk_done(&self->walk);
    udpai_csds_request_done(&self->request);
    self->is_walking = self->is_waiting = false;
}

/* ---- the answer ---- */

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
    udpai_wheel *wheel = udpai_hub_wheel(self->base.session.hub);
    udpai_timer_set(wheel, &self->pause, wheel->now_ms + ms);
}

/* A client that came and left while others were waited for is not reported. */
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
write(udpai_csds_session *base, bool *ret_over, udpa_error **ret_error)
{
    csds *self = csds_of(base);
    udpai_csds_progress progress;
    udpa_err err = self->is_waiting ? wait_for_others(self) : UDPA_OK;
    if (err != UDPA_OK || self->is_waiting)
        return err;
    err = udpai_csds_walk_on(&self->walk, self->method->csds->n_answers, &progress);
    if (err == UDPA_OK)
        err = check_fetch(self, ret_error);
    if (err == UDPA_OK && progress == UDPAI_CSDS_GOES_ON)
        pause_for(self, PAUSE_MS);
    else if (err == UDPA_OK)
        err = udpai_csds_session_put(base, udpai_csds_walk_take(&self->walk));
    if (err != UDPA_OK || progress != UDPAI_CSDS_OVER)
        return err;
    end_answer(base);
    *ret_over = true;
    return UDPA_OK;
}

/* ---- the rest ---- */

/* Other rules hold: a peer that may not ask any more is sent no more. */
static void
order(udpai_csds_session *base, udpai_order *order)
{
    csds *self = csds_of(base);
    udpa_error *error = NULL;
    if (order->kind != UDPAI_ORDER_ACL || !self->is_walking)
        return;
    udpa_err err = check_client(self, &error);
    if (err != UDPA_OK)
        udpai_csds_session_fail(base, err, error);
}

static void
free_answer(udpai_csds_session *base)
{
    csds *self = csds_of(base);
    udpai_timer_cancel(&self->pause);
    end_answer(base);
    udpai_csds_tree_free(self->tree);
}

static const udpai_csds_answerer answerer = {
    .max_answers = UDPAI_CSDS_ANSWERS_MAX,
    .max_waiting = WAITING_MAX,
    .begin = begin_answer,
    .write = write,
    .end = end_answer,
    .order = order,
    .free = free_answer,
};

udpa_err
udpai_csds_session_new(udpai_session **ret_session, udpai_hub *hub, const udpai_stream_info *info)
{
    csds *self = udpai_alloc(sizeof(*self));
    if (!self)
        return UDPA_ERR_NOMEM;
    udpa_err err = udpai_csds_session_init(&self->base, hub, info, &answerer);
    if (err != UDPA_OK) {
        udpai_free(self);
        return err;
    }
    self->method = info->context;
    self->base.is_fetch = self->method->is_fetch;
    udpai_timer_init(&self->pause, on_pause_end);
    *ret_session = &self->base.session;
    return UDPA_OK;
}
