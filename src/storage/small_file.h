/* SPDX-License-Identifier: Apache-2.0 */
/* Files of a line in a state directory, each written as a whole or not at all. */
#ifndef UDPAI_SMALL_FILE_H
#define UDPAI_SMALL_FILE_H

#include <sys/types.h>

#include "base/util.h"

#define UDPAI_SMALL_FILE_MAX 512

/* As a text. -1, and errno: ENOENT: it is not there. */
ssize_t udpai_small_file_read(const char *directory,
                              const char *name,
                              char ret_text[UDPAI_SMALL_FILE_MAX + 1]);
/* In the place of the one before, and on the disk. False, and errno. */
bool udpai_small_file_write(const char *directory, const char *name, udpai_str text);
/* Also if it is not there. False, and errno. */
bool udpai_small_file_remove(const char *directory, const char *name);

#endif
