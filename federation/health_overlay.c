/* SPDX-License-Identifier: Apache-2.0 */
#include "federation/health_overlay.h"

#include "base/alloc.h"
#include "base/map.h"

/* What one checker reports. */
typedef struct opinion {
    udpa_resource *resource;
    uint64_t deadline_ms;
} opinion;

/* A cluster with verdicts, or that had some when it was sent last. */
typedef struct cluster {
    udpa_bytes *name;
    udpai_list touched;  /* in the list of those that must be looked at */
    udpa_resource *sent; /* instead of what the store has; NULL: that was sent */
    udpa_resource *next; /* the same of the change set that is being made, … */
    bool is_done;        /* … which has it already */
    UDPAI_VECTOR(opinion) verdicts;
} cluster;

struct udpai_health_overlay {
    udpai_health_overlay_config config;
    udpai_map clusters;
    udpai_list touched;
    udpai_timer expiry; /* at the first end of a verdict, or before */
    bool is_lost;       /* there was no memory to note something: it is asked for again */
};

static udpai_str
cluster_key(const void *item)
{
    return udpai_bytes_view(((const cluster *)item)->name);
}

/* ---- clusters ---- */

static void
free_cluster(cluster *self)
{
    udpai_list_remove(&self->touched);
    for (size_t i = 0; i < self->verdicts.n; i++)
        udpa_resource_unref(self->verdicts.items[i].resource);
    udpai_vector_done(&self->verdicts);
    udpa_resource_unref(self->sent);
    udpa_resource_unref(self->next);
    udpa_bytes_unref(self->name);
    udpai_free(self);
}

/* NULL without memory. */
static cluster *
get_cluster(udpai_health_overlay *overlay, udpai_str name)
{
    cluster *self = udpai_map_get(&overlay->clusters, name);
    if (self)
        return self;
    self = udpai_alloc(sizeof(*self));
    if (!self)
        return NULL;
    udpai_list_init(&self->touched);
    if (udpa_bytes_new(&self->name, name.data, name.len) == UDPA_OK &&
        udpai_map_add(&overlay->clusters, self))
        return self;
    free_cluster(self);
    return NULL;
}

static void
touch(udpai_health_overlay *overlay, cluster *self)
{
    if (!udpai_list_linked(&self->touched))
        udpai_list_append(&overlay->touched, &self->touched);
}

/* ---- time ---- */

static void
watch(udpai_health_overlay *overlay, uint64_t deadline_ms)
{
    if (deadline_ms &&
        (!udpai_timer_is_set(&overlay->expiry) || deadline_ms < overlay->expiry.due_ms))
        udpai_timer_set(overlay->config.wheel, &overlay->expiry, deadline_ms);
}

/* The store may hold back that something has expired; a vote ends in any case. */
static void
on_expiry(udpai_timer *timer)
{
    udpai_health_overlay *overlay = UDPAI_CONTAINER_OF(timer, udpai_health_overlay, expiry);
    uint64_t now = overlay->config.wheel->now_ms;
    size_t at = 0;
    cluster *self;
    while ((self = udpai_map_next(&overlay->clusters, &at)))
        for (size_t i = 0; i < self->verdicts.n; i++) {
            uint64_t deadline_ms = self->verdicts.items[i].deadline_ms;
            if (deadline_ms && deadline_ms <= now)
                touch(overlay, self);
            else
                watch(overlay, deadline_ms);
        }
}

/* ---- its life ---- */

udpa_err
udpai_health_overlay_new(udpai_health_overlay **ret_verdicts,
                         const udpai_health_overlay_config *config)
{
    udpai_health_overlay *overlay = udpai_alloc(sizeof(*overlay));
    if (!overlay)
        return UDPA_ERR_NOMEM;
    overlay->config = *config;
    udpai_map_init(&overlay->clusters, cluster_key);
    udpai_list_init(&overlay->touched);
    udpai_timer_init(&overlay->expiry, on_expiry);
    *ret_verdicts = overlay;
    return UDPA_OK;
}

udpai_health_overlay *
udpai_health_overlay_free(udpai_health_overlay *overlay)
{
    if (!overlay)
        return NULL;
    size_t at = 0;
    cluster *self;
    while ((self = udpai_map_next(&overlay->clusters, &at)))
        free_cluster(self);
    udpai_map_done(&overlay->clusters);
    udpai_timer_cancel(&overlay->expiry);
    udpai_free(overlay);
    return NULL;
}

bool
udpai_health_overlay_have_changes(const udpai_health_overlay *overlay)
{
    return overlay->is_lost || !udpai_list_empty(&overlay->touched);
}

static cluster *
cluster_of(const udpai_health_overlay *overlay, const udpa_resource *resource)
{
    return udpai_str_eq(udpai_resource_type_url(resource), UDPAI_STR(UDPAI_TYPE_ENDPOINTS))
               ? udpai_map_get(&overlay->clusters, udpai_resource_name(resource))
               : NULL;
}

udpa_resource *
udpai_health_overlay_of(const udpai_health_overlay *overlay, udpa_resource *resource)
{
    const cluster *self = cluster_of(overlay, resource);
    return self && self->sent ? self->sent : resource;
}

/* ---- what checkers report ---- */

/* The name of the cluster is part of the name of its report. */
static bool
is_opinion(const udpa_resource *resource, udpai_str *ret_cluster)
{
    udpai_str name = udpai_resource_name(resource);
    const char *slash = memrchr(name.data, '/', name.len);
    if (!slash ||
        !udpai_str_eq(udpai_resource_type_url(resource), UDPAI_STR(UDPAI_TYPE_ENDPOINT_HEALTH)))
        return false;
    *ret_cluster = (udpai_str){name.data, (size_t)(slash - name.data)};
    return true;
}

static size_t
find_opinion(const cluster *self, udpai_str name)
{
    size_t i = 0;
    while (i < self->verdicts.n &&
           !udpai_str_eq(udpai_resource_name(self->verdicts.items[i].resource), name))
        i++;
    return i;
}

static udpa_err
note_verdict(udpai_health_overlay *overlay,
             udpai_str name,
             udpa_resource *resource,
             uint64_t deadline_ms)
{
    cluster *self = get_cluster(overlay, name);
    if (!self)
        return UDPA_ERR_NOMEM;
    touch(overlay, self);
    size_t i = find_opinion(self, udpai_resource_name(resource));
    const opinion verdict = {udpa_resource_ref(resource), deadline_ms};
    if (i < self->verdicts.n) {
        udpa_resource_unref(self->verdicts.items[i].resource);
        self->verdicts.items[i] = verdict;
    } else if (!udpai_vector_push(&self->verdicts, verdict)) {
        udpa_resource_unref(resource);
        return UDPA_ERR_NOMEM;
    }
    watch(overlay, deadline_ms);
    return UDPA_OK;
}

static void
forget_verdict(udpai_health_overlay *overlay, udpai_str name, const udpa_resource *resource)
{
    cluster *self = udpai_map_get(&overlay->clusters, name);
    size_t i = self ? find_opinion(self, udpai_resource_name(resource)) : 0;
    if (!self || i == self->verdicts.n)
        return;
    udpa_resource_unref(self->verdicts.items[i].resource);
    udpai_vector_remove_unordered(&self->verdicts, i);
    touch(overlay, self);
}

static void
note(udpai_health_overlay *overlay, const udpai_change *change)
{
    udpai_str name;
    if (!is_opinion(change->resource, &name))
        return;
    if (change->kind == UDPAI_CHANGE_REMOVE)
        forget_verdict(overlay, name, change->resource);
    else if (note_verdict(overlay, name, change->resource, change->deadline_ms) != UDPA_OK)
        overlay->is_lost = true;
}

static bool
note_again(void *userdata, const udpai_contribution *contribution)
{
    udpai_str name;
    return !is_opinion(contribution->resource, &name) ||
           note_verdict(userdata, name, contribution->resource, contribution->deadline_ms) ==
               UDPA_OK;
}

static bool
note_until_lost(void *userdata, const udpai_contribution *contribution)
{
    udpai_health_overlay *overlay = userdata;
    overlay->is_lost = !note_again(overlay, contribution);
    return !overlay->is_lost;
}

static udpa_err
find_lost(udpai_health_overlay *overlay)
{
    if (!overlay->is_lost)
        return UDPA_OK;
    overlay->is_lost = false;
    udpai_store_visit_effective(overlay->config.store, UDPAI_STR(UDPAI_TYPE_ENDPOINT_HEALTH),
                                (udpai_str){0}, note_until_lost, overlay);
    return overlay->is_lost ? UDPA_ERR_NOMEM : UDPA_OK;
}

/* ---- what becomes of an assignment ---- */

static udpa_err
merge(const udpai_health_overlay *overlay, const cluster *self, udpai_health_verdict *ret_verdict)
{
    size_t n_malformed;
    udpai_health_opinion *opinions = udpai_alloc_array(self->verdicts.n, sizeof(*opinions));
    if (!opinions)
        return UDPA_ERR_NOMEM;
    for (size_t i = 0; i < self->verdicts.n; i++)
        opinions[i] = (udpai_health_opinion){
            udpai_resource_value(self->verdicts.items[i].resource),
            self->verdicts.items[i].deadline_ms,
        };
    udpa_err err = udpai_health_merge(opinions, self->verdicts.n, overlay->config.wheel->now_ms,
                                      overlay->config.policy, ret_verdict, &n_malformed);
    udpai_free(opinions);
    return err;
}

/* Higher than that of what was sent last, unless the contents are the same. */
static uint64_t
generation_of(const cluster *self,
              const udpa_resource *assignment,
              udpai_str value,
              int64_t wall_us)
{
    uint64_t least = udpa_resource_generation(assignment);
    uint64_t sent = self->sent ? udpa_resource_generation(self->sent) : 0;
    if (self->sent && udpai_str_eq(udpai_resource_value(self->sent), value))
        return sent > least ? sent : least;
    uint64_t now = wall_us > 0 ? (uint64_t)wall_us : 1;
    least = least > now ? least : now;
    return least > sent ? least : sent + 1;
}

/* The node answers for it; the path is that of the assignment, so that it is known where it comes
 * back. */
static udpa_err
make_resource(const udpai_health_overlay *overlay,
              cluster *self,
              const udpa_resource *assignment,
              udpa_bytes *value,
              int64_t wall_us)
{
    udpai_resource_room room;
    udpai_resource_parts parts = udpai_resource_parts_of(assignment, &room);
    parts.version = (udpai_str){0};
    parts.authority = overlay->config.authority;
    parts.any = NULL;
    parts.small = (udpai_str){0};
    parts.value = value;
    parts.type = udpai_resource_type(assignment);
    parts.hop_path = NULL;
    parts.generation = generation_of(self, assignment, udpai_bytes_view(value), wall_us);
    return udpai_resource_make(&self->next, &parts);
}

/* What is signed is never altered; a redirect is no assignment. */
static bool
can_be_altered(const udpa_resource *assignment)
{
    return !udpai_resource_signature(assignment) && !udpai_resource_is_redirect(assignment);
}

/* Fills self->next: NULL if the assignment is sent as it is. */
static udpa_err
make_next(const udpai_health_overlay *overlay,
          cluster *self,
          const udpa_resource *assignment,
          int64_t wall_us)
{
    if (self->verdicts.n == 0 || !can_be_altered(assignment))
        return UDPA_OK;
    udpai_health_verdict verdict = {0};
    UDPA_AUTO(udpa_bytes_unref) udpa_bytes *value = NULL;
    udpa_err err = merge(overlay, self, &verdict);
    if (err == UDPA_OK)
        err = udpai_health_apply(udpai_resource_value(assignment), &verdict, &value, NULL);
    udpai_health_verdict_done(&verdict);
    if (err == UDPA_ERR_MALFORMED)
        return UDPA_OK; /* its reader will report that */
    return err == UDPA_OK && value ? make_resource(overlay, self, assignment, value, wall_us) : err;
}

/* ---- the change set ---- */

static bool
is_same(const udpa_resource *a, const udpa_resource *b)
{
    return a && b && udpai_resource_same_payload(a, b) &&
           udpai_str_eq(udpai_resource_authority(a), udpai_resource_authority(b));
}

/* A change of the store, as it is sent. */
static udpa_err
add_change(const udpai_health_overlay *overlay,
           udpai_change_set *set,
           cluster *self,
           const udpai_change *change,
           int64_t wall_us)
{
    udpai_change out = *change;
    udpa_err err = change->kind == UDPAI_CHANGE_REMOVE
                       ? UDPA_OK
                       : make_next(overlay, self, change->resource, wall_us);
    if (err != UDPA_OK)
        return err;
    self->is_done = true;
    if (self->next)
        out.resource = self->next;
    if (out.kind == UDPAI_CHANGE_REFRESH && (self->sent || self->next) &&
        !is_same(self->sent, self->next))
        out.kind = UDPAI_CHANGE_SET;
    return udpai_change_set_add(set, &out);
}

typedef struct effective_search {
    udpai_contribution found;
    bool is_found;
} effective_search;

static bool
find_effective(void *userdata, const udpai_contribution *contribution)
{
    effective_search *search = userdata;
    if (contribution->effective) {
        search->found = *contribution;
        search->is_found = true;
    }
    return !search->is_found;
}

/* A cluster with other reports, of which the store has no change. */
static udpa_err
add_touched(const udpai_health_overlay *overlay,
            udpai_change_set *set,
            cluster *self,
            int64_t wall_us)
{
    effective_search search = {0};
    udpai_store_visit_name(overlay->config.store, UDPAI_STR(UDPAI_TYPE_ENDPOINTS),
                           cluster_key(self), find_effective, &search);
    if (!search.is_found) { /* it stays as it was sent, if it was */
        self->next = udpa_resource_ref(self->sent);
        return UDPA_OK;
    }
    udpa_err err = make_next(overlay, self, search.found.resource, wall_us);
    if (err != UDPA_OK || (!self->sent && !self->next) || is_same(self->sent, self->next))
        return err;
    const udpai_change change = {
        .kind = UDPAI_CHANGE_SET,
        .resource = self->next ? self->next : search.found.resource,
        .deadline_ms = search.found.deadline_ms,
        .from_node = udpai_origin_node(search.found.origin),
    };
    return udpai_change_set_add(set, &change);
}

static udpa_err
fill(udpai_health_overlay *overlay,
     const udpai_change_set *from,
     int64_t wall_us,
     udpai_change_set *set)
{
    udpa_err err = UDPA_OK;
    for (size_t i = 0; from && i < udpai_change_set_size(from) && err == UDPA_OK; i++) {
        const udpai_change *change = udpai_change_set_at(from, i);
        cluster *self = cluster_of(overlay, change->resource);
        err = self ? add_change(overlay, set, self, change, wall_us)
                   : udpai_change_set_add(set, change);
    }
    UDPAI_LIST_FOREACH (at, &overlay->touched) {
        cluster *self = UDPAI_LIST_ENTRY(at, cluster, touched);
        if (err == UDPA_OK && !self->is_done)
            err = add_touched(overlay, set, self, wall_us);
    }
    return err;
}

/* All of it was sent. */
static void
settle(udpai_health_overlay *overlay)
{
    udpai_list *at;
    while ((at = udpai_list_pop(&overlay->touched))) {
        cluster *self = UDPAI_LIST_ENTRY(at, cluster, touched);
        udpa_resource_unref(self->sent);
        self->sent = UDPAI_TAKE(self->next);
        self->is_done = false;
        if (self->sent || self->verdicts.n)
            continue;
        udpai_map_remove(&overlay->clusters, cluster_key(self));
        free_cluster(self);
    }
}

/* None of it was. */
static void
give_up(udpai_health_overlay *overlay)
{
    UDPAI_LIST_FOREACH (at, &overlay->touched) {
        cluster *self = UDPAI_LIST_ENTRY(at, cluster, touched);
        self->next = udpa_resource_unref(self->next);
        self->is_done = false;
    }
}

static void
look_through(udpai_health_overlay *overlay, const udpai_change_set *from)
{
    for (size_t i = 0; from && i < udpai_change_set_size(from); i++)
        note(overlay, udpai_change_set_at(from, i));
    for (size_t i = 0; from && i < udpai_change_set_size(from); i++) {
        cluster *self = cluster_of(overlay, udpai_change_set_at(from, i)->resource);
        if (self)
            touch(overlay, self);
    }
}

udpa_err
udpai_health_overlay_apply(udpai_health_overlay *overlay,
                           udpai_change_set *from,
                           int64_t wall_us,
                           udpai_change_set **ret_set)
{
    look_through(overlay, from);
    udpa_err err = find_lost(overlay);
    if (err == UDPA_OK && udpai_list_empty(&overlay->touched)) {
        *ret_set = udpai_change_set_ref(from);
        return UDPA_OK;
    }
    UDPA_AUTO(udpai_change_set_unref) udpai_change_set *set = udpai_change_set_new();
    if (err == UDPA_OK)
        err = set ? fill(overlay, from, wall_us, set) : UDPA_ERR_NOMEM;
    if (err != UDPA_OK) {
        give_up(overlay);
        return UDPA_ERR_NOMEM;
    }
    settle(overlay);
    *ret_set = udpai_change_set_size(set) ? UDPAI_TAKE(set) : NULL;
    return UDPA_OK;
}
