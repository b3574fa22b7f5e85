/* SPDX-License-Identifier: Apache-2.0 */
/* What all parts may know of a source, and ask for it. */
#include <limits.h>

#include "federation/source_internal.h"

#include "model/client_type.h"

udpai_str
udpai_source_name(const udpai_source *source)
{
    return udpai_bytes_view(source->name);
}

bool
udpai_source_serves_us(const udpai_source *source)
{
    return source->serves_us;
}

udpai_origin *
udpai_source_origin(const udpai_source *source)
{
    return source->origin;
}

uint64_t
udpai_source_link(const udpai_source *source)
{
    return source->link;
}

uint64_t
udpai_source_session(const udpai_source *source)
{
    return source->session;
}

bool
udpai_source_is_path(const udpai_source *source)
{
    return source->kind == UDPAI_SOURCE_PATH;
}

bool
udpai_source_is_xds(const udpai_source *source)
{
    return source->kind == UDPAI_SOURCE_XDS || source->kind == UDPAI_SOURCE_REST;
}

bool
udpai_source_is_active(const udpai_source *source)
{
    return source->state == UDPAI_SOURCE_ACTIVE;
}

int64_t
udpai_source_last_contact_us(const udpai_source *source)
{
    bool is_there = source->session != 0 || udpai_source_is_active(source);
    return is_there ? udpai_context_wall_us(source->owner->context) : source->contact_us;
}

bool
udpai_source_is_decided(const udpai_source *source)
{
    return source->is_decided;
}

bool
udpai_source_is_of_clients(const udpai_source *source)
{
    return source->clients != NULL;
}

bool
udpai_source_listens_for(const udpai_source *source, udpai_str *ret_name)
{
    *ret_name = udpai_bytes_view(source->peer_name);
    return source->kind == UDPAI_SOURCE_UDPA_LISTEN && !source->is_absent;
}

bool
udpai_source_may_be_published_to(const udpai_source *source)
{
    return source->may_ask && !udpai_source_is_xds(source);
}

bool
udpai_source_may_subscribe(const udpai_source *source)
{
    return source->serves_us && !source->is_absent &&
           (source->kind == UDPAI_SOURCE_UDPA || source->kind == UDPAI_SOURCE_UDPA_LISTEN);
}

udpai_mark *
udpai_source_clients(const udpai_source *source)
{
    return source->clients;
}

const udpai_source *
udpai_source_template(const udpai_source *source)
{
    return source->template;
}

bool
udpai_source_is_template(const udpai_source *source)
{
    return source->target_for != NULL;
}

bool
udpai_source_is_void(const udpai_source *source)
{
    return source->is_void;
}

bool
udpai_source_has_been_read(const udpai_source *source)
{
    return udpai_source_is_path(source) && udpai_source_is_active(source);
}

udpai_str
udpai_source_unread(const udpai_source *source)
{
    return udpai_bytes_view(source->unread ? source->unread : source->name);
}

uint64_t
udpai_source_active_since_ms(const udpai_source *source)
{
    return source->active_since_ms;
}

bool
udpai_source_is_steady(const udpai_source *source)
{
    const udpai_context *context = source->owner->context;
    return udpai_context_now(context) >=
           source->active_since_ms + context->timing.fail_back_delay_ms;
}

const udpai_peer *
udpai_source_peer(const udpai_source *source)
{
    return udpai_peers_find(source->owner->peers, source->session);
}

bool
udpai_source_may_wait_for_us(const udpai_source *source)
{
    const udpai_peer *peer = udpai_source_peer(source);
    return udpai_source_is_active(source) && peer && peer->is_extended;
}

bool
udpai_source_name_of_key(udpai_str origin_key, udpai_str *ret_name)
{
    static const size_t len = sizeof(UDPAI_SOURCE_KEY) - 1;
    if (!udpai_str_starts(origin_key, UDPAI_STR(UDPAI_SOURCE_KEY)))
        return false;
    *ret_name = (udpai_str){origin_key.data + len, origin_key.len - len};
    return true;
}

static bool
lists_standby(const udpai_source *source, udpai_str type_url)
{
    for (size_t i = 0; i < source->standby.n; i++)
        if (udpai_str_eq(udpai_bytes_view(source->standby.items[i]), type_url))
            return true;
    return false;
}

/* A source that is sent the load of clients, or aggregates, is sent that of shared clients, too: it
 * belongs to them. */
bool
udpai_source_is_standby_for(const udpai_source *source, udpai_str type_url)
{
    return lists_standby(source, type_url) ||
           (udpai_str_eq(type_url, UDPAI_STR(UDPAI_TYPE_SHARED_CLIENT_LOAD)) &&
            (lists_standby(source, UDPAI_STR(UDPAI_TYPE_CLIENT_LOAD)) ||
             lists_standby(source, UDPAI_STR(UDPAI_TYPE_CLUSTER_LOAD))));
}

unsigned
udpai_source_max_withdrawal(const udpai_source *source)
{
    return source->max_withdrawal;
}

const udpa_error *
udpai_source_last_error(const udpai_source *source)
{
    return source->last_error;
}

udpai_source *
udpai_peer_source(const udpai_peer *peer)
{
    return peer->source && peer->source->serves_us ? peer->source : NULL;
}

void
udpai_source_take_order(udpai_source *source, unsigned position)
{
    if (udpai_origin_rank(source->origin) == UDPAI_ORIGIN_SOURCE && source->order == 0)
        source->order = position + 1;
    udpai_origin_set_rank(source->owner->context->store, source->origin, UDPAI_ORIGIN_SOURCE,
                          source->order);
}

void
udpai_source_forget_order(udpai_source *source)
{
    source->order = 0;
}

void
udpai_source_put_last(udpai_source *source)
{
    source->order = UINT_MAX;
    udpai_origin_set_rank(source->owner->context->store, source->origin, UDPAI_ORIGIN_SOURCE,
                          source->order);
}

void
udpai_source_touch(udpai_source *source)
{
    if (source->clients)
        udpai_mark_set(source->clients);
    udpai_context_touch(source->owner->context);
}

void
udpai_source_note_refused(udpai_source *source)
{
    source->has_refused = true;
}

/* Resources and clients may make any number of them. */
udpai_str
udpai_source_metric_label(const udpai_source *source)
{
    if (source->clients)
        return UDPAI_STR("(client groups)");
    return source->dynamic ? UDPAI_STR("(dynamic)") : udpai_bytes_view(source->name);
}

void
udpai_source_meter(const udpai_source *source, udpai_metric metric)
{
    udpai_meters *meters = source->owner->context->meters;
    udpai_meter_add(udpai_meters_get(meters, metric, udpai_source_metric_label(source)), 1);
}
