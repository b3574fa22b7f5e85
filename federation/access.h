/* SPDX-License-Identifier: Apache-2.0 */
/* Which peer may publish what, by the rules of the node. */
#ifndef UDPAI_FEDERATION_ACCESS_H
#define UDPAI_FEDERATION_ACCESS_H

#include "federation/parts.h"
#include "federation/peers.h"

typedef struct udpai_access udpai_access;

/* NULL: there are no rules. */
udpa_err udpai_access_new(udpai_access **ret_access, const udpai_parts *parts, udpai_acl *acl);
/* NULL does nothing. */
void udpai_access_free(udpai_access *access);
/* Other rules hold from now on, also for what was published before. Takes a reference. */
void udpai_access_set_acl(udpai_access *access, udpai_acl *acl);
/* The same once more, with the present rules: something was put that was checked by others. */
void udpai_access_review(udpai_access *access);
/* So many were denied, or would have been in a dry run. */
uint64_t udpai_access_n_denied(const udpai_access *access);

/* UDPA_ERR_DENIED, UDPA_ERR_NOMEM. What is denied is counted and logged, and allowed all the same
 * in a dry run. */
udpa_err udpai_access_check(udpai_access *access,
                            const udpai_acl_subject *subject,
                            const udpai_acl_question *question,
                            udpa_error **ret_error);

udpa_err udpai_access_check_publication(udpai_access *access,
                                        const udpai_peer *peer,
                                        const udpa_resource *resource,
                                        udpa_error **ret_error);
/* The same of what is only tried: nothing is counted or logged. */
udpa_err udpai_access_try_publication(udpai_access *access,
                                      const udpai_peer *peer,
                                      const udpa_resource *resource,
                                      udpa_error **ret_error);
/* The name of the rule that allows it; a view of the rules; empty: there are no rules. */
udpai_str udpai_access_rule_of(const udpai_access *access,
                               const udpai_peer *peer,
                               const udpai_acl_question *question);
/* Would it let in what is refreshed, if it is of this type? */
bool udpai_access_may_refresh(const udpai_access *access,
                              const udpai_peer *peer,
                              udpai_str type_url,
                              const udpa_resource *resource);
/* May a publisher publish what another replica has accepted from it? @p identity: of the publisher
 * then; NULL: it is not known, and what it may not by the name in its key it may by another one. A
 * dry run denies nothing. */
bool udpai_access_allows(const udpai_access *access,
                         const udpai_origin *origin,
                         const udpai_identity *identity,
                         const udpa_resource *resource);
/* The origin is this peer's, by its certificate (NULL: it has none). What the origin has since
 * before a restart is checked by that. */
void udpai_access_know(udpai_access *access, udpai_origin *origin, udpai_identity *identity);
/* The same for a source, which the peer is. */
void udpai_access_know_source(udpai_access *access, const udpai_peer *peer);

#endif
