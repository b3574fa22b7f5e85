/* SPDX-License-Identifier: Apache-2.0 */
/* Who may do what, from the bootstrap file. */
#include "daemon/plan_internal.h"
#include "endpoint/type.h"

typedef Udpa__Config__V1__AclRule rule_message;

static unsigned
take_actions(const rule_message *from)
{
    static const unsigned actions[] = {
        [UDPA__CONFIG__V1__ACL_RULE__ACTION__PUBLISH] = UDPAI_ACL_PUBLISH,
        [UDPA__CONFIG__V1__ACL_RULE__ACTION__SUBSCRIBE] = UDPAI_ACL_SUBSCRIBE,
        [UDPA__CONFIG__V1__ACL_RULE__ACTION__ADMIN] = UDPAI_ACL_ADMIN,
    };
    unsigned all = 0;
    for (size_t i = 0; i < from->n_actions; i++)
        if ((size_t)from->actions[i] < UDPAI_ARRAY_LEN(actions))
            all |= actions[from->actions[i]];
    return all;
}

static udpa_err
take_rule(udpai_plan *plan, const rule_message *from, udpai_acl_rule *to)
{
    *to = (udpai_acl_rule){
        .name = udpai_str_from(from->name),
        .n_identities = from->n_identities,
        .actions = take_actions(from),
        .n_types = from->n_types,
        .n_prefixes = from->n_namespaces,
        .n_on_behalf_of = from->n_on_behalf_of,
    };
    udpa_err err = udpai_plan_words(plan, from->identities, from->n_identities, &to->identities);
    if (err == UDPA_OK)
        err = udpai_plan_types(plan, from->types, from->n_types, &to->types);
    if (err == UDPA_OK)
        err = udpai_plan_words(plan, from->namespaces, from->n_namespaces, &to->prefixes);
    if (err == UDPA_OK)
        err = udpai_plan_words(plan, from->on_behalf_of, from->n_on_behalf_of, &to->on_behalf_of);
    return err;
}

static bool
has_tls(const udpai_plan_socket *sockets, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (sockets[i].tls)
            return true;
    return false;
}

static udpa_err
read_acl(udpai_plan *plan, const Udpa__Config__V1__Acl *from, udpai_acl **ret_acl)
{
    udpai_acl_rule *rules =
        udpai_plan_own(plan, udpai_alloc_array(from->n_rules + 1, sizeof(*rules)));
    udpa_err err = rules ? UDPA_OK : UDPA_ERR_NOMEM;
    for (size_t i = 0; i < from->n_rules && err == UDPA_OK; i++)
        err = take_rule(plan, from->rules[i], &rules[i]);
    if (err != UDPA_OK)
        return err;
    const udpai_acl_options options = {
        .rules = rules,
        .n_rules = from->n_rules,
        .is_dry_run = from->dry_run,
        .binds_node_id = from->bind_node_id,
        .trusts_node_ids = !has_tls(plan->sockets.items, plan->sockets.n) &&
                           !has_tls(plan->http_sockets.items, plan->http_sockets.n),
    };
    return udpai_acl_new(ret_acl, &options);
}

udpa_err
udpai_plan_acl(udpai_plan *plan)
{
    const Udpa__Config__V1__Acl *from = plan->bootstrap.message->acl;
    return from ? read_acl(plan, from, &plan->settings.node.acl) : UDPA_OK;
}

udpa_err
udpai_plan_acl_again(const udpai_plan *plan, const Udpa__Config__V1__Acl *from, udpai_acl **ret_acl)
{
    udpai_plan tables = {0}; /* whose memory is needed until the rules are copied */
    memcpy(&tables.sockets, &plan->sockets, sizeof(tables.sockets));
    memcpy(&tables.http_sockets, &plan->http_sockets, sizeof(tables.http_sockets));
    udpa_err err = read_acl(&tables, from, ret_acl);
    for (size_t i = 0; i < tables.owned.n; i++)
        udpai_free(tables.owned.items[i]);
    udpai_vector_done(&tables.owned);
    return err;
}
