/* SPDX-License-Identifier: Apache-2.0 */
/* One resource at a time: signing and judging. What all that is held makes of it as time passes and
 * keys change is signatures_watch.c's. */
#include "federation/intake.h"
#include "federation/signatures_internal.h"
#include "federation/stamp.h"

#include "model/name.h"

#define US_PER_S 1000000
#define BACKDATED_US ((int64_t)UDPAI_SIGNATURE_BACKDATED_S * US_PER_S)

int64_t
udpai_signatures_now_s(const udpai_signatures *signatures)
{
    return udpai_context_wall_us(signatures->context) / US_PER_S;
}

/* ---- authorities ---- */

bool
udpai_signatures_may_sign(const udpai_signatures *signatures, const udpai_origin *origin)
{
    if (udpai_origin_rank(origin) != UDPAI_ORIGIN_SOURCE)
        return udpai_origin_rank(origin) != UDPAI_ORIGIN_NODE;
    const udpai_source *source = udpai_sources_of_origin(signatures->sources, origin);
    return source && (udpai_source_is_path(source) || udpai_source_is_xds(source));
}

static bool
is_taken_first_here(const udpai_signatures *signatures, const udpa_resource *resource)
{
    return udpa_resource_n_hops(resource) == 1 &&
           udpai_str_eq(udpai_resource_hop(resource, 0).node_id,
                        udpai_bytes_view(signatures->context->id));
}

/* Our own signatures were made when we took the resource in, to the microsecond, and add_hop() sees
 * to it that no others were. So it is known also after a restart. */
bool
udpai_signatures_is_own(const udpai_signatures *signatures, const udpa_resource *resource)
{
    const udpai_signature *signature = udpai_resource_signature(resource);
    return signature && is_taken_first_here(signatures, resource) &&
           udpai_stamp_is_of(signature, udpai_resource_hop(resource, 0).time_us);
}

bool
udpai_signatures_is_exempt(const udpa_resource *resource)
{
    return udpai_prefix_covers(UDPAI_STR(UDPAI_NODE_NAMESPACE), udpai_resource_name(resource));
}

const udpai_named_key *
udpai_signatures_signer(const udpai_signatures *signatures, const udpa_resource *resource)
{
    bool is_open =
        !udpai_resource_signature(resource) || udpai_signatures_is_own(signatures, resource);
    if (!is_open || !is_taken_first_here(signatures, resource) ||
        udpai_signatures_is_exempt(resource))
        return NULL;
    return udpai_keyring_signer(signatures->keyring, udpai_resource_authority(resource));
}

/* ---- signing ---- */

/* Somewhere around half of its validity, another moment for each resource, so that not all are due
 * at once. */
int64_t
udpai_signatures_renewal_s(const udpa_resource *resource)
{
    const udpai_signature *signature = udpai_resource_signature(resource);
    int64_t from_s = udpai_signature_not_before_s(signature) + UDPAI_SIGNATURE_BACKDATED_S;
    int64_t length_s = udpai_signature_not_after_s(signature) - from_s;
    int64_t spread_s = length_s / 4;
    uint64_t chance =
        udpai_digest(udpai_resource_type_url(resource), udpai_resource_name(resource));
    return from_s + length_s / 2 - spread_s / 2 +
           (spread_s ? (int64_t)(chance % (uint64_t)spread_s) : 0);
}

bool
udpai_signatures_is_due(const udpai_signatures *signatures,
                        const udpai_named_key *key,
                        const udpa_resource *resource,
                        int64_t now_s)
{
    const udpai_signature *signature = udpai_resource_signature(resource);
    int64_t validity_s = udpai_keyring_validity_s(signatures->keyring);
    return !signature || !udpai_str_eq(signature->key_id, key->key_id) ||
           signature->algorithm != (uint32_t)udpai_key_algorithm_of(key->key) ||
           udpai_signature_not_after_s(signature) - udpai_signature_not_before_s(signature) !=
               validity_s + UDPAI_SIGNATURE_BACKDATED_S ||
           now_s < udpai_signature_not_before_s(signature) ||
           now_s >= udpai_signatures_renewal_s(resource);
}

/* The signature that the origin's contribution has, if it is one for this resource too. */
static udpa_err
reuse(const udpai_signatures *signatures,
      const udpai_origin *origin,
      const udpai_named_key *key,
      udpa_resource *resource,
      udpa_resource **ret_resource)
{
    udpai_contribution held;
    udpai_resource_room room;
    if (!udpai_store_get(signatures->context->store, origin, udpai_resource_type_url(resource),
                         udpai_resource_name(resource), &held) ||
        !udpai_signatures_is_own(signatures, held.resource) ||
        !udpai_resource_signs_same(held.resource, resource) ||
        udpai_signatures_is_due(signatures, key, held.resource, udpai_signatures_now_s(signatures)))
        return UDPA_OK;
    udpai_resource_parts parts = udpai_resource_parts_of(resource, &room);
    parts.signature = *udpai_resource_signature(held.resource);
    room.hops[0].time_us = parts.signature.not_before_us + BACKDATED_US;
    return udpai_resource_make(ret_resource, &parts);
}

static udpa_err
sign(udpai_signatures *signatures,
     const udpai_named_key *key,
     udpa_resource *resource,
     udpa_resource **ret_resource)
{
    int64_t now_s = udpai_signatures_now_s(signatures);
    udpai_resource_room room;
    udpai_resource_parts parts = udpai_resource_parts_of(resource, &room);
    parts.generation = udpai_stamp_generation(signatures->context, resource);
    parts.signature = (udpai_signature){0};
    room.hops[0].time_us = now_s * US_PER_S;
    UDPA_AUTO(udpa_resource_unref) udpa_resource *bare = NULL;
    udpa_err err = udpai_resource_make(&bare, &parts);
    if (err != UDPA_OK)
        return err;
    const udpai_signing signing = {
        .key = key->key,
        .key_id = key->key_id,
        .not_before_s = now_s - UDPAI_SIGNATURE_BACKDATED_S,
        .not_after_s = now_s + udpai_keyring_validity_s(signatures->keyring),
    };
    err = udpai_resource_sign(ret_resource, bare, &signing);
    signatures->n_signed += err == UDPA_OK && !signatures->is_trial;
    return err;
}

static udpa_err
sign_or_reuse(udpai_signatures *signatures,
              const udpai_origin *origin,
              const udpai_named_key *key,
              udpa_resource **resource)
{
    udpa_resource *with_signature = NULL;
    udpa_err err = reuse(signatures, origin, key, *resource, &with_signature);
    if (err == UDPA_OK && !with_signature)
        err = sign(signatures, key, *resource, &with_signature);
    if (err != UDPA_OK)
        return err;
    udpa_resource_unref(*resource);
    *resource = with_signature;
    udpai_signatures_note(signatures, udpai_signatures_renewal_s(with_signature));
    return UDPA_OK;
}

/* ---- judging ---- */

/* Is it what the origin has sent before, which was found good? */
static bool
is_verified(const udpai_signatures *signatures,
            const udpai_origin *origin,
            const udpa_resource *resource)
{
    udpai_contribution held;
    return !signatures->must_verify && signatures->unverified.n == 0 &&
           udpai_resource_signature(resource) &&
           udpai_store_get(signatures->context->store, origin, udpai_resource_type_url(resource),
                           udpai_resource_name(resource), &held) &&
           udpai_resource_same_signed(held.resource, resource);
}

static udpa_err
verify(udpai_signatures *signatures,
       const udpai_origin *origin,
       const udpa_resource *resource,
       udpa_error **ret_error)
{
    if (udpai_signatures_is_exempt(resource))
        return UDPA_OK;
    const udpai_keyring *keyring = signatures->keyring;
    udpa_err err = udpai_keyring_verify(keyring, resource, udpai_signatures_now_s(signatures),
                                        is_verified(signatures, origin, resource), ret_error);
    if (err == UDPA_OK && keyring)
        udpai_signatures_note(signatures, udpai_keyring_end_s(keyring, resource));
    signatures->n_refused += err == UDPA_ERR_DENIED && !signatures->is_trial;
    return err;
}

void
udpai_signatures_set_trial(udpai_signatures *signatures, bool is_trial)
{
    signatures->is_trial = is_trial;
}

udpa_err
udpai_signatures_pass(udpai_signatures *signatures,
                      udpai_origin *origin,
                      udpa_resource **resource,
                      udpa_error **ret_error)
{
    const udpai_named_key *key =
        udpai_resource_signature(*resource) ? NULL : udpai_signatures_signer(signatures, *resource);
    if (key && udpai_signatures_may_sign(signatures, origin))
        return udpai_fail_code(ret_error, sign_or_reuse(signatures, origin, key, resource));
    return verify(signatures, origin, *resource, ret_error);
}

/* What a replica has signed as this node is as good as what this one signs. Without memory it is
 * not known. */
bool
udpai_signatures_allow(udpai_signatures *signatures,
                       const udpai_origin *origin,
                       const udpa_resource *resource)
{
    if (udpai_resource_signature(resource) && udpai_signatures_signer(signatures, resource) &&
        udpai_signatures_may_sign(signatures, origin))
        return true;
    return verify(signatures, origin, resource, NULL) != UDPA_ERR_DENIED;
}

bool
udpai_signatures_is_matter_of_time(const udpai_signatures *signatures,
                                   const udpa_resource *resource,
                                   int64_t late_s)
{
    const udpai_keyring *keyring = signatures->keyring;
    int64_t end_s = keyring ? udpai_keyring_end_s(keyring, resource) : INT64_MAX;
    return end_s != INT64_MAX && udpai_signatures_now_s(signatures) - late_s < end_s &&
           udpai_keyring_verify(keyring, resource, end_s - 1, false, NULL) == UDPA_OK;
}

/* ---- removals ---- */

static udpa_err
sign_removal(udpai_signatures *signatures, const udpai_named_key *key, udpa_resource **removal)
{
    int64_t now_s = udpai_signatures_now_s(signatures);
    const udpai_signing signing = {
        .key = key->key,
        .key_id = key->key_id,
        .not_before_s = now_s - UDPAI_SIGNATURE_BACKDATED_S,
        .not_after_s = now_s + udpai_keyring_validity_s(signatures->keyring),
    };
    udpa_resource *with_signature = NULL;
    udpa_err err = udpai_removal_sign(&with_signature, *removal, &signing);
    if (err != UDPA_OK)
        return err;
    signatures->n_signed += !signatures->is_trial;
    udpa_resource_unref(*removal);
    *removal = with_signature;
    return UDPA_OK;
}

bool
udpai_signatures_pass_removal(udpai_signatures *signatures,
                              const udpai_origin *origin,
                              const udpa_resource *held,
                              udpa_resource **removal)
{
    const udpai_named_key *key = held && !udpai_resource_signature(*removal)
                                     ? udpai_signatures_signer(signatures, held)
                                     : NULL;
    if (key && udpai_signatures_may_sign(signatures, origin))
        return sign_removal(signatures, key, removal) == UDPA_OK;
    udpa_err err = udpai_keyring_verify_removal(signatures->keyring, *removal,
                                                udpai_signatures_now_s(signatures), NULL);
    signatures->n_refused += err == UDPA_ERR_DENIED && !signatures->is_trial;
    return err == UDPA_OK;
}
