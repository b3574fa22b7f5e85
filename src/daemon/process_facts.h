/* SPDX-License-Identifier: Apache-2.0 */
/* What a process takes of its machine, as /proc has it, and what is left of a file system. */
#ifndef UDPAI_PROCESS_FACTS_H
#define UDPAI_PROCESS_FACTS_H

#include <stdbool.h>
#include <stdint.h>

typedef struct udpai_process_facts {
    double cpu_seconds;   /* of user and system */
    double start_seconds; /* since 1970 */
    uint64_t resident_bytes, virtual_bytes, n_threads;
    uint64_t n_fds; /* 0: that may not be read */
} udpai_process_facts;

/* Of this process number. False: there is none, or no /proc. */
bool udpai_process_facts_read(int pid, udpai_process_facts *ret_facts);
/* How many descriptors this process may have; 0: there is no limit. */
uint64_t udpai_process_max_fds(void);
/* Of the file system that has this path: its size, and what this process may still write to it.
 * False: it cannot be read; then neither is set. */
bool udpai_disk_facts_read(const char *path, uint64_t *ret_size_bytes, uint64_t *ret_free_bytes);

#endif
