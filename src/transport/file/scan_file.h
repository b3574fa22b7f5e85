/* SPDX-License-Identifier: Apache-2.0 */
/* One file of a scan: is it another than before, and what does it hold now? Part of the scan, for
 * scan.c alone. */
#ifndef UDPAI_SCAN_FILE_H
#define UDPAI_SCAN_FILE_H

#include "transport/file/scan.h"

/* The least ttl of what a directory has. */
#define UDPAI_FILE_TTL_MIN_MS 1000

/* NULL without memory. */
udpai_scanned_file *
udpai_scanned_file_new(const udpai_file_rules *rules, const char *name, uint64_t id);
void udpai_scanned_file_free(udpai_scanned_file *file);

/* Reads it if it may have changed. What cannot be taken becomes the file's error. */
void udpai_scanned_file_look(udpai_file_scan *scan, int dir_fd, udpai_scanned_file *file);

/* Was it refused for lack of room that there is now? */
bool udpai_scanned_file_has_room(const udpai_file_scan *scan, const udpai_scanned_file *file);

#endif
