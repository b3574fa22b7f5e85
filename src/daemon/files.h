/* SPDX-License-Identifier: Apache-2.0 */
/* The files and directories that a start would use: are they there, and what they should be?
 * Nothing is locked or kept open, and nothing is left. */
#ifndef UDPAI_DAEMON_FILES_H
#define UDPAI_DAEMON_FILES_H

#include "daemon/fields.h"
#include "transport/tls_files.h"

/* "; relative paths begin in …" for a relative path where nothing is found, else "". */
#define UDPAI_WHERE_MAX 4200
const char *udpai_files_where(char room[UDPAI_WHERE_MAX], const char *path);

/* Of a field beside or in a value; without a path, of an option, which @p field is then. Names
 * where relative paths begin. */
void udpai_file_error(const udpai_value *value,
                      const char *field,
                      const char *file,
                      const char *format,
                      ...) UDPA_PRINTF(4, 5);

/* The files that a "tls" names; those of no name are left out. */
void
udpai_tls_check_files(const udpai_value *tls, const char *ca_field, const udpai_tls_paths *files);

/* The text is the name of a file that lines can be added to, or that can be made. */
void udpai_output_file_check(const udpai_value *value);

bool udpai_directory_is_read(const char *directory);
/* The text is the name of a directory that is read. */
void udpai_directory_check_files(const udpai_value *value);
void udpai_directory_check_option(udpai_diagnostics *diagnostics,
                                  const char *option,
                                  const char *directory);
/* A directory that is written, or can be made: in it, or where it would be made, an empty directory
 * is made and removed. */
void udpai_state_check(const udpai_value *value, const char *option, const char *directory);

#endif
