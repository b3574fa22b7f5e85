/* SPDX-License-Identifier: Apache-2.0 */
/* What the loop side asks for, and when it is answered: the protocol does not report it. */
#include "xds/upstream_internal.h"

#include <stdio.h>

#include "base/alloc.h"
#include "xds/server.h"

/* ---- answers ---- */

static udpa_err
complete(udpai_upstream_type *type, udpai_str name_space)
{
    udpai_publication *publication = udpai_publication_new();
    if (!publication)
        return UDPA_ERR_NOMEM;
    udpa_err err = udpai_publication_set(&publication->type_url, udpai_bytes_view(type->type));
    if (err == UDPA_OK)
        err = udpai_publication_set(&publication->name_space, name_space);
    publication->complete = true;
    if (err == UDPA_OK)
        return udpai_upstream_publish(type->session, publication);
    udpai_publication_free(publication);
    return err;
}

static bool
is_wildcard_known(const udpai_upstream_type *type)
{
    if (!type->n_parents)
        return type->is_complete;
    return udpai_upstream_parents_are_complete(type) && udpai_list_empty(&type->waiting) &&
           udpai_list_empty(&type->unreported);
}

static bool
is_name_known(const udpai_upstream_type *type, udpai_str name)
{
    const udpai_upstream_name *found = udpai_map_get(&type->names, name);
    return !found || !found->is_asked || found->is_answered;
}

/* The server was not asked: it has no such names, or the wildcard was taken back. */
static bool
is_wildcard_asked(const udpai_upstream_type *type, udpai_str prefix)
{
    for (size_t i = 0; i < type->prefixes.n; i++)
        if (udpai_str_eq(udpai_bytes_view(type->prefixes.items[i]), prefix))
            return true;
    return false;
}

static bool
is_answered(const udpai_upstream_type *type, udpai_upstream_question *question)
{
    const udpai_subscription_message *message = question->message;
    while (question->n_answered < message->n_names) {
        udpai_str name = message->names[question->n_answered];
        bool is_known =
            udpai_name_is_wildcard(name)
                ? !is_wildcard_asked(type, message->name_space) || is_wildcard_known(type)
                : is_name_known(type, name);
        if (!is_known)
            return false;
        question->n_answered++;
    }
    return true;
}

/* What is followed is there only if something names it. */
static bool
is_unconfirmed(const udpai_upstream_held *held, const void *what)
{
    const udpai_upstream_type *type = what;
    udpai_str name = udpai_bytes_view(held->name);
    if (held->is_confirmed)
        return type->n_parents && !udpai_map_get(&type->names, name);
    return held->response == 0 && !udpai_upstream_requests_name(type, name);
}

/* All was sent: what was held and has not come is there no more. */
static udpa_err
let_go_unconfirmed(udpai_upstream_type *type)
{
    udpai_publication *publication = udpai_publication_new();
    if (!publication)
        return UDPA_ERR_NOMEM;
    udpa_err err = udpai_upstream_let_go_of(type, is_unconfirmed, type, publication);
    return udpai_upstream_publish_or_free(type, publication, err);
}

static bool
has_wildcard(const udpai_subscription_message *message)
{
    return message->n_names && udpai_name_is_wildcard(message->names[0]);
}

/* What is followed has no end of its own: it has come when the last name has. And a question after
 * all was sent may hold what was removed before. */
static udpa_err
answer_question(udpai_upstream_type *type, udpai_upstream_question *question)
{
    udpai_str name_space = question->message->name_space;
    udpa_err err = UDPA_OK;
    if (has_wildcard(question->message) && is_wildcard_asked(type, name_space))
        err = let_go_unconfirmed(type);
    return err == UDPA_OK ? complete(type, name_space) : err;
}

udpa_err
udpai_upstream_answer(udpai_upstream_type *type)
{
    udpa_err err = UDPA_OK;
    while (err == UDPA_OK && !udpai_list_empty(&type->questions)) {
        udpai_upstream_question *question =
            UDPAI_LIST_ENTRY(type->questions.next, udpai_upstream_question, node);
        if (!is_answered(type, question))
            break;
        udpai_list_remove(&question->node);
        err = answer_question(type, question);
        udpai_free(question->message);
        udpai_free(question);
    }
    return err;
}

/* ---- waiting ---- */

void
udpai_upstream_wait(udpai_upstream_type *type)
{
    if (udpai_list_empty(&type->waiting)) {
        udpai_timer_cancel(&type->patience);
        return;
    }
    const udpai_upstream_name *first =
        UDPAI_LIST_ENTRY(type->waiting.next, udpai_upstream_name, in_waiting);
    udpai_timer_set(udpai_hub_wheel(type->session->session.hub), &type->patience,
                    first->reported_ms + udpai_upstream_options_of(type)->patience_ms);
}

/* A server that sends nothing of the type does not report it as removed. */
static udpa_err
give_up(udpai_upstream_name *name, udpai_publication *publication)
{
    udpai_upstream_type *type = name->type;
    udpai_upstream_held *held = udpai_map_get(&type->held, udpai_upstream_name_text(name));
    udpai_upstream_name_answered(type, udpai_upstream_name_text(name));
    return held && !held->is_confirmed && held->response == 0 && type->has_spoken
               ? udpai_upstream_let_go(type, held, publication)
               : UDPA_OK;
}

static udpa_err
give_up_those_due(udpai_upstream_type *type, udpai_publication *publication)
{
    uint64_t patience_ms = udpai_upstream_options_of(type)->patience_ms;
    udpa_err err = UDPA_OK;
    UDPAI_LIST_FOREACH_SAFE (node, &type->waiting) {
        udpai_upstream_name *name = UDPAI_LIST_ENTRY(node, udpai_upstream_name, in_waiting);
        if (err != UDPA_OK || name->reported_ms + patience_ms > udpai_upstream_now(type->session))
            break;
        err = give_up(name, publication);
    }
    return err;
}

/* While nothing is read, the server's silence is ours. */
static bool
is_deaf(udpai_upstream_type *type, udpai_timer *timer)
{
    if (type->session->session.is_paused)
        udpai_timer_set(udpai_hub_wheel(type->session->session.hub), timer,
                        udpai_upstream_now(type->session) +
                            udpai_upstream_options_of(type)->silence_ms);
    return type->session->session.is_paused;
}

void
udpai_upstream_on_patience(udpai_timer *timer)
{
    udpai_upstream_type *type = UDPAI_CONTAINER_OF(timer, udpai_upstream_type, patience);
    if (is_deaf(type, timer))
        return;
    udpai_publication *publication = udpai_publication_new();
    udpa_err err = UDPA_ERR_NOMEM;
    if (publication)
        err =
            udpai_upstream_publish_or_free(type, publication, give_up_those_due(type, publication));
    if (err == UDPA_OK)
        err = udpai_upstream_answer(type);
    if (err == UDPA_OK)
        udpai_upstream_wait(type);
    udpai_upstream_check(type->session, err);
}

static udpa_err
end_wildcard(udpai_upstream_type *type)
{
    type->is_complete = true;
    udpa_err err = let_go_unconfirmed(type);
    if (err == UDPA_OK)
        err = udpai_upstream_answer(type);
    return err == UDPA_OK && type->child ? udpai_upstream_answer(type->child) : err;
}

void
udpai_upstream_on_silence(udpai_timer *timer)
{
    udpai_upstream_type *type = UDPAI_CONTAINER_OF(timer, udpai_upstream_type, silence);
    if (is_deaf(type, timer))
        return;
    udpai_upstream_check(type->session, end_wildcard(type));
}

/* ---- asking ---- */

/* What was sent already is handed up again: so is what is asked for again. */
static udpa_err
hand_up(udpai_upstream_type *type, const udpai_subscription_message *message)
{
    udpai_publication *publication = udpai_publication_new();
    if (!publication)
        return UDPA_ERR_NOMEM;
    udpa_err err = UDPA_OK;
    udpai_upstream_held *held;
    size_t at = 0;
    if (udpai_name_is_wildcard(message->names[0])) {
        while (err == UDPA_OK && (held = udpai_map_next(&type->held, &at)))
            if (udpai_prefix_covers(message->name_space, udpai_bytes_view(held->name)))
                err = udpai_upstream_add_held(type, held, publication);
    }
    for (size_t i = 0; i < message->n_names && err == UDPA_OK; i++)
        if ((held = udpai_map_get(&type->held, message->names[i])))
            err = udpai_upstream_add_held(type, held, publication);
    return udpai_upstream_publish_or_free(type, publication, err);
}

static udpa_err
ask_for_wildcard(udpai_upstream_type *type, udpai_str prefix)
{
    udpai_str name_space = udpai_upstream_options_of(type)->name_space;
    if (!udpai_prefix_covers(prefix, name_space) && !udpai_prefix_covers(name_space, prefix))
        return UDPA_OK; /* the server has nothing there */
    udpa_bytes *copy = NULL;
    if (is_wildcard_asked(type, prefix))
        return UDPA_OK;
    if (udpa_bytes_new(&copy, prefix.data, prefix.len) != UDPA_OK ||
        !udpai_vector_push(&type->prefixes, copy)) {
        udpa_bytes_unref(copy);
        return UDPA_ERR_NOMEM;
    }
    type->is_sotw_due = true;
    udpai_upstream_touch(type);
    return udpai_upstream_follow(type);
}

static udpa_err
ask_for_name(udpai_upstream_type *type, udpai_str text)
{
    udpai_str server_name;
    if (!udpai_upstream_server_name(type, text, &server_name))
        return UDPA_OK;
    udpai_upstream_name *name = udpai_upstream_name_get(type, text);
    if (!name)
        return UDPA_ERR_NOMEM;
    name->is_asked = true;
    udpai_upstream_name_changed(name);
    return UDPA_OK;
}

static udpa_err
ask(udpai_upstream_type *type, udpai_subscription_message *message)
{
    udpa_err err = udpai_upstream_find_parents(type);
    if (err == UDPA_OK)
        err = udpai_upstream_note_holdings(type, message);
    for (size_t i = 0; i < message->n_names && err == UDPA_OK; i++)
        err = udpai_name_is_wildcard(message->names[i])
                  ? ask_for_wildcard(type, message->name_space)
                  : ask_for_name(type, message->names[i]);
    return err == UDPA_OK && message->n_names ? hand_up(type, message) : err;
}

static udpa_err
add_question(udpai_upstream_type *type, udpai_order *order)
{
    udpai_upstream_question *question = udpai_alloc(sizeof(*question));
    if (!question)
        return UDPA_ERR_NOMEM;
    question->message = UDPAI_TAKE(order->subscription);
    udpai_list_init(&question->node);
    udpai_list_append(&type->questions, &question->node);
    udpa_err err = ask(type, question->message);
    return err == UDPA_OK ? udpai_upstream_answer(type) : err;
}

/* Is it one that the server is called for? */
static bool
is_served(const udpai_upstream_options *options, udpai_str type_url)
{
    if (options->is_rest)
        return udpai_xds_rest_index(type_url) < UDPAI_XDS_POLLS;
    return options->type_url.len == 0 || udpai_str_eq(options->type_url, type_url);
}

static udpa_err
refuse(udpai_upstream_session *session, const udpai_subscription_message *message)
{
    const udpai_upstream_options *options = &session->upstream->options;
    char text[2 * UDPAI_TYPE_URL_MAX];
    int len = options->is_rest
                  ? snprintf(text, sizeof(text),
                             "REST has no path for this type: name a ConfigSource of kind xds")
                  : snprintf(text, sizeof(text),
                             "the service is for %.*s alone: name a ConfigSource of "
                             "another one, or of the aggregated service",
                             (int)options->type_url.len, options->type_url.data);
    const udpai_subscription_message error = {
        .type_url = message->type_url,
        .name_space = message->name_space,
        .status_code = udpa_err_to_grpc(UDPA_ERR_UNIMPLEMENTED),
        .status_text = {text, udpai_min_size((size_t)len, sizeof(text) - 1)},
    };
    return udpai_session_report_subscription_error(&session->session, &error);
}

void
udpai_upstream_subscribe(udpai_upstream_session *session, udpai_order *order)
{
    udpai_str type_url = order->subscription->type_url;
    udpai_upstream_type *type = NULL;
    udpa_err err = UDPA_OK;
    if (!is_served(&session->upstream->options, type_url))
        err = refuse(session, order->subscription);
    else if ((type = udpai_upstream_type_get(session, type_url)))
        err = add_question(type, order);
    else
        err = UDPA_ERR_NOMEM;
    udpai_upstream_check(session, err);
}

/* ---- asking no more ---- */

static void
unask_wildcard(udpai_upstream_type *type, udpai_str prefix)
{
    for (size_t i = 0; i < type->prefixes.n; i++) {
        if (!udpai_str_eq(udpai_bytes_view(type->prefixes.items[i]), prefix))
            continue;
        udpa_bytes_unref(type->prefixes.items[i]);
        udpai_vector_remove_unordered(&type->prefixes, i);
        break;
    }
    type->is_sotw_due = true;
    udpai_upstream_touch(type);
}

static void
unask_name(udpai_upstream_type *type, udpai_str text)
{
    udpai_upstream_name *name = udpai_map_get(&type->names, text);
    if (!name)
        return;
    name->is_asked = false;
    if (!udpai_upstream_is_requested(name))
        udpai_list_remove(&name->in_waiting);
    udpai_upstream_name_changed(name);
}

void
udpai_upstream_unsubscribe(udpai_upstream_session *session, udpai_order *order)
{
    const udpai_subscription_message *message = order->subscription;
    udpai_upstream_type *type = udpai_map_get(&session->types, message->type_url);
    if (!type)
        return;
    for (size_t i = 0; i < message->n_names; i++) {
        if (udpai_name_is_wildcard(message->names[i]))
            unask_wildcard(type, message->name_space);
        else
            unask_name(type, message->names[i]);
    }
    udpa_err err = udpai_upstream_follow(type);
    if (err == UDPA_OK)
        err = udpai_upstream_drop_orphans(type);
    if (err == UDPA_OK && !type->is_first_sent) /* the loop side gives it up: it is not held */
        err = udpai_upstream_let_go_unrequested(type);
    if (err == UDPA_OK)
        err = udpai_upstream_answer(type);
    udpai_upstream_check(session, err);
}
