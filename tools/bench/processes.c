/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/bench/processes.h"

#include <inttypes.h>
#include <stdio.h>
#include <time.h>

static double
cpu_ms(clockid_t clock)
{
    struct timespec used;
    if (clock_gettime(clock, &used) != 0)
        return 0;
    return (double)used.tv_sec * 1e3 + (double)used.tv_nsec / 1e6;
}

double
udpai_processes_cpu_ms(const int *processes, size_t n)
{
    double sum = 0;
    clockid_t clock;
    for (size_t i = 0; i < n; i++)
        if (clock_getcpuclockid(processes[i], &clock) == 0)
            sum += cpu_ms(clock);
    return sum;
}

double
udpai_own_cpu_ms(void)
{
    return cpu_ms(CLOCK_PROCESS_CPUTIME_ID);
}

static uint64_t
memory_kb(int process)
{
    char line[256];
    uint64_t kb = 0;
    snprintf(line, sizeof(line), "/proc/%d/status", process);
    FILE *file = fopen(line, "re");
    while (file && fgets(line, sizeof(line), file))
        if (sscanf(line, "VmRSS: %" SCNu64, &kb) == 1)
            break;
    if (file)
        fclose(file);
    return kb;
}

uint64_t
udpai_processes_memory_kb(const int *processes, size_t n)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += memory_kb(processes[i]);
    return sum;
}
