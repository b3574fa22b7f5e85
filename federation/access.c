/* SPDX-License-Identifier: Apache-2.0 */
/* Who may publish what, as the ACL says. What an xDS server sends is not asked about: the
 * configuration says in whose name it speaks, and where. */
#include "federation/delegation.h"

static udpai_acl_subject
subject_of(const udpai_peer *peer)
{
    bool is_source = peer->source && peer->source->serves_us;
    return (udpai_acl_subject){
        .identity = peer->identity,
        .node_id = peer->info ? udpai_node_info_parts(peer->info)->id : (udpai_str){0},
        .known_as = is_source ? udpai_bytes_view(peer->source->name) : (udpai_str){0},
    };
}

static udpa_err
ask(udpai_node *node,
    const udpai_peer *peer,
    const udpai_acl_question *question,
    udpa_error **ret_error)
{
    unsigned n_suppressed;
    const udpai_acl_subject subject = subject_of(peer);
    UDPA_AUTO(udpa_error_unref) udpa_error *why = NULL;
    if (udpai_acl_decide(node->acl, &subject, question, &why))
        return UDPA_OK;
    if (!why)
        return udpai_fail_code(ret_error, UDPA_ERR_NOMEM);
    bool is_dry_run = udpai_acl_settings(node->acl)->is_dry_run;
    node->n_denied++;
    if (udpai_log_allow(&node->acl_log, udpai_node_now(node), &n_suppressed))
        udpai_log(UDPA_LOG_WARNING, "acl", "%s%s (%u more not shown)",
                  is_dry_run ? "dry run, so it may: " : "", udpa_error_message(why), n_suppressed);
    if (is_dry_run)
        return UDPA_OK;
    if (ret_error)
        *ret_error = UDPAI_TAKE(why);
    return UDPA_ERR_DENIED;
}

/* Who says where a resource comes from, must be allowed to publish it. */
static udpa_err
ask_for_delegated(udpai_node *node,
                  const udpai_peer *peer,
                  const udpa_resource *resource,
                  udpa_error **ret_error)
{
    char room[UDPAI_TYPE_URL_MAX];
    udpai_acl_question question = {
        .action = UDPAI_ACL_PUBLISH,
        .authority = udpai_resource_authority(resource),
    };
    if (!udpai_str_eq(udpai_resource_type_url(resource), UDPAI_STR(UDPAI_DELEGATION_TYPE)) ||
        !udpai_delegation_read_name(udpai_resource_name(resource), room, &question.type_url,
                                    &question.name))
        return UDPA_OK; /* nobody follows it */
    return ask(node, peer, &question, ret_error);
}

udpa_err
udpai_access_check_publication(udpai_node *node,
                               const udpai_peer *peer,
                               const udpa_resource *resource,
                               udpa_error **ret_error)
{
    if (!node->acl || (peer->source && udpai_source_is_xds(peer->source)))
        return UDPA_OK;
    const udpai_acl_question question = {
        .action = UDPAI_ACL_PUBLISH,
        .type_url = udpai_resource_type_url(resource),
        .name = udpai_resource_name(resource),
        .authority = udpai_resource_authority(resource),
    };
    udpa_err err = ask(node, peer, &question, ret_error);
    return err == UDPA_OK ? ask_for_delegated(node, peer, resource, ret_error) : err;
}

void
udpai_node_set_acl(udpai_node *node, udpai_acl *acl)
{
    udpai_acl_unref(node->acl);
    node->acl = udpai_acl_ref(acl);
}
