/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/deprecations.h"

#include <pthread.h>
#include <stdio.h>

#include "base/alloc.h"
#include "base/log.h"
#include "base/strbuf.h"
#include "daemon/seen_once.h"
#include "loop/clock.h"
#include "model/type_url.h"
#include "runtime/deprecated.h"

/* Peers can provoke these lines, one with each new name. */
#define LINES_AT_ONCE 100

_Static_assert(sizeof(UDPAI_RUNTIME_DEPRECATED) == sizeof(UDPAI_DEPRECATED_KEY),
               "what errors name is what the runtime is asked for");

struct udpai_deprecations {
    udpai_runtime *runtime; /* NULL: there is none yet */
    pthread_mutex_t mutex;  /* of the following */
    udpai_seen_once reported;
    udpai_log_limit limit;
};

udpai_deprecations *
udpai_deprecations_new(void)
{
    udpai_deprecations *self = udpai_alloc(sizeof(*self));
    if (!self)
        return NULL;
    udpai_seen_once_init(&self->reported);
    pthread_mutex_init(&self->mutex, NULL); /* cannot fail on Linux */
    return self;
}

void
udpai_deprecations_free(udpai_deprecations *self)
{
    if (!self)
        return;
    udpai_seen_once_done(&self->reported);
    pthread_mutex_destroy(&self->mutex);
    udpai_free(self);
}

void
udpai_deprecations_set_runtime(udpai_deprecations *self, udpai_runtime *runtime)
{
    self->runtime = runtime;
}

/* ---- what the runtime allows ---- */

bool
udpai_deprecations_allows(void *userdata, const udpai_deprecated *feature)
{
    const udpai_deprecations *self = userdata;
    if (!self->runtime)
        return !feature->is_disallowed;
    udpai_runtime_snapshot *now = udpai_runtime_current_take(&self->runtime->current);
    bool allows =
        udpai_runtime_allows_deprecated(now, udpai_str_from(feature->name), feature->is_disallowed);
    udpai_runtime_snapshot_unref(now);
    return allows;
}

/* ---- what was logged ---- */

/* Type, zero, name. */
static void
put_key(udpai_strbuf *key, const udpa_resource *resource)
{
    udpai_strbuf_str(key, udpai_resource_type_url(resource));
    udpai_strbuf_str(key, (udpai_str){"", 1});
    udpai_strbuf_str(key, udpai_resource_name(resource));
}

/* Shall it be logged? With how many others that were not. */
static bool
note(udpai_deprecations *self, udpai_str key, const char *name, unsigned *ret_n_suppressed)
{
    pthread_mutex_lock(&self->mutex);
    bool is_reported =
        !udpai_seen_once_has(&self->reported, key, name) &&
        udpai_log_allow_burst(&self->limit, LINES_AT_ONCE, udpai_monotonic_ms(), ret_n_suppressed);
    if (is_reported)
        udpai_seen_once_add(&self->reported, key, name);
    pthread_mutex_unlock(&self->mutex);
    return is_reported;
}

static void
write_line(const udpai_inspected *by, const udpai_deprecated *feature, unsigned n_suppressed)
{
    udpai_str type = udpai_type_url_name(udpai_resource_type_url(by->resource));
    udpai_str from = by->from.len ? by->from : UDPAI_STR("a peer without a name");
    char more[48] = "";
    if (n_suppressed)
        snprintf(more, sizeof(more), " (%u more not shown)", n_suppressed);
    udpai_log(UDPA_LOG_WARNING, "validation",
              "using deprecated %s '%s' from %.*s '%s' of %.*s, at %.*s%s%s%s",
              feature->holder ? "value" : "option", feature->name, UDPAI_SHOWN(type),
              udpa_resource_name(by->resource), UDPAI_SHOWN(from),
              UDPAI_SHOWN(udpai_str_from(feature->path)),
              feature->is_default ? ", which was left out and has it by default" : "",
              feature->is_disallowed ? "; it is disallowed, but the runtime allows it" : "", more);
}

void
udpai_deprecations_used(void *userdata, const udpai_inspected *by, const udpai_deprecated *feature)
{
    udpai_deprecations *self = userdata;
    unsigned n_suppressed = 0;
    udpai_strbuf key = {0};
    if (self->runtime)
        udpai_runtime_count_deprecated(self->runtime, feature->n_uses);
    put_key(&key, by->resource);
    if (!udpai_strbuf_failed(&key) &&
        note(self, udpai_strbuf_view(&key), feature->name, &n_suppressed))
        write_line(by, feature, n_suppressed);
    udpai_strbuf_done(&key);
}

void
udpai_deprecations_forget(udpai_deprecations *self, const udpa_resource *resource)
{
    udpai_strbuf key = {0};
    put_key(&key, resource);
    pthread_mutex_lock(&self->mutex);
    if (!udpai_strbuf_failed(&key))
        udpai_seen_once_forget(&self->reported, udpai_strbuf_view(&key));
    pthread_mutex_unlock(&self->mutex);
    udpai_strbuf_done(&key);
}

size_t
udpai_deprecations_n_remembered(udpai_deprecations *self)
{
    pthread_mutex_lock(&self->mutex);
    size_t n = self->reported.n;
    pthread_mutex_unlock(&self->mutex);
    return n;
}
