/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/process_facts.h"

#include <dirent.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <time.h>
#include <unistd.h>

/* Reads the beginning of a file, and ends it with a NUL. */
static bool
read_file(const char *path, char *room, size_t size)
{
    FILE *file = fopen(path, "re");
    if (!file)
        return false;
    size_t n = fread(room, 1, size - 1, file);
    room[n] = '\0';
    (void)fclose(file);
    return n > 0;
}

static double boot_seconds;

static double
seconds_of(clockid_t clock)
{
    struct timespec now = {0};
    (void)clock_gettime(clock, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static void
find_boot_time(void)
{
    boot_seconds = seconds_of(CLOCK_REALTIME) - seconds_of(CLOCK_BOOTTIME);
}

/* When the machine has started, in seconds since 1970; always the same, for who looks whether a
 * process has begun anew. A service may have a /proc with nothing but processes. */
static double
boot_time(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    (void)pthread_once(&once, find_boot_time);
    return boot_seconds;
}

/* Newer kernels have the number as the size of the folder. */
static uint64_t
count_fds(int pid)
{
    char path[64];
    struct stat facts;
    uint64_t n = 0;
    snprintf(path, sizeof(path), "/proc/%d/fd", pid);
    if (stat(path, &facts) == 0 && facts.st_size > 0)
        return (uint64_t)facts.st_size;
    DIR *folder = opendir(path);
    const struct dirent *entry;
    while (folder && (entry = readdir(folder)))
        n += entry->d_name[0] != '.';
    if (folder)
        (void)closedir(folder);
    return n;
}

/* What is behind the name of the program, which may hold anything: proc(5). */
static bool
read_numbers(const char *text, udpai_process_facts *ret_facts)
{
    uint64_t user, system, start, pages;
    double per_second = (double)sysconf(_SC_CLK_TCK);
    const char *end = strrchr(text, ')');
    int n = end ? sscanf(end + 1,
                         " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %" SCNu64 " %" SCNu64
                         " %*d %*d %*d %*d %" SCNu64 " %*d %" SCNu64 " %" SCNu64 " %" SCNu64,
                         &user, &system, &ret_facts->n_threads, &start, &ret_facts->virtual_bytes,
                         &pages)
                : 0;
    if (n != 6)
        return false;
    ret_facts->cpu_seconds = (double)(user + system) / per_second;
    ret_facts->start_seconds = (double)start / per_second;
    ret_facts->resident_bytes = pages * (uint64_t)sysconf(_SC_PAGESIZE);
    return true;
}

bool
udpai_process_facts_read(int pid, udpai_process_facts *ret_facts)
{
    char path[64], text[1024];
    udpai_process_facts facts = {0};
    snprintf(path, sizeof(path), "/proc/%d/stat", pid);
    if (!read_file(path, text, sizeof(text)) || !read_numbers(text, &facts))
        return false;
    facts.start_seconds += boot_time();
    facts.n_fds = count_fds(pid);
    *ret_facts = facts;
    return true;
}

uint64_t
udpai_process_max_fds(void)
{
    struct rlimit limit;
    bool is_known = getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY;
    return is_known ? limit.rlim_cur : 0;
}

bool
udpai_disk_facts_read(const char *path, uint64_t *ret_size_bytes, uint64_t *ret_free_bytes)
{
    struct statvfs facts;
    if (statvfs(path, &facts) != 0)
        return false;
    *ret_size_bytes = (uint64_t)facts.f_blocks * facts.f_frsize;
    *ret_free_bytes = (uint64_t)facts.f_bavail * facts.f_frsize;
    return true;
}
