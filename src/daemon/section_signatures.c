/* SPDX-License-Identifier: Apache-2.0 */
/* The section 'signatures' of the bootstrap file: keys, what must be signed, and the files that it
 * names. */
#include <inttypes.h>

#include "base/alloc.h"
#include "base/pattern.h"
#include "certs/keyring.h"
#include "codec/suggest.h"
#include "daemon/bootstrap_check.h"
#include "daemon/files.h"
#include "daemon/plan_internal.h"
#include "daemon/sections.h"
#include "loop/clock.h"
#include "transport/key_file.h"

#define VALIDITY_S (24 * 3600)
#define VALIDITY_MIN_S 2 /* it is made anew at half of that, and looked at each second */
#define VALIDITY_MAX_S ((int64_t)10 * 365 * 24 * 3600)
#define SKEW_S 60
#define SKEW_MAX_S 300

typedef Udpa__Config__V1__Bootstrap bootstrap_message;
typedef Udpa__Config__V1__RequiredSignature required_message;
typedef Udpa__Config__V1__Signatures signatures_message;
typedef Udpa__Config__V1__SigningKey signing_message;
typedef Udpa__Config__V1__TrustedKey trusted_message;

int64_t
udpai_signatures_validity_s(const signatures_message *signatures)
{
    return signatures->validity ? signatures->validity->seconds : VALIDITY_S;
}

int64_t
udpai_signatures_skew_s(const signatures_message *signatures)
{
    return signatures->clock_skew ? signatures->clock_skew->seconds : SKEW_S;
}

/* ---- keys ---- */

static udpai_str
authority_of(const bootstrap_message *message, const char *authority)
{
    const Udpa__Config__V1__Node *node = message->node;
    if (!*authority && node)
        authority = *node->authority ? node->authority : node->id;
    return udpai_str_from(authority);
}

static void
report_unread(const udpai_value *value, const udpa_error *error)
{
    udpai_file_error(value, "", value->text, "%s", udpa_error_message(error));
}

static void
check_private(const udpai_value *value)
{
    UDPA_AUTO(udpai_key_unref) udpai_key *key = NULL;
    UDPA_AUTO(udpa_error_unref) udpa_error *error = NULL;
    if (udpai_key_file_read_private(&key, value->text, &error) != UDPA_OK)
        report_unread(value, error);
}

static void
check_public(const udpai_value *value)
{
    const trusted_message *from = value->in;
    int64_t now_s = udpai_wall_us() / 1000000;
    UDPA_AUTO(udpai_key_unref) udpai_key *key = NULL;
    UDPA_AUTO(udpa_error_unref) udpa_error *error = NULL;
    if (udpai_key_file_read_public(&key, value->text, &error) != UDPA_OK)
        report_unread(value, error);
    else if (udpai_key_not_after_s(key) < now_s ||
             (from->not_after && from->not_after->seconds < now_s))
        udpai_value_warn(value, "", "%s: this key is not trusted any more: it has expired",
                         value->text);
}

static const udpai_field signing_fields[] = {
    {.name = "key_id", UDPAI_PUBLIC, UDPAI_REQUIRED},
    {.name = "private_key_file", UDPAI_PUBLIC, UDPAI_REQUIRED, .check_files = check_private},
    {.name = "authority", UDPAI_PUBLIC},
};

/* Keys of one authority are distinguished by their ids. */
static void
check_signing(const udpai_value *value)
{
    const signing_message *key = value->message;
    signing_message *const *all = value->bootstrap->signatures->keys;
    udpai_str authority = authority_of(value->bootstrap, key->authority);
    for (size_t k = 0; k < value->index; k++)
        if (*key->key_id && strcmp(all[k]->key_id, key->key_id) == 0 &&
            udpai_str_eq(authority_of(value->bootstrap, all[k]->authority), authority))
            udpai_value_error(value, "",
                              "signatures.keys[%zu] has the same authority and key_id, '%s'", k,
                              key->key_id);
}

/* A node with its own public key among the trusted ones must have the right one: either would
 * count. */
static void
check_pair(const udpai_value *value, const trusted_message *trusted)
{
    const signing_message *signing = value->message;
    UDPA_AUTO(udpai_key_unref) udpai_key *private_key = NULL, *public_key = NULL;
    if (strcmp(signing->key_id, trusted->key_id) != 0 ||
        !udpai_str_eq(authority_of(value->bootstrap, signing->authority),
                      udpai_str_from(trusted->authority)) ||
        udpai_key_file_read_private(&private_key, signing->private_key_file, NULL) != UDPA_OK ||
        udpai_key_file_read_public(&public_key, trusted->public_key_file, NULL) != UDPA_OK ||
        udpai_key_equal(private_key, public_key))
        return;
    udpai_value_error(value, "",
                      "signatures.trusted has another key of the same authority and key_id, "
                      "'%s': give this one another key_id",
                      signing->key_id);
}

static void
check_pairs(const udpai_value *value)
{
    const signatures_message *all = value->bootstrap->signatures;
    for (size_t k = 0; k < all->n_trusted; k++)
        check_pair(value, all->trusted[k]);
}

static const udpai_section signing_key = {
    UDPAI_SECTION(signing_key, signing_fields),
    .check = check_signing,
    .check_files = check_pairs,
};

static void
check_not_after(const udpai_value *value)
{
    const trusted_message *key = value->in;
    if (key->not_before && key->not_before->seconds >= key->not_after->seconds)
        udpai_value_error(value, "", "is not after not_before, so the key is never trusted");
}

static const udpai_field trusted_fields[] = {
    {.name = "authority", UDPAI_PUBLIC, UDPAI_REQUIRED},
    {.name = "key_id", UDPAI_PUBLIC, UDPAI_REQUIRED},
    {.name = "public_key_file", UDPAI_PUBLIC, UDPAI_REQUIRED, .check_files = check_public},
    {.name = "not_before"},
    {.name = "not_after", .check = check_not_after},
};

static void
check_trusted(const udpai_value *value)
{
    const trusted_message *key = value->message;
    trusted_message *const *all = value->bootstrap->signatures->trusted;
    for (size_t k = 0; k < value->index; k++)
        if (*key->key_id && strcmp(all[k]->key_id, key->key_id) == 0 &&
            strcmp(all[k]->authority, key->authority) == 0)
            udpai_value_error(value, "",
                              "signatures.trusted[%zu] has the same authority and key_id, '%s'", k,
                              key->key_id);
}

static const udpai_section trusted_key = {
    UDPAI_SECTION(trusted_key, trusted_fields),
    .check = check_trusted,
};

/* ---- requirements ---- */

static bool
has_key_of(const bootstrap_message *message, const char *pattern)
{
    const signatures_message *all = message->signatures;
    for (size_t i = 0; i < all->n_trusted; i++)
        if (udpai_pattern_fits(udpai_str_from(pattern), udpai_str_from(all->trusted[i]->authority)))
            return true;
    for (size_t i = 0; i < all->n_keys; i++) {
        udpai_str authority = authority_of(message, all->keys[i]->authority);
        /* without an id in the file, it is the machine's name */
        if (authority.len == 0 || udpai_pattern_fits(udpai_str_from(pattern), authority))
            return true;
    }
    return false;
}

/* Of the keys, that a requirement could have meant. */
static const char *
suggest_authority(const bootstrap_message *message,
                  const char *written,
                  char hint[UDPAI_CHOICE_TEXT])
{
    const signatures_message *all = message->signatures;
    udpai_suggestion suggestion = udpai_suggest(udpai_str_from(written));
    for (size_t i = 0; i < all->n_trusted; i++)
        udpai_suggest_offer(&suggestion, all->trusted[i]->authority);
    for (size_t i = 0; i < all->n_keys; i++)
        udpai_suggest_offer(&suggestion, authority_of(message, all->keys[i]->authority).data);
    return udpai_suggestion_or_list(&suggestion, hint);
}

static void
check_has_key(const udpai_value *value)
{
    const signatures_message *all = value->bootstrap->signatures;
    char hint[UDPAI_CHOICE_TEXT];
    if (all->n_trusted + all->n_keys && *value->text && !has_key_of(value->bootstrap, value->text))
        udpai_value_error(value, "", "no key in signatures.trusted is of authority '%s'%s",
                          value->text, suggest_authority(value->bootstrap, value->text, hint));
}

static const udpai_field required_fields[] = {
    {.name = "namespaces", UDPAI_PUBLIC, UDPAI_PREFIXES},
    {.name = "types", UDPAI_PUBLIC, UDPAI_NOT_EMPTY},
    {.name = "authorities", UDPAI_PUBLIC, UDPAI_NOT_EMPTY, .check = check_has_key},
};

static void
check_has_keys(const udpai_value *value)
{
    const signatures_message *all = value->bootstrap->signatures;
    if (all->n_trusted + all->n_keys == 0)
        udpai_value_error(value, "",
                          "asks for signatures, and there is no key to verify them with: "
                          "nothing would be taken there; list keys in signatures.trusted");
}

static const udpai_section required_signature = {
    UDPAI_SECTION(required_signature, required_fields),
    .check = check_has_keys,
};

/* ---- the section ---- */

static void
check_seconds(const udpai_value *value, int64_t min_s, int64_t max_s)
{
    const Google__Protobuf__Duration *duration = value->message;
    if (duration->nanos || duration->seconds < min_s || duration->seconds > max_s)
        udpai_value_error(value, "", "must be whole seconds from %" PRId64 " s to %" PRId64 " s",
                          min_s, max_s);
}

static void
check_validity(const udpai_value *value)
{
    check_seconds(value, VALIDITY_MIN_S, VALIDITY_MAX_S);
}

static void
check_skew(const udpai_value *value)
{
    check_seconds(value, 0, SKEW_MAX_S);
}

static const udpai_field fields[] = {
    {.name = "validity", .check = check_validity},
    {.name = "clock_skew", .check = check_skew},
    {.name = "keys", .of = &signing_key, .max = UDPAI_KEYRING_MAX},
    {.name = "trusted", .of = &trusted_key, .max = UDPAI_KEYRING_MAX},
    {.name = "required", .of = &required_signature, .max = UDPAI_KEYRING_MAX},
};

static void
check_rules(const udpai_value *value)
{
    const signatures_message *all = value->message;
    if (all->n_keys && !value->bootstrap->acl)
        udpai_value_warn(value, "keys",
                         "without a section 'acl' every peer may publish in the name of any "
                         "authority, and what it publishes is signed");
}

const udpai_section udpai_section_signatures = {
    UDPAI_SECTION(signatures, fields),
    .check = check_rules,
};

void
udpai_signatures_check_files(const bootstrap_message *message, udpai_diagnostics *diagnostics)
{
    static const udpai_field alone[] = {
        {.name = "signatures", .of = &udpai_section_signatures},
    };
    const udpai_section section = {UDPAI_SECTION(bootstrap, alone)};
    udpai_section_check_files(&section, message, NULL, diagnostics);
}

/* ---- use ---- */

/* What is made of a section on the way to a keyring. */
struct keys {
    udpai_plan *plan; /* its memory is used */
    const signatures_message *from;
    udpai_named_key *signing, *trusted;
    udpai_signature_requirement *required;
    udpai_str authority; /* of the node */
};

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
        err = udpai_plan_words(keys->plan, from->namespaces, from->n_namespaces, &to->prefixes);
        if (err == UDPA_OK)
            err = udpai_plan_types(keys->plan, from->types, from->n_types, &to->types);
        if (err == UDPA_OK)
            err = udpai_plan_words(keys->plan, from->authorities, from->n_authorities,
                                   &to->authorities);
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
udpai_use_signatures(udpai_plan *plan, const udpai_options *options, udpa_error **ret_error)
{
    const signatures_message *from = plan->bootstrap.message->signatures;
    udpai_node_config *node = &plan->settings.node;
    return from ? read_section(plan, node->authority, from, &node->keyring, ret_error) : UDPA_OK;
}
