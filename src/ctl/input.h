/* SPDX-License-Identifier: Apache-2.0 */
/* Resources from files, directories, and standard input. */
#ifndef UDPAI_CTL_INPUT_H
#define UDPAI_CTL_INPUT_H

#include "base/vector.h"
#include "codec/resource_file.h"
#include "ctl/options.h"

/* What udpa_publish() takes, by udpai_resource_footprint(). */
#define UDPAI_CTL_RESOURCE_BYTES ((size_t)3584 * 1024)

typedef struct udpai_ctl_input {
    udpai_schema *schema;
    udpai_str name_space;
    UDPAI_VECTOR(udpa_resource *) resources; /* references */
    UDPAI_VECTOR(char *) places;             /* of each: "file:line"; owned */
    size_t n_errors;
    bool is_restored; /* generations are taken as they are */
} udpai_ctl_input;

/* All resources of all files, or none: every file that has an error was reported then. No two have
 * the same type and name, and none is larger than may be published. */
udpai_cli_exit udpai_ctl_input_read(udpai_ctl_input *input, const udpai_ctl_options *options);
/* Has it one of this type and name? */
bool udpai_ctl_input_has(const udpai_ctl_input *input, const udpa_resource *resource);
void udpai_ctl_input_done(udpai_ctl_input *input);

#endif
