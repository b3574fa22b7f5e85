/* SPDX-License-Identifier: Apache-2.0 */
/* A backend that reports its load to load balancers by ORCA: here the load is typed, one line for
 * each state. */

/* Try it:
 *
 *     cc orca.c -o orca $(pkg-config --cflags --libs udpa)
 *     ./orca 127.0.0.1:0
 *     cpu=0.5 memory=0.25 application=0.4 rps=120.5 eps=0.5 utilization.gpu=0.3 cost.db=2 queue=7
 *
 * Any other name is a metric of the application's own. An empty line says that nothing is known any
 * more. What may not be said is answered with the reason. The end of the input ends it. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <uv.h>

#include <udpa/orca.h>

#define VALUES_MAX 16
#define TEXT_MAX 4096

/* Where a line's values go; the names stay where they were read. */
struct state {
    udpa_orca_metrics metrics;
    udpa_orca_value utilizations[VALUES_MAX], costs[VALUES_MAX], others[VALUES_MAX];
};

static void
add(udpa_orca_value *values, size_t *n, const char *name, double value)
{
    if (*n < VALUES_MAX)
        values[(*n)++] = (udpa_orca_value){name, value};
}

static void
note(struct state *state, const char *name, double value)
{
    udpa_orca_metrics *metrics = &state->metrics;
    if (strcmp(name, "cpu") == 0)
        metrics->cpu_utilization = value;
    else if (strcmp(name, "memory") == 0)
        metrics->mem_utilization = value;
    else if (strcmp(name, "application") == 0)
        metrics->application_utilization = value;
    else if (strcmp(name, "rps") == 0)
        metrics->rps = value;
    else if (strcmp(name, "eps") == 0)
        metrics->eps = value;
    else if (strncmp(name, "utilization.", 12) == 0)
        add(state->utilizations, &metrics->n_utilizations, name + 12, value);
    else if (strncmp(name, "cost.", 5) == 0)
        add(state->costs, &metrics->n_request_costs, name + 5, value);
    else
        add(state->others, &metrics->n_named_metrics, name, value);
}

static void
set(udpa_endpoint *endpoint, const char *line)
{
    struct state state = {.metrics = UDPA_ORCA_METRICS_INIT};
    char names[TEXT_MAX], *name = names;
    double value;
    int len, any = 0;
    udpa_error *error = NULL;
    for (; sscanf(line, " %63[^= \n]=%lf%n", name, &value, &len) == 2; line += len, any = 1) {
        note(&state, name, value);
        name += strlen(name) + 1;
    }
    state.metrics.utilizations = state.utilizations;
    state.metrics.request_costs = state.costs;
    state.metrics.named_metrics = state.others;
    if (udpa_orca_set(endpoint, any ? &state.metrics : NULL, &error) != UDPA_OK)
        printf("refused: %s\n", udpa_error_message(error));
    else
        printf("%s\n", any ? "set" : "nothing is known");
    fflush(stdout);
    udpa_error_unref(error);
}

/* Terminals and pipes hand over whole lines. */
static void
on_input(uv_poll_t *input, int status, int events)
{
    char text[TEXT_MAX], *line = text, *end;
    ssize_t size = status == 0 ? read(STDIN_FILENO, text, sizeof(text) - 1) : 0;
    (void)events;
    if (size <= 0) {
        udpa_endpoint_close(input->data, NULL, NULL);
        uv_close((uv_handle_t *)input, NULL); /* the loop ends when nothing is left on it */
        return;
    }
    for (text[size] = '\0'; (end = strchr(line, '\n')); line = end + 1) {
        *end = '\0';
        set(input->data, line);
    }
}

int
main(int argc, char **argv)
{
    udpa_endpoint *endpoint;
    udpa_endpoint_options options = UDPA_ENDPOINT_OPTIONS_INIT;
    udpa_error *error = NULL;
    uv_poll_t input;
    if (argc != 2) {
        fprintf(stderr, "usage: orca ADDRESS:PORT\n");
        return 2;
    }
    options.node_id = "orca-example";
    options.listen_address = argv[1];
    if (udpa_endpoint_new(&endpoint, uv_default_loop(), &options, &error) != UDPA_OK) {
        fprintf(stderr, "orca: %s\n", udpa_error_message(error));
        udpa_error_unref(error);
        return 1;
    }
    printf("listening on 127.0.0.1:%d\n", udpa_endpoint_port(endpoint));
    fflush(stdout);
    uv_poll_init(uv_default_loop(), &input, STDIN_FILENO);
    input.data = endpoint;
    uv_poll_start(&input, UV_READABLE, on_input);
    uv_run(uv_default_loop(), UV_RUN_DEFAULT);
    return 0;
}
