/* SPDX-License-Identifier: Apache-2.0 */
/* Resources as text. Payloads of secrets are never part of it. */
#ifndef UDPAI_CTL_SHOW_H
#define UDPAI_CTL_SHOW_H

#include <udpa/resource.h>

#include "base/strbuf.h"
#include "cli/found.h"
#include "cli/output.h"
#include "codec/convert.h"
#include "ctl/options.h"

/* Appends a resource as a udpa.service.discovery.v1.Resource, which 'apply -f' reads again: YAML,
 * or JSON, compact or for people. */
udpa_err udpai_ctl_put_resource(udpai_strbuf *out,
                                const udpai_schema *schema,
                                const udpa_resource *resource,
                                udpai_format format,
                                udpa_error **ret_error);
/* The same with its signature, also in YAML, and with the payload of a secret: for its publisher.
 */
udpa_err udpai_ctl_put_signed(udpai_strbuf *out,
                              const udpai_schema *schema,
                              const udpa_resource *resource,
                              udpai_format format,
                              udpa_error **ret_error);
/* "cluster/local/hello" */
void udpai_ctl_put_name(udpai_strbuf *out, const udpa_resource *resource);
/* "core > edge": the nodes that it has passed on its way to us. */
void udpai_ctl_put_path(udpai_strbuf *out, const udpa_resource *resource);
/* Prints all of it. What cannot be printed is reported, and makes the result UDPAI_CLI_REFUSED. */
/* As YAML that 'apply --restore' takes: all but how it came here. */
udpa_err udpai_ctl_put_restorable(udpai_strbuf *out,
                                  const udpai_schema *schema,
                                  const udpa_resource *resource,
                                  bool with_secrets,
                                  udpa_error **ret_error);
udpai_cli_exit udpai_ctl_show(const udpai_ctl_options *options, const udpai_cli_found *found);
#endif
