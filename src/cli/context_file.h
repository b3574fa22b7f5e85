/* SPDX-License-Identifier: Apache-2.0 */
/* The file that contexts are in: udpa/config.yaml below XDG_CONFIG_HOME, or ~/.config. */
#ifndef UDPAI_CLI_CONTEXT_FILE_H
#define UDPAI_CLI_CONTEXT_FILE_H

#include "cli/contexts.h"

/* To be freed with udpai_free(); NULL: there is no such folder, or no memory. */
char *udpai_cli_context_file_path(void);
/* A file that is not there has none. UDPA_ERR_INVAL: what is wrong with it; UDPA_ERR_IO: it cannot
 * be read. */
udpa_err udpai_cli_context_file_load(const char *path,
                                     udpai_cli_contexts *ret_contexts,
                                     udpa_error **ret_error);
/* Replaces the file in one step; its folder is made if need be. UDPA_ERR_IO: nothing has changed.
 */
udpa_err udpai_cli_context_file_save(const char *path,
                                     const udpai_cli_contexts *contexts,
                                     udpa_error **ret_error);

#endif
