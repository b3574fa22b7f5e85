/* SPDX-License-Identifier: Apache-2.0 */
/* Random federations under random faults: many seeds, in some processes side by side. Prints how
 * often everything happened, and fails if anything never did. */
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/log.h"
#include "federation.h"

#define USAGE                                                                                      \
    "sim_federation [--seeds A-B | --fresh N] [--seconds N] [--jobs N] [--large] [--trace] "       \
    "[--log]"
#define JOBS_MAX 64

struct options {
    uint64_t first, last;
    uint64_t seconds; /* of a processor; then no seed is begun beyond SEEDS_FOR_ALL; 0: all are */
    uint64_t jobs;
    uint64_t n_fresh; /* so many that were not run before, instead of these; 0: these */
    sim_options run;
    bool logs; /* what nobody reads is not even made, so a seed may run otherwise */
};

/* What a process has done; others can see it, also when it has died. */
struct job {
    uint64_t seed; /* that it is at; 0: it has done all */
    uint64_t n_seeds;
    uint64_t counts[SIM_COUNTS];
};

/* What processes have in common. */
struct shared {
    _Atomic uint64_t next; /* the seed that nobody has taken yet */
    struct job jobs[JOBS_MAX];
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

/* A few seeds may well miss something. */
#define SEEDS_FOR_ALL 24

/* A slow machine takes longer to see that everything happens: it does not see less. */
static bool
is_time_up(const struct shared *shared, const struct options *options, uint64_t begin)
{
    return options->seconds && seconds_used() - begin >= options->seconds &&
           (options->n_fresh || options->run.large ||
            atomic_load(&shared->next) >= options->first + SEEDS_FOR_ALL);
}

/* Whoever is ready takes the next one: some take fifty times as long as others. */
static void
run_seeds(struct shared *shared, struct job *job, const struct options *options)
{
    uint64_t begin = seconds_used(), seed;
    own_job = job;
    if (atexit(at_end) || signal(SIGABRT, on_abort) == SIG_ERR)
        exit(EXIT_FAILURE);
    while (!is_time_up(shared, options, begin) &&
           (seed = atomic_fetch_add(&shared->next, 1)) <= options->last) {
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
run_jobs(struct shared *shared, const struct options *options)
{
    pid_t children[JOBS_MAX];
    for (uint64_t i = 0; i < options->jobs; i++) {
        children[i] = fork();
        if (children[i] < 0)
            return false;
        if (children[i] == 0) {
            run_seeds(shared, &shared->jobs[i], options);
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

static int
report(const struct job *job, const struct options *options)
{
    int result = EXIT_SUCCESS;
    for (int i = 0; i < SIM_COUNTS; i++) {
        printf("%-32s %llu\n", sim_count_names[i], (unsigned long long)job->counts[i]);
        if (job->counts[i] || job->n_seeds < SEEDS_FOR_ALL || options->run.large)
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
    if (strcmp(name, "--fresh") == 0)
        return read_number(argument, &options->n_fresh);
    if (strcmp(name, "--jobs") == 0)
        return read_number(argument, &options->jobs) && options->jobs <= JOBS_MAX;
    *ret_takes = false;
    if (strcmp(name, "--large") == 0)
        options->run.large = true;
    else if (strcmp(name, "--trace") == 0)
        options->run.trace = true;
    else if (strcmp(name, "--log") == 0)
        options->logs = true;
    else
        return false;
    return true;
}

/* Others each time; which ones is said, so that one can be seen again. The first is no large one,
 * which would take all the time that there is. */
static void
choose_fresh(struct options *options)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    options->first = 1000001 + (uint64_t)now.tv_sec % 1000000 * 1000;
    options->last = options->first + options->n_fresh - 1;
    printf("fresh seeds from %llu\n", (unsigned long long)options->first);
    (void)fflush(stdout);
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
    if (options.logs)
        udpa_log_set_sink(UDPA_LOG_DEBUG, to_stderr, NULL);
    struct shared *shared =
        mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED)
        return EXIT_FAILURE;
    if (options.n_fresh)
        choose_fresh(&options);
    atomic_init(&shared->next, options.first);
    if (options.jobs == 1)
        run_seeds(shared, &shared->jobs[0], &options);
    else if (!run_jobs(shared, &options))
        return EXIT_FAILURE;
    sum_up(shared->jobs, options.jobs);
    return report(&shared->jobs[0], &options);
}
