/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/bootstrap_fields.h"

#include "daemon/bootstrap_check.h"
#include "daemon/files.h"
#include "daemon/namespace_check.h"
#include "daemon/sections.h"
#include "model/client_type.h"
#include "session/worker_pool.h"

static bool
is_listen_given(const udpai_options *options)
{
    return options->listen;
}

/* In the order in which the plan is made: what follows uses what comes before it. */
static const udpai_field fields[] = {
    {.name = "limits", .of = &udpai_section_limits, .use = udpai_use_limits},
    {.name = "timing", .of = &udpai_section_timing},
    {.name = "workers",
     .max = UDPAI_WORKER_POOL_MAX - 1,
     .bounds = "are too many",
     UDPAI_TO(settings.n_workers),
     .use = udpai_use_workers},
    {.name = "transport", .use = udpai_use_transport},
    {.name = "store", .of = &udpai_section_store, .use = udpai_use_store},
    {.name = "log", .of = &udpai_section_log, .use = udpai_use_log},
    {.name = "audit", .of = &udpai_section_audit, .use = udpai_use_audit},
    {.name = "traces", .of = &udpai_section_traces, .use = udpai_use_traces},
    {.name = "node", .of = &udpai_section_node, .use = udpai_use_node},
    {.name = "descriptor_sets", UDPAI_PUBLIC}, /* descriptors.c */
    {.name = "authorities", .of = &udpai_section_authority, .use = udpai_use_authorities},
    {.name = "audiences", .of = &udpai_section_audience, .use = udpai_use_audiences},
    {.name = "shim", .of = &udpai_section_shim, .use = udpai_use_shim},
    {.name = "push", .of = &udpai_section_push, .use = udpai_use_push, .is_taken_over = true},
    {.name = "load_reporting", .of = &udpai_section_load, .use = udpai_use_load},
    {.name = "client_status", .of = &udpai_section_client_status, .use = udpai_use_client_status},
    {.name = "client_types",
     UDPAI_PUBLIC,
     UDPAI_NOT_EMPTY,
     .word = udpai_type_check,
     .max = UDPAI_CLIENT_TYPES_MAX,
     .bounds = "are too many",
     .check = udpai_check_client_type,
     .use = udpai_use_client_types},
    {.name = "sinks", .of = &udpai_section_sink, .use = udpai_use_sinks},
    {.name = "validation", .of = &udpai_section_validation, .use = udpai_use_validation},
    {.name = "write_files",
     .of = &udpai_section_write_files,
     .use = udpai_use_write_files,
     .is_taken_over = true},
    {.name = "sockets",
     .of = &udpai_section_socket,
     .is_replaced = is_listen_given,
     .use = udpai_use_sockets,
     .is_taken_over = true},
    {.name = "http", .of = &udpai_section_http, .use = udpai_use_http},
    {.name = "admin", .of = &udpai_section_admin, .use = udpai_use_admin},
    {.name = "acl", .of = &udpai_section_acl, .use = udpai_use_acl, .is_taken_over = true},
    {.name = "signatures",
     .of = &udpai_section_signatures,
     .use = udpai_use_signatures,
     .is_taken_over = true},
    {.name = "static_resources", .of = &udpai_section_static, .use = udpai_use_static},
    {.name = "providers",
     .of = &udpai_section_provider,
     .use = udpai_use_providers,
     .is_taken_over = true},
    {.name = "dial", .of = &udpai_section_dial, .use = udpai_use_dial},
    {.name = "delegation", .of = &udpai_section_delegation, .use = udpai_use_delegation},
    {.name = "dynamic_sources",
     .of = &udpai_section_dynamic_sources,
     .use = udpai_use_dynamic_sources},
    {.name = "orca_collections", .of = &udpai_section_orca, .use = udpai_use_orca},
    {.name = "health", .of = &udpai_section_health, .use = udpai_use_health},
    {.name = "runtime", .of = &udpai_section_runtime, .use = udpai_use_runtime},
    {.name = "reload", .is_taken_over = true},
};

const udpai_section udpai_bootstrap_section = {UDPAI_SECTION(bootstrap, fields)};

static const udpai_field *
find(const udpai_section *section, const char *name)
{
    for (size_t i = 0; section && i < section->n_fields; i++)
        if (strcmp(section->fields[i].name, name) == 0)
            return &section->fields[i];
    return NULL;
}

bool
udpai_bootstrap_is_taken_over(const char *field)
{
    const udpai_field *found = find(&udpai_bootstrap_section, field);
    return found && found->is_taken_over;
}

bool
udpai_bootstrap_part_is_taken_over(const char *section, const char *field)
{
    const udpai_field *of = find(&udpai_bootstrap_section, section);
    const udpai_field *found = of ? find(of->of, field) : NULL;
    return found && found->is_taken_over;
}

void
udpai_bootstrap_check(const Udpa__Config__V1__Bootstrap *message, udpai_diagnostics *diagnostics)
{
    udpai_section_check(&udpai_bootstrap_section, message, diagnostics);
    udpai_namespace_check_typos(&udpai_bootstrap_section, message, diagnostics);
}

void
udpai_bootstrap_check_files(const Udpa__Config__V1__Bootstrap *message,
                            const udpai_options *options,
                            udpai_diagnostics *diagnostics)
{
    if (options->resources)
        udpai_directory_check_option(diagnostics, "--resources", options->resources);
    udpai_section_check_files(&udpai_bootstrap_section, message, options, diagnostics);
    udpai_store_check_files(message, options, diagnostics);
}
