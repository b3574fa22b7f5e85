/* SPDX-License-Identifier: Apache-2.0 */
/* What is asked of an LRS client: what has subscriptions, in the words of LRS. It has none for "the
 * clusters of this namespace": then all are asked for, and the others are left out here. */
#include "base/strbuf.h"
#include "model/client_type.h"
#include "model/types.h"
#include "wire/entry.h"
#include "xds/lrs_internal.h"

enum { /* field numbers of LoadStatsResponse */
    CLUSTERS = 1,
    LOAD_REPORTING_INTERVAL = 2,
    REPORT_ENDPOINT_GRANULARITY = 3,
    SEND_ALL_CLUSTERS = 4,
};

static udpai_str
bytes_key(const void *item)
{
    return udpai_bytes_view(item);
}

static udpa_err select_again(udpai_lrs *lrs);

static void
on_policy(udpai_lrs_follower *follower)
{
    udpai_lrs *lrs = UDPAI_CONTAINER_OF(follower, udpai_lrs, follower);
    udpa_err err = select_again(lrs);
    if (err != UDPA_OK)
        udpai_session_finish(&lrs->session, udpa_error_new(err, NULL, "%s", udpa_err_text(err)));
}

void
udpai_lrs_ask_init(udpai_lrs *lrs)
{
    udpai_map_init(&lrs->names, bytes_key);
    udpai_lrs_follower_init(&lrs->follower, on_policy);
    lrs->asked.setting =
        (udpai_load_setting){lrs->service->interval_ms, lrs->service->per_endpoint};
}

static void
selection_done(udpai_lrs_selection *selection)
{
    for (size_t i = 0; i < selection->clusters.n; i++)
        udpa_bytes_unref(selection->clusters.items[i]);
    udpai_vector_done(&selection->clusters);
}

void
udpai_lrs_ask_done(udpai_lrs *lrs)
{
    udpai_lrs_unfollow(lrs->service, &lrs->follower);
    for (size_t i = 0; i < lrs->prefixes.n; i++)
        udpa_bytes_unref(lrs->prefixes.items[i]);
    udpai_vector_done(&lrs->prefixes);
    size_t at = 0;
    udpa_bytes *name;
    while ((name = udpai_map_next(&lrs->names, &at)))
        udpa_bytes_unref(name);
    udpai_map_done(&lrs->names);
    selection_done(&lrs->asked);
    udpa_bytes_unref(lrs->writing);
}

/* ---- subscriptions ---- */

static size_t
find_prefix(const udpai_lrs *lrs, udpai_str prefix)
{
    size_t i = 0;
    while (i < lrs->prefixes.n && !udpai_str_eq(udpai_bytes_view(lrs->prefixes.items[i]), prefix))
        i++;
    return i;
}

static udpa_err
add_prefix(udpai_lrs *lrs, udpai_str prefix)
{
    udpa_bytes *copy = NULL;
    if (find_prefix(lrs, prefix) < lrs->prefixes.n)
        return UDPA_OK;
    udpa_err err = udpa_bytes_new(&copy, prefix.data, prefix.len);
    if (err == UDPA_OK && !udpai_vector_push(&lrs->prefixes, copy)) {
        udpa_bytes_unref(copy);
        err = UDPA_ERR_NOMEM;
    }
    return err;
}

/* The end of the wildcard of everything is that of all of them. */
static void
remove_prefixes(udpai_lrs *lrs, udpai_str prefix)
{
    for (size_t i = lrs->prefixes.n; i-- > 0;) {
        if (prefix.len && !udpai_str_eq(udpai_bytes_view(lrs->prefixes.items[i]), prefix))
            continue;
        udpa_bytes_unref(lrs->prefixes.items[i]);
        udpai_vector_remove_unordered(&lrs->prefixes, i);
    }
}

static udpa_err
add_name(udpai_lrs *lrs, udpai_str name)
{
    udpa_bytes *copy = NULL;
    if (udpai_map_get(&lrs->names, name))
        return UDPA_OK;
    udpa_err err = udpa_bytes_new(&copy, name.data, name.len);
    if (err == UDPA_OK && !udpai_map_add(&lrs->names, copy)) {
        udpa_bytes_unref(copy);
        err = UDPA_ERR_NOMEM;
    }
    return err;
}

bool
udpai_lrs_is_subscribed(const udpai_lrs *lrs, udpai_str name)
{
    for (size_t i = 0; i < lrs->prefixes.n; i++)
        if (udpai_prefix_covers(udpai_bytes_view(lrs->prefixes.items[i]), name))
            return true;
    return udpai_map_get(&lrs->names, name) != NULL;
}

/* ---- in the words of LRS ---- */

static udpa_err
select_spelling(udpai_lrs_selection *selection, udpai_str spelling)
{
    size_t at = 0;
    while (at < selection->clusters.n &&
           udpai_str_cmp(udpai_bytes_view(selection->clusters.items[at]), spelling) < 0)
        at++;
    if (at < selection->clusters.n &&
        udpai_str_eq(udpai_bytes_view(selection->clusters.items[at]), spelling))
        return UDPA_OK;
    udpa_bytes *copy = NULL;
    udpa_err err = udpa_bytes_new(&copy, spelling.data, spelling.len);
    if (err != UDPA_OK || !udpai_vector_reserve(&selection->clusters, 1)) {
        udpa_bytes_unref(copy);
        return UDPA_ERR_NOMEM;
    }
    memmove(&selection->clusters.items[at + 1], &selection->clusters.items[at],
            (selection->clusters.n - at) * sizeof(copy));
    selection->clusters.items[at] = copy;
    selection->clusters.n++;
    return UDPA_OK;
}

/* In the spelling of clients that know it as xdstp://…, by the authorities that are listed. */
static udpa_err
select_xdstp(const udpai_lrs *lrs, udpai_lrs_selection *selection, udpai_str cluster)
{
    const udpai_xdstp_authorities *listed = &lrs->belonging.audience->authorities;
    udpa_err err = UDPA_OK;
    for (size_t i = 0; i < listed->n && err == UDPA_OK; i++) {
        udpai_str prefix = listed->items[i].prefix;
        if (!udpai_str_starts(cluster, prefix) || cluster.len <= prefix.len + 1 ||
            cluster.data[prefix.len] != '/')
            continue;
        udpai_strbuf text = {0};
        udpai_strbuf_puts(&text, UDPAI_XDSTP_SCHEME);
        udpai_strbuf_str(&text, listed->items[i].name);
        udpai_strbuf_putc(&text, '/');
        udpai_strbuf_puts(&text, UDPAI_TYPE_NAME(UDPAI_TYPE_CLUSTER));
        udpai_strbuf_append(&text, cluster.data + prefix.len, cluster.len - prefix.len);
        err = udpai_strbuf_failed(&text) ? UDPA_ERR_NOMEM
                                         : select_spelling(selection, udpai_strbuf_view(&text));
        udpai_strbuf_done(&text);
    }
    return err;
}

/* Of what is subscribed first, or with what was subscribed before. */
static void
refine(const udpai_lrs *lrs, udpai_lrs_selection *selection, udpai_str prefix)
{
    udpai_load_setting finest = udpai_lrs_finest(lrs->service, prefix);
    if (selection->setting.interval_ms)
        udpai_load_setting_refine(&selection->setting, finest);
    else
        selection->setting = finest;
}

/* One that the client cannot know is not asked for. */
static udpa_err
select_cluster(const udpai_lrs *lrs, udpai_lrs_selection *selection, udpai_str cluster)
{
    udpai_str spelling;
    udpa_err err = UDPA_OK;
    size_t n_before = selection->clusters.n;
    if (udpai_name_check(cluster, NULL) != UDPA_OK)
        return UDPA_OK;
    if (udpai_xds_name_to_client(lrs->belonging.audience, cluster, &spelling))
        err = select_spelling(selection, spelling);
    if (err == UDPA_OK)
        err = select_xdstp(lrs, selection, cluster);
    if (selection->clusters.n > n_before)
        refine(lrs, selection, cluster);
    return err;
}

/* Of the name of what this client reports of a cluster. */
static udpa_err
select_by_name(const udpai_lrs *lrs, udpai_lrs_selection *selection, udpai_str name)
{
    size_t behind = udpa_bytes_size(lrs->segment) + 1;
    if (name.len <= behind ||
        udpai_client_name_check(name, udpai_node_info_parts(lrs->peer)->id, NULL) != UDPA_OK)
        return UDPA_OK;
    const char *slash = memrchr(name.data, '/', name.len);
    return select_cluster(lrs, selection, (udpai_str){name.data, (size_t)(slash - name.data)});
}

/* Does it hold more of what the client sees than the clients of one cluster? */
static bool
holds_namespace(const udpai_lrs *lrs, udpai_str prefix)
{
    const udpai_xds_audience *audience = lrs->belonging.audience;
    bool has_path = prefix.len && memchr(prefix.data, '/', prefix.len);
    for (size_t i = 0; i <= audience->n_namespaces; i++) {
        udpai_str own = i ? audience->namespaces[i - 1] : audience->default_namespace;
        if (udpai_prefix_covers(prefix, own) || (!has_path && udpai_prefix_covers(own, prefix)))
            return true;
    }
    return false;
}

static udpa_err
select_prefix(const udpai_lrs *lrs, udpai_lrs_selection *selection, udpai_str prefix)
{
    while (prefix.len && prefix.data[prefix.len - 1] == '/')
        prefix.len--;
    if (holds_namespace(lrs, prefix)) {
        selection->all = true;
        refine(lrs, selection, prefix);
        return UDPA_OK;
    }
    udpa_err err = select_cluster(lrs, selection, prefix);
    return err == UDPA_OK ? select_by_name(lrs, selection, prefix) : err;
}

/* A client that cannot be asked for all is asked for those that can be named. One that reads one
 * response only is asked for all with it: more may be subscribed later. */
static void
settle(const udpai_lrs *lrs, udpai_lrs_selection *selection)
{
    bool is_late = lrs->reads_once && lrs->has_asked;
    if (is_late || (!selection->all && selection->clusters.n == 0))
        selection->setting = lrs->asked.setting;
    if (lrs->reads_once && selection->clusters.n)
        selection->all = true;
    if (!lrs->reports_all)
        selection->all = false;
    if (selection->all)
        selection_done(selection);
}

static udpa_err
make_selection(const udpai_lrs *lrs, udpai_lrs_selection *selection)
{
    udpa_err err = UDPA_OK;
    for (size_t i = 0; i < lrs->prefixes.n && err == UDPA_OK; i++)
        err = select_prefix(lrs, selection, udpai_bytes_view(lrs->prefixes.items[i]));
    size_t at = 0;
    const udpa_bytes *name;
    while (err == UDPA_OK && (name = udpai_map_next(&lrs->names, &at)))
        err = select_by_name(lrs, selection, udpai_bytes_view(name));
    if (err == UDPA_OK)
        settle(lrs, selection);
    return err;
}

static bool
same_selection(const udpai_lrs_selection *a, const udpai_lrs_selection *b)
{
    bool same = a->all == b->all && a->clusters.n == b->clusters.n &&
                a->setting.interval_ms == b->setting.interval_ms &&
                a->setting.per_endpoint == b->setting.per_endpoint;
    for (size_t i = 0; same && i < a->clusters.n; i++)
        same = udpai_str_eq(udpai_bytes_view(a->clusters.items[i]),
                            udpai_bytes_view(b->clusters.items[i]));
    return same;
}

static udpa_err
select_again(udpai_lrs *lrs)
{
    udpai_lrs_selection selection = {0};
    udpa_err err = make_selection(lrs, &selection);
    if (err != UDPA_OK || same_selection(&selection, &lrs->asked)) {
        selection_done(&selection);
        return err;
    }
    bool is_rescheduled = selection.setting.interval_ms != lrs->asked.setting.interval_ms;
    selection_done(&lrs->asked);
    lrs->asked = selection;
    if (is_rescheduled)
        udpai_lrs_report_again(lrs);
    lrs->is_due = !lrs->reads_once || !lrs->has_asked;
    udpai_session_ready(&lrs->session);
    return UDPA_OK;
}

udpa_err
udpai_lrs_subscribe(udpai_lrs *lrs, const udpai_subscription_message *message, bool subscribed)
{
    udpa_err err = UDPA_OK;
    if (!udpai_str_eq(message->type_url, UDPAI_STR(UDPAI_TYPE_CLIENT_LOAD)))
        return UDPA_OK;
    for (size_t i = 0; i < message->n_names && err == UDPA_OK; i++) {
        bool is_wildcard = udpai_name_is_wildcard(message->names[i]);
        if (subscribed)
            lrs->subscribed_ms = udpai_hub_wheel(lrs->session.hub)->now_ms;
        if (subscribed && is_wildcard)
            err = add_prefix(lrs, message->name_space);
        else if (subscribed)
            err = add_name(lrs, message->names[i]);
        else if (is_wildcard)
            remove_prefixes(lrs, message->name_space);
        else
            udpa_bytes_unref(udpai_map_remove(&lrs->names, message->names[i]));
    }
    if (err == UDPA_OK && !subscribed)
        udpai_lrs_forget_unsubscribed(lrs);
    if (lrs->prefixes.n == 0 && lrs->names.n == 0)
        udpai_lrs_unfollow(lrs->service, &lrs->follower);
    else if (err == UDPA_OK)
        err = udpai_lrs_follow(lrs->service, lrs->session.hub, &lrs->follower);
    if (err == UDPA_OK)
        err = select_again(lrs);
    return err == UDPA_OK && subscribed ? udpai_lrs_gap_take(lrs) : err;
}

/* ---- responses ---- */

static void
put_response(udpai_proto_writer *writer, const void *what)
{
    const udpai_lrs *lrs = what;
    const udpai_lrs_selection *asked = &lrs->asked;
    for (size_t i = 0; i < asked->clusters.n; i++)
        udpai_proto_put_bytes(writer, CLUSTERS, udpai_bytes_view(asked->clusters.items[i]));
    udpai_duration_put(writer, LOAD_REPORTING_INTERVAL, asked->setting.interval_ms);
    udpai_proto_put_varint_opt(writer, REPORT_ENDPOINT_GRANULARITY, asked->setting.per_endpoint);
    udpai_proto_put_varint_opt(writer, SEND_ALL_CLUSTERS, asked->all);
}

/* Nothing was asked, and nothing is subscribed: then nothing is sent. */
udpa_err
udpai_lrs_next(udpai_session *session, udpai_outgoing *out, bool *ret_any, udpa_error **ret_error)
{
    udpai_lrs *lrs = udpai_lrs_of(session);
    bool asks = lrs->asked.all || lrs->asked.clusters.n;
    lrs->writing = udpa_bytes_unref(lrs->writing);
    if (!lrs->is_due || (!lrs->has_asked && !asks))
        return UDPA_OK;
    lrs->writing = udpai_proto_encode(put_response, lrs);
    if (!lrs->writing)
        return udpai_fail_code(ret_error, UDPA_ERR_NOMEM);
    lrs->is_due = false;
    lrs->has_asked = true;
    out->parts = &lrs->writing;
    out->n_parts = 1;
    *ret_any = true;
    return UDPA_OK;
}
