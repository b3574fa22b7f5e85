/* SPDX-License-Identifier: Apache-2.0 */
/* What is printed on standard output, in the way that the command line and the terminal require. */
#ifndef UDPAI_CLI_OUTPUT_H
#define UDPAI_CLI_OUTPUT_H

#include "cli/options.h"
#include "cli/table.h"

/* How tables are to be written: as --no-headers, --sort-by and -o wide set it, and as wide as the
 * terminal that standard output is. To be ended by udpai_cli_print_tables(). */
udpai_cli_layout udpai_cli_layout_of(const udpai_cli_options *options);

/* Each prints the text and empties it; UDPAI_CLI_REFUSED: nobody reads it, or there is no memory.
 */
udpai_cli_exit udpai_cli_print(udpai_strbuf *out);
/* UDPAI_CLI_MISTAKE: no table had the column of --sort-by; then nothing is printed. */
udpai_cli_exit udpai_cli_print_tables(udpai_cli_layout *layout, udpai_strbuf *out);
/* A document of JSON, or what -o jsonpath makes of it; UDPAI_CLI_MISTAKE: it does not go with it.
 */
udpai_cli_exit udpai_cli_print_json(const udpai_cli_options *options, udpai_strbuf *out);

#endif
