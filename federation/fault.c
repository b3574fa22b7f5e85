/* SPDX-License-Identifier: Apache-2.0 */
#include "federation/fault.h"

#include "federation/source_internal.h"

static void
replace(udpa_error **place, udpa_error *error)
{
    udpa_error *before = *place;
    *place = udpa_error_ref(error);
    udpa_error_unref(before);
}

void
udpai_fault_of_connection(udpai_source *source, udpa_error *error)
{
    replace(&source->faults.connection, error);
    replace(&source->last_error, error);
}

void
udpai_fault_of_server(udpai_source *source, udpa_error *error)
{
    replace(&source->faults.connection, error);
}

void
udpai_fault_of_question(udpai_source *source, udpa_error *error)
{
    replace(&source->faults.question, error);
    replace(&source->last_error, error);
}

void
udpai_fault_question_again(udpai_source *source)
{
    replace(&source->faults.question, NULL);
}

/* ---- resources ---- */

static void
forget(udpai_source *source, size_t index)
{
    udpai_resource_fault *fault = &source->faults.resources.items[index];
    udpa_resource_unref(fault->resource);
    udpa_error_unref(fault->error);
    memmove(fault, fault + 1, (source->faults.resources.n - index - 1) * sizeof(*fault));
    source->faults.resources.n--;
}

/* An empty text matches any. */
static bool
is_meant(udpai_str meant, udpai_str is)
{
    return meant.len == 0 || udpai_str_eq(meant, is);
}

void
udpai_fault_of_resources_over(udpai_source *source, udpai_str type_url, udpai_str name)
{
    for (size_t i = source->faults.resources.n; i > 0; i--) {
        const udpa_resource *resource = source->faults.resources.items[i - 1].resource;
        if (is_meant(name, udpai_resource_name(resource)) &&
            is_meant(type_url, udpai_resource_type_url(resource)))
            forget(source, i - 1);
    }
}

void
udpai_fault_of_resource(udpai_source *source, udpa_error *error, const udpa_resource *resource)
{
    replace(&source->last_error, error);
    udpai_fault_of_resources_over(source, udpai_resource_type_url(resource),
                                  udpai_resource_name(resource));
    if (source->faults.resources.n == UDPAI_FAULTS_MAX)
        forget(source, 0);
    const udpai_resource_fault fault = {
        udpa_resource_ref((udpa_resource *)(uintptr_t)resource),
        udpa_error_ref(error),
    };
    if (udpai_vector_push(&source->faults.resources, fault))
        return;
    udpa_resource_unref(fault.resource);
    udpa_error_unref(fault.error);
}

void
udpai_fault_stream_over(udpai_source *source)
{
    udpai_fault_question_again(source);
    udpai_fault_of_resources_over(source, (udpai_str){0}, (udpai_str){0});
}

/* ---- looking ---- */

const udpa_error *
udpai_fault_present(const udpai_source *source)
{
    size_t n = source->faults.resources.n;
    if (source->faults.connection && !udpai_source_is_active(source))
        return source->faults.connection;
    if (source->faults.question)
        return source->faults.question;
    return n ? source->faults.resources.items[n - 1].error : NULL;
}

void
udpai_faults_done(udpai_source *source)
{
    udpai_fault_stream_over(source);
    udpai_vector_done(&source->faults.resources);
    replace(&source->faults.connection, NULL);
    replace(&source->last_error, NULL);
}
