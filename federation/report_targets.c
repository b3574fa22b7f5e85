/* SPDX-License-Identifier: Apache-2.0 */
#include "federation/report_targets.h"

#include "base/alloc.h"
#include "base/map.h"
#include "federation/egress_internal.h"
#include "federation/named_table.h"
#include "federation/reports.h"
#include "federation/source.h"
#include "model/client_type.h"
#include "model/links.h"

/* Sets of links that were made lately: most reports are for one of a few. */
#define RECENT 64

/* A name that reports are about. */
typedef struct subject {
    udpai_list reports;
    udpai_list in_moved; /* while it is to be looked at again */
    uint32_t len;
    char name[];
} subject;

/* A report that was sent. */
typedef struct routed {
    udpai_list in_subject;
    udpai_list in_unsent; /* while it is for others than those to which it was sent */
    subject *of;          /* NULL: nothing that has a name */
    udpai_change sent; /* what it holds is a reference; visible_to: also while that is not sent */
    udpa_bytes *bound; /* members of its audience: only they are sent it; NULL: it is not bound */
    uint32_t len;      /* of the key: the type, a blank, the name */
    char key[];
} routed;

struct udpai_report_targets {
    bool is_on; /* there are, or were, several that may be sent reports */
    bool is_all_moved;
    uint64_t digest;
    udpai_map reports;  /* routed */
    udpai_map subjects; /* subject */
    udpai_list moved, unsent;
    udpai_link_vector links;
    udpa_bytes *recent[RECENT];
};

static udpai_str
report_key(const void *item)
{
    const routed *self = item;
    return (udpai_str){self->key, self->len};
}

static udpai_str
subject_key(const void *item)
{
    const subject *self = item;
    return (udpai_str){self->name, self->len};
}

/* ---- what reports are about ---- */

static subject *
get_subject(udpai_report_targets *targets, udpai_str name)
{
    subject *self = udpai_map_get(&targets->subjects, name);
    if (self)
        return self;
    self = udpai_alloc(sizeof(*self) + name.len);
    if (!self)
        return NULL;
    udpai_list_init(&self->reports);
    udpai_list_init(&self->in_moved);
    self->len = (uint32_t)name.len;
    memcpy(self->name, name.data, name.len);
    if (udpai_map_add(&targets->subjects, self))
        return self;
    udpai_free(self);
    return NULL;
}

static void
drop_if_unused(udpai_report_targets *targets, subject *self)
{
    if (!self || !udpai_list_empty(&self->reports))
        return;
    udpai_list_remove(&self->in_moved);
    udpai_map_remove(&targets->subjects, subject_key(self));
    udpai_free(self);
}

/* It may be another than before. */
static bool
put_below(udpai_report_targets *targets, routed *self, udpai_str name)
{
    subject *before = self->of;
    subject *now = name.len ? get_subject(targets, name) : NULL;
    if (name.len && !now)
        return false;
    udpai_list_remove(&self->in_subject);
    if (now)
        udpai_list_append(&now->reports, &self->in_subject);
    self->of = now;
    drop_if_unused(targets, before);
    return true;
}

static void
on_moved(void *userdata, udpai_str type_url, udpai_str name)
{
    (void)type_url;
    udpai_report_targets *targets = userdata;
    subject *self = targets->subjects.n ? udpai_map_get(&targets->subjects, name) : NULL;
    if (self && !udpai_list_linked(&self->in_moved))
        udpai_list_append(&targets->moved, &self->in_moved);
}

/* ---- reports ---- */

static udpai_str
make_key(char room[UDPAI_NAMED_KEY_MAX], const udpa_resource *report)
{
    return udpai_type_key(room, udpai_resource_type_url(report), udpai_resource_name(report));
}

static routed *
get_report(udpai_report_targets *targets, const udpa_resource *report)
{
    char room[UDPAI_NAMED_KEY_MAX];
    udpai_str key = make_key(room, report);
    routed *self = udpai_map_get(&targets->reports, key);
    if (self)
        return self;
    self = udpai_alloc(sizeof(*self) + key.len);
    if (!self)
        return NULL;
    udpai_list_init(&self->in_subject);
    udpai_list_init(&self->in_unsent);
    self->len = (uint32_t)key.len;
    memcpy(self->key, key.data, key.len);
    if (udpai_map_add(&targets->reports, self))
        return self;
    udpai_free(self);
    return NULL;
}

static void
let_go(udpai_change *sent)
{
    udpa_resource_unref(sent->resource);
    udpa_bytes_unref(sent->from_node);
    udpa_bytes_unref(sent->visible_to);
}

static void
free_report(udpai_report_targets *targets, routed *self)
{
    udpai_list_remove(&self->in_subject);
    udpai_list_remove(&self->in_unsent);
    drop_if_unused(targets, self->of);
    let_go(&self->sent);
    udpa_bytes_unref(self->bound);
    udpai_free(self);
}

static void
drop_report(udpai_report_targets *targets, const udpa_resource *report)
{
    char room[UDPAI_NAMED_KEY_MAX];
    routed *self = udpai_map_remove(&targets->reports, make_key(room, report));
    if (self)
        free_report(targets, self);
}

/* ---- their recipients ---- */

static udpa_bytes *
share_links(udpai_report_targets *targets)
{
    const udpai_link_vector *links = &targets->links;
    const udpai_str bytes = {(const char *)links->items, links->n * sizeof(*links->items)};
    udpa_bytes **place = &targets->recent[udpai_hash(bytes) % RECENT];
    if (*place && udpai_str_eq(udpai_bytes_view(*place), bytes))
        return udpa_bytes_ref(*place);
    udpa_bytes *made = udpai_links_new(links->items, links->n);
    if (made) {
        udpa_bytes_unref(*place);
        *place = udpa_bytes_ref(made);
    }
    return made;
}

static bool
is_same(const udpa_bytes *a, const udpa_bytes *b)
{
    return a == b || (a && b && udpai_str_eq(udpai_bytes_view(a), udpai_bytes_view(b)));
}

static bool
has_member(udpai_str members, const udpai_report_target_member *one)
{
    for (size_t at = 0; at < members.len; at += sizeof(*one))
        if (memcmp(members.data + at, one, sizeof(*one)) == 0)
            return true;
    return false;
}

/* The members that are its audience still. If there are others, it is reported again for them. */
static udpa_err
find_bound(const udpai_egress *egress, const routed *self, udpai_link_vector *links)
{
    UDPA_AUTO(udpa_bytes_unref)
    udpa_bytes *audience =
        udpai_report_target_audience(egress, udpai_resource_name(self->sent.resource));
    if (!audience)
        return UDPA_ERR_NOMEM;
    udpai_str now = udpai_bytes_view(audience), bound = udpai_bytes_view(self->bound);
    links->n = 0;
    for (size_t at = 0; at < now.len; at += sizeof(udpai_report_target_member)) {
        udpai_report_target_member member;
        memcpy(&member, now.data + at, sizeof(member));
        if (has_member(bound, &member) && !udpai_vector_push(links, member.link))
            return UDPA_ERR_NOMEM;
    }
    if (!udpai_str_eq(now, bound) && egress->context->env.audience_moved)
        egress->context->env.audience_moved(egress->context->env.userdata);
    return UDPA_OK;
}

/* Other replicas of this node report to their sources themselves. */
static bool
is_from_set(const udpai_egress *egress, const routed *self)
{
    return egress->context->is_of_set && self->sent.from_node &&
           is_same(self->sent.from_node, egress->context->instance);
}

static udpa_err
find_links(const udpai_egress *egress,
           const routed *self,
           udpai_link_vector *links,
           bool *ret_is_for_all)
{
    *ret_is_for_all = false;
    links->n = 0;
    if (is_from_set(egress, self))
        return UDPA_OK;
    if (self->bound)
        return find_bound(egress, self, links);
    udpa_err err = udpai_report_target_find(egress, self->sent.resource, links, ret_is_for_all);
    return err == UDPA_OK && !*ret_is_for_all
               ? udpai_report_target_add_standby(egress, self->sent.resource, links)
               : err;
}

static udpa_err
route(const udpai_egress *egress, routed *self, bool *ret_has_changed)
{
    udpai_report_targets *targets = egress->targets;
    bool is_for_all = false;
    udpa_bytes *links = NULL;
    udpa_err err = find_links(egress, self, &targets->links, &is_for_all);
    if (err == UDPA_OK && !is_for_all) {
        targets->links.n = udpai_links_sort(targets->links.items, targets->links.n);
        links = share_links(targets);
        err = links ? UDPA_OK : UDPA_ERR_NOMEM;
    }
    if (err != UDPA_OK)
        return err;
    *ret_has_changed = !is_same(self->sent.visible_to, links);
    udpa_bytes_unref(self->sent.visible_to);
    self->sent.visible_to = links;
    return UDPA_OK;
}

/* It is about to be sent. */
static udpa_err
take(const udpai_egress *egress, const udpai_change *change, udpa_bytes **ret_links)
{
    routed *self = get_report(egress->targets, change->resource);
    bool has_changed;
    if (!self)
        return UDPA_ERR_NOMEM;
    udpai_change before = self->sent;
    self->sent = (udpai_change){
        .resource = udpa_resource_ref(change->resource),
        .deadline_ms = change->deadline_ms,
        .from_node = udpa_bytes_ref(change->from_node),
        .visible_to = UDPAI_TAKE(before.visible_to),
    };
    let_go(&before);
    udpai_list_remove(&self->in_unsent);
    if (!put_below(egress->targets, self, udpai_subject_of(egress->context, change->resource).name))
        return UDPA_ERR_NOMEM;
    udpa_err err = route(egress, self, &has_changed);
    *ret_links = self->sent.visible_to;
    return err;
}

udpa_err
udpai_report_targets_bind(udpai_egress *egress, const udpa_resource *report, udpa_bytes *members)
{
    routed *self = get_report(egress->targets, report);
    if (!self) {
        udpa_bytes_unref(members);
        return UDPA_ERR_NOMEM;
    }
    udpa_bytes_unref(self->bound);
    self->bound = members;
    return UDPA_OK;
}

/* What was sent is dropped with the removal. */
void
udpai_report_targets_withdrawn(udpai_egress *egress, udpai_str type_url, udpai_str name)
{
    char room[UDPAI_NAMED_KEY_MAX];
    udpai_str key = udpai_type_key(room, type_url, name);
    routed *self = udpai_map_get(&egress->targets->reports, key);
    if (!self || self->sent.resource)
        return;
    udpai_map_remove(&egress->targets->reports, key);
    free_report(egress->targets, self);
}

/* ---- looking again ---- */

static udpa_err
look_again(const udpai_egress *egress, routed *self)
{
    bool has_changed = false;
    udpa_err err = self->sent.resource ? route(egress, self, &has_changed) : UDPA_OK;
    if (has_changed && !udpai_list_linked(&self->in_unsent))
        udpai_list_append(&egress->targets->unsent, &self->in_unsent);
    return err;
}

static udpa_err
look_at_all(const udpai_egress *egress)
{
    size_t at = 0;
    routed *self;
    udpa_err err = UDPA_OK;
    while (err == UDPA_OK && (self = udpai_map_next(&egress->targets->reports, &at)))
        err = look_again(egress, self);
    return err;
}

static udpa_err
look_at_moved(const udpai_egress *egress)
{
    udpa_err err = UDPA_OK;
    UDPAI_LIST_FOREACH (in_moved, &egress->targets->moved) {
        const subject *of = UDPAI_LIST_ENTRY(in_moved, subject, in_moved);
        UDPAI_LIST_FOREACH (at, &of->reports)
            if (err == UDPA_OK)
                err = look_again(egress, UDPAI_LIST_ENTRY(at, routed, in_subject));
    }
    return err;
}

udpa_err
udpai_report_targets_published(udpai_egress *egress, const udpa_resource *report)
{
    udpai_report_targets *targets = egress->targets;
    char room[UDPAI_NAMED_KEY_MAX];
    routed *self = targets->is_on ? udpai_map_get(&targets->reports, make_key(room, report)) : NULL;
    if (!self || self->bound)
        return UDPA_OK;
    return put_below(targets, self, udpai_subject_of(egress->context, report).name)
               ? look_again(egress, self)
               : UDPA_ERR_NOMEM;
}

/* ---- the change set ---- */

static bool
is_report(const udpai_egress *egress, const udpa_resource *resource)
{
    return egress->context->is_endpoint || udpai_type_is_client(udpai_resource_type_url(resource));
}

static bool
has_reports(const udpai_egress *egress, const udpai_change_set *set)
{
    for (size_t i = 0; set && i < udpai_change_set_size(set); i++)
        if (is_report(egress, udpai_change_set_at(set, i)->resource))
            return true;
    return false;
}

static udpa_err
add_change(const udpai_egress *egress, udpai_change_set *set, const udpai_change *change)
{
    udpai_change out = *change;
    udpa_err err = UDPA_OK;
    if (is_report(egress, change->resource)) {
        if (change->kind == UDPAI_CHANGE_REMOVE)
            drop_report(egress->targets, change->resource);
        else
            err = take(egress, change, &out.visible_to);
    }
    return err == UDPA_OK ? udpai_change_set_add(set, &out) : err;
}

/* Only its recipients are new. */
static udpa_err
add_unsent(const udpai_report_targets *targets, udpai_change_set *set)
{
    udpa_err err = UDPA_OK;
    UDPAI_LIST_FOREACH (at, &targets->unsent) {
        udpai_change change = UDPAI_LIST_ENTRY(at, routed, in_unsent)->sent;
        change.kind = UDPAI_CHANGE_REFRESH;
        if (err == UDPA_OK)
            err = udpai_change_set_add(set, &change);
    }
    return err;
}

static udpa_err
fill(const udpai_egress *egress, const udpai_change_set *from, udpai_change_set *set)
{
    udpa_err err = UDPA_OK;
    for (size_t i = 0; from && i < udpai_change_set_size(from) && err == UDPA_OK; i++)
        err = add_change(egress, set, udpai_change_set_at(from, i));
    if (err == UDPA_OK)
        err = egress->targets->is_all_moved ? look_at_all(egress) : look_at_moved(egress);
    return err == UDPA_OK ? add_unsent(egress->targets, set) : err;
}

static void
settle(udpai_report_targets *targets)
{
    targets->is_all_moved = false;
    while (udpai_list_pop(&targets->moved))
        ;
    while (udpai_list_pop(&targets->unsent))
        ;
}

udpa_err
udpai_report_targets_apply(udpai_egress *egress, udpai_change_set *from, udpai_change_set **ret_set)
{
    if (!egress->targets->is_on ||
        (!udpai_report_targets_have_changes(egress) && !has_reports(egress, from))) {
        *ret_set = udpai_change_set_ref(from);
        return UDPA_OK;
    }
    UDPA_AUTO(udpai_change_set_unref) udpai_change_set *set = udpai_change_set_new();
    udpa_err err = set ? fill(egress, from, set) : UDPA_ERR_NOMEM;
    if (err != UDPA_OK)
        return err;
    settle(egress->targets);
    *ret_set = udpai_change_set_size(set) ? UDPAI_TAKE(set) : NULL;
    return UDPA_OK;
}

bool
udpai_report_targets_have_changes(const udpai_egress *egress)
{
    const udpai_report_targets *targets = egress->targets;
    return (targets->is_all_moved && targets->reports.n) || !udpai_list_empty(&targets->moved) ||
           !udpai_list_empty(&targets->unsent);
}

/* ---- when it begins ---- */

/* Of a replica one is enough: it is not sent everything. */
static bool
has_several(const udpai_egress *egress)
{
    size_t n = 0;
    udpai_source *source = NULL;
    while ((source = udpai_sources_next_own(egress->sources, source)))
        n += udpai_source_may_subscribe(source);
    return n > (egress->context->is_of_set ? 0 : 1);
}

struct gathering {
    const udpai_egress *egress;
    bool is_complete;
};

static bool
gather(void *userdata, const udpai_contribution *contribution)
{
    struct gathering *self = userdata;
    if (self->egress->context->is_endpoint &&
        !udpai_reports_is_own(self->egress->context, contribution->resource))
        return true;
    const udpai_change change = {
        .resource = contribution->resource,
        .deadline_ms = contribution->deadline_ms,
        .from_node = udpai_origin_node(contribution->origin),
    };
    udpa_bytes *links;
    self->is_complete = take(self->egress, &change, &links) == UDPA_OK;
    return self->is_complete;
}

static bool
gather_type(void *userdata, udpai_str type_url, size_t n_effective)
{
    struct gathering *self = userdata;
    (void)n_effective;
    if (udpai_type_is_client(type_url))
        udpai_store_visit_effective(self->egress->context->store, type_url, (udpai_str){"", 0},
                                    gather, self);
    return self->is_complete;
}

/* But for the bound. */
static void
forget_sent(udpai_report_targets *targets)
{
    size_t at = 0;
    routed *self;
    while ((self = udpai_map_next(&targets->reports, &at))) {
        let_go(&self->sent);
        self->sent = (udpai_change){.resource = NULL};
    }
}

static void
forget_all(udpai_report_targets *targets)
{
    size_t at = 0;
    routed *self;
    while ((self = udpai_map_next(&targets->reports, &at)))
        free_report(targets, self);
    udpai_map_done(&targets->reports);
}

/* What was sent was sent to all. */
static void
begin(udpai_egress *egress)
{
    struct gathering self = {egress, true};
    udpai_store_visit_types(egress->context->store, gather_type, &self);
    egress->targets->is_on = self.is_complete;
    if (!self.is_complete) { /* without memory: again with the next flush */
        if (egress->context->is_endpoint)
            forget_sent(egress->targets);
        else
            forget_all(egress->targets);
        udpai_context_touch(egress->context);
    }
    size_t at = 0;
    routed *report;
    while ((report = udpai_map_next(&egress->targets->reports, &at)))
        report->sent.visible_to = udpa_bytes_unref(report->sent.visible_to);
}

void
udpai_report_targets_evaluate(udpai_egress *egress)
{
    udpai_report_targets *targets = egress->targets;
    if (!targets->is_on && has_several(egress))
        begin(egress);
    if (!targets->is_on)
        return;
    uint64_t digest = udpai_report_target_digest(egress);
    targets->is_all_moved |= digest != targets->digest;
    targets->digest = digest;
}

udpa_err
udpai_report_targets_new(udpai_report_targets **ret_targets, udpai_context *context)
{
    udpai_report_targets *targets = udpai_alloc(sizeof(*targets));
    if (!targets)
        return UDPA_ERR_NOMEM;
    udpai_map_init(&targets->reports, report_key);
    udpai_map_init(&targets->subjects, subject_key);
    udpai_list_init(&targets->moved);
    udpai_list_init(&targets->unsent);
    *ret_targets = targets;
    udpai_store_set_moved(context->store, on_moved, targets);
    return UDPA_OK;
}

void
udpai_report_targets_free(udpai_report_targets *targets)
{
    if (!targets)
        return;
    forget_all(targets);
    udpai_map_done(&targets->subjects);
    udpai_vector_done(&targets->links);
    for (size_t i = 0; i < RECENT; i++)
        udpa_bytes_unref(targets->recent[i]);
    udpai_free(targets);
}
