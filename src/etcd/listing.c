/* SPDX-License-Identifier: Apache-2.0 */
#include "etcd/listing.h"

#include "base/alloc.h"
#include "base/strbuf.h"
#include "etcd/mirror.h"

/* So many keys at first, then as many as make so many bytes. */
#define PAGE_KEYS 16
#define PAGE_KEYS_MAX 10000
#define PAGE_BYTES (1024 * 1024)

struct udpai_listing {
    udpai_listing_env env;
    udpa_bytes *prefix, *end;
    udpai_etcd_call call;
    bool is_asking;
    int64_t revision; /* 0: the first page says it */
    uint64_t cluster_id;
    int64_t page_keys;
    udpa_bytes *after; /* the last key so far; NULL: none */
};

static void on_page(udpai_etcd_call *call, const udpai_etcd_result *result);

static udpa_err
ask(udpai_listing *listing)
{
    /* The next key is the last one with a zero behind it. */
    udpai_strbuf key = {0};
    udpai_strbuf_str(&key, udpai_bytes_view(listing->after ? listing->after : listing->prefix));
    if (listing->after)
        udpai_strbuf_append(&key, "", 1);
    const udpai_etcd_range range = {
        .key = udpai_strbuf_view(&key),
        .end = udpai_bytes_view(listing->end),
        .revision = listing->revision,
        .limit = listing->page_keys,
    };
    udpai_etcd *etcd = listing->env.etcd;
    udpa_err err =
        udpai_strbuf_failed(&key) ? UDPA_ERR_NOMEM : etcd->ops->range(etcd, &listing->call, &range);
    udpai_strbuf_done(&key);
    listing->is_asking = err == UDPA_OK;
    return err;
}

static void
end(udpai_listing *listing, const udpa_error *why)
{
    listing->env.ended(listing->env.userdata, listing->revision, why);
}

static void
fail(udpai_listing *listing, udpa_err err)
{
    UDPA_AUTO(udpa_error_unref) udpa_error *why = udpa_error_new(err, NULL, "out of memory");
    end(listing, why);
}

static void
size_next_page(udpai_listing *listing, const udpai_etcd_result *result)
{
    size_t bytes = 1;
    for (size_t i = 0; i < result->n_kvs; i++)
        bytes += result->kvs[i].key.len + result->kvs[i].value.len;
    uint64_t n = (uint64_t)PAGE_BYTES * (result->n_kvs + 1) / bytes;
    listing->page_keys = n > PAGE_KEYS_MAX ? PAGE_KEYS_MAX : n ? (int64_t)n : 1;
}

static udpa_err
take(udpai_listing *listing, const udpai_etcd_result *result)
{
    udpa_err err = listing->env.page(listing->env.userdata, result->kvs, result->n_kvs);
    if (err != UDPA_OK || !result->n_kvs)
        return err;
    size_next_page(listing, result);
    udpai_str last = result->kvs[result->n_kvs - 1].key;
    listing->after = udpa_bytes_unref(listing->after);
    return udpa_bytes_new(&listing->after, last.data, last.len);
}

/* Members of several clusters may be listed as endpoints: pages of two are no list. */
static bool
is_the_same(udpai_listing *listing, const udpai_etcd_header *header)
{
    if (!listing->revision) {
        listing->revision = header->revision;
        listing->cluster_id = header->cluster_id;
    }
    return header->cluster_id == listing->cluster_id;
}

static void
on_page(udpai_etcd_call *call, const udpai_etcd_result *result)
{
    udpai_listing *listing = UDPAI_CONTAINER_OF(call, udpai_listing, call);
    listing->is_asking = false;
    if (result->outcome != UDPAI_ETCD_DONE) { /* also one that was compacted meanwhile */
        end(listing, result->error);
        return;
    }
    if (!is_the_same(listing, &result->header)) {
        UDPA_AUTO(udpa_error_unref)
        udpa_error *why =
            udpa_error_new(UDPA_ERR_PRECONDITION, NULL, "the members of etcd are of two clusters");
        end(listing, why);
        return;
    }
    udpa_err err = take(listing, result);
    bool has_more = result->has_more && result->n_kvs;
    if (err == UDPA_OK && has_more)
        err = ask(listing);
    if (err != UDPA_OK)
        fail(listing, err);
    else if (!has_more)
        end(listing, NULL);
}

void
udpai_listing_stop(udpai_listing *listing)
{
    if (listing->is_asking)
        listing->env.etcd->ops->cancel(listing->env.etcd, &listing->call);
    listing->is_asking = false;
}

udpa_err
udpai_listing_begin(udpai_listing *listing)
{
    udpai_listing_stop(listing);
    listing->revision = 0;
    listing->page_keys = PAGE_KEYS;
    listing->after = udpa_bytes_unref(listing->after);
    return ask(listing);
}

udpa_err
udpai_listing_new(udpai_listing **ret_listing, const udpai_listing_env *env, udpai_str prefix)
{
    udpai_listing *listing = udpai_alloc(sizeof(*listing));
    if (!listing)
        return UDPA_ERR_NOMEM;
    listing->env = *env;
    listing->call.done = on_page;
    udpa_err err = udpa_bytes_new(&listing->prefix, prefix.data, prefix.len);
    if (err == UDPA_OK && !(listing->end = udpai_etcd_prefix_end(prefix)))
        err = UDPA_ERR_NOMEM;
    if (err == UDPA_OK)
        *ret_listing = listing;
    else
        udpai_listing_free(listing);
    return err;
}

udpai_listing *
udpai_listing_free(udpai_listing *listing)
{
    if (!listing)
        return NULL;
    udpai_listing_stop(listing);
    udpa_bytes_unref(listing->prefix);
    udpa_bytes_unref(listing->end);
    udpa_bytes_unref(listing->after);
    udpai_free(listing);
    return NULL;
}
