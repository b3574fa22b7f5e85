/* SPDX-License-Identifier: Apache-2.0 */
/* What a client is to check: the specifier that is its own, else the one that was computed for it,
 * else the default one, limited to what it can do. Whichever there is, is sent at once. */
#include "model/name.h"
#include "xds/hds_internal.h"

/* ---- asking for it ---- */

static udpai_str
default_namespace(const udpai_hds *hds)
{
    return hds->belonging.audience->default_namespace;
}

/* NULL, too, if that cannot be a name: then there is no resource of it. */
static udpa_err
make_name(const udpai_hds *hds, udpai_str id, udpa_bytes **ret_name)
{
    char room[UDPAI_NAME_MAX];
    udpai_str prefix = default_namespace(hds);
    if (prefix.len + 1 + id.len > sizeof(room))
        return UDPA_OK;
    memcpy(room, prefix.data, prefix.len);
    room[prefix.len] = '/';
    memcpy(room + prefix.len + 1, id.data, id.len);
    const udpai_str name = {room, prefix.len + 1 + id.len};
    return udpai_name_check(name, NULL) == UDPA_OK ? udpa_bytes_new(ret_name, name.data, name.len)
                                                   : UDPA_OK;
}

static udpa_err
subscribe_name(udpai_hds *hds, size_t which, udpai_str id, udpa_error **ret_error)
{
    udpa_bytes *name = NULL;
    udpa_err err = make_name(hds, id, &name);
    if (err != UDPA_OK || !name)
        return err;
    const udpai_asked_for asked = {
        UDPAI_STR(UDPAI_HEALTH_SPECIFIER_TYPE),
        udpai_bytes_view(name),
        false,
    };
    err = udpai_session_check_subscription(&hds->session, hds->peer, &asked, ret_error);
    if (err == UDPA_OK)
        err = udpai_subscribe_name(hds->subscription, asked.name, ret_error);
    if (err == UDPA_OK)
        hds->names[which] = name;
    else
        udpa_bytes_unref(name);
    return err;
}

/* <prefix>/<segment>; an id may have a slash, which is none here. */
static udpa_err
subscribe_computed(udpai_hds *hds, udpa_error **ret_error)
{
    char room[sizeof(UDPAI_HDS_COMPUTED "/") + UDPAI_NAME_MAX], *at = room;
    udpai_str segment = udpai_bytes_view(hds->segment);
    if (segment.len > UDPAI_NAME_MAX)
        return UDPA_OK;
    udpai_str_put(&at, UDPAI_STR(UDPAI_HDS_COMPUTED "/"));
    udpai_str_put(&at, segment);
    return subscribe_name(hds, UDPAI_HDS_COMPUTED_NAME, (udpai_str){room, (size_t)(at - room)},
                          ret_error);
}

static udpa_err
subscribe_one(udpai_hds *hds, size_t which, udpa_error **ret_error)
{
    if (which == UDPAI_HDS_COMPUTED_NAME)
        return subscribe_computed(hds, ret_error);
    udpai_str id =
        which == UDPAI_HDS_OWN_NAME ? udpai_node_info_parts(hds->peer)->id : UDPAI_STR("default");
    return subscribe_name(hds, which, id, ret_error);
}

/* Rules may let it have only some of them. */
udpa_err
udpai_hds_subscribe(udpai_hds *hds, udpa_error **ret_error)
{
    size_t n_denied = 0;
    hds->subscription = udpai_subscriber_get(
        &hds->subscriber, UDPAI_STR(UDPAI_HEALTH_SPECIFIER_TYPE), UDPAI_MODE_DELTA);
    if (!hds->subscription)
        return UDPA_ERR_NOMEM;
    for (size_t i = 0; i < UDPAI_HDS_NAMES; i++) {
        udpa_err err = subscribe_one(hds, i, ret_error);
        n_denied += err == UDPA_ERR_DENIED;
        if (n_denied == UDPAI_HDS_NAMES || (err != UDPA_OK && err != UDPA_ERR_DENIED))
            return err;
        if (err != UDPA_OK)
            *ret_error = udpa_error_unref(*ret_error);
    }
    return UDPA_OK;
}

/* ---- finding it ---- */

static bool
is_called(const udpa_resource *resource, udpai_str name)
{
    if (udpai_str_eq(udpai_resource_name(resource), name))
        return true;
    for (size_t i = 0; i < udpa_resource_n_aliases(resource); i++) {
        udpai_str alias = udpai_resource_alias(resource, i);
        if (udpai_str_eq(alias, name) ||
            (udpai_alias_is_pattern(alias) && udpai_alias_matches(alias, name)))
            return true;
    }
    return false;
}

static void
note_there(udpai_hds *hds, udpa_resource *resource)
{
    for (size_t i = 0; i < UDPAI_HDS_NAMES; i++) {
        if (!hds->names[i] || !is_called(resource, udpai_bytes_view(hds->names[i])))
            continue;
        udpa_resource *before = hds->held[i];
        hds->held[i] = udpa_resource_ref(resource);
        udpa_resource_unref(before);
    }
}

static void
note_missing(udpai_hds *hds, udpai_str name)
{
    for (size_t i = 0; i < UDPAI_HDS_NAMES; i++) {
        if (!hds->names[i] || !udpai_str_eq(udpai_bytes_view(hds->names[i]), name))
            continue;
        hds->held[i] = udpa_resource_unref(hds->held[i]);
        hds->is_missing[i] = true;
    }
}

/* What the fan-out delivers is taken note of, as a client would; what it composes is of no use. */
static udpa_err
catch_up(udpai_hds *hds)
{
    udpai_delivery delivery;
    udpa_err err;
    while ((err = udpai_subscriber_next(&hds->subscriber, &delivery)) == UDPA_OK && delivery.body) {
        for (size_t i = 0; i < delivery.body->removed.n; i++)
            note_missing(hds, udpai_bytes_view(delivery.body->removed.items[i]));
        for (size_t i = 0; i < delivery.body->resources.n; i++)
            note_there(hds, delivery.body->resources.items[i]);
        udpai_body_unref(delivery.body);
    }
    return err;
}

/* NULL: there is none. What was there, and is not, is none only when that is certain. */
static udpa_resource *
find(const udpai_hds *hds)
{
    for (size_t i = 0; i < UDPAI_HDS_NAMES; i++)
        if (hds->held[i])
            return hds->held[i];
    return NULL;
}

/* A client that asks once cannot be sent later that it was not the right one. */
static bool
is_certain(const udpai_hds *hds)
{
    for (size_t i = 0; i < UDPAI_HDS_NAMES; i++) {
        if (hds->held[i])
            return true;
        if (hds->names[i] && !hds->is_missing[i])
            return false;
    }
    return true;
}

/* ---- sending it ---- */

static void
warn(udpai_hds *hds, const char *what, const char *why)
{
    unsigned n_suppressed;
    udpai_str id = udpai_node_info_parts(hds->peer)->id;
    if (!udpai_log_allow(&hds->service->bad_specifiers, udpai_hub_wheel(hds->session.hub)->now_ms,
                         &n_suppressed))
        return;
    udpai_log_about(UDPA_LOG_WARNING, "hds",
                    UDPAI_ABOUT({UDPAI_LOG_PEER, id}, {UDPAI_LOG_NAME, udpai_str_from(what)}),
                    "health checks '%s' for client '%.*s': %s (%u more not shown)", what,
                    UDPAI_SHOWN(id), why, n_suppressed);
}

static udpa_err
make_table(udpai_hds *hds, udpai_health_table **ret_table, udpa_error **ret_error)
{
    UDPA_AUTO(udpa_bytes_unref) udpa_bytes *limited = NULL;
    size_t n_left_out = 0;
    if (hds->looked_at && udpai_resource_is_redirect(hds->looked_at))
        return udpai_fail(ret_error, UDPA_ERR_INVAL, "it is a redirect, which HDS does not know");
    udpai_str specifier = hds->looked_at ? udpai_resource_value(hds->looked_at) : (udpai_str){0};
    udpa_err err =
        udpai_health_specifier_limit(specifier, hds->capability, &limited, &n_left_out, ret_error);
    if (err == UDPA_OK)
        err = udpai_health_table_new(ret_table, limited, ret_error);
    if (err == UDPA_OK && n_left_out)
        warn(hds, udpa_resource_name(hds->looked_at),
             "some are left out, of a protocol that this client has not reported it can do, or of "
             "none; and clusters in which no other is left");
    return err;
}

/* Takes the table over. */
static udpa_err
replace(udpai_hds *hds, udpai_health_table *table)
{
    if (hds->table) {
        udpai_str before = udpai_bytes_view(udpai_health_table_specifier(hds->table));
        udpa_err err = UDPA_OK;
        if (udpai_str_eq(before, udpai_bytes_view(udpai_health_table_specifier(table))) ||
            (err = udpai_hds_note_removed(hds, table)) != UDPA_OK) {
            udpai_health_table_free(table);
            return err;
        }
        udpai_health_table_inherit(table, hds->table);
    }
    udpai_health_table_free(hds->before);
    hds->before = hds->table;
    hds->table = table;
    hds->is_sent = false;
    return UDPA_OK;
}

/* One that cannot be used is as if it had not changed: what is checked goes on to be. */
static udpa_err
refuse(udpai_hds *hds, udpa_err err, udpa_error *error, udpa_error **ret_error)
{
    if (err == UDPA_ERR_NOMEM || hds->is_fetch) {
        *ret_error = error;
        return err;
    }
    warn(hds, udpa_resource_name(hds->looked_at), udpa_error_message(error));
    udpa_error_unref(error);
    return UDPA_OK;
}

static bool
is_same(const udpa_resource *a, const udpa_resource *b)
{
    return a == b || (a && b && udpai_resource_same_payload(a, b));
}

/* Is it to be looked at? Before there is one for the first time, nothing is sent; later, that there
 * is none any more. */
static bool
is_news(const udpai_hds *hds, const udpa_resource *found)
{
    if (hds->is_fetch)
        return !hds->table && is_certain(hds);
    return (found || hds->table) && !(hds->has_looked && is_same(found, hds->looked_at));
}

static udpa_err
look(udpai_hds *hds, udpa_error **ret_error)
{
    udpa_resource *found = find(hds);
    bool is_new = is_news(hds, found);
    udpa_resource_ref(found);
    udpa_resource_unref(hds->looked_at);
    hds->looked_at = found;
    if (!is_new)
        return UDPA_OK;
    hds->has_looked = true;
    udpai_health_table *table = NULL;
    udpa_error *error = NULL;
    udpa_err err = make_table(hds, &table, &error);
    return err == UDPA_OK ? replace(hds, table) : refuse(hds, err, error, ret_error);
}

udpa_err
udpai_hds_next(udpai_session *session, udpai_outgoing *out, bool *ret_any, udpa_error **ret_error)
{
    udpai_hds *hds = udpai_hds_of(session);
    hds->writing = udpa_bytes_unref(hds->writing);
    if (!hds->subscription)
        return UDPA_OK;
    udpa_err err = catch_up(hds);
    if (err == UDPA_OK)
        err = look(hds, ret_error);
    if (err == UDPA_OK && hds->removed.n)
        err = udpai_hds_publish(hds, ret_error);
    if (err == UDPA_OK)
        err = udpai_hds_announce(hds);
    if (err != UDPA_OK || !hds->table || hds->is_sent)
        return udpai_fail_code(ret_error, err);
    hds->writing = udpa_bytes_ref(udpai_health_table_specifier(hds->table));
    hds->is_sent = true;
    hds->n_specifiers++;
    out->parts = &hds->writing;
    out->n_parts = 1;
    *ret_any = true;
    return UDPA_OK;
}
