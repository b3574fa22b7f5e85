/* SPDX-License-Identifier: Apache-2.0 */
#include "session/access.h"

#include "base/alloc.h"
#include "model/name.h"

struct udpai_access_view {
    uint64_t visibility;
    size_t n_rules;
    uint16_t rules[];
};

static udpai_str
view_key(const void *item)
{
    const udpai_access_view *view = item;
    return (udpai_str){(const char *)view->rules, view->n_rules * sizeof(view->rules[0])};
}

void
udpai_access_init(udpai_access *access, udpai_acl *acl)
{
    *access = (udpai_access){.acl = udpai_acl_ref(acl)};
    udpai_map_init(&access->by_rules, view_key);
}

void
udpai_access_done(udpai_access *access)
{
    for (size_t i = 0; i < access->views.n; i++)
        udpai_free(access->views.items[i]);
    udpai_vector_done(&access->views);
    udpai_map_done(&access->by_rules);
    access->acl = udpai_acl_unref(access->acl);
}

bool
udpai_access_may_see(void *userdata, uint64_t visibility, const udpa_resource *resource)
{
    const udpai_access *access = userdata;
    if (visibility == 0)
        return true;
    const udpai_access_view *view = access->views.items[visibility - 1];
    return udpai_acl_view_shows(access->acl, view->rules, view->n_rules,
                                udpai_resource_type_url(resource), udpai_resource_name(resource));
}

static udpai_access_view *
add_view(udpai_access *access, const udpai_acl_view *from)
{
    size_t size = from->rules.n * sizeof(from->rules.items[0]);
    udpai_access_view *view = udpai_alloc(sizeof(*view) + size);
    if (!view || !udpai_vector_reserve(&access->views, 1)) {
        udpai_free(view);
        return NULL;
    }
    view->visibility = access->views.n + 1;
    view->n_rules = from->rules.n;
    if (size)
        memcpy(view->rules, from->rules.items, size);
    if (!udpai_map_add(&access->by_rules, view)) {
        udpai_free(view);
        return NULL;
    }
    access->views.items[access->views.n++] = view;
    return view;
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
    const udpai_access_view *known = udpai_map_get(&access->by_rules, key);
    if (!known && access->views.n >= UDPAI_ACCESS_VIEWS_MAX)
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
    if (err == UDPA_OK)
        err = udpai_subscriber_set_visibility(subscriber, visibility);
    return udpai_fail_code(ret_error, err);
}

static void
tell(udpai_session *session, const udpa_error *why)
{
    udpai_access *access = udpai_hub_access(session->hub);
    unsigned n_suppressed;
    session->n_denied++;
    if (udpai_log_allow(&access->log, udpai_hub_wheel(session->hub)->now_ms, &n_suppressed))
        udpai_log(UDPA_LOG_WARNING, "acl", "%s%s (%u more not shown)",
                  udpai_acl_settings(access->acl)->is_dry_run ? "dry run, so it may: " : "",
                  udpa_error_message(why), n_suppressed);
}

udpa_err
udpai_session_check_subscription(udpai_session *session,
                                 const udpai_node_info *node,
                                 const udpai_asked_for *asked,
                                 udpa_error **ret_error)
{
    const udpai_access *access = udpai_hub_access(session->hub);
    if (!access->acl)
        return UDPA_OK;
    const udpai_acl_subject subject = subject_of(session, node);
    const udpai_acl_question question = {
        .action = udpai_acl_action_for(asked->name),
        .type_url = asked->type_url,
        .name = asked->name,
        .is_wildcard = asked->is_wildcard,
    };
    UDPA_AUTO(udpa_error_unref) udpa_error *why = NULL;
    if (udpai_acl_decide(access->acl, &subject, &question, &why))
        return UDPA_OK;
    if (!why)
        return UDPA_ERR_NOMEM;
    tell(session, why);
    if (udpai_acl_settings(access->acl)->is_dry_run)
        return UDPA_OK;
    if (ret_error)
        *ret_error = UDPAI_TAKE(why);
    return UDPA_ERR_DENIED;
}
