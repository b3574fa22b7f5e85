/* SPDX-License-Identifier: Apache-2.0 */
/* What keeps what is to be kept: a database, or of a node that keeps nothing the file of its audit;
 * and where else the audit goes. */
#ifndef UDPAI_DAEMON_STORAGE_H
#define UDPAI_DAEMON_STORAGE_H

#include "daemon/audit_output.h"
#include "endpoint/endpoint.h"
#include "store/durable.h"

typedef struct udpai_daemon_storage {
    udpai_durable_engine *engine; /* for the endpoint, which closes it; NULL: nothing is kept */
    udpai_durable_engine *sqlite; /* the same, if it is the one of SQLite */
    udpai_audit_output *output;   /* NULL: none */
} udpai_daemon_storage;

/* Zeroed before. To be followed by udpai_daemon_storage_close() in any case. */
udpa_err udpai_daemon_storage_open(udpai_daemon_storage *storage,
                                   const udpai_plan *plan,
                                   udpa_error **ret_error);
/* The endpoint that has it serves: the audit has a record if the store was a backup. */
void udpai_daemon_storage_started(const udpai_daemon_storage *storage, udpa_endpoint *endpoint);
/* The plan is another one since, with an audit as the one before has, but for its bounds and where
 * it goes: @p next, as from udpai_audit_output_prepare(), which is taken. */
void udpai_daemon_storage_take_plan(udpai_daemon_storage *storage,
                                    const udpai_plan *plan,
                                    udpai_audit_outputs *next);
/* SIGUSR1: files that are only added to are opened anew. */
void udpai_daemon_storage_reopen(udpai_daemon_storage *storage);
/* Another process writes the audit elsewhere, or this one does again. */
void udpai_daemon_storage_leave_output(udpai_daemon_storage *storage);
udpa_err udpai_daemon_storage_take_output(udpai_daemon_storage *storage,
                                          const udpai_plan *plan,
                                          udpa_error **ret_error);
/* When the endpoint is closed. */
void udpai_daemon_storage_close(udpai_daemon_storage *storage);

#endif
