/* SPDX-License-Identifier: Apache-2.0 */
/* What a client resource is about: a thing by its name, and the kind of that by its type. */
#include "base/proto.h"
#include "federation/report_targets.h"
#include "model/types.h"

/* Fields of udpa.status.v1.ResourceState (proto/udpa/status/v1/status.proto). */
enum {
    STATE_VERSIONS = 2,
    VERSION_TYPE_URL = 1,
};

static void
add_type(udpai_subject *subject, udpai_str type_url)
{
    for (size_t i = 0; i < subject->n_types; i++)
        if (udpai_str_eq(subject->types[i], type_url))
            return;
    if (subject->n_types < UDPAI_SUBJECT_TYPES_MAX)
        subject->types[subject->n_types++] = type_url;
}

/* A cluster, and its endpoints, which may come from different sources. */
static void
add_cluster(udpai_subject *subject)
{
    add_type(subject, UDPAI_STR(UDPAI_TYPE_CLUSTER));
    add_type(subject, UDPAI_STR(UDPAI_TYPE_ENDPOINTS));
}

static void
add_type_of_version(udpai_subject *subject, udpai_str version)
{
    udpai_proto_reader reader = udpai_proto_read(version);
    udpai_proto_field field;
    while (udpai_proto_next(&reader, &field))
        if (field.number == VERSION_TYPE_URL && field.type == UDPAI_WIRE_BYTES)
            add_type(subject, field.bytes);
}

/* A state has the types of what it is the state of. What is malformed has none. */
static void
add_types_of_state(udpai_subject *subject, udpai_str state)
{
    udpai_proto_reader reader = udpai_proto_read(state);
    udpai_proto_field field;
    while (udpai_proto_next(&reader, &field))
        if (field.number == STATE_VERSIONS && field.type == UDPAI_WIRE_BYTES)
            add_type_of_version(subject, field.bytes);
}

static void
add_types(udpai_subject *subject, const udpa_resource *report)
{
    const udpai_type_info *type = udpai_type_find(udpai_resource_type_url(report));
    if (type && type->is_of_cluster)
        add_cluster(subject);
    else if (type && udpai_str_eq(type->url, UDPAI_STR(UDPAI_TYPE_RESOURCE_STATE)))
        add_types_of_state(subject, udpai_resource_value(report));
}

/* What is before the last segment, which is the reporter. */
static udpai_str
thing_of(udpai_str name)
{
    const char *slash = name.len ? memrchr(name.data, '/', name.len) : NULL;
    return (udpai_str){name.data, slash ? (size_t)(slash - name.data) : 0};
}

udpai_subject
udpai_subject_of_load(udpai_str name)
{
    udpai_subject subject = {.name = thing_of(name)};
    add_cluster(&subject);
    return subject;
}

udpai_subject
udpai_subject_of(const udpai_context *context, const udpa_resource *report)
{
    udpai_subject subject = {.name = thing_of(udpai_resource_name(report))};
    const udpai_node_env *env = &context->env;
    udpai_str type_url, name;
    if (env->subject_of && env->subject_of(env->userdata, report, &type_url, &name)) {
        subject.name = name;
        add_type(&subject, type_url);
    } else {
        add_types(&subject, report);
    }
    return subject;
}
