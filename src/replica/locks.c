/* SPDX-License-Identifier: Apache-2.0 */
#include "replica/locks.h"

#include "base/alloc.h"
#include "base/proto.h"

enum {
    FIELD_SET = 1,
    FIELD_VALUE = 2
};

static udpai_str
record_of(const void *item)
{
    return udpai_bytes_view(((const udpai_lock *)item)->record);
}

static udpai_str
id_of(const void *item)
{
    return udpai_str_from(((const udpai_lock_set *)item)->id);
}

void
udpai_locks_init(udpai_locks *locks)
{
    udpai_map_init(&locks->by_record, record_of);
    udpai_map_init(&locks->by_id, id_of);
    udpai_list_init(&locks->sets);
}

/* ---- sets ---- */

static void
release_set(udpai_locks *locks, udpai_lock_set *set)
{
    if (set->n || set->has_intent || set->is_committed)
        return;
    udpai_map_remove(&locks->by_id, id_of(set));
    udpai_list_remove(&set->node);
    udpai_free(set);
}

udpai_lock_set *
udpai_locks_find_set(const udpai_locks *locks, udpai_str id)
{
    return udpai_map_get(&locks->by_id, id);
}

/* As a replica draws it: whatever else is in etcd, it is a key of the map, without a NUL. */
static bool
is_id(udpai_str id)
{
    size_t n = 0;
    while (n < id.len &&
           ((id.data[n] >= '0' && id.data[n] <= '9') || (id.data[n] >= 'a' && id.data[n] <= 'f')))
        n++;
    return n == UDPAI_LOCK_SET_LEN && n == id.len;
}

static udpa_err
get_set(udpai_locks *locks, udpai_str id, udpai_lock_set **ret_set)
{
    *ret_set = udpai_locks_find_set(locks, id);
    if (*ret_set)
        return UDPA_OK;
    if (!is_id(id))
        return UDPA_ERR_MALFORMED;
    udpai_lock_set *set = udpai_alloc(sizeof(*set));
    if (!set)
        return UDPA_ERR_NOMEM;
    memcpy(set->id, id.data, id.len);
    udpai_list_init(&set->locks);
    udpai_list_init(&set->node);
    if (!udpai_map_add(&locks->by_id, set)) {
        udpai_free(set);
        return UDPA_ERR_NOMEM;
    }
    udpai_list_append(&locks->sets, &set->node);
    *ret_set = set;
    return UDPA_OK;
}

/* ---- locks ---- */

static void
drop_lock(udpai_locks *locks, udpai_lock *lock)
{
    udpai_lock_set *set = lock->set;
    udpai_map_remove(&locks->by_record, record_of(lock));
    udpai_list_remove(&lock->in_set);
    set->n--;
    udpa_bytes_unref(lock->record);
    udpa_bytes_unref(lock->value);
    udpai_free(lock);
    release_set(locks, set);
}

udpai_lock *
udpai_locks_find(const udpai_locks *locks, udpai_str record)
{
    return udpai_map_get(&locks->by_record, record);
}

static udpa_err
fill_lock(udpai_locks *locks, udpai_lock *lock, udpai_str record, udpai_str value)
{
    udpai_proto_reader reader = udpai_proto_read(value);
    udpai_proto_field field;
    udpai_str id = {0};
    udpa_err err = udpa_bytes_new(&lock->record, record.data, record.len);
    while (err == UDPA_OK && udpai_proto_next(&reader, &field)) {
        if (field.type == UDPAI_WIRE_BYTES && field.number == FIELD_SET) {
            id = field.bytes;
        } else if (field.type == UDPAI_WIRE_BYTES && field.number == FIELD_VALUE) {
            udpa_bytes_unref(lock->value);
            lock->value = NULL;
            err = udpa_bytes_new(&lock->value, field.bytes.data, field.bytes.len);
        }
    }
    if (err != UDPA_OK || reader.failed)
        return err != UDPA_OK ? err : UDPA_ERR_MALFORMED;
    return get_set(locks, id, &lock->set);
}

static udpa_err
put_lock(udpai_locks *locks, udpai_str record, udpai_str value, udpai_lock **ret_lock)
{
    udpai_lock *lock = udpai_alloc(sizeof(*lock));
    if (!lock)
        return UDPA_ERR_NOMEM;
    udpai_list_init(&lock->in_set);
    udpa_err err = fill_lock(locks, lock, record, value);
    if (err == UDPA_OK && !udpai_map_add(&locks->by_record, lock))
        err = UDPA_ERR_NOMEM;
    if (err == UDPA_OK) {
        udpai_list_append(&lock->set->locks, &lock->in_set);
        lock->set->n++;
        *ret_lock = lock;
        return UDPA_OK;
    }
    if (lock->set)
        release_set(locks, lock->set);
    udpa_bytes_unref(lock->record);
    udpa_bytes_unref(lock->value);
    udpai_free(lock);
    return err;
}

udpa_bytes *
udpai_lock_value(const char *set_id, udpa_bytes *value)
{
    uint8_t *room;
    udpai_str id = udpai_str_from(set_id);
    size_t size = udpai_proto_bytes_size(FIELD_SET, id.len);
    if (value)
        size += udpai_proto_bytes_size(FIELD_VALUE, udpa_bytes_size(value));
    udpa_bytes *bytes = udpai_bytes_make(size, &room);
    if (!bytes)
        return NULL;
    udpai_proto_writer writer = {room, 0};
    udpai_proto_put_bytes(&writer, FIELD_SET, id);
    if (value)
        udpai_proto_put_bytes(&writer, FIELD_VALUE, udpai_bytes_view(value));
    return bytes;
}

/* ---- keys ---- */

bool
udpai_locks_is_key(udpai_str key)
{
    return key.len > 2 && key.data[1] == '/' &&
           (key.data[0] == 'i' || key.data[0] == 'p' || key.data[0] == 'x');
}

static udpa_err
take_mark(udpai_locks *locks, udpai_str id, bool is_commit, bool is_there, udpai_lock_set **ret_set)
{
    udpai_lock_set *set = udpai_locks_find_set(locks, id);
    udpa_err err = set || !is_there ? UDPA_OK : get_set(locks, id, &set);
    if (err != UDPA_OK || !set)
        return err;
    if (is_commit && is_there && !set->is_committed)
        *ret_set = set;
    if (is_commit)
        set->is_committed = is_there;
    else
        set->has_intent = is_there;
    release_set(locks, set);
    return UDPA_OK;
}

udpa_err
udpai_locks_take(udpai_locks *locks,
                 udpai_str key,
                 const udpai_str *value,
                 udpai_lock **ret_lock,
                 udpai_lock_set **ret_set)
{
    const udpai_str behind = {key.data + 2, key.len - 2};
    *ret_lock = NULL;
    *ret_set = NULL;
    if (key.data[0] != 'p')
        return take_mark(locks, behind, key.data[0] == 'x', value != NULL, ret_set);
    udpai_lock *before = udpai_locks_find(locks, behind);
    if (before)
        drop_lock(locks, before);
    return value ? put_lock(locks, behind, *value, ret_lock) : UDPA_OK;
}

/* ---- the end ---- */

void
udpai_locks_clear(udpai_locks *locks)
{
    UDPAI_LIST_FOREACH_SAFE (at, &locks->sets) {
        udpai_lock_set *set = UDPAI_LIST_ENTRY(at, udpai_lock_set, node);
        set->has_intent = set->is_committed = false;
        size_t n = set->n;
        if (n == 0)
            release_set(locks, set);
        while (n--) /* the last one frees the set */
            drop_lock(locks, UDPAI_LIST_ENTRY(set->locks.next, udpai_lock, in_set));
    }
}

void
udpai_locks_done(udpai_locks *locks)
{
    udpai_locks_clear(locks);
    udpai_map_done(&locks->by_record);
    udpai_map_done(&locks->by_id);
}
