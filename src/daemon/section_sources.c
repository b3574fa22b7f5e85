/* SPDX-License-Identifier: Apache-2.0 */
/* The section 'static_resources' of the bootstrap file: directories, and ConfigSources, which
 * descriptors of providers have, too. Kinds that are more than a few fields have files of their
 * own. */
#include "base/alloc.h"
#include "base/strbuf.h"
#include "daemon/files.h"
#include "daemon/keepalive.h"
#include "daemon/plan_internal.h"
#include "daemon/sections.h"
#include "daemon/source_names.h"
#include "model/client_type.h"
#include "model/server_list.h"

typedef Udpa__Config__V1__Bootstrap bootstrap_message;
typedef Udpa__Config__V1__ConfigSource source_message;
typedef Udpa__Config__V1__Provider provider_message;
typedef Udpa__Config__V1__StaticResources static_message;

/* ---- kinds ---- */

/* Each of the list. */
static void
check_servers(const udpai_value *value)
{
    udpai_str rest = udpai_str_from(value->text), server;
    while (udpai_server_list_cut(&rest, &server)) {
        UDPAI_AUTO_FREE char *address = udpai_strndup(server.data, server.len);
        udpai_value one = *value;
        one.text = address;
        if (address)
            udpai_check_dialled(&one);
    }
}

static const udpai_field udpa_fields[] = {
    {.name = "address",
     UDPAI_PUBLIC,
     UDPAI_REQUIRED,
     .word = udpai_dial_list_check,
     .check = check_servers},
    {.name = "tls", .of = &udpai_section_client_tls},
    {.name = "keepalive", .of = &udpai_section_keepalive},
};

static const udpai_section udpa_section = {UDPAI_SECTION(udpa_source, udpa_fields)};

static void
check_peer(const udpai_value *value)
{
    const Udpa__Config__V1__Node *node = value->bootstrap->node;
    if (node && strcmp(node->id, value->text) == 0)
        udpai_value_error(value, "", "'%s' is this node itself: it is its node.id", value->text);
}

static const udpai_field listen_fields[] = {
    {.name = "peer", UDPAI_PUBLIC, UDPAI_REQUIRED, .check = check_peer},
};

static const udpai_section listen_section = {UDPAI_SECTION(udpa_listen_source, listen_fields)};

void
udpai_check_has_replicas(const udpai_value *value)
{
    if (value->number && !udpai_store_is_replicated(value->bootstrap->store))
        udpai_value_error(value, "",
                          "has no meaning without replicas: set 'engine: ETCD' in store, or omit "
                          "this");
}

static void
check_agree(const udpai_value *value)
{
    if (value->number > UDPA__CONFIG__V1__DIRECTORY__AGREEMENT__REQUIRED)
        udpai_value_error(value, "", "is not known: write NONE or REQUIRED");
    else
        udpai_check_has_replicas(value);
}

void
udpai_check_replicas(const udpai_value *value)
{
    if (value->number > UDPA__CONFIG__V1__DIRECTORY__REPLICAS__SHARED)
        udpai_value_error(value, "", "is not known: write LOCAL or SHARED");
    else
        udpai_check_has_replicas(value);
}

static const udpai_field path_fields[] = {
    {.name = "path", UDPAI_PUBLIC, UDPAI_REQUIRED, .check_files = udpai_directory_check_files},
    {.name = "authority", UDPAI_PUBLIC},
    {.name = "agree", .check = check_agree},
    {.name = "replicas", .check = udpai_check_replicas},
};

static const udpai_section path_section = {UDPAI_SECTION(path_source, path_fields)};

/* ---- standby and recovery ---- */

#define NEITHER "can neither be a standby of a node, nor take anything over"

static void
check_kind(const udpai_value *value, const source_message *source, const char *why)
{
    if (source->kind_case != UDPA__CONFIG__V1__CONFIG_SOURCE__KIND_UDPA &&
        source->kind_case != UDPA__CONFIG__V1__CONFIG_SOURCE__KIND_UDPA_LISTEN)
        udpai_value_error(value, "", "is for sources of kind udpa and udpa_listen alone: others %s",
                          why);
}

static bool
asks(const provider_message *provider, const char *source)
{
    for (size_t i = 0; i < provider->n_config_descriptors; i++) {
        const Udpa__Config__V1__ConfigDescriptor *at = provider->config_descriptors[i];
        if (at->source_case == UDPA__CONFIG__V1__CONFIG_DESCRIPTOR__SOURCE_RESOURCE_NAME &&
            strcmp(at->resource_name, source) == 0)
            return true;
    }
    return false;
}

static bool
has_type(const provider_message *provider, const char *type)
{
    for (size_t i = 0; i < provider->n_types; i++)
        if (strcmp(udpai_type_without_prefix(provider->types[i]),
                   udpai_type_without_prefix(type)) == 0)
            return true;
    return provider->n_types == 0;
}

/* What a provider takes from it counts anyway. */
static void
check_not_provided(const udpai_value *value, const char *source, size_t index)
{
    const char *type = ((const Udpa__Config__V1__Recover *)value->message)->types[index];
    char room[UDPAI_FIELD_PATH_MAX];
    for (size_t i = 0; i < value->bootstrap->n_providers; i++) {
        const provider_message *provider = value->bootstrap->providers[i];
        if (asks(provider, source) && has_type(provider, type))
            udpai_value_error(
                value, udpai_path_item(room, "types", index),
                "providers[%zu] takes '%s' from this source already: its contributions are "
                "effective there, and there is nothing to take over",
                i, udpai_type_without_prefix(type));
    }
}

/* Each replica would follow the source, and adopt or end the same publications. */
static void
check_not_replicated(const udpai_value *value)
{
    if (udpai_store_is_replicated(value->bootstrap->store))
        udpai_value_error(value, "",
                          "is not possible on a replica set yet: omit it, or use another engine "
                          "than ETCD in store");
}

static void
check_recover(const udpai_value *value)
{
    const source_message *source = value->in;
    check_kind(value, source, NEITHER);
    check_not_replicated(value);
    if (source->recover->n_types == 0)
        udpai_value_error(value, "", "needs types: which may be changed?");
    for (size_t i = 0; i < source->recover->n_types; i++)
        check_not_provided(value, source->name, i);
}

static void
check_standby_for(const udpai_value *value)
{
    check_kind(value, value->in, NEITHER);
    check_not_replicated(value);
    if (((const Udpa__Config__V1__StandIn *)value->message)->n_types == 0)
        udpai_value_error(value, "", "needs types: which may be changed?");
}

static udpa_err
check_reported(const char *type, udpa_error **ret_error)
{
    if (!*type || udpai_type_is_client(udpai_str_from(type)))
        return udpai_type_check(type, ret_error);
    udpai_strbuf all = {0};
    for (size_t i = 0; udpai_client_type_at(i); i++) {
        udpai_strbuf_puts(&all, i ? ", " : "");
        udpai_strbuf_puts(&all, udpai_client_type_at(i));
    }
    udpa_err err = udpai_fail(ret_error, UDPA_ERR_INVAL,
                              "'%s' is no type that clients report, which flow to the source: %s",
                              udpai_type_without_prefix(type), all.data ? all.data : "");
    udpai_strbuf_done(&all);
    return err;
}

static const udpai_field recover_fields[] = {
    {.name = "types", UDPAI_PUBLIC, .word = udpai_type_check},
    {.name = "namespaces", UDPAI_PUBLIC, .word = udpai_namespace_check},
};

static const udpai_section recover = {UDPAI_SECTION(recover, recover_fields)};

static const udpai_field standby_for_fields[] = {
    {.name = "types", UDPAI_PUBLIC, .word = udpai_type_check},
};

static const udpai_section standby_for = {UDPAI_SECTION(stand_in, standby_for_fields)};

/* ---- a source ---- */

/* One of the file has tls of its own. */
static void
check_credential(const udpai_value *value)
{
    udpai_value_error(value, "", "is for ConfigSources that are resources: write 'tls' here");
}

static const udpai_field source_fields[] = {
    {.name = "name", UDPAI_PUBLIC, UDPAI_REQUIRED},
    {.name = "udpa", .of = &udpa_section},
    {.name = "udpa_listen", .of = &listen_section},
    {.name = "path", .of = &path_section},
    {.name = "xds", .of = &udpai_section_xds_source},
    {.name = "rest", .of = &udpai_section_rest_source},
    {.name = "runtime_tree", .of = &udpai_section_tree_source},
    {.name = "recover", .of = &recover, .check = check_recover},
    {.name = "standby_for", .of = &standby_for, .check = check_standby_for},
    {.name = "credential", UDPAI_PUBLIC, .check = check_credential},
    {.name = "standby", UDPAI_PUBLIC, .word = check_reported},
    {.name = "max_withdrawal", UDPAI_PUBLIC, .word = udpai_percentage_check},
    {.name = "replicas", .check = udpai_check_source_replicas},
};

/* False: @p other is the one that has that name. */
static bool
check_name_against(const udpai_value *value, const source_message *other)
{
    const source_message *source = value->message;
    if (source == other)
        return false;
    if (*source->name && strcmp(source->name, other->name) == 0)
        udpai_value_error(value, "", "'%s' is the name of another ConfigSource already",
                          source->name);
    return true;
}

/* Against all that come before it. */
static void
check_name(const udpai_value *value)
{
    const bootstrap_message *all = value->bootstrap;
    const static_message *first = all->static_resources;
    for (size_t i = 0; first && i < first->n_config_sources; i++)
        if (!check_name_against(value, first->config_sources[i]))
            return;
    for (size_t i = 0; i < all->n_providers; i++)
        for (size_t k = 0; k < all->providers[i]->n_config_descriptors; k++) {
            const source_message *own =
                udpai_source_inline(all->providers[i]->config_descriptors[k]);
            if (own && !check_name_against(value, own))
                return;
        }
}

static void
check_source(const udpai_value *value)
{
    const source_message *source = value->message;
    char room[UDPAI_FIELD_PATH_MAX];
    check_name(value);
    if (source->kind_case == UDPA__CONFIG__V1__CONFIG_SOURCE__KIND__NOT_SET)
        udpai_value_error(value, "",
                          "needs one of udpa, udpa_listen, path, xds, rest, runtime_tree");
    if (source->n_standby) {
        udpai_value list = *value;
        list.path = udpai_path_field(room, value->path, "standby");
        check_kind(&list, source, "cannot be sent what clients report");
    }
}

const udpai_section udpai_section_source = {
    UDPAI_SECTION(config_source, source_fields),
    .check = check_source,
};

/* ---- static resources ---- */

static const udpai_field directory_fields[] = {
    {.name = "path", UDPAI_PUBLIC, UDPAI_REQUIRED, .check_files = udpai_directory_check_files},
    {.name = "namespace", UDPAI_PUBLIC, .word = udpai_namespace_check, .is_namespace = true},
    {.name = "authority", UDPAI_PUBLIC},
    {.name = "max_withdrawal", UDPAI_PUBLIC, .word = udpai_percentage_check},
    {.name = "agree", .check = check_agree},
    {.name = "replicas", .check = udpai_check_replicas},
};

static const udpai_section directory = {UDPAI_SECTION(directory, directory_fields)};

/* What is made for a group of clients is named after the source and the name space, and found again
 * by that. */
static void
check_group_name(const udpai_value *value)
{
    const static_message *all = value->in;
    const source_message *source = value->message;
    udpai_str name = udpai_str_from(source->name);
    for (size_t i = 0; i < all->n_config_sources; i++) {
        const source_message *at = all->config_sources[i];
        udpai_str other = udpai_str_from(at->name);
        if (udpai_source_is_per_client(at) && other.len && name.len > other.len &&
            udpai_str_starts(name, other) && name.data[other.len] == '/')
            udpai_value_error(
                value, "name",
                "'%.*s' may be the name of what '%.*s' is asked for a group of clients by: begin "
                "it with something else than '%.*s/'",
                UDPAI_SHOWN(name), UDPAI_SHOWN(other), UDPAI_SHOWN(other));
    }
}

static const udpai_field static_fields[] = {
    {.name = "config_sources",
     .of = &udpai_section_source,
     .check = check_group_name,
     .is_taken_over = true},
    {.name = "directories", .of = &directory, .is_taken_over = true},
};

const udpai_section udpai_section_static = {UDPAI_SECTION(static_resources, static_fields)};

/* ---- use ---- */

static bool
is_shared(Udpa__Config__V1__Directory__Replicas replicas)
{
    return replicas == UDPA__CONFIG__V1__DIRECTORY__REPLICAS__SHARED;
}

static udpa_err
add_directory(udpai_plan *plan, const udpai_plan_directory *from)
{
    udpai_plan_directory made = *from;
    if (made.name_space.len == 0)
        made.name_space = udpai_str_from(plan->name_space);
    return udpai_vector_push(&plan->directories, made) ? UDPA_OK : UDPA_ERR_NOMEM;
}

/* Those of kind rest are noted where they are made. */
static const Udpa__Config__V1__ClientTls *
tls_of(const source_message *from)
{
    if (from->kind_case == UDPA__CONFIG__V1__CONFIG_SOURCE__KIND_UDPA)
        return from->udpa->tls;
    return from->kind_case == UDPA__CONFIG__V1__CONFIG_SOURCE__KIND_XDS ? from->xds->tls : NULL;
}

static udpa_err
set_kind(udpai_plan *plan,
         const source_message *from,
         udpai_source_config *source,
         udpa_error **ret_error)
{
    switch (from->kind_case) {
    case UDPA__CONFIG__V1__CONFIG_SOURCE__KIND_UDPA:
        source->kind = UDPAI_SOURCE_UDPA;
        source->address = udpai_str_from(from->udpa->address);
        return udpai_plan_udpa_target(&source->target, from->udpa, from->udpa->tls, ret_error);
    case UDPA__CONFIG__V1__CONFIG_SOURCE__KIND_UDPA_LISTEN:
        source->kind = UDPAI_SOURCE_UDPA_LISTEN;
        source->peer = udpai_str_from(from->udpa_listen->peer);
        return UDPA_OK;
    case UDPA__CONFIG__V1__CONFIG_SOURCE__KIND_XDS:
        return udpai_plan_xds_source(plan, from->xds, source, ret_error);
    case UDPA__CONFIG__V1__CONFIG_SOURCE__KIND_REST:
        return udpai_plan_polled_source(plan, from->rest, source, ret_error);
    case UDPA__CONFIG__V1__CONFIG_SOURCE__KIND_RUNTIME_TREE:
        source->kind = UDPAI_SOURCE_PATH;
        source->kind_name = "runtime_tree";
        source->address = udpai_str_from(from->runtime_tree->symlink_root);
        return add_directory(plan, &(udpai_plan_directory){
                                       .path = from->runtime_tree->symlink_root,
                                       .name_space = udpai_str_from(from->runtime_tree->namespace_),
                                       .authority = udpai_str_from(from->runtime_tree->authority),
                                       .source = source->name,
                                       .is_shared = is_shared(from->runtime_tree->replicas),
                                       .tree = from->runtime_tree,
                                   });
    default:
        source->kind = UDPAI_SOURCE_PATH;
        source->address = udpai_str_from(from->path->path);
        return add_directory(plan, &(udpai_plan_directory){
                                       .path = from->path->path,
                                       .authority = udpai_str_from(from->path->authority),
                                       .source = source->name,
                                       .must_agree = from->path->agree !=
                                                     UDPA__CONFIG__V1__DIRECTORY__AGREEMENT__NONE,
                                       .is_shared = is_shared(from->path->replicas),
                                   });
    }
}

static udpa_err
set_recovery(udpai_plan *plan, const source_message *from, udpai_source_config *source)
{
    const Udpa__Config__V1__Recover *recovered = from->recover;
    udpa_err err = UDPA_OK;
    if (recovered) {
        source->recover.n_prefixes = recovered->n_namespaces;
        source->recover.n_types = recovered->n_types;
        err = udpai_plan_words(plan, recovered->namespaces, recovered->n_namespaces,
                               &source->recover.prefixes);
        if (err == UDPA_OK)
            err = udpai_plan_types(plan, recovered->types, recovered->n_types,
                                   &source->recover.types);
    }
    if (from->standby_for && err == UDPA_OK) {
        source->n_standby_for = from->standby_for->n_types;
        err = udpai_plan_types(plan, from->standby_for->types, from->standby_for->n_types,
                               &source->standby_for);
    }
    source->n_standby = from->n_standby;
    source->max_withdrawal = udpai_percentage(from->max_withdrawal);
    return err == UDPA_OK && from->n_standby
               ? udpai_plan_types(plan, from->standby, from->n_standby, &source->standby)
               : err;
}

udpa_err
udpai_plan_source(udpai_plan *plan, const source_message *from, udpa_error **ret_error)
{
    udpai_source_config source = {
        .name = udpai_str_from(from->name),
        .ref_target = udpai_grpc_target_hold,
        .release_target = udpai_grpc_target_drop,
    };
    udpa_err err = set_kind(plan, from, &source, ret_error);
    if (err == UDPA_OK)
        err = set_recovery(plan, from, &source);
    void *target = source.target;
    if (err == UDPA_OK)
        err = udpai_plan_shared_source(plan, from, &source);
    if (err == UDPA_OK && !udpai_vector_push(&plan->sources, source)) {
        udpai_grpc_target_drop(source.target);
        err = UDPA_ERR_NOMEM;
    }
    if (err == UDPA_OK)
        err = udpai_plan_note_dialled(plan, "source", from->name, tls_of(from), target);
    bool is_reported =
        from->kind_case == UDPA__CONFIG__V1__CONFIG_SOURCE__KIND_XDS && from->xds->load_reporting;
    return err == UDPA_OK && is_reported ? udpai_plan_load_upstream(plan, from, ret_error) : err;
}

udpa_err
udpai_use_static(udpai_plan *plan, const udpai_options *options, udpa_error **ret_error)
{
    const static_message *all = plan->bootstrap.message->static_resources;
    udpa_err err = UDPA_OK;
    if (options->resources)
        err = add_directory(plan, &(udpai_plan_directory){.path = options->resources});
    for (size_t i = 0; all && i < all->n_directories && err == UDPA_OK; i++)
        err = add_directory(
            plan, &(udpai_plan_directory){
                      .path = all->directories[i]->path,
                      .name_space = udpai_str_from(all->directories[i]->namespace_),
                      .authority = udpai_str_from(all->directories[i]->authority),
                      .max_withdrawal = udpai_percentage(all->directories[i]->max_withdrawal),
                      .must_agree = all->directories[i]->agree !=
                                    UDPA__CONFIG__V1__DIRECTORY__AGREEMENT__NONE,
                      .is_shared = is_shared(all->directories[i]->replicas),
                  });
    for (size_t i = 0; all && i < all->n_config_sources && err == UDPA_OK; i++)
        err = udpai_plan_source(plan, all->config_sources[i], ret_error);
    return err;
}
