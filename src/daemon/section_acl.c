/* SPDX-License-Identifier: Apache-2.0 */
/* The section 'acl' of the bootstrap file: which peers may do what. */
#include "base/alloc.h"
#include "daemon/plan_internal.h"
#include "daemon/sections.h"
#include "model/acl.h"
#include "model/name.h"
#include "store/settled.h"

typedef Udpa__Config__V1__AclRule rule_message;

/* ---- a rule ---- */

static bool
has_action(const rule_message *rule, Udpa__Config__V1__AclRule__Action action)
{
    for (size_t i = 0; i < rule->n_actions; i++)
        if (rule->actions[i] == action)
            return true;
    return false;
}

static void
check_type_met(const udpai_value *value)
{
    UDPA_AUTO(udpa_error_unref) udpa_error *error = NULL;
    if (*value->text && !strchr(value->text, '*') &&
        udpai_type_check(value->text, &error) != UDPA_OK)
        udpai_value_warn(value, "", "the rule meets no type by this: %s",
                         udpa_error_message(error));
}

/* ADMIN is about a node's own status, the other actions about all else. */
static void
check_namespace_met(const udpai_value *value)
{
    const rule_message *rule = value->in;
    const udpai_str own = UDPAI_STR(UDPAI_NODE_NAMESPACE);
    bool is_admin = has_action(rule, UDPA__CONFIG__V1__ACL_RULE__ACTION__ADMIN);
    bool is_more = has_action(rule, UDPA__CONFIG__V1__ACL_RULE__ACTION__PUBLISH) ||
                   has_action(rule, UDPA__CONFIG__V1__ACL_RULE__ACTION__SUBSCRIBE);
    udpai_str prefix = udpai_str_from(value->text);
    bool is_own = udpai_prefix_covers(own, prefix);
    if (is_own && is_more && !is_admin)
        udpai_value_warn(value, "",
                         "the rule meets nothing in %s: only nodes publish there, about "
                         "themselves, and to see that needs ADMIN",
                         UDPAI_NODE_NAMESPACE);
    else if (!is_own && is_admin && !is_more && !udpai_prefix_covers(prefix, own))
        udpai_value_warn(
            value, "",
            "the rule meets nothing by this: ADMIN is about what nodes report of themselves, in %s",
            UDPAI_NODE_NAMESPACE);
}

static const udpai_field rule_fields[] = {
    {.name = "name", UDPAI_PUBLIC, UDPAI_REQUIRED},
    {.name = "identities", UDPAI_PUBLIC, UDPAI_REQUIRED, UDPAI_NOT_EMPTY},
    {.name = "actions", UDPAI_REQUIRED},
    {.name = "types", UDPAI_PUBLIC, UDPAI_NOT_EMPTY, .check = check_type_met},
    {.name = "namespaces",
     UDPAI_PUBLIC,
     UDPAI_PREFIXES,
     .is_namespace = true,
     .check = check_namespace_met},
    {.name = "on_behalf_of", UDPAI_PUBLIC, UDPAI_NOT_EMPTY},
};

static void
check_rule(const udpai_value *value)
{
    const rule_message *rule = value->message;
    rule_message *const *all = value->bootstrap->acl->rules;
    if (rule->n_on_behalf_of && !has_action(rule, UDPA__CONFIG__V1__ACL_RULE__ACTION__PUBLISH))
        udpai_value_warn(value, "on_behalf_of",
                         "has no effect in a rule that lets no peer publish");
    for (size_t k = 0; k < value->index; k++)
        if (*rule->name && strcmp(rule->name, all[k]->name) == 0)
            udpai_value_error(value, "", "acl.rules[%zu] has the same name, '%s'", k, rule->name);
}

static const udpai_section rule_section = {
    UDPAI_SECTION(acl_rule, rule_fields),
    .check = check_rule,
};

/* ---- the section ---- */

static const udpai_field fields[] = {
    {.name = "dry_run"},
    {.name = "bind_node_id"},
    {.name = "rules", .of = &rule_section, .max = UDPAI_ACL_RULES_MAX},
};

static void
check_acl(const udpai_value *value)
{
    if (((const Udpa__Config__V1__Acl *)value->message)->n_rules == 0)
        udpai_value_warn(value, "",
                         "has no rules, so no peer may publish or subscribe to anything");
}

const udpai_section udpai_section_acl = {
    UDPAI_SECTION(acl, fields),
    .check = check_acl,
};

/* ---- use ---- */

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
any_knows_peers(const udpai_plan_socket *sockets, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (udpai_plan_socket_knows_peers(&sockets[i]))
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
        .trusts_node_ids = !any_knows_peers(plan->sockets.items, plan->sockets.n) &&
                           !any_knows_peers(plan->http_sockets.items, plan->http_sockets.n),
    };
    return udpai_acl_new(ret_acl, &options);
}

udpa_err
udpai_use_acl(udpai_plan *plan, const udpai_options *options, udpa_error **ret_error)
{
    const Udpa__Config__V1__Acl *from = plan->bootstrap.message->acl;
    return from ? read_acl(plan, from, &plan->settings.node.acl) : UDPA_OK;
}
