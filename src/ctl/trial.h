/* SPDX-License-Identifier: Apache-2.0 */
/* What a node reports that publications would do: they are tried, and nothing is changed. */
#ifndef UDPAI_CTL_TRIAL_H
#define UDPAI_CTL_TRIAL_H

#include "cli/collect.h"

/* How many clients is not known: it was not asked for, or the node does not report it. */
#define UDPAI_CTL_CLIENTS_UNKNOWN UINT64_MAX

/* A resource, or the removal of one. Texts are owned. */
typedef struct udpai_ctl_tried {
    char *type_url, *name;
    udpa_effect effect;
    char *effective; /* whose contribution would be effective; NULL: the publisher's, or none */
    char *refusal;   /* why it would be rejected; NULL: it would not */
    bool is_removal;
    uint64_t n_clients; /* that subscribe to it */
} udpai_ctl_tried;

/* In the order in which they were tried. */
typedef struct udpai_ctl_trial {
    UDPAI_VECTOR(udpai_ctl_tried) items;
    bool is_unknown; /* the node cannot try, which was printed */
} udpai_ctl_trial;

void udpai_ctl_trial_done(udpai_ctl_trial *trial);
/* Both add to it; the node is connected. */
udpai_cli_exit udpai_ctl_try_resources(udpai_cli *cli,
                                       udpai_ctl_trial *trial,
                                       udpa_resource *const *resources,
                                       size_t n_resources);
udpai_cli_exit
udpai_ctl_try_removals(udpai_cli *cli, udpai_ctl_trial *trial, const udpai_cli_request *request);
/* Asks how many clients subscribe to what would change; without the rights for that it is unknown.
 */
udpai_cli_exit udpai_ctl_trial_find_clients(udpai_cli *cli, udpai_ctl_trial *trial);
/* So many that would have this effect, and would not be rejected. */
size_t udpai_ctl_trial_count(const udpai_ctl_trial *trial, udpa_effect effect);
/* Prints a line for each. @p is_whole: and how many there are. UDPAI_CLI_REFUSED: some would be
 * rejected, or shadowed. */
udpai_cli_exit udpai_ctl_trial_print(const udpai_ctl_trial *trial, bool is_whole);

#endif
