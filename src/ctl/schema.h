/* SPDX-License-Identifier: Apache-2.0 */
/* The descriptors of the types that the program reads and shows. */
#ifndef UDPAI_CTL_SCHEMA_H
#define UDPAI_CTL_SCHEMA_H

#include "codec/schema.h"
#include "ctl/options.h"

/* From --descriptors, or from where they lie by default; without any, the project's own types are
 * known all the same. NULL: the reason was printed. */
udpai_schema *udpai_ctl_schema(const udpai_ctl_options *options);

#endif
