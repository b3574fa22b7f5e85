/* SPDX-License-Identifier: Apache-2.0 */
/* What a server of LRS asks for of each cluster, and what was reported to it: kept across streams,
 * so that whatever ends, nothing is reported twice. */
#include "base/alloc.h"
#include "model/name.h"
#include "xds/lrs_upstream_internal.h"

udpai_str
udpai_lrs_account_key(const void *item)
{
    return udpai_bytes_view(((const udpai_lrs_account *)item)->cluster);
}

static void
free_account(udpai_lrs_account *account)
{
    udpai_load_stats_free(account->reported);
    udpai_load_stats_free(account->pending);
    udpa_resource_unref(account->aggregate);
    udpa_bytes_unref(account->cluster);
    udpai_free(account);
}

void
udpai_lrs_accounts_free(udpai_lrs_upstream *upstream)
{
    size_t at = 0;
    udpai_lrs_account *account;
    while ((account = udpai_map_next(&upstream->accounts, &at)))
        free_account(account);
    udpai_map_done(&upstream->accounts);
}

/* ---- names ---- */

udpai_str
udpai_lrs_account_name(const udpai_lrs_upstream *upstream, const udpai_lrs_account *of)
{
    size_t skip = upstream->options.name_space.len + 1;
    udpai_str full = udpai_bytes_view(of->cluster);
    return (udpai_str){full.data + skip, full.len - skip};
}

static udpa_err
full_name(const udpai_lrs_upstream *upstream,
          udpai_str name,
          char room[UDPAI_NAME_MAX],
          udpai_str *ret_name,
          udpa_error **ret_error)
{
    udpai_str name_space = upstream->options.name_space;
    char *at = room;
    if (name.len == 0 || name_space.len + 1 + name.len > UDPAI_NAME_MAX)
        return udpai_fail(ret_error, UDPA_ERR_INVAL, "it cannot be the name of a cluster");
    udpai_str_put(&at, name_space);
    *at++ = '/';
    udpai_str_put(&at, name);
    *ret_name = (udpai_str){room, (size_t)(at - room)};
    return udpai_name_check(*ret_name, ret_error);
}

/* Of the name of an aggregate; false: it is not of the namespace. */
static bool
cluster_of(const udpai_lrs_upstream *upstream, udpai_str name, udpai_str *ret_cluster)
{
    udpai_str name_space = upstream->options.name_space;
    const char *slash = name.len ? memrchr(name.data, '/', name.len) : NULL;
    if (!slash || !udpai_str_starts(name, name_space) || name.len <= name_space.len ||
        name.data[name_space.len] != '/')
        return false;
    *ret_cluster = (udpai_str){name.data, (size_t)(slash - name.data)};
    return ret_cluster->len > name_space.len + 1;
}

/* ---- what is subscribed ---- */

udpa_err
udpai_lrs_account_make(udpai_lrs_upstream *upstream,
                       udpai_str cluster,
                       udpai_lrs_account **ret_account,
                       udpa_error **ret_error)
{
    if (upstream->accounts.n >= UDPAI_LRS_UPSTREAM_CLUSTERS_MAX)
        return udpai_fail(ret_error, UDPA_ERR_LIMIT,
                          "it is one more than the %d that one server is sent",
                          UDPAI_LRS_UPSTREAM_CLUSTERS_MAX);
    udpai_lrs_account *account = udpai_alloc(sizeof(*account));
    if (!account)
        return udpai_fail_code(ret_error, UDPA_ERR_NOMEM);
    if (udpa_bytes_new(&account->cluster, cluster.data, cluster.len) != UDPA_OK ||
        !udpai_map_add(&upstream->accounts, account)) {
        free_account(account);
        return udpai_fail_code(ret_error, UDPA_ERR_NOMEM);
    }
    *ret_account = account;
    return UDPA_OK;
}

void
udpai_lrs_account_forget(udpai_lrs_upstream *upstream, udpai_str cluster)
{
    udpai_lrs_account *account = udpai_map_remove(&upstream->accounts, cluster);
    if (account)
        free_account(account);
}

static void
keep_one(const udpai_lrs_upstream *upstream, const udpai_lrs_account *account)
{
    const udpai_lrs_kept kept = udpai_lrs_kept_of(account);
    udpai_lrs_keep(upstream, &kept, 1);
}

static udpa_err
make_account(udpai_lrs_upstream_session *self,
             udpai_str cluster,
             int64_t since_us,
             udpai_lrs_account **ret_account,
             udpa_error **ret_error)
{
    udpa_err err = udpai_lrs_account_make(self->upstream, cluster, ret_account, ret_error);
    if (err != UDPA_OK)
        return err;
    (*ret_account)->since_us = since_us;
    (*ret_account)->reported_ms = udpai_lrs_upstream_now(self);
    keep_one(self->upstream, *ret_account);
    return UDPA_OK;
}

/* One that was subscribed with all before has been subscribed since then. */
static udpa_err
select_name(udpai_lrs_upstream_session *self, udpai_str name, udpa_error **ret_error)
{
    udpai_lrs_upstream *upstream = self->upstream;
    char room[UDPAI_NAME_MAX];
    udpai_str cluster;
    udpa_err err = full_name(upstream, name, room, &cluster, ret_error);
    if (err != UDPA_OK)
        return err;
    udpai_lrs_account *account = udpai_map_get(&upstream->accounts, cluster);
    if (!account)
        err = make_account(self, cluster,
                           upstream->subscribes_all ? upstream->all_since_us
                                                    : udpai_hub_wall_us(self->session.hub),
                           &account, ret_error);
    if (err != UDPA_OK)
        return err;
    upstream->n_named += !account->is_named;
    account->is_named = true;
    return UDPA_OK;
}

/* What is not subscribed any more is forgotten. *ret_changed: the names are others than before. */
static udpa_err
end_unsubscribed(udpai_lrs_upstream *upstream, bool *ret_changed)
{
    UDPAI_VECTOR(udpai_lrs_account *) unsubscribed = {0};
    bool has_room = udpai_vector_reserve(&unsubscribed, upstream->accounts.n);
    size_t at = 0;
    udpai_lrs_account *account;
    while (has_room && (account = udpai_map_next(&upstream->accounts, &at))) {
        *ret_changed |= account->is_named != account->was_named;
        if (!account->is_named && !upstream->subscribes_all)
            unsubscribed.items[unsubscribed.n++] = account;
    }
    for (size_t i = 0; i < unsubscribed.n; i++) {
        const udpai_lrs_kept kept = {.cluster = udpai_lrs_account_key(unsubscribed.items[i])};
        udpai_lrs_keep(upstream, &kept, 1);
        udpai_lrs_account_forget(upstream, kept.cluster);
    }
    udpai_vector_done(&unsubscribed);
    return has_room ? UDPA_OK : UDPA_ERR_NOMEM;
}

static void
unname_all(udpai_lrs_upstream *upstream)
{
    size_t at = 0;
    udpai_lrs_account *account;
    while ((account = udpai_map_next(&upstream->accounts, &at))) {
        account->was_named = account->is_named;
        account->is_named = false;
    }
    upstream->n_named = 0;
}

udpa_err
udpai_lrs_accounts_select(udpai_lrs_upstream_session *self,
                          char *const *names,
                          size_t n_names,
                          bool subscribes_all,
                          bool *ret_changed)
{
    udpai_lrs_upstream *upstream = self->upstream;
    udpa_err err = UDPA_OK;
    bool subscribed_all = upstream->subscribes_all;
    unname_all(upstream);
    for (size_t i = 0; i < n_names && !subscribes_all && err != UDPA_ERR_NOMEM; i++) {
        UDPA_AUTO(udpa_error_unref) udpa_error *error = NULL;
        udpai_str name = udpai_str_from(names[i]);
        err = select_name(self, name, &error);
        if (err != UDPA_OK && err != UDPA_ERR_NOMEM)
            udpai_lrs_upstream_note_refused(self, name, error);
    }
    if (err == UDPA_ERR_NOMEM)
        return err;
    if (subscribes_all && !subscribed_all)
        upstream->all_since_us = udpai_hub_wall_us(self->session.hub);
    upstream->subscribes_all = subscribes_all;
    *ret_changed = subscribes_all != subscribed_all;
    if (*ret_changed)
        udpai_lrs_keep(upstream, NULL, 0);
    return end_unsubscribed(upstream, ret_changed);
}

/* ---- what has come ---- */

udpa_err
udpai_lrs_account_decode(udpai_lrs_upstream_session *self,
                         const udpai_lrs_account *account,
                         udpai_load_stats **ret_stats,
                         udpa_error **ret_error)
{
    return udpai_load_stats_decode(&udpai_hub_decoder(self->session.hub)->arena,
                                   udpai_resource_value(account->aggregate),
                                   &udpai_load_aggregate_limits, ret_stats, ret_error);
}

/* Has it counted before the server subscribed to it? Epochs of aggregates are when they began. */
static bool
is_older(const udpai_lrs_account *account, const udpai_load_stats *aggregate)
{
    return account->since_us > 0 && aggregate->epoch < (uint64_t)account->since_us;
}

/* The first aggregate of one that is newly subscribed: what it has counted before is not reported.
 */
static udpa_err
begin(udpai_lrs_upstream_session *self, udpai_lrs_account *account, udpa_error **ret_error)
{
    UDPA_AUTO(udpai_load_stats_free) udpai_load_stats *aggregate = NULL;
    udpa_err err = udpai_lrs_account_decode(self, account, &aggregate, ret_error);
    if (err != UDPA_OK)
        return err;
    account->has_begun = true;
    account->reported_ms = udpai_lrs_upstream_now(self);
    if (is_older(account, aggregate))
        account->reported = UDPAI_TAKE(aggregate);
    keep_one(self->upstream, account);
    return UDPA_OK;
}

udpa_err
udpai_lrs_account_take(udpai_lrs_upstream_session *self,
                       udpa_resource *resource,
                       udpa_error **ret_error)
{
    udpai_lrs_upstream *upstream = self->upstream;
    udpai_str cluster;
    udpa_err err = UDPA_OK;
    if (!cluster_of(upstream, udpai_resource_name(resource), &cluster))
        return UDPA_OK;
    udpai_lrs_account *account = udpai_map_get(&upstream->accounts, cluster);
    if (!account && upstream->subscribes_all)
        err = make_account(self, cluster, upstream->all_since_us, &account, ret_error);
    if (!account)
        return err; /* or it is not subscribed */
    udpa_resource_unref(account->aggregate);
    account->aggregate = udpa_resource_ref(resource);
    account->has_changed = true;
    if (account->reported_ms == 0)
        account->reported_ms = udpai_lrs_upstream_now(self);
    return account->has_begun ? UDPA_OK : begin(self, account, ret_error);
}

/* What it had to report is pending; should the same aggregate come again, it goes on from there. */
static udpa_err
settle(udpai_lrs_upstream_session *self, udpai_lrs_account *account, udpa_error **ret_error)
{
    UDPA_AUTO(udpai_load_stats_free) udpai_load_stats *aggregate = NULL;
    UDPA_AUTO(udpai_load_stats_free) udpai_load_stats *rest = NULL;
    udpa_err err = udpai_lrs_account_decode(self, account, &aggregate, ret_error);
    if (err == UDPA_OK)
        err = udpai_load_stats_difference(aggregate, account->reported, &rest, ret_error);
    if (err == UDPA_OK && account->pending)
        err = udpai_load_stats_take_report(account->pending, rest, ret_error);
    else if (err == UDPA_OK)
        account->pending = UDPAI_TAKE(rest);
    if (err != UDPA_OK)
        return err;
    udpai_load_stats_clear_gauges(account->pending);
    udpai_load_stats_free(account->reported);
    account->reported = UDPAI_TAKE(aggregate);
    keep_one(self->upstream, account);
    return UDPA_OK;
}

udpa_err
udpai_lrs_account_end(udpai_lrs_upstream_session *self, udpai_str name, udpa_error **ret_error)
{
    udpai_str cluster;
    udpai_lrs_account *account = NULL;
    if (cluster_of(self->upstream, name, &cluster))
        account = udpai_map_get(&self->upstream->accounts, cluster);
    if (!account || !account->aggregate)
        return UDPA_OK;
    udpa_err err = account->has_changed ? settle(self, account, ret_error) : UDPA_OK;
    account->aggregate = udpa_resource_unref(account->aggregate);
    account->has_changed = false;
    return err;
}
