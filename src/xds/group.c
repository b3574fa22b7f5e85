/* SPDX-License-Identifier: Apache-2.0 */
#include "xds/group.h"

#include "base/alloc.h"

struct udpai_xds_group {
    udpai_xds_audience audience;
    const udpai_xds_audience *template;
    size_t n_clients;
    udpai_node_info *node;  /* the Node for all of them; NULL: none was sent */
    udpai_report *farewell; /* made in time: the end must be reported, memory or none */
    uint64_t by;            /* a hash of the identity of its first client */
    size_t len;
    char name_space[];
};

static udpai_str
group_key(const void *item)
{
    const udpai_xds_group *group = item;
    return (udpai_str){group->name_space, group->len};
}

void
udpai_xds_groups_init(udpai_xds_groups *groups)
{
    udpai_map_init(&groups->by_name_space, group_key);
    udpai_xds_groups_set_max(groups, groups->max, groups->max_of_identity);
}

void
udpai_xds_groups_set_max(udpai_xds_groups *groups, size_t max, size_t max_of_identity)
{
    atomic_store(&groups->most, max ? max : UDPAI_XDS_GROUPS_MAX);
    atomic_store(&groups->most_of_identity,
                 max_of_identity ? max_of_identity : UDPAI_XDS_GROUPS_OF_IDENTITY_MAX);
}

/* ---- what is reported to the loop side ---- */

static udpai_report *
new_report(const udpai_xds_group *group, bool is_there)
{
    UDPA_AUTO(udpai_report_free) udpai_report *report = udpai_report_new(UDPAI_REPORT_CLIENTS);
    if (!report || udpa_bytes_new(&report->name_space, group->name_space, group->len) != UDPA_OK)
        return NULL;
    report->subscribed = is_there;
    report->info = is_there ? udpai_node_info_ref(group->node) : NULL;
    return UDPAI_TAKE(report);
}

static udpa_err
report_node(const udpai_xds_group *group, udpai_hub *hub)
{
    udpai_report *report = new_report(group, true);
    if (!report)
        return UDPA_ERR_NOMEM;
    udpai_hub_report(hub, report);
    return UDPA_OK;
}

/* Of several clients the first one that sends a Node represents all, as long as there are any; what
 * it sends later, on this or another stream, counts. */
static udpa_err
take_node(udpai_xds_group *group, udpai_hub *hub, udpai_node_info *node)
{
    bool is_other =
        group->node && node &&
        !udpai_str_eq(udpai_node_info_parts(group->node)->id, udpai_node_info_parts(node)->id);
    if (!node || is_other || (group->node && udpai_node_info_equal(group->node, node)))
        return UDPA_OK;
    udpai_node_info *before = group->node;
    group->node = udpai_node_info_ref(node);
    udpa_err err = report_node(group, hub);
    if (err == UDPA_OK) {
        udpai_node_info_unref(before);
    } else {
        udpai_node_info_unref(group->node);
        group->node = before;
    }
    return err;
}

/* ---- beginning and end ---- */

static void
free_group(udpai_xds_group *group)
{
    udpai_report_free(group->farewell);
    udpai_node_info_unref(group->node);
    udpai_free(group);
}

static uint64_t
hash_of(const udpai_identity *identity)
{
    udpai_str name = udpai_identity_name(identity);
    return name.len ? udpai_hash(name) : 0;
}

/* A certificate takes no more than a share: the places of others are left. */
static udpa_err
check_room(const udpai_xds_groups *groups, const udpai_xds_client *client, udpa_error **ret_error)
{
    uint64_t by = hash_of(client->identity);
    size_t at = 0, n_same = 0;
    const udpai_xds_group *group;
    if (groups->by_name_space.n >= groups->most)
        return udpai_fail(ret_error, UDPA_ERR_LIMIT,
                          "there are %zu groups of clients, which is this node's limit "
                          "(limits.max_client_groups): try again later",
                          groups->by_name_space.n);
    while (by && (group = udpai_map_next(&groups->by_name_space, &at)))
        n_same += group->by == by;
    if (n_same < groups->most_of_identity)
        return UDPA_OK;
    return udpai_fail(ret_error, UDPA_ERR_LIMIT,
                      "clients with the certificate of '%.*s' make %zu groups, which is the limit "
                      "for one (limits.max_client_groups_per_identity)",
                      UDPAI_SHOWN(udpai_identity_name(client->identity)), n_same);
}

static udpai_xds_group *
new_group(udpai_xds_groups *groups,
          const udpai_xds_audience *audience,
          udpai_str name_space,
          const udpai_identity *identity)
{
    udpai_xds_group *group = udpai_alloc(sizeof(*group) + name_space.len);
    if (!group)
        return NULL;
    memcpy(group->name_space, name_space.data, name_space.len);
    group->len = name_space.len;
    group->by = hash_of(identity);
    group->template = audience;
    group->audience = *audience;
    group->audience.serial = ++groups->last_serial;
    group->audience.default_namespace = group_key(group);
    udpai_xds_audience_init(&group->audience);
    group->farewell = new_report(group, false);
    if (group->farewell && udpai_map_add(&groups->by_name_space, group))
        return group;
    free_group(group);
    return NULL;
}

static void
end(udpai_xds_groups *groups, udpai_xds_group *group)
{
    udpai_map_remove(&groups->by_name_space, group_key(group));
    if (groups->by_name_space.n == 0)
        udpai_map_done(&groups->by_name_space);
    free_group(group);
}

/* Audiences of one name space would be each other's: the first one has it. */
static udpa_err
check_owner(const udpai_xds_group *group,
            const udpai_xds_audience *audience,
            udpa_error **ret_error)
{
    if (group->template == audience)
        return UDPA_OK;
    return udpai_fail(ret_error, UDPA_ERR_PRECONDITION,
                      "name space '%.*s' belongs to the clients of audience '%.*s' now, and not to "
                      "those of '%.*s'",
                      UDPAI_SHOWN(group_key(group)), UDPAI_SHOWN(group->template->name),
                      UDPAI_SHOWN(audience->name));
}

udpa_err
udpai_xds_group_join(udpai_xds_groups *groups,
                     udpai_hub *hub,
                     const udpai_xds_audience *audience,
                     const udpai_xds_client *client,
                     udpai_xds_group **ret_group,
                     udpa_error **ret_error)
{
    char room[UDPAI_XDS_GROUP_NAMESPACE_MAX];
    udpai_str name_space;
    udpa_err err = udpai_xds_template_expand(audience->default_namespace, client, room, &name_space,
                                             ret_error);
    if (err != UDPA_OK)
        return err;
    udpai_xds_group *group = udpai_map_get(&groups->by_name_space, name_space);
    bool is_new = !group;
    if (is_new)
        err = check_room(groups, client, ret_error);
    else
        err = check_owner(group, audience, ret_error);
    if (err != UDPA_OK)
        return err;
    if (is_new && !(group = new_group(groups, audience, name_space, client->identity)))
        return udpai_fail_code(ret_error, UDPA_ERR_NOMEM);
    err = is_new && !client->node ? report_node(group, hub) : take_node(group, hub, client->node);
    if (err == UDPA_OK) {
        group->n_clients++;
        *ret_group = group;
    } else if (is_new) {
        end(groups, group);
    }
    return udpai_fail_code(ret_error, err);
}

void
udpai_xds_group_leave(udpai_xds_groups *groups, udpai_hub *hub, udpai_xds_group *group)
{
    if (!group || --group->n_clients > 0)
        return;
    udpai_hub_report(hub, UDPAI_TAKE(group->farewell));
    end(groups, group);
}

udpa_err
udpai_xds_group_on_node_changed(udpai_xds_group *group,
                                udpai_hub *hub,
                                const udpai_xds_client *client,
                                bool *ret_stays,
                                udpa_error **ret_error)
{
    char room[UDPAI_XDS_GROUP_NAMESPACE_MAX];
    udpai_str name_space;
    udpa_err err = udpai_xds_template_expand(group->template->default_namespace, client, room,
                                             &name_space, ret_error);
    if (err != UDPA_OK)
        return err;
    *ret_stays = udpai_str_eq(name_space, group_key(group));
    if (*ret_stays)
        err = take_node(group, hub, client->node);
    return udpai_fail_code(ret_error, err);
}

const udpai_xds_audience *
udpai_xds_group_audience(const udpai_xds_group *group)
{
    return &group->audience;
}

const udpai_xds_audience *
udpai_xds_group_template(const udpai_xds_group *group)
{
    return group->template;
}
