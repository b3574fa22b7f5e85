/* SPDX-License-Identifier: Apache-2.0 */
#include "federation/demand.h"

#include "base/alloc.h"
#include "base/map.h"
#include "federation/type_key.h"
#include "model/name.h"

/* All subscriptions of one text. Subscribers of the stream side count once, those in the process
 * each.
 */
typedef struct demand_item {
    size_t n;
    bool by_nodes;          /* nodes below are one of these */
    uint32_t type_len, len; /* of the type; of both with the text: a name, or '*' and a prefix */
    char key[];
} demand_item;

static udpai_str
key_of(const void *item)
{
    const demand_item *one = item;
    return (udpai_str){one->key, one->len};
}

#define KEY_MAX (UDPAI_TYPE_URL_MAX + 1 + UDPA_NAME_MAX + 1)

struct udpai_demand {
    udpai_map items; /* by type and text */
    udpai_map places;
    bool has_places;      /* groups of clients may ask where there is demand */
    bool has_lost_places; /* some could not be counted */
};

/* ---- where names lie ---- */

/* So many prefixes of each name are counted: a client that asks for names of a thousand segments
 * does not make the node hold a thousand prefixes. */
#define PLACES_MAX 8

/* The subscriptions below a prefix. Most groups of clients come before there is demand for them:
 * they need not look. */
typedef struct demand_place {
    size_t n;
    uint32_t len;
    char prefix[];
} demand_place;

static udpai_str
place_key(const void *item)
{
    const demand_place *place = item;
    return (udpai_str){place->prefix, place->len};
}

static demand_place *
make_place(udpai_demand *demand, udpai_str prefix)
{
    demand_place *place = udpai_alloc(sizeof(*place) + prefix.len);
    if (!place)
        return NULL;
    place->len = (uint32_t)prefix.len;
    memcpy(place->prefix, prefix.data, prefix.len);
    if (udpai_map_add(&demand->places, place))
        return place;
    udpai_free(place);
    return NULL;
}

/* Without memory all subscriptions are looked through from then on. */
static void
count_place(udpai_demand *demand, udpai_str prefix, bool subscribed)
{
    demand_place *place = udpai_map_get(&demand->places, prefix);
    if (!place && subscribed && !demand->has_lost_places && !(place = make_place(demand, prefix)))
        demand->has_lost_places = true;
    if (!place)
        return;
    place->n += subscribed ? 1 : (size_t)-1;
    if (place->n == 0 || (!subscribed && demand->has_lost_places))
        udpai_free(udpai_map_remove(&demand->places, prefix));
}

static udpai_str
subject_of(udpai_str text)
{
    bool is_wildcard = text.data[0] == '*';
    return (udpai_str){text.data + is_wildcard, text.len - is_wildcard};
}

/* Those that may be a group's: behind the first '/'. */
static bool
next_place(udpai_str subject, size_t *at, unsigned *n, udpai_str *ret_prefix)
{
    while (*n < PLACES_MAX && udpai_name_next_prefix(subject, at, ret_prefix))
        if (ret_prefix->len && memchr(ret_prefix->data, '/', ret_prefix->len) &&
            ret_prefix->data[ret_prefix->len - 1] != '/') {
            ++*n;
            return true;
        }
    return false;
}

static void
count_places(udpai_demand *demand, udpai_str text, bool subscribed)
{
    udpai_str subject = subject_of(text), prefix;
    size_t at = 0;
    unsigned n = 0;
    if (!demand->has_places)
        return;
    while (next_place(subject, &at, &n, &prefix))
        if (prefix.len < subject.len || text.data[0] == '*')
            count_place(demand, prefix, subscribed);
}

/* May there be a subscription? */
static bool
may_have_demand(const udpai_demand *demand, udpai_str name_space)
{
    size_t at = 0;
    unsigned n = 0;
    udpai_str prefix;
    if (demand->has_lost_places || udpai_map_get(&demand->places, name_space))
        return true;
    while (next_place(name_space, &at, &n, &prefix))
        if (prefix.len == name_space.len)
            return false; /* it would have been counted */
    return true;
}

/* ---- the table of demand ---- */

udpa_err
udpai_demand_new(udpai_demand **ret_demand)
{
    udpai_demand *demand = udpai_alloc(sizeof(*demand));
    if (!demand)
        return UDPA_ERR_NOMEM;
    udpai_map_init(&demand->items, key_of);
    udpai_map_init(&demand->places, place_key);
    *ret_demand = demand;
    return UDPA_OK;
}

void
udpai_demand_count_places(udpai_demand *demand)
{
    demand->has_places = true;
}

bool
udpai_demand_is_empty(const udpai_demand *demand)
{
    return demand->items.n == 0;
}

static demand_item *
find(const udpai_demand *demand, udpai_str type_url, udpai_str text)
{
    char room[KEY_MAX];
    if (type_url.len > UDPAI_TYPE_URL_MAX || text.len > UDPA_NAME_MAX + 1)
        return NULL;
    return udpai_map_get(&demand->items, udpai_type_key(room, type_url, text));
}

/* The entry of a text; made if need be. NULL: there is none, or there is no memory. */
static demand_item *
get(udpai_demand *demand, udpai_str type_url, udpai_str text, bool make)
{
    char room[KEY_MAX];
    if (type_url.len > UDPAI_TYPE_URL_MAX || text.len > UDPA_NAME_MAX + 1)
        return NULL;
    udpai_str key = udpai_type_key(room, type_url, text);
    demand_item *found = udpai_map_get(&demand->items, key);
    if (found || !make || !(found = udpai_alloc(sizeof(*found) + key.len)))
        return found;
    found->type_len = (uint32_t)type_url.len;
    found->len = (uint32_t)key.len;
    memcpy(found->key, key.data, key.len);
    if (udpai_map_add(&demand->items, found))
        return found;
    udpai_free(found);
    return NULL;
}

udpai_demand_change
udpai_demand_count(udpai_demand *demand, udpai_str type_url, udpai_str text, bool subscribed)
{
    demand_item *found = get(demand, type_url, text, subscribed);
    if (!found)
        return UDPAI_DEMAND_SAME;
    found->n += subscribed ? 1 : (size_t)-1;
    if (subscribed && found->n > 1)
        return UDPAI_DEMAND_REPEATED;
    if (!subscribed && found->n > 0)
        return UDPAI_DEMAND_SAME;
    count_places(demand, text, subscribed);
    return subscribed ? UDPAI_DEMAND_BEGINS : UDPAI_DEMAND_ENDS;
}

void
udpai_demand_drop(udpai_demand *demand, udpai_str type_url, udpai_str text)
{
    const demand_item *found = get(demand, type_url, text, false);
    if (found && found->n == 0)
        udpai_free(udpai_map_remove(&demand->items, key_of(found)));
}

bool
udpai_demand_has(const udpai_demand *demand, udpai_str type_url, udpai_str text)
{
    return find(demand, type_url, text) != NULL;
}

bool
udpai_demand_by_nodes(const udpai_demand *demand, udpai_str type_url, udpai_str name)
{
    const demand_item *found = find(demand, type_url, name);
    return found && found->by_nodes;
}

void
udpai_demand_set_by_nodes(udpai_demand *demand, udpai_str type_url, udpai_str name, bool by_nodes)
{
    demand_item *found = find(demand, type_url, name);
    if (found)
        found->by_nodes = by_nodes;
}

bool
udpai_demand_is_own(const udpai_demand *demand, udpai_str type_url, udpai_str name)
{
    const demand_item *item = find(demand, type_url, name);
    return item && item->n > item->by_nodes;
}

/* ---- looking through all ---- */

void
udpai_demand_visit(const udpai_demand *demand,
                   udpai_str type_url,
                   udpai_demand_fn visit,
                   void *userdata)
{
    size_t at = 0;
    const demand_item *item;
    while ((item = udpai_map_next(&demand->items, &at))) {
        size_t skip = (size_t)item->type_len + 1;
        if (udpai_str_eq((udpai_str){item->key, item->type_len}, type_url))
            visit(userdata, (udpai_str){item->key + skip, item->len - skip});
    }
}

static bool
is_below(udpai_str text, udpai_str name_space)
{
    udpai_str subject = subject_of(text);
    bool is_itself = text.data[0] == '*' && subject.len == name_space.len;
    return !is_itself && udpai_prefix_covers(name_space, subject);
}

static void
visit_below(const udpai_demand *demand,
            udpai_str type_url,
            udpai_str name_space,
            udpai_demand_fn visit,
            void *userdata)
{
    size_t at = 0;
    const demand_item *item;
    while ((item = udpai_map_next(&demand->items, &at))) {
        size_t skip = (size_t)item->type_len + 1;
        const udpai_str text = {item->key + skip, item->len - skip};
        if (udpai_str_eq((udpai_str){item->key, item->type_len}, type_url) &&
            is_below(text, name_space))
            visit(userdata, text);
    }
}

static void
visit_text(const udpai_demand *demand,
           udpai_str type_url,
           udpai_str text,
           udpai_demand_fn visit,
           void *userdata)
{
    char room[KEY_MAX];
    if (udpai_map_get(&demand->items, udpai_type_key(room, type_url, text)))
        visit(userdata, text);
}

static void
visit_wildcards(const udpai_demand *demand,
                udpai_str type_url,
                udpai_str name,
                udpai_demand_fn visit,
                void *userdata)
{
    char room[UDPA_NAME_MAX + 1];
    size_t at = 0;
    udpai_str prefix;
    while (udpai_name_next_prefix(name, &at, &prefix))
        visit_text(demand, type_url, udpai_wildcard_text(room, prefix), visit, userdata);
}

void
udpai_demand_visit_name(const udpai_demand *demand,
                        udpai_str type_url,
                        udpai_str name,
                        udpai_demand_fn visit,
                        void *userdata)
{
    if (type_url.len > UDPAI_TYPE_URL_MAX || name.len > UDPA_NAME_MAX)
        return;
    visit_text(demand, type_url, name, visit, userdata);
    visit_wildcards(demand, type_url, name, visit, userdata);
}

void
udpai_demand_visit_place(const udpai_demand *demand,
                         udpai_str type_url,
                         udpai_str name_space,
                         udpai_demand_fn visit,
                         void *userdata)
{
    if (type_url.len > UDPAI_TYPE_URL_MAX || name_space.len > UDPA_NAME_MAX)
        return;
    visit_wildcards(demand, type_url, name_space, visit, userdata);
    if (may_have_demand(demand, name_space))
        visit_below(demand, type_url, name_space, visit, userdata);
}

void
udpai_demand_visit_types(const udpai_demand *demand, udpai_demand_fn visit, void *userdata)
{
    size_t at = 0;
    const demand_item *item;
    while ((item = udpai_map_next(&demand->items, &at)))
        visit(userdata, (udpai_str){item->key, item->type_len});
}

void
udpai_demand_free(udpai_demand *demand)
{
    if (!demand)
        return;
    size_t at = 0;
    demand_item *item;
    while ((item = udpai_map_next(&demand->items, &at)))
        udpai_free(item);
    udpai_map_done(&demand->items);
    at = 0;
    demand_place *place;
    while ((place = udpai_map_next(&demand->places, &at)))
        udpai_free(place);
    udpai_map_done(&demand->places);
    udpai_free(demand);
}
