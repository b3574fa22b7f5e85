/* SPDX-License-Identifier: Apache-2.0 */
/* Names of the form xdstp://…. A client that uses them compares names part by part, and is answered
 * by the spelling that it used: two spellings of one name are one subscription, and the last one
 * counts.
 *
 * In delta such names are a part of their type's subscription, and each collection by glob is one:
 * what a resource is called in a response depends on what it was asked for as. In the state of the
 * world the payload has the name, and there are no parts. */
#include "xds/xds_internal.h"

#include "base/alloc.h"

#define NAMED_PART UDPAI_STR(UDPAI_XDSTP_SCHEME)

struct spelled {
    uint32_t full_len, len;
    char text[]; /* the full name; how it is spelled */
};

static udpai_str
spelling_key(const void *item)
{
    const struct spelled *spelled = item;
    return (udpai_str){spelled->text, spelled->full_len};
}

static udpai_str
glob_key(const void *item)
{
    return udpai_subscription_glob(item);
}

void
udpai_xds_requested_name_init(udpai_xds_type *type)
{
    udpai_map_init_in(&type->spellings, spelling_key, type->memory);
    udpai_map_init_in(&type->globs, glob_key, type->memory);
}

/* The parts belong to the subscriber. */
void
udpai_xds_requested_name_done(udpai_xds_type *type)
{
    size_t at = 0;
    struct spelled *spelled;
    while ((spelled = udpai_map_next(&type->spellings, &at)))
        udpai_free_in(type->memory, spelled, sizeof(*spelled) + spelled->full_len + spelled->len);
    udpai_map_done(&type->spellings);
    udpai_map_done(&type->globs);
}

/* ---- spellings ---- */

void
udpai_xds_forget_spelling(udpai_xds *xds, udpai_xds_type *type, udpai_str full_name)
{
    struct spelled *old = udpai_map_remove(&type->spellings, full_name);
    if (!old)
        return;
    xds->spelled_bytes -= old->full_len + old->len;
    udpai_free_in(type->memory, old, sizeof(*old) + old->full_len + old->len);
}

udpai_str
udpai_xds_spelling(const udpai_xds_type *type, udpai_str full_name)
{
    const struct spelled *found = udpai_map_get(&type->spellings, full_name);
    return found ? (udpai_str){found->text + found->full_len, found->len} : (udpai_str){0};
}

udpa_err
udpai_xds_spell(udpai_xds *xds,
                udpai_xds_type *type,
                udpai_str full_name,
                udpai_str text,
                udpa_error **ret_error)
{
    if (udpai_str_eq(udpai_xds_spelling(type, full_name), text))
        return UDPA_OK;
    udpai_xds_forget_spelling(xds, type, full_name);
    size_t bytes = full_name.len + text.len;
    if (xds->spelled_bytes + bytes > UDPAI_XDS_SPELLED_BYTES_MAX)
        return udpai_fail(
            ret_error, UDPA_ERR_LIMIT,
            "the names of the form xdstp://… that this stream has asked for have more "
            "than %zu bytes, which is the limit; '%.*s' is one more",
            UDPAI_XDS_SPELLED_BYTES_MAX, UDPAI_SHOWN(text));
    struct spelled *fresh = udpai_alloc_in(type->memory, sizeof(*fresh) + bytes);
    if (!fresh)
        return UDPA_ERR_NOMEM;
    fresh->full_len = (uint32_t)full_name.len;
    fresh->len = (uint32_t)text.len;
    char *at = fresh->text;
    udpai_str_put(&at, full_name);
    udpai_str_put(&at, text);
    if (!udpai_map_add(&type->spellings, fresh)) {
        udpai_free_in(type->memory, fresh, sizeof(*fresh) + bytes);
        return UDPA_ERR_NOMEM;
    }
    xds->spelled_bytes += bytes;
    return UDPA_OK;
}

/* ---- parts ---- */

static udpai_subscription *
add_part(udpai_xds *xds, udpai_subscription *subscription, udpai_str label, udpai_str glob)
{
    const udpai_part part = {udpai_subscription_type_url(subscription), label, glob};
    udpai_subscription *added =
        udpai_subscriber_add_part(&xds->subscriber, &part, udpai_subscription_mode(subscription));
    if (!added)
        return NULL;
    udpai_subscription_set_userdata(added, udpai_xds_type_of(subscription));
    udpai_xds_delay_absence(xds, added);
    return added;
}

static void
forget_part(udpai_xds_type *type, const udpai_subscription *part)
{
    UDPAI_LIST_FOREACH (node, &type->in_flight) {
        udpai_xds_in_flight *flight = UDPAI_LIST_ENTRY(node, udpai_xds_in_flight, node);
        if (flight->subscription == part)
            flight->subscription = NULL;
    }
}

static void
drop_part(udpai_xds_type *type, udpai_subscription *part)
{
    forget_part(type, part);
    udpai_subscriber_drop_part(part);
}

static void
drop_glob(udpai_xds *xds, udpai_xds_type *type, udpai_str glob)
{
    udpai_subscription *part = udpai_map_remove(&type->globs, glob);
    if (!part)
        return;
    drop_part(type, part);
    xds->n_globs--;
}

static udpa_err
add_glob(udpai_xds *xds,
         udpai_subscription *subscription,
         udpai_str glob,
         udpai_str text,
         udpai_subscription **ret_part,
         udpa_error **ret_error)
{
    if (xds->n_globs >= UDPAI_XDS_GLOBS_MAX)
        return udpai_fail(ret_error, UDPA_ERR_LIMIT,
                          "a stream has at most %d collections by glob, and '%.*s' is one more",
                          UDPAI_XDS_GLOBS_MAX, UDPAI_SHOWN(text));
    udpai_subscription *part = add_part(xds, subscription, text, glob);
    if (!part)
        return UDPA_ERR_NOMEM;
    if (!udpai_map_add(&udpai_xds_type_of(subscription)->globs, part)) {
        udpai_subscriber_drop_part(part);
        return UDPA_ERR_NOMEM;
    }
    xds->n_globs++;
    *ret_part = part;
    return UDPA_OK;
}

/* What was removed meanwhile, and was not sent yet, the client has in the other spelling. */
static udpa_err
respell_glob(udpai_xds *xds,
             udpai_subscription *subscription,
             udpai_subscription *old,
             udpai_str text,
             udpai_subscription **ret_part)
{
    udpai_xds_type *type = udpai_xds_type_of(subscription);
    udpai_subscription *part = add_part(xds, subscription, text, udpai_subscription_glob(old));
    if (!part)
        return UDPA_ERR_NOMEM;
    udpai_part_take_over(part, old);
    udpai_map_remove(&type->globs, udpai_subscription_glob(old));
    drop_part(type, old);
    if (!udpai_map_add(&type->globs, part)) {
        udpai_subscriber_drop_part(part);
        xds->n_globs--;
        return UDPA_ERR_NOMEM;
    }
    *ret_part = part;
    return UDPA_OK;
}

udpa_err
udpai_xds_get_part(udpai_xds *xds,
                   udpai_subscription *subscription,
                   const udpai_xds_name *name,
                   udpai_str text,
                   udpai_subscription **ret_part,
                   udpa_error **ret_error)
{
    udpai_xds_type *type = udpai_xds_type_of(subscription);
    if (!name->is_glob) {
        if (!type->named)
            type->named = add_part(xds, subscription, NAMED_PART, (udpai_str){0});
        *ret_part = type->named;
        if (type->named && type->distinguishes_variants)
            return udpai_subscription_distinguish_variants(type->named);
        return type->named ? UDPA_OK : UDPA_ERR_NOMEM;
    }
    udpai_subscription *part = udpai_map_get(&type->globs, name->full);
    if (part && !udpai_str_eq(udpai_subscription_label(part), text))
        return respell_glob(xds, subscription, part, text, ret_part);
    *ret_part = part;
    return part ? UDPA_OK : add_glob(xds, subscription, name->full, text, ret_part, ret_error);
}

udpa_err
udpai_xds_distinguish_variants(udpai_xds_type *type, udpai_subscription *subscription)
{
    udpa_err err = udpai_subscription_distinguish_variants(subscription);
    type->distinguishes_variants = true;
    return err == UDPA_OK && type->named ? udpai_subscription_distinguish_variants(type->named)
                                         : err;
}

/* The only collection that may hold the name and is asked for; NULL: none. */
static udpai_subscription *
collection_of(const udpai_xds_type *type, udpai_str full_name)
{
    char room[UDPAI_GLOB_MAX];
    udpai_str glob;
    return udpai_glob_of_name(full_name, room, &glob) ? udpai_map_get(&type->globs, glob) : NULL;
}

/* A name was given back, or its spelling. A glob may hold it still, so its present state is sent,
 * as that of a wildcard is. */
static void
notify_collection(const udpai_xds_type *type, udpai_str full_name)
{
    udpai_subscription *part = collection_of(type, full_name);
    if (part)
        udpai_subscription_notify(part, full_name);
}

static udpa_err
subscribe_name(udpai_xds *xds,
               udpai_xds_type *type,
               const udpai_xds_name *name,
               udpai_str text,
               udpa_error **ret_error)
{
    udpai_str before = udpai_xds_spelling(type, name->full);
    bool is_respelled = before.len && !udpai_str_eq(before, text);
    udpa_err err = udpai_xds_spell(xds, type, name->full, text, ret_error);
    if (err == UDPA_OK && is_respelled)
        notify_collection(type, name->full);
    const udpai_locator locator = {name->full, name->parameters};
    return err == UDPA_OK ? udpai_subscribe_locator(type->named, &locator, ret_error) : err;
}

udpa_err
udpai_xds_subscribe_requested(udpai_xds *xds,
                              udpai_subscription *subscription,
                              const udpai_xds_name *name,
                              udpai_str text,
                              udpa_error **ret_error)
{
    udpai_subscription *part;
    udpa_err err = udpai_xds_get_part(xds, subscription, name, text, &part, ret_error);
    if (err != UDPA_OK)
        return err;
    if (!name->is_glob)
        return subscribe_name(xds, udpai_xds_type_of(subscription), name, text, ret_error);
    udpai_str prefix = udpai_glob_prefix(name->full);
    err = udpai_subscribe_wildcard(part, prefix, ret_error);
    return err == UDPA_OK ? udpai_subscription_await_complete(part, prefix, NULL, 0) : err;
}

void
udpai_xds_unsubscribe_requested(udpai_xds *xds, udpai_xds_type *type, const udpai_xds_name *name)
{
    if (name->is_glob) {
        drop_glob(xds, type, name->full);
        return;
    }
    const udpai_locator locator = {name->full, name->parameters};
    if (!type->named || !udpai_subscription_has_locator(type->named, &locator))
        return;
    udpai_unsubscribe_locator(type->named, &locator, false);
    if (udpai_subscription_n_asking(type->named, name->full))
        return;
    udpai_xds_forget_spelling(xds, type, name->full);
    notify_collection(type, name->full);
}

udpa_err
udpai_xds_hold_requested(udpai_xds_type *type, udpai_str full_name, udpai_str version)
{
    udpai_subscription *part = collection_of(type, full_name);
    udpa_err err = part ? udpai_subscription_hold_version(part, full_name, version) : UDPA_OK;
    if (err == UDPA_OK && type->named)
        err = udpai_subscription_hold_version(type->named, full_name, version);
    return err;
}

void
udpai_xds_resend_requested(udpai_xds_type *type, const udpai_xds_name *name)
{
    udpai_subscription *part = name->is_glob ? udpai_map_get(&type->globs, name->full) : NULL;
    if (part)
        udpai_subscription_resend_all(part);
    else if (type->named && !name->is_glob)
        udpai_subscription_resend(type->named, name->full);
}

/* ---- in responses ---- */

/* Asked for by another name, it is called by that: the client waits for that name. */
static udpai_str
spelling_of_alias(const udpai_xds_type *type, const udpa_resource *resource)
{
    for (size_t i = 0; i < udpa_resource_n_aliases(resource); i++) {
        udpai_str alias = udpai_resource_alias(resource, i), found = {0};
        if (!udpai_alias_is_pattern(alias))
            found = udpai_xds_spelling(type, alias);
        size_t at = 0;
        const struct spelled *each;
        while (udpai_alias_is_pattern(alias) && !found.len &&
               (each = udpai_map_next(&type->spellings, &at)))
            if (udpai_alias_matches(alias, spelling_key(each)))
                found = (udpai_str){each->text + each->full_len, each->len};
        if (found.len)
            return found;
    }
    return (udpai_str){0};
}

bool
udpai_xds_name_of_client(const udpai_xds_audience *audience,
                         const udpai_subscription *subscription,
                         const udpa_resource *resource,
                         udpai_str full_name,
                         char room[UDPAI_XDS_NAME_OF_CLIENT_MAX],
                         udpai_str *ret_name)
{
    udpai_str label = udpai_subscription_label(subscription);
    if (label.len == 0)
        return udpai_xds_name_to_client(audience, full_name, ret_name);
    if (udpai_subscription_glob(subscription).len)
        return udpai_glob_member(label, full_name, room, ret_name);
    const udpai_xds_type *type = udpai_xds_type_of(subscription);
    *ret_name = udpai_xds_spelling(type, full_name);
    if (ret_name->len == 0 && resource)
        *ret_name = spelling_of_alias(type, resource);
    return ret_name->len > 0;
}
