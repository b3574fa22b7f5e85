/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/signatures_check.h"

#include <inttypes.h>

#include "base/pattern.h"
#include "certs/keyring.h"
#include "codec/suggest.h"
#include "daemon/files_check.h"
#include "loop/clock.h"
#include "model/name.h"
#include "transport/key_file.h"

typedef Udpa__Config__V1__Signatures signatures_message;

#define VALIDITY_S (24 * 3600)
#define VALIDITY_MIN_S 2 /* it is made anew at half of that, and looked at each second */
#define VALIDITY_MAX_S ((int64_t)10 * 365 * 24 * 3600)
#define SKEW_S 60
#define SKEW_MAX_S 300

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

/* ---- what stands in several places ---- */

static void
check_number(udpai_diagnostics *diagnostics, const char *list, size_t n)
{
    if (n > UDPAI_KEYRING_MAX)
        udpai_diagnostics_error(diagnostics, list, "are %zu; at most %d can be", n,
                                UDPAI_KEYRING_MAX);
}

/* ---- keys ---- */

static udpai_str
authority_of(const Udpa__Config__V1__Bootstrap *message, const char *authority)
{
    const Udpa__Config__V1__Node *node = message->node;
    if (!*authority && node)
        authority = *node->authority ? node->authority : node->id;
    return udpai_str_from(authority);
}

/* Keys of one authority are told apart by their ids. */
static void
check_signing(const Udpa__Config__V1__Bootstrap *message, udpai_diagnostics *diagnostics)
{
    const signatures_message *all = message->signatures;
    char path[UDPAI_FIELD_PATH_MAX];
    check_number(diagnostics, "signatures.keys", all->n_keys);
    for (size_t i = 0; i < all->n_keys; i++) {
        const Udpa__Config__V1__SigningKey *key = all->keys[i];
        udpai_str authority = authority_of(message, key->authority);
        udpai_path_item(path, "signatures.keys", i);
        udpai_diagnostics_require(diagnostics, path, "key_id", *key->key_id);
        udpai_diagnostics_require(diagnostics, path, "private_key_file", *key->private_key_file);
        for (size_t k = 0; k < i; k++)
            if (*key->key_id && strcmp(all->keys[k]->key_id, key->key_id) == 0 &&
                udpai_str_eq(authority_of(message, all->keys[k]->authority), authority))
                udpai_diagnostics_error(diagnostics, path,
                                        "signatures.keys[%zu] has the same authority and key_id, "
                                        "'%s'",
                                        k, key->key_id);
    }
    if (all->n_keys && !message->acl)
        udpai_diagnostics_warn(diagnostics, "signatures.keys",
                               "without a section 'acl' every peer may publish in the name of any "
                               "authority, and what it publishes is signed");
}

static void
check_times(udpai_diagnostics *diagnostics,
            const char *path,
            const Udpa__Config__V1__TrustedKey *key)
{
    char room[UDPAI_FIELD_PATH_MAX];
    if (key->not_before && key->not_after && key->not_before->seconds >= key->not_after->seconds)
        udpai_diagnostics_error(diagnostics, udpai_path_field(room, path, "not_after"),
                                "is not after not_before, so the key never counts");
}

static void
check_trusted(const signatures_message *all, udpai_diagnostics *diagnostics)
{
    char path[UDPAI_FIELD_PATH_MAX];
    check_number(diagnostics, "signatures.trusted", all->n_trusted);
    for (size_t i = 0; i < all->n_trusted; i++) {
        const Udpa__Config__V1__TrustedKey *key = all->trusted[i];
        udpai_path_item(path, "signatures.trusted", i);
        udpai_diagnostics_require(diagnostics, path, "authority", *key->authority);
        udpai_diagnostics_require(diagnostics, path, "key_id", *key->key_id);
        udpai_diagnostics_require(diagnostics, path, "public_key_file", *key->public_key_file);
        check_times(diagnostics, path, key);
        for (size_t k = 0; k < i; k++)
            if (*key->key_id && strcmp(all->trusted[k]->key_id, key->key_id) == 0 &&
                strcmp(all->trusted[k]->authority, key->authority) == 0)
                udpai_diagnostics_error(diagnostics, path,
                                        "signatures.trusted[%zu] has the same authority and "
                                        "key_id, '%s'",
                                        k, key->key_id);
    }
}

/* ---- requirements ---- */

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
has_key_of(const Udpa__Config__V1__Bootstrap *message, const char *pattern)
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
suggest_authority(const Udpa__Config__V1__Bootstrap *message,
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
check_has_keys(const Udpa__Config__V1__Bootstrap *message,
               const char *path,
               const Udpa__Config__V1__RequiredSignature *required,
               udpai_diagnostics *diagnostics)
{
    const signatures_message *all = message->signatures;
    char list[UDPAI_FIELD_PATH_MAX], at[UDPAI_FIELD_PATH_MAX], hint[UDPAI_CHOICE_TEXT];
    if (all->n_trusted + all->n_keys == 0) {
        udpai_diagnostics_error(diagnostics, path,
                                "asks for signatures, and there is no key to verify them with: "
                                "nothing would be taken there; list keys in signatures.trusted");
        return;
    }
    udpai_path_field(list, path, "authorities");
    for (size_t i = 0; i < required->n_authorities; i++)
        if (*required->authorities[i] && !has_key_of(message, required->authorities[i]))
            udpai_diagnostics_error(diagnostics, udpai_path_item(at, list, i),
                                    "no key in signatures.trusted is of authority '%s'%s",
                                    required->authorities[i],
                                    suggest_authority(message, required->authorities[i], hint));
}

static void
check_required(const Udpa__Config__V1__Bootstrap *message, udpai_diagnostics *diagnostics)
{
    const signatures_message *all = message->signatures;
    char path[UDPAI_FIELD_PATH_MAX], list[UDPAI_FIELD_PATH_MAX];
    check_number(diagnostics, "signatures.required", all->n_required);
    for (size_t i = 0; i < all->n_required; i++) {
        const Udpa__Config__V1__RequiredSignature *required = all->required[i];
        udpai_path_item(path, "signatures.required", i);
        check_prefixes(diagnostics, udpai_path_field(list, path, "namespaces"),
                       required->namespaces, required->n_namespaces);
        udpai_diagnostics_require_words(diagnostics, udpai_path_field(list, path, "types"),
                                        required->types, required->n_types);
        udpai_diagnostics_require_words(diagnostics, udpai_path_field(list, path, "authorities"),
                                        required->authorities, required->n_authorities);
        check_has_keys(message, path, required, diagnostics);
    }
}

/* ---- the section ---- */

static void
check_range(udpai_diagnostics *diagnostics,
            const char *path,
            const Google__Protobuf__Duration *duration,
            int64_t min_s,
            int64_t max_s)
{
    if (duration && (duration->nanos || duration->seconds < min_s || duration->seconds > max_s))
        udpai_diagnostics_error(diagnostics, path,
                                "must be whole seconds from %" PRId64 " s to %" PRId64 " s", min_s,
                                max_s);
}

void
udpai_signatures_check(const Udpa__Config__V1__Bootstrap *message, udpai_diagnostics *diagnostics)
{
    const signatures_message *all = message->signatures;
    if (!all)
        return;
    check_range(diagnostics, "signatures.validity", all->validity, VALIDITY_MIN_S, VALIDITY_MAX_S);
    check_range(diagnostics, "signatures.clock_skew", all->clock_skew, 0, SKEW_MAX_S);
    check_signing(message, diagnostics);
    check_trusted(all, diagnostics);
    check_required(message, diagnostics);
}

/* ---- files ---- */

static void
tell_unread(udpai_diagnostics *diagnostics,
            const char *path,
            const char *file,
            const udpa_error *error)
{
    char room[UDPAI_WHERE_MAX];
    udpai_diagnostics_error(diagnostics, path, "%s%s", udpa_error_message(error),
                            udpai_files_where(room, file));
}

static void
check_private(udpai_diagnostics *diagnostics,
              size_t index,
              const Udpa__Config__V1__SigningKey *from)
{
    char path[UDPAI_FIELD_PATH_MAX];
    UDPA_AUTO(udpai_key_unref) udpai_key *key = NULL;
    UDPA_AUTO(udpa_error_unref) udpa_error *error = NULL;
    udpai_path_field(path, udpai_path_item(path, "signatures.keys", index), "private_key_file");
    if (*from->private_key_file &&
        udpai_key_file_read_private(&key, from->private_key_file, &error) != UDPA_OK)
        tell_unread(diagnostics, path, from->private_key_file, error);
}

static void
check_public(udpai_diagnostics *diagnostics, size_t index, const Udpa__Config__V1__TrustedKey *from)
{
    char path[UDPAI_FIELD_PATH_MAX];
    int64_t now_s = udpai_wall_us() / 1000000;
    UDPA_AUTO(udpai_key_unref) udpai_key *key = NULL;
    UDPA_AUTO(udpa_error_unref) udpa_error *error = NULL;
    udpai_path_field(path, udpai_path_item(path, "signatures.trusted", index), "public_key_file");
    if (!*from->public_key_file)
        return;
    if (udpai_key_file_read_public(&key, from->public_key_file, &error) != UDPA_OK)
        tell_unread(diagnostics, path, from->public_key_file, error);
    else if (udpai_key_not_after_s(key) < now_s ||
             (from->not_after && from->not_after->seconds < now_s))
        udpai_diagnostics_warn(diagnostics, path, "%s: this key counts no more: it has ended",
                               from->public_key_file);
}

/* Who lists his own public key among the trusted ones must have the right one: either would count.
 */
static void
check_pair(const Udpa__Config__V1__Bootstrap *message,
           size_t index,
           const Udpa__Config__V1__TrustedKey *trusted,
           udpai_diagnostics *diagnostics)
{
    const Udpa__Config__V1__SigningKey *signing = message->signatures->keys[index];
    char path[UDPAI_FIELD_PATH_MAX];
    UDPA_AUTO(udpai_key_unref) udpai_key *private_key = NULL, *public_key = NULL;
    if (strcmp(signing->key_id, trusted->key_id) != 0 ||
        !udpai_str_eq(authority_of(message, signing->authority),
                      udpai_str_from(trusted->authority)) ||
        udpai_key_file_read_private(&private_key, signing->private_key_file, NULL) != UDPA_OK ||
        udpai_key_file_read_public(&public_key, trusted->public_key_file, NULL) != UDPA_OK ||
        udpai_key_equal(private_key, public_key))
        return;
    udpai_diagnostics_error(diagnostics, udpai_path_item(path, "signatures.keys", index),
                            "signatures.trusted has another key of the same authority and key_id, "
                            "'%s': give this one another key_id",
                            signing->key_id);
}

void
udpai_signatures_check_files(const Udpa__Config__V1__Bootstrap *message,
                             udpai_diagnostics *diagnostics)
{
    const signatures_message *all = message->signatures;
    for (size_t i = 0; all && i < all->n_keys; i++)
        check_private(diagnostics, i, all->keys[i]);
    for (size_t i = 0; all && i < all->n_trusted; i++)
        check_public(diagnostics, i, all->trusted[i]);
    for (size_t i = 0; all && i < all->n_keys; i++)
        for (size_t k = 0; k < all->n_trusted; k++)
            check_pair(message, i, all->trusted[k], diagnostics);
}
