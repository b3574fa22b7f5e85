/* SPDX-License-Identifier: Apache-2.0 */
/* What processes have used. */
#ifndef UDPAI_BENCH_PROCESSES_H
#define UDPAI_BENCH_PROCESSES_H

#include <stddef.h>
#include <stdint.h>

/* CPU time of all of these, user and system, in milliseconds; 0 of one that is none. */
double udpai_processes_cpu_ms(const int *processes, size_t n);
/* Of this one. */
double udpai_own_cpu_ms(void);
/* Memory in RAM of all of these. */
uint64_t udpai_processes_memory_kb(const int *processes, size_t n);

#endif
