/* SPDX-License-Identifier: Apache-2.0 */
/* Which peer may publish what, by the ACL. What an xDS server sends is not checked: the
 * configuration states its authority, and its namespaces. */
#include "federation/access.h"
#include "federation/delegation.h"
#include "federation/publishers.h"

#include "base/alloc.h"
#include "federation/source.h"
#include "model/replica_id.h"
#include "store/audit.h"

static udpai_acl_subject
subject_of(const udpai_peer *peer)
{
    bool is_source = udpai_peer_source(peer) != NULL;
    return (udpai_acl_subject){
        .identity = peer->identity,
        .node_id = peer->info ? udpai_node_info_parts(peer->info)->id : (udpai_str){0},
        .known_as = is_source ? udpai_source_name(peer->source) : (udpai_str){0},
    };
}

struct udpai_access {
    udpai_context *context;
    udpai_peers *peers;
    udpai_sources *sources;
    udpai_acl *acl; /* NULL: none */
    uint64_t n_denied;
    udpai_log_limit log;
};

udpa_err
udpai_access_new(udpai_access **ret_access, const udpai_parts *parts, udpai_acl *acl)
{
    udpai_access *access = udpai_alloc(sizeof(*access));
    if (!access)
        return UDPA_ERR_NOMEM;
    access->context = parts->context;
    access->peers = parts->peers;
    access->sources = parts->sources;
    access->acl = udpai_acl_ref(acl);
    *ret_access = access;
    return UDPA_OK;
}

void
udpai_access_free(udpai_access *access)
{
    if (access)
        udpai_acl_unref(access->acl);
    udpai_free(access);
}

uint64_t
udpai_access_n_denied(const udpai_access *access)
{
    return access->n_denied;
}

static void
note_denied(udpai_access *access,
            const udpai_acl_subject *subject,
            const udpai_acl_question *question,
            const udpa_error *why)
{
    unsigned n_suppressed;
    access->n_denied++;
    if (udpai_log_allow(&access->log, udpai_context_now(access->context), &n_suppressed))
        udpai_acl_log_denial(access->acl, subject, question, why, n_suppressed);
}

/* @p is_trial: nothing is denied yet. */
static udpa_err
check(udpai_access *access,
      const udpai_acl_subject *subject,
      const udpai_acl_question *question,
      bool is_trial,
      udpa_error **ret_error)
{
    UDPA_AUTO(udpa_error_unref) udpa_error *why = NULL;
    if (!access->acl || udpai_acl_decide(access->acl, subject, question, &why))
        return UDPA_OK;
    if (!why)
        return udpai_fail_code(ret_error, UDPA_ERR_NOMEM);
    if (!is_trial)
        note_denied(access, subject, question, why);
    if (udpai_acl_settings(access->acl)->is_dry_run)
        return UDPA_OK;
    if (ret_error)
        *ret_error = UDPAI_TAKE(why);
    return UDPA_ERR_DENIED;
}

udpa_err
udpai_access_check(udpai_access *access,
                   const udpai_acl_subject *subject,
                   const udpai_acl_question *question,
                   udpa_error **ret_error)
{
    return check(access, subject, question, false, ret_error);
}

/* What is to be asked of a resource: may it be published, and may what it delegates? A publisher
 * that states where a resource comes from must be allowed to publish it. */
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

static udpa_err
check_publication(udpai_access *access,
                  const udpai_peer *peer,
                  const udpa_resource *resource,
                  bool is_trial,
                  udpa_error **ret_error)
{
    if (!access->acl || (peer->source && udpai_source_is_xds(peer->source)))
        return UDPA_OK;
    struct questions questions;
    make_questions(&questions, resource);
    const udpai_acl_subject subject = subject_of(peer);
    udpa_err err = UDPA_OK;
    for (size_t i = 0; i < questions.n && err == UDPA_OK; i++)
        err = check(access, &subject, &questions.items[i], is_trial, ret_error);
    return err;
}

udpa_err
udpai_access_check_publication(udpai_access *access,
                               const udpai_peer *peer,
                               const udpa_resource *resource,
                               udpa_error **ret_error)
{
    return check_publication(access, peer, resource, false, ret_error);
}

udpa_err
udpai_access_try_publication(udpai_access *access,
                             const udpai_peer *peer,
                             const udpa_resource *resource,
                             udpa_error **ret_error)
{
    return check_publication(access, peer, resource, true, ret_error);
}

bool
udpai_access_may_refresh(const udpai_access *access,
                         const udpai_peer *peer,
                         udpai_str type_url,
                         const udpa_resource *resource)
{
    const udpai_acl_question question = {
        .action = UDPAI_ACL_PUBLISH,
        .type_url = type_url,
        .name = udpai_resource_name(resource),
        .authority = udpai_resource_authority(resource),
    };
    const udpai_acl_subject subject = subject_of(peer);
    UDPA_AUTO(udpa_error_unref) udpa_error *why = NULL;
    return !access->acl || udpai_acl_decide(access->acl, &subject, &question, &why) ||
           udpai_acl_settings(access->acl)->is_dry_run;
}

udpai_str
udpai_access_rule_of(const udpai_access *access,
                     const udpai_peer *peer,
                     const udpai_acl_question *question)
{
    if (!access->acl)
        return (udpai_str){0};
    const udpai_acl_subject subject = subject_of(peer);
    const udpai_acl_rule *rule = udpai_acl_decide(access->acl, &subject, question, NULL);
    return rule ? rule->name : UDPAI_STR("none, in a dry run");
}

/* ---- other rules ---- */

/* What is there of one origin, while rules change. */
struct review {
    udpai_access *access;
    const udpai_acl *before; /* NULL: there were none */
    udpai_acl_subject subject;
    bool is_known; /* what the certificate contains; else only the name of the peer */
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
    bool is_allowed = allows(review->access->acl, &review->subject, resource);
    if (!is_allowed && !review->is_known && review->before)
        is_allowed = !allows(review->before, &review->subject, resource);
    review->n_withdrawn += !is_allowed;
    return is_allowed;
}

/* True: something was withdrawn. */
static bool
withdraw(struct review *review, udpai_origin *origin)
{
    size_t n_before = review->n_withdrawn;
    udpai_store *store = review->access->context->store;
    udpai_cause before = udpai_store_set_cause(store, UDPAI_CAUSE_RULES);
    udpai_store_withdraw_all(store, origin, (udpai_str){0}, (udpai_str){0}, stays, review);
    (void)udpai_store_set_cause(store, before);
    review->n_origins += review->n_withdrawn != n_before;
    return review->n_withdrawn != n_before;
}

/* The subject refers to the result, which is the caller's; NULL: it is no publisher's, but of files
 * or the node itself, or there is no memory. @p identity: NULL: one name is known, that in the key.
 */
static char *
publisher_of(const udpai_origin *origin,
             const udpai_identity *identity,
             udpai_acl_subject *ret_subject,
             bool *ret_is_known)
{
    udpai_str name, id;
    char *room = udpai_publisher_key_read(udpai_origin_key(origin), &name, &id);
    if (!room)
        return NULL;
    *ret_is_known = identity || name.len == 0;
    *ret_subject = (udpai_acl_subject){
        .identity = identity,
        .node_id = udpai_replica_id_node(id),
        .known_as = *ret_is_known ? (udpai_str){0} : name,
    };
    return room;
}

static void
review_publisher(struct review *review, udpai_origin *origin)
{
    char *room =
        publisher_of(origin, udpai_origin_identity(origin), &review->subject, &review->is_known);
    if (room)
        (void)withdraw(review, origin);
    udpai_free(room);
}

/* Those of groups of clients are servers of xDS, which are not asked about. */
static void
review_source(struct review *review, udpai_origin *origin, udpai_str name)
{
    udpai_source *source = udpai_sources_get(review->access->sources, name);
    if (!source || udpai_source_is_xds(source) || udpai_source_is_path(source))
        return;
    const udpai_peer *peer = udpai_peers_find(review->access->peers, udpai_source_session(source));
    review->subject = (udpai_acl_subject){
        .identity = udpai_origin_identity(origin),
        .node_id = peer && peer->info ? udpai_node_info_parts(peer->info)->id : (udpai_str){0},
        .known_as = name,
    };
    review->is_known = review->subject.identity != NULL;
    if (withdraw(review, origin))
        udpai_source_note_refused(source);
}

static void
review_origin(void *userdata, udpai_origin *origin)
{
    udpai_str name;
    if (udpai_source_name_of_key(udpai_origin_key(origin), &name))
        review_source(userdata, origin, name);
    else
        review_publisher(userdata, origin);
}

static void
log_withdrawn(const struct review *review)
{
    if (review->n_withdrawn)
        udpai_log(UDPA_LOG_WARNING, "acl",
                  "withdrawn %zu resources of %zu peers: the present rules do not allow these "
                  "peers to publish them",
                  review->n_withdrawn, review->n_origins);
}

static bool
refuses(const udpai_access *access)
{
    return access->acl && !udpai_acl_settings(access->acl)->is_dry_run;
}

bool
udpai_access_allows(const udpai_access *access,
                    const udpai_origin *origin,
                    const udpai_identity *identity,
                    const udpa_resource *resource)
{
    udpai_acl_subject subject;
    bool is_known;
    if (!refuses(access))
        return true;
    char *room = publisher_of(origin, identity, &subject, &is_known);
    bool is_allowed = !room || !is_known || allows(access->acl, &subject, resource);
    udpai_free(room);
    return is_allowed;
}

void
udpai_access_know(udpai_access *access, udpai_origin *origin, udpai_identity *identity)
{
    struct review review = {.access = access};
    bool was_known = udpai_origin_identity(origin) != NULL;
    udpai_origin_set_identity(origin, identity);
    if ((identity && was_known) || !refuses(access))
        return;
    review_publisher(&review, origin);
    log_withdrawn(&review);
}

void
udpai_access_know_source(udpai_access *access, const udpai_peer *peer)
{
    udpai_origin *origin = udpai_source_origin(peer->source);
    struct review review = {.access = access, .subject = subject_of(peer), .is_known = true};
    bool was_known = udpai_origin_identity(origin) != NULL;
    udpai_origin_set_identity(origin, peer->identity);
    if (was_known || !refuses(access) || udpai_source_is_xds(peer->source))
        return;
    if (withdraw(&review, origin))
        udpai_source_note_refused(peer->source);
    log_withdrawn(&review);
}

void
udpai_access_review(udpai_access *access)
{
    udpai_access_set_acl(access, access->acl);
}

void
udpai_access_set_acl(udpai_access *access, udpai_acl *acl)
{
    udpai_acl *before = access->acl;
    struct review review = {.access = access, .before = before};
    access->acl = udpai_acl_ref(acl);
    if (refuses(access))
        udpai_store_visit_origins(access->context->store, review_origin, &review);
    log_withdrawn(&review);
    udpai_acl_unref(before);
    udpai_context_touch(access->context);
}
