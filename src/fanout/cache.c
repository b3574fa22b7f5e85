/* SPDX-License-Identifier: Apache-2.0 */
/* Composed bodies, kept while other streams may need the same: found by (view, renderer, range),
 * let go in order of their last use above a bound of bytes. */
#include "fanout/fanout_internal.h"

#define BODIES_OF_A_VIEW 32

static void
drop(udpai_fanout *fanout, udpai_body *body)
{
    udpai_list_remove(&body->in_view);
    udpai_list_remove(&body->in_recent);
    fanout->body_bytes -= body->size_bytes;
    body->view->n_bodies--;
    udpai_body_unref(body);
}

/* When what a body was made of has changed last. */
static uint64_t
seq_of(const udpai_view *view)
{
    return udpai_view_is_filter(view) ? view->whole->changed_seq : view->changed_seq;
}

/* Not once the view has changed: a stream that was sent the change must not be sent it again. What
 * is left of a ttl is in the bytes, so such a body serves its own moment only. */
static bool
is_usable(const udpai_body *body, const udpai_fanout *fanout)
{
    return body->view_seq == seq_of(body->view) &&
           (!body->has_ttl || body->composed_ms == fanout->wheel->now_ms);
}

static bool
same_range(const udpai_body_range *a, const udpai_body_range *b)
{
    return a->from == b->from && a->limit == b->limit && a->held == b->held &&
           a->window_from == b->window_from && a->window_to == b->window_to &&
           a->newest_first == b->newest_first;
}

/* Does the filter take nothing out of it? */
static bool
may_be_sent(const udpai_body *body, const udpai_view *filter)
{
    for (size_t i = 0; filter && i < body->origins.n; i++) {
        const udpai_body_origin *origin = &body->origins.items[i];
        if (!udpai_may_offer(origin->from_node, origin->visible_to, filter->node, filter->link))
            return false;
    }
    return true;
}

static udpai_body *
find_among(const udpai_view *view,
           const udpai_view *filter,
           const udpai_renderer *renderer,
           const udpai_body_range *range)
{
    udpai_fanout *fanout = view->topic->fanout;
    UDPAI_LIST_FOREACH (node, &view->bodies) {
        udpai_body *body = UDPAI_LIST_ENTRY(node, udpai_body, in_view);
        if (body->renderer == renderer && body->renderer_serial == renderer->serial &&
            same_range(&body->range, range) && is_usable(body, fanout) &&
            may_be_sent(body, filter)) {
            udpai_list_remove(&body->in_recent);
            udpai_list_prepend(&fanout->recent_bodies, &body->in_recent);
            return udpai_body_ref(body);
        }
    }
    return NULL;
}

udpai_body *
udpai_view_find_body(udpai_filtered_view filtered,
                     bool is_shared,
                     const udpai_renderer *renderer,
                     const udpai_body_range *range)
{
    udpai_body *body = NULL;
    if (filtered.filter)
        body = find_among(filtered.filter, NULL, renderer, range);
    if (!body && (is_shared || !filtered.filter))
        body = find_among(filtered.view, filtered.filter, renderer, range);
    return body;
}

void
udpai_view_keep_body(udpai_filtered_view filtered, bool is_shared, udpai_body *body)
{
    udpai_view *view = is_shared || !filtered.filter ? filtered.view : filtered.filter;
    udpai_fanout *fanout = view->topic->fanout;
    udpai_body_ref(body);
    body->view = view;
    body->view_seq = seq_of(view);
    body->composed_ms = fanout->wheel->now_ms;
    udpai_list_prepend(&view->bodies, &body->in_view);
    udpai_list_prepend(&fanout->recent_bodies, &body->in_recent);
    fanout->body_bytes += body->size_bytes;
    if (++view->n_bodies > BODIES_OF_A_VIEW)
        drop(fanout, UDPAI_LIST_ENTRY(view->bodies.prev, udpai_body, in_view));
    while (fanout->body_bytes > fanout->options.body_cache_bytes)
        drop(fanout, UDPAI_LIST_ENTRY(fanout->recent_bodies.prev, udpai_body, in_recent));
}

void
udpai_view_drop_bodies(udpai_view *view)
{
    UDPAI_LIST_FOREACH_SAFE (node, &view->bodies)
        drop(view->topic->fanout, UDPAI_LIST_ENTRY(node, udpai_body, in_view));
}
