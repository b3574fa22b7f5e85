/* SPDX-License-Identifier: Apache-2.0 */
/* Who is shown what by xDS, from the bootstrap file. */
#include "codec/regex.h"
#include "daemon/plan_internal.h"
#include "xds/client_registry.h"
#include "xds/xds.h"

typedef Udpa__Config__V1__Audience audience_message;
typedef Udpa__Config__V1__ClientMatch match_message;

/* The texts stay the message's. */
static udpa_err
take_words(udpai_plan *plan, char *const *from, size_t n, udpai_xds_patterns *ret_words)
{
    udpai_str *items = udpai_plan_own(plan, udpai_alloc_array(n + 1, sizeof(*items)));
    for (size_t i = 0; items && i < n; i++)
        items[i] = udpai_str_from(from[i]);
    *ret_words = (udpai_xds_patterns){items, n};
    return items ? UDPA_OK : UDPA_ERR_NOMEM;
}

static udpa_err
take_metadata(udpai_plan *plan, const match_message *from, udpai_xds_match *to)
{
    size_t n = from->n_metadata;
    udpai_xds_metadata_match *all = udpai_plan_own(plan, udpai_alloc_array(n + 1, sizeof(*all)));
    udpa_err err = all ? UDPA_OK : UDPA_ERR_NOMEM;
    for (size_t i = 0; i < n && err == UDPA_OK; i++) {
        udpai_xds_patterns path;
        err = take_words(plan, from->metadata[i]->path, from->metadata[i]->n_path, &path);
        all[i] = (udpai_xds_metadata_match){
            .path = path.items,
            .n_path = path.n,
            .value = udpai_str_from(from->metadata[i]->value),
        };
    }
    to->metadata = all;
    to->n_metadata = n;
    return err;
}

static udpa_err
take_parameters(udpai_plan *plan, const match_message *from, udpai_xds_match *to)
{
    size_t n = from->n_dynamic_parameters;
    udpai_xds_parameter_match *all = udpai_plan_own(plan, udpai_alloc_array(n + 1, sizeof(*all)));
    for (size_t i = 0; all && i < n; i++)
        all[i] = (udpai_xds_parameter_match){
            .type_url = udpai_str_from(from->dynamic_parameters[i]->type_url),
            .key = udpai_str_from(from->dynamic_parameters[i]->key),
            .value = udpai_str_from(from->dynamic_parameters[i]->value),
        };
    to->parameters = all;
    to->n_parameters = n;
    return all ? UDPA_OK : UDPA_ERR_NOMEM;
}

static udpa_err
take_match(udpai_plan *plan, const match_message *from, udpai_xds_match *to)
{
    if (!from)
        return UDPA_OK;
    if (from->locality) {
        to->region = udpai_str_from(from->locality->region);
        to->zone = udpai_str_from(from->locality->zone);
        to->sub_zone = udpai_str_from(from->locality->sub_zone);
    }
    udpa_err err = take_words(plan, from->identities, from->n_identities, &to->identities);
    if (err == UDPA_OK)
        err = take_words(plan, from->node_ids, from->n_node_ids, &to->node_ids);
    if (err == UDPA_OK)
        err = take_words(plan, from->clusters, from->n_clusters, &to->clusters);
    if (err == UDPA_OK)
        err =
            take_words(plan, from->client_features, from->n_client_features, &to->client_features);
    if (err == UDPA_OK)
        err = take_metadata(plan, from, to);
    return err == UDPA_OK ? take_parameters(plan, from, to) : err;
}

static udpa_err
take_namespaces(udpai_plan *plan, char *const *from, size_t n, udpai_xds_audience *to)
{
    udpai_xds_patterns namespaces;
    udpa_err err = take_words(plan, from, n, &namespaces);
    to->namespaces = namespaces.items;
    to->n_namespaces = namespaces.n;
    return err;
}

static udpa_err
take_audience(udpai_plan *plan, const audience_message *from, udpai_xds_audience *to)
{
    to->name = udpai_str_from(from->name);
    to->is_canary = from->canary;
    to->resource_errors = from->resource_errors;
    if (*from->default_namespace)
        to->default_namespace = udpai_str_from(from->default_namespace);
    udpa_err err = take_namespaces(plan, from->namespaces, from->n_namespaces, to);
    return err == UDPA_OK ? take_match(plan, from->match, &to->match) : err;
}

static udpa_err
plan_authorities(udpai_plan *plan)
{
    const Udpa__Config__V1__Bootstrap *message = plan->bootstrap.message;
    size_t n = message->n_authorities;
    udpai_xdstp_authority *all = udpai_plan_own(plan, udpai_alloc_array(n + 1, sizeof(*all)));
    for (size_t i = 0; all && i < n; i++)
        all[i] = (udpai_xdstp_authority){udpai_str_from(message->authorities[i]->name),
                                         udpai_str_from(message->authorities[i]->namespace_)};
    plan->authorities = (udpai_xdstp_authorities){all, n};
    return all ? UDPA_OK : UDPA_ERR_NOMEM;
}

static udpa_err
plan_audiences(udpai_plan *plan)
{
    const Udpa__Config__V1__Bootstrap *message = plan->bootstrap.message;
    const Udpa__Config__V1__Shim *shim = message->shim;
    size_t n = message->n_audiences ? message->n_audiences : 1;
    udpai_xds_audience *all = udpai_plan_own(plan, udpai_alloc_array(n, sizeof(*all)));
    udpa_err err = all ? UDPA_OK : UDPA_ERR_NOMEM;
    for (size_t i = 0; i < n && err == UDPA_OK; i++) {
        all[i].default_namespace = plan->xds_namespace;
        all[i].control_plane = plan->settings.node.id;
        all[i].authorities = plan->authorities;
        if (message->n_audiences)
            err = take_audience(plan, message->audiences[i], &all[i]);
        else if (shim)
            err = take_namespaces(plan, shim->namespaces, shim->n_namespaces, &all[i]);
        if (!message->n_audiences && shim)
            all[i].resource_errors = shim->resource_errors;
    }
    plan->xds.audiences = all;
    plan->xds.n_audiences = n;
    return err;
}

static udpa_err
plan_wildcards(udpai_plan *plan)
{
    const Udpa__Config__V1__Shim *shim = plan->bootstrap.message->shim;
    if (!shim)
        return UDPA_OK;
    plan->xds.n_explicit_wildcards = shim->n_explicit_wildcard_types;
    return udpai_plan_types(plan, shim->explicit_wildcard_types, shim->n_explicit_wildcard_types,
                            &plan->xds.explicit_wildcards);
}

static uint64_t
milliseconds(const Google__Protobuf__Duration *duration, uint64_t otherwise)
{
    return duration ? (uint64_t)duration->seconds * 1000 + (uint64_t)duration->nanos / 1000000
                    : otherwise;
}

static void
plan_client_status(udpai_plan *plan)
{
    const Udpa__Config__V1__ClientStatus *from = plan->bootstrap.message->client_status;
    plan->csds.has_workers = plan->settings.n_workers > 0;
    plan->csds.asks_tree = from && from->whole_tree;
    plan->csds.wait_ms = milliseconds(from ? from->wait : NULL, UDPAI_CSDS_WAIT_MS);
    plan->settings.client_ttl_ms = milliseconds(from ? from->ttl : NULL, UDPAI_CENSUS_TTL_MS);
}

/* Those of the store: what is not written in the clear is not shown, either. */
static udpa_err
plan_csds(udpai_plan *plan)
{
    const Udpa__Config__V1__Store *store = plan->bootstrap.message->store;
    plan->csds.regex = &udpai_re2;
    plan_client_status(plan);
    plan->csds.n_secret_types = store ? store->n_secret_types : 0;
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(plan->csds_methods); i++)
        plan->csds_methods[i] = (udpai_csds_method){&plan->csds, .is_fetch = i == 1};
    return store ? udpai_plan_types(plan, store->secret_types, store->n_secret_types,
                                    &plan->csds.secret_types)
                 : UDPA_OK;
}

static udpa_err
plan_methods(udpai_plan *plan)
{
    size_t n = 0,
           max = UDPAI_XDS_METHODS + UDPAI_ARRAY_LEN(plan->csds_methods) + UDPAI_HDS_METHODS + 1;
    udpai_grpc_method *methods = udpai_plan_own(plan, udpai_alloc_array(max, sizeof(*methods)));
    if (!methods)
        return UDPA_ERR_NOMEM;
    for (size_t i = 0; i < UDPAI_XDS_METHODS; i++) {
        udpai_xds_method *method = &plan->xds.methods[i];
        methods[n++] = (udpai_grpc_method){method->path, udpai_xds_session_new, method};
    }
    for (size_t i = 0; i < UDPAI_HDS_METHODS; i++) {
        udpai_hds_method *method = &plan->hds.methods[i];
        methods[n++] = (udpai_grpc_method){method->path, udpai_hds_session_new, method};
    }
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(plan->csds_methods); i++)
        methods[n++] = (udpai_grpc_method){
            .path = i == 0 ? UDPAI_CSDS_STREAM : UDPAI_CSDS_FETCH,
            .open = udpai_csds_session_new,
            .context = &plan->csds_methods[i],
        };
    methods[n++] = (udpai_grpc_method){UDPAI_LRS_PATH, udpai_lrs_session_new, &plan->lrs};
    plan->settings.methods = methods;
    plan->settings.n_methods = n;
    return UDPA_OK;
}

static void
plan_load_reporting(udpai_plan *plan)
{
    const Udpa__Config__V1__LoadReporting *from = plan->bootstrap.message->load_reporting;
    plan->lrs = (udpai_lrs_service){
        .shim = &plan->xds,
        .interval_ms = UDPAI_LRS_INTERVAL_MS,
        .gather_ms = UDPAI_LRS_GATHER_MS,
    };
    if (from)
        plan->lrs.interval_ms = milliseconds(from->interval, UDPAI_LRS_INTERVAL_MS);
    if (from)
        plan->lrs.per_endpoint = from->per_endpoint;
}

udpa_err
udpai_plan_xds(udpai_plan *plan)
{
    udpa_err err = plan_authorities(plan);
    if (err == UDPA_OK)
        err = plan_audiences(plan);
    if (err == UDPA_OK)
        err = plan_wildcards(plan);
    if (err != UDPA_OK)
        return err;
    const Udpa__Config__V1__Shim *shim = plan->bootstrap.message->shim;
    plan->xds.removal_patience_ms = UDPAI_XDS_REMOVAL_PATIENCE_MS;
    plan->xds.absent_route_delay_ms =
        milliseconds(shim ? shim->absent_route_delay : NULL, UDPAI_XDS_ABSENT_ROUTE_DELAY_MS);
    plan->xds.warm_timeout_ms =
        milliseconds(shim ? shim->warm_timeout : NULL, UDPAI_XDS_WARM_TIMEOUT_MS);
    udpai_xds_server_init(&plan->xds);
    plan_load_reporting(plan);
    udpai_hds_init(&plan->hds, &plan->xds);
    err = plan_csds(plan);
    return err == UDPA_OK ? plan_methods(plan) : err;
}
