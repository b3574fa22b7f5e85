/* SPDX-License-Identifier: Apache-2.0 */
/* Runs a fuzz target without a fuzzer: over every file of the directories it is given, so that what
 * was once found is tried again in each run of the tests.
 *
 * Each file is tried whole, then cut at each place and with each byte changed, as far as a budget
 * of runs per file goes. An input is handed over in memory of exactly its size: the sanitizer sees
 * the first byte that is read behind it. A directory without files is a failure. */
#include <dirent.h>
#include <errno.h>
#include <sys/stat.h>

#include "tests/fuzz/fuzz.h"

#define RUNS_PER_FILE 500
#define FILE_MAX_BYTES (1 << 20)

static unsigned n_runs;

static void
run(const uint8_t *data, size_t size)
{
    uint8_t *exact = malloc(size ? size : 1);
    FUZZ_CHECK(exact);
    if (size)
        memcpy(exact, data, size);
    FUZZ_CHECK(LLVMFuzzerTestOneInput(exact, size) == 0);
    free(exact);
    n_runs++;
}

/* Every step-th cut and changed byte, so that the whole file is visited within the budget. */
static void
run_around(uint8_t *data, size_t size)
{
    size_t step = 1 + 2 * size / RUNS_PER_FILE;
    for (size_t cut = 0; cut < size; cut += step)
        run(data, cut);
    for (size_t at = 0; at < size; at += step) {
        uint8_t kept = data[at];
        data[at] = (uint8_t)(kept ^ (1u << at % 8));
        run(data, size);
        data[at] = kept;
    }
}

static bool
run_file(const char *path)
{
    FILE *file = fopen(path, "rb");
    uint8_t *data = malloc(FILE_MAX_BYTES);
    bool good = file && data;
    if (good) {
        size_t size = fread(data, 1, FILE_MAX_BYTES, file);
        good = !ferror(file);
        run(data, size);
        run_around(data, size);
    }
    if (!good)
        fprintf(stderr, "cannot read %s: %s\n", path, strerror(errno));
    free(data);
    if (file)
        fclose(file);
    return good;
}

static bool
is_regular(const char *path)
{
    struct stat info;
    return stat(path, &info) == 0 && S_ISREG(info.st_mode);
}

/* Returns the number of files that were run, -1 after a failure. */
static int
run_directory(const char *path)
{
    DIR *directory = opendir(path);
    if (!directory) {
        fprintf(stderr, "cannot read %s: %s\n", path, strerror(errno));
        return -1;
    }
    int n = 0;
    for (struct dirent *entry; n >= 0 && (entry = readdir(directory));) {
        char file[4096];
        int len = snprintf(file, sizeof(file), "%s/%s", path, entry->d_name);
        if (len < 0 || (size_t)len >= sizeof(file) || !is_regular(file))
            continue;
        n = run_file(file) ? n + 1 : -1;
    }
    closedir(directory);
    return n;
}

int
main(int argc, char **argv)
{
    if (argc < 2) {
        fprintf(stderr, "usage: %s DIRECTORY...\n", argv[0]);
        return 2;
    }
    for (int i = 1; i < argc; i++) {
        int n = run_directory(argv[i]);
        if (n == 0)
            fprintf(stderr, "%s: there is no file to try\n", argv[i]);
        if (n <= 0)
            return 1;
        printf("%s: %d files\n", argv[i], n);
    }
    printf("%u runs\n", n_runs);
    return 0;
}
