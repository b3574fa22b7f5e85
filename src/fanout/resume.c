/* SPDX-License-Identifier: Apache-2.0 */
/* What a subscriber states that it still holds from an earlier stream.
 *
 * A version that is the one there is needs no text: the item is noted, and that nothing had changed
 * up to now. All else is noted by name, and looked at when the name's turn comes. */
#include "fanout/resume.h"
#include "fanout/kept_removals.h"
#include "fanout/variant.h"

typedef struct held_item {
    uint64_t digest, path;
    uint32_t piece; /* of the subscription's n_held_ahead; 0: it did not go ahead */
    bool has_version, has_digest, has_path;
    uint32_t name_len, version_len;
    char text[]; /* the name, and the version behind it */
} held_item;

static udpai_str
name_of(const held_item *held)
{
    return (udpai_str){held->text, held->name_len};
}

static udpai_str
version_of(const held_item *held)
{
    return (udpai_str){held->text + held->name_len, held->version_len};
}

static udpai_str
held_key(const void *item)
{
    return name_of(item);
}

void
udpai_held_init(udpai_subscription *subscription)
{
    udpai_map_init_in(&subscription->held, held_key, udpai_subscription_memory(subscription));
    subscription->unchanged.memory = udpai_subscription_memory(subscription);
}

bool
udpai_held_any(const udpai_subscription *subscription)
{
    return subscription->held.n || subscription->unchanged.n;
}

/* The bounds are the subscriber's: it may have many subscriptions. */
static bool
has_room(const udpai_subscriber *subscriber, size_t n, size_t bytes)
{
    const udpai_fanout_options *options = &subscriber->fanout->options;
    return subscriber->n_held + n <= options->max_held &&
           subscriber->held_bytes + bytes <= options->max_held_bytes;
}

void
udpai_held_check_when_sent(udpai_subscription *subscription)
{
    subscription->held_unchecked = udpai_held_any(subscription);
    subscription->held_seq = subscription->topic->fanout->seq;
}

/* ---- what is noted by name ---- */

static held_item *
make_held(const udpai_subscription *subscription, udpai_str name, udpai_str version)
{
    held_item *held = udpai_alloc_in(udpai_subscription_memory(subscription),
                                     sizeof(*held) + name.len + version.len);
    if (!held)
        return NULL;
    char *at = held->text;
    held->name_len = (uint32_t)udpai_str_put(&at, name).len;
    held->version_len = (uint32_t)udpai_str_put(&at, version).len;
    return held;
}

static void
drop_held(const udpai_subscription *subscription, held_item *held)
{
    udpai_free_in(udpai_subscription_memory(subscription), held,
                  sizeof(*held) + held->name_len + held->version_len);
}

static udpa_err
add_held(udpai_subscription *subscription, udpai_str name, udpai_str version, held_item **ret_held)
{
    udpai_subscriber *subscriber = subscription->subscriber;
    if (!has_room(subscriber, 1, name.len + version.len))
        return UDPA_ERR_LIMIT;
    held_item *held = make_held(subscription, name, version);
    if (!held)
        return UDPA_ERR_NOMEM;
    if (!udpai_map_add(&subscription->held, held)) {
        drop_held(subscription, held);
        return UDPA_ERR_NOMEM;
    }
    subscriber->n_held++;
    subscriber->held_bytes += name.len + version.len;
    *ret_held = held;
    return UDPA_OK;
}

static void
free_held(udpai_subscription *subscription, held_item *held)
{
    if (!held)
        return;
    subscription->subscriber->n_held--;
    subscription->subscriber->held_bytes -= held->name_len + held->version_len;
    drop_held(subscription, held);
}

/* The note of a name that was given again: the last version counts, even one for which there is no
 * room. */
static udpa_err
change_version(udpai_subscription *subscription, held_item *held, udpai_str version)
{
    udpai_subscriber *subscriber = subscription->subscriber;
    size_t without = sizeof(*held) + held->name_len;
    subscriber->held_bytes -= held->version_len;
    udpai_memory_change(udpai_subscription_memory(subscription), without + held->version_len,
                        without);
    held->has_version = false;
    held->version_len = 0;
    if (!has_room(subscriber, 0, version.len))
        return UDPA_ERR_LIMIT;
    held_item *fresh = make_held(subscription, name_of(held), version);
    if (!fresh)
        return UDPA_ERR_NOMEM;
    fresh->digest = held->digest;
    fresh->path = held->path;
    fresh->piece = held->piece;
    fresh->has_digest = held->has_digest;
    fresh->has_path = held->has_path;
    fresh->has_version = true;
    subscriber->held_bytes += version.len;
    drop_held(subscription, udpai_map_replace(&subscription->held, fresh));
    return UDPA_OK;
}

/* With which message it has come. */
static void
place(udpai_subscription *subscription, held_item *held)
{
    held->piece = subscription->is_held_ahead ? subscription->n_held_ahead : 0;
    if (!held->piece)
        udpai_held_check_when_sent(subscription);
}

/* What it belongs to has not come yet. */
static bool
is_ahead(const udpai_subscription *subscription, const held_item *held)
{
    return subscription->is_held_ahead && held->piece == subscription->n_held_ahead;
}

void
udpai_subscription_hold_ahead(udpai_subscription *subscription, bool ahead)
{
    if (subscription->is_held_ahead == ahead)
        return;
    subscription->is_held_ahead = ahead;
    if (ahead && ++subscription->n_held_ahead == 0) /* 0 is what nobody has sent ahead */
        subscription->n_held_ahead = 1;
    if (!ahead) {
        udpai_held_check_when_sent(subscription);
        udpai_subscription_wake(subscription);
    }
}

/* ---- what is noted by item ---- */

/* Where a payload can come another path, more must be compared than the version; and what was sent
 * ahead is known by its piece. A variant goes by another name than its own. All such notes are of
 * one moment. */
static bool
is_unchanged(const udpai_subscription *subscription, const udpai_item *item, udpai_str version)
{
    const udpai_renderer *renderer = subscription->subscriber->renderer;
    const udpai_client_versions *unchanged = &subscription->unchanged;
    char room[UDPAI_CONTENT_HASH_HEX];
    return item->resource && !subscription->is_held_ahead && !udpai_item_is_variant(item) &&
           (unchanged->n == 0 || unchanged->seq == subscription->topic->fanout->seq) &&
           udpai_str_eq(version, renderer->version(renderer, item->resource, room));
}

static udpa_err
note_unchanged(udpai_subscription *subscription, udpai_item *item)
{
    udpai_subscriber *subscriber = subscription->subscriber;
    if (!has_room(subscriber, 1, 0))
        return udpai_client_versions_has(&subscription->unchanged, item->number) ? UDPA_OK
                                                                                 : UDPA_ERR_LIMIT;
    bool is_new;
    if (!udpai_client_versions_add(&subscription->unchanged, item->number, &is_new))
        return UDPA_ERR_NOMEM;
    subscription->unchanged.seq = subscription->topic->fanout->seq;
    subscriber->n_held += is_new;
    item->n_pins += is_new;
    return UDPA_OK;
}

/* The note is used up. It may have been all that kept the item. */
static void
release_unchanged(udpai_subscription *subscription, udpai_item *item)
{
    subscription->subscriber->n_held--;
    item->n_pins--;
    udpai_item_release(item);
}

/* False: it was not noted. */
static bool
take_unchanged(udpai_subscription *subscription, udpai_item *item)
{
    if (!item || !udpai_client_versions_remove(&subscription->unchanged, item->number))
        return false;
    release_unchanged(subscription, item);
    return true;
}

static udpai_item *
next_unchanged(const udpai_subscription *subscription, size_t *position)
{
    return udpai_client_versions_next(&subscription->unchanged, &subscription->topic->numbers,
                                      position);
}

static udpai_item *
find_unchanged(const udpai_subscription *subscription, udpai_str name)
{
    return subscription->unchanged.n ? udpai_item_find(subscription->topic, name) : NULL;
}

static void
forget_unchanged(udpai_subscription *subscription, udpai_str name)
{
    (void)take_unchanged(subscription, find_unchanged(subscription, name));
}

/* ---- noting ---- */

static udpa_err
hold_by_name(udpai_subscription *subscription, udpai_str name, udpai_str version)
{
    forget_unchanged(subscription, name);
    held_item *held;
    udpa_err err = add_held(subscription, name, version, &held);
    if (err != UDPA_OK)
        return err;
    held->has_version = true;
    place(subscription, held);
    return UDPA_OK;
}

udpa_err
udpai_subscription_hold_version(udpai_subscription *subscription, udpai_str name, udpai_str version)
{
    held_item *held = udpai_map_get(&subscription->held, name);
    if (held) {
        place(subscription, held);
        return change_version(subscription, held, version);
    }
    udpai_item *item = subscription->subscriber->renderer->shows_content_only
                           ? udpai_item_find(subscription->topic, name)
                           : NULL;
    if (!item || !is_unchanged(subscription, item, version))
        return hold_by_name(subscription, name, version);
    udpa_err err = note_unchanged(subscription, item);
    if (err == UDPA_OK)
        udpai_held_check_when_sent(subscription);
    return err;
}

udpa_err
udpai_subscription_hold_digest(udpai_subscription *subscription, udpai_str name, uint64_t digest)
{
    held_item *held = udpai_map_get(&subscription->held, name);
    forget_unchanged(subscription, name);
    udpa_err err = held ? UDPA_OK : add_held(subscription, name, (udpai_str){0}, &held);
    if (err != UDPA_OK)
        return err;
    place(subscription, held);
    held->digest = digest;
    held->has_digest = true;
    return UDPA_OK;
}

udpa_err
udpai_subscription_hold_path(udpai_subscription *subscription, udpai_str name, uint64_t path)
{
    held_item *held = udpai_map_get(&subscription->held, name);
    if (held) {
        held->path = path;
        held->has_path = true;
    }
    return UDPA_OK;
}

void
udpai_held_suspect(udpai_subscription *subscription, udpai_str name)
{
    udpai_item *item = find_unchanged(subscription, name);
    held_item *held = udpai_map_get(&subscription->held, name);
    if (!held && !(item && udpai_client_versions_has(&subscription->unchanged, item->number)) &&
        add_held(subscription, name, (udpai_str){0}, &held) == UDPA_OK)
        udpai_held_check_when_sent(subscription);
}

void
udpai_part_take_over(udpai_subscription *part, const udpai_subscription *old)
{
    udpai_removals removals =
        udpai_removals_after(udpai_filtered_view_of(old), old->cursor.tombstones);
    while (udpai_removals_next_seq(&removals) != UDPAI_NOTHING) {
        const udpai_item *item = udpai_removals_next(&removals);
        if (item)
            udpai_held_suspect(part, udpai_item_name(item));
    }
    UDPAI_LIST_FOREACH (node, &old->removals)
        udpai_held_suspect(part,
                           udpai_item_name(UDPAI_LIST_ENTRY(node, udpai_pending, node)->item));
    size_t at = 0;
    const held_item *held;
    while ((held = udpai_map_next(&old->held, &at)))
        udpai_held_suspect(part, name_of(held));
    at = 0;
    const udpai_item *item;
    while ((item = next_unchanged(old, &at)))
        udpai_held_suspect(part, udpai_item_name(item));
}

/* ---- forgetting ---- */

bool
udpai_held_has(const udpai_subscription *subscription, udpai_str name)
{
    udpai_item *item = find_unchanged(subscription, name);
    return udpai_map_get(&subscription->held, name) ||
           (item && udpai_client_versions_has(&subscription->unchanged, item->number));
}

void
udpai_held_forget(udpai_subscription *subscription, udpai_str name)
{
    free_held(subscription, udpai_map_remove(&subscription->held, name));
    forget_unchanged(subscription, name);
}

void
udpai_held_drop_all(udpai_subscription *subscription)
{
    size_t at = 0;
    held_item *held;
    while ((held = udpai_map_next(&subscription->held, &at)))
        free_held(subscription, held);
    udpai_map_done(&subscription->held);
    at = 0;
    udpai_item *item;
    while ((item = next_unchanged(subscription, &at)))
        release_unchanged(subscription, item);
    udpai_client_versions_done(&subscription->unchanged);
    subscription->held_unchecked = false;
}

/* What becomes of a note. */
typedef enum fate {
    FATE_KEPT,
    FATE_FORGOTTEN,
    FATE_REMOVED, /* the subscriber is sent that there is nothing of the name */
} fate;

typedef fate (*fate_fn)(udpai_subscription *subscription, udpai_str name);

static udpa_err
mark_name_removed(udpai_subscription *subscription, udpai_str name)
{
    udpai_item *item = udpai_item_get(subscription->topic, name);
    if (!item)
        return UDPA_ERR_NOMEM;
    udpa_err err = udpai_mark_item_pending(subscription, &subscription->removals, item);
    if (err != UDPA_OK)
        udpai_item_release(item);
    return err;
}

static udpa_err
sift_by_item(udpai_subscription *subscription, fate_fn decide)
{
    udpa_err err = UDPA_OK;
    size_t at = 0;
    udpai_item *item;
    while ((item = next_unchanged(subscription, &at))) {
        fate what = decide(subscription, udpai_item_name(item));
        if (what == FATE_REMOVED && err == UDPA_OK)
            err = mark_name_removed(subscription, udpai_item_name(item));
        if (what != FATE_KEPT)
            (void)take_unchanged(subscription, item);
    }
    return err;
}

static udpa_err
sift_by_name(udpai_subscription *subscription, fate_fn decide)
{
    udpai_map all = subscription->held;
    udpai_map_init_in(&subscription->held, held_key, udpai_subscription_memory(subscription));
    udpa_err err = UDPA_OK;
    size_t at = 0;
    held_item *held;
    while ((held = udpai_map_next(&all, &at))) {
        fate what = is_ahead(subscription, held) ? FATE_KEPT : decide(subscription, name_of(held));
        if (what == FATE_KEPT && udpai_map_add(&subscription->held, held))
            continue;
        if (what == FATE_KEPT)
            err = UDPA_ERR_NOMEM;
        if (what == FATE_REMOVED && err == UDPA_OK)
            err = mark_name_removed(subscription, name_of(held));
        free_held(subscription, held);
    }
    udpai_map_done(&all);
    return err;
}

static udpa_err
sift(udpai_subscription *subscription, fate_fn decide)
{
    udpa_err by_item = sift_by_item(subscription, decide);
    udpa_err by_name = sift_by_name(subscription, decide);
    return by_item != UDPA_OK ? by_item : by_name;
}

static fate
fate_without_wildcard(udpai_subscription *subscription, udpai_str name)
{
    return udpai_subscription_covers(subscription, name) ||
                   udpai_subscription_has_name(subscription, name)
               ? FATE_KEPT
               : FATE_FORGOTTEN;
}

/* A subscriber that ended a wildcard keeps nothing of it, so that it must be sent again if it is
 * asked for again. */
udpa_err
udpai_held_forget_uncovered(udpai_subscription *subscription)
{
    return sift(subscription, fate_without_wildcard);
}

/* Names asked for one by one are answered one by one. */
static fate
fate_of_unmatched(udpai_subscription *subscription, udpai_str name)
{
    if (!udpai_subscription_covers(subscription, name))
        return FATE_FORGOTTEN;
    bool is_known = udpai_subscription_knows_absence(subscription, name) &&
                    (udpai_kept_removals_find(subscription->topic, name) ||
                     udpai_subscription_is_settled(subscription, name, subscription->asked_ms));
    return is_known ? FATE_REMOVED : FATE_KEPT;
}

/* To be called when everything that there was up to held_seq has been sent: what has found no match
 * by then is not there, or has changed since, or may still come. */
udpa_err
udpai_held_check(udpai_subscription *subscription)
{
    subscription->held_unchecked = false;
    return sift(subscription, fate_of_unmatched);
}

/* ---- matching ---- */

static bool
is_same_payload(const udpai_subscription *subscription,
                const held_item *held,
                const udpa_resource *resource)
{
    if (held->has_digest)
        return held->digest == udpai_resource_digest(resource);
    const udpai_renderer *renderer = subscription->subscriber->renderer;
    char room[UDPAI_CONTENT_HASH_HEX];
    return held->has_version &&
           udpai_str_eq(version_of(held), renderer->version(renderer, resource, room));
}

static udpai_held_state
match_by_name(udpai_subscription *subscription, udpai_str name, const udpa_resource *resource)
{
    held_item *held = udpai_map_remove(&subscription->held, name);
    if (!held)
        return UDPAI_HELD_NOT;
    udpai_held_state state =
        is_same_payload(subscription, held, resource) ? UDPAI_HELD_ALL : UDPAI_HELD_NOT;
    if (state == UDPAI_HELD_ALL && held->has_path &&
        held->path != udpai_resource_path_digest(resource, udpa_resource_n_hops(resource)))
        state = UDPAI_HELD_PAYLOAD;
    free_held(subscription, held);
    return state;
}

/* What a variant is called may have been noted as another item, which is not the same. */
udpai_held_state
udpai_held_match(udpai_subscription *subscription, udpai_item *item)
{
    if (!udpai_held_any(subscription))
        return UDPAI_HELD_NOT;
    bool is_called_otherwise =
        udpai_selects_variants(subscription->subscriber) && udpai_item_is_variant(item);
    udpai_str name =
        is_called_otherwise ? udpai_resource_asked_name(item->resource) : udpai_item_name(item);
    udpai_item *noted = is_called_otherwise ? find_unchanged(subscription, name) : item;
    bool is_the_same = noted == item && item->content_seq <= subscription->unchanged.seq;
    if (take_unchanged(subscription, noted))
        return is_the_same ? UDPAI_HELD_ALL : UDPAI_HELD_NOT;
    return match_by_name(subscription, name, item->resource);
}
