/* SPDX-License-Identifier: Apache-2.0 */
/* Which sources a report is for, as the store and the providers are now. */
#include "federation/egress_internal.h"
#include "federation/named.h"
#include "federation/report_targets.h"
#include "federation/reporting.h"
#include "model/links.h"
#include "model/name.h"

static udpa_err
add(udpai_link_vector *links, const udpai_source *source)
{
    if (!source || !udpai_source_may_want_reports(source))
        return UDPA_OK;
    return udpai_vector_push(links, source->link) ? UDPA_OK : UDPA_ERR_NOMEM;
}

/* ---- who has delivered it ---- */

static udpai_source *
source_of(const udpai_egress *egress, const udpai_origin *origin)
{
    udpai_str prefix = UDPAI_STR("source:"), key = udpai_origin_key(origin);
    if (!udpai_str_starts(key, prefix))
        return NULL;
    const udpai_str name = {key.data + prefix.len, key.len - prefix.len};
    udpai_source *source = udpai_sources_get(egress->sources, name);
    return source && source->origin == origin ? source : NULL;
}

struct search {
    const udpai_origin *effective, *counts;
};

static bool
look_at(void *userdata, const udpai_contribution *contribution)
{
    struct search *search = userdata;
    bool counts = contribution->eligible && !contribution->superseded;
    if (contribution->effective)
        search->effective = contribution->origin;
    if (counts && (contribution->effective || !search->counts))
        search->counts = contribution->origin;
    return !(counts && contribution->effective);
}

/* Whose word is effective; but not of one that does not count any more, while another does, though
 * what that has is older. NULL: nobody's. */
static const udpai_origin *
deliverer(const udpai_egress *egress, udpai_str type_url, udpai_str name)
{
    struct search search = {NULL, NULL};
    udpai_store_visit_name(egress->context->store, type_url, name, look_at, &search);
    return search.counts ? search.counts : search.effective;
}

static udpa_err
add_deliverers(const udpai_egress *egress, const udpai_subject *subject, udpai_link_vector *links)
{
    udpa_err err = UDPA_OK;
    for (size_t i = 0; i < subject->n_types && err == UDPA_OK; i++) {
        const udpai_origin *origin = deliverer(egress, subject->types[i], subject->name);
        if (origin)
            err = add(links, source_of(egress, origin));
    }
    return err;
}

/* ---- who would ---- */

static bool
covers(const udpai_descriptor *descriptor, udpai_str name)
{
    return udpai_prefix_covers(udpai_bytes_view(descriptor->prefix), name);
}

static udpa_err
add_active_of(const udpai_provider *provider, udpai_str name, udpai_link_vector *links)
{
    udpa_err err = UDPA_OK;
    for (size_t i = 0; i < provider->descriptors.n && err == UDPA_OK; i++) {
        const udpai_descriptor *descriptor = &provider->descriptors.items[i];
        if (descriptor->is_reached && covers(descriptor, name) &&
            udpai_descriptor_counts(provider, i))
            err = add(links, descriptor->source);
    }
    return err;
}

static udpa_err
add_active(const udpai_egress *egress, const udpai_subject *subject, udpai_link_vector *links)
{
    udpa_err err = UDPA_OK;
    for (size_t i = 0; i < subject->n_types && err == UDPA_OK; i++) {
        const udpai_named *named =
            udpai_named_find(egress->named_table, subject->types[i], subject->name);
        const udpai_provider *provider =
            named ? named->provider : udpai_map_get(&egress->providers->by_type, subject->types[i]);
        if (provider)
            err = add_active_of(provider, subject->name, links);
    }
    return err;
}

static bool
ends_walk(const udpai_descriptor *descriptor)
{
    bool is_active = udpai_source_is_active(descriptor->source);
    if (descriptor->continuation == UDPAI_CONTINUE)
        return false;
    return (!is_active && !descriptor->source->is_decided) ||
           is_active == (descriptor->continuation == UDPAI_STOP_ON_SUCCESS);
}

/* The template of providers is asked for nothing itself, so nobody has walked it. */
static udpa_err
add_active_of_any(const udpai_egress *egress, udpai_str name, udpai_link_vector *links)
{
    const udpai_provider *any = egress->providers->any_type;
    udpa_err err = UDPA_OK;
    for (size_t i = 0; any && i < any->descriptors.n && err == UDPA_OK; i++) {
        const udpai_descriptor *descriptor = &any->descriptors.items[i];
        if (udpai_source_is_active(descriptor->source) && covers(descriptor, name))
            err = add(links, descriptor->source);
        if (ends_walk(descriptor))
            break;
    }
    return err;
}

static udpa_err
find(const udpai_egress *egress,
     const udpai_subject *subject,
     udpai_link_vector *links,
     bool *ret_is_for_all)
{
    links->n = 0;
    udpa_err err = add_deliverers(egress, subject, links);
    if (err == UDPA_OK && links->n == 0)
        err = add_active(egress, subject, links);
    if (err == UDPA_OK && links->n == 0)
        err = add_active_of_any(egress, subject->name, links);
    *ret_is_for_all = links->n == 0;
    return err;
}

udpa_err
udpai_report_target_find(const udpai_egress *egress,
                         const udpa_resource *report,
                         udpai_link_vector *links,
                         bool *ret_is_for_all)
{
    const udpai_subject subject = udpai_subject_of(egress->context, report);
    return find(egress, &subject, links, ret_is_for_all);
}

/* ---- who is to be warm ---- */

static bool
lists(const udpai_source *source, udpai_str type_url)
{
    for (size_t i = 0; i < source->standby.n; i++)
        if (udpai_str_eq(udpai_bytes_view(source->standby.items[i]), type_url))
            return true;
    return false;
}

/* Whoever has the load of clients, or sums, has that of shared clients, too: it belongs to them. */
static bool
stands_by(const udpai_source *source, udpai_str type_url)
{
    return lists(source, type_url) ||
           (udpai_str_eq(type_url, UDPAI_STR(UDPAI_TYPE_SHARED_CLIENT_LOAD)) &&
            (lists(source, UDPAI_STR(UDPAI_TYPE_CLIENT_LOAD)) ||
             lists(source, UDPAI_STR(UDPAI_TYPE_CLUSTER_LOAD))));
}

static udpa_err
add_standby(const udpai_egress *egress, udpai_str type_url, udpai_link_vector *links)
{
    udpa_err err = UDPA_OK;
    const udpai_source *source = NULL;
    while ((source = udpai_sources_next_own(egress->sources, source))) {
        if (err == UDPA_OK && source->standby.n && stands_by(source, type_url))
            err = add(links, source);
    }
    return err;
}

udpa_err
udpai_report_target_add_standby(const udpai_egress *egress,
                                const udpa_resource *report,
                                udpai_link_vector *links)
{
    return add_standby(egress, udpai_resource_type_url(report), links);
}

/* ---- who is told ---- */

static udpa_err
add_all(const udpai_egress *egress, udpai_link_vector *links)
{
    udpa_err err = UDPA_OK;
    udpai_source *source = NULL;
    while ((source = udpai_sources_next_own(egress->sources, source)))
        if (err == UDPA_OK)
            err = add(links, source);
    return err;
}

static udpai_source *
source_at(const udpai_egress *egress, uint64_t link)
{
    return udpai_sources_at(egress->sources, link);
}

/* The id of the node that is, or was last, behind it; NULL: none was yet. */
static const udpa_bytes *
who_is(const udpai_source *source)
{
    return source && source->origin ? udpai_origin_node(source->origin) : NULL;
}

/* Of the links those where somebody has been, in their order. */
static udpa_bytes *
make_members(const udpai_egress *egress, const udpai_link_vector *links)
{
    UDPAI_VECTOR(udpai_report_target_member) members = {0};
    udpa_bytes *made = NULL;
    bool is_whole = true;
    for (size_t i = 0; i < links->n && is_whole; i++) {
        const udpa_bytes *id = who_is(source_at(egress, links->items[i]));
        const udpai_report_target_member member = {links->items[i],
                                                   id ? udpai_hash(udpai_bytes_view(id)) : 0};
        is_whole = !id || udpai_vector_push(&members, member);
    }
    if (is_whole && udpa_bytes_new(&made, members.items,
                                   members.n * sizeof(udpai_report_target_member)) != UDPA_OK)
        made = NULL;
    udpai_vector_done(&members);
    return made;
}

udpa_bytes *
udpai_report_target_audience(const udpai_egress *egress, udpai_str name)
{
    const udpai_subject subject = udpai_subject_of_load(name);
    udpai_link_vector links = {0};
    udpa_bytes *members = NULL;
    bool is_for_all = false;
    udpa_err err = find(egress, &subject, &links, &is_for_all);
    if (err == UDPA_OK)
        err = is_for_all ? add_all(egress, &links)
                         : add_standby(egress, UDPAI_STR(UDPAI_TYPE_CLIENT_LOAD), &links);
    if (err == UDPA_OK) {
        links.n = links.n ? udpai_links_sort(links.items, links.n) : 0;
        members = make_members(egress, &links);
    }
    udpai_vector_done(&links);
    return members;
}

udpa_err
udpai_report_targets_load_audience(const udpai_egress *egress,
                                   udpai_str name,
                                   udpai_audience *ret_audience)
{
    UDPA_AUTO(udpa_bytes_unref) udpa_bytes *members = udpai_report_target_audience(egress, name);
    if (!members)
        return UDPA_ERR_NOMEM;
    ret_audience->n = udpa_bytes_size(members) / sizeof(udpai_report_target_member);
    ret_audience->digest = udpai_hash(udpai_bytes_view(members));
    return UDPA_OK;
}

bool
udpai_report_targets_only(const udpai_egress *egress,
                          const udpa_resource *report,
                          udpai_str *ret_name)
{
    udpai_link_vector links = {0};
    bool is_for_all = true;
    udpa_err err = udpai_report_target_find(egress, report, &links, &is_for_all);
    bool is_one = err == UDPA_OK && !is_for_all && udpai_links_sort(links.items, links.n) == 1;
    const udpai_source *source =
        is_one ? udpai_map_get(&egress->sources->by_link,
                               (udpai_str){(const char *)links.items, sizeof(*links.items)})
               : NULL;
    udpai_vector_done(&links);
    if (source)
        *ret_name = udpai_bytes_view(source->name);
    return source != NULL;
}

/* ---- when to look again ---- */

static void
mix(uint64_t *digest, uint64_t value)
{
    *digest = (*digest ^ value) * 1099511628211u;
}

static void
mix_provider(uint64_t *digest, const udpai_provider *provider)
{
    for (size_t i = 0; i < provider->descriptors.n; i++) {
        const udpai_descriptor *descriptor = &provider->descriptors.items[i];
        bool counts = descriptor->is_reached && udpai_descriptor_counts(provider, i);
        mix(digest, descriptor->source->link << 2 | (uint64_t)counts << 1 |
                        (uint64_t)descriptor->is_eligible);
    }
}

uint64_t
udpai_report_target_digest(const udpai_egress *egress)
{
    uint64_t digest = 14695981039346656037u;
    const udpai_source *source = NULL;
    while ((source = udpai_sources_next_own(egress->sources, source))) {
        mix(&digest, source->link << 2 | (uint64_t)udpai_source_may_want_reports(source) << 1 |
                         (uint64_t)udpai_source_is_active(source));
        mix(&digest, source->is_decided);
        const udpa_bytes *who = who_is(source);
        mix(&digest, who ? udpai_hash(udpai_bytes_view(who)) : 0);
    }
    size_t at = 0;
    const udpai_provider *provider;
    while ((provider = udpai_map_next(&egress->providers->by_type, &at)))
        mix_provider(&digest, provider);
    at = 0;
    const udpai_named *named;
    while ((named = udpai_named_table_next(egress->named_table, &at))) {
        mix_provider(&digest, named->provider);
        for (size_t i = 0; i < named->leaving.n; i++)
            mix(&digest, named->leaving.items[i].is_eligible);
    }
    return digest;
}
