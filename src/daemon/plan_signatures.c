/* SPDX-License-Identifier: Apache-2.0 */
/* Keys and requirements of signatures, from the bootstrap file and the files that it names. */
#include "daemon/plan_internal.h"
#include "daemon/signatures_check.h"
#include "transport/key_file.h"

typedef Udpa__Config__V1__Signatures signatures_message;

/* What is made of a section on the way to a keyring. */
struct keys {
    udpai_plan *plan; /* whose memory is used */
    const signatures_message *from;
    udpai_named_key *signing, *trusted;
    udpai_signature_requirement *required;
    udpai_str authority; /* of the node */
};

static udpa_err
take_words(udpai_plan *plan, char *const *from, size_t n, const udpai_str **ret_words)
{
    udpai_str *words = udpai_plan_own(plan, udpai_alloc_array(n + 1, sizeof(*words)));
    for (size_t i = 0; words && i < n; i++)
        words[i] = udpai_str_from(from[i]);
    *ret_words = words;
    return words ? UDPA_OK : UDPA_ERR_NOMEM;
}

static udpa_err
take_signing(struct keys *keys, udpa_error **ret_error)
{
    udpa_err err = UDPA_OK;
    for (size_t i = 0; i < keys->from->n_keys && err == UDPA_OK; i++) {
        const Udpa__Config__V1__SigningKey *from = keys->from->keys[i];
        udpai_str authority = udpai_str_from(from->authority);
        keys->signing[i].authority = authority.len ? authority : keys->authority;
        keys->signing[i].key_id = udpai_str_from(from->key_id);
        err = udpai_key_file_read_private(&keys->signing[i].key, from->private_key_file, ret_error);
    }
    return err;
}

static udpa_err
take_trusted(struct keys *keys, udpa_error **ret_error)
{
    udpa_err err = UDPA_OK;
    for (size_t i = 0; i < keys->from->n_trusted && err == UDPA_OK; i++) {
        const Udpa__Config__V1__TrustedKey *from = keys->from->trusted[i];
        keys->trusted[i] = (udpai_named_key){
            .authority = udpai_str_from(from->authority),
            .key_id = udpai_str_from(from->key_id),
            .not_before_s = from->not_before ? from->not_before->seconds : 0,
            .not_after_s = from->not_after ? from->not_after->seconds : 0,
        };
        err = udpai_key_file_read_public(&keys->trusted[i].key, from->public_key_file, ret_error);
    }
    return err;
}

static udpa_err
take_required(struct keys *keys)
{
    udpa_err err = UDPA_OK;
    for (size_t i = 0; i < keys->from->n_required && err == UDPA_OK; i++) {
        const Udpa__Config__V1__RequiredSignature *from = keys->from->required[i];
        udpai_signature_requirement *to = &keys->required[i];
        *to = (udpai_signature_requirement){
            .n_prefixes = from->n_namespaces,
            .n_types = from->n_types,
            .n_authorities = from->n_authorities,
        };
        err = take_words(keys->plan, from->namespaces, from->n_namespaces, &to->prefixes);
        if (err == UDPA_OK)
            err = udpai_plan_types(keys->plan, from->types, from->n_types, &to->types);
        if (err == UDPA_OK)
            err = take_words(keys->plan, from->authorities, from->n_authorities, &to->authorities);
    }
    return err;
}

static udpa_err
fill(struct keys *keys, udpai_keyring **ret_keyring, udpa_error **ret_error)
{
    udpa_err err = take_signing(keys, ret_error);
    if (err == UDPA_OK)
        err = take_trusted(keys, ret_error);
    if (err == UDPA_OK)
        err = take_required(keys);
    if (err != UDPA_OK)
        return udpai_fail_code(ret_error, err);
    const udpai_keyring_options options = {
        .trusted = keys->trusted,
        .n_trusted = keys->from->n_trusted,
        .signing = keys->signing,
        .n_signing = keys->from->n_keys,
        .required = keys->required,
        .n_required = keys->from->n_required,
        .validity_s = udpai_signatures_validity_s(keys->from),
        .skew_s = udpai_signatures_skew_s(keys->from),
    };
    return udpai_fail_code(ret_error, udpai_keyring_new(ret_keyring, &options));
}

static udpa_err
read_section(udpai_plan *plan,
             udpai_str authority,
             const signatures_message *from,
             udpai_keyring **ret_keyring,
             udpa_error **ret_error)
{
    struct keys keys = {
        .plan = plan,
        .from = from,
        .signing = udpai_alloc_array(from->n_keys + 1, sizeof(*keys.signing)),
        .trusted = udpai_alloc_array(from->n_trusted + 1, sizeof(*keys.trusted)),
        .required = udpai_alloc_array(from->n_required + 1, sizeof(*keys.required)),
        .authority = authority,
    };
    udpa_err err = keys.signing && keys.trusted && keys.required
                       ? fill(&keys, ret_keyring, ret_error)
                       : udpai_fail_code(ret_error, UDPA_ERR_NOMEM);
    for (size_t i = 0; keys.signing && i < from->n_keys; i++)
        udpai_key_unref(keys.signing[i].key);
    for (size_t i = 0; keys.trusted && i < from->n_trusted; i++)
        udpai_key_unref(keys.trusted[i].key);
    udpai_free(keys.signing);
    udpai_free(keys.trusted);
    udpai_free(keys.required);
    return err;
}

udpa_err
udpai_plan_signatures(udpai_plan *plan, udpa_error **ret_error)
{
    const signatures_message *from = plan->bootstrap.message->signatures;
    udpai_node_config *node = &plan->settings.node;
    return from ? read_section(plan, node->authority, from, &node->keyring, ret_error) : UDPA_OK;
}

udpa_err
udpai_plan_signatures_again(const udpai_plan *plan,
                            const signatures_message *from,
                            udpai_keyring **ret_keyring,
                            udpa_error **ret_error)
{
    udpai_plan tables = {0}; /* whose memory is needed until all is copied */
    udpa_err err =
        read_section(&tables, plan->settings.node.authority, from, ret_keyring, ret_error);
    for (size_t i = 0; i < tables.owned.n; i++)
        udpai_free(tables.owned.items[i]);
    udpai_vector_done(&tables.owned);
    return err;
}
