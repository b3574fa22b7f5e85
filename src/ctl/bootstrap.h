/* SPDX-License-Identifier: Apache-2.0 */
/* The bootstrap files of xDS clients: how Envoy and gRPC reach a node, as JSON. Pure. */
#ifndef UDPAI_CTL_BOOTSTRAP_H
#define UDPAI_CTL_BOOTSTRAP_H

#include <udpa/error.h>

#include "base/strbuf.h"

/* NULL: not given. Names of files are those that the client opens. */
typedef struct udpai_ctl_bootstrap {
    const char *servers; /* valid addresses, as --server has them */
    const char *client_id, *client_cluster;
    const char *locality;                       /* REGION[/ZONE[/SUB_ZONE]] */
    const char *ca, *certificate, *private_key; /* ca: TLS is used */
    const char *server_name;                    /* of their certificates; NULL: that of the host */
    const char *envoy_admin;                    /* HOST:PORT */
} udpai_ctl_bootstrap;

/* UDPA_ERR_INVAL: why such a client cannot be given this; the text may have something all the same.
 */
udpa_err udpai_ctl_bootstrap_put_envoy(udpai_strbuf *out,
                                       const udpai_ctl_bootstrap *bootstrap,
                                       udpa_error **ret_error);
udpa_err udpai_ctl_bootstrap_put_grpc(udpai_strbuf *out,
                                      const udpai_ctl_bootstrap *bootstrap,
                                      udpa_error **ret_error);

/* Can an Envoy be administered there: IP:PORT, or unix:PATH? */
bool udpai_ctl_bootstrap_is_admin(udpai_str address);

#endif
