/* SPDX-License-Identifier: Apache-2.0 */
/* Reports on groups of clients: that they are there, which Node they have, and that they have left.
 * A client that changes its Node is asked for anew, but no more often than a server that fails is
 * dialled: a client that changes with each request is no reason to storm a server. */
#include "federation/backoff.h"
#include "federation/clients_internal.h"

#include "base/alloc.h"

/* After a restart clients come back at their own pace. */
#define RESTORED_MS ((uint64_t)5 * 60 * 1000)
/* Without memory. */
#define AGAIN_MS 1000

static udpai_str
key_of(const udpai_clients *clients)
{
    return udpai_bytes_view(clients->name_space);
}

/* ---- the Node of a group ---- */

/* False: without memory. */
static bool
introduce(udpai_clients *clients, udpai_node_info *info)
{
    for (size_t i = 0; i < clients->sources.n; i++)
        if (!udpai_source_set_client(clients->sources.items[i], key_of(clients), info))
            return false;
    udpai_node_info_ref(info);
    udpai_node_info_unref(clients->info);
    clients->info = info;
    clients->have_come = true;
    udpai_clients_touch(clients);
    return true;
}

/* Doubles with each change, as long as they come faster than the longest wait. */
static uint64_t
pause_ms(const udpai_clients *clients)
{
    return udpai_backoff_ms(&clients->owner->context->timing, clients->n_changes);
}

static void
set_next(udpai_clients *clients, udpai_node_info *info, uint64_t due_ms)
{
    udpai_node_info_ref(info);
    udpai_node_info_unref(clients->next);
    clients->next = info;
    clients->has_next = true;
    udpai_timer_set(clients->owner->context->wheel, &clients->change, due_ms);
}

static void
forget_next(udpai_clients *clients)
{
    clients->next = udpai_node_info_unref(clients->next);
    clients->has_next = false;
    udpai_timer_cancel(&clients->change);
}

static void
introduce_or_retry(udpai_clients *clients, udpai_node_info *info)
{
    uint64_t now = udpai_context_now(clients->owner->context);
    if (!introduce(clients, info)) { /* some sources may know already */
        clients->info = udpai_node_info_unref(clients->info);
        clients->is_half_introduced = true;
        set_next(clients, info, now + AGAIN_MS);
        return;
    }
    forget_next(clients);
    clients->is_half_introduced = false;
    clients->changed_ms = now;
    clients->n_changes++;
}

/* It may have become what it was before. */
static void
on_change(udpai_timer *timer)
{
    udpai_clients *clients = UDPAI_CONTAINER_OF(timer, udpai_clients, change);
    UDPA_AUTO(udpai_node_info_unref) udpai_node_info *next = UDPAI_TAKE(clients->next);
    bool is_same = next && clients->info && udpai_node_info_equal(next, clients->info);
    if (is_same && !clients->is_half_introduced)
        forget_next(clients);
    else
        introduce_or_retry(clients, next);
}

/* At once, or when the pause behind the last change is over; of several, the last one. */
static void
change(udpai_clients *clients, udpai_node_info *info)
{
    const udpai_groups *groups = clients->owner;
    if (udpai_context_now(groups->context) - clients->changed_ms >
        groups->context->timing.backoff_max_ms)
        clients->n_changes = 0;
    uint64_t due = clients->changed_ms + pause_ms(clients);
    if (clients->has_next)
        set_next(clients, info, clients->change.due_ms);
    else if (clients->have_come && udpai_context_now(groups->context) < due)
        set_next(clients, info, due);
    else
        introduce_or_retry(clients, info);
}

void
udpai_clients_meet_init(udpai_clients *clients)
{
    udpai_timer_init(&clients->change, on_change);
}

void
udpai_clients_meet_done(udpai_clients *clients)
{
    udpai_timer_cancel(&clients->change);
    udpai_node_info_unref(clients->next);
    udpai_node_info_unref(clients->info);
}

/* Against what will be known of them. */
static bool
is_change(const udpai_clients *clients, const udpai_node_info *info)
{
    const udpai_node_info *known = clients->has_next ? clients->next : clients->info;
    bool is_same = info && known && udpai_node_info_equal(known, info);
    return (!clients->have_come && !clients->has_next) || (info && !is_same);
}

static void
end_after(udpai_clients *clients, uint64_t delay_ms)
{
    udpai_groups *groups = clients->owner;
    udpai_timer_set(groups->context->wheel, &clients->unused,
                    udpai_context_now(groups->context) + delay_ms);
    udpai_list_remove(&clients->in_unused);
    udpai_list_append(&groups->unused, &clients->in_unused);
}

/* Groups that have left make room: clients that come under ever other names must not make the node
 * ask for all of them. False: there is no room yet. */
static bool
has_room(udpai_groups *groups)
{
    if (!groups->max || groups->by_name_space.n < groups->max)
        return true;
    if (!udpai_list_empty(&groups->unused)) {
        udpai_list *oldest = udpai_list_pop(&groups->unused);
        udpai_clients *clients = UDPAI_LIST_ENTRY(oldest, udpai_clients, in_unused);
        if (!clients->is_ending)
            udpai_timer_set(groups->context->wheel, &clients->unused,
                            udpai_context_now(groups->context));
    }
    return false;
}

/* Part of what is kept of it may be forgotten already; what comes from now on is kept. */
static void
end_no_more(udpai_clients *clients)
{
    for (size_t i = 0; clients->is_ending && i < clients->sources.n; i++)
        udpai_origin_set_durable(udpai_source_origin(clients->sources.items[i]),
                                 clients->owner->context->is_durable);
    clients->is_ending = false;
    udpai_timer_cancel(&clients->unused);
    udpai_list_remove(&clients->in_unused);
}

/* NULL: without memory. */
static udpai_clients *
come(udpai_groups *groups, udpai_str name_space, udpai_node_info *info)
{
    udpai_clients *clients = udpai_map_get(&groups->by_name_space, name_space);
    if (!clients)
        clients = udpai_clients_new(groups, name_space);
    if (!clients)
        return NULL;
    end_no_more(clients);
    udpai_clients_touch(clients);
    if (is_change(clients, info))
        change(clients, info);
    return clients;
}

udpa_err
udpai_groups_expect(udpai_groups *groups, udpai_str name_space, udpai_node_info *client)
{
    if (!udpai_clients_are_foreseen(groups, name_space))
        return UDPA_OK;
    udpai_clients *clients = come(groups, name_space, client);
    if (!clients)
        return UDPA_ERR_NOMEM;
    clients->are_expected = true;
    return UDPA_OK;
}

/* ---- reports ---- */

/* False: without memory or room. */
static bool
take(udpai_groups *groups, const udpai_report *report)
{
    udpai_str name_space = udpai_bytes_view(report->name_space);
    udpai_clients *clients = udpai_map_get(&groups->by_name_space, name_space);
    if (report->subscribed)
        return !udpai_clients_are_foreseen(groups, name_space) ||
               ((clients || has_room(groups)) && come(groups, name_space, report->info));
    if (clients && !clients->are_expected && !clients->is_ending)
        end_after(clients, groups->context->timing.interest_linger_ms);
    return true;
}

/* It has the latest state of the group. */
static void
forget_late(udpai_groups *groups, const udpai_report *later)
{
    UDPAI_LIST_FOREACH_SAFE (at, &groups->late) {
        udpai_report *report = UDPAI_LIST_ENTRY(at, udpai_report, node);
        if (!udpai_str_eq(udpai_bytes_view(report->name_space),
                          udpai_bytes_view(later->name_space)))
            continue;
        udpai_list_remove(at);
        udpai_report_free(report);
    }
}

static void
take_later(udpai_groups *groups, udpai_report *report)
{
    udpai_list_append(&groups->late, &report->node);
    if (!udpai_timer_is_set(&groups->late_timer))
        udpai_timer_set(groups->context->wheel, &groups->late_timer,
                        udpai_context_now(groups->context) + AGAIN_MS);
}

static void
on_late(udpai_timer *timer)
{
    udpai_groups *groups = UDPAI_CONTAINER_OF(timer, udpai_groups, late_timer);
    udpai_list late, *at;
    udpai_list_init(&late);
    udpai_list_splice(&late, &groups->late);
    while ((at = udpai_list_pop(&late))) {
        udpai_report *report = UDPAI_LIST_ENTRY(at, udpai_report, node);
        if (take(groups, report))
            udpai_report_free(report);
        else
            take_later(groups, report);
    }
}

bool
udpai_client_reports_receive(udpai_groups *groups, udpai_report *report)
{
    udpai_str name_space = udpai_bytes_view(report->name_space);
    unsigned n_suppressed;
    forget_late(groups, report);
    if (take(groups, report))
        return false;
    if (udpai_log_allow(&groups->late_log, udpai_context_now(groups->context), &n_suppressed))
        udpai_log(UDPA_LOG_WARNING, "federation",
                  "no memory or no room for the client group '%.*s' beside %zu others, some of "
                  "which have no client left: sources are asked for it later "
                  "(limits.max_client_groups; %u more not shown)",
                  UDPAI_SHOWN(name_space), groups->by_name_space.n, n_suppressed);
    take_later(groups, report);
    return true;
}

void
udpai_client_reports_init(udpai_groups *groups)
{
    udpai_list_init(&groups->late);
    udpai_timer_init(&groups->late_timer, on_late);
}

void
udpai_client_reports_done(udpai_groups *groups)
{
    udpai_list *at;
    udpai_timer_cancel(&groups->late_timer);
    while ((at = udpai_list_pop(&groups->late)))
        udpai_report_free(UDPAI_LIST_ENTRY(at, udpai_report, node));
}

/* ---- after a restart ---- */

/* The group whose source it was; UDPA_OK and NULL: nothing is asked for it any more. */
static udpa_err
restore_group(udpai_groups *groups, udpai_str name_space, udpai_clients **ret_clients)
{
    *ret_clients = udpai_map_get(&groups->by_name_space, name_space);
    if (*ret_clients || !udpai_clients_are_foreseen(groups, name_space))
        return UDPA_OK;
    udpai_clients *clients = udpai_clients_new(groups, name_space);
    if (!clients)
        return UDPA_ERR_NOMEM;
    end_after(clients, RESTORED_MS);
    *ret_clients = clients;
    return UDPA_OK;
}

udpa_err
udpai_clients_restore(udpai_groups *groups, udpai_str source_name, udpai_source **ret_source)
{
    size_t at = 0;
    const udpai_source *template;
    *ret_source = NULL;
    while (!*ret_source && (template = udpai_sources_next(groups->sources, &at))) {
        udpai_str head = udpai_source_name(template);
        if (!udpai_source_is_template(template) || !udpai_str_starts(source_name, head) ||
            source_name.len <= head.len + 1 || source_name.data[head.len] != '/')
            continue;
        const udpai_str name_space = {source_name.data + head.len + 1,
                                      source_name.len - head.len - 1};
        udpai_clients *clients;
        udpa_err err = restore_group(groups, name_space, &clients);
        if (err != UDPA_OK)
            return err;
        *ret_source = clients ? udpai_clients_source(clients, template) : NULL;
    }
    return UDPA_OK;
}
