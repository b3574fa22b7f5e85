/* SPDX-License-Identifier: Apache-2.0 */
/* What is wrong with a bootstrap file beyond its types, by the tables of fields.h. */
#ifndef UDPAI_BOOTSTRAP_CHECK_H
#define UDPAI_BOOTSTRAP_CHECK_H

#include "daemon/diagnostics.h"
#include "daemon/options.h"
#include "udpa/config/v1/bootstrap.pb-c.h"

/* Of the values alone: no file is looked at. */
void udpai_bootstrap_check(const Udpa__Config__V1__Bootstrap *message,
                           udpai_diagnostics *diagnostics);

/* Of the files and directories that a start would use. Nothing is locked or kept open, and nothing
 * is left: in the state directory, or where it would be made, an empty directory is made and
 * removed. What the command line puts aside is not looked at. Descriptor sets are descriptors.h's.
 */
void udpai_bootstrap_check_files(const Udpa__Config__V1__Bootstrap *message,
                                 const udpai_options *options,
                                 udpai_diagnostics *diagnostics);
/* The keys of the section 'signatures' alone. */
void udpai_signatures_check_files(const Udpa__Config__V1__Bootstrap *message,
                                  udpai_diagnostics *diagnostics);

#endif
