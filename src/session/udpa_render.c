/* SPDX-License-Identifier: Apache-2.0 */
/* What the fan-out delivers, as DeltaPublish. Eight forms: with or without our extensions, a
 * request for a receipt, and the payloads of secrets. */
#include "session/udpa_internal.h"

#include "base/alloc.h"
#include "model/secret_type.h"

struct udpa_renderer {
    udpai_renderer renderer;
    bool extended, receipt, redacted;
};

static const struct udpa_renderer *
own(const udpai_renderer *renderer)
{
    return UDPAI_CONTAINER_OF(renderer, const struct udpa_renderer, renderer);
}

static udpai_publish_item
publish_item(const struct udpa_renderer *self, const udpai_send_item *item)
{
    bool redacted = self->redacted && udpai_type_is_secret(udpai_resource_type_url(item->resource));
    return (udpai_publish_item){
        item->resource,
        {
            .refresh = item->refresh,
            .extended = self->extended,
            .redacted = redacted,
            /* With one, an empty payload means that the receiver holds it. */
            .ttl_ms = redacted ? 0 : item->ttl_ms,
        },
    };
}

static size_t
item_size(const udpai_renderer *renderer, const udpai_send_item *item)
{
    const struct udpa_renderer *self = own(renderer);
    if (item->refresh && !self->extended && !item->ttl_ms)
        return 0; /* what has changed, the peer does not know of */
    if (!self->extended && udpai_resource_is_redirect(item->resource))
        return 0; /* it would take it for a resource of another type */
    udpai_publish_item publish = publish_item(self, item);
    return udpai_publish_item_size(&publish);
}

static udpai_str
version(const udpai_renderer *renderer,
        const udpa_resource *resource,
        char room[UDPAI_CONTENT_HASH_HEX])
{
    (void)renderer;
    (void)room;
    return udpai_resource_version(resource);
}

typedef UDPAI_VECTOR(udpai_publish_item) publish_items;

/* A removal has no type for a peer without our extensions: it takes the name away in every type, so
 * what the peer has under that name in other types goes out again behind it. */
static bool
add_namesakes(const struct udpa_renderer *self, const udpai_render *what, publish_items *items)
{
    const udpai_subscriber *subscriber = udpai_subscription_subscriber(what->subscription);
    for (size_t i = 0; i < what->n_removed; i++) {
        for (size_t k = 0; k < subscriber->subscriptions.n; k++) {
            const udpai_subscription *other = subscriber->subscriptions.items[k];
            udpai_send_item item;
            if (other != what->subscription &&
                udpai_subscription_shows(other, what->removed[i], &item) &&
                !udpai_vector_push(items, publish_item(self, &item)))
                return false;
        }
    }
    return true;
}

/* What has a removal before it comes whole, for that takes away what a refresh would be of. */
static udpai_publish_item
whole_item(const struct udpa_renderer *self, const udpai_render *what, const udpai_send_item *item)
{
    udpai_publish_item publish = publish_item(self, item);
    if (self->extended &&
        udpai_subscription_removal(what->subscription, udpai_resource_name(item->resource)))
        publish.form.refresh = false;
    return publish;
}

/* Names that are removed, and their removals with a generation. */
struct removals {
    UDPAI_VECTOR(udpai_str) names;
    UDPAI_VECTOR(udpa_resource *) resources;
};

static bool
add_removal(struct removals *removals, udpai_str name, udpa_resource *removal)
{
    return udpai_vector_push(&removals->names, name) &&
           udpai_vector_push(&removals->resources, removal);
}

/* What is sent may have come in the place of what another authority has removed, which the
 * receiver may have from elsewhere: removals apply before what the message brings. */
static bool
add_removals(const struct udpa_renderer *self, const udpai_render *what, struct removals *removals)
{
    bool made = true;
    for (size_t i = 0; made && i < what->n_removed; i++)
        made = add_removal(removals, what->removed[i],
                           udpai_subscription_removal(what->subscription, what->removed[i]));
    for (size_t i = 0; made && self->extended && i < what->n_items; i++) {
        udpai_str name = udpai_resource_name(what->items[i].resource);
        udpa_resource *removal = udpai_subscription_removal(what->subscription, name);
        if (removal)
            made = add_removal(removals, name, removal);
    }
    return made;
}

/* What all streams that share the body are sent is of the same one. */
static const udpai_trace *
trace_of(const udpai_render *what)
{
    const udpai_session *session = udpai_subscription_subscriber(what->subscription)->userdata;
    return session ? udpai_hub_trace_of(session->hub, what) : NULL;
}

static udpa_err
compose(const udpai_renderer *renderer, const udpai_render *what, udpai_body *body)
{
    const struct udpa_renderer *self = own(renderer);
    publish_items items = {0};
    struct removals removals = {0};
    bool made = udpai_vector_reserve(&items, what->n_items) && add_removals(self, what, &removals);
    for (size_t i = 0; made && i < what->n_items; i++)
        items.items[items.n++] = whole_item(self, what, &what->items[i]);
    if (made && !self->extended && what->n_removed)
        made = add_namesakes(self, what, &items);
    const udpai_publish_plan plan = {
        .items = items.items,
        .n_items = items.n,
        .removed = removals.names.items,
        .n_removed = removals.names.n,
        .removals = self->extended ? removals.resources.items : NULL,
        .receipt_required = self->receipt && !what->complete && !what->waits.len,
        .type_url = self->extended ? what->type_url : (udpai_str){0},
        .name_space = self->extended ? what->scope : (udpai_str){0},
        .complete = what->complete,
        .waits = self->extended ? what->waits : (udpai_str){0},
        .waits_behind = self->extended ? what->waits_behind : 0,
        .trace = self->extended ? trace_of(what) : NULL,
    };
    made = made && udpai_body_add_part(body, udpai_publish_compose(&plan));
    udpai_vector_done(&items);
    udpai_vector_done(&removals.names);
    udpai_vector_done(&removals.resources);
    return made ? UDPA_OK : UDPA_ERR_NOMEM;
}

#define RENDERER(with_extensions, with_receipt, without_secrets)                                   \
    {                                                                                              \
        .renderer = {.removals_are_private = !(with_extensions),                                   \
                     .item_size = item_size,                                                       \
                     .version = version,                                                           \
                     .compose = compose},                                                          \
        .extended = (with_extensions), .receipt = (with_receipt), .redacted = (without_secrets),   \
    }

const udpai_renderer *
udpai_udpa_renderer(bool extended, bool receipt, bool redacted)
{
    static const struct udpa_renderer renderers[] = {
        RENDERER(false, false, false), RENDERER(false, false, true), RENDERER(false, true, false),
        RENDERER(false, true, true),   RENDERER(true, false, false), RENDERER(true, false, true),
        RENDERER(true, true, false),   RENDERER(true, true, true),
    };
    return &renderers[extended * 4 + receipt * 2 + redacted].renderer;
}
