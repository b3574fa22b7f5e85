/* SPDX-License-Identifier: Apache-2.0 */
/* Everything that a node has of what was asked for, once. */
#ifndef UDPAI_CLI_COLLECT_H
#define UDPAI_CLI_COLLECT_H

#include "cli/client.h"
#include "cli/found.h"
#include "cli/requests.h"

/* What TYPE [NAME...] on the command line asks for; prints what is wrong. */
udpai_cli_exit udpai_cli_request_of_arguments(const udpai_cli_options *options,
                                              udpai_cli_requests *requests);

/* Subscribes to one request. */
udpai_cli_exit udpai_cli_subscribe(udpai_cli *cli,
                                   const udpai_cli_request *request,
                                   const udpa_subscribe_options *callbacks,
                                   udpa_subscription **ret_subscription);
/* Asks for all, and waits until the node has reported that this is all. */
udpai_cli_exit
udpai_cli_collect(udpai_cli *cli, const udpai_cli_requests *requests, udpai_cli_found *found);
/* Asks for names that are there, and waits until they have come: that nothing else is there need
 * not be certain. */
udpai_cli_exit
udpai_cli_collect_names(udpai_cli *cli, const udpai_cli_requests *requests, udpai_cli_found *found);
/* The request for the wildcard of every type that the node has or waits for, by its own status; if
 * there is none, of those that have a short name: a node may ask others only when it is asked. */
udpai_cli_exit udpai_cli_request_all_types(udpai_cli *cli, udpai_cli_requests *requests);

/* "there is no cluster 'local/hello' at …" of each name that was not found; true: there is one. */
bool udpai_cli_report_missing(const udpai_cli *cli,
                              const udpai_cli_requests *requests,
                              const udpai_cli_found *found);

#endif
