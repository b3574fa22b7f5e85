/* SPDX-License-Identifier: Apache-2.0 */
/* One response in the making: items are collected until it is full, then the renderer composes. */
#include "fanout/kept_removals.h"
#include "fanout/variant.h"

/* About what a removal takes if it is sent: generation, signature, authority and hop. */
#define REMOVAL_BYTES 200

void
udpai_collection_init(udpai_collection *collection, udpai_subscription *subscription)
{
    memset(collection, 0, sizeof(*collection));
    collection->subscription = subscription;
    collection->stamp = ++subscription->topic->fanout->stamp;
}

void
udpai_collection_done(udpai_collection *collection)
{
    for (size_t i = 0; i < collection->pinned.n; i++) {
        collection->pinned.items[i]->n_pins--;
        udpai_item_release(collection->pinned.items[i]);
    }
    udpai_vector_done(&collection->items);
    udpai_vector_done(&collection->removed);
    udpai_vector_done(&collection->pinned);
    for (size_t i = 0; i < collection->lost.n; i++)
        udpai_free((char *)(uintptr_t)collection->lost.items[i].name.data);
    udpai_vector_done(&collection->lost);
    udpai_vector_done(&collection->origins);
}

uint64_t
udpai_item_ttl_left(const udpai_item *item)
{
    uint64_t now = item->topic->fanout->wheel->now_ms;
    uint64_t deadline_ms = udpai_item_deadline(item);
    if (!deadline_ms || !item->resource)
        return 0;
    return deadline_ms > now ? deadline_ms - now : 1;
}

static int
compare_bytes(const udpa_bytes *a, const udpa_bytes *b)
{
    if (a == b || !a || !b)
        return (a != NULL) - (b != NULL);
    return udpai_str_cmp(udpai_bytes_view(a), udpai_bytes_view(b));
}

static int
compare_origins(const udpai_body_origin *a, const udpai_body_origin *b)
{
    int order = compare_bytes(a->from_node, b->from_node);
    return order ? order : compare_bytes(a->visible_to, b->visible_to);
}

/* False without memory. */
static bool
note_origin(udpai_collection *collection, const udpai_item *item)
{
    const udpai_body_origin origin = {item->from_node,
                                      (udpa_bytes *)(uintptr_t)udpai_item_visible_to(item)};
    const udpai_body_origin *all = collection->origins.items;
    size_t low = 0, high = collection->origins.n;
    if (!origin.from_node && !origin.visible_to)
        return true;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        int order = compare_origins(&all[middle], &origin);
        if (order == 0)
            return true;
        if (order > 0)
            high = middle;
        else
            low = middle + 1;
    }
    if (!udpai_vector_reserve(&collection->origins, 1))
        return false;
    udpai_body_origin *place = collection->origins.items + low;
    memmove(place + 1, place, (collection->origins.n++ - low) * sizeof(*place));
    *place = origin;
    return true;
}

bool
udpai_collection_add(udpai_collection *collection,
                     udpai_item *item,
                     udpa_resource *resource,
                     bool refresh,
                     udpa_err *ret_err)
{
    if (item->stamp == collection->stamp)
        return true;
    const udpai_renderer *renderer = collection->subscription->subscriber->renderer;
    uint64_t seq = udpai_item_payload_seq(item, collection->subscription);
    const udpai_send_item send = {
        .subscription = collection->subscription,
        .resource = resource,
        .ttl_ms = udpai_item_ttl_left(item),
        .refresh = refresh,
        .seq = refresh || resource != item->resource ? 0 : seq,
    };
    size_t bytes = renderer->item_size(renderer, &send);
    if (bytes == 0)
        return true;
    if (collection->items.n && !collection->is_whole &&
        collection->bytes + bytes > item->topic->fanout->options.response_bytes) {
        collection->is_full = true;
        return false;
    }
    if (!note_origin(collection, item) || !udpai_vector_push(&collection->items, send)) {
        *ret_err = UDPA_ERR_NOMEM;
        return false;
    }
    item->stamp = collection->stamp;
    collection->bytes += bytes;
    collection->has_ttl |= send.ttl_ms != 0;
    return true;
}

bool
udpai_collection_remove(udpai_collection *collection, udpai_item *item, udpa_err *ret_err)
{
    if (item->stamp == collection->stamp)
        return true;
    const udpa_resource *removal = udpai_kept_removals_find(item->topic, udpai_item_name(item));
    size_t bytes = udpai_item_name(item).len + (removal ? REMOVAL_BYTES : 0) + 4;
    if (collection->removed.n &&
        collection->bytes + bytes > item->topic->fanout->options.response_bytes) {
        collection->is_full = true;
        return false;
    }
    if (!udpai_vector_reserve(&collection->pinned, 1) ||
        !udpai_vector_push(&collection->removed, udpai_item_name(item))) {
        *ret_err = UDPA_ERR_NOMEM;
        return false;
    }
    collection->pinned.items[collection->pinned.n++] = item;
    item->n_pins++;
    item->stamp = collection->stamp;
    collection->bytes += bytes;
    return true;
}

udpa_err
udpai_collection_lose(udpai_collection *collection, const udpai_lost_variant *lost)
{
    char *text = udpai_alloc(lost->name.len + lost->constraints.len), *at = text;
    if (!text || !udpai_vector_reserve(&collection->lost, 1)) {
        udpai_free(text);
        return UDPA_ERR_NOMEM;
    }
    udpai_lost_variant *kept = &collection->lost.items[collection->lost.n++];
    *kept = *lost;
    kept->name = udpai_str_put(&at, lost->name);
    kept->constraints = udpai_str_put(&at, lost->constraints);
    collection->bytes += lost->name.len + lost->constraints.len + 8;
    return UDPA_OK;
}

static void
add_seq(udpai_body *body, uint64_t seq)
{
    body->seqs.items[body->seqs.n++] = seq;
    if (seq && (body->seq_low == 0 || seq < body->seq_low))
        body->seq_low = seq;
    if (seq > body->seq_high)
        body->seq_high = seq;
}

/* Notes what the body holds. */
static udpa_err
list_contents(const udpai_collection *collection, udpai_body *body)
{
    if (!udpai_vector_reserve(&body->resources, collection->items.n) ||
        !udpai_vector_reserve(&body->origins, collection->origins.n) ||
        !udpai_vector_reserve(&body->seqs, collection->items.n) ||
        !udpai_vector_reserve(&body->removed, collection->removed.n))
        return UDPA_ERR_NOMEM;
    for (size_t i = 0; i < collection->items.n; i++) {
        body->resources.items[body->resources.n++] =
            udpa_resource_ref(collection->items.items[i].resource);
        add_seq(body, collection->items.items[i].seq);
        body->n_refreshes += collection->items.items[i].refresh;
    }
    for (size_t i = 0; i < collection->removed.n; i++) {
        udpa_bytes *name = NULL;
        udpai_str text = collection->removed.items[i];
        udpa_err err = udpa_bytes_new(&name, text.data, text.len);
        if (err != UDPA_OK)
            return err;
        body->removed.items[body->removed.n++] = name;
    }
    for (size_t i = 0; i < collection->origins.n; i++) {
        const udpai_body_origin *origin = &collection->origins.items[i];
        body->origins.items[body->origins.n++] = (udpai_body_origin){
            udpa_bytes_ref(origin->from_node), udpa_bytes_ref(origin->visible_to)};
    }
    body->has_ttl = collection->has_ttl;
    return UDPA_OK;
}

udpa_err
udpai_collection_render(udpai_collection *collection, udpai_render *what, udpai_body **ret_body)
{
    const udpai_renderer *renderer = collection->subscription->subscriber->renderer;
    UDPA_AUTO(udpai_body_unref) udpai_body *body = udpai_body_new();
    if (!body)
        return UDPA_ERR_NOMEM;
    what->subscription = collection->subscription;
    what->type_url = udpai_topic_url(collection->subscription->topic);
    what->items = collection->items.items;
    what->n_items = collection->items.n;
    what->removed = collection->removed.items;
    what->n_removed = collection->removed.n;
    udpai_variant_refs_settle(collection);
    what->lost = collection->lost.items;
    what->n_lost = collection->lost.n;
    body->renderer = renderer;
    body->renderer_serial = renderer->serial;
    body->state_hash = what->state_hash;
    udpa_err err = list_contents(collection, body);
    if (err == UDPA_OK)
        err = renderer->compose(renderer, what, body);
    if (err != UDPA_OK)
        return err;
    udpai_body_count_in(body, &collection->subscription->topic->fanout->responses);
    *ret_body = UDPAI_TAKE(body);
    return UDPA_OK;
}
