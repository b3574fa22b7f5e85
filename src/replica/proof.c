/* SPDX-License-Identifier: Apache-2.0 */
/* By what an etcd is known again: keys that are written with every change, and never deleted. One
 * that was restored from an older snapshot has them as they were then, at whatever revision it is.
 */
#include "replica/hold_keys.h"
#include "replica/replicator_internal.h"
#include "replica/set.h"

static udpai_str
behind_prefix(const udpai_replicator *replicator, udpai_str key)
{
    size_t before = udpa_bytes_size(replicator->prefix);
    return (udpai_str){key.data + before, key.len - before};
}

bool
udpai_replicator_is_kept(void *userdata, udpai_str key)
{
    udpai_str behind = behind_prefix(userdata, key);
    return udpai_str_starts(behind, UDPAI_STR(UDPAI_LANE)) ||
           udpai_str_starts(behind, UDPAI_STR(UDPAI_TICK)) ||
           udpai_str_eq(behind, UDPAI_STR(UDPAI_BACK_KEY)) ||
           udpai_str_eq(behind, UDPAI_STR(UDPAI_SET_KEY));
}

/* The key that each transaction of a lane compares: while its replica holds nobody writes it. All
 * others may be written before that, or by who writes back. */
static bool
is_lane(const udpai_replicator *replicator, udpai_str key)
{
    return udpai_str_starts(behind_prefix(replicator, key), UDPAI_STR(UDPAI_LANE)) &&
           key.data[key.len - 1] != '!';
}

/* Of a set in which nobody has published yet: any key that does not go by itself. */
static bool
is_better(const udpai_replicator *replicator, const udpai_etcd_kv *kv, const udpai_etcd_kv *than)
{
    bool is_one = is_lane(replicator, kv->key);
    bool was_one = than && is_lane(replicator, than->key);
    if (is_one != was_one)
        return is_one;
    return !kv->lease && (!than || kv->mod_revision > than->mod_revision);
}

udpa_err
udpai_replicator_note_proof(const udpai_replicator *replicator,
                            const udpai_mirror_change *change,
                            udpai_replication_proof *proof)
{
    const udpai_etcd_kv *best = NULL;
    for (size_t i = 0; i < change->n_events; i++) {
        const udpai_etcd_event *event = &change->events[i];
        if (!event->is_delete && is_better(replicator, &event->kv, best))
            best = &event->kv;
    }
    if (best && !change->is_all && !is_lane(replicator, best->key))
        best = NULL; /* what was before is better */
    proof->revision = best ? best->mod_revision : 0;
    return best ? udpa_bytes_new(&proof->key, best->key.data, best->key.len) : UDPA_OK;
}
