/* SPDX-License-Identifier: Apache-2.0 */
/* The section 'sinks' of the bootstrap file: what clients may stream to this node. */
#include <stdio.h>
#include <time.h>

#include "base/alloc.h"
#include "daemon/files.h"
#include "daemon/plan_internal.h"
#include "daemon/sections.h"
#include "sinks/forward.h"

#define ENTRIES_MAX 1000000
#define RING_BYTES_MIN ((uint64_t)64 << 10)
#define RING_BYTES_MAX ((uint64_t)1 << 30)
#define FILE_BYTES_MIN ((uint64_t)4 << 10)
#define FILES_MAX 1000

typedef Udpa__Config__V1__Sink sink_message;

/* ---- files ---- */

/* With PATH.1 and so on, which the other one may come to write. */
static bool
may_meet(const Udpa__Config__V1__SinkFile *one, const Udpa__Config__V1__SinkFile *other)
{
    size_t len = strlen(one->path);
    if (strncmp(one->path, other->path, len) != 0)
        return false;
    const char *rest = other->path + len;
    return !*rest ||
           (rest[0] == '.' && rest[1] && rest[1 + strspn(rest + 1, "0123456789")] == '\0');
}

static void
check_other_files(const udpai_value *value)
{
    const Udpa__Config__V1__SinkFile *file = value->message;
    for (size_t i = 0; i < value->bootstrap->n_sinks && *file->path; i++) {
        const Udpa__Config__V1__SinkFile *other = value->bootstrap->sinks[i]->file;
        if (other == file)
            return;
        if (other && *other->path && (may_meet(other, file) || may_meet(file, other)))
            udpai_value_error(value, "path", "sinks[%zu] writes this file: choose another one", i);
    }
}

static const udpai_field file_fields[] = {
    {.name = "path", UDPAI_PUBLIC, UDPAI_REQUIRED, .check_files = udpai_output_file_check},
    {.name = "max_bytes", .min = FILE_BYTES_MIN, .max = INT64_MAX},
    {.name = "max_files", .min = 1, .max = FILES_MAX},
};

static const udpai_section sink_file = {
    UDPAI_SECTION(sink_file, file_fields),
    .check = check_other_files,
};

/* ---- a sink ---- */

static const udpai_field forward_fields[] = {
    {.name = "address", UDPAI_PUBLIC, UDPAI_REQUIRED, .word = udpai_dial_address_check},
    {.name = "tls", .of = &udpai_section_client_tls},
    {.name = "max_streams"},
};

static const udpai_section forward = {UDPAI_SECTION(sink_forward, forward_fields)};

static const udpai_field sink_fields[] = {
    {.name = "kind", .none = "is required: ACCESS_LOG, METRICS, TRACE, TAP or EVENT"},
    {.name = "file", .of = &sink_file},
    {.name = "max_entries", .min = 1, .max = ENTRIES_MAX},
    {.name = "max_bytes", .min = RING_BYTES_MIN, .max = RING_BYTES_MAX},
    {.name = "forward", .of = &forward},
};

static void
check_kind(const udpai_value *value)
{
    const sink_message *sink = value->message;
    for (size_t i = 0; i < value->index && sink->kind; i++)
        if (value->bootstrap->sinks[i]->kind == sink->kind)
            udpai_value_error(value, "kind", "sinks[%zu] is of this kind already: a kind has one",
                              i);
}

const udpai_section udpai_section_sink = {
    UDPAI_SECTION(sink, sink_fields),
    .check = check_kind,
};

/* ---- their use ---- */

static const char *const names[UDPAI_EVENT_SINKS] = {
    [UDPAI_EVENT_ACCESS_LOG] = "ACCESS_LOG", [UDPAI_EVENT_METRICS] = "METRICS",
    [UDPAI_EVENT_TRACE] = "TRACE",           [UDPAI_EVENT_TAP] = "TAP",
    [UDPAI_EVENT_REPORT] = "EVENT",
};

/* Now, since 1970. */
static uint64_t
begin_us(void)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
}

/* The target leads to the sessions of the forward, which has it. */
static udpa_err
add_forward(udpai_plan *plan,
            udpai_event_kind kind,
            const Udpa__Config__V1__SinkForward *from,
            udpa_error **ret_error)
{
    udpai_topics *topics = &plan->sinks.all;
    const udpai_forward_options options = {
        .to = udpai_str_from(from->address),
        .max_streams = from->max_streams,
        .ref_target = udpai_grpc_target_hold,
        .release_target = udpai_grpc_target_drop,
    };
    udpa_err err = udpai_forward_new(&topics->forwards[kind], topics->topics[kind], &options);
    if (err != UDPA_OK)
        return udpai_fail_code(ret_error, err);
    const udpai_grpc_target_options how = {
        .method = {udpai_event_facts_of(kind)->path, udpai_forward_session_new,
                   topics->forwards[kind]},
    };
    void *target = NULL;
    err = udpai_plan_target(&target, from->address, from->tls, &how, ret_error);
    if (err != UDPA_OK)
        return err;
    udpai_forward_set_target(topics->forwards[kind], target);
    return udpai_plan_note_dialled(plan, "sink", udpai_event_facts_of(kind)->word, from->tls,
                                   target);
}

static udpa_err
add_sink(udpai_plan *plan, const sink_message *from, udpa_error **ret_error)
{
    static const udpai_event_kind kinds[] = {
        [UDPA__CONFIG__V1__SINK__KIND__ACCESS_LOG] = UDPAI_EVENT_ACCESS_LOG,
        [UDPA__CONFIG__V1__SINK__KIND__METRICS] = UDPAI_EVENT_METRICS,
        [UDPA__CONFIG__V1__SINK__KIND__TRACE] = UDPAI_EVENT_TRACE,
        [UDPA__CONFIG__V1__SINK__KIND__TAP] = UDPAI_EVENT_TAP,
        [UDPA__CONFIG__V1__SINK__KIND__EVENT] = UDPAI_EVENT_REPORT,
    };
    if ((size_t)from->kind >= UDPAI_ARRAY_LEN(kinds))
        return UDPA_ERR_INVAL;
    udpai_plan_sinks *to = &plan->sinks;
    udpai_event_kind kind = kinds[from->kind];
    const udpai_topic_options options = {kind, from->max_entries, from->max_bytes, begin_us()};
    if (to->all.topics[kind])
        return UDPA_ERR_INVAL;
    if (from->file)
        to->files[kind] =
            (udpai_event_file){from->file->path, from->file->max_bytes, from->file->max_files};
    udpa_err err = udpai_topic_new(&to->all.topics[kind], &options);
    if (err == UDPA_OK && plan->settings.n_workers)
        err = udpai_topic_new(&to->all.copies[kind], &options);
    return err == UDPA_OK && from->forward ? add_forward(plan, kind, from->forward, ret_error)
                                           : err;
}

/* The node's own events: there is always a topic of them. */
static udpa_err
add_own(udpai_plan *plan)
{
    const udpai_topic_options options = {UDPAI_EVENT_NODE, 0, 0, begin_us()};
    udpai_topics *topics = &plan->sinks.all;
    udpa_err err = udpai_topic_new(&topics->topics[UDPAI_EVENT_NODE], &options);
    if (err == UDPA_OK && plan->settings.n_workers)
        err = udpai_topic_new(&topics->copies[UDPAI_EVENT_NODE], &options);
    return err;
}

/* Those of xDS, then one of each kind that clients stream, then the one for readers. */
static udpa_err
add_methods(udpai_plan *plan)
{
    udpai_endpoint_settings *settings = &plan->settings;
    udpai_plan_sinks *sinks = &plan->sinks;
    size_t n = settings->n_methods;
    udpai_grpc_method *methods =
        udpai_plan_own(plan, udpai_alloc_array(n + UDPAI_EVENT_SINKS + 1, sizeof(*methods)));
    if (!methods)
        return UDPA_ERR_NOMEM;
    memcpy(methods, settings->methods, n * sizeof(*methods));
    for (size_t i = 0; i < UDPAI_EVENT_SINKS; i++) {
        udpai_topic *topic = sinks->all.topics[i];
        snprintf(sinks->absent[i], sizeof(sinks->absent[i]),
                 "this node takes in no events of this kind: its configuration needs sinks: "
                 "[{kind: %s}]",
                 names[i]);
        methods[n++] = (udpai_grpc_method){
            .path = udpai_event_facts_of((udpai_event_kind)i)->path,
            .open = topic ? udpai_sink_session_new : NULL,
            .context = topic ? (void *)topic : sinks->absent[i],
            .is_client = true,
        };
    }
    methods[n++] = (udpai_grpc_method){
        .path = UDPAI_EVENTS_PATH,
        .open = udpai_events_session_new,
        .context = &sinks->all,
    };
    settings->methods = methods;
    settings->n_methods = n;
    return UDPA_OK;
}

static udpa_bytes *
describe(const void *sinks)
{
    return udpai_sinks_describe(sinks);
}

udpa_err
udpai_use_sinks(udpai_plan *plan, const udpai_options *options, udpa_error **ret_error)
{
    const Udpa__Config__V1__Bootstrap *message = plan->bootstrap.message;
    udpa_err err = add_own(plan);
    plan->sinks.all.node_id = plan->settings.node.id;
    plan->sinks.all.begin = udpai_forwards_begin;
    plan->settings.topics = &plan->sinks.all;
    plan->settings.describe_more = describe;
    plan->settings.describe_userdata = &plan->sinks.all;
    for (size_t i = 0; i < message->n_sinks && err == UDPA_OK; i++)
        err = add_sink(plan, message->sinks[i], ret_error);
    return err == UDPA_OK ? add_methods(plan) : err;
}

void
udpai_plan_sinks_done(udpai_plan *plan)
{
    for (size_t i = 0; i < UDPAI_EVENT_KINDS; i++)
        plan->sinks.all.forwards[i] = udpai_forward_free(plan->sinks.all.forwards[i]);
    for (size_t i = 0; i < UDPAI_EVENT_KINDS; i++)
        plan->sinks.all.topics[i] = udpai_topic_free(plan->sinks.all.topics[i]);
    for (size_t i = 0; i < UDPAI_EVENT_KINDS; i++)
        plan->sinks.all.copies[i] = udpai_topic_free(plan->sinks.all.copies[i]);
}
