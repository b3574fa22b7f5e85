/* SPDX-License-Identifier: Apache-2.0 */
/* What is sent: names that are requested or not any more, ACK and NACK. */
#include "xds/upstream_internal.h"

#include "base/alloc.h"
#include "base/utf8.h"

/* One request, while it is made. */
typedef struct making {
    udpai_upstream_type *type;
    udpai_xds_ask ask;
    UDPAI_VECTOR(udpai_str) names, unsubscribed;
    UDPAI_VECTOR(udpai_held_version) versions;
    UDPAI_VECTOR(udpai_upstream_name *) reported;
    size_t bytes;
    bool is_full;     /* the rest goes with the next */
    bool is_wildcard; /* what is sent of it */
    udpai_upstream_response *done;
} making;

static void
making_done(making *self)
{
    udpai_vector_done(&self->names);
    udpai_vector_done(&self->unsubscribed);
    udpai_vector_done(&self->versions);
    udpai_vector_done(&self->reported);
}

/* ---- the delta protocol ---- */

/* Of the wildcard, in its old form where it does: that one every server knows. */
static bool
add_delta_wildcard(making *self)
{
    const udpai_upstream_type *type = self->type;
    bool is_bare = !type->is_first_sent && udpai_list_empty(&type->unreported);
    if (self->is_wildcard == type->is_wildcard_reported || is_bare)
        return true;
    return self->is_wildcard ? udpai_vector_push(&self->names, UDPAI_STR("*"))
                             : udpai_vector_push(&self->unsubscribed, UDPAI_STR("*"));
}

static bool
add_delta_name(making *self, udpai_upstream_name *name)
{
    udpai_str server_name;
    (void)udpai_upstream_server_name(self->type, udpai_upstream_name_text(name), &server_name);
    self->bytes += server_name.len + 8;
    self->is_full =
        self->reported.n >= UDPAI_UPSTREAM_ITEMS_MAX || self->bytes > UDPAI_UPSTREAM_BYTES_MAX;
    if (self->is_full && self->reported.n)
        return true;
    return udpai_vector_push(&self->reported, name) &&
           (udpai_upstream_is_requested(name)
                ? udpai_vector_push(&self->names, server_name)
                : udpai_vector_push(&self->unsubscribed, server_name));
}

/* A name that is taken back under a wildcard is answered by what is there of it; in the request
 * that brings the wildcard it would fall between the two. */
static bool
add_delta_names(making *self)
{
    bool brings_wildcard = self->is_wildcard && !self->type->is_wildcard_reported;
    bool has_memory = true;
    UDPAI_LIST_FOREACH (node, &self->type->unreported) {
        udpai_upstream_name *name = UDPAI_LIST_ENTRY(node, udpai_upstream_name, in_unreported);
        if (self->is_full || !has_memory)
            break;
        if (!brings_wildcard || udpai_upstream_is_requested(name))
            has_memory = add_delta_name(self, name);
    }
    return has_memory;
}

/* What the loop side holds in a version not known here: sent with one that the server cannot have,
 * so that it is sent again, or reported as removed. */
static udpa_err
add_version(making *self, udpai_upstream_held *held)
{
    udpai_upstream_type *type = self->type;
    udpai_str name;
    bool is_served = udpai_upstream_server_name(type, udpai_bytes_view(held->name), &name);
    self->bytes += name.len + (held->version ? udpa_bytes_size(held->version) : 1) + 16;
    if (!is_served || self->bytes > UDPAI_UPSTREAM_BYTES_MAX ||
        self->versions.n >= UDPAI_UPSTREAM_ITEMS_MAX)
        return UDPA_OK;
    udpai_str version = held->version ? udpai_bytes_view(held->version) : UDPAI_STR("?");
    if (!udpai_vector_push(&self->versions, ((udpai_held_version){name, version})))
        return UDPA_ERR_NOMEM;
    if (!held->version)
        return UDPA_OK;
    held->is_confirmed = true;
    udpai_upstream_name_answered(type, udpai_bytes_view(held->name));
    return udpai_upstream_refer(type, NULL, held->resource);
}

static bool
is_foreign(const udpai_upstream_held *held, const void *userdata)
{
    (void)userdata;
    return !held->is_vouched;
}

static udpa_err
add_versions(making *self)
{
    udpai_upstream_type *type = self->type;
    udpa_err err = udpai_upstream_let_go_of(type, is_foreign, NULL, NULL);
    size_t at = 0;
    udpai_upstream_held *held;
    while (err == UDPA_OK && (held = udpai_map_next(&type->held, &at)))
        err = add_version(self, held);
    return err;
}

/* ---- the state of the world ---- */

static bool
add_sotw_names(making *self)
{
    udpai_upstream_type *type = self->type;
    size_t at = 0;
    udpai_upstream_name *name;
    udpai_str server_name;
    bool has_memory = true;
    while (has_memory && (name = udpai_map_next(&type->names, &at))) {
        if (!udpai_upstream_is_requested(name))
            continue;
        (void)udpai_upstream_server_name(type, udpai_upstream_name_text(name), &server_name);
        has_memory = udpai_vector_push(&self->names, server_name);
    }
    type->has_named = type->has_named || self->names.n;
    self->is_wildcard = self->is_wildcard || udpai_upstream_has_wildcard(type);
    if (has_memory && self->is_wildcard &&
        type->has_named) /* the old form is for sessions without */
        has_memory = udpai_vector_push(&self->names, UDPAI_STR("*"));
    UDPAI_LIST_FOREACH (node, &type->unreported)
        has_memory = has_memory &&
                     udpai_vector_push(&self->reported,
                                       UDPAI_LIST_ENTRY(node, udpai_upstream_name, in_unreported));
    return has_memory;
}

/* ---- a request ---- */

static void
add_done(making *self)
{
    udpai_upstream_type *type = self->type;
    self->done = udpai_upstream_first_done(type);
    if (!self->done)
        return;
    const udpa_error *error = self->done->error;
    if (!error) {
        udpa_bytes_unref(type->accepted_version);
        type->accepted_version = udpa_bytes_ref(self->done->version);
    } else {
        const char *text = udpa_error_message(error);
        self->ask.error_code = udpa_err_to_grpc(udpa_error_code(error));
        self->ask.error_text = udpai_utf8_cut(udpai_str_from(text), UDPAI_UPSTREAM_ERROR_MAX);
    }
    udpa_bytes_unref(type->last_nonce);
    type->last_nonce = udpa_bytes_ref(self->done->nonce);
    self->ask.nonce = udpai_bytes_view(self->done->nonce);
}

static udpa_err
fill_delta(making *self)
{
    if (!add_delta_wildcard(self) || !add_delta_names(self))
        return UDPA_ERR_NOMEM;
    return self->type->is_first_sent ? UDPA_OK : add_versions(self);
}

static udpa_err
fill_sotw(making *self)
{
    udpai_upstream_type *type = self->type;
    if (!add_sotw_names(self))
        return UDPA_ERR_NOMEM;
    if (type->accepted_version)
        self->ask.version = udpai_bytes_view(type->accepted_version);
    if (type->last_nonce)
        self->ask.nonce = udpai_bytes_view(type->last_nonce);
    return UDPA_OK;
}

static udpa_err
fill(making *self)
{
    udpai_upstream_session *session = self->type->session;
    const udpai_upstream_options *options = &session->upstream->options;
    self->is_wildcard = udpai_upstream_requests_wildcard(self->type);
    add_done(self);
    udpa_err err = options->is_delta ? fill_delta(self) : fill_sotw(self);
    self->ask.type_url = udpai_bytes_view(self->type->type);
    if (!session->is_introduced)
        self->ask.node = options->node;
    self->ask.names = self->names.items;
    self->ask.n_names = self->names.n;
    self->ask.unsubscribed = self->unsubscribed.items;
    self->ask.n_unsubscribed = self->unsubscribed.n;
    self->ask.versions = self->versions.items;
    self->ask.n_versions = self->versions.n;
    return err;
}

/* ---- what follows from having sent it ---- */

static udpa_err
note_names(making *self, bool is_first)
{
    udpai_upstream_type *type = self->type;
    udpai_publication *publication = udpai_publication_new();
    udpa_err err = publication ? UDPA_OK : UDPA_ERR_NOMEM;
    bool any_taken_back = false;
    for (size_t i = 0; i < self->reported.n && err == UDPA_OK; i++) {
        udpai_upstream_name *name = self->reported.items[i];
        any_taken_back = any_taken_back || !udpai_upstream_is_requested(name);
        name->is_first = is_first;
        err = udpai_upstream_name_reported(name, publication);
    }
    if (publication)
        err = udpai_upstream_publish_or_free(type, publication, err);
    if (err == UDPA_OK && any_taken_back && type->has_aliases) /* it may have come by an alias */
        err = udpai_upstream_let_go_unrequested(type);
    return err;
}

static udpa_err
note_reported(making *self)
{
    udpai_upstream_type *type = self->type;
    bool is_first = !type->is_first_sent;
    udpa_err err = UDPA_OK;
    type->session->is_introduced = type->is_first_sent = true;
    type->is_sotw_due = false;
    if (type->is_wildcard_reported != self->is_wildcard) {
        type->is_wildcard_reported = self->is_wildcard;
        type->is_wildcard_first = is_first;
        type->is_complete = false;
        udpai_timer_cancel(&type->silence);
        if (!self->is_wildcard)
            err = udpai_upstream_let_go_unrequested(type);
    }
    if (err == UDPA_OK && self->reported.n)
        err = note_names(self, is_first);
    return err == UDPA_OK ? udpai_upstream_answer(type) : err;
}

/* A change of names that crosses a response would be taken for stale: it goes with its ACK. What
 * names nothing would, at first, ask for all. */
static bool
has_request(const udpai_upstream_type *type)
{
    bool is_wildcard = udpai_upstream_requests_wildcard(type);
    bool asks = is_wildcard || type->names.n > 0;
    if (udpai_upstream_first_done(type))
        return true;
    if (!type->is_first_sent)
        return asks;
    if (udpai_upstream_options_of(type)->is_delta)
        return !udpai_list_empty(&type->unreported) || is_wildcard != type->is_wildcard_reported;
    return type->is_sotw_due && type->n_pending == 0;
}

static udpa_err
send(udpai_upstream_type *type, udpa_bytes **ret_message)
{
    making self = {.type = type};
    type->session->n_compared = 0;
    udpa_err err = fill(&self);
    udpa_bytes *message = NULL;
    if (err == UDPA_OK)
        message = udpai_xds_ask_compose(&self.ask, udpai_upstream_options_of(type)->is_delta);
    if (err == UDPA_OK)
        err = message ? note_reported(&self) : UDPA_ERR_NOMEM;
    if (self.done)
        udpai_upstream_response_free(self.done);
    udpai_upstream_pace(type->session);
    making_done(&self);
    *ret_message = message;
    return err;
}

udpa_err
udpai_upstream_next(udpai_session *base, udpai_outgoing *out, bool *ret_any, udpa_error **ret_error)
{
    udpai_upstream_session *session = UDPAI_CONTAINER_OF(base, udpai_upstream_session, session);
    udpa_err err = UDPA_OK;
    udpai_list *node;
    session->writing = udpa_bytes_unref(session->writing);
    while (err == UDPA_OK && !session->writing && (node = udpai_list_pop(&session->due))) {
        udpai_upstream_type *type = UDPAI_LIST_ENTRY(node, udpai_upstream_type, in_due);
        if (!has_request(type))
            continue;
        err = send(type, &session->writing);
        if (has_request(type))
            udpai_upstream_touch(type);
    }
    if (err != UDPA_OK)
        return udpai_fail_code(ret_error, err);
    if (session->writing) {
        out->parts = &session->writing;
        out->n_parts = 1;
        *ret_any = true;
    }
    return UDPA_OK;
}
