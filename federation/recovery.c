/* SPDX-License-Identifier: Apache-2.0 */
/* Waiting for the standby: a node that comes back sends no not-found and no removal of what it may
 * have missed until it has received it, or cannot. */
#include "federation/recovery.h"

#include "base/alloc.h"
#include "federation/connection.h"
#include "federation/lapse.h"
#include "federation/provider.h"
#include "federation/source_internal.h"

#define HURRY_PAUSE_MS 1000

static bool
is_complete(const udpai_recovery *recovery)
{
    for (size_t i = 0; i < recovery->scopes.n; i++)
        if (!recovery->scopes.items[i]->is_complete)
            return false;
    return true;
}

static void
end_wait(udpai_recovery *recovery)
{
    if (!recovery->is_waiting)
        return;
    recovery->is_waiting = false;
    udpai_timer_cancel(&recovery->end_of_wait);
    udpai_source_touch(recovery->source);
}

static void
give_up_waiting(udpai_recovery *recovery, const char *why)
{
    udpai_str name = udpai_bytes_view(recovery->source->name);
    if (!recovery->is_waiting || is_complete(recovery)) {
        end_wait(recovery);
        return;
    }
    udpai_log_about(
        UDPA_LOG_WARNING, "federation", UDPAI_ABOUT({UDPAI_LOG_SOURCE, name}),
        "source %.*s: %s: what was published to it while this node was away is not known, "
        "and is taken over when it connects",
        UDPAI_SHOWN(name), why);
    end_wait(recovery);
}

static void
on_end_of_wait(udpai_timer *timer)
{
    give_up_waiting(UDPAI_CONTAINER_OF(timer, udpai_recovery, end_of_wait),
                    "it has not synchronized in time");
}

static void
begin_wait(udpai_recovery *recovery)
{
    const udpai_sources *sources = recovery->source->owner;
    if (recovery->scopes.n == 0 || recovery->is_waiting)
        return;
    recovery->is_waiting = true;
    udpai_timer_set(sources->context->wheel, &recovery->end_of_wait,
                    udpai_context_now(sources->context) +
                        sources->context->timing.recover_timeout_ms);
    udpai_source_touch(recovery->source);
}

void
udpai_recovery_start(udpai_sources *sources)
{
    udpai_origin *origin =
        udpai_store_find_origin(sources->context->store, UDPAI_STR(UDPAI_ORIGIN_KEY_ADOPTED));
    if (origin)
        udpai_store_drop_adopted(sources->context->store, origin);
    udpai_source *source = NULL;
    while ((source = udpai_sources_next_own(sources, source))) {
        if (source->recovery)
            begin_wait(source->recovery);
    }
}

void
udpai_recovery_opened(udpai_source *source)
{
    if (source->recovery)
        begin_wait(source->recovery);
}

/* In the beginning it may be about to start, as we are. */
void
udpai_recovery_closed(udpai_source *source)
{
    if (source->recovery && source->is_decided)
        give_up_waiting(source->recovery, "it cannot be reached");
}

/* A client that comes may come back from the standby, and must not be sent what is older than what
 * it has: until the attempt has failed, that is not known here. */
void
udpai_recovery_hurry(udpai_sources *sources)
{
    udpai_source *source = NULL;
    while ((source = udpai_sources_next_own(sources, source))) {
        udpai_recovery *recovery = source->recovery;
        if (!recovery || recovery->scopes.n == 0 || source->state != UDPAI_SOURCE_WAITING ||
            udpai_context_now(sources->context) < recovery->hurried_ms + HURRY_PAUSE_MS)
            continue;
        recovery->hurried_ms = udpai_context_now(sources->context);
        begin_wait(recovery);
        udpai_source_dial_now(source);
    }
}

const udpai_scope *
udpai_source_next_recovered(const udpai_source *source, size_t *at)
{
    const udpai_recovery *recovery = source->recovery;
    return recovery && *at < recovery->scopes.n ? recovery->scopes.items[(*at)++] : NULL;
}

bool
udpai_scope_is_awaited(const udpai_scope *scope)
{
    return scope->source->recovery->is_waiting && !scope->is_complete;
}

/* ---- making one ---- */

static udpa_err
add_scope(udpai_recovery *recovery, udpai_str type_url, udpai_str prefix)
{
    udpai_scope *scope = udpai_scope_new(recovery->source, type_url, prefix, false);
    if (!scope)
        return UDPA_ERR_NOMEM;
    if (!udpai_vector_push(&recovery->scopes, scope)) {
        udpai_scope_free(scope);
        return UDPA_ERR_NOMEM;
    }
    scope->is_requested = scope->recovers = true;
    scope->is_known = true; /* what it sent on an earlier stream does not hold for this one */
    return UDPA_OK;
}

static udpa_err
add_scopes(udpai_recovery *recovery, const udpai_recover_config *config)
{
    const udpai_str all = {"", 0};
    size_t n_prefixes = config->n_prefixes ? config->n_prefixes : 1;
    udpa_err err = UDPA_OK;
    for (size_t i = 0; i < config->n_types && err == UDPA_OK; i++)
        for (size_t k = 0; k < n_prefixes && err == UDPA_OK; k++)
            err = add_scope(recovery, config->types[i],
                            config->n_prefixes ? config->prefixes[k] : all);
    return err;
}

static udpa_err
add_standby_for(udpai_recovery *recovery, const udpai_source_config *config)
{
    udpa_err err = UDPA_OK;
    for (size_t i = 0; i < config->n_standby_for && err == UDPA_OK; i++) {
        udpa_bytes *type = NULL;
        err = udpa_bytes_new(&type, config->standby_for[i].data, config->standby_for[i].len);
        if (err == UDPA_OK && !udpai_vector_push(&recovery->standby_for, type)) {
            udpa_bytes_unref(type);
            err = UDPA_ERR_NOMEM;
        }
    }
    return err;
}

udpa_err
udpai_recovery_new(udpai_source *source, const udpai_source_config *config, udpa_error **ret_error)
{
    if (config->recover.n_types == 0 && config->n_standby_for == 0)
        return UDPA_OK;
    if (config->kind != UDPAI_SOURCE_UDPA && config->kind != UDPAI_SOURCE_UDPA_LISTEN)
        return udpai_fail(ret_error, UDPA_ERR_INVAL,
                          "the ConfigSource '%.*s' does not speak UDPA: it can neither be a "
                          "standby nor have one, and nothing can be taken over",
                          UDPAI_SHOWN(config->name));
    udpai_recovery *recovery = udpai_alloc(sizeof(*recovery));
    if (!recovery)
        return udpai_fail_code(ret_error, UDPA_ERR_NOMEM);
    recovery->source = source;
    udpai_timer_init(&recovery->end_of_wait, on_end_of_wait);
    source->recovery = recovery;
    source->owner->context->recovers |= config->recover.n_types > 0;
    recovery->is_off = source->owner->context->is_restored && config->recover.n_types > 0;
    udpa_err err = recovery->is_off ? UDPA_OK : add_scopes(recovery, &config->recover);
    if (err == UDPA_OK)
        err = add_standby_for(recovery, config);
    return udpai_fail_code(ret_error, err);
}

/* The scopes are the source's. */
udpai_recovery *
udpai_recovery_free(udpai_recovery *recovery)
{
    if (!recovery)
        return NULL;
    udpai_timer_cancel(&recovery->end_of_wait);
    for (size_t i = 0; i < recovery->standby_for.n; i++)
        udpa_bytes_unref(recovery->standby_for.items[i]);
    udpai_vector_done(&recovery->standby_for);
    udpai_vector_done(&recovery->scopes);
    udpai_free(recovery);
    return NULL;
}

/* ---- another one ---- */

static bool
is_scope(const udpai_scope *scope, udpai_str type_url, udpai_str prefix)
{
    return udpai_str_eq(udpai_bytes_view(scope->type), type_url) &&
           udpai_str_eq(udpai_bytes_view(scope->prefix), prefix);
}

static bool
are_scopes(const udpai_recovery *recovery, const udpai_recover_config *config)
{
    const udpai_str all = {"", 0};
    size_t n_prefixes = config->n_prefixes ? config->n_prefixes : 1;
    bool are = recovery->scopes.n == config->n_types * n_prefixes;
    for (size_t i = 0; are && i < recovery->scopes.n; i++)
        are = is_scope(recovery->scopes.items[i], config->types[i / n_prefixes],
                       config->n_prefixes ? config->prefixes[i % n_prefixes] : all);
    return are;
}

bool
udpai_recovery_is(const udpai_source *source, const udpai_source_config *config)
{
    const udpai_recovery *recovery = source->recovery;
    if (!recovery)
        return config->recover.n_types == 0 && config->n_standby_for == 0;
    bool is =
        recovery->standby_for.n == config->n_standby_for && are_scopes(recovery, &config->recover);
    for (size_t i = 0; is && i < config->n_standby_for; i++)
        is = udpai_str_eq(udpai_bytes_view(recovery->standby_for.items[i]), config->standby_for[i]);
    return is;
}

void
udpai_recovery_end(udpai_source *source)
{
    udpai_recovery *recovery = source->recovery;
    if (!recovery)
        return;
    for (size_t i = 0; i < recovery->scopes.n; i++)
        udpai_scope_give_up(recovery->scopes.items[i]);
    source->recovery = udpai_recovery_free(recovery);
    udpai_source_touch(source);
}

void
udpai_recovery_replace(udpai_source *source, udpai_source *made)
{
    udpai_recovery_end(source);
    udpai_recovery *recovery = UDPAI_TAKE(made->recovery);
    if (!recovery)
        return;
    recovery->source = source;
    source->recovery = recovery;
    for (size_t i = 0; i < recovery->scopes.n; i++) {
        udpai_scope *scope = recovery->scopes.items[i];
        scope->source = source;
        udpai_list_remove(&scope->in_source);
        udpai_list_append(&source->scopes, &scope->in_source);
    }
    begin_wait(recovery);
}

/* ---- what was learned ---- */

bool
udpai_source_recovers(const udpai_source *source, udpai_str type_url, udpai_str name)
{
    const udpai_recovery *recovery = source->recovery;
    for (size_t i = 0; recovery && i < recovery->scopes.n; i++)
        if (udpai_scope_covers(recovery->scopes.items[i], type_url, name))
            return true;
    return false;
}

void
udpai_source_note_adopted(udpai_source *source, const udpa_resource *resource)
{
    udpai_sources *sources = source->owner;
    unsigned n_suppressed;
    source->recovery->n_adopted++;
    if (udpai_log_allow(&sources->adopted_log, udpai_context_now(sources->context), &n_suppressed))
        udpai_log_about(
            UDPA_LOG_INFO, "federation",
            UDPAI_ABOUT({UDPAI_LOG_SOURCE, udpai_bytes_view(source->name)},
                        {UDPAI_LOG_TYPE, udpai_resource_type_url(resource)},
                        {UDPAI_LOG_NAME, udpai_resource_name(resource)}),
            "resource '%s' taken over from source %.*s, which has a newer version (%u more "
            "not shown)",
            udpa_resource_name(resource), UDPAI_SHOWN(udpai_bytes_view(source->name)),
            n_suppressed);
}

bool
udpai_source_is_primary(const udpai_source *source, udpai_str type_url)
{
    const udpai_recovery *recovery = source->recovery;
    for (size_t i = 0; recovery && i < recovery->standby_for.n; i++)
        if (udpai_str_eq(udpai_bytes_view(recovery->standby_for.items[i]), type_url))
            return true;
    return false;
}

bool
udpai_source_has_recovery(const udpai_source *source)
{
    return source->recovery != NULL;
}
