/* SPDX-License-Identifier: Apache-2.0 */
/* The sections 'audiences', 'authorities' and 'shim' of the bootstrap file: what xDS clients see,
 * and under which names. */
#include "base/alloc.h"
#include "daemon/plan_internal.h"
#include "daemon/sections.h"
#include "xds/group.h"
#include "xds/hds.h"
#include "xds/xds.h"

typedef Udpa__Config__V1__Audience audience_message;
typedef Udpa__Config__V1__Authority authority_message;
typedef Udpa__Config__V1__Bootstrap bootstrap_message;
typedef Udpa__Config__V1__ClientMatch match_message;
typedef Udpa__Config__V1__Shim shim_message;

/* ---- name spaces with words in braces ---- */

static udpa_err
check_template(const char *name_space, udpa_error **ret_error)
{
    udpai_str text = udpai_str_from(name_space);
    udpa_err err = udpai_namespace_check(name_space, ret_error);
    return err == UDPA_OK && udpai_xds_template_is(text) ? udpai_xds_template_check(text, ret_error)
                                                         : err;
}

/* There they would be taken literally, and no client's name space lies below. */
void
udpai_check_no_braces(const udpai_value *value)
{
    const char *brace = strchr(value->text, '{');
    if (!brace)
        return;
    size_t len = (size_t)(brace - value->text);
    while (len && value->text[len - 1] != '/')
        len--;
    udpai_value_error(value, "",
                      "'%s': words in braces are for the default_namespace of audiences alone: "
                      "write what is before them here, '%.*s'",
                      value->text, len ? (int)len - 1 : 0, value->text);
}

/* What clients see. */
#define DEFAULT_NAMESPACE                                                                          \
    {                                                                                              \
        .name = "default_namespace", UDPAI_PUBLIC, .word = check_template, .is_namespace = true    \
    }
#define NAMESPACES                                                                                 \
    {                                                                                              \
        .name = "namespaces", UDPAI_PUBLIC, .word = udpai_prefix_check_word, .is_namespace = true, \
        .check = udpai_check_no_braces                                                             \
    }

/* ---- audiences ---- */

static const udpai_field metadata_fields[] = {
    {.name = "path", UDPAI_PUBLIC, UDPAI_REQUIRED},
    {.name = "value", UDPAI_MAY_BE_SECRET},
};

static const udpai_section metadata_match = {UDPAI_SECTION(metadata_match, metadata_fields)};

static const udpai_field parameter_fields[] = {
    {.name = "type_url", UDPAI_PUBLIC},
    {.name = "key", UDPAI_PUBLIC, UDPAI_REQUIRED},
    {.name = "value", UDPAI_MAY_BE_SECRET},
};

static const udpai_section parameter_match = {UDPAI_SECTION(parameter_match, parameter_fields)};

static const udpai_field match_fields[] = {
    {.name = "identities", UDPAI_PUBLIC, UDPAI_EACH_REQUIRED},
    {.name = "node_ids", UDPAI_PUBLIC, UDPAI_EACH_REQUIRED},
    {.name = "clusters", UDPAI_PUBLIC, UDPAI_EACH_REQUIRED},
    {.name = "locality", .of = &udpai_section_locality},
    {.name = "client_features", UDPAI_PUBLIC, UDPAI_EACH_REQUIRED},
    {.name = "metadata", .of = &metadata_match},
    {.name = "dynamic_parameters", .of = &parameter_match},
};

static const udpai_section client_match = {UDPAI_SECTION(client_match, match_fields)};

static const udpai_field audience_fields[] = {
    {.name = "name", UDPAI_PUBLIC, UDPAI_REQUIRED},
    {.name = "match", .of = &client_match},
    DEFAULT_NAMESPACE,
    NAMESPACES,
    {.name = "canary"},
    {.name = "resource_errors"},
};

static bool
matches_everybody(const audience_message *audience)
{
    const match_message *match = audience->match;
    return !match || (match->n_identities == 0 && match->n_node_ids == 0 &&
                      match->n_clusters == 0 && !match->locality && match->n_metadata == 0 &&
                      match->n_client_features == 0 && match->n_dynamic_parameters == 0);
}

static void
check_audience(const udpai_value *value)
{
    if (value->index > 0 && matches_everybody(value->bootstrap->audiences[value->index - 1]))
        udpai_value_error(
            value, "",
            "no client reaches this audience: every client belongs to the audience before it, "
            "which has no match");
}

const udpai_section udpai_section_audience = {
    UDPAI_SECTION(audience, audience_fields),
    .check = check_audience,
};

/* ---- their use ---- */

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

udpa_err
udpai_use_audiences(udpai_plan *plan, const udpai_options *options, udpa_error **ret_error)
{
    const bootstrap_message *message = plan->bootstrap.message;
    const shim_message *shim = message->shim;
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

/* ---- authorities ---- */

static const udpai_field authority_fields[] = {
    {.name = "name", UDPAI_PUBLIC},
    {.name = "namespace",
     UDPAI_PUBLIC,
     UDPAI_REQUIRED,
     .word = udpai_prefix_check_word,
     .is_namespace = true},
};

static void
check_authority(const udpai_value *value)
{
    const authority_message *authority = value->message;
    for (size_t k = 0; k < value->index; k++)
        if (strcmp(value->bootstrap->authorities[k]->name, authority->name) == 0)
            udpai_value_error(value, "",
                              "the authority '%s' is there already: it stands for one namespace",
                              authority->name);
}

const udpai_section udpai_section_authority = {
    UDPAI_SECTION(authority, authority_fields),
    .check = check_authority,
};

udpa_err
udpai_use_authorities(udpai_plan *plan, const udpai_options *options, udpa_error **ret_error)
{
    const bootstrap_message *message = plan->bootstrap.message;
    size_t n = message->n_authorities;
    udpai_xdstp_authority *all = udpai_plan_own(plan, udpai_alloc_array(n + 1, sizeof(*all)));
    for (size_t i = 0; all && i < n; i++)
        all[i] = (udpai_xdstp_authority){udpai_str_from(message->authorities[i]->name),
                                         udpai_str_from(message->authorities[i]->namespace_)};
    plan->authorities = (udpai_xdstp_authorities){all, n};
    return all ? UDPA_OK : UDPA_ERR_NOMEM;
}

/* ---- shim ---- */

static const udpai_field shim_fields[] = {
    DEFAULT_NAMESPACE,
    NAMESPACES,
    {.name = "explicit_wildcard_types",
     UDPAI_PUBLIC,
     UDPAI_EACH_REQUIRED,
     .word = udpai_type_check},
    {.name = "resource_errors"},
    {.name = "warm_timeout",
     .max = UDPAI_XDS_WARM_TIMEOUT_MAX_MS,
     UDPAI_TO(xds.warm_timeout_ms),
     .otherwise = UDPAI_XDS_WARM_TIMEOUT_MS},
    {.name = "absent_route_delay",
     .max = UDPAI_XDS_ABSENT_ROUTE_DELAY_MAX_MS,
     UDPAI_TO(xds.absent_route_delay_ms),
     .otherwise = UDPAI_XDS_ABSENT_ROUTE_DELAY_MS},
};

#define NO_EFFECT "has no effect beside audiences, each of which has its own"

static void
check_shim(const udpai_value *value)
{
    const shim_message *shim = value->message;
    if (value->bootstrap->n_audiences && shim->n_namespaces)
        udpai_value_error(value, "namespaces", NO_EFFECT);
    if (value->bootstrap->n_audiences && shim->resource_errors)
        udpai_value_error(value, "resource_errors", NO_EFFECT);
}

const udpai_section udpai_section_shim = {
    UDPAI_SECTION(shim, shim_fields),
    .check = check_shim,
};

udpai_grpc_method
udpai_plan_hds_method(udpai_plan *plan, bool is_fetch, const char *path)
{
    const char *absent = udpai_hds_absent();
    return (udpai_grpc_method){
        .path = path,
        .open = absent ? NULL : udpai_hds_session_new,
        .context = absent ? (void *)(uintptr_t)absent : &plan->hds.methods[is_fetch],
        .is_client = true,
    };
}

static udpa_err
use_methods(udpai_plan *plan)
{
    size_t n = 0,
           max = UDPAI_XDS_METHODS + UDPAI_ARRAY_LEN(plan->csds_methods) + UDPAI_HDS_METHODS + 1;
    udpai_grpc_method *methods = udpai_plan_own(plan, udpai_alloc_array(max, sizeof(*methods)));
    if (!methods)
        return UDPA_ERR_NOMEM;
    for (size_t i = 0; i < UDPAI_XDS_METHODS; i++) {
        udpai_xds_method *method = &plan->xds.methods[i];
        methods[n++] = (udpai_grpc_method){method->path, udpai_xds_session_new, method, true};
    }
    for (size_t i = 0; i < UDPAI_HDS_METHODS; i++) {
        udpai_hds_method *method = &plan->hds.methods[i];
        methods[n++] = udpai_plan_hds_method(plan, method->is_fetch, method->path);
    }
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(plan->csds_methods); i++)
        methods[n++] = (udpai_grpc_method){
            .path = i == 0 ? UDPAI_CSDS_STREAM : UDPAI_CSDS_FETCH,
            .open = udpai_csds_session_new,
            .context = &plan->csds_methods[i],
        };
    methods[n++] = (udpai_grpc_method){UDPAI_LRS_PATH, udpai_lrs_session_new, &plan->lrs, true};
    plan->settings.methods = methods;
    plan->settings.n_methods = n;
    return UDPA_OK;
}

udpa_err
udpai_use_shim(udpai_plan *plan, const udpai_options *options, udpa_error **ret_error)
{
    const shim_message *shim = plan->bootstrap.message->shim;
    udpa_err err = UDPA_OK;
    if (shim) {
        plan->xds.n_explicit_wildcards = shim->n_explicit_wildcard_types;
        err = udpai_plan_types(plan, shim->explicit_wildcard_types, shim->n_explicit_wildcard_types,
                               &plan->xds.explicit_wildcards);
    }
    if (err != UDPA_OK)
        return err;
    plan->xds.removal_patience_ms = UDPAI_XDS_REMOVAL_PATIENCE_MS;
    udpai_xds_server_init(&plan->xds);
    udpai_hds_init(&plan->hds, &plan->xds);
    return use_methods(plan);
}
