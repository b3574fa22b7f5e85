/* SPDX-License-Identifier: Apache-2.0 */
/* Is it the history that the mirror knows? An etcd that was restored from an older snapshot may be
 * at any revision: it was written to since, or its revision was raised, and what was before that
 * compacted. Then it has keys as they were, or not at all. */
#include <inttypes.h>

#include "etcd/mirror_internal.h"

void
udpai_mirror_hold_for_history(udpai_mirror *mirror)
{
    UDPA_AUTO(udpa_error_unref)
    udpa_error *why =
        udpa_error_new(UDPA_ERR_PRECONDITION, NULL,
                       "etcd has another history than before, up to revision %" PRId64
                       ": it was restored from an older snapshot, or its data are lost",
                       mirror->position.revision);
    udpai_mirror_hold(mirror, why);
}

const udpai_mirror_key *
udpai_mirror_newest_key(const udpai_mirror *mirror)
{
    size_t at = 0;
    const udpai_mirror_key *key, *newest = NULL;
    while ((key = udpai_map_next(&mirror->keys, &at)))
        if (key->mod_revision && (!newest || key->mod_revision > newest->mod_revision))
            newest = key;
    return newest;
}

static bool
is_kept(const udpai_mirror *mirror, udpai_str key)
{
    return mirror->env.is_kept && mirror->env.is_kept(mirror->env.userdata, key);
}

bool
udpai_mirror_has_older(const udpai_mirror *mirror, const udpai_etcd_result *present)
{
    return present->n_kvs ? present->kvs[0].mod_revision < mirror->proof_revision
                          : is_kept(mirror, udpai_bytes_view(mirror->proof));
}

/* It is looked at first from now on. */
static void
hold_for_key(udpai_mirror *mirror, const udpai_mirror_key *key)
{
    mirror->proof = udpa_bytes_unref(mirror->proof);
    mirror->proof_revision = key->mod_revision;
    if (udpa_bytes_new(&mirror->proof, key->data, key->len) == UDPA_OK)
        udpai_mirror_hold_for_history(mirror);
    else
        udpai_mirror_retry_without_memory(mirror);
}

bool
udpai_mirror_check_page(udpai_mirror *mirror, const udpai_etcd_result *result)
{
    for (size_t i = 0; i < result->n_kvs; i++) {
        const udpai_mirror_key *key = udpai_map_get(&mirror->keys, result->kvs[i].key);
        if (!key || result->kvs[i].mod_revision >= key->mod_revision)
            continue;
        hold_for_key(mirror, key);
        return false;
    }
    return true;
}

bool
udpai_mirror_check_list(udpai_mirror *mirror)
{
    size_t at = 0;
    const udpai_mirror_key *key;
    while ((key = udpai_map_next(&mirror->keys, &at))) {
        bool is_missing = key->mod_revision > 0 && key->listed != mirror->list_number;
        if (!is_missing || !is_kept(mirror, udpai_mirror_key_text(key)))
            continue;
        hold_for_key(mirror, key);
        return false;
    }
    return true;
}
