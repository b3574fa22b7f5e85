/* SPDX-License-Identifier: Apache-2.0 */
#include "endpoint/local_acks.h"

#include "base/alloc.h"
#include "base/list.h"
#include "base/map.h"
#include "base/strbuf.h"
#include "loop/clock.h"
#include "xds/csds_own.h"

/* A piece of an answer is closed at this size. */
#define CHUNK_BYTES ((size_t)512 << 10)

typedef struct udpai_local_acks {
    udpai_service service;
    udpa_endpoint *endpoint; /* NULL: not yet */
    udpai_csds_own shared;
    udpai_csds_own_method methods[UDPAI_OWN_STATUS_METHODS];
    udpai_list all;     /* udpai_local_ack_notes */
    udpai_list pending; /* updates that are to be answered later */
} udpai_local_acks;

static udpai_local_acks *
of(udpai_service *service)
{
    return UDPAI_CONTAINER_OF(service, udpai_local_acks, service);
}

/* A resource that was reported. */
typedef struct noted {
    udpa_resource *sent; /* last */
    udpa_resource *good; /* that was not refused, last; NULL: none */
    udpa_error *error;   /* why `sent` was refused; NULL: it was not */
    int64_t good_us, failed_us;
    bool is_pending; /* it is to be answered */
} noted;

struct udpai_local_ack_notes {
    udpai_list node;
    udpai_local_acks *taken;
    const udpai_local_subscription *local;
    udpa_bytes *type;
    UDPAI_VECTOR(udpa_bytes *) names; /* none: a wildcard */
    udpai_map all;                    /* noted, by name */
    size_t n_aliased;                 /* of these, that have aliases */
    bool is_lost;                     /* something could not be noted */
};

/* An update that is to be answered later; it holds this. */
typedef struct pending {
    udpai_list node;
    udpai_local_ack_notes *notes; /* NULL: the subscription has ended */
} pending;

static udpai_str
noted_key(const void *item)
{
    return udpai_resource_name(((const noted *)item)->sent);
}

/* ---- coming and going ---- */

static void
free_noted(noted *one)
{
    udpa_resource_unref(one->sent);
    udpa_resource_unref(one->good);
    udpa_error_unref(one->error);
    udpai_free(one);
}

udpai_local_ack_notes *
udpai_local_ack_notes_new(udpai_service *service, const udpai_selection *selection)
{
    udpai_local_acks *taken = of(service);
    udpai_local_ack_notes *notes = udpai_alloc(sizeof(*notes));
    if (!notes)
        return NULL;
    udpai_str type = selection->type_url;
    notes->taken = taken;
    udpai_map_init(&notes->all, noted_key);
    udpai_list_init(&notes->node);
    udpai_list_append(&taken->all, &notes->node);
    udpa_err err = udpa_bytes_new(&notes->type, type.data, type.len);
    if (!udpai_vector_reserve(&notes->names, selection->n_names))
        err = UDPA_ERR_NOMEM;
    for (size_t i = 0; i < selection->n_names && err == UDPA_OK; i++) {
        udpai_str name = selection->names[i];
        err = udpa_bytes_new(&notes->names.items[notes->names.n], name.data, name.len);
        notes->names.n += err == UDPA_OK;
    }
    if (err == UDPA_OK)
        return notes;
    udpai_local_ack_notes_free(notes);
    return NULL;
}

void
udpai_local_ack_notes_set_local(udpai_local_ack_notes *notes, const udpai_local_subscription *local)
{
    if (notes)
        notes->local = local;
}

void
udpai_local_ack_notes_free(udpai_local_ack_notes *notes)
{
    size_t at = 0;
    noted *one;
    if (!notes)
        return;
    UDPAI_LIST_FOREACH (node, &notes->taken->pending) {
        pending *waiting = UDPAI_LIST_ENTRY(node, pending, node);
        if (waiting->notes == notes)
            waiting->notes = NULL;
    }
    while ((one = udpai_map_next(&notes->all, &at)))
        free_noted(one);
    udpai_map_done(&notes->all);
    for (size_t i = 0; i < notes->names.n; i++)
        udpa_bytes_unref(notes->names.items[i]);
    udpai_vector_done(&notes->names);
    udpa_bytes_unref(notes->type);
    udpai_list_remove(&notes->node);
    udpai_free(notes);
}

/* ---- noting ---- */

static void
drop(udpai_local_ack_notes *notes, const udpa_resource *resource)
{
    noted *one = udpai_map_remove(&notes->all, udpai_resource_name(resource));
    if (!one)
        return;
    notes->n_aliased -= udpa_resource_n_aliases(one->sent) > 0;
    free_noted(one);
}

/* NULL without memory. */
static noted *
get(udpai_local_ack_notes *notes, udpa_resource *resource)
{
    noted *one = udpai_map_get(&notes->all, udpai_resource_name(resource));
    bool has_aliases = udpa_resource_n_aliases(resource) > 0;
    if (one) {
        notes->n_aliased =
            notes->n_aliased - (udpa_resource_n_aliases(one->sent) > 0) + has_aliases;
        udpa_resource_ref(resource);
        udpa_resource_unref(one->sent);
        one->sent = resource;
        return one;
    }
    one = udpai_alloc(sizeof(*one));
    if (!one)
        return NULL;
    one->sent = udpa_resource_ref(resource);
    if (!udpai_map_add(&notes->all, one)) {
        free_noted(one);
        return NULL;
    }
    notes->n_aliased += has_aliases;
    return one;
}

static void
set_error(noted *one, udpa_error *error)
{
    udpa_error *before = one->error;
    one->error = error ? udpa_error_ref(error) : NULL;
    one->failed_us = udpai_wall_us();
    udpa_error_unref(before);
}

static void
set_good(noted *one, udpa_resource *resource)
{
    udpa_resource *before = one->good;
    one->good = udpa_resource_ref(resource);
    one->good_us = udpai_wall_us();
    udpa_resource_unref(before);
}

/* What was refused is not in use, and what was before still is. */
static void
note_answer(noted *one, const udpai_local_change *change)
{
    if (!change->error)
        set_good(one, change->resource);
    if (one->sent != change->resource)
        return; /* something newer has come meanwhile */
    set_error(one, change->error);
    one->is_pending = false;
}

static void
note_change(udpai_local_ack_notes *notes, const udpai_local_change *change, bool is_pending)
{
    if (change->is_removed) {
        drop(notes, change->resource);
        return;
    }
    noted *one = get(notes, change->resource);
    notes->is_lost |= !one;
    if (!one)
        return;
    one->is_pending = is_pending;
    if (is_pending)
        set_error(one, NULL);
    else
        note_answer(one, change);
}

/* It holds what is to be noted when it is answered; without memory that is not known then. */
static void
put_off(udpai_local_ack_notes *notes, udpai_local_update *update)
{
    pending *waiting = udpai_alloc(sizeof(*waiting));
    notes->is_lost |= !waiting;
    if (!waiting)
        return;
    waiting->notes = notes;
    udpai_list_init(&waiting->node);
    udpai_list_append(&notes->taken->pending, &waiting->node);
    udpai_local_update_set_holder(update, waiting);
}

void
udpai_local_ack_notes_sent(udpai_local_ack_notes *notes, udpai_local_update *update)
{
    if (!notes)
        return;
    bool is_pending = udpai_local_update_is_pending(update);
    for (size_t i = 0; i < udpai_local_update_size(update); i++)
        note_change(notes, udpai_local_update_at(update, i), is_pending);
    if (is_pending)
        put_off(notes, update);
}

void
udpai_local_ack_notes_answered(const udpai_local_update *update)
{
    pending *waiting = udpai_local_update_holder(update);
    if (!waiting)
        return;
    for (size_t i = 0; waiting->notes && i < udpai_local_update_size(update); i++) {
        const udpai_local_change *change = udpai_local_update_at(update, i);
        noted *one = change->is_removed ? NULL
                                        : udpai_map_get(&waiting->notes->all,
                                                        udpai_resource_name(change->resource));
        if (one)
            note_answer(one, change);
    }
    udpai_list_remove(&waiting->node);
    udpai_free(waiting);
}

/* ---- answering ---- */

struct answer {
    udpai_order *order;
    udpai_strbuf chunk;
    size_t size;
    bool with_bodies, failed;
};

static void
close_chunk(struct answer *answer)
{
    udpa_bytes *bytes = NULL;
    if (answer->chunk.len == 0)
        return;
    if (udpa_bytes_new(&bytes, answer->chunk.data, answer->chunk.len) != UDPA_OK) {
        answer->failed = true;
    } else if (!udpai_vector_push(&answer->order->answers, bytes)) {
        udpa_bytes_unref(bytes);
        answer->failed = true;
    }
    answer->size += answer->chunk.len;
    answer->chunk.len = 0;
}

static bool
goes_on(const struct answer *answer)
{
    return !answer->failed && answer->size <= UDPAI_CSDS_OWN_BYTES_MAX;
}

static void
put(struct answer *answer, udpai_own_entry *entry)
{
    entry->with_bodies = answer->with_bodies;
    answer->failed |= !udpai_own_entry_put(&answer->chunk, entry);
    if (answer->chunk.len >= CHUNK_BYTES)
        close_chunk(answer);
}

static void
put_noted(struct answer *answer, const udpai_local_ack_notes *notes, const noted *one)
{
    udpai_own_entry entry = {
        .type_url = udpai_bytes_view(notes->type),
        .name = udpai_resource_name(one->sent),
        .state = one->error        ? UDPAI_OWN_NACKED
                 : one->is_pending ? UDPAI_OWN_REQUESTED
                                   : UDPAI_OWN_ACKED,
        .good = one->good,
        .failed = one->error ? one->sent : NULL,
        .error = one->error,
        .updated_us = one->good_us,
        .failed_us = one->failed_us,
    };
    put(answer, &entry);
}

/* Is it there, by this name or as an alias? */
static bool
is_there(const udpai_local_ack_notes *notes, udpai_str name)
{
    size_t at = 0;
    const noted *one;
    if (udpai_map_get(&notes->all, name))
        return true;
    while (notes->n_aliased && (one = udpai_map_next(&notes->all, &at)))
        for (size_t i = 0; i < udpa_resource_n_aliases(one->sent); i++)
            if (udpai_str_eq(udpai_resource_alias(one->sent, i), name))
                return true;
    return false;
}

static void
put_notes(struct answer *answer, const udpai_local_ack_notes *notes)
{
    size_t at = 0;
    const noted *one;
    bool is_complete = notes->local && udpai_local_is_complete(notes->local);
    answer->failed |= notes->is_lost;
    while (goes_on(answer) && (one = udpai_map_next(&notes->all, &at)))
        put_noted(answer, notes, one);
    for (size_t i = 0; i < notes->names.n && goes_on(answer); i++) {
        udpai_own_entry entry = {
            .type_url = udpai_bytes_view(notes->type),
            .name = udpai_bytes_view(notes->names.items[i]),
            .state = is_complete ? UDPAI_OWN_DOES_NOT_EXIST : UDPAI_OWN_REQUESTED,
        };
        if (!is_there(notes, entry.name))
            put(answer, &entry);
    }
}

/* NULL without memory. */
static udpai_order *
make_answer(const udpai_local_acks *taken, const udpai_report *question)
{
    struct answer answer = {.order = udpai_order_new(UDPAI_ORDER_OWN_STATUS),
                            .with_bodies = question->subscribed};
    if (!answer.order)
        return NULL;
    answer.order->session = question->session;
    UDPAI_LIST_FOREACH (at, &taken->all)
        if (goes_on(&answer))
            put_notes(&answer, UDPAI_LIST_ENTRY(at, udpai_local_ack_notes, node));
    close_chunk(&answer);
    udpai_strbuf_done(&answer.chunk);
    if (answer.failed)
        answer.order->error = udpa_error_new(
            UDPA_ERR_NOMEM, NULL, "out of memory: the acknowledgements are not complete");
    else if (answer.size > UDPAI_CSDS_OWN_BYTES_MAX)
        answer.order->error = udpa_error_new(
            UDPA_ERR_LIMIT, NULL,
            "the answer is larger than %zu bytes: ask with exclude_resource_contents",
            UDPAI_CSDS_OWN_BYTES_MAX);
    return answer.order;
}

/* The client gives up, if there is no memory for an answer. */
static bool
on_report(udpai_service *service, udpai_report *report)
{
    const udpai_local_acks *taken = of(service);
    udpai_order *order =
        report->kind == UDPAI_REPORT_OWN_STATUS ? make_answer(taken, report) : NULL;
    if (order)
        udpai_endpoint_order(taken->endpoint, order);
    return false; /* the node knows nothing of it */
}

/* ---- as a service ---- */

static void
free_acks(udpai_service *service)
{
    udpai_local_acks *taken = of(service);
    UDPAI_LIST_FOREACH_SAFE (at, &taken->pending)
        udpai_free(UDPAI_LIST_ENTRY(at, pending, node));
    udpai_free(taken);
}

udpai_service *
udpai_local_acks_new(void)
{
    static const udpai_service_ops ops = {.on_report = on_report, .free = free_acks};
    udpai_local_acks *taken = udpai_alloc(sizeof(*taken));
    if (!taken)
        return NULL;
    taken->service.ops = &ops;
    udpai_list_init(&taken->all);
    udpai_list_init(&taken->pending);
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(taken->methods); i++)
        taken->methods[i] = (udpai_csds_own_method){&taken->shared, .is_fetch = i == 1};
    return &taken->service;
}

void
udpai_local_acks_attach(udpai_service *service, udpa_endpoint *endpoint)
{
    of(service)->endpoint = endpoint;
}

void
udpai_local_acks_methods(udpai_service *service,
                         udpai_grpc_method ret_methods[UDPAI_OWN_STATUS_METHODS])
{
    udpai_local_acks *taken = of(service);
    for (size_t i = 0; i < UDPAI_OWN_STATUS_METHODS; i++)
        ret_methods[i] = (udpai_grpc_method){
            .path = i == 0 ? UDPAI_CSDS_STREAM : UDPAI_CSDS_FETCH,
            .open = udpai_csds_own_session_new,
            .context = &taken->methods[i],
        };
}
