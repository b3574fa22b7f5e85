/* SPDX-License-Identifier: Apache-2.0 */
/* One source that comes by a resource: awaited, there, and removed again. */
#include "federation/dynamic_internal.h"

#include "base/alloc.h"

#define MOVES_LOGGED_MAX 100 /* in 10 s */

/* As long as for groups of clients that do not come back. */
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

/* Does nothing here name it? */
static bool
is_unused(const udpai_source *source)
{
    const udpai_dynamic_source *dynamic = udpai_source_dynamic(source);
    return dynamic && udpai_source_is_absent(source) && !dynamic->is_configured &&
           (udpai_source_is_void(source) || !dynamic->may_have) &&
           !udpai_source_next_scope(source, NULL);
}

static void
remove_source(udpai_source *source)
{
    udpai_dynamic_source_free(udpai_source_dynamic(source));
    udpai_source_end(source);
}

/* The table must not change while it is iterated: one at a time. */
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

static bool
is_settled(const udpai_dynamic *all)
{
    return udpai_settled_query(udpai_sync_settled(all->sync), UDPAI_STR(UDPAI_DYNAMIC_SOURCE_TYPE),
                               (udpai_str){"", 0}, (udpai_str){0}) == UDPAI_SETTLED;
}

/* No other has taken its place, or it has not come: all that came by it goes together. */
static void
on_patience_end(udpai_timer *timer)
{
    udpai_dynamic_source *self = UDPAI_CONTAINER_OF(timer, udpai_dynamic_source, patience);
    udpai_source *source = self->source;
    udpai_dynamic *all = self->all;
    bool is_ended = self->was_taken_back || is_settled(all);
    if (!is_ended || !udpai_store_forget_origin(all->context->store, udpai_source_origin(source))) {
        udpai_timer_set(all->context->wheel, timer, udpai_context_now(all->context) + AGAIN_MS);
        return;
    }
    udpai_source_make_void(source);
    all->is_untidy = true; /* providers let go of it first */
}

/* ---- awaiting one ---- */

/* NULL without memory. */
static udpai_dynamic_source *
new_source(udpai_dynamic *all, udpai_source *source)
{
    udpai_dynamic_source *dynamic = udpai_alloc(sizeof(*dynamic));
    if (!dynamic)
        return NULL;
    dynamic->all = all;
    dynamic->source = source;
    udpai_timer_init(&dynamic->patience, on_patience_end);
    return dynamic;
}

static udpa_err
add(udpai_dynamic *all, udpai_str name, udpai_source **ret_source, udpa_error **ret_error)
{
    const udpai_dynamic_sources_config *config = &all->config;
    udpai_dynamic_source *dynamic = new_source(all, NULL);
    const udpai_source_config as_source = {
        .name = name,
        .kind = UDPAI_SOURCE_UDPA,
        .ref_target = config->ref_target,
        .release_target = config->release_target,
    };
    udpa_err err = dynamic ? udpai_sources_add(all->sources, &as_source, true, ret_error)
                           : udpai_fail_code(ret_error, UDPA_ERR_NOMEM);
    if (err != UDPA_OK) {
        udpai_dynamic_source_free(dynamic);
        return err;
    }
    udpai_source *source = udpai_sources_get(all->sources, name);
    dynamic->source = source;
    udpai_source_set_dynamic(source, dynamic);
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
        n += udpai_source_dynamic(source) && udpai_source_is_absent(source) == absent;
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
                      absent ? "that are not there are named" : "are defined by resources");
}

udpa_err
udpai_dynamic_source_find(void *userdata,
                          udpai_str name,
                          udpai_awaited_by by,
                          const udpai_source **ret_source,
                          udpa_error **ret_error)
{
    udpai_dynamic *all = userdata;
    udpai_source *source = udpai_sources_get(all->sources, name);
    udpa_err err = UDPA_OK;
    if (!source && udpai_dynamic_source_is_name(name)) {
        all->is_untidy = true; /* tidied up later: some may be about to be used */
        if (by == UDPAI_AWAITED_BY_RESOURCE)
            err = check_room(all, true, ret_error);
        if (err == UDPA_OK)
            err = add(all, name, &source, ret_error);
    }
    udpai_dynamic_source *dynamic = source ? udpai_source_dynamic(source) : NULL;
    if (err == UDPA_OK && dynamic) {
        dynamic->is_configured |= by == UDPAI_AWAITED_BY_CONFIGURATION;
        dynamic->may_have |= by == UDPAI_AWAITED_BY_CONTENTS;
    }
    *ret_source = source;
    return err;
}

/* ---- there and removed ---- */

/* As if it were lost; and it is not dialled again. False: without memory nothing has changed. */
static bool
leave(udpai_source *source)
{
    udpai_dynamic_source *dynamic = udpai_source_dynamic(source);
    udpai_dynamic *all = dynamic->all;
    if (!udpai_source_leave(source))
        return false;
    dynamic->payload = udpa_bytes_unref(dynamic->payload);
    dynamic->was_taken_back = true;
    udpai_timer_set(all->context->wheel, &dynamic->patience,
                    udpai_context_now(all->context) + all->context->timing.interest_linger_ms);
    udpai_follower_look_again(all->sources_follower);
    return true;
}

static void
appear(udpai_dynamic_source *dynamic, void *target)
{
    udpai_timer_cancel(&dynamic->patience);
    dynamic->was_taken_back = false;
    dynamic->may_have = true;
    udpai_source_appear(dynamic->source, target);
    udpai_follower_look_again(dynamic->all->delegations);
}

struct version {
    udpai_source_version source;
    udpa_bytes *payload;
    void *target;
};

static void
version_done(udpai_dynamic *all, struct version *version)
{
    udpa_bytes_unref(version->source.by);
    udpa_bytes_unref(version->source.address);
    udpa_bytes_unref(version->payload);
    if (version->target)
        all->config.release_target(version->target);
}

static udpa_err
version_init(udpai_dynamic *all,
             struct version *version,
             const udpai_dynamic_source_config *config,
             const udpa_resource *resource,
             udpa_error **ret_error)
{
    const udpai_dynamic_sources_config *how = &all->config;
    udpai_str name = udpai_resource_name(resource), payload;
    payload.data = udpa_resource_payload(resource, &payload.len);
    version->source.kind = config->kind;
    udpa_err err = udpa_bytes_new(&version->source.by, name.data, name.len);
    if (err == UDPA_OK)
        err = udpa_bytes_new(&version->payload, payload.data, payload.len);
    if (err == UDPA_OK)
        err = udpa_bytes_new(&version->source.address, config->address.data, config->address.len);
    return err == UDPA_OK ? how->make_target(how->userdata, config, &version->target, ret_error)
                          : udpai_fail_code(ret_error, err);
}

/* One change is no failure; a target that goes on changing is dialled no more often than one that
 * fails. */
static void
move(udpai_dynamic_source *dynamic, void *target)
{
    const udpai_context *context = dynamic->all->context;
    bool is_quick = udpai_context_now(context) < dynamic->quiet_until_ms;
    dynamic->quiet_until_ms = udpai_context_now(context) + context->timing.backoff_max_ms;
    udpai_source_move(dynamic->source, target, is_quick);
}

/* A publisher may change it all the time. */
static void
log_address(udpai_source *source, const udpai_dynamic_source_config *config)
{
    udpai_dynamic *all = udpai_source_dynamic(source)->all;
    char more[UDPAI_LOG_MORE_MAX];
    unsigned n_suppressed;
    udpai_str by = udpai_source_by(source);
    if (udpai_log_allow_burst(&all->moved_log, MOVES_LOGGED_MAX, udpai_context_now(all->context),
                              &n_suppressed))
        udpai_log_about(UDPA_LOG_INFO, "federation",
                        UDPAI_ABOUT({UDPAI_LOG_SOURCE, config->name},
                                    {UDPAI_LOG_ADDRESS, config->address}, {UDPAI_LOG_NAME, by}),
                        "source %.*s: address %.*s, by resource '%.*s'%s",
                        UDPAI_SHOWN(config->name), UDPAI_SHOWN(config->address), UDPAI_SHOWN(by),
                        udpai_log_more(more, n_suppressed));
}

static void
put_version(udpai_source *source,
            struct version *version,
            const udpai_dynamic_source_config *config)
{
    udpai_dynamic_source *dynamic = udpai_source_dynamic(source);
    udpa_bytes_unref(dynamic->payload);
    dynamic->payload = UDPAI_TAKE(version->payload);
    udpai_source_set_version(source, &version->source);
    if (udpai_source_is_absent(source))
        appear(dynamic, UDPAI_TAKE(version->target));
    else
        move(dynamic, UDPAI_TAKE(version->target));
    log_address(source, config);
}

/* The source that the resource has made; NULL: none. */
static udpai_source *
find_by(const udpai_dynamic *all, udpai_str by)
{
    size_t at = 0;
    udpai_source *source;
    while ((source = udpai_sources_next(all->sources, &at)))
        if (!udpai_source_is_absent(source) && udpai_str_eq(udpai_source_by(source), by))
            return source;
    return NULL;
}

static udpa_err
check_name(const udpai_source *there, udpai_str by, udpa_error **ret_error)
{
    if (there && !udpai_source_dynamic(there))
        return udpai_fail(ret_error, UDPA_ERR_INVAL,
                          "this node's configuration has a ConfigSource '%.*s', which no resource "
                          "takes the place of: give it another name",
                          UDPAI_SHOWN(udpai_source_name(there)));
    if (there && !udpai_source_is_absent(there) && !udpai_str_eq(udpai_source_by(there), by))
        return udpai_fail(ret_error, UDPA_ERR_INVAL,
                          "the ConfigSource '%.*s' is defined by the resource '%.*s' already, "
                          "which is effective until it is removed",
                          UDPAI_SHOWN(udpai_source_name(there)),
                          UDPAI_SHOWN(udpai_source_by(there)));
    return UDPA_OK;
}

/* Ends what this version takes the place of: a source of another name, or of another kind. */
static bool
leave_former(udpai_source *former, const udpai_source *source, udpai_source_kind kind)
{
    return !former || (former == source && udpai_source_kind_of(former) == kind) || leave(former);
}

static bool
is_same(const udpai_source *source, const udpa_resource *resource)
{
    udpai_str payload;
    payload.data = udpa_resource_payload(resource, &payload.len);
    return udpai_str_eq(udpai_bytes_view(udpai_source_dynamic(source)->payload), payload);
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
    struct version version = {0};
    udpa_err err = check_name(source, by, ret_error);
    if (err == UDPA_OK && former && former == source && is_same(source, resource))
        return UDPA_OK;
    if (err == UDPA_OK && !former)
        err = check_room(all, false, ret_error);
    if (err == UDPA_OK)
        err = version_init(all, &version, config, resource, ret_error);
    if (err == UDPA_OK && !source)
        err = add(all, config->name, &source, ret_error);
    if (err == UDPA_OK && !leave_former(former, source, config->kind))
        err = udpai_fail_code(ret_error, UDPA_ERR_NOMEM);
    if (err == UDPA_OK)
        put_version(source, &version, config);
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
        how->ended(how->userdata, udpai_source_name(source));
    return true;
}

/* ---- of the configuration ---- */

struct udpai_dynamic_leaving {
    udpai_dynamic_source *made;
    udpai_order *hang_up;
};

void
udpai_dynamic_leaving_free(udpai_dynamic_leaving *leaving)
{
    if (!leaving)
        return;
    udpai_dynamic_source_free(leaving->made);
    udpai_order_free(leaving->hang_up);
    udpai_free(leaving);
}

udpai_dynamic_leaving *
udpai_dynamic_leaving_new(udpai_dynamic *all, udpai_source *source)
{
    udpai_dynamic_leaving *leaving = udpai_alloc(sizeof(*leaving));
    if (!leaving)
        return NULL;
    leaving->hang_up = udpai_order_new(UDPAI_ORDER_HANG_UP);
    leaving->made = new_source(all, source);
    if (leaving->made && leaving->hang_up)
        return leaving;
    udpai_dynamic_leaving_free(leaving);
    return NULL;
}

void
udpai_dynamic_leaving_apply(udpai_dynamic_leaving *leaving)
{
    udpai_dynamic_source *made = UDPAI_TAKE(leaving->made);
    udpai_dynamic *all = made->all;
    made->may_have = made->was_taken_back = true;
    udpai_source_leave_configuration(made->source, UDPAI_TAKE(leaving->hang_up));
    udpai_source_set_dynamic(made->source, made);
    udpai_timer_set(all->context->wheel, &made->patience,
                    udpai_context_now(all->context) + all->context->timing.interest_linger_ms);
    udpai_follower_look_again(all->sources_follower);
    udpai_dynamic_leaving_free(leaving);
}

void
udpai_dynamic_configure(udpai_dynamic *all, udpai_source *source)
{
    udpai_dynamic_source *dynamic = udpai_source_dynamic(source);
    if (!dynamic)
        return;
    if (!udpai_source_is_absent(source))
        all->config.ended(all->config.userdata, udpai_source_name(source));
    udpai_dynamic_source_free(dynamic);
    udpai_source_set_dynamic(source, NULL);
    udpai_follower_look_again(all->sources_follower);
    udpai_follower_look_again(all->delegations);
}

static void
note_configured(const udpai_dynamic *all, const udpai_provider_config *provider)
{
    for (size_t i = 0; i < provider->n_descriptors; i++) {
        const udpai_source *source =
            udpai_sources_get(all->sources, provider->descriptors[i].source);
        if (source && udpai_source_dynamic(source))
            udpai_source_dynamic(source)->is_configured = true;
    }
}

void
udpai_dynamic_take_providers(udpai_dynamic *all, const udpai_node_config *config)
{
    size_t at = 0;
    const udpai_source *source;
    while ((source = udpai_sources_next(all->sources, &at)))
        if (udpai_source_dynamic(source))
            udpai_source_dynamic(source)->is_configured = false;
    for (size_t i = 0; i < config->n_providers; i++)
        note_configured(all, &config->providers[i]);
    all->is_untidy = true;
}
