/* SPDX-License-Identifier: Apache-2.0 */
/* Responses: what is new in them is handed up, and what becomes of it is ACK or NACK. */
#include "xds/upstream_internal.h"

#include "base/alloc.h"
#include "model/types.h"
#include "wire/compose.h"

/* A response, while it is taken in. */
typedef struct taking {
    udpai_upstream_type *type;
    const udpai_xds_answer *answer;
    udpai_upstream_response *response;
    udpai_publication *publication;
} taking;

/* Consumes the error; the first one is sent. */
static void
refuse(udpai_upstream_response *response, udpa_error *error)
{
    if (response->error)
        udpa_error_unref(error);
    else
        response->error = error;
}

/* ---- one resource ---- */

/* Full names, in the decoder's memory; NULL: they cannot be, or there is no memory. */
static const udpai_str *
read_aliases(const taking *self, const udpai_xds_received *received)
{
    udpai_arena *arena = &udpai_hub_decoder(self->type->session->session.hub)->arena;
    udpai_str *aliases = udpai_arena_alloc(arena, received->n_aliases * sizeof(*aliases));
    for (size_t i = 0; aliases && i < received->n_aliases; i++) {
        size_t len =
            udpai_upstream_options_of(self->type)->name_space.len + 1 + received->aliases[i].len;
        char *room = len <= UDPAI_NAME_MAX ? udpai_arena_alloc(arena, len) : NULL;
        if (!room || !udpai_upstream_full_name(self->type, received->aliases[i], room, &aliases[i]))
            return NULL;
    }
    return aliases;
}

/* It may yet be refused, and then so is what brings the same again. */
static bool
is_pending(const udpai_upstream_session *session, const udpai_upstream_held *held)
{
    if (udpai_list_empty(&session->pending))
        return false;
    const udpai_upstream_response *oldest =
        UDPAI_LIST_ENTRY(session->pending.next, udpai_upstream_response, in_pending);
    return oldest->id <= held->published_in;
}

/* What of it is nothing new to the loop side? */
static bool
is_unchanged(const taking *self, const udpai_upstream_held *held, const udpa_resource *resource)
{
    const udpa_resource *before = udpai_upstream_known(held);
    return before && !held->is_refused && !is_pending(self->type->session, held) &&
           !held->deadline_ms && udpa_resource_ttl_ms(resource) == 0 &&
           udpai_resource_same_payload(before, resource) &&
           udpai_resource_digest(before) == udpai_resource_digest(resource);
}

static udpa_err
set_version(udpai_upstream_held *held, udpai_str version)
{
    udpa_bytes *copy = NULL;
    if (version.len >
        UDPAI_UPSTREAM_VERSION_MAX) /* not stated, it is sent again by the next stream */
        version.len = 0;
    if (version.len && udpa_bytes_new(&copy, version.data, version.len) != UDPA_OK)
        return UDPA_ERR_NOMEM;
    udpa_bytes_unref(held->version);
    held->version = copy;
    return UDPA_OK;
}

static void
answer_names(udpai_upstream_type *type, const udpa_resource *resource)
{
    udpai_upstream_name_answered(type, udpai_resource_name(resource));
    for (size_t i = 0; i < udpa_resource_n_aliases(resource); i++)
        udpai_upstream_name_answered(type, udpai_resource_alias(resource, i));
    type->has_aliases = type->has_aliases || udpa_resource_n_aliases(resource);
}

static udpa_err
hold(taking *self, udpai_upstream_held *held, udpa_resource *resource, udpai_str version)
{
    udpai_upstream_type *type = self->type;
    udpa_err err = set_version(held, version);
    if (err == UDPA_OK)
        err = udpai_upstream_refer(type, udpai_upstream_known(held), resource);
    udpa_resource_unref(held->resource);
    held->resource = udpa_resource_ref(resource);
    held->is_confirmed = true;
    held->is_refused = false;
    uint64_t ttl_ms = udpa_resource_ttl_ms(resource);
    held->deadline_ms = ttl_ms ? udpai_upstream_now(type->session) + ttl_ms : 0;
    udpai_upstream_expect_expiry(type, held);
    answer_names(type, resource);
    return err;
}

/* Servers may send more than was asked for. What was, and is not to be any more, counts until that
 * is sent: should it be asked for again before, the server will not send it again. */
static bool
is_for_us(const udpai_upstream_type *type, const udpai_resource_parts *parts)
{
    return type->is_wildcard_reported || udpai_upstream_has_wildcard(type) ||
           udpai_map_get(&type->names, parts->name) ||
           udpai_upstream_covers(type, parts->name, parts->aliases, parts->n_aliases);
}

static udpa_err
take_resource(taking *self, udpa_resource *resource, udpai_str version)
{
    udpai_upstream_type *type = self->type;
    udpai_str name = udpai_resource_name(resource);
    size_t max_held = udpai_upstream_options_of(type)->max_held;
    /* Twice: all may be others at once, and of those that go it is known behind them. */
    udpai_upstream_held *held = udpai_upstream_hold(type, name, 2 * max_held);
    if (!held && type->held.n >= 2 * max_held) {
        refuse(self->response,
               udpa_error_new(UDPA_ERR_LIMIT, NULL,
                              "'%s' is too many: at most %zu resources of a type are taken from a "
                              "server",
                              udpa_resource_name(resource), max_held));
        return UDPA_OK;
    }
    if (!held)
        return UDPA_ERR_NOMEM;
    if (held->response == self->response->id) {
        refuse(self->response,
               udpa_error_new(UDPA_ERR_EXISTS, NULL,
                              "'%s' occurs twice in one response: the first one applies",
                              udpa_resource_name(resource)));
        return UDPA_OK;
    }
    held->response = self->response->id;
    bool is_unchanged_here = is_unchanged(self, held, resource);
    udpa_err err = hold(self, held, resource, version);
    size_t n_aliases = udpa_resource_n_aliases(resource);
    udpai_str aliases[UDPAI_ALIASES_MAX];
    for (size_t i = 0; i < n_aliases; i++)
        aliases[i] = udpai_resource_alias(resource, i);
    if (err == UDPA_OK && !is_unchanged_here &&
        udpai_upstream_covers(type, name, aliases, n_aliases)) {
        held->is_published = true;
        held->published_in = self->response->id;
        err = udpai_publication_add(self->publication, resource, false);
    }
    return err;
}

/* A locator takes the place of a resource: of a redirect the type is that which was asked for. */
static udpa_err
check_type(const udpai_upstream_type *type,
           udpai_str any,
           udpai_str name,
           udpai_str *ret_redirected_type,
           udpa_error **ret_error)
{
    udpai_str type_url, value, expected = udpai_bytes_view(type->type);
    bool is_any = udpai_any_parse(any, &type_url, &value);
    if (is_any && udpai_str_eq(type_url, expected))
        return UDPA_OK;
    if (is_any && udpai_str_eq(type_url, UDPAI_STR(UDPAI_TYPE_LOCATOR))) {
        *ret_redirected_type = expected;
        return UDPA_OK;
    }
    return udpai_fail(ret_error, UDPA_ERR_INVAL, "'%.*s' is no %.*s but a '%.*s'",
                      UDPAI_SHOWN(name), (int)expected.len, expected.data, UDPAI_SHOWN(type_url));
}

static udpa_err
make_resource(taking *self,
              udpai_resource_parts *parts,
              udpa_resource **ret,
              udpa_error **ret_error)
{
    parts->authority = udpai_upstream_options_of(self->type)->authority;
    udpa_err err = udpai_resource_parts_check(parts, ret_error);
    return err == UDPA_OK ? udpai_resource_make(ret, parts) : err;
}

/* What is there of that name stays as it was. */
static void
refuse_payload(const taking *self, udpai_str name, udpa_error *error)
{
    udpai_upstream_held *held = udpai_map_get(&self->type->held, name);
    if (held)
        held->response = self->response->id;
    refuse(self->response, error);
}

/* A resource that cannot be is refused by itself. */
static udpa_err
take_payload(taking *self, const udpai_xds_received *received, udpai_resource_parts *parts)
{
    udpa_error *error = NULL;
    udpa_err err =
        check_type(self->type, received->any, received->name, &parts->redirected_type, &error);
    UDPA_AUTO(udpa_bytes_unref) udpa_bytes *any = NULL;
    UDPA_AUTO(udpa_resource_unref) udpa_resource *resource = NULL;
    if (err == UDPA_OK)
        err = udpa_bytes_new(&any, received->any.data, received->any.len);
    parts->any = any;
    parts->ttl_ms = received->ttl_ms;
    parts->do_not_cache = received->do_not_cache;
    if (err == UDPA_OK)
        err = make_resource(self, parts, &resource, &error);
    if (err == UDPA_ERR_NOMEM) {
        udpa_error_unref(error);
        return err;
    }
    if (err == UDPA_OK)
        return take_resource(self, resource, received->version);
    refuse_payload(self, parts->name,
                   error ? error : udpa_error_new(err, NULL, "%s", udpa_err_text(err)));
    return UDPA_OK;
}

/* A heartbeat: what is there stays, for as long again. */
static udpa_err
take_heartbeat(taking *self, const udpai_xds_received *received, udpai_str name)
{
    udpai_upstream_type *type = self->type;
    udpai_upstream_held *held = udpai_map_get(&type->held, name);
    if (!held || !udpai_upstream_known(held) || !received->ttl_ms)
        return UDPA_OK;
    udpai_resource_room room;
    udpai_resource_parts parts = udpai_resource_parts_of(held->resource, &room);
    UDPA_AUTO(udpa_resource_unref) udpa_resource *renewed = NULL;
    parts.ttl_ms = received->ttl_ms;
    udpa_err err = udpai_resource_make(&renewed, &parts);
    if (err != UDPA_OK)
        return err;
    held->deadline_ms = udpai_upstream_now(type->session) + received->ttl_ms;
    return udpai_upstream_covers(type, name, parts.aliases, parts.n_aliases)
               ? udpai_publication_add(self->publication, renewed, false)
               : UDPA_OK;
}

/* ---- what is not there ---- */

static udpa_err
take_removed(taking *self, udpai_str server_name)
{
    char room[UDPAI_NAME_MAX];
    udpai_str name;
    if (!udpai_upstream_full_name(self->type, server_name, room, &name))
        return UDPA_OK;
    udpai_upstream_held *held = udpai_map_get(&self->type->held, name);
    udpai_upstream_name_answered(self->type, name);
    return held ? udpai_upstream_let_go(self->type, held, self->publication) : UDPA_OK;
}

typedef struct absence {
    const udpai_upstream_type *type;
    uint64_t response;
} absence;

/* What was asked for later than at first, and has not come yet, may not have arrived when the state
 * was sent: its end is found out by waiting. */
static bool
is_absent(const udpai_upstream_held *held, const void *userdata)
{
    const absence *from = userdata;
    const udpai_upstream_type *type = from->type;
    const udpai_upstream_name *name = udpai_map_get(&type->names, udpai_bytes_view(held->name));
    bool is_reported = name && name->is_reported;
    if (held->response == from->response)
        return false;
    if (held->is_confirmed)
        return type->is_wildcard_reported || is_reported;
    return (type->is_wildcard_reported && type->is_wildcard_first) ||
           (is_reported && name->is_first);
}

/* A state of the world that is whole lacks only what is not there. */
static udpa_err
take_absences(taking *self)
{
    udpai_upstream_type *type = self->type;
    const absence from = {type, self->response->id};
    udpa_err err = udpai_upstream_let_go_of(type, is_absent, &from, self->publication);
    UDPAI_LIST_FOREACH_SAFE (node, &type->waiting) {
        udpai_upstream_name *name = UDPAI_LIST_ENTRY(node, udpai_upstream_name, in_waiting);
        if (name->is_first)
            udpai_upstream_name_answered(type, udpai_upstream_name_text(name));
    }
    type->is_complete =
        type->is_wildcard_reported && (type->is_wildcard_first || type->is_complete);
    return err;
}

/* ---- a response ---- */

static udpa_err
take_received(taking *self, const udpai_xds_received *received)
{
    char room[UDPAI_NAME_MAX];
    udpai_str name;
    udpai_resource_parts parts = {.n_aliases = received->n_aliases};
    if (!received->has_any && received->n_aliases && !received->has_ttl) {
        udpa_err err = UDPA_OK;
        for (size_t i = 0; i < received->n_aliases && err == UDPA_OK; i++)
            err = take_removed(self, received->aliases[i]);
        return err;
    }
    if (!udpai_upstream_full_name(self->type, received->name, room, &name) ||
        received->n_aliases > UDPAI_ALIASES_MAX ||
        !(parts.aliases = read_aliases(self, received))) {
        refuse(
            self->response,
            udpa_error_new(UDPA_ERR_INVAL, NULL,
                           "a resource '%.*s' has no name that can be, or too many: of types whose "
                           "payload does not contain its name it must be wrapped in a Resource",
                           UDPAI_SHOWN(received->name)));
        return UDPA_OK;
    }
    parts.name = name;
    if (!received->has_any)
        return take_heartbeat(self, received, name);
    if (is_for_us(self->type, &parts))
        return take_payload(self, received, &parts);
    if (received->n_aliases && udpai_upstream_compares_no_more(self->type))
        refuse(self->response,
               udpa_error_new(UDPA_ERR_LIMIT, NULL,
                              "'%.*s' and those behind it are not taken: the response has too many "
                              "patterns for %zu names",
                              UDPAI_SHOWN(name), self->type->names.n));
    return UDPA_OK;
}

static bool
is_whole(const taking *self)
{
    return !udpai_upstream_options_of(self->type)->is_delta &&
           udpai_type_is_whole(udpai_bytes_view(self->type->type));
}

static udpa_err
take_all(taking *self)
{
    const udpai_xds_answer *answer = self->answer;
    udpa_err err =
        udpai_publication_set(&self->publication->type_url, udpai_bytes_view(self->type->type));
    for (size_t i = 0; i < answer->n_removed && err == UDPA_OK; i++)
        err = take_removed(self, answer->removed[i]);
    for (size_t i = 0; i < answer->n_resources && err == UDPA_OK; i++)
        err = take_received(self, &answer->resources[i]);
    if (err == UDPA_OK && is_whole(self))
        err = take_absences(self);
    return err;
}

/* What follows: names that the new state brings or drops, and questions that it answers. */
static udpa_err
conclude(taking *self)
{
    udpai_upstream_type *type = self->type;
    udpa_err err = UDPA_OK;
    if (type->is_wildcard_reported && !type->is_complete)
        udpai_timer_set(udpai_hub_wheel(type->session->session.hub), &type->silence,
                        udpai_upstream_now(type->session) +
                            udpai_upstream_options_of(type)->silence_ms);
    udpai_upstream_wait(type);
    if (type->child)
        err = udpai_upstream_drop_orphans(type->child);
    if (err == UDPA_OK)
        err = udpai_upstream_answer(type);
    return err == UDPA_OK && type->child ? udpai_upstream_answer(type->child) : err;
}

static udpai_upstream_response *
note_response(udpai_upstream_type *type, const udpai_xds_answer *answer)
{
    udpai_upstream_session *session = type->session;
    udpai_upstream_response *response = udpai_alloc(sizeof(*response));
    if (!response)
        return NULL;
    response->type = type;
    response->id = ++session->last_response;
    session->n_responses++;
    udpai_list_init(&response->in_pending);
    udpai_list_init(&response->in_type);
    udpai_str version =
        udpai_upstream_options_of(type)->is_delta ? (udpai_str){"", 0} : answer->version;
    if (udpa_bytes_new(&response->nonce, answer->nonce.data, answer->nonce.len) == UDPA_OK &&
        udpa_bytes_new(&response->version, version.data, version.len) == UDPA_OK) {
        udpai_list_append(&session->pending, &response->in_pending);
        udpai_list_append(&type->responses, &response->in_type);
        type->n_pending++;
        return response;
    }
    udpai_upstream_response_free(response);
    return NULL;
}

static udpa_err
take(udpai_upstream_type *type, const udpai_xds_answer *answer, size_t size)
{
    taking self = {.type = type, .answer = answer, .response = note_response(type, answer)};
    self.publication = udpai_publication_new();
    udpa_err err = self.response && self.publication ? UDPA_OK : UDPA_ERR_NOMEM;
    char nonce[UDPAI_NONCE_LEN];
    type->has_spoken = true;
    if (err == UDPA_OK) {
        udpai_nonce_format(self.response->id, nonce);
        err = udpai_publication_set(&self.publication->nonce, (udpai_str){nonce, sizeof(nonce)});
    }
    if (err == UDPA_OK)
        err = take_all(&self);
    if (err != UDPA_OK) {
        udpai_publication_free(self.publication);
        return err;
    }
    self.publication->size_bytes = size;
    /* As of UDPA: anybody else could have each of its changes traced. */
    if (udpai_identity_is_proven(type->session->session.info.identity))
        self.publication->trace = type->session->session.trace;
    err = udpai_upstream_publish(type->session, self.publication);
    return err == UDPA_OK ? conclude(&self) : err;
}

/* A type that nobody here has asked for is passed over. */
udpa_err
udpai_upstream_receive(udpai_session *base, udpai_str bytes, udpa_error **ret_error)
{
    udpai_upstream_session *session = UDPAI_CONTAINER_OF(base, udpai_upstream_session, session);
    const udpai_upstream_options *options = &session->upstream->options;
    udpai_xds_answer answer;
    udpa_err err = udpai_xds_answer_decode(udpai_hub_decoder(base->hub), bytes, options->is_delta,
                                           &answer, ret_error);
    if (err != UDPA_OK)
        return err;
    if (answer.nonce.len > UDPAI_NONCE_MAX)
        return udpai_fail(ret_error, UDPA_ERR_INVAL,
                          "a response has a nonce of %zu bytes; at most %d go back",
                          answer.nonce.len, UDPAI_NONCE_MAX);
    if (!options->is_delta && answer.version.len > UDPAI_UPSTREAM_VERSION_MAX)
        return udpai_fail(ret_error, UDPA_ERR_INVAL,
                          "a response has a version of %zu bytes; at most %d go back",
                          answer.version.len, UDPAI_UPSTREAM_VERSION_MAX);
    session->n_compared = 0;
    err = udpai_session_report_alive(base);
    udpai_str type_url = answer.type_url.len ? answer.type_url : options->type_url;
    udpai_upstream_type *type = udpai_map_get(&session->types, type_url);
    if (err == UDPA_OK && type)
        err = take(type, &answer, bytes.len);
    return udpai_fail_code(ret_error, err);
}

/* ---- what becomes of it ---- */

static udpai_upstream_response *
find_pending(const udpai_upstream_session *session, udpai_str nonce)
{
    uint64_t id;
    if (!udpai_nonce_parse(nonce, &id))
        return NULL;
    UDPAI_LIST_FOREACH (node, &session->pending) {
        udpai_upstream_response *response =
            UDPAI_LIST_ENTRY(node, udpai_upstream_response, in_pending);
        if (response->id == id)
            return response;
    }
    return NULL;
}

/* The next stream must bring it again. */
static void
note_refused(udpai_upstream_response *response, const udpai_publication *publication)
{
    for (size_t i = 0; i < publication->entries.n; i++) {
        const udpai_publication_entry *entry = &publication->entries.items[i];
        if (!entry->error)
            continue;
        udpai_upstream_held *held =
            udpai_map_get(&response->type->held, udpai_resource_name(entry->resource));
        refuse(response, udpa_error_ref(entry->error));
        if (!held || held->resource != entry->resource)
            continue;
        held->is_refused = true;
        held->version = udpa_bytes_unref(held->version);
    }
}

void
udpai_upstream_publication_done(udpai_upstream_session *session, udpai_publication *publication)
{
    session->n_pending--;
    session->pending_bytes -= publication->size_bytes;
    udpai_upstream_pace(session);
    udpai_upstream_response *response = find_pending(session, publication->nonce);
    if (!response)
        return;
    udpai_upstream_type *type = response->type;
    type->n_pending--;
    response->is_done = true;
    udpai_list_remove(&response->in_pending);
    udpai_upstream_touch(type);
    note_refused(response, publication);
}
