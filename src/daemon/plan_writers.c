/* SPDX-License-Identifier: Apache-2.0 */
/* What is written into files, and for whom, from the bootstrap file. */
#include "daemon/plan_internal.h"
#include "model/types.h"

typedef Udpa__Config__V1__WriteFiles message;

/* Who reads the files, as one who connects would say it. */
static udpa_err
make_client(const message *from, udpai_node_info **ret_client)
{
    const Udpa__Config__V1__WriteFiles__Client *client = from->client;
    udpai_node_parts parts = {0};
    if (client) {
        parts.id = udpai_str_from(client->node_id);
        parts.cluster = udpai_str_from(client->cluster);
    }
    if (client && client->locality) {
        parts.region = udpai_str_from(client->locality->region);
        parts.zone = udpai_str_from(client->locality->zone);
        parts.sub_zone = udpai_str_from(client->locality->sub_zone);
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
    const udpai_xds_client client = {.node = to->client};
    UDPA_AUTO(udpa_error_unref) udpa_error *error = NULL;
    udpai_xds_audience *audience = udpai_plan_own(plan, udpai_alloc(sizeof(*audience)));
    char *room = udpai_plan_own(plan, udpai_alloc(UDPAI_XDS_GROUP_NAMESPACE_MAX));
    if (!audience || !room)
        return udpai_fail_code(ret_error, UDPA_ERR_NOMEM);
    *audience = *template;
    udpa_err err = udpai_xds_template_expand(template->default_namespace, &client, room,
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
        return udpai_fail(
            ret_error, UDPA_ERR_INVAL,
            "write_files: the client of directory '%s' belongs to no audience: say who it "
            "is in 'client', or add an audience that it matches",
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
udpai_plan_writers(udpai_plan *plan, udpa_error **ret_error)
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
