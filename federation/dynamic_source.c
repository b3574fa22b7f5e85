/* SPDX-License-Identifier: Apache-2.0 */
/* One source that comes by a resource: awaited, there, and gone again. */
#include "federation/dynamic_internal.h"

#include "base/alloc.h"
#include "federation/connection.h"
#include "federation/recovery.h"

/* As long as for groups of clients that nobody comes back to. */
#define AWAITED_MS ((uint64_t)5 * 60 * 1000)
#define AGAIN_MS 1000 /* without memory, or while it is not known what sources there are */

void
udpai_dynamic_source_free(udpai_dynamic_source *dynamic)
{
    if (!dynamic)
        return;
    udpai_timer_cancel(&dynamic->patience);
    udpa_bytes_unref(dynamic->payload);
    udpai_free(dynamic);
}

/* ---- the end of what came by it ---- */

/* Does nothing here speak of it? */
static bool
is_unused(const udpai_source *source)
{
    const udpai_dynamic_source *dynamic = source->dynamic;
    return dynamic && source->is_absent && !dynamic->is_configured &&
           (source->is_void || !dynamic->may_have) && udpai_list_empty(&source->scopes);
}

static void
remove_source(udpai_source *source)
{
    udpai_dynamic *all = source->dynamic->all;
    udpai_sources_remove(all->sources, source);
    udpai_origin_set_rank(all->context->store, source->origin, UDPAI_ORIGIN_PUBLISHER,
                          0); /* it may go */
    udpai_dynamic_source_free(source->dynamic);
    udpai_source_free(source);
}

/* The table must not change while it is gone through: one at a time. */
static udpai_source *
find_unused(const udpai_dynamic *all)
{
    size_t at = 0;
    udpai_source *source;
    while ((source = udpai_sources_next(all->sources, &at)))
        if (is_unused(source))
            return source;
    return NULL;
}

bool
udpai_dynamic_source_remove_unused(udpai_dynamic *all)
{
    udpai_source *source;
    bool any = false;
    while ((source = find_unused(all))) {
        remove_source(source);
        any = true;
    }
    return any;
}

static void
forget_knowledge(udpai_source *source)
{
    UDPAI_LIST_FOREACH (in_source, &source->scopes) {
        udpai_scope *scope = UDPAI_LIST_ENTRY(in_source, udpai_scope, in_source);
        size_t at = 0;
        udpai_source_request *request;
        scope->is_known = false;
        while ((request = udpai_map_next(&scope->requests, &at)))
            request->is_known = false;
    }
}

static bool
is_settled(const udpai_dynamic *all)
{
    return udpai_settled_query(udpai_sync_settled(all->sync), UDPAI_STR(UDPAI_DYNAMIC_SOURCE_TYPE),
                               (udpai_str){"", 0}, (udpai_str){0}) == UDPAI_SETTLED;
}

/* Nobody has taken its place, or it has not come: all that came by it goes together. */
static void
on_patience_end(udpai_timer *timer)
{
    udpai_dynamic_source *self = UDPAI_CONTAINER_OF(timer, udpai_dynamic_source, patience);
    udpai_source *source = self->source;
    udpai_dynamic *all = source->dynamic->all;
    bool is_gone = self->was_taken_back || is_settled(all);
    if (!is_gone || !udpai_store_forget_origin(all->context->store, source->origin)) {
        udpai_timer_set(all->context->wheel, timer, udpai_context_now(all->context) + AGAIN_MS);
        return;
    }
    udpai_store_withdraw_all(all->context->store, source->origin, (udpai_str){0}, (udpai_str){0},
                             NULL, NULL);
    forget_knowledge(source);
    source->is_void = true;
    udpai_context_touch(all->context);
    if (is_unused(source))
        remove_source(source);
}

/* ---- awaiting one ---- */

static udpa_err
add(udpai_dynamic *all, udpai_str name, udpai_source **ret_source, udpa_error **ret_error)
{
    const udpai_dynamic_sources_config *config = &all->config;
    udpai_dynamic_source *dynamic = udpai_alloc(sizeof(*dynamic));
    const udpai_source_config as_source = {
        .name = name,
        .kind = UDPAI_SOURCE_UDPA,
        .ref_target = config->ref_target,
        .release_target = config->release_target,
    };
    udpa_err err = dynamic ? udpai_sources_add(all->sources, &as_source, true, ret_error)
                           : udpai_fail_code(ret_error, UDPA_ERR_NOMEM);
    if (err != UDPA_OK) {
        udpai_free(dynamic);
        return err;
    }
    udpai_source *source = udpai_sources_get(all->sources, name);
    dynamic->all = all;
    dynamic->source = source;
    source->dynamic = dynamic;
    source->is_absent = true;
    source->is_decided = all->context->is_started; /* in the beginning it may be about to come */
    udpai_timer_init(&dynamic->patience, on_patience_end);
    udpai_timer_set(all->context->wheel, &dynamic->patience,
                    udpai_context_now(all->context) + AWAITED_MS);
    *ret_source = source;
    return UDPA_OK;
}

static size_t
count(const udpai_dynamic *all, bool absent)
{
    size_t n = 0, at = 0;
    const udpai_source *source;
    while ((source = udpai_sources_next(all->sources, &at)))
        n += source->dynamic && source->is_absent == absent;
    return n;
}

static udpa_err
check_room(const udpai_dynamic *all, bool absent, udpa_error **ret_error)
{
    size_t max = all->config.max;
    if (count(all, absent) < max)
        return UDPA_OK;
    return udpai_fail(ret_error, UDPA_ERR_LIMIT,
                      "%zu ConfigSources %s already, which is the limit (dynamic_sources.max)", max,
                      absent ? "that are not there are named" : "come by resources");
}

udpa_err
udpai_dynamic_source_find(void *userdata,
                          udpai_str name,
                          udpai_awaited_by who,
                          const udpai_source **ret_source,
                          udpa_error **ret_error)
{
    udpai_dynamic *all = userdata;
    udpai_source *source = udpai_sources_get(all->sources, name);
    udpa_err err = UDPA_OK;
    if (!source && udpai_dynamic_source_is_name(name)) {
        all->is_untidy = true; /* tidied up later: some may be about to be used */
        if (who == UDPAI_AWAITED_BY_RESOURCE)
            err = check_room(all, true, ret_error);
        if (err == UDPA_OK)
            err = add(all, name, &source, ret_error);
    }
    if (err == UDPA_OK && source && source->dynamic) {
        source->dynamic->is_configured |= who == UDPAI_AWAITED_BY_CONFIGURATION;
        source->dynamic->may_have |= who == UDPAI_AWAITED_BY_CONTENTS;
    }
    *ret_source = source;
    return err;
}

/* ---- there and gone ---- */

static void
set_target(udpai_source *source, void *target)
{
    if (source->target)
        source->release_target(source->target);
    source->target = target;
}

/* What is still said on its stream is nobody's; and what is told of the link, another's. */
static void
let_go_of_stream(udpai_source *source)
{
    udpai_dynamic *all = source->dynamic->all;
    udpai_peer *peer = udpai_peers_find(all->peers, source->session);
    if (peer) {
        peer->source = NULL;
        peer->is_replaced = true;
    }
    udpai_sources_relink(all->sources, source);
}

/* As if it were lost; and it is not dialled again. False: without memory nothing has changed. */
static bool
leave(udpai_source *source)
{
    udpai_dynamic *all = source->dynamic->all;
    bool is_dialled = source->state != UDPAI_SOURCE_IDLE && source->state != UDPAI_SOURCE_WAITING;
    if (is_dialled && !udpai_source_hang_up(source))
        return false;
    let_go_of_stream(source);
    UDPA_AUTO(udpa_error_unref)
    udpa_error *error =
        udpa_error_new(UDPA_ERR_CLOSED, NULL, "the resource that it came by is there no more");
    udpai_dynamic_source *dynamic = source->dynamic;
    source->is_absent = true;
    udpai_timer_cancel(&source->retry);
    udpai_timer_cancel(&source->grace);
    udpai_source_closed(source, error);
    source->is_decided = true;
    source->is_reached = false;
    set_target(source, NULL);
    source->by = udpa_bytes_unref(source->by);
    dynamic->payload = udpa_bytes_unref(dynamic->payload);
    dynamic->was_taken_back = true;
    udpai_timer_set(all->context->wheel, &dynamic->patience,
                    udpai_context_now(all->context) + all->context->timing.interest_linger_ms);
    udpai_follower_look_again(all->sources_follower);
    return true;
}

/* It counts as a source that comes back does: what stands in for it goes on until it is complete.
 */
static void
appear(udpai_source *source)
{
    udpai_dynamic *all = source->dynamic->all;
    udpai_dynamic_source *dynamic = source->dynamic;
    source->is_absent = source->is_reached = false;
    source->n_failures = 0;
    udpai_faults_done(source);
    udpai_timer_cancel(&dynamic->patience);
    UDPAI_LIST_FOREACH (at, &source->scopes) /* so that what is in use is noted again */
        if (source->is_void)
            (void)udpai_origin_set_eligible(
                all->context->store, source->origin,
                udpai_bytes_view(UDPAI_LIST_ENTRY(at, udpai_scope, in_source)->type), false);
    source->is_void = dynamic->was_taken_back = false;
    dynamic->may_have = true;
    udpai_origin_set_durable(source->origin, all->context->is_durable);
    udpai_follower_look_again(all->delegations);
}

struct version {
    const udpai_dynamic_source_config *config;
    udpa_bytes *by, *payload, *address;
    void *target;
};

static void
version_done(udpai_dynamic *all, struct version *version)
{
    udpa_bytes_unref(version->by);
    udpa_bytes_unref(version->payload);
    udpa_bytes_unref(version->address);
    if (version->target)
        all->config.release_target(version->target);
}

static udpa_err
version_init(udpai_dynamic *all,
             struct version *version,
             const udpa_resource *resource,
             udpa_error **ret_error)
{
    const udpai_dynamic_sources_config *how = &all->config;
    const udpai_dynamic_source_config *config = version->config;
    udpai_str name = udpai_resource_name(resource), payload;
    payload.data = udpa_resource_payload(resource, &payload.len);
    udpa_err err = udpa_bytes_new(&version->by, name.data, name.len);
    if (err == UDPA_OK)
        err = udpa_bytes_new(&version->payload, payload.data, payload.len);
    if (err == UDPA_OK)
        err = udpa_bytes_new(&version->address, config->address.data, config->address.len);
    return err == UDPA_OK ? how->make_target(how->userdata, config, &version->target, ret_error)
                          : udpai_fail_code(ret_error, err);
}

/* One change is no failure; whoever goes on changing it has it dialled no more often than one that
 * fails. */
static void
move(udpai_source *source, void *target)
{
    udpai_dynamic *all = source->dynamic->all;
    udpai_dynamic_source *dynamic = source->dynamic;
    bool is_quick = udpai_context_now(all->context) < dynamic->quiet_until_ms;
    dynamic->quiet_until_ms = udpai_context_now(all->context) + all->context->timing.backoff_max_ms;
    udpai_source_set_target(source, target);
    if (is_quick)
        source->is_renewed = false;
    else
        udpai_source_dial_now(source);
}

static void
put_version(udpai_source *source, struct version *version)
{
    udpai_dynamic_source *dynamic = source->dynamic;
    udpa_bytes_unref(source->by);
    udpa_bytes_unref(dynamic->payload);
    udpa_bytes_unref(source->address);
    source->by = UDPAI_TAKE(version->by);
    dynamic->payload = UDPAI_TAKE(version->payload);
    source->address = UDPAI_TAKE(version->address);
    source->kind = version->config->kind;
    if (source->is_absent) {
        set_target(source, UDPAI_TAKE(version->target));
        appear(source);
    } else {
        move(source, UDPAI_TAKE(version->target));
    }
    udpai_log(UDPA_LOG_INFO, "federation", "source %.*s: address %.*s, by resource '%.*s'",
              UDPAI_SHOWN(version->config->name), UDPAI_SHOWN(version->config->address),
              UDPAI_SHOWN(udpai_source_by(source)));
}

/* The source that the resource has made; NULL: none. */
static udpai_source *
find_by(const udpai_dynamic *all, udpai_str by)
{
    size_t at = 0;
    udpai_source *source;
    while ((source = udpai_sources_next(all->sources, &at)))
        if (!source->is_absent && udpai_str_eq(udpai_source_by(source), by))
            return source;
    return NULL;
}

static udpa_err
check_name(const udpai_source *there, udpai_str by, udpa_error **ret_error)
{
    if (there && !there->dynamic)
        return udpai_fail(ret_error, UDPA_ERR_INVAL,
                          "this node's configuration has a ConfigSource '%.*s', which no resource "
                          "takes the place of: give it another name",
                          UDPAI_SHOWN(udpai_bytes_view(there->name)));
    if (there && !there->is_absent && !udpai_str_eq(udpai_source_by(there), by))
        return udpai_fail(ret_error, UDPA_ERR_INVAL,
                          "the ConfigSource '%.*s' comes by the resource '%.*s' already: as long "
                          "as that is there it counts",
                          UDPAI_SHOWN(udpai_bytes_view(there->name)),
                          UDPAI_SHOWN(udpai_source_by(there)));
    return UDPA_OK;
}

/* Ends what this version takes the place of: a source of another name, or of another kind. */
static bool
make_way(udpai_source *former, const udpai_source *source, udpai_source_kind kind)
{
    return !former || (former == source && former->kind == kind) || leave(former);
}

static bool
is_same(const udpai_source *source, const udpa_resource *resource)
{
    udpai_str payload;
    payload.data = udpa_resource_payload(resource, &payload.len);
    return udpai_str_eq(udpai_bytes_view(source->dynamic->payload), payload);
}

udpa_err
udpai_dynamic_source_set(udpai_dynamic *all,
                         const udpai_dynamic_source_config *config,
                         const udpa_resource *resource,
                         udpa_error **ret_error)
{
    udpai_str by = udpai_resource_name(resource);
    udpai_source *source = udpai_sources_get(all->sources, config->name);
    udpai_source *former = find_by(all, by);
    struct version version = {.config = config};
    udpa_err err = check_name(source, by, ret_error);
    if (err == UDPA_OK && former && former == source && is_same(source, resource))
        return UDPA_OK;
    if (err == UDPA_OK && !former)
        err = check_room(all, false, ret_error);
    if (err == UDPA_OK)
        err = version_init(all, &version, resource, ret_error);
    if (err == UDPA_OK && !source)
        err = add(all, config->name, &source, ret_error);
    if (err == UDPA_OK && !make_way(former, source, config->kind))
        err = udpai_fail_code(ret_error, UDPA_ERR_NOMEM);
    if (err == UDPA_OK)
        put_version(source, &version);
    version_done(all, &version);
    udpai_context_touch(all->context);
    return err;
}

bool
udpai_dynamic_source_end(udpai_dynamic *all, udpai_str by)
{
    const udpai_dynamic_sources_config *how = &all->config;
    udpai_source *source = find_by(all, by);
    if (source && !leave(source))
        return false;
    if (source)
        how->ended(how->userdata, udpai_bytes_view(source->name));
    return true;
}
