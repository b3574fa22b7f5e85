/* SPDX-License-Identifier: Apache-2.0 */
/* What the fan-out delivers, as DeltaDiscoveryResponse. */
#include "base/alloc.h"
#include "model/types.h"
#include "xds/peek.h"
#include "xds/render_internal.h"
#include "xds/xds_internal.h"

enum { /* field numbers of DeltaDiscoveryResponse; the nonce is appended by each stream */
    VERSION = 1,
    RESOURCES = 2,
    TYPE_URL = 4,
    REMOVED = 6,
    CONTROL_PLANE = 7,
    REMOVED_NAMES = 8,
    RESOURCE_ERRORS = 9,
};

/* False: it has no place in a response. A refresh is a heartbeat, if there is a ttl to renew. */
static bool
make_entry(const udpai_xds_audience *audience,
           const udpai_send_item *item,
           char room[UDPAI_XDS_NAME_OF_CLIENT_MAX],
           udpai_xds_entry *entry)
{
    *entry = (udpai_xds_entry){
        .item = item,
        .has_payload = !item->refresh,
        .is_spelled = udpai_subscription_label(item->subscription).len > 0,
        .constraints = udpai_xds_visible_constraints(item),
    };
    return (!item->refresh || item->ttl_ms) &&
           udpai_xds_name_of_client(audience, item->subscription, item->resource,
                                    udpai_resource_asked_name(item->resource), room, &entry->name);
}

/* Its payload has another name, by which the client would keep it when this one is removed: it is
 * removed instead. In the default namespace payloads are the publisher's; a client that spells a
 * whole xdstp://… uses that. */
static bool
is_misnamed(const udpai_xds_audience *audience, const udpai_xds_entry *entry)
{
    const udpa_resource *resource = entry->item->resource;
    udpai_str name = udpai_resource_asked_name(resource), own_name;
    udpai_str type_url = udpai_resource_type_url(resource);
    udpai_xds_name stated;
    if (entry->is_spelled || udpai_xds_name_is_plain(audience, name) ||
        udpai_resource_is_redirect(resource) ||
        !udpai_xds_peek_name(type_url, udpai_resource_value(resource), &own_name) ||
        udpai_str_eq(own_name, name))
        return false;
    return udpai_xds_name_resolve(audience, type_url, own_name, &stated, NULL) != UDPA_OK ||
           !udpai_str_eq(stated.full, name);
}

static size_t
item_size(const udpai_renderer *renderer, const udpai_send_item *item)
{
    const udpai_xds_audience *audience = udpai_xds_renderer_of(renderer)->audience;
    char room[UDPAI_XDS_NAME_OF_CLIENT_MAX];
    udpai_xds_entry entry;
    if (!make_entry(audience, item, room, &entry))
        return 0;
    return udpai_proto_bytes_size(RESOURCES,
                                  udpai_xds_resource_size(audience, &entry, !entry.is_spelled));
}

static void
put(udpai_xds_sink *sink, const udpai_xds_response *response)
{
    udpai_proto_put_bytes_opt(&sink->writer, VERSION, response->version);
    udpai_proto_put_bytes(&sink->writer, TYPE_URL, response->type_url);
    const udpai_xds_audience *audience = response->renderer->audience;
    udpai_xds_put_control_plane(sink, CONTROL_PLANE, audience);
    for (size_t i = 0; i < response->n_entries; i++) {
        const udpai_xds_entry *entry = &response->entries[i];
        udpai_proto_put_head(&sink->writer, RESOURCES, entry->size);
        udpai_xds_put_resource(sink, audience, entry, !entry->is_spelled);
    }
    for (size_t i = 0; i < response->n_missing; i++)
        udpai_xds_put_missing(sink, RESOURCES, response->missing[i]);
    for (size_t i = 0; i < response->n_removed; i++)
        udpai_proto_put_bytes(&sink->writer, REMOVED, response->removed[i]);
    for (size_t i = 0; i < response->n_lost; i++)
        udpai_xds_put_variant(&sink->writer, REMOVED_NAMES, response->lost[i].name,
                              response->lost[i].constraints);
    udpai_xds_put_errors(sink, RESOURCE_ERRORS, response);
}

/* What there is to compose, in the client's words. */
struct plan {
    udpai_xds_response response;
    udpai_xds_entry *entries;
    udpai_str *removed, *missing;
    udpai_lost_variant *lost;
    udpai_xds_missing *errors;
    size_t n_misnamed;
    char *text, *text_at; /* names that are made for this response */
};

/* The names of members are made from that of their collection. */
static size_t
text_size(const udpai_render *what)
{
    size_t size = 0, label = udpai_subscription_label(what->subscription).len;
    if (udpai_subscription_glob(what->subscription).len == 0)
        return 0;
    for (size_t i = 0; i < what->n_items; i++)
        size += label + udpai_resource_name(what->items[i].resource).len;
    for (size_t i = 0; i < what->n_removed; i++)
        size += label + what->removed[i].len;
    return size;
}

/* Of what was made in the room, a copy that lasts as long as the plan. */
static udpai_str
keep(struct plan *plan, const char room[UDPAI_XDS_NAME_OF_CLIENT_MAX], udpai_str name)
{
    return name.data == room ? udpai_str_put(&plan->text_at, name) : name;
}

/* A virtual host that was asked for and is not there: the removal alone would leave the request
 * that waits for it in Envoy without an answer. */
static bool
is_removed_by_resource(const udpai_render *what, udpai_str name)
{
    return udpai_str_eq(what->type_url, UDPAI_STR(UDPAI_TYPE_VIRTUAL_HOST)) &&
           udpai_subscription_has_name(what->subscription, name) &&
           !udpai_subscription_has_lost(what->subscription, name);
}

/* Of what came by wildcard, only the end is sent. */
static bool
is_removed_by_error(const udpai_xds_response *response, const udpai_render *what, udpai_str name)
{
    return response->renderer->sends_errors &&
           udpai_subscription_n_asking(what->subscription, name) > 0;
}

static void
plan_removal(const udpai_xds_audience *audience,
             const udpai_render *what,
             udpai_str full_name,
             struct plan *plan)
{
    udpai_xds_response *response = &plan->response;
    char room[UDPAI_XDS_NAME_OF_CLIENT_MAX];
    udpai_str name;
    if (!udpai_xds_name_of_client(audience, what->subscription, NULL, full_name, room, &name))
        return;
    name = keep(plan, room, name);
    if (is_removed_by_resource(what, full_name))
        plan->missing[response->n_missing++] = name;
    else if (is_removed_by_error(response, what, full_name))
        plan->errors[response->n_errors++] =
            (udpai_xds_missing){name, {0}, UDPA_ERR_NOT_FOUND, UDPAI_XDS_NOT_THERE};
    else
        plan->removed[response->n_removed++] = name;
}

/* What something else takes the place of is no error. */
static void
plan_lost(const udpai_xds_audience *audience,
          const udpai_render *what,
          const udpai_lost_variant *lost,
          struct plan *plan)
{
    udpai_xds_response *response = &plan->response;
    char room[UDPAI_XDS_NAME_OF_CLIENT_MAX];
    udpai_str name;
    if (lost->constraints.len == 0 && !lost->is_replaced) {
        plan_removal(audience, what, lost->name, plan);
        return;
    }
    if (!udpai_xds_name_of_client(audience, what->subscription, NULL, lost->name, room, &name))
        return;
    if (lost->constraints.len == 0)
        plan->removed[response->n_removed++] = name;
    else if (response->renderer->sends_errors && !lost->is_replaced)
        plan->errors[response->n_errors++] =
            (udpai_xds_missing){name, lost->constraints, UDPA_ERR_NOT_FOUND, UDPAI_XDS_NOT_THERE};
    else
        plan->lost[response->n_lost++] =
            (udpai_lost_variant){name, lost->constraints, lost->is_replaced};
}

static void
plan_removals(const udpai_xds_audience *audience, const udpai_render *what, struct plan *plan)
{
    udpai_xds_response *response = &plan->response;
    for (size_t i = 0; i < what->n_removed; i++)
        plan_removal(audience, what, what->removed[i], plan);
    for (size_t i = 0; i < what->n_lost; i++)
        plan_lost(audience, what, &what->lost[i], plan);
    response->removed = plan->removed;
    response->lost = plan->lost;
    response->missing = plan->missing;
    response->errors = plan->errors;
}

static void
plan_additions(const udpai_xds_audience *audience, const udpai_render *what, struct plan *plan)
{
    size_t n = 0;
    for (size_t i = 0; i < what->n_items; i++) {
        char room[UDPAI_XDS_NAME_OF_CLIENT_MAX];
        udpai_xds_entry *entry = &plan->entries[n];
        if (!make_entry(audience, &what->items[i], room, entry))
            continue;
        if (is_misnamed(audience, entry)) {
            plan_removal(audience, what, udpai_resource_asked_name(what->items[i].resource), plan);
            plan->n_misnamed++;
            continue;
        }
        entry->name = keep(plan, room, entry->name);
        entry->size = udpai_xds_resource_size(audience, entry, !entry->is_spelled);
        n++;
    }
    plan->response.n_entries = n;
    plan->response.entries = plan->entries;
}

static udpa_err
make_plan(const udpai_xds_renderer *self, const udpai_render *what, struct plan *plan)
{
    const udpai_xds_audience *audience = self->audience;
    plan->entries = udpai_alloc_array(what->n_items, sizeof(*plan->entries));
    size_t n_ends = what->n_removed + what->n_lost + what->n_items;
    plan->removed = udpai_alloc_array(n_ends, sizeof(*plan->removed));
    plan->missing = udpai_alloc_array(n_ends, sizeof(*plan->missing));
    plan->errors = udpai_alloc_array(n_ends, sizeof(*plan->errors));
    plan->lost = udpai_alloc_array(what->n_lost, sizeof(*plan->lost));
    plan->text = plan->text_at = udpai_alloc(text_size(what));
    if (!plan->entries || !plan->removed || !plan->missing || !plan->errors || !plan->lost ||
        !plan->text)
        return UDPA_ERR_NOMEM;
    plan->response.renderer = self;
    plan_additions(audience, what, plan);
    plan_removals(audience, what, plan);
    plan->response.type_url = what->type_url;
    return UDPA_OK;
}

/* By name each resource has its own version; only a wildcard has one as a whole. */
static udpa_err
compose_plan(struct plan *plan, const udpai_render *what, udpai_body *body)
{
    const udpai_xds_response *response = &plan->response;
    if (response->n_entries + response->n_removed + response->n_missing + response->n_errors +
                response->n_lost ==
            0 &&
        !what->complete)
        return UDPA_OK;
    if (udpai_subscription_has_wildcard(what->subscription)) {
        plan->response.version = udpai_xds_note_version(body, what->state_hash);
        if (plan->response.version.len == 0)
            return UDPA_ERR_NOMEM;
    }
    return udpai_xds_compose_parts(body, put, &plan->response);
}

/* "Complete" is no message of this protocol, but the answer to a wildcard that has brought nothing:
 * a response with the version alone. The session sends it if it is needed. */
static udpa_err
compose(const udpai_renderer *renderer, const udpai_render *what, udpai_body *body)
{
    struct plan plan = {0};
    udpa_err err = make_plan(udpai_xds_renderer_of(renderer), what, &plan);
    body->n_hidden = plan.n_misnamed;
    if (err == UDPA_OK)
        err = compose_plan(&plan, what, body);
    udpai_free(plan.entries);
    udpai_free(plan.removed);
    udpai_free(plan.missing);
    udpai_free(plan.errors);
    udpai_free(plan.lost);
    udpai_free(plan.text);
    return err;
}

/* A response of the session's own. */
static udpa_err
compose_answer(const udpai_xds_renderer *self,
               const udpai_subscription *subscription,
               const udpai_xds_missing *missing,
               size_t n_missing,
               udpai_body *body)
{
    udpai_xds_response response = {
        .renderer = self,
        .type_url = udpai_subscription_type_url(subscription),
    };
    if (self->sends_errors) {
        response.errors = missing;
        response.n_errors = n_missing;
        return udpai_xds_compose_parts(body, put, &response);
    }
    UDPAI_AUTO_FREE udpai_str *names = udpai_alloc_array(n_missing, sizeof(*names));
    if (!names)
        return UDPA_ERR_NOMEM;
    for (size_t i = 0; i < n_missing; i++)
        names[i] = missing[i].name;
    response.removed = names;
    response.n_removed = n_missing;
    return udpai_xds_compose_parts(body, put, &response);
}

void
udpai_xds_renderer_init_delta(udpai_renderer *renderer)
{
    renderer->item_size = item_size;
    renderer->compose = compose;
    renderer->aliases_end_by_name = true;
    UDPAI_CONTAINER_OF(renderer, udpai_xds_renderer, renderer)->compose_answer = compose_answer;
}
