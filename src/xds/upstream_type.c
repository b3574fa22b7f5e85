/* SPDX-License-Identifier: Apache-2.0 */
/* What the server is asked for, of one type: wildcards and names. */
#include "xds/upstream_internal.h"

#include "base/alloc.h"

/* ---- types ---- */

static udpai_str
name_key(const void *item)
{
    return udpai_upstream_name_text(item);
}

static udpai_upstream_type *
make_type(udpai_upstream_session *session, udpai_str type_url)
{
    udpai_upstream_type *type = udpai_alloc(sizeof(*type));
    if (!type)
        return NULL;
    type->session = session;
    udpai_map_init(&type->names, name_key);
    udpai_map_init(&type->held, udpai_upstream_held_key);
    udpai_list *const lists[] = {&type->in_due,  &type->unreported, &type->waiting,
                                 &type->orphans, &type->questions,  &type->responses};
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(lists); i++)
        udpai_list_init(lists[i]);
    udpai_timer_init(&type->patience, udpai_upstream_on_patience);
    udpai_timer_init(&type->silence, udpai_upstream_on_silence);
    udpai_timer_init(&type->expiry, udpai_upstream_on_expiry);
    if (udpa_bytes_new(&type->type, type_url.data, type_url.len) == UDPA_OK &&
        udpai_map_add(&session->types, type)) {
        udpai_upstream_resume(type);
        return type;
    }
    udpa_bytes_unref(type->type);
    udpai_free(type);
    return NULL;
}

udpai_upstream_type *
udpai_upstream_type_get(udpai_upstream_session *session, udpai_str type_url)
{
    udpai_upstream_type *type = udpai_map_get(&session->types, type_url);
    return type ? type : make_type(session, type_url);
}

/* ---- responses ---- */

void
udpai_upstream_response_free(udpai_upstream_response *response)
{
    response->type->session->n_responses--;
    udpai_list_remove(&response->in_pending);
    udpai_list_remove(&response->in_type);
    udpa_bytes_unref(response->nonce);
    udpa_bytes_unref(response->version);
    udpa_error_unref(response->error);
    udpai_free(response);
}

/* In the order in which they came, whatever that of their receipts: a nonce that is not the last
 * one would make what is sent with it stale. */
udpai_upstream_response *
udpai_upstream_first_done(const udpai_upstream_type *type)
{
    if (udpai_list_empty(&type->responses))
        return NULL;
    udpai_upstream_response *first =
        UDPAI_LIST_ENTRY(type->responses.next, udpai_upstream_response, in_type);
    return first->is_done ? first : NULL;
}

/* ---- end of a type ---- */

static void
free_question(udpai_upstream_question *question)
{
    udpai_list_remove(&question->node);
    udpai_free(question->message);
    udpai_free(question);
}

void
udpai_upstream_type_free(udpai_upstream_type *type)
{
    size_t at = 0;
    udpai_upstream_name *name;
    while ((name = udpai_map_next(&type->names, &at)))
        udpai_free(name);
    udpai_map_done(&type->names);
    udpai_upstream_held_free_all(&type->held);
    for (size_t i = 0; i < type->prefixes.n; i++)
        udpa_bytes_unref(type->prefixes.items[i]);
    udpai_vector_done(&type->prefixes);
    UDPAI_LIST_FOREACH_SAFE (node, &type->questions)
        free_question(UDPAI_LIST_ENTRY(node, udpai_upstream_question, node));
    UDPAI_LIST_FOREACH_SAFE (node, &type->responses)
        udpai_upstream_response_free(UDPAI_LIST_ENTRY(node, udpai_upstream_response, in_type));
    udpai_timer_cancel(&type->patience);
    udpai_timer_cancel(&type->silence);
    udpai_timer_cancel(&type->expiry);
    udpa_bytes_unref(type->accepted_version);
    udpa_bytes_unref(type->last_nonce);
    udpa_bytes_unref(type->type);
    udpai_free(type);
}

bool
udpai_upstream_requests_wildcard(const udpai_upstream_type *type)
{
    return type->child || (!type->n_parents && type->prefixes.n);
}

bool
udpai_upstream_has_wildcard(const udpai_upstream_type *type)
{
    bool is_stuck = !udpai_upstream_options_of(type)->is_delta && type->is_wildcard_reported &&
                    !type->has_named;
    return is_stuck || udpai_upstream_requests_wildcard(type);
}

/* ---- names as the server has them ---- */

bool
udpai_upstream_full_name(const udpai_upstream_type *type,
                         udpai_str name,
                         char room[UDPAI_NAME_MAX],
                         udpai_str *ret_name)
{
    udpai_str name_space = udpai_upstream_options_of(type)->name_space;
    size_t len = name_space.len + 1 + name.len;
    if (udpai_name_is_wildcard(name) || len > UDPAI_NAME_MAX)
        return false;
    memcpy(room, name_space.data, name_space.len);
    room[name_space.len] = '/';
    memcpy(room + name_space.len + 1, name.data, name.len);
    *ret_name = (udpai_str){room, len};
    return true;
}

bool
udpai_upstream_server_name(const udpai_upstream_type *type, udpai_str name, udpai_str *ret)
{
    udpai_str name_space = udpai_upstream_options_of(type)->name_space;
    if (!udpai_str_starts(name, name_space) || name.len <= name_space.len ||
        name.data[name_space.len] != '/')
        return false;
    *ret = (udpai_str){name.data + name_space.len + 1, name.len - name_space.len - 1};
    return !udpai_name_is_wildcard(*ret);
}

/* ---- what is covered ---- */

static bool
is_asked(const udpai_upstream_type *type, udpai_str name)
{
    const udpai_upstream_name *found = udpai_map_get(&type->names, name);
    return found && found->is_asked;
}

static bool
is_asked_pattern(const udpai_upstream_type *type, udpai_str pattern)
{
    size_t at = 0;
    const udpai_upstream_name *name;
    while (!udpai_upstream_compares_no_more(type) && (name = udpai_map_next(&type->names, &at)) &&
           ++type->session->n_compared)
        if (name->is_asked && udpai_alias_matches(pattern, udpai_upstream_name_text(name)))
            return true;
    return false;
}

bool
udpai_upstream_requests_name(const udpai_upstream_type *type, udpai_str text)
{
    const udpai_upstream_name *name = udpai_map_get(&type->names, text);
    return name && udpai_upstream_is_requested(name);
}

bool
udpai_upstream_mirrors(const udpai_upstream_type *type, udpai_str name)
{
    for (size_t i = 0; i < type->prefixes.n; i++)
        if (udpai_prefix_covers(udpai_bytes_view(type->prefixes.items[i]), name))
            return true;
    return false;
}

bool
udpai_upstream_covers(const udpai_upstream_type *type,
                      udpai_str name,
                      const udpai_str *aliases,
                      size_t n_aliases)
{
    bool is_there = !type->n_parents || udpai_upstream_requests_name(type, name);
    if (is_there && udpai_upstream_mirrors(type, name))
        return true;
    bool asked = is_asked(type, name);
    for (size_t i = 0; i < n_aliases && !asked; i++)
        asked = udpai_alias_is_pattern(aliases[i]) ? is_asked_pattern(type, aliases[i])
                                                   : is_asked(type, aliases[i]);
    return asked;
}

/* ---- names ---- */

udpai_upstream_name *
udpai_upstream_name_get(udpai_upstream_type *type, udpai_str text)
{
    udpai_upstream_name *name = udpai_map_get(&type->names, text);
    if (name)
        return name;
    name = udpai_alloc(sizeof(*name) + text.len);
    if (!name)
        return NULL;
    name->type = type;
    name->len = (uint32_t)text.len;
    memcpy(name->text, text.data, text.len);
    udpai_list_init(&name->in_unreported);
    udpai_list_init(&name->in_waiting);
    udpai_list_init(&name->in_orphans);
    if (udpai_map_add(&type->names, name))
        return name;
    udpai_free(name);
    return NULL;
}

void
udpai_upstream_name_free(udpai_upstream_name *name)
{
    udpai_map_remove(&name->type->names, udpai_upstream_name_text(name));
    udpai_list_remove(&name->in_unreported);
    udpai_list_remove(&name->in_waiting);
    udpai_list_remove(&name->in_orphans);
    udpai_free(name);
}

static void
await_answer(udpai_upstream_name *name)
{
    udpai_upstream_type *type = name->type;
    if (name->is_answered || udpai_list_linked(&name->in_waiting))
        return;
    name->reported_ms = udpai_upstream_now(type->session);
    udpai_list_append(&type->waiting, &name->in_waiting);
    udpai_upstream_wait(type);
}

/* What was hidden meanwhile. */
static udpa_err
publish_hidden(const udpai_upstream_name *name)
{
    udpai_upstream_type *type = name->type;
    udpai_upstream_held *held = udpai_map_get(&type->held, udpai_upstream_name_text(name));
    if (!held || held->is_published ||
        !udpai_upstream_covers(type, udpai_upstream_name_text(name), NULL, 0))
        return UDPA_OK;
    udpai_publication *publication = udpai_publication_new();
    if (!publication)
        return UDPA_ERR_NOMEM;
    return udpai_upstream_publish_or_free(type, publication,
                                          udpai_upstream_add_held(type, held, publication));
}

/* It need not be sent, or taken back, after all. */
static void
name_is_as_reported(udpai_upstream_name *name)
{
    udpai_list_remove(&name->in_unreported);
    if (!name->is_reported) {
        udpai_upstream_name_free(name);
        return;
    }
    await_answer(name);
    udpai_upstream_check(name->type->session, publish_hidden(name));
}

void
udpai_upstream_name_changed(udpai_upstream_name *name)
{
    udpai_upstream_type *type = name->type;
    if (udpai_upstream_is_requested(name) == name->is_reported) {
        name_is_as_reported(name);
        return;
    }
    if (!udpai_list_linked(&name->in_unreported))
        udpai_list_append(&type->unreported, &name->in_unreported);
    type->is_sotw_due = true;
    udpai_upstream_touch(type);
}

static udpa_err
unreported(udpai_upstream_name *name, udpai_publication *publication)
{
    udpai_upstream_type *type = name->type;
    udpai_upstream_held *held = udpai_map_get(&type->held, udpai_upstream_name_text(name));
    udpai_upstream_name_free(name);
    return held ? udpai_upstream_let_go_if_unrequested(type, held, publication) : UDPA_OK;
}

udpa_err
udpai_upstream_name_reported(udpai_upstream_name *name, udpai_publication *publication)
{
    udpai_list_remove(&name->in_unreported);
    if (!udpai_upstream_is_requested(name))
        return unreported(name, publication);
    name->is_reported = true;
    await_answer(name);
    return UDPA_OK;
}

void
udpai_upstream_name_answered(udpai_upstream_type *type, udpai_str text)
{
    udpai_upstream_name *name = udpai_map_get(&type->names, text);
    if (!name)
        return;
    name->is_answered = true;
    udpai_list_remove(&name->in_waiting);
}
