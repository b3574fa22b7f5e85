/* SPDX-License-Identifier: Apache-2.0 */
/* Mistakes in ConfigSources of kind runtime_tree. */
#ifndef UDPAI_TREE_CHECK_H
#define UDPAI_TREE_CHECK_H

#include "daemon/diagnostics.h"
#include "udpa/config/v1/bootstrap.pb-c.h"

/* What it says. @p path: of the field runtime_tree. */
void udpai_tree_check(const Udpa__Config__V1__Bootstrap *message,
                      const Udpa__Config__V1__RuntimeTreeSource *tree,
                      const char *path,
                      udpai_diagnostics *diagnostics);
/* What is there. A tree may come later: a warning. */
void udpai_tree_check_files(const Udpa__Config__V1__RuntimeTreeSource *tree,
                            const char *path,
                            udpai_diagnostics *diagnostics);

#endif
