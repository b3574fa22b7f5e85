/* SPDX-License-Identifier: Apache-2.0 */
/* The sections 'node', 'transport' and 'workers' of the bootstrap file: the identity of this
 * node, and how it runs. */
#include <strings.h>
#include <unistd.h>

#include "daemon/plan_internal.h"
#include "daemon/sections.h"
#include "session/worker_pool.h"
#include "transport/front/front.h"
#include "xds/xds.h"

#include <stdio.h>

#define DEFAULT_NAMESPACE "local"

typedef Udpa__Config__V1__Node node_message;

/* ---- node ---- */

static const udpai_field locality_fields[] = {
    {.name = "region", UDPAI_PUBLIC},
    {.name = "zone", UDPAI_PUBLIC},
    {.name = "sub_zone", UDPAI_PUBLIC},
};

const udpai_section udpai_section_locality = {UDPAI_SECTION(locality, locality_fields)};

static const udpai_field node_fields[] = {
    {.name = "id", UDPAI_PUBLIC, .word = udpai_node_id_check},
    {.name = "authority", UDPAI_PUBLIC},
    {.name = "cluster", UDPAI_PUBLIC},
    {.name = "namespace", UDPAI_PUBLIC, .word = udpai_namespace_check, .is_namespace = true},
    {.name = "locality", .of = &udpai_section_locality},
};

const udpai_section udpai_section_node = {UDPAI_SECTION(node, node_fields)};

/* The names of those without one: of resources in files, and on streams of xDS. */
static void
use_namespaces(udpai_plan *plan, const node_message *node, const udpai_options *options)
{
    const Udpa__Config__V1__Shim *shim = plan->bootstrap.message->shim;
    plan->name_space =
        udpai_first_of(options->name_space, node ? node->namespace_ : NULL, DEFAULT_NAMESPACE);
    const char *xds = plan->name_space;
    if (!options->name_space)
        xds = udpai_first_of(shim ? shim->default_namespace : NULL, xds, xds);
    plan->xds_namespace = udpai_str_from(xds);
}

udpa_err
udpai_use_node(udpai_plan *plan, const udpai_options *options, udpa_error **ret_error)
{
    const node_message *node = plan->bootstrap.message->node;
    if (gethostname(plan->host, sizeof(plan->host) - 1) != 0 || !*plan->host)
        snprintf(plan->host, sizeof(plan->host), "udpad");
    const char *id = udpai_first_of(options->node_id, node ? node->id : NULL, plan->host);
    plan->settings.node.id = udpai_str_from(id);
    plan->settings.node.authority =
        udpai_str_from(udpai_first_of(node ? node->authority : NULL, id, id));
    static const udpai_str features[] = {
        {UDPAI_FEATURE_EXTENSIONS, sizeof(UDPAI_FEATURE_EXTENSIONS) - 1},
        {UDPAI_FEATURE_NODE, sizeof(UDPAI_FEATURE_NODE) - 1},
        {UDPAI_FEATURE_CLIENT, sizeof(UDPAI_FEATURE_CLIENT) - 1},
        {UDPAI_FEATURE_TRIAL, sizeof(UDPAI_FEATURE_TRIAL) - 1},
    };
    udpai_node_parts parts = {
        .id = plan->settings.node.id,
        .user_agent_name = UDPAI_STR("udpad"),
        .user_agent_version = udpai_str_from(plan->settings.version),
        .features = features,
        .n_features = UDPAI_ARRAY_LEN(features),
    };
    if (node) {
        parts.cluster = udpai_str_from(node->cluster);
        udpai_plan_locality(node->locality, &parts);
    }
    use_namespaces(plan, node, options);
    return udpai_fail_code(ret_error, udpai_node_info_new(&plan->settings.info, &parts));
}

/* ---- transport ---- */

udpa_err
udpai_transport_check(const char *word, udpa_error **ret_error)
{
    if (strcasecmp(word, "own") == 0 || strcasecmp(word, "grpc_core") == 0)
        return UDPA_OK;
    return udpai_fail(ret_error, UDPA_ERR_INVAL, "'%s' must be own or grpc_core", word);
}

bool
udpai_transport_is_own(const Udpa__Config__V1__Bootstrap *message, const char *option)
{
    return option ? strcasecmp(option, "own") == 0
                  : message->transport != UDPA__CONFIG__V1__BOOTSTRAP__TRANSPORT__GRPC_CORE;
}

udpa_err
udpai_use_transport(udpai_plan *plan, const udpai_options *options, udpa_error **ret_error)
{
    if (udpai_transport_is_own(plan->bootstrap.message, options->transport))
        plan->settings.acceptance = &udpai_front_acceptance;
    return UDPA_OK;
}

/* ---- workers ---- */

udpa_err
udpai_use_workers(udpai_plan *plan, const udpai_options *options, udpa_error **ret_error)
{
    if (plan->settings.n_workers) /* all that serve share it */
        plan->settings.limits.max_unfinished_bytes =
            UDPAI_MAX_UNFINISHED_BYTES / plan->settings.n_workers;
    return UDPA_OK;
}
