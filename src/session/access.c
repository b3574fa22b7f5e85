/* SPDX-License-Identifier: Apache-2.0 */
#include "session/access.h"

#include "base/alloc.h"
#include "base/map.h"
#include "model/name.h"
#include "model/secret_type.h"

#define OUTCAST_PATIENCE_MS 3000
/* In a visibility: of a peer from which something is withheld besides. */
#define WITHHELD (UINT64_C(1) << 63)

typedef struct access_view {
    uint64_t visibility;
    size_t n_rules;
    uint16_t rules[];
} access_view;

static udpai_str
rules_key(const void *item)
{
    const access_view *view = item;
    return (udpai_str){(const char *)view->rules, view->n_rules * sizeof(view->rules[0])};
}

static udpai_str
visibility_key(const void *item)
{
    const access_view *view = item;
    return (udpai_str){(const char *)&view->visibility, sizeof(view->visibility)};
}

void
udpai_access_init(udpai_access *access, udpai_acl *acl)
{
    *access = (udpai_access){.acl = udpai_acl_ref(acl)};
    udpai_map_init(&access->by_rules, rules_key);
    udpai_map_init(&access->by_visibility, visibility_key);
}

void
udpai_access_done(udpai_access *access)
{
    size_t at = 0;
    access_view *view;
    while ((view = udpai_map_next(&access->by_visibility, &at)))
        udpai_free(view);
    udpai_map_done(&access->by_visibility);
    udpai_map_done(&access->by_rules);
    access->acl = udpai_acl_unref(access->acl);
}

void
udpai_access_replace(udpai_access *access, udpai_acl *acl)
{
    udpai_access before = *access;
    udpai_access_init(access, acl);
    access->last_visibility = before.last_visibility;
    access->log = before.log;
    access->withheld_types = before.withheld_types;
    access->n_withheld_types = before.n_withheld_types;
    access->withheld = before.withheld;
    access->n_withheld = before.n_withheld;
    udpai_access_done(&before);
}

void
udpai_access_withhold(udpai_access *access, const udpai_hub_options *options)
{
    access->withheld_types = options->withheld_types;
    access->n_withheld_types = options->n_withheld_types;
    access->withheld = options->withheld;
    access->n_withheld = options->n_withheld;
}

static bool
is_withheld_type(const udpai_access *access, udpai_str type_url)
{
    for (size_t i = 0; i < access->n_withheld_types; i++)
        if (udpai_str_eq(type_url, access->withheld_types[i]))
            return true;
    return false;
}

/* Of a prefix: all that it covers. */
static bool
is_withheld(const udpai_access *access, udpai_str type_url, udpai_str name)
{
    if (access->n_withheld == 0 || !is_withheld_type(access, type_url))
        return false;
    for (size_t i = 0; i < access->n_withheld; i++)
        if (udpai_prefix_covers(access->withheld[i], name))
            return true;
    return false;
}

/* Views of earlier rules, which nobody has any more, show nothing. */
bool
udpai_access_may_see_name(const udpai_access *access,
                          uint64_t visibility,
                          udpai_str type_url,
                          udpai_str name)
{
    if ((visibility & WITHHELD) && is_withheld(access, type_url, name))
        return false;
    visibility &= ~WITHHELD;
    if (visibility == 0)
        return true;
    const access_view *view = udpai_map_get(
        &access->by_visibility, (udpai_str){(const char *)&visibility, sizeof(visibility)});
    return view && udpai_acl_view_shows(access->acl, view->rules, view->n_rules, type_url, name);
}

bool
udpai_access_may_see(void *userdata, uint64_t visibility, const udpa_resource *resource)
{
    return udpai_access_may_see_name(userdata, visibility, udpai_resource_type_url(resource),
                                     udpai_resource_name(resource));
}

static access_view *
add_view(udpai_access *access, const udpai_acl_view *from)
{
    size_t size = from->rules.n * sizeof(from->rules.items[0]);
    access_view *view = udpai_alloc(sizeof(*view) + size);
    if (!view)
        return NULL;
    view->visibility = ++access->last_visibility;
    view->n_rules = from->rules.n;
    if (size)
        memcpy(view->rules, from->rules.items, size);
    if (!udpai_map_add(&access->by_visibility, view)) {
        udpai_free(view);
        return NULL;
    }
    if (udpai_map_add(&access->by_rules, view))
        return view;
    udpai_map_remove(&access->by_visibility, visibility_key(view));
    udpai_free(view);
    return NULL;
}

udpa_err
udpai_access_visibility(udpai_access *access,
                        const udpai_acl_subject *subject,
                        uint64_t *ret_visibility)
{
    udpai_acl_view view;
    *ret_visibility = 0;
    if (!access->acl || udpai_acl_settings(access->acl)->is_dry_run)
        return UDPA_OK;
    udpa_err err = udpai_acl_view_of(access->acl, subject, &view);
    if (err != UDPA_OK)
        return err;
    const udpai_str key = {(const char *)view.rules.items,
                           view.rules.n * sizeof(view.rules.items[0])};
    const access_view *known = udpai_map_get(&access->by_rules, key);
    if (!known && access->by_rules.n >= UDPAI_ACCESS_VIEWS_MAX)
        err = UDPA_ERR_LIMIT;
    else if (!known && !(known = add_view(access, &view)))
        err = UDPA_ERR_NOMEM;
    udpai_vector_done(&view.rules);
    if (err == UDPA_OK)
        *ret_visibility = known->visibility;
    return err;
}

/* ---- for sessions ---- */

static udpai_acl_subject
subject_of(const udpai_session *session, const udpai_node_info *node)
{
    return (udpai_acl_subject){
        .identity = session->info.identity,
        .node_id = node ? udpai_node_info_parts(node)->id : (udpai_str){0},
    };
}

/* What this node has dialled, or is a source, is above it. That one of those is a source is known
 * only later, and nothing may be visible to it until then. */
static bool
is_above(const udpai_session *session)
{
    return session->info.link != 0 || session->info.is_source;
}

udpa_err
udpai_session_visibility(const udpai_session *session,
                         const udpai_node_info *node,
                         uint64_t *ret_visibility)
{
    const udpai_acl_subject subject = subject_of(session, node);
    return udpai_access_visibility(udpai_hub_access(session->hub), &subject, ret_visibility);
}

udpa_err
udpai_session_admit(udpai_session *session,
                    udpai_subscriber *subscriber,
                    const udpai_node_info *node,
                    udpa_error **ret_error)
{
    udpai_access *access = udpai_hub_access(session->hub);
    const udpai_acl_subject subject = subject_of(session, node);
    uint64_t visibility = 0;
    udpa_err err = UDPA_OK;
    if (access->acl && node && session->info.link == 0)
        err = udpai_acl_check_node_id(access->acl, &subject, ret_error);
    if (err == UDPA_OK)
        err = udpai_access_visibility(access, &subject, &visibility);
    if (is_above(session) && access->n_withheld)
        visibility |= WITHHELD;
    if (err == UDPA_OK && subscriber)
        err = udpai_subscriber_set_visibility(subscriber, visibility);
    session->has_rules = !access->acl || udpai_acl_settings(access->acl)->is_dry_run ||
                         udpai_acl_knows(access->acl, &subject);
    return udpai_fail_code(ret_error, err);
}

/* Who it is, not where it comes from: many may come by one balancer. One without an id is served.
 */
udpa_err
udpai_session_check_share(udpai_session *session,
                          const udpai_node_info *node,
                          udpa_error **ret_error)
{
    udpai_str id = node ? udpai_node_info_parts(node)->id : (udpai_str){0};
    if (id.len == 0)
        return UDPA_OK;
    uint64_t client = udpai_hash(id) ^ udpai_hash(udpai_identity_name(session->info.identity));
    return udpai_hub_check_share(session, client, ret_error);
}

/* A session that was dialled, or serves a ConfigSource, exists because this node asks for it. */
static void
cast_out(udpai_session *session, bool had_rules)
{
    if (session->has_rules || is_above(session)) {
        session->is_revoked = false;
        udpai_timer_cancel(&session->patience);
    } else if (had_rules) {
        udpai_wheel *wheel = udpai_hub_wheel(session->hub);
        session->is_revoked = true;
        udpai_timer_set(wheel, &session->patience, wheel->now_ms + OUTCAST_PATIENCE_MS);
        udpai_session_ready(session);
    }
}

void
udpai_session_admit_again(udpai_session *session,
                          udpai_subscriber *subscriber,
                          const udpai_node_info *node)
{
    udpa_error *error = NULL;
    bool had_rules = session->has_rules;
    udpa_err err = udpai_session_admit(session, subscriber, node, &error);
    if (err == UDPA_OK) {
        cast_out(session, had_rules);
        return;
    }
    udpai_session_finish(session,
                         error ? error : udpa_error_new(err, NULL, "%s", udpa_err_text(err)));
}

static void
count_denied(udpai_session *session)
{
    session->n_denied++;
    udpai_meter_add(udpai_meters_get(udpai_hub_meters(session->hub),
                                     UDPAI_METRIC_SUBSCRIPTIONS_DENIED, (udpai_str){0}),
                    1);
}

static void
log_denial(udpai_session *session,
           const udpai_acl_subject *subject,
           const udpai_acl_question *question,
           const udpa_error *why)
{
    udpai_access *access = udpai_hub_access(session->hub);
    unsigned n_suppressed;
    count_denied(session);
    if (udpai_log_allow(&access->log, udpai_hub_wheel(session->hub)->now_ms, &n_suppressed))
        udpai_acl_log_denial(access->acl, subject, question, why, n_suppressed);
}

static udpa_err
decide(udpai_session *session,
       const udpai_acl_subject *subject,
       const udpai_acl_question *question,
       udpa_error **ret_error)
{
    const udpai_access *access = udpai_hub_access(session->hub);
    UDPA_AUTO(udpa_error_unref) udpa_error *why = NULL;
    if (udpai_acl_decide(access->acl, subject, question, &why))
        return UDPA_OK;
    if (!why)
        return UDPA_ERR_NOMEM;
    log_denial(session, subject, question, why);
    if (udpai_acl_settings(access->acl)->is_dry_run)
        return UDPA_OK;
    if (ret_error)
        *ret_error = UDPAI_TAKE(why);
    return UDPA_ERR_DENIED;
}

udpa_err
udpai_session_check_subscription(udpai_session *session,
                                 const udpai_node_info *node,
                                 const udpai_asked_for *asked,
                                 udpa_error **ret_error)
{
    const udpai_access *access = udpai_hub_access(session->hub);
    if (is_above(session) && is_withheld(access, asked->type_url, asked->name)) {
        count_denied(session);
        return udpai_fail(ret_error, UDPA_ERR_DENIED,
                          "what single clients report of '%.*s' is not passed on by this node: "
                          "subscribe to udpa.load.v1.ClusterLoad, its aggregates",
                          UDPAI_SHOWN(asked->name));
    }
    if (!access->acl)
        return UDPA_OK;
    const udpai_acl_subject subject = subject_of(session, node);
    const udpai_acl_question question = {
        .action = udpai_acl_action_for(asked->name),
        .type_url = asked->type_url,
        .name = asked->name,
        .is_wildcard = asked->is_wildcard,
    };
    return decide(session, &subject, &question, ret_error);
}

bool
udpai_session_may_ask(const udpai_session *session,
                      const udpai_node_info *node,
                      const udpai_asked_for *asked)
{
    const udpai_acl *acl = udpai_hub_access(session->hub)->acl;
    UDPA_AUTO(udpa_error_unref) udpa_error *why = NULL;
    if (!acl || udpai_acl_settings(acl)->is_dry_run)
        return true;
    const udpai_acl_subject subject = subject_of(session, node);
    const udpai_acl_question question = {
        .action = udpai_acl_action_for(asked->name),
        .type_url = asked->type_url,
        .name = asked->name,
        .is_wildcard = asked->is_wildcard,
    };
    return udpai_acl_decide(acl, &subject, &question, &why);
}

udpa_err
udpai_session_check_sending(udpai_session *session,
                            const udpai_node_info *node,
                            udpai_str type_url,
                            udpai_str called,
                            udpa_error **ret_error)
{
    const udpai_access *access = udpai_hub_access(session->hub);
    if (!access->acl)
        return UDPA_OK;
    const udpai_acl_subject subject = subject_of(session, node);
    const udpai_acl_question question = {
        .action = UDPAI_ACL_PUBLISH,
        .type_url = type_url,
        .name = called,
    };
    udpa_err err = udpai_acl_check_node_id(access->acl, &subject, ret_error);
    return err == UDPA_OK ? decide(session, &subject, &question, ret_error) : err;
}

#define NAME_OF_SECRETS "udpa.node/secrets"

udpa_err
udpai_session_check_copying(udpai_session *session,
                            const udpai_node_info *node,
                            udpa_error **ret_error)
{
    const udpai_access *access = udpai_hub_access(session->hub);
    if (!udpai_node_info_has_feature(node, UDPAI_FEATURE_SECRETS))
        return UDPA_OK;
    if (!session->info.is_secure) {
        count_denied(session);
        return udpai_fail(ret_error, UDPA_ERR_DENIED,
                          "a copy with secrets is sent by TLS alone: ask a socket that has "
                          "certificates");
    }
    if (!access->acl)
        return UDPA_OK;
    const udpai_acl_subject subject = subject_of(session, node);
    const udpai_acl_question question = {
        .action = UDPAI_ACL_ADMIN,
        .type_url = UDPAI_STR(UDPAI_TYPE_SECRET),
        .name = UDPAI_STR(NAME_OF_SECRETS),
    };
    UDPA_AUTO(udpa_error_unref) udpa_error *why = NULL;
    udpa_err err = decide(session, &subject, &question, &why);
    return err == UDPA_ERR_DENIED
               ? udpai_fail(ret_error, err, "a copy with secrets takes the action ADMIN: %s",
                            udpa_error_message(why))
               : err;
}
