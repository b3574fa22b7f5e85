/* SPDX-License-Identifier: Apache-2.0 */
/* Making a list of rules: one block, of the object, its tables, then all text. */
#include <stdatomic.h>

#include "base/alloc.h"
#include "model/acl_internal.h"

/* Copies into the block, or only counts while there is none. */
struct copier {
    char *tables, *text; /* NULL: counting */
    size_t n_tables, n_text;
};

static void *
take_table(struct copier *copier, size_t n, size_t item_size)
{
    void *table = copier->tables ? copier->tables + copier->n_tables : NULL;
    copier->n_tables += n * item_size;
    return table;
}

static udpai_str
take_text(struct copier *copier, udpai_str text)
{
    char *at = copier->text ? copier->text + copier->n_text : NULL;
    copier->n_text += text.len;
    if (at && text.len)
        memcpy(at, text.data, text.len);
    return (udpai_str){at, text.len};
}

static const udpai_str *
take_texts(struct copier *copier, const udpai_str *from, size_t n)
{
    udpai_str *table = take_table(copier, n, sizeof(*table));
    for (size_t i = 0; i < n; i++) {
        udpai_str text = take_text(copier, from[i]);
        if (table)
            table[i] = text;
    }
    return table;
}

static udpai_acl_rule *
copy_rules(struct copier *copier, const udpai_acl_options *options)
{
    udpai_acl_rule *rules = take_table(copier, options->n_rules, sizeof(*rules));
    for (size_t i = 0; i < options->n_rules; i++) {
        const udpai_acl_rule *from = &options->rules[i];
        udpai_acl_rule rule = *from;
        rule.name = take_text(copier, from->name);
        rule.identities = take_texts(copier, from->identities, from->n_identities);
        rule.types = take_texts(copier, from->types, from->n_types);
        rule.prefixes = take_texts(copier, from->prefixes, from->n_prefixes);
        rule.on_behalf_of = take_texts(copier, from->on_behalf_of, from->n_on_behalf_of);
        if (rules)
            rules[i] = rule;
    }
    return rules;
}

bool
udpai_acl_rule_is_for_all(const udpai_acl_rule *rule)
{
    for (size_t i = 0; i < rule->n_identities; i++)
        if (udpai_str_eq(rule->identities[i], UDPAI_STR("*")))
            return true;
    return false;
}

udpa_err
udpai_acl_new(udpai_acl **ret_acl, const udpai_acl_options *options)
{
    struct copier copier = {0};
    if (options->n_rules > UDPAI_ACL_RULES_MAX)
        return UDPA_ERR_LIMIT;
    copy_rules(&copier, options);
    udpai_acl *acl = udpai_alloc(sizeof(*acl) + copier.n_tables + copier.n_text);
    if (!acl)
        return UDPA_ERR_NOMEM;
    atomic_init(&acl->refs, 1);
    acl->options = *options;
    copier = (struct copier){.tables = acl->room, .text = acl->room + copier.n_tables};
    acl->options.rules = copy_rules(&copier, options);
    for (size_t i = 0; i < options->n_rules; i++)
        acl->knows_all |= udpai_acl_rule_is_for_all(&options->rules[i]);
    *ret_acl = acl;
    return UDPA_OK;
}

udpai_acl *
udpai_acl_ref(udpai_acl *acl)
{
    if (acl)
        atomic_fetch_add_explicit(&acl->refs, 1, memory_order_relaxed);
    return acl;
}

udpai_acl *
udpai_acl_unref(udpai_acl *acl)
{
    if (acl && atomic_fetch_sub_explicit(&acl->refs, 1, memory_order_acq_rel) == 1)
        udpai_free(acl);
    return NULL;
}

const udpai_acl_options *
udpai_acl_settings(const udpai_acl *acl)
{
    return &acl->options;
}
