/* SPDX-License-Identifier: Apache-2.0 */
/* Variants of a name, each for clients with dynamic parameters that satisfy its constraints. The
 * index of aliases has them by the name that they are variants of.
 *
 * Subscribers that select are sent one of them, under that name; a change costs only those that ask
 * for the name. Others, which pass them on, are sent all, each with its own name and end; the name
 * itself leads them to what has that name, if there is anything. */
#include "model/variant.h"

#include "fanout/variant.h"

/* So many others are held against one that has changed. */
#define COMPARED_MAX 16

/* ---- choosing ---- */

udpai_item *
udpai_variant_choose(const udpai_topic *topic,
                     const udpai_subscriber *subscriber,
                     const udpai_locator *asked)
{
    const udpai_alias *alias =
        topic->n_variants ? udpai_map_get(&topic->aliases, asked->name) : NULL;
    if (!alias)
        return NULL;
    udpai_parameters parameters;
    udpai_parameters_read(asked->parameters, &parameters);
    udpai_item *best = NULL;
    unsigned best_keys = 0;
    size_t n_variants = 0;
    for (size_t i = 0; i < alias->items.n && n_variants < UDPAI_VARIANTS_MAX; i++) {
        udpai_item *item = alias->items.items[i];
        if (!udpai_item_is_variant(item))
            continue;
        n_variants++;
        unsigned n_keys = udpai_resource_n_constraint_keys(item->resource);
        if ((best && n_keys <= best_keys) || !udpai_is_visible(item, subscriber) ||
            !udpai_constraints_match(udpai_resource_constraints(item->resource), &parameters))
            continue;
        best = item;
        best_keys = n_keys;
    }
    return best;
}

/* ---- several for the same ---- */

static void
warn(udpai_topic *topic,
     const udpa_resource *one,
     const udpa_resource *other,
     const udpai_parameters *whom)
{
    unsigned n_suppressed;
    udpai_str name = udpai_resource_asked_name(one), first = udpai_resource_name(one),
              second = udpai_resource_name(other);
    udpai_parameter example = whom->n ? whom->items[0] : (udpai_parameter){{"", 0}, {"", 0}};
    if (!udpai_log_allow(&topic->fanout->ambiguous, topic->fanout->wheel->now_ms, &n_suppressed))
        return;
    udpai_log(
        UDPA_LOG_WARNING, "fanout",
        "'%.*s' and '%.*s' are both the variant of '%.*s' for the same clients, such as those "
        "with %zu dynamic parameters%s%.*s%s%.*s: they are sent the one that names more keys, "
        "or else has the lower name; let the constraints of each exclude those of the others "
        "(%u more not shown)",
        UDPAI_SHOWN(first), UDPAI_SHOWN(second), UDPAI_SHOWN(name), whom->n, whom->n ? ", " : "",
        UDPAI_SHOWN(example.key), whom->n ? "=" : "", UDPAI_SHOWN(example.value), n_suppressed);
}

/* TP2 leaves open what happens then, and forbids control planes to have such variants. */
static void
compare(const udpai_item *item)
{
    udpai_str constraints = udpai_resource_constraints(item->resource);
    const udpai_alias *alias =
        udpai_map_get(&item->topic->aliases, udpai_resource_asked_name(item->resource));
    size_t n_variants = 0;
    for (size_t i = 0; alias && i < alias->items.n && n_variants < COMPARED_MAX; i++) {
        const udpai_item *other = alias->items.items[i];
        udpai_parameters whom;
        if (other == item || !udpai_item_is_variant(other))
            continue;
        n_variants++;
        if (!udpai_constraints_overlap(constraints, udpai_resource_constraints(other->resource),
                                       &whom))
            continue;
        warn(item->topic, item->resource, other->resource, &whom);
        return;
    }
}

/* ---- subscriptions that are sent all ---- */

static bool
is_variant(const udpa_resource *resource)
{
    return resource && udpai_resource_constraints(resource).len > 0;
}

/* The item of the name that a resource is a variant of, if anybody asks for it. */
static udpai_item *
find_asked(const udpai_topic *topic, const udpa_resource *resource)
{
    udpai_item *asked =
        is_variant(resource) ? udpai_item_find(topic, udpai_resource_asked_name(resource)) : NULL;
    return asked && !udpai_list_empty(udpai_item_name_subs(asked)) ? asked : NULL;
}

static udpai_subscription *
sent_all(const udpai_name_sub *sub)
{
    return udpai_selects_variants(sub->subscription->subscriber) ? NULL : sub->subscription;
}

/* Reserved, and not marked yet. */
static void
drop_if_idle(udpai_subscription *subscription, udpai_item *item)
{
    udpai_pending *pending = udpai_pending_of_item(subscription, item);
    if (pending && !udpai_list_linked(&pending->node))
        udpai_pending_done(subscription, pending);
}

static void
drop_idle_pending(udpai_item *item, const udpai_item *asked)
{
    UDPAI_LIST_FOREACH (node, udpai_item_name_subs(asked)) {
        const udpai_name_sub *sub = udpai_name_sub_of(node);
        if (sent_all(sub))
            drop_if_idle(sub->subscription, item);
    }
}

static udpa_err
reserve_pending(udpai_item *item, const udpai_item *asked)
{
    udpa_err err = UDPA_OK;
    UDPAI_LIST_FOREACH (node, udpai_item_name_subs(asked)) {
        const udpai_name_sub *sub = udpai_name_sub_of(node);
        if (err == UDPA_OK && sent_all(sub))
            err = udpai_pending_reserve(sub->subscription, item);
    }
    if (err != UDPA_OK)
        drop_idle_pending(item, asked);
    return err;
}

udpa_err
udpai_variants_reserve(udpai_item *item, const udpa_resource *now)
{
    const udpai_item *asked = find_asked(item->topic, item->resource);
    udpa_err err = asked ? reserve_pending(item, asked) : UDPA_OK;
    const udpai_item *asked_now = find_asked(item->topic, now);
    if (err == UDPA_OK && asked_now && asked_now != asked) {
        err = reserve_pending(item, asked_now);
        if (err != UDPA_OK && asked)
            drop_idle_pending(item, asked);
    }
    return err;
}

void
udpai_variants_release(udpai_item *item, const udpa_resource *now)
{
    const udpai_item *asked = find_asked(item->topic, item->resource);
    if (asked)
        drop_idle_pending(item, asked);
    asked = find_asked(item->topic, now);
    if (asked)
        drop_idle_pending(item, asked);
}

static void
mark_variant(const udpai_name_sub *sub, udpai_item *item)
{
    udpai_subscription *subscription = sub->subscription;
    const udpai_subscriber *subscriber = subscription->subscriber;
    bool is_there = udpai_item_is_variant(item) && udpai_variant_is_asked(subscription, item) &&
                    udpai_is_visible(item, subscriber);
    subscription->state_forced = true;
    (void)udpai_mark_item_pending(subscription, /* room was reserved */
                                  is_there ? &subscription->additions : &subscription->removals,
                                  item);
}

static void
mark_variant_for_all(udpai_item *item, const udpai_item *asked)
{
    UDPAI_LIST_FOREACH (node, udpai_item_name_subs(asked)) {
        const udpai_name_sub *sub = udpai_name_sub_of(node);
        if (sent_all(sub))
            mark_variant(sub, item);
    }
}

void
udpai_variants_changed(udpai_item *item, const udpa_resource *before)
{
    const udpai_item *asked = find_asked(item->topic, before),
                     *asked_now = find_asked(item->topic, item->resource);
    if (asked)
        mark_variant_for_all(item, asked);
    if (asked_now && asked_now != asked)
        mark_variant_for_all(item, asked_now);
    bool is_same = is_variant(before) && is_variant(item->resource) &&
                   udpai_str_eq(udpai_resource_constraints(before),
                                udpai_resource_constraints(item->resource));
    if (udpai_item_is_variant(item) && !is_same)
        compare(item);
}

bool
udpai_variant_is_asked(const udpai_subscription *subscription, const udpai_item *item)
{
    return udpai_item_is_variant(item) && !udpai_selects_variants(subscription->subscriber) &&
           udpai_subscription_has_name(subscription, udpai_resource_asked_name(item->resource));
}

/* ---- all of a name ---- */

static const udpai_alias *
variants_of(const udpai_name_sub *sub)
{
    const udpai_topic *topic = sub->subscription->topic;
    return topic->n_variants && sent_all(sub)
               ? udpai_map_get(&topic->aliases, udpai_item_name(udpai_asked(sub)))
               : NULL;
}

static bool
is_sent_besides(const udpai_name_sub *sub, const udpai_item *item)
{
    const udpai_subscriber *subscriber = sub->subscription->subscriber;
    return udpai_item_is_variant(item) && udpai_is_visible(item, subscriber);
}

udpa_err
udpai_variants_mark_pending(udpai_name_sub *sub)
{
    const udpai_alias *alias = variants_of(sub);
    udpa_err err = UDPA_OK;
    for (size_t i = 0; alias && i < alias->items.n && err == UDPA_OK; i++)
        if (is_sent_besides(sub, alias->items.items[i]))
            err = udpai_mark_item_pending(sub->subscription, &sub->subscription->additions,
                                          alias->items.items[i]);
    return err;
}

udpa_err
udpai_variants_add_all(udpai_collection *collection, const udpai_name_sub *sub)
{
    const udpai_alias *alias = variants_of(sub);
    udpa_err err = UDPA_OK;
    for (size_t i = 0; alias && i < alias->items.n && err == UDPA_OK; i++)
        if (is_sent_besides(sub, alias->items.items[i]))
            udpai_collection_add(collection, alias->items.items[i], alias->items.items[i]->resource,
                                 false, &err);
    return err;
}
