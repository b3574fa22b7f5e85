/* SPDX-License-Identifier: Apache-2.0 */
/* Which sources a report is for, as the store and the providers are now. */
#include "base/map.h"
#include "federation/digest.h"
#include "federation/egress_internal.h"
#include "federation/provider.h"
#include "federation/report_targets.h"
#include "federation/source.h"
#include "model/links.h"
#include "model/name.h"

static udpa_err
add(udpai_link_vector *links, const udpai_source *source)
{
    if (!source || !udpai_source_may_subscribe(source))
        return UDPA_OK;
    return udpai_vector_push(links, udpai_source_link(source)) ? UDPA_OK : UDPA_ERR_NOMEM;
}

/* ---- which source has delivered it ---- */

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

/* The source of the effective contribution; but not an origin that is not active any more, while
 * another is, though what that has is older. NULL: none. */
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
            err = add(links, udpai_sources_of_origin(egress->sources, origin));
    }
    return err;
}

/* ---- which source would deliver it ---- */

static udpa_err
add_source(void *links, udpai_source *source)
{
    return add(links, source);
}

static udpa_err
add_active(const udpai_egress *egress, const udpai_subject *subject, udpai_link_vector *links)
{
    udpa_err err = UDPA_OK;
    for (size_t i = 0; i < subject->n_types && err == UDPA_OK; i++)
        err = udpai_providers_visit_active(egress->providers, subject->types[i], subject->name,
                                           add_source, links);
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
        err = udpai_providers_visit_active_of_any(egress->providers, subject->name, add_source,
                                                  links);
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

/* ---- which sources are to be warm ---- */

static udpa_err
add_standby(const udpai_egress *egress, udpai_str type_url, udpai_link_vector *links)
{
    udpa_err err = UDPA_OK;
    const udpai_source *source = NULL;
    while ((source = udpai_sources_next_own(egress->sources, source))) {
        if (err == UDPA_OK && udpai_source_is_standby_for(source, type_url))
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

/* ---- which sources are sent it ---- */

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
id_of(const udpai_source *source)
{
    return source && udpai_source_origin(source) ? udpai_origin_node(udpai_source_origin(source))
                                                 : NULL;
}

/* Of the links those where a node has been, in their order. */
static udpa_bytes *
make_members(const udpai_egress *egress, const udpai_link_vector *links)
{
    UDPAI_VECTOR(udpai_report_target_member) members = {0};
    udpa_bytes *made = NULL;
    bool is_whole = true;
    for (size_t i = 0; i < links->n && is_whole; i++) {
        const udpa_bytes *id = id_of(source_at(egress, links->items[i]));
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
    const udpai_source *source = is_one ? udpai_sources_at(egress->sources, links.items[0]) : NULL;
    udpai_vector_done(&links);
    if (source)
        *ret_name = udpai_source_name(source);
    return source != NULL;
}

/* ---- when to look again ---- */

uint64_t
udpai_report_target_digest(const udpai_egress *egress)
{
    uint64_t digest = UDPAI_DIGEST_BEGIN;
    const udpai_source *source = NULL;
    while ((source = udpai_sources_next_own(egress->sources, source))) {
        udpai_digest_mix(&digest, udpai_source_link(source) << 2 |
                                      (uint64_t)udpai_source_may_subscribe(source) << 1 |
                                      (uint64_t)udpai_source_is_active(source));
        udpai_digest_mix(&digest, udpai_source_is_decided(source));
        const udpa_bytes *id = id_of(source);
        udpai_digest_mix(&digest, id ? udpai_hash(udpai_bytes_view(id)) : 0);
    }
    udpai_digest_mix(&digest, udpai_providers_digest(egress->providers));
    return digest;
}
