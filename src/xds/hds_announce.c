/* SPDX-License-Identifier: Apache-2.0 */
/* That a client is there to check what it is given (udpa.health.v1.Checker), as a resource that it
 * publishes while something subscribes to that, its stream is open, and it has no specifier of its
 * own. */
#include "base/proto.h"
#include "model/name.h"
#include "wire/message.h"
#include "xds/hds_internal.h"

/* It may be sent late, or not, two times. */
#define TTL_MS 15000
#define RENEWAL_MS (TTL_MS / 3)
/* So many subscriptions are distinguished; with more it is announced to the end. */
#define SUBSCRIPTIONS_MAX 64

enum { /* field numbers of Checker */
    PROTOCOLS = 1,
    REGION = 2,
    ZONE = 3,
    SUB_ZONE = 4,
};

/* ---- subscriptions ---- */

/* Kept as '*' and a prefix, or a name. */
static udpa_err
make_subscription(const udpai_subscription_message *message,
                  udpai_str name,
                  udpa_bytes **ret_subscription)
{
    char room[1 + UDPAI_NAME_MAX] = {'*'};
    if (!udpai_name_is_wildcard(name))
        return udpa_bytes_new(ret_subscription, name.data, name.len);
    if (message->name_space.len > UDPAI_NAME_MAX)
        return UDPA_ERR_INVAL;
    if (message->name_space.len)
        memcpy(room + 1, message->name_space.data, message->name_space.len);
    return udpa_bytes_new(ret_subscription, room, 1 + message->name_space.len);
}

static bool
is_about(udpai_str subscription, udpai_str name)
{
    if (subscription.len == 0 || subscription.data[0] != '*')
        return udpai_str_eq(subscription, name);
    return udpai_prefix_covers((udpai_str){subscription.data + 1, subscription.len - 1}, name);
}

/* The end of the wildcard of everything is that of all of them (see Unsubscribe). */
static bool
ends(udpai_str end, udpai_str subscription)
{
    return udpai_str_eq(end, subscription) ||
           (end.len == 1 && end.data[0] == '*' && subscription.data[0] == '*');
}

static void
forget_subscriptions(udpai_hds *hds, udpai_str end)
{
    for (size_t i = hds->subscriptions.n; i-- > 0;) {
        if (!ends(end, udpai_bytes_view(hds->subscriptions.items[i])))
            continue;
        udpa_bytes_unref(hds->subscriptions.items[i]);
        udpai_vector_remove_unordered(&hds->subscriptions, i);
    }
}

static udpa_err
note_subscription(udpai_hds *hds, udpa_bytes *subscription, bool subscribed)
{
    forget_subscriptions(hds, udpai_bytes_view(subscription));
    if (!subscribed || hds->subscriptions.n >= SUBSCRIPTIONS_MAX) {
        hds->has_more_subscriptions |= subscribed;
        udpa_bytes_unref(subscription);
        return UDPA_OK;
    }
    if (udpai_vector_push(&hds->subscriptions, subscription))
        return UDPA_OK;
    udpa_bytes_unref(subscription);
    return UDPA_ERR_NOMEM;
}

udpa_err
udpai_hds_demand(udpai_hds *hds, const udpai_subscription_message *message, bool subscribed)
{
    udpa_err err = UDPA_OK;
    if (!udpai_str_eq(message->type_url, UDPAI_STR(UDPAI_TYPE_CHECKER)))
        return UDPA_OK;
    for (size_t i = 0; i < message->n_names && err == UDPA_OK; i++) {
        udpa_bytes *subscription = NULL;
        err = make_subscription(message, message->names[i], &subscription);
        if (err == UDPA_OK &&
            is_about(udpai_bytes_view(subscription), udpai_bytes_view(hds->called)))
            err = note_subscription(hds, subscription, subscribed);
        else
            udpa_bytes_unref(subscription);
    }
    return err == UDPA_OK ? udpai_hds_announce(hds) : err;
}

/* ---- announcing it ---- */

static void
put_protocols(udpai_proto_writer *writer, const udpai_hds *hds)
{
    for (unsigned i = 0; hds->capability >> i; i++)
        if (hds->capability >> i & 1)
            udpai_proto_put_varint(writer, PROTOCOLS, i);
}

static void
put_checker(udpai_proto_writer *writer, const void *what)
{
    const udpai_hds *hds = what;
    const udpai_node_parts *node = udpai_node_info_parts(hds->peer);
    put_protocols(writer, hds);
    udpai_proto_put_bytes_opt(writer, REGION, node->region);
    udpai_proto_put_bytes_opt(writer, ZONE, node->zone);
    udpai_proto_put_bytes_opt(writer, SUB_ZONE, node->sub_zone);
}

static udpa_err
make_resource(const udpai_hds *hds, udpa_resource **ret_resource)
{
    UDPA_AUTO(udpa_bytes_unref) udpa_bytes *value = udpai_proto_encode(put_checker, hds);
    if (!value)
        return UDPA_ERR_NOMEM;
    UDPA_AUTO(udpa_bytes_unref)
    udpa_bytes *any = udpai_any_make(UDPAI_STR(UDPAI_TYPE_CHECKER), udpai_bytes_view(value));
    const udpai_resource_parts parts = {
        .name = udpai_bytes_view(hds->called),
        .any = any,
        .ttl_ms = TTL_MS,
    };
    return any ? udpai_resource_make(ret_resource, &parts) : UDPA_ERR_NOMEM;
}

static udpa_err
fill(const udpai_hds *hds, udpai_publication *publication, bool is_there)
{
    UDPA_AUTO(udpa_resource_unref) udpa_resource *resource = NULL;
    udpa_err err = udpai_publication_set(&publication->type_url, UDPAI_STR(UDPAI_TYPE_CHECKER));
    if (err == UDPA_OK && !is_there)
        return udpai_publication_remove(publication, udpai_bytes_view(hds->called));
    if (err == UDPA_OK)
        err = make_resource(hds, &resource);
    if (err == UDPA_OK)
        err = udpai_publication_add(publication, resource, false);
    if (err == UDPA_OK)
        publication->size_bytes += udpai_resource_any_size(resource);
    return err;
}

static udpa_err
publish(udpai_hds *hds, bool is_there)
{
    udpai_publication *publication = udpai_publication_new();
    udpa_err err = publication ? fill(hds, publication, is_there) : UDPA_ERR_NOMEM;
    if (err != UDPA_OK) {
        udpai_publication_free(publication);
        return err;
    }
    return udpai_session_report_publication(&hds->session, publication);
}

/* A client that comes again may do so before the end of its stream is known: that must not take
 * back what it has published since. */

static udpai_str
announced_key(const void *item)
{
    return udpai_bytes_view(((const udpai_hds *)item)->called);
}

void
udpai_hds_announce_setup(udpai_hds_service *service)
{
    udpai_map_init(&service->announced, announced_key);
}

/* Without memory it is not known that there is a later one: that publishes it again in time. */
static void
note_latest(udpai_hds *hds)
{
    udpai_map *map = &hds->service->announced;
    const udpai_hds *latest = udpai_map_get(map, announced_key(hds));
    if (!latest)
        (void)udpai_map_add(map, hds);
    else if (latest->session.id < hds->session.id)
        udpai_map_replace(map, hds);
}

/* False: another one has published it since. */
static bool
forget_latest(udpai_hds *hds)
{
    udpai_map *map = &hds->service->announced;
    const udpai_hds *latest = udpai_map_get(map, announced_key(hds));
    if (latest && latest != hds)
        return false;
    udpai_map_remove(map, announced_key(hds));
    if (map->n == 0)
        udpai_map_done(map);
    return true;
}

static udpa_err
announce(udpai_hds *hds, bool is_there)
{
    udpa_err err = is_there || forget_latest(hds) ? publish(hds, is_there) : UDPA_OK;
    if (err != UDPA_OK)
        return err;
    if (is_there)
        note_latest(hds);
    hds->announced = is_there ? hds->capability : 0;
    hds->is_renewal_due = false;
    if (is_there)
        udpai_timer_set(udpai_hub_wheel(hds->session.hub), &hds->renewal,
                        udpai_hub_wheel(hds->session.hub)->now_ms + RENEWAL_MS);
    else
        udpai_timer_cancel(&hds->renewal);
    return UDPA_OK;
}

/* That it has no specifier of its own is waited for. */
static bool
is_free(const udpai_hds *hds)
{
    return !hds->held[UDPAI_HDS_OWN_NAME] &&
           (!hds->names[UDPAI_HDS_OWN_NAME] || hds->is_missing[UDPAI_HDS_OWN_NAME]);
}

udpa_err
udpai_hds_announce(udpai_hds *hds)
{
    bool is_there = hds->called && (hds->subscriptions.n || hds->has_more_subscriptions) &&
                    hds->capability && is_free(hds);
    if (!is_there)
        return hds->announced ? announce(hds, false) : UDPA_OK;
    return hds->announced != hds->capability || hds->is_renewal_due ? announce(hds, true) : UDPA_OK;
}

static void
on_renewal(udpai_timer *timer)
{
    udpai_hds *hds = UDPAI_CONTAINER_OF(timer, udpai_hds, renewal);
    hds->is_renewal_due = true;
    udpa_err err = udpai_hds_announce(hds);
    if (err != UDPA_OK)
        udpai_session_finish(&hds->session, udpa_error_new(err, NULL, "%s", udpa_err_text(err)));
}

/* ---- beginning and end ---- */

void
udpai_hds_announce_init(udpai_hds *hds)
{
    udpai_timer_init(&hds->renewal, on_renewal);
}

/* Without a name that it can have, it is not announced. */
udpa_err
udpai_hds_announce_begin(udpai_hds *hds)
{
    char room[UDPAI_NAME_MAX], *at = room;
    udpai_str prefix = hds->belonging.audience->default_namespace;
    udpai_str segment = udpai_bytes_view(hds->segment);
    if (prefix.len + 1 + segment.len > sizeof(room))
        return UDPA_OK;
    udpai_str_put(&at, prefix);
    *at++ = '/';
    udpai_str_put(&at, segment);
    const udpai_str name = {room, (size_t)(at - room)};
    return udpai_name_check(name, NULL) == UDPA_OK
               ? udpa_bytes_new(&hds->called, name.data, name.len)
               : UDPA_OK;
}

/* What divides the endpoints to be checked need not wait for its end by time. */
void
udpai_hds_announce_end(udpai_hds *hds)
{
    if (hds->announced)
        (void)announce(hds, false);
    udpai_timer_cancel(&hds->renewal);
    for (size_t i = 0; i < hds->subscriptions.n; i++)
        udpa_bytes_unref(hds->subscriptions.items[i]);
    udpai_vector_done(&hds->subscriptions);
    udpa_bytes_unref(hds->called);
}
