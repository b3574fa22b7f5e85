/* SPDX-License-Identifier: Apache-2.0 */
/* All keys there are, page by page, at one revision. */
#include "etcd/mirror_internal.h"

/* So many keys at first, then as many as make so many bytes. */
#define PAGE_KEYS 16
#define PAGE_KEYS_MAX 10000
#define PAGE_BYTES (4 * 1024 * 1024)

static void on_page(udpai_etcd_call *call, const udpai_etcd_result *result);
static void list_pages(udpai_mirror *mirror);

/* ---- before it lists ---- */

static void
ask_proof(udpai_mirror *mirror,
          int64_t revision,
          void (*done)(udpai_etcd_call *call, const udpai_etcd_result *result))
{
    const udpai_etcd_range range = {
        .key = udpai_bytes_view(mirror->proof),
        .revision = revision,
        .keys_only = true,
    };
    mirror->page.done = done;
    mirror->is_paging =
        mirror->env.etcd->ops->range(mirror->env.etcd, &mirror->page, &range) == UDPA_OK;
    if (!mirror->is_paging)
        udpai_mirror_retry_without_memory(mirror);
}

/* What the proof was once is compacted. That it is as it was before that, or was deleted though
 * nobody does, is another history. */
static void
on_present(udpai_etcd_call *call, const udpai_etcd_result *result)
{
    udpai_mirror *mirror = UDPAI_CONTAINER_OF(call, udpai_mirror, page);
    mirror->is_paging = false;
    if (result->outcome != UDPAI_ETCD_DONE) {
        udpai_mirror_retry_later(mirror, result->error);
        return;
    }
    if (!udpai_mirror_is_the_same(mirror, &result->header))
        return;
    if (udpai_mirror_has_older(mirror, result))
        udpai_mirror_hold_for_history(mirror);
    else
        list_pages(mirror);
}

static void
on_proof(udpai_etcd_call *call, const udpai_etcd_result *result)
{
    udpai_mirror *mirror = UDPAI_CONTAINER_OF(call, udpai_mirror, page);
    mirror->is_paging = false;
    bool is_shown = result->outcome == UDPAI_ETCD_DONE && result->n_kvs == 1 &&
                    result->kvs[0].mod_revision == mirror->proof_revision;
    if (result->outcome == UDPAI_ETCD_DONE && !udpai_mirror_is_the_same(mirror, &result->header))
        return;
    if (result->is_compacted)
        ask_proof(mirror, 0, on_present);
    else if (is_shown)
        list_pages(mirror);
    else if (result->outcome == UDPAI_ETCD_DONE || result->is_future)
        udpai_mirror_hold_for_history(mirror);
    else
        udpai_mirror_retry_later(mirror, result->error);
}

/* ---- pages ---- */

/* Those that the list does not have are gone. */
static bool
gather_missing(udpai_mirror *mirror)
{
    size_t at = 0;
    const udpai_mirror_key *key;
    while ((key = udpai_map_next(&mirror->keys, &at))) {
        const udpai_etcd_event event = {
            .is_delete = true,
            .kv = {.key = udpai_mirror_key_text(key), .mod_revision = mirror->list_revision},
        };
        bool is_missing = key->mod_revision && key->listed != mirror->list_number;
        if (is_missing && !udpai_mirror_gather(mirror, &event))
            return false;
    }
    return true;
}

static void
end_list(udpai_mirror *mirror, uint64_t cluster_id)
{
    const udpai_mirror_position position = {cluster_id, mirror->list_revision};
    if (!udpai_mirror_check_list(mirror))
        return;
    if (!gather_missing(mirror) ||
        udpai_mirror_hand_on(mirror, position, !mirror->has_all || mirror->hands_on_all) !=
            UDPA_OK) {
        udpai_mirror_retry_without_memory(mirror);
        return;
    }
    mirror->is_stale = mirror->hands_on_all = false;
    mirror->proof = udpa_bytes_unref(mirror->proof);
    udpai_mirror_stop_list(mirror);
    udpai_mirror_release_waiters(mirror);
    udpai_mirror_begin_watch(mirror);
}

/* What it has already is not handed on again, but on request. */
static bool
gather_page(udpai_mirror *mirror, const udpai_etcd_result *result)
{
    for (size_t i = 0; i < result->n_kvs; i++) {
        const udpai_etcd_event event = {.kv = result->kvs[i]};
        udpai_mirror_key *key = udpai_map_get(&mirror->keys, event.kv.key);
        if (key)
            key->listed = mirror->list_number;
        bool is_new = !key || key->mod_revision != event.kv.mod_revision;
        if ((is_new || mirror->hands_on_all) && !udpai_mirror_gather(mirror, &event))
            return false;
    }
    return true;
}

static void
size_next_page(udpai_mirror *mirror, const udpai_etcd_result *result)
{
    size_t bytes = 1;
    for (size_t i = 0; i < result->n_kvs; i++)
        bytes += result->kvs[i].key.len + result->kvs[i].value.len;
    uint64_t n = (uint64_t)PAGE_BYTES * (result->n_kvs + 1) / bytes;
    mirror->page_keys = n > PAGE_KEYS_MAX ? PAGE_KEYS_MAX : n ? (int64_t)n : 1;
}

static void
list_pages(udpai_mirror *mirror)
{
    /* The next key is the last one with a zero behind it. */
    udpai_strbuf key = {0};
    udpai_strbuf_str(&key, udpai_bytes_view(mirror->after ? mirror->after : mirror->prefix));
    if (mirror->after)
        udpai_strbuf_append(&key, "", 1);
    const udpai_etcd_range range = {
        .key = udpai_strbuf_view(&key),
        .end = udpai_bytes_view(mirror->end),
        .revision = mirror->list_revision,
        .limit = mirror->page_keys,
    };
    mirror->page.done = on_page;
    udpa_err err = udpai_strbuf_failed(&key)
                       ? UDPA_ERR_NOMEM
                       : mirror->env.etcd->ops->range(mirror->env.etcd, &mirror->page, &range);
    udpai_strbuf_done(&key);
    mirror->is_paging = err == UDPA_OK;
    if (err != UDPA_OK)
        udpai_mirror_retry_without_memory(mirror);
}

/* True: there is another page to be asked for. */
static bool
take_page(udpai_mirror *mirror, const udpai_etcd_result *result)
{
    if (!gather_page(mirror, result))
        return false;
    size_next_page(mirror, result);
    if (!result->n_kvs)
        return true;
    udpai_str last = result->kvs[result->n_kvs - 1].key;
    udpa_bytes_unref(mirror->after);
    mirror->after = NULL;
    return udpa_bytes_new(&mirror->after, last.data, last.len) == UDPA_OK;
}

static void
on_page(udpai_etcd_call *call, const udpai_etcd_result *result)
{
    udpai_mirror *mirror = UDPAI_CONTAINER_OF(call, udpai_mirror, page);
    mirror->is_paging = false;
    if (result->outcome != UDPAI_ETCD_DONE) {
        udpai_mirror_retry_later(mirror, result->error); /* also one that was compacted meanwhile */
        return;
    }
    if (!mirror->list_revision) {
        if (!udpai_mirror_is_the_same(mirror, &result->header))
            return;
        mirror->list_revision = result->header.revision;
    }
    if (!udpai_mirror_check_page(mirror, result))
        return;
    if (!take_page(mirror, result))
        udpai_mirror_retry_without_memory(mirror);
    else if (result->has_more && result->n_kvs)
        list_pages(mirror);
    else
        end_list(mirror, result->header.cluster_id);
}

void
udpai_mirror_begin_list(udpai_mirror *mirror)
{
    udpai_mirror_stop_watch(mirror);
    udpai_mirror_stop_list(mirror);
    mirror->list_number++;
    mirror->is_stale = true;
    mirror->page_keys = PAGE_KEYS;
    if (mirror->state != UDPAI_MIRROR_HELD)
        udpai_mirror_set_state(mirror, UDPAI_MIRROR_LISTING, NULL);
    if (mirror->proof)
        ask_proof(mirror, mirror->proof_revision, on_proof);
    else
        list_pages(mirror);
}
