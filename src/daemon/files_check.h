/* SPDX-License-Identifier: Apache-2.0 */
/* The files and directories that a start would use: are they there, and what they should be? */
#ifndef UDPAI_FILES_CHECK_H
#define UDPAI_FILES_CHECK_H

#include "daemon/diagnostics.h"
#include "daemon/options.h"
#include "udpa/config/v1/bootstrap.pb-c.h"

/* Nothing is locked or kept open, and nothing is left: in the state directory, or where it would be
 * made, an empty directory is made and removed. What the command line puts aside is not looked at.
 * Descriptor sets are descriptors.h's. */
void udpai_files_check(const Udpa__Config__V1__Bootstrap *message,
                       const udpai_options *options,
                       udpai_diagnostics *diagnostics);

/* "; relative paths begin in …" for a relative path where nothing is found, else "". */
#define UDPAI_WHERE_MAX 4200
const char *udpai_files_where(char room[UDPAI_WHERE_MAX], const char *path);

#endif
