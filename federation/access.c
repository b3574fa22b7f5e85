/* SPDX-License-Identifier: Apache-2.0 */
/* Who may publish what, as the ACL says. What an xDS server sends is not asked about: the
 * configuration says in whose name it speaks, and where. */
#include "federation/access.h"
#include "federation/delegation.h"
#include "federation/publishers.h"

#include "base/alloc.h"

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

udpa_err
udpai_node_check_access(udpai_node *node,
                        const udpai_acl_subject *subject,
                        const udpai_acl_question *question,
                        udpa_error **ret_error)
{
    unsigned n_suppressed;
    UDPA_AUTO(udpa_error_unref) udpa_error *why = NULL;
    if (!node->acl || udpai_acl_decide(node->acl, subject, question, &why))
        return UDPA_OK;
    if (!why)
        return udpai_fail_code(ret_error, UDPA_ERR_NOMEM);
    bool is_dry_run = udpai_acl_settings(node->acl)->is_dry_run;
    node->n_denied++;
    if (udpai_log_allow(&node->acl_log, udpai_context_now(&node->context), &n_suppressed))
        udpai_log(UDPA_LOG_WARNING, "acl", "%s%s (%u more not shown)",
                  is_dry_run ? "dry run, so it may: " : "", udpa_error_message(why), n_suppressed);
    if (is_dry_run)
        return UDPA_OK;
    if (ret_error)
        *ret_error = UDPAI_TAKE(why);
    return UDPA_ERR_DENIED;
}

/* What is to be asked of a resource: may it be published, and may what it delegates? Who says where
 * a resource comes from, must be allowed to publish it. */
struct questions {
    udpai_acl_question items[2];
    size_t n;
    char room[UDPAI_TYPE_URL_MAX];
};

static void
make_questions(struct questions *questions, const udpa_resource *resource)
{
    udpai_acl_question *first = &questions->items[0], *second = &questions->items[1];
    *first = (udpai_acl_question){
        .action = UDPAI_ACL_PUBLISH,
        .type_url = udpai_resource_type_url(resource),
        .name = udpai_resource_name(resource),
        .authority = udpai_resource_authority(resource),
    };
    *second = *first;
    bool is_followed =
        udpai_str_eq(first->type_url, UDPAI_STR(UDPAI_DELEGATION_TYPE)) &&
        udpai_delegation_read_name(first->name, questions->room, &second->type_url, &second->name);
    questions->n = is_followed ? 2 : 1;
}

udpa_err
udpai_access_check_publication(udpai_node *node,
                               const udpai_peer *peer,
                               const udpa_resource *resource,
                               udpa_error **ret_error)
{
    if (!node->acl || (peer->source && udpai_source_is_xds(peer->source)))
        return UDPA_OK;
    struct questions questions;
    make_questions(&questions, resource);
    const udpai_acl_subject subject = subject_of(peer);
    udpa_err err = UDPA_OK;
    for (size_t i = 0; i < questions.n && err == UDPA_OK; i++)
        err = udpai_node_check_access(node, &subject, &questions.items[i], ret_error);
    return err;
}

bool
udpai_access_may_refresh(const udpai_node *node,
                         const udpai_peer *peer,
                         udpai_str type_url,
                         const udpa_resource *news)
{
    const udpai_acl_question question = {
        .action = UDPAI_ACL_PUBLISH,
        .type_url = type_url,
        .name = udpai_resource_name(news),
        .authority = udpai_resource_authority(news),
    };
    const udpai_acl_subject subject = subject_of(peer);
    UDPA_AUTO(udpa_error_unref) udpa_error *why = NULL;
    return !node->acl || udpai_acl_decide(node->acl, &subject, &question, &why) ||
           udpai_acl_settings(node->acl)->is_dry_run;
}

/* ---- other rules ---- */

/* What is there of one origin, while rules change. */
struct review {
    udpai_node *node;
    const udpai_acl *before; /* NULL: there were none */
    udpai_acl_subject subject;
    bool is_known; /* what the certificate says; else only the name that stands for the peer */
    size_t n_withdrawn, n_origins;
};

static bool
allows(const udpai_acl *acl, const udpai_acl_subject *subject, const udpa_resource *resource)
{
    struct questions questions;
    make_questions(&questions, resource);
    bool is_allowed = true;
    for (size_t i = 0; i < questions.n; i++)
        is_allowed = is_allowed && udpai_acl_decide(acl, subject, &questions.items[i], NULL);
    return is_allowed;
}

/* Of a peer that has not come since the restart one name is known, and it may have others. What it
 * was not allowed by that name before either, it was allowed by another: it stays until it comes.
 */
static bool
stays(void *userdata, const udpa_resource *resource)
{
    struct review *review = userdata;
    bool is_allowed = allows(review->node->acl, &review->subject, resource);
    if (!is_allowed && !review->is_known && review->before)
        is_allowed = !allows(review->before, &review->subject, resource);
    review->n_withdrawn += !is_allowed;
    return is_allowed;
}

static void
withdraw(struct review *review, udpai_origin *origin)
{
    size_t n_before = review->n_withdrawn;
    udpai_store_withdraw_all(review->node->context.store, origin, (udpai_str){0}, (udpai_str){0},
                             stays, review);
    review->n_origins += review->n_withdrawn != n_before;
}

static void
review_publisher(struct review *review, udpai_origin *origin)
{
    udpai_str name, id;
    char *room = udpai_publisher_key_read(udpai_origin_key(origin), &name, &id);
    if (!room)
        return; /* files and the node itself; without memory it stays */
    review->subject = (udpai_acl_subject){
        .identity = udpai_origin_identity(origin),
        .node_id = id,
    };
    review->is_known = review->subject.identity || name.len == 0;
    if (!review->is_known)
        review->subject.known_as = name;
    withdraw(review, origin);
    udpai_free(room);
}

/* Those of groups of clients are servers of xDS, which are not asked about. */
static void
review_source(struct review *review, udpai_origin *origin, udpai_str name)
{
    const udpai_source *source = udpai_map_get(&review->node->sources, name);
    if (!source || udpai_source_is_xds(source) || source->kind == UDPAI_SOURCE_PATH)
        return;
    const udpai_peer *peer = udpai_peers_find(review->node->peers, source->session);
    review->subject = (udpai_acl_subject){
        .identity = udpai_origin_identity(origin),
        .node_id = peer && peer->info ? udpai_node_info_parts(peer->info)->id : (udpai_str){0},
        .known_as = name,
    };
    review->is_known = review->subject.identity != NULL;
    withdraw(review, origin);
}

static void
review_origin(void *userdata, udpai_origin *origin)
{
    static const char of_source[] = "source:";
    udpai_str key = udpai_origin_key(origin);
    size_t len = sizeof(of_source) - 1;
    if (udpai_str_starts(key, (udpai_str){of_source, len}))
        review_source(userdata, origin, (udpai_str){key.data + len, key.len - len});
    else
        review_publisher(userdata, origin);
}

static void
tell(const struct review *review)
{
    if (review->n_withdrawn)
        udpai_log(UDPA_LOG_WARNING, "acl",
                  "%zu resources of %zu peers are withdrawn: by the rules that hold now these may "
                  "not publish them",
                  review->n_withdrawn, review->n_origins);
}

static bool
refuses(const udpai_node *node)
{
    return node->acl && !udpai_acl_settings(node->acl)->is_dry_run;
}

void
udpai_access_know(udpai_node *node, udpai_origin *origin, udpai_identity *identity)
{
    struct review review = {.node = node};
    bool was_known = udpai_origin_identity(origin) != NULL;
    udpai_origin_set_identity(origin, identity);
    if ((identity && was_known) || !refuses(node))
        return;
    review_publisher(&review, origin);
    tell(&review);
}

void
udpai_access_know_source(udpai_node *node, const udpai_peer *peer)
{
    udpai_origin *origin = peer->source->origin;
    struct review review = {.node = node, .subject = subject_of(peer), .is_known = true};
    bool was_known = udpai_origin_identity(origin) != NULL;
    udpai_origin_set_identity(origin, peer->identity);
    if (was_known || !refuses(node) || udpai_source_is_xds(peer->source))
        return;
    withdraw(&review, origin);
    tell(&review);
}

void
udpai_node_set_acl(udpai_node *node, udpai_acl *acl)
{
    udpai_acl *before = node->acl;
    struct review review = {.node = node, .before = before};
    node->acl = udpai_acl_ref(acl);
    if (refuses(node))
        udpai_store_visit_origins(node->context.store, review_origin, &review);
    tell(&review);
    udpai_acl_unref(before);
    udpai_context_touch(&node->context);
}
