/* SPDX-License-Identifier: Apache-2.0 */
/* The certificates of listening sockets, read from their files at start and on SIGHUP. */
#ifndef UDPAI_DAEMON_CERTIFICATES_H
#define UDPAI_DAEMON_CERTIFICATES_H

#include "daemon/plan.h"
#include "transport/tls_files.h"

/* The caller ends @p ret_files with udpai_tls_files_done, also after an error. */
udpa_err udpai_certificates_read(const Udpa__Config__V1__ServerTls *from,
                                 udpai_tls_files *ret_files,
                                 udpa_error **ret_error);

typedef udpa_err (*udpai_certificates_replace)(void *userdata,
                                               const udpai_tls_files *files,
                                               udpa_error **ret_error);

/* Reads those of a socket again, lets @p replace put them into use, and logs what came of it.
 * False: those in use stay. */
bool udpai_certificates_read_again(const udpai_plan_socket *socket,
                                   udpai_certificates_replace replace,
                                   void *userdata);

#endif
