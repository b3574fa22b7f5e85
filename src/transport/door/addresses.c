/* SPDX-License-Identifier: Apache-2.0 */
/* An address is remembered for a while after its last connection: else a peer that has used up what
 * it may ask for nothing would come back and have it again. */
#include "transport/door/addresses.h"

#include "base/alloc.h"

#define REMEMBERED_MS 10000
#define REMEMBERED_MAX 4096
/* More connections than strangers have, for users of this machine (by a unix socket). */
#define KEPT_FOR_USERS(max) ((max) / 20 + 4)

static udpai_str
key_of(const void *item)
{
    const udpai_address *address = item;
    return (udpai_str){address->name, address->name_len};
}

udpa_err
udpai_addresses_init(udpai_addresses *all, size_t max, size_t max_per_address)
{
    udpai_map_init(&all->by_name, key_of);
    udpai_list_init(&all->left);
    all->n = all->n_left = 0;
    all->used = NULL;
    all->max = max;
    all->max_per_address = max_per_address;
    return pthread_mutex_init(&all->mutex, NULL) == 0 ? UDPA_OK : UDPA_ERR_NOMEM;
}

static void
show_used(udpai_addresses *all)
{
    if (all->used)
        udpai_meter_set_ratio(all->used, all->n, all->max);
}

static void
forget(udpai_address *address)
{
    udpai_addresses *all = address->all;
    udpai_list_remove(&address->in_left);
    all->n_left--;
    udpai_map_remove(&all->by_name, key_of(address));
    udpai_free(address);
}

static udpai_address *
first_left(udpai_addresses *all)
{
    return UDPAI_LIST_ENTRY(all->left.next, udpai_address, in_left);
}

void
udpai_addresses_done(udpai_addresses *all)
{
    while (!udpai_list_empty(&all->left))
        forget(first_left(all));
    udpai_map_done(&all->by_name);
    pthread_mutex_destroy(&all->mutex);
}

void
udpai_addresses_set_max(udpai_addresses *all, size_t max, size_t max_per_address)
{
    pthread_mutex_lock(&all->mutex);
    all->max = max;
    all->max_per_address = max_per_address;
    show_used(all);
    pthread_mutex_unlock(&all->mutex);
}

void
udpai_addresses_set_meter(udpai_addresses *all, udpai_meter *used)
{
    pthread_mutex_lock(&all->mutex);
    all->used = used;
    show_used(all);
    pthread_mutex_unlock(&all->mutex);
}

static void
forget_old(udpai_addresses *all, uint64_t now_ms)
{
    while (!udpai_list_empty(&all->left) &&
           (all->n_left > REMEMBERED_MAX || now_ms - first_left(all)->left_ms >= REMEMBERED_MS))
        forget(first_left(all));
}

static udpai_address *
remember(udpai_addresses *all, udpai_str name)
{
    udpai_address *address = udpai_alloc(sizeof(*address) + name.len);
    if (!address)
        return NULL;
    address->all = all;
    address->name_len = name.len;
    memcpy(address->name, name.data, name.len);
    udpai_list_init(&address->in_left);
    if (udpai_map_add(&all->by_name, address))
        return address;
    udpai_free(address);
    return NULL;
}

static udpa_err
check_room(const udpai_addresses *all,
           const udpai_address *address,
           bool is_local,
           udpai_str name,
           udpa_error **ret_error)
{
    if (all->n >= all->max && (!is_local || all->n - all->max >= KEPT_FOR_USERS(all->max)))
        return udpai_fail(ret_error, UDPA_ERR_LIMIT,
                          "there are %zu connections, and more are not taken (limits.max_streams)",
                          all->n);
    if (address && address->n >= all->max_per_address)
        return udpai_fail(ret_error, UDPA_ERR_LIMIT,
                          "there are %zu connections of %.*s, and more are not taken "
                          "(limits.max_streams_per_identity)",
                          address->n, UDPAI_SHOWN(name));
    return UDPA_OK;
}

static udpa_err
enter(udpai_addresses *all,
      bool is_local,
      udpai_str name,
      uint64_t now_ms,
      udpai_address **ret_address,
      udpa_error **ret_error)
{
    forget_old(all, now_ms);
    udpai_address *address = udpai_map_get(&all->by_name, name);
    udpa_err err = check_room(all, address, is_local, name, ret_error);
    if (err != UDPA_OK)
        return err;
    if (!address && !(address = remember(all, name)))
        return udpai_fail_code(ret_error, UDPA_ERR_NOMEM);
    if (udpai_list_linked(&address->in_left)) {
        udpai_list_remove(&address->in_left);
        all->n_left--;
    }
    address->n++;
    all->n++;
    show_used(all);
    *ret_address = address;
    return UDPA_OK;
}

udpa_err
udpai_addresses_enter(udpai_addresses *all,
                      const udpai_client *peer,
                      uint64_t now_ms,
                      udpai_address **ret_address,
                      size_t *ret_n,
                      udpa_error **ret_error)
{
    udpai_strbuf name = {0};
    udpai_client_put_name(&name, peer);
    udpa_err err = UDPA_ERR_NOMEM;
    if (!udpai_strbuf_failed(&name)) {
        pthread_mutex_lock(&all->mutex);
        err = enter(all, peer->is_local, udpai_strbuf_view(&name), now_ms, ret_address, ret_error);
        *ret_n = err == UDPA_OK ? (*ret_address)->n : 0;
        pthread_mutex_unlock(&all->mutex);
    }
    udpai_strbuf_done(&name);
    return err;
}

void
udpai_addresses_leave(udpai_address *address, uint64_t now_ms)
{
    if (!address)
        return;
    udpai_addresses *all = address->all;
    pthread_mutex_lock(&all->mutex);
    all->n--;
    show_used(all);
    if (--address->n == 0) {
        address->left_ms = now_ms;
        udpai_list_append(&all->left, &address->in_left);
        all->n_left++;
    }
    forget_old(all, now_ms);
    pthread_mutex_unlock(&all->mutex);
}

bool
udpai_addresses_are_full(udpai_addresses *all)
{
    pthread_mutex_lock(&all->mutex);
    bool is_full = all->n >= all->max;
    pthread_mutex_unlock(&all->mutex);
    return is_full;
}
