/* SPDX-License-Identifier: Apache-2.0 */
/* What the fan-out delivers, as DiscoveryResponse.
 *
 * A client of this protocol reads a resource's name from its payload. So outside the default
 * namespace only that is sent whose payload has the full name; and of two in one response whose
 * payloads have one name, one is left out: clients refuse a response that has a name twice. */
#include "base/alloc.h"
#include "base/map.h"
#include "xds/left_out.h"
#include "xds/peek.h"
#include "xds/render_internal.h"
#include "xds/xds_internal.h"

enum { /* field numbers of DiscoveryResponse, and of Any; the nonce is appended by each stream */
    VERSION = 1,
    RESOURCES = UDPAI_XDS_RESPONSE_RESOURCES,
    CANARY = 3,
    TYPE_URL = 4,
    CONTROL_PLANE = 6,
    RESOURCE_ERRORS = UDPAI_XDS_RESPONSE_ERRORS,
    ANY_TYPE_URL = 1,
    ANY_VALUE = 2,
};

#define TYPE_RESOURCE UDPAI_TYPE_PREFIX "envoy.service.discovery.v3.Resource"

/* A client that uses locators reads what is wrapped. */
static bool
takes_wrapped(const udpai_xds_renderer *self, const udpai_send_item *item)
{
    return self->form != UDPAI_XDS_SOTW ||
           udpai_subscription_distinguishes_variants(item->subscription);
}

static bool
is_wrapped(const udpai_xds_renderer *self, const udpai_xds_entry *entry)
{
    return entry->constraints.len || udpai_resource_is_redirect(entry->item->resource) ||
           (self->form != UDPAI_XDS_SOTW && (entry->item->ttl_ms || entry->is_spelled));
}

/* What a refresh becomes: nothing, the payload once more, or a heartbeat. */
static bool
is_sent(const udpai_xds_renderer *self, const udpai_send_item *item)
{
    return !item->refresh || (self->form != UDPAI_XDS_SOTW && item->ttl_ms);
}

/* A payload of a type without names, as lists of resources are: its client knows what it asked
 * for. */
static bool
name_the_nameless(const udpai_xds_renderer *self,
                  const udpai_send_item *item,
                  udpai_xds_entry *entry)
{
    udpai_str name = udpai_resource_asked_name(item->resource);
    if (udpai_subscription_n_asking(item->subscription, name))
        entry->name = udpai_xds_spelling(udpai_xds_type_of(item->subscription), name);
    entry->is_spelled = entry->name.len > 0;
    if (entry->is_spelled)
        return true;
    return udpai_xds_name_to_client(self->audience, name, &entry->name) &&
           udpai_xds_name_is_plain(self->audience, name);
}

/* A redirect has no name, so it must be wrapped. For clients that cannot read that there is none.
 */
static bool
name_the_redirect(const udpai_xds_renderer *self,
                  const udpai_send_item *item,
                  udpai_xds_entry *entry)
{
    return takes_wrapped(self, item) &&
           (name_the_nameless(self, item, entry) ||
            udpai_xds_name_to_client(self->audience, udpai_resource_name(item->resource),
                                     &entry->name));
}

/* A name of the form xdstp://… in a payload must be its own: no authority publishes for another. */
static bool
make_entry(const udpai_xds_renderer *self, const udpai_send_item *item, udpai_xds_entry *entry)
{
    udpai_str name = udpai_resource_asked_name(item->resource), own_name;
    *entry = (udpai_xds_entry){
        .item = item,
        .constraints = udpai_xds_visible_constraints(item),
        .has_payload = !item->refresh || self->form != UDPAI_XDS_SOTW_HEARTBEAT,
    };
    udpai_str called, type_url = udpai_resource_type_url(item->resource);
    if (!is_sent(self, item))
        return false;
    if (udpai_resource_is_redirect(item->resource)) {
        entry->is_called_so = true;
        return name_the_redirect(self, item, entry);
    }
    if (!udpai_xds_peek_name(type_url, udpai_resource_value(item->resource), &own_name)) {
        entry->is_called_so = true;
        return name_the_nameless(self, item, entry);
    }
    udpai_xds_name stated;
    entry->name = own_name;
    entry->is_called_so =
        udpai_xds_name_resolve(self->audience, type_url, own_name, &stated, NULL) == UDPA_OK &&
        udpai_str_eq(stated.full, name);
    return entry->is_called_so ||
           (udpai_xds_name_is_plain(self->audience, name) && !udpai_xdstp_is(own_name) &&
            udpai_xds_name_to_client(self->audience, name, &called));
}

static size_t
wrapped_size(const udpai_xds_renderer *self, const udpai_xds_entry *entry)
{
    size_t resource = udpai_xds_resource_size(self->audience, entry, false);
    return udpai_proto_bytes_size(ANY_TYPE_URL, sizeof(TYPE_RESOURCE) - 1) +
           udpai_proto_bytes_size(ANY_VALUE, resource);
}

static size_t
item_size(const udpai_renderer *renderer, const udpai_send_item *item)
{
    const udpai_xds_renderer *self = udpai_xds_renderer_of(renderer);
    udpai_xds_entry entry;
    if (!make_entry(self, item, &entry))
        return 0;
    size_t any = is_wrapped(self, &entry) ? wrapped_size(self, &entry)
                                          : udpai_resource_any_size(item->resource);
    return udpai_proto_bytes_size(RESOURCES, any);
}

/* ---- namesakes ---- */

/* Of two, the one whose own name is in the payload; else the lower name: the same on every replica.
 */
static bool
goes_before(const udpai_xds_entry *a, const udpai_xds_entry *b)
{
    if (a->is_called_so != b->is_called_so)
        return a->is_called_so;
    return udpai_str_cmp(udpai_resource_name(a->item->resource),
                         udpai_resource_name(b->item->resource)) < 0;
}

static udpai_str
entry_key(const void *item)
{
    return ((const udpai_xds_entry *)item)->name;
}

static udpa_err
hide_namesakes(udpai_xds_entry *entries, size_t n_entries, size_t *ret_n_hidden)
{
    udpai_map by_name;
    udpai_map_init(&by_name, entry_key);
    udpa_err err = UDPA_OK;
    for (size_t i = 0; i < n_entries && err == UDPA_OK; i++) {
        if (entries[i].constraints.len) /* it is known by them */
            continue;
        udpai_xds_entry *entry = &entries[i], *other = udpai_map_remove(&by_name, entry->name);
        udpai_xds_entry *visible = other && goes_before(other, entry) ? other : entry;
        if (other)
            (visible == other ? entry : other)->is_hidden = true;
        *ret_n_hidden += other != NULL;
        err = udpai_map_add(&by_name, visible) ? UDPA_OK : UDPA_ERR_NOMEM;
    }
    udpai_map_done(&by_name);
    return err;
}

/* ---- composing ---- */

static void
put_entry(udpai_xds_sink *sink, const udpai_xds_renderer *self, const udpai_xds_entry *entry)
{
    if (!is_wrapped(self, entry)) {
        udpai_xds_put_any(sink, RESOURCES, entry->item->resource);
        return;
    }
    udpai_proto_put_head(&sink->writer, RESOURCES, wrapped_size(self, entry));
    udpai_proto_put_bytes(&sink->writer, ANY_TYPE_URL, UDPAI_STR(TYPE_RESOURCE));
    udpai_proto_put_head(&sink->writer, ANY_VALUE,
                         udpai_xds_resource_size(self->audience, entry, false));
    udpai_xds_put_resource(sink, self->audience, entry, false);
}

static void
put(udpai_xds_sink *sink, const udpai_xds_response *response)
{
    udpai_proto_put_bytes(&sink->writer, VERSION, response->version);
    udpai_proto_put_varint_opt(&sink->writer, CANARY, response->renderer->audience->is_canary);
    udpai_proto_put_bytes(&sink->writer, TYPE_URL, response->type_url);
    udpai_xds_put_control_plane(sink, CONTROL_PLANE, response->renderer->audience);
    for (size_t i = 0; i < response->n_entries; i++)
        if (!response->entries[i].is_hidden)
            put_entry(sink, response->renderer, &response->entries[i]);
    udpai_xds_put_errors(sink, RESOURCE_ERRORS, response);
}

/* The names that a response reports as missing. */
struct errors {
    const udpai_xds_renderer *self;
    const udpai_subscription *subscription;
    UDPAI_VECTOR(udpai_xds_missing) missing;
    bool failed;
};

static void
add_lost(struct errors *errors, udpai_str full_name, udpai_str constraints)
{
    udpai_xds_missing missing = {{0}, constraints, UDPA_ERR_NOT_FOUND, UDPAI_XDS_NOT_THERE};
    missing.name = udpai_xds_spelling(udpai_xds_type_of(errors->subscription), full_name);
    if (missing.name.len == 0 &&
        !udpai_xds_name_to_client(errors->self->audience, full_name, &missing.name))
        return;
    errors->failed |= !udpai_vector_push(&errors->missing, missing);
}

static void
add_missing(void *userdata, udpai_str full_name)
{
    add_lost(userdata, full_name, (udpai_str){0});
}

/* A state reports of all that was asked for whether it is there. */
static udpa_err
find_errors(struct errors *errors, const udpai_render *what)
{
    if (!errors->self->sends_errors)
        return UDPA_OK;
    for (size_t i = 0; i < what->n_removed; i++)
        add_missing(errors, what->removed[i]);
    for (size_t i = 0; i < what->n_lost; i++)
        add_lost(errors, what->lost[i].name, what->lost[i].constraints);
    if (what->is_state)
        udpai_subscription_visit_missing(what->subscription, add_missing, errors);
    const udpai_xds_type *type = udpai_xds_type_of(what->subscription);
    if (what->is_state && udpai_subscription_n_names(what->subscription) > 0) /* it is not shared */
        for (size_t i = 0; i < type->unnameable.n; i++)
            errors->failed |=
                !udpai_vector_push(&errors->missing, udpai_xds_unnameable_view(type, i));
    return errors->failed ? UDPA_ERR_NOMEM : UDPA_OK;
}

static udpa_err
compose_entries(const udpai_xds_renderer *self,
                const udpai_render *what,
                udpai_xds_entry *entries,
                const struct errors *errors,
                udpai_body *body)
{
    udpai_xds_response response = {
        .renderer = self,
        .type_url = what->type_url,
        .entries = entries,
        .errors = errors->missing.items,
        .n_errors = errors->missing.n,
    };
    for (size_t i = 0; i < what->n_items; i++)
        response.n_entries += make_entry(self, &what->items[i], &entries[response.n_entries]);
    udpa_err err = hide_namesakes(entries, response.n_entries, &body->n_hidden);
    if (err != UDPA_OK || (response.n_entries + response.n_errors == 0 && !what->is_state))
        return err;
    response.version = udpai_xds_note_version(body, what->state_hash);
    if (response.version.len == 0)
        return UDPA_ERR_NOMEM;
    return udpai_xds_compose_parts(body, put, &response);
}

static udpa_err
compose(const udpai_renderer *renderer, const udpai_render *what, udpai_body *body)
{
    UDPAI_AUTO_FREE udpai_xds_entry *entries = udpai_alloc_array(what->n_items, sizeof(*entries));
    if (!entries)
        return UDPA_ERR_NOMEM;
    struct errors errors = {
        .self = udpai_xds_renderer_of(renderer),
        .subscription = what->subscription,
    };
    udpa_err err = find_errors(&errors, what);
    if (err == UDPA_OK)
        err = compose_entries(errors.self, what, entries, &errors, body);
    udpai_vector_done(&errors.missing);
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
        .version = udpai_xds_note_version(body, udpai_subscription_set_hash(subscription)),
        .errors = missing,
        .n_errors = n_missing,
    };
    return response.version.len ? udpai_xds_compose_parts(body, put, &response) : UDPA_ERR_NOMEM;
}

void
udpai_xds_renderer_init_sotw(udpai_renderer *renderer)
{
    renderer->item_size = item_size;
    renderer->compose = compose;
    UDPAI_CONTAINER_OF(renderer, udpai_xds_renderer, renderer)->compose_answer = compose_answer;
}
