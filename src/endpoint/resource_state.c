/* SPDX-License-Identifier: Apache-2.0 */
/* What has become of resources: kept for each version of each name, and reported while the name has
 * a subscription. */
#include <udpa/resource_state.h>

#include "base/alloc.h"
#include "base/log.h"
#include "base/map.h"
#include "base/utf8.h"
#include "base/vector.h"
#include "endpoint/host.h"
#include "endpoint/reporting.h"
#include "loop/clock.h"
#include "model/name.h"

#define NAMES_MAX 65536
#define VERSIONS_MAX 16
#define WAITS_FOR_MAX 16
#define TEXT_MAX 1024
#define TTL_MS 60000

/* Fields of the messages (proto/udpa/status/v1/status.proto). */
enum {
    STATE_NAME = 1,
    STATE_VERSIONS,
};

enum {
    VERSION_TYPE_URL = 1,
    VERSION_VERSION,
    VERSION_PHASE,
    VERSION_SINCE,
    VERSION_WAITS_FOR,
    VERSION_REASON,
};

enum {
    TIMESTAMP_SECONDS = 1,
    TIMESTAMP_NANOS,
};

typedef struct udpai_version_state {
    udpai_str type_url, version; /* owned, in one piece that begins with the type */
    udpa_resource_phase phase;
    int64_t since_us; /* when it came into this phase */
    udpa_bytes *body; /* serialised VersionState */
} udpai_version_state;

/* Of one name. */
typedef struct udpai_state {
    udpai_str name; /* of the first resource that had one; owned, with a NUL behind it */
    bool is_reported;
    UDPAI_VECTOR(udpai_version_state) versions;
} udpai_state;

typedef struct udpai_states {
    udpai_service service;
    udpa_endpoint *endpoint;
    udpai_map by_name;
    udpai_log_limit failures;
} udpai_states;

static udpai_states *
of(udpai_service *service)
{
    return UDPAI_CONTAINER_OF(service, udpai_states, service);
}

static udpai_str
state_key(const void *item)
{
    return ((const udpai_state *)item)->name;
}

static void
free_version(udpai_version_state *version)
{
    udpai_free((char *)(uintptr_t)version->type_url.data);
    udpa_bytes_unref(version->body);
}

static void
free_state(udpai_state *state)
{
    for (size_t i = 0; i < state->versions.n; i++)
        free_version(&state->versions.items[i]);
    udpai_vector_done(&state->versions);
    udpai_free((char *)(uintptr_t)state->name.data);
    udpai_free(state);
}

static void
free_states(udpai_service *service)
{
    udpai_states *states = of(service);
    size_t at = 0;
    udpai_state *state;
    while ((state = udpai_map_next(&states->by_name, &at)))
        free_state(state);
    udpai_map_done(&states->by_name);
    udpai_free(states);
}

/* ---- reporting ---- */

static void
put_versions(udpai_proto_writer *writer, const void *what)
{
    const udpai_state *state = what;
    udpai_proto_put_bytes(writer, STATE_NAME, state->name);
    for (size_t i = 0; i < state->versions.n; i++)
        udpai_proto_put_bytes(writer, STATE_VERSIONS,
                              udpai_bytes_view(state->versions.items[i].body));
}

static udpa_err
report(const udpai_states *states, udpai_state *state, udpa_error **ret_error)
{
    UDPA_AUTO(udpa_bytes_unref) udpa_bytes *body = udpai_proto_encode(put_versions, state);
    if (!body)
        return udpai_fail_code(ret_error, UDPA_ERR_NOMEM);
    udpa_report_options options = UDPA_REPORT_OPTIONS_INIT;
    options.type_url = UDPAI_TYPE_RESOURCE_STATE;
    options.about = state->name.data;
    options.payload = udpa_bytes_data(body);
    options.payload_size = udpa_bytes_size(body);
    options.ttl_ms = TTL_MS;
    udpa_err err = udpai_report_put(states->endpoint, &options, ret_error);
    state->is_reported |= err == UDPA_OK;
    return err;
}

static void
withdraw(const udpai_states *states, udpai_state *state)
{
    if (state->is_reported)
        udpa_report_withdraw(states->endpoint, UDPAI_TYPE_RESOURCE_STATE, state->name.data);
    state->is_reported = false;
}

static bool
has_demand(const udpai_states *states, const udpai_state *state)
{
    return udpa_has_demand(states->endpoint, UDPAI_TYPE_RESOURCE_STATE, state->name.data);
}

/* Reports what there is, if it has a subscription. What cannot be reported now is with the next
 * change of the resource. */
static void
update(udpai_states *states, udpai_state *state)
{
    UDPA_AUTO(udpa_error_unref) udpa_error *error = NULL;
    unsigned n_suppressed;
    if (!has_demand(states, state))
        withdraw(states, state);
    else if (report(states, state, &error) != UDPA_OK &&
             udpai_log_allow(&states->failures, udpai_monotonic_ms(), &n_suppressed))
        udpai_log(UDPA_LOG_WARNING, "report",
                  "the state of resource '%.*s' is not reported: %s (%u more not shown)",
                  UDPAI_SHOWN(state->name), udpa_error_message(error), n_suppressed);
}

static void
update_below(udpai_states *states, udpai_str prefix)
{
    size_t at = 0;
    udpai_state *state;
    while ((state = udpai_map_next(&states->by_name, &at))) {
        UDPAI_AUTO_FREE char *name = udpai_report_name(states->endpoint, state->name);
        if (name && udpai_prefix_covers(prefix, udpai_str_from(name)))
            update(states, state);
    }
}

static void
on_demand(void *userdata, const udpa_demand *demand)
{
    udpai_states *states = userdata;
    if (strcmp(demand->type_url, UDPAI_TYPE_RESOURCE_STATE) != 0)
        return;
    if (demand->name_space) {
        update_below(states, udpai_str_from(demand->name_space));
        return;
    }
    udpai_str about = udpai_report_about(states->endpoint, udpai_str_from(demand->name));
    udpai_state *state = udpai_map_get(&states->by_name, about);
    if (state)
        update(states, state);
}

/* ---- one version ---- */

static void
put_since(udpai_proto_writer *writer, int64_t since_us)
{
    udpai_proto_put_varint_opt(writer, TIMESTAMP_SECONDS, (uint64_t)(since_us / 1000000));
    udpai_proto_put_varint_opt(writer, TIMESTAMP_NANOS, (uint64_t)(since_us % 1000000 * 1000));
}

static void
put_version(udpai_proto_writer *writer,
            const udpai_version_state *version,
            const udpa_resource_state *state)
{
    udpai_proto_writer since = {0};
    udpai_proto_put_bytes(writer, VERSION_TYPE_URL, version->type_url);
    udpai_proto_put_bytes(writer, VERSION_VERSION, version->version);
    udpai_proto_put_varint(writer, VERSION_PHASE, (uint64_t)version->phase);
    put_since(&since, version->since_us);
    udpai_proto_put_head(writer, VERSION_SINCE, since.size);
    put_since(writer, version->since_us);
    for (size_t i = 0; i < state->n_waits_for; i++)
        udpai_proto_put_bytes(writer, VERSION_WAITS_FOR, udpai_str_from(state->waits_for[i]));
    udpai_proto_put_bytes_opt(writer, VERSION_REASON, udpai_str_from(state->reason));
}

/* NULL without memory. */
static udpa_bytes *
encode(const udpai_version_state *version, const udpa_resource_state *state)
{
    udpai_proto_writer writer = {0};
    uint8_t *room;
    put_version(&writer, version, state);
    udpa_bytes *body = udpai_bytes_make(writer.size, &room);
    if (!body)
        return NULL;
    writer = (udpai_proto_writer){room, 0};
    put_version(&writer, version, state);
    return body;
}

static udpai_version_state *
find_version(const udpai_state *state, const udpa_resource *resource)
{
    for (size_t i = 0; i < state->versions.n; i++) {
        udpai_version_state *version = &state->versions.items[i];
        if (udpai_str_eq(version->type_url, udpai_resource_type_url(resource)) &&
            udpai_str_eq(version->version, udpai_resource_version(resource)))
            return version;
    }
    return NULL;
}

/* Copies the texts; false without memory. */
static bool
name_version(udpai_version_state *version, const udpa_resource *resource)
{
    udpai_str type_url = udpai_resource_type_url(resource), text = udpai_resource_version(resource);
    char *at = udpai_alloc(type_url.len + text.len);
    if (!at)
        return false;
    version->type_url = udpai_str_put(&at, type_url);
    version->version = udpai_str_put(&at, text);
    return true;
}

/* On failure nothing has changed. */
static udpa_err
set_version(udpai_state *state,
            const udpa_resource *resource,
            const udpa_resource_state *reported,
            bool *ret_has_changed,
            udpa_error **ret_error)
{
    udpai_version_state *known = find_version(state, resource);
    if (!known && state->versions.n >= VERSIONS_MAX)
        return udpai_fail(ret_error, UDPA_ERR_LIMIT,
                          "version '%s' of '%s' has no state: %d others of the name have one; "
                          "those that were removed must be reported as removed",
                          udpa_resource_version(resource), udpa_resource_name(resource),
                          VERSIONS_MAX);
    udpai_version_state next = {.phase = reported->phase};
    next.since_us = known && known->phase == reported->phase ? known->since_us : udpai_wall_us();
    if (name_version(&next, resource))
        next.body = encode(&next, reported);
    if (!next.body || (!known && !udpai_vector_reserve(&state->versions, 1))) {
        free_version(&next);
        return udpai_fail_code(ret_error, UDPA_ERR_NOMEM);
    }
    *ret_has_changed =
        !known || !udpai_str_eq(udpai_bytes_view(known->body), udpai_bytes_view(next.body));
    if (known)
        free_version(known);
    else
        known = &state->versions.items[state->versions.n++];
    *known = next;
    return UDPA_OK;
}

/* ---- what the application reports ---- */

static bool
is_text(const char *text)
{
    return text && strlen(text) <= TEXT_MAX && udpai_utf8_valid(udpai_str_from(text));
}

static udpa_err
check_details(const udpa_resource_state *state, udpa_error **ret_error)
{
    if (state->n_waits_for > WAITS_FOR_MAX ||
        (state->n_waits_for && state->phase != UDPA_RESOURCE_WARMING))
        return udpai_fail(ret_error, UDPA_ERR_INVAL,
                          "a resource waits for at most %d things, and while it is warming alone",
                          WAITS_FOR_MAX);
    for (size_t i = 0; i < state->n_waits_for; i++)
        if (!is_text(state->waits_for[i]))
            return udpai_fail(ret_error, UDPA_ERR_INVAL,
                              "what a resource waits for is no UTF-8, or longer than %d bytes",
                              TEXT_MAX);
    if (state->reason && (state->phase != UDPA_RESOURCE_FAILED || !is_text(state->reason)))
        return udpai_fail(ret_error, UDPA_ERR_INVAL,
                          "a reason is that of a failure, and at most %d bytes of UTF-8", TEXT_MAX);
    return UDPA_OK;
}

static udpa_err
check(const udpa_endpoint *endpoint, const udpa_resource_state *state, udpa_error **ret_error)
{
    if (state->struct_size < sizeof(*state))
        return udpai_fail(ret_error, UDPA_ERR_INVAL,
                          "udpa_resource_state: struct_size is %zu: begin with "
                          "UDPA_RESOURCE_STATE_INIT",
                          state->struct_size);
    if (state->phase < UDPA_RESOURCE_WARMING || state->phase > UDPA_RESOURCE_GONE)
        return udpai_fail(ret_error, UDPA_ERR_INVAL, "there is no phase %d of a resource",
                          (int)state->phase);
    if (udpai_endpoint_is_closing(endpoint))
        return udpai_fail(ret_error, UDPA_ERR_CLOSED, "the endpoint is being closed");
    return check_details(state, ret_error);
}

/* Made with the first state, so that an application that reports none watches nothing. */
static udpa_err
get_states(udpa_endpoint *endpoint, udpai_states **ret_states, udpa_error **ret_error)
{
    static const udpai_service_ops ops = {.free = free_states};
    udpai_service *service = udpai_endpoint_service(endpoint, UDPAI_PLACE_RESOURCE_STATES);
    udpa_demand_watch *watch; /* ends with the endpoint, as this */
    if (service) {
        *ret_states = of(service);
        return UDPA_OK;
    }
    udpai_states *states = udpai_alloc(sizeof(*states));
    if (!states)
        return udpai_fail_code(ret_error, UDPA_ERR_NOMEM);
    states->service.ops = &ops;
    states->endpoint = endpoint;
    udpai_map_init(&states->by_name, state_key);
    udpa_err err = udpa_demand_watch_new(&watch, endpoint, on_demand, states);
    if (err != UDPA_OK) {
        udpai_free(states);
        return udpai_fail_code(ret_error, err);
    }
    udpai_endpoint_put_service(endpoint, UDPAI_PLACE_RESOURCE_STATES, &states->service);
    *ret_states = states;
    return UDPA_OK;
}

static udpa_err
get_state(udpai_states *states, udpai_str name, udpai_state **ret_state, udpa_error **ret_error)
{
    *ret_state = udpai_map_get(&states->by_name, name);
    if (*ret_state)
        return UDPA_OK;
    if (states->by_name.n >= NAMES_MAX)
        return udpai_fail(ret_error, UDPA_ERR_LIMIT,
                          "'%.*s' has no state: %d names have one, as many as there may be",
                          UDPAI_SHOWN(name), NAMES_MAX);
    udpai_state *state = udpai_alloc(sizeof(*state));
    char *copy = udpai_strndup(name.data, name.len);
    if (state)
        state->name = (udpai_str){copy, name.len};
    if (!state || !copy || !udpai_map_add(&states->by_name, state)) {
        udpai_free(copy);
        udpai_free(state);
        return udpai_fail_code(ret_error, UDPA_ERR_NOMEM);
    }
    *ret_state = state;
    return UDPA_OK;
}

/* Without any version there is nothing to report. */
static void
settle(udpai_states *states, udpai_state *state)
{
    if (state->versions.n) {
        update(states, state);
        return;
    }
    withdraw(states, state);
    udpai_map_remove(&states->by_name, state->name);
    free_state(state);
}

static void
remove_version(udpai_states *states, const udpa_resource *resource)
{
    udpai_state *state = udpai_map_get(&states->by_name, udpai_resource_name(resource));
    udpai_version_state *version = state ? find_version(state, resource) : NULL;
    if (!version)
        return;
    free_version(version);
    size_t index = (size_t)(version - state->versions.items);
    memmove(version, version + 1, (--state->versions.n - index) * sizeof(*version));
    settle(states, state);
}

udpa_err
udpa_resource_state_set(udpa_endpoint *endpoint,
                        const udpa_resource *resource,
                        const udpa_resource_state *state,
                        udpa_error **ret_error)
{
    udpai_states *states = NULL;
    udpa_err err = check(endpoint, state, ret_error);
    if (err == UDPA_OK)
        err = get_states(endpoint, &states, ret_error);
    if (err != UDPA_OK)
        return err;
    udpai_state *of_name = NULL;
    if (state->phase == UDPA_RESOURCE_GONE) {
        remove_version(states, resource);
        return UDPA_OK;
    }
    err = get_state(states, udpai_resource_name(resource), &of_name, ret_error);
    if (err != UDPA_OK)
        return err;
    bool has_changed = false;
    err = set_version(of_name, resource, state, &has_changed, ret_error);
    if (has_changed || of_name->versions.n == 0)
        settle(states, of_name);
    return err;
}
