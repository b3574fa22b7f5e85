/* SPDX-License-Identifier: Apache-2.0 */
/* What is printed on standard output, in the way that the command line and the terminal want it. */
#ifndef UDPAI_CTL_OUTPUT_H
#define UDPAI_CTL_OUTPUT_H

#include "ctl/common_options.h"
#include "ctl/table.h"

/* How tables are to be written: as --no-headers, --sort-by and -o wide say, and as wide as the
 * terminal that standard output is. To be ended by udpai_ctl_print_tables(). */
udpai_ctl_layout udpai_ctl_layout_of(const udpai_ctl_common *options);

/* Each prints the text and empties it; UDPAI_CTL_REFUSED: nobody reads it, or there is no memory.
 */
udpai_ctl_exit udpai_ctl_print(udpai_strbuf *out);
/* UDPAI_CTL_MISTAKE: no table had the column of --sort-by; then nothing is printed. */
udpai_ctl_exit udpai_ctl_print_tables(udpai_ctl_layout *layout, udpai_strbuf *out);
/* A document of JSON, or what -o jsonpath makes of it; UDPAI_CTL_MISTAKE: it does not go with it.
 */
udpai_ctl_exit udpai_ctl_print_json(const udpai_ctl_common *options, udpai_strbuf *out);

#endif
