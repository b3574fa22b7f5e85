/* SPDX-License-Identifier: Apache-2.0 */
/* The section 'write_files' of the bootstrap file: what is written into files, and for which
 * clients. */
#include "base/alloc.h"
#include "daemon/plan_internal.h"
#include "daemon/sections.h"
#include "model/types.h"

typedef Udpa__Config__V1__WriteFiles message;

/* ---- the fields ---- */

/* But for slashes at the end. */
static bool
is_same_path(const char *one, const char *other)
{
    udpai_str a = udpai_str_from(one), b = udpai_str_from(other);
    while (a.len > 1 && a.data[a.len - 1] == '/')
        a.len--;
    while (b.len > 1 && b.data[b.len - 1] == '/')
        b.len--;
    return a.len > 0 && udpai_str_eq(a, b);
}

/* What is written where resources are read would be read as resources, and written again. */
static void
check_not_read(const udpai_value *value, const char *directory)
{
    const Udpa__Config__V1__StaticResources *all = value->bootstrap->static_resources;
    for (size_t i = 0; all && i < all->n_directories; i++)
        if (is_same_path(all->directories[i]->path, directory))
            udpai_value_error(value, "",
                              "static_resources.directories[%zu] reads this directory: "
                              "write into another one",
                              i);
    for (size_t i = 0; all && i < all->n_config_sources; i++) {
        const Udpa__Config__V1__ConfigSource *source = all->config_sources[i];
        if (source->kind_case == UDPA__CONFIG__V1__CONFIG_SOURCE__KIND_PATH &&
            is_same_path(source->path->path, directory))
            udpai_value_error(value, "",
                              "static_resources.config_sources[%zu] reads this directory: "
                              "write into another one",
                              i);
    }
}

/* Payloads of secrets are never written unencrypted. */
static void
check_type(const udpai_value *value)
{
    const message *files = value->in;
    const char *name = udpai_type_without_prefix(value->text);
    if (udpai_store_is_secret(value->bootstrap->store, value->text))
        udpai_value_error(value, "", "secrets are not written into files, which are not encrypted");
    for (size_t i = 0; i < value->index; i++)
        if (strcmp(udpai_type_without_prefix(files->types[i]), name) == 0)
            udpai_value_error(value, "", "'%s' is in the list before", name);
}

static const udpai_field client_fields[] = {
    {.name = "node_id", UDPAI_PUBLIC},
    {.name = "cluster", UDPAI_PUBLIC},
    {.name = "locality", .of = &udpai_section_locality},
};

static const udpai_section client = {UDPAI_SECTION(write_files__client, client_fields)};

static const udpai_field fields[] = {
    {.name = "directory", UDPAI_PUBLIC, UDPAI_REQUIRED},
    {.name = "client", .of = &client},
    {.name = "types",
     UDPAI_PUBLIC,
     UDPAI_EACH_REQUIRED,
     .word = udpai_type_check,
     .check = check_type},
    {.name = "format"},
};

static void
check_directory(const udpai_value *value)
{
    const message *files = value->message;
    for (size_t k = 0; k < value->index; k++)
        if (is_same_path(value->bootstrap->write_files[k]->directory, files->directory))
            udpai_value_error(value, "", "write_files[%zu] has the same directory", k);
    check_not_read(value, files->directory);
}

const udpai_section udpai_section_write_files = {
    UDPAI_SECTION(write_files, fields),
    .check = check_directory,
};

/* ---- use ---- */

/* The Node of the reader of the files, as one that connects would send it. */
static udpa_err
make_client(const message *from, udpai_node_info **ret_client)
{
    const Udpa__Config__V1__WriteFiles__Client *reader = from->client;
    udpai_node_parts parts = {0};
    if (reader) {
        parts.id = udpai_str_from(reader->node_id);
        parts.cluster = udpai_str_from(reader->cluster);
        udpai_plan_locality(reader->locality, &parts);
    }
    return udpai_node_info_new(ret_client, &parts);
}

/* The audience with the name space that is this client's. */
static udpa_err
take_group(udpai_plan *plan,
           const message *from,
           const udpai_xds_audience *template,
           udpai_plan_writer *to,
           udpa_error **ret_error)
{
    const udpai_xds_client reader = {.node = to->client};
    UDPA_AUTO(udpa_error_unref) udpa_error *error = NULL;
    udpai_xds_audience *audience = udpai_plan_own(plan, udpai_alloc(sizeof(*audience)));
    char *room = udpai_plan_own(plan, udpai_alloc(UDPAI_XDS_GROUP_NAMESPACE_MAX));
    if (!audience || !room)
        return udpai_fail_code(ret_error, UDPA_ERR_NOMEM);
    *audience = *template;
    udpa_err err = udpai_xds_template_expand(template->default_namespace, &reader, room,
                                             &audience->default_namespace, &error);
    if (err != UDPA_OK)
        return udpai_fail(ret_error, err, "write_files: the client of directory '%s': %s",
                          from->directory, udpa_error_message(error));
    udpai_xds_audience_init(audience);
    to->audience = audience;
    return UDPA_OK;
}

static udpa_err
choose_audience(udpai_plan *plan,
                const message *from,
                udpai_plan_writer *to,
                udpa_error **ret_error)
{
    to->audience =
        udpai_xds_audience_choose(plan->xds.audiences, plan->xds.n_audiences, NULL, to->client);
    if (!to->audience)
        return udpai_fail(ret_error, UDPA_ERR_INVAL,
                          "write_files: the client of directory '%s' belongs to no audience: "
                          "describe it in 'client', or add an audience that it matches",
                          from->directory);
    if (udpai_xds_template_is(to->audience->default_namespace))
        return take_group(plan, from, to->audience, to, ret_error);
    to->client = udpai_node_info_unref(to->client);
    return UDPA_OK;
}

static udpa_err
choose_types(udpai_plan *plan, const message *from, udpai_plan_writer *to)
{
    static const udpai_str usual[] = {
        {UDPAI_TYPE_CLUSTER, sizeof(UDPAI_TYPE_CLUSTER) - 1},
        {UDPAI_TYPE_ENDPOINTS, sizeof(UDPAI_TYPE_ENDPOINTS) - 1},
        {UDPAI_TYPE_LISTENER, sizeof(UDPAI_TYPE_LISTENER) - 1},
        {UDPAI_TYPE_ROUTES, sizeof(UDPAI_TYPE_ROUTES) - 1},
    };
    to->types = usual;
    to->n_types = UDPAI_ARRAY_LEN(usual);
    if (from->n_types == 0)
        return UDPA_OK;
    to->n_types = from->n_types;
    return udpai_plan_types(plan, from->types, from->n_types, &to->types);
}

udpa_err
udpai_use_write_files(udpai_plan *plan, const udpai_options *options, udpa_error **ret_error)
{
    static const udpai_format formats[] = {
        [UDPA__CONFIG__V1__WRITE_FILES__FORMAT__BINARY] = UDPAI_FORMAT_BINARY,
        [UDPA__CONFIG__V1__WRITE_FILES__FORMAT__JSON] = UDPAI_FORMAT_JSON,
        [UDPA__CONFIG__V1__WRITE_FILES__FORMAT__YAML] = UDPAI_FORMAT_YAML,
    };
    const Udpa__Config__V1__Bootstrap *all = plan->bootstrap.message;
    udpa_err err = UDPA_OK;
    for (size_t i = 0; i < all->n_write_files && err == UDPA_OK; i++) {
        const message *from = all->write_files[i];
        udpai_plan_writer writer = {.directory = from->directory};
        if ((size_t)from->format < UDPAI_ARRAY_LEN(formats))
            writer.format = formats[from->format];
        err = make_client(from, &writer.client);
        if (err == UDPA_OK)
            err = choose_audience(plan, from, &writer, ret_error);
        if (err == UDPA_OK)
            err = choose_types(plan, from, &writer);
        if (err == UDPA_OK && !udpai_vector_push(&plan->writers, writer))
            err = UDPA_ERR_NOMEM;
        if (err != UDPA_OK)
            udpai_node_info_unref(writer.client);
    }
    return udpai_fail_code(ret_error, err);
}
