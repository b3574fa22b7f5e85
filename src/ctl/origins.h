/* SPDX-License-Identifier: Apache-2.0 */
/* get --all-origins: all contributions, and which of them are effective. */
#ifndef UDPAI_CTL_ORIGINS_H
#define UDPAI_CTL_ORIGINS_H

#include "base/strbuf.h"
#include "cli/collect.h"
#include "cli/table.h"

/* Asks the node about the names that were found, and those that were requested by name; an answer
 * for each, of the type udpa.status.v1.OriginsStatus. */
udpai_cli_exit udpai_ctl_find_origins(udpai_cli *cli,
                                      const udpai_cli_requests *requests,
                                      const udpai_cli_found *found,
                                      udpai_cli_found *answers);
/* Asks the node about the names that were found, and those that were requested by name, and prints
 * the answers. */
udpai_cli_exit udpai_ctl_show_origins(udpai_cli *cli,
                                      const udpai_cli_requests *requests,
                                      const udpai_cli_found *found);

/* ---- origins_view.c ---- */

/* A table of answers, which are of the type udpa.status.v1.OriginsStatus. */
void udpai_ctl_put_origins(udpai_strbuf *out,
                           udpai_cli_layout *layout,
                           udpa_resource *const *answers,
                           size_t n);

/* The contributions in an answer. */
typedef struct udpai_ctl_contributions {
    bool has_own;    /* a publisher with this node id has a contribution */
    char *effective; /* the origin of the effective one; NULL: not known */
} udpai_ctl_contributions;

/* Of the resource, among answers in any order. */
udpai_ctl_contributions udpai_ctl_contributions_of(udpa_resource *const *answers,
                                                   size_t n,
                                                   const udpa_resource *resource,
                                                   const char *node_id);
void udpai_ctl_contributions_done(udpai_ctl_contributions *contributions);
/* Does it have any contribution? */
bool udpai_ctl_has_origins(const udpa_resource *answer);

#endif
