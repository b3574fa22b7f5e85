/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/acl_check.h"

#include "daemon/option_rules.h"
#include "model/acl.h"
#include "model/name.h"
#include "store/settled.h"

typedef Udpa__Config__V1__AclRule rule_message;

static void
check_prefixes(udpai_diagnostics *diagnostics, const char *list, char *const *prefixes, size_t n)
{
    char path[UDPAI_FIELD_PATH_MAX];
    for (size_t i = 0; i < n; i++) {
        UDPA_AUTO(udpa_error_unref) udpa_error *error = NULL;
        udpai_path_item(path, list, i);
        if (!*prefixes[i])
            udpai_diagnostics_error(diagnostics, path,
                                    "is empty: leave 'namespaces' out if all are meant");
        else if (udpai_prefix_check(udpai_str_from(prefixes[i]), &error) != UDPA_OK)
            udpai_diagnostics_error(diagnostics, path, "%s", udpa_error_message(error));
    }
}

static bool
has_action(const rule_message *rule, Udpa__Config__V1__AclRule__Action action)
{
    for (size_t i = 0; i < rule->n_actions; i++)
        if (rule->actions[i] == action)
            return true;
    return false;
}

/* ---- rules that meet nothing ---- */

static void
check_types_met(udpai_diagnostics *diagnostics, const char *list, const rule_message *rule)
{
    char path[UDPAI_FIELD_PATH_MAX];
    for (size_t i = 0; i < rule->n_types; i++) {
        UDPA_AUTO(udpa_error_unref) udpa_error *error = NULL;
        const char *type = rule->types[i];
        if (*type && !strchr(type, '*') && udpai_type_check(type, &error) != UDPA_OK)
            udpai_diagnostics_warn(diagnostics, udpai_path_item(path, list, i),
                                   "the rule meets no type by this: %s", udpa_error_message(error));
    }
}

/* ADMIN is about what nodes say of themselves, the other actions about all else. */
static void
check_namespaces_met(udpai_diagnostics *diagnostics, const char *list, const rule_message *rule)
{
    const udpai_str own = UDPAI_STR(UDPAI_NODE_NAMESPACE);
    bool is_admin = has_action(rule, UDPA__CONFIG__V1__ACL_RULE__ACTION__ADMIN);
    bool is_more = has_action(rule, UDPA__CONFIG__V1__ACL_RULE__ACTION__PUBLISH) ||
                   has_action(rule, UDPA__CONFIG__V1__ACL_RULE__ACTION__SUBSCRIBE);
    char path[UDPAI_FIELD_PATH_MAX];
    for (size_t i = 0; i < rule->n_namespaces; i++) {
        udpai_str prefix = udpai_str_from(rule->namespaces[i]);
        bool is_own = udpai_prefix_covers(own, prefix);
        if (is_own && is_more && !is_admin)
            udpai_diagnostics_warn(diagnostics, udpai_path_item(path, list, i),
                                   "the rule meets nothing in %s: there nodes speak of themselves "
                                   "alone, and who may see that needs ADMIN",
                                   UDPAI_NODE_NAMESPACE);
        else if (!is_own && is_admin && !is_more && !udpai_prefix_covers(prefix, own))
            udpai_diagnostics_warn(
                diagnostics, udpai_path_item(path, list, i),
                "the rule meets nothing by this: ADMIN is about what nodes say of "
                "themselves, in %s",
                UDPAI_NODE_NAMESPACE);
    }
}

static void
check_rule(udpai_diagnostics *diagnostics, const char *path, const rule_message *rule)
{
    char list[UDPAI_FIELD_PATH_MAX];
    udpai_diagnostics_require(diagnostics, path, "name", *rule->name);
    udpai_diagnostics_require(diagnostics, path, "identities", rule->n_identities);
    udpai_diagnostics_require(diagnostics, path, "actions", rule->n_actions);
    udpai_diagnostics_require_words(diagnostics, udpai_path_field(list, path, "identities"),
                                    rule->identities, rule->n_identities);
    udpai_diagnostics_require_words(diagnostics, udpai_path_field(list, path, "types"), rule->types,
                                    rule->n_types);
    udpai_diagnostics_require_words(diagnostics, udpai_path_field(list, path, "on_behalf_of"),
                                    rule->on_behalf_of, rule->n_on_behalf_of);
    check_prefixes(diagnostics, udpai_path_field(list, path, "namespaces"), rule->namespaces,
                   rule->n_namespaces);
    if (rule->n_on_behalf_of && !has_action(rule, UDPA__CONFIG__V1__ACL_RULE__ACTION__PUBLISH))
        udpai_diagnostics_warn(diagnostics, udpai_path_field(list, path, "on_behalf_of"),
                               "has no effect in a rule that lets nobody publish");
    check_types_met(diagnostics, udpai_path_field(list, path, "types"), rule);
    check_namespaces_met(diagnostics, udpai_path_field(list, path, "namespaces"), rule);
}

void
udpai_acl_check(const Udpa__Config__V1__Bootstrap *message, udpai_diagnostics *diagnostics)
{
    const Udpa__Config__V1__Acl *acl = message->acl;
    char path[UDPAI_FIELD_PATH_MAX];
    if (!acl)
        return;
    if (acl->n_rules == 0)
        udpai_diagnostics_warn(diagnostics, "acl",
                               "has no rules, so nobody may publish or subscribe to anything");
    if (acl->n_rules > UDPAI_ACL_RULES_MAX)
        udpai_diagnostics_error(diagnostics, "acl.rules", "are %zu; at most %d can be",
                                acl->n_rules, UDPAI_ACL_RULES_MAX);
    for (size_t i = 0; i < acl->n_rules; i++) {
        udpai_path_item(path, "acl.rules", i);
        check_rule(diagnostics, path, acl->rules[i]);
        for (size_t k = 0; k < i; k++)
            if (*acl->rules[i]->name && strcmp(acl->rules[i]->name, acl->rules[k]->name) == 0)
                udpai_diagnostics_error(diagnostics, path, "acl.rules[%zu] has the same name, '%s'",
                                        k, acl->rules[i]->name);
    }
}
