/* SPDX-License-Identifier: Apache-2.0 */
#include "etcd/mirror_internal.h"

/* Of a key that is there, and that no list has as it is. */
#define NO_REVISION (-1)

udpa_bytes *
udpai_etcd_prefix_end(udpai_str prefix)
{
    while (prefix.len && (unsigned char)prefix.data[prefix.len - 1] == 0xff)
        prefix.len--;
    uint8_t *room;
    udpa_bytes *end = prefix.len ? udpai_bytes_make(prefix.len, &room) : NULL;
    if (!end)
        return NULL;
    memcpy(room, prefix.data, prefix.len);
    room[prefix.len - 1]++;
    return end;
}

static void
on_retry(udpai_timer *timer)
{
    udpai_mirror *mirror = UDPAI_CONTAINER_OF(timer, udpai_mirror, retry);
    if (mirror->has_all && !mirror->is_stale)
        udpai_mirror_watch_again(mirror);
    else
        udpai_mirror_begin_list(mirror);
}

/* ---- beginning and end ---- */

static void
free_keys(udpai_mirror *mirror)
{
    size_t at = 0;
    udpai_mirror_key *key;
    while ((key = udpai_map_next(&mirror->keys, &at)))
        udpai_free(key);
    udpai_map_done(&mirror->keys);
}

udpai_mirror *
udpai_mirror_free(udpai_mirror *mirror)
{
    if (!mirror)
        return NULL;
    udpai_mirror_stop_watch(mirror);
    udpai_mirror_stop_list(mirror);
    udpai_timer_cancel(&mirror->retry);
    udpai_timer_cancel(&mirror->lag);
    udpai_etcd_changes_copy_done(&mirror->gathered);
    free_keys(mirror);
    udpa_bytes_unref(mirror->prefix);
    udpa_bytes_unref(mirror->end);
    udpa_error_unref(mirror->why);
    udpa_bytes_unref(mirror->proof);
    udpai_free(mirror);
    return NULL;
}

udpa_err
udpai_mirror_new(udpai_mirror **ret_mirror,
                 const udpai_mirror_env *env,
                 udpai_str prefix,
                 udpai_mirror_position position)
{
    udpai_mirror *mirror = udpai_alloc(sizeof(*mirror));
    if (!mirror)
        return UDPA_ERR_NOMEM;
    mirror->env = *env;
    mirror->position = position;
    mirror->end = udpai_etcd_prefix_end(prefix);
    udpai_mirror_init_watch(mirror);
    mirror->retry_ms = UDPAI_MIRROR_RETRY_MS;
    mirror->gathering = 1;
    udpai_map_init(&mirror->keys, udpai_mirror_key_text);
    udpai_list_init(&mirror->waiters);
    udpai_etcd_changes_copy_init(&mirror->gathered);
    udpai_timer_init(&mirror->retry, on_retry);
    udpa_err err = udpa_bytes_new(&mirror->prefix, prefix.data, prefix.len);
    if (err != UDPA_OK || !mirror->end) {
        udpai_mirror_free(mirror);
        return UDPA_ERR_NOMEM;
    }
    udpai_timer_set(env->wheel, &mirror->retry, env->wheel->now_ms);
    *ret_mirror = mirror;
    return UDPA_OK;
}

udpa_err
udpai_mirror_set_proof(udpai_mirror *mirror, udpai_str key, int64_t revision)
{
    mirror->proof_revision = revision;
    return udpa_bytes_new(&mirror->proof, key.data, key.len);
}

udpai_mirror_state
udpai_mirror_get_state(const udpai_mirror *mirror)
{
    return mirror->state;
}

udpai_mirror_position
udpai_mirror_get_position(const udpai_mirror *mirror)
{
    return mirror->position;
}

int64_t
udpai_mirror_seen(const udpai_mirror *mirror)
{
    return mirror->seen;
}

int64_t
udpai_mirror_mod_revision(const udpai_mirror *mirror, udpai_str text)
{
    const udpai_mirror_key *key = udpai_map_get(&mirror->keys, text);
    return key ? key->mod_revision : 0;
}

bool
udpai_mirror_knows(const udpai_mirror *mirror, udpai_str text)
{
    const udpai_mirror_key *key = udpai_map_get(&mirror->keys, text);
    return key && (key->mod_revision || key->gathered == mirror->gathering);
}

void
udpai_mirror_visit(const udpai_mirror *mirror,
                   void (*visit)(void *userdata, udpai_str key, int64_t mod_revision),
                   void *userdata)
{
    size_t at = 0;
    const udpai_mirror_key *key;
    while ((key = udpai_map_next(&mirror->keys, &at)))
        if (key->mod_revision)
            visit(userdata, udpai_mirror_key_text(key), key->mod_revision);
}

static void
count(void *n, udpai_str key, int64_t mod_revision)
{
    (void)key;
    (void)mod_revision;
    ++*(size_t *)n;
}

size_t
udpai_mirror_n_keys(const udpai_mirror *mirror)
{
    size_t n = 0;
    udpai_mirror_visit(mirror, count, &n);
    return n;
}

/* No key is what it was, whatever revisions it had. */
static void
forget_revisions(udpai_mirror *mirror)
{
    size_t at = 0;
    udpai_mirror_key *key;
    while ((key = udpai_map_next(&mirror->keys, &at)))
        if (key->mod_revision)
            key->mod_revision = NO_REVISION;
}

void
udpai_mirror_accept(udpai_mirror *mirror)
{
    if (mirror->state != UDPAI_MIRROR_HELD)
        return;
    mirror->position = (udpai_mirror_position){0, 0};
    mirror->proof = udpa_bytes_unref(mirror->proof);
    forget_revisions(mirror);
    udpai_timer_cancel(&mirror->retry);
    udpai_mirror_set_state(mirror, UDPAI_MIRROR_LISTING, NULL);
    udpai_mirror_begin_list(mirror);
    udpai_mirror_end_waiting(mirror, 0);
}

void
udpai_mirror_list_again(udpai_mirror *mirror)
{
    mirror->hands_on_all = true;
    if (mirror->state == UDPAI_MIRROR_HELD || !mirror->has_all)
        return;
    if (udpai_timer_is_set(&mirror->retry)) /* then, in the place of watching */
        mirror->is_stale = true;
    else
        udpai_mirror_begin_list(mirror);
}
