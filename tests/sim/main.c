/* SPDX-License-Identifier: Apache-2.0 */
/* Random federations under random faults: many seeds, in some processes side by side. Prints how
 * often everything happened, and fails if anything never did. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/log.h"
#include "federation.h"

#define USAGE "sim_federation [--seeds A-B] [--seconds N] [--jobs N] [--large] [--trace]"
#define JOBS_MAX 64

struct options {
    uint64_t first, last;
    uint64_t seconds; /* no seed is begun after so many of a processor; 0: all are */
    uint64_t jobs;
    sim_options run;
};

/* What a process has done; others can see it, also when it has died. */
struct job {
    uint64_t seed; /* that it is at; 0: it has done all */
    uint64_t n_seeds;
    uint64_t counts[SIM_COUNTS];
};

static struct job *own_job;

/* ---- seeds ---- */

static void
say_seed(const struct job *job)
{
    if (job->seed)
        fprintf(stderr, "seed %llu has failed; to see it again: make sim SEED=%llu\n",
                (unsigned long long)job->seed, (unsigned long long)job->seed);
}

static void
at_end(void)
{
    say_seed(own_job);
}

/* Nothing but this is left to do: what the standard says of signal handlers does not matter. */
static void
on_abort(int signal_number)
{
    (void)signal_number;
    say_seed(own_job);
}

static uint64_t
seconds_used(void)
{
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (uint64_t)now.tv_sec;
}

static void
run_seeds(struct job *job, uint64_t number, const struct options *options)
{
    uint64_t begin = seconds_used();
    own_job = job;
    if (atexit(at_end) || signal(SIGABRT, on_abort) == SIG_ERR)
        exit(EXIT_FAILURE);
    for (uint64_t seed = options->first + number; seed <= options->last; seed += options->jobs) {
        if (options->seconds && seconds_used() - begin >= options->seconds)
            break;
        job->seed = seed;
        sim_run(seed, &options->run, job->counts);
        job->n_seeds++;
    }
    job->seed = 0;
}

/* ---- processes ---- */

/* False: one has failed. */
static bool
wait_for(size_t n)
{
    int status;
    while (n-- > 0)
        if (wait(&status) < 0 || status != 0)
            return false;
    return true;
}

static bool
run_jobs(struct job *jobs, const struct options *options)
{
    pid_t children[JOBS_MAX];
    for (uint64_t i = 0; i < options->jobs; i++) {
        children[i] = fork();
        if (children[i] < 0)
            return false;
        if (children[i] == 0) {
            run_seeds(&jobs[i], i, options);
            exit(EXIT_SUCCESS);
        }
    }
    bool passed = wait_for(options->jobs);
    for (uint64_t i = 0; i < options->jobs && !passed; i++)
        kill(children[i], SIGKILL);
    return passed;
}

/* ---- what has come of it ---- */

static void
sum_up(struct job *jobs, uint64_t n)
{
    for (uint64_t i = 1; i < n; i++) {
        jobs[0].n_seeds += jobs[i].n_seeds;
        for (int k = 0; k < SIM_COUNTS; k++)
            jobs[0].counts[k] += jobs[i].counts[k];
    }
}

/* A few seeds may well miss something. */
#define SEEDS_FOR_ALL 60

static int
report(const struct job *job, bool is_large)
{
    int result = EXIT_SUCCESS;
    for (int i = 0; i < SIM_COUNTS; i++) {
        printf("%-32s %llu\n", sim_count_names[i], (unsigned long long)job->counts[i]);
        if (job->counts[i] || job->n_seeds < SEEDS_FOR_ALL || is_large)
            continue;
        fprintf(stderr, "FAIL: never happened: %s\n", sim_count_names[i]);
        result = EXIT_FAILURE;
    }
    printf("%llu seeds\n", (unsigned long long)job->n_seeds);
    return result;
}

/* ---- options ---- */

static void
to_stderr(udpa_log_level level, const char *component, const char *message, void *userdata)
{
    (void)userdata;
    fprintf(stderr, "%s %s: %s\n", udpa_log_level_name(level), component, message);
}

static bool
read_number(const char *text, uint64_t *ret_number)
{
    char *end;
    *ret_number = text ? strtoull(text, &end, 10) : 0;
    return text && *end == '\0' && *ret_number > 0;
}

static bool
read_seeds(const char *text, uint64_t *ret_first, uint64_t *ret_last)
{
    char *end;
    *ret_first = *ret_last = text ? strtoull(text, &end, 10) : 0;
    if (text && *end == '-')
        *ret_last = strtoull(end + 1, &end, 10);
    return text && *end == '\0' && *ret_first > 0 && *ret_first <= *ret_last;
}

/* With the argument that may belong to it; NULL: there is none. */
static bool
read_option(struct options *options, const char *name, const char *argument, bool *ret_takes)
{
    *ret_takes = true;
    if (strcmp(name, "--seeds") == 0)
        return read_seeds(argument, &options->first, &options->last);
    if (strcmp(name, "--seconds") == 0)
        return read_number(argument, &options->seconds);
    if (strcmp(name, "--jobs") == 0)
        return read_number(argument, &options->jobs) && options->jobs <= JOBS_MAX;
    *ret_takes = false;
    if (strcmp(name, "--large") == 0)
        options->run.large = true;
    else if (strcmp(name, "--trace") == 0)
        options->run.trace = true;
    else
        return false;
    return true;
}

int
main(int argc, char **argv)
{
    struct options options = {.first = 1, .last = 60, .jobs = 1};
    bool takes;
    for (int i = 1; i < argc; i += 1 + takes) {
        if (!read_option(&options, argv[i], argv[i + 1], &takes)) {
            fprintf(stderr, "usage: %s\n", USAGE);
            return EXIT_FAILURE;
        }
    }
    if (options.run.trace)
        udpa_log_set_sink(UDPA_LOG_DEBUG, to_stderr, NULL);
    struct job *jobs = mmap(NULL, options.jobs * sizeof(*jobs), PROT_READ | PROT_WRITE,
                            MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (jobs == MAP_FAILED)
        return EXIT_FAILURE;
    if (options.jobs == 1)
        run_seeds(&jobs[0], 0, &options);
    else if (!run_jobs(jobs, &options))
        return EXIT_FAILURE;
    sum_up(jobs, options.jobs);
    return report(&jobs[0], options.run.large);
}
