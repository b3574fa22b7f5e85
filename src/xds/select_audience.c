/* SPDX-License-Identifier: Apache-2.0 */
#include "xds/select_audience.h"

udpa_err
udpai_xds_reject_unmatched_client(udpai_xds_server *server,
                                  udpai_hub *hub,
                                  const udpai_xds_client *client,
                                  udpa_error **ret_error)
{
    const udpai_node_parts *node = client->node ? udpai_node_info_parts(client->node) : NULL;
    udpai_str id = node ? node->id : (udpai_str){0}, cluster = node ? node->cluster : id;
    udpai_str identity = udpai_identity_name(client->identity);
    unsigned n_suppressed;
    if (udpai_log_allow(&server->unmatched_clients, udpai_hub_wheel(hub)->now_ms, &n_suppressed))
        udpai_log_about(UDPA_LOG_WARNING, "xds",
                        UDPAI_ABOUT({UDPAI_LOG_PEER, id}, {UDPAI_LOG_IDENTITY, identity},
                                    {UDPAI_LOG_CODE, udpai_log_code_of(UDPA_ERR_DENIED)}),
                        "rejected client '%.*s', which belongs to no audience: cluster '%.*s', "
                        "certificate '%.*s' (%u more not shown)",
                        UDPAI_SHOWN(id), UDPAI_SHOWN(cluster), UDPAI_SHOWN(identity), n_suppressed);
    return udpai_fail(ret_error, UDPA_ERR_DENIED,
                      "you belong to no audience of this node, with node id '%.*s', cluster "
                      "'%.*s', certificate '%.*s': the section 'audiences' of its configuration "
                      "selects the clients that do",
                      UDPAI_SHOWN(id), UDPAI_SHOWN(cluster), UDPAI_SHOWN(identity));
}

udpa_err
udpai_xds_select_audience(udpai_xds_server *server,
                          udpai_hub *hub,
                          const udpai_xds_client *client,
                          udpai_xds_membership *ret_belonging,
                          udpa_error **ret_error)
{
    const udpai_xds_audience *audience = udpai_xds_audience_choose(
        server->audiences, server->n_audiences, client->identity, client->node);
    if (!audience)
        return udpai_xds_reject_unmatched_client(server, hub, client, ret_error);
    udpai_xds_group *group = NULL;
    if (udpai_xds_template_is(audience->default_namespace)) {
        udpa_err err =
            udpai_xds_group_join(&server->groups, hub, audience, client, &group, ret_error);
        if (err != UDPA_OK)
            return err;
        audience = udpai_xds_group_audience(group);
    }
    *ret_belonging = (udpai_xds_membership){audience, group};
    return UDPA_OK;
}

void
udpai_xds_leave_audience(udpai_xds_server *server, udpai_hub *hub, udpai_xds_membership *belonging)
{
    udpai_xds_group_leave(&server->groups, hub, belonging->group);
    *belonging = (udpai_xds_membership){0};
}
