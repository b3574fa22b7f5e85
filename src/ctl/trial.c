/* SPDX-License-Identifier: Apache-2.0 */
#include "ctl/trial.h"

#include <inttypes.h>

#include "base/alloc.h"
#include "cli/awaited.h"
#include "cli/names.h"
#include "ctl/publish.h"
#include "model/resource.h"
#include "session/acknowledgement.h"

/* A node answers so many questions at a time; of the others the number of clients is unknown. */
#define QUESTIONS_MAX 1000

static udpai_cli_exit
out_of_memory(void)
{
    udpai_cli_complain("%s", udpa_err_text(UDPA_ERR_NOMEM));
    return UDPAI_CLI_REFUSED;
}

static void
tried_done(udpai_ctl_tried *one)
{
    udpai_free(one->type_url);
    udpai_free(one->name);
    udpai_free(one->effective);
    udpai_free(one->refusal);
}

void
udpai_ctl_trial_done(udpai_ctl_trial *trial)
{
    for (size_t i = 0; i < trial->items.n; i++)
        tried_done(&trial->items.items[i]);
    udpai_vector_done(&trial->items);
}

size_t
udpai_ctl_trial_count(const udpai_ctl_trial *trial, udpa_effect effect)
{
    size_t n = 0;
    for (size_t i = 0; i < trial->items.n; i++)
        n += trial->items.items[i].effect == effect && !trial->items.items[i].refusal;
    return n;
}

/* ---- trying ---- */

typedef struct trying {
    udpai_cli *cli;
    udpai_ctl_trial *trial;
    const udpa_publish_options *options;
    udpai_cli_exit result;
} trying;

static bool
copy(char **ret, const char *text)
{
    *ret = text ? udpai_strdup(text) : NULL;
    return *ret || !text;
}

static bool
add(const trying *self, const udpa_receipt *receipt, size_t index)
{
    const udpa_publish_options *options = self->options;
    const udpa_error *refusal = udpa_receipt_refusal(receipt, index);
    bool is_removal = index >= options->n_resources;
    udpai_ctl_tried one = {
        .effect = udpa_receipt_effect(receipt, index),
        .is_removal = is_removal,
        .n_clients = UDPAI_CTL_CLIENTS_UNKNOWN,
    };
    if (copy(&one.type_url, is_removal ? options->removed_type_url
                                       : udpa_resource_type_url(options->resources[index])) &&
        copy(&one.name, udpa_receipt_name(receipt, index)) &&
        copy(&one.effective, udpa_receipt_effective(receipt, index)) &&
        copy(&one.refusal, refusal ? udpa_error_message(refusal) : NULL) &&
        udpai_vector_push(&self->trial->items, one))
        return true;
    tried_done(&one);
    return false;
}

static bool
is_not_known(const udpa_receipt *receipt)
{
    const udpa_error *refusal = udpa_receipt_refusal(receipt, 0);
    return refusal && udpa_error_code(refusal) == UDPA_ERR_UNIMPLEMENTED;
}

static void
on_receipt(void *userdata, const udpa_receipt *receipt)
{
    trying *self = userdata;
    const udpa_error *error = udpa_receipt_error(receipt);
    if (error && udpa_error_code(error) == UDPA_ERR_CLOSED)
        return; /* nobody waits for it any more */
    udpai_cli_answered(self->cli);
    if (error) {
        udpai_cli_complain_of(error);
        self->result = UDPAI_CLI_TIMED_OUT;
    } else if (is_not_known(receipt)) {
        udpai_cli_complain("%s does not report what would change: it is older than this udpactl, "
                           "or no udpad",
                           udpai_cli_server(self->cli));
        self->trial->is_unknown = true;
        self->result = UDPAI_CLI_REFUSED;
    }
    for (size_t i = 0; self->result == UDPAI_CLI_GOOD && i < udpa_receipt_size(receipt); i++)
        if (!add(self, receipt, i))
            self->result = out_of_memory();
    udpai_cli_finish(self->cli, self->result);
}

static udpai_cli_exit
try_part(udpai_cli *cli, udpai_ctl_trial *trial, udpa_publish_options *options)
{
    UDPA_AUTO(udpa_error_unref) udpa_error *error = NULL;
    trying self = {cli, trial, options, UDPAI_CLI_GOOD};
    options->is_trial = true;
    options->receipt = on_receipt;
    options->userdata = &self;
    options->timeout_ms = 2 * cli->options->receipt_timeout_ms; /* we ourselves give up before */
    if (udpa_publish(cli->endpoint, options, &error) != UDPA_OK) {
        udpai_cli_complain_of(error);
        return UDPAI_CLI_REFUSED;
    }
    udpai_cli_exit result = udpai_cli_wait_receipt(cli);
    if (result != UDPAI_CLI_GOOD)
        udpai_cli_disconnect(cli); /* the receipt must not come any more */
    return result;
}

udpai_cli_exit
udpai_ctl_try_resources(udpai_cli *cli,
                        udpai_ctl_trial *trial,
                        udpa_resource *const *resources,
                        size_t n_resources)
{
    udpai_cli_exit result = UDPAI_CLI_GOOD;
    while (n_resources && result == UDPAI_CLI_GOOD) {
        udpa_publish_options options = UDPA_PUBLISH_OPTIONS_INIT;
        options.resources = resources;
        options.n_resources = udpai_ctl_part_size(resources, n_resources);
        result = try_part(cli, trial, &options);
        resources += options.n_resources;
        n_resources -= options.n_resources;
    }
    return result;
}

udpai_cli_exit
udpai_ctl_try_removals(udpai_cli *cli, udpai_ctl_trial *trial, const udpai_cli_request *request)
{
    udpai_cli_exit result = UDPAI_CLI_GOOD;
    for (size_t i = 0; i < request->names.n && result == UDPAI_CLI_GOOD;
         i += UDPAI_CTL_PART_NAMES) {
        udpa_publish_options options = UDPA_PUBLISH_OPTIONS_INIT;
        options.removed_type_url = request->type_url;
        options.removed_names = (const char *const *)request->names.items + i;
        options.n_removed_names = udpai_min_size(request->names.n - i, UDPAI_CTL_PART_NAMES);
        result = try_part(cli, trial, &options);
    }
    return result;
}

/* ---- for how many clients ---- */

static bool
reaches_clients(const udpai_ctl_tried *one)
{
    return one->effect != UDPA_EFFECT_NOTHING &&
           (one->effect >= UDPA_EFFECT_REMOVES || !one->effective);
}

static udpai_cli_exit
make_questions(const udpai_ctl_trial *trial, udpai_cli_awaited_list *list)
{
    for (size_t i = 0; i < trial->items.n && list->items.n < QUESTIONS_MAX; i++) {
        const udpai_ctl_tried *one = &trial->items.items[i];
        UDPA_AUTO(udpa_error_unref) udpa_error *error = NULL;
        if (!reaches_clients(one))
            continue;
        udpa_err err = udpai_cli_awaited_add(list, one->type_url, one->name, NULL, &error);
        if (err == UDPA_ERR_NOMEM)
            return out_of_memory();
    }
    return UDPAI_CLI_GOOD;
}

static udpai_cli_exit
ask(udpai_cli *cli, const udpai_cli_awaited_list *list, udpai_cli_found *found)
{
    udpai_cli_requests requests = {0};
    udpai_cli_request *request = udpai_cli_requests_of_type(&requests, UDPAI_ACKNOWLEDGEMENT_TYPE);
    udpa_err err = request ? UDPA_OK : UDPA_ERR_NOMEM;
    for (size_t i = 0; i < list->items.n && err == UDPA_OK; i++)
        err = udpai_cli_request_full_name(request, list->items.items[i].question);
    udpai_cli_exit result = err == UDPA_OK ? UDPAI_CLI_GOOD : out_of_memory();
    cli->may_be_denied = cli->is_quiet = true;
    if (result == UDPAI_CLI_GOOD)
        (void)udpai_cli_collect_names(cli, &requests, found);
    cli->may_be_denied = cli->is_quiet = false;
    udpai_cli_requests_done(&requests);
    return result;
}

static udpa_err
take_answers(udpai_cli_awaited_list *list, const udpai_cli_found *found)
{
    UDPAI_AUTO_FREE udpa_resource **answers = udpai_cli_found_sorted(found);
    udpa_err err = answers ? UDPA_OK : UDPA_ERR_NOMEM;
    for (size_t i = 0; i < udpai_cli_found_size(found) && err == UDPA_OK; i++)
        err = udpai_cli_awaited_take(list, answers[i]);
    return err;
}

/* Both are in one order. */
static void
note_clients(udpai_ctl_trial *trial, const udpai_cli_awaited_list *list)
{
    size_t at = 0;
    for (size_t i = 0; i < trial->items.n && at < list->items.n; i++) {
        udpai_ctl_tried *one = &trial->items.items[i];
        const udpai_cli_awaited *awaited = &list->items.items[at];
        if (!reaches_clients(one) || strcmp(one->name, awaited->name) != 0 ||
            strcmp(one->type_url, awaited->type_url) != 0)
            continue;
        if (awaited->status)
            one->n_clients = awaited->status->n_subscribed;
        at++;
    }
}

udpai_cli_exit
udpai_ctl_trial_find_clients(udpai_cli *cli, udpai_ctl_trial *trial)
{
    udpai_cli_awaited_list list = {.node_id = cli->options->node_id};
    udpai_cli_found found;
    udpai_cli_choose_token(list.token);
    udpai_cli_found_begin(&found);
    udpai_cli_exit result = make_questions(trial, &list);
    if (result == UDPAI_CLI_GOOD && list.items.n)
        result = ask(cli, &list, &found);
    if (result == UDPAI_CLI_GOOD && list.items.n && take_answers(&list, &found) != UDPA_OK)
        result = out_of_memory();
    note_clients(trial, &list);
    udpai_cli_found_done(&found);
    udpai_cli_awaited_done(&list);
    return result;
}

/* ---- printing ---- */

static const char *
what_of(const udpai_ctl_tried *one)
{
    static const char *const effects[] = {
        [UDPA_EFFECT_NOTHING] = "would not change",
        [UDPA_EFFECT_ADDS] = "would be added",
        [UDPA_EFFECT_CHANGES] = "would change",
        [UDPA_EFFECT_REMOVES] = "would be removed",
        [UDPA_EFFECT_REMOVES_ON_BEHALF] = "would be removed",
    };
    return effects[one->effect];
}

static void
put_clients(udpai_strbuf *out, const udpai_ctl_tried *one)
{
    if (one->n_clients == UDPAI_CTL_CLIENTS_UNKNOWN)
        return;
    if (one->n_clients == 0)
        udpai_strbuf_puts(out, "; no client subscribes to it");
    else
        udpai_strbuf_printf(out, "; %" PRIu64 " client%s to it", one->n_clients,
                            one->n_clients == 1 ? " subscribes" : "s subscribe");
}

static bool
is_shadowed(const udpai_ctl_tried *one)
{
    return !one->is_removal && one->effective;
}

static void
print_refused(const udpai_ctl_tried *one)
{
    udpai_str kind = udpai_cli_type_short(udpai_str_from(one->type_url));
    udpai_cli_complain("%.*s %s would be rejected: %s%s", UDPAI_SHOWN(kind), one->name,
                       one->refusal,
                       one->effect >= UDPA_EFFECT_REMOVES
                           ? "; and what this node id has published before would be removed"
                           : "");
}

static void
print(const udpai_ctl_tried *one)
{
    udpai_str kind = udpai_cli_type_short(udpai_str_from(one->type_url));
    udpai_strbuf more = {0};
    if (is_shadowed(one))
        udpai_strbuf_printf(&more, ", and be shadowed by the contribution of '%s'", one->effective);
    else if (one->effective)
        udpai_strbuf_printf(&more, ", and '%s' would provide it", one->effective);
    put_clients(&more, one);
    udpai_str text = udpai_strbuf_view(&more);
    udpai_cli_print_line("%.*s %s %s%.*s", UDPAI_SHOWN(kind), one->name, what_of(one),
                         UDPAI_SHOWN(text));
    udpai_strbuf_done(&more);
}

static void
print_sum(const udpai_ctl_trial *trial, size_t n_refused)
{
    uint64_t most = 0;
    bool is_known = true;
    for (size_t i = 0; i < trial->items.n; i++) {
        const udpai_ctl_tried *one = &trial->items.items[i];
        if (!reaches_clients(one))
            continue;
        if (one->n_clients == UDPAI_CTL_CLIENTS_UNKNOWN)
            is_known = false;
        else if (one->n_clients > most)
            most = one->n_clients;
    }
    udpai_cli_print_line("Nothing is changed: %zu would be added, %zu changed, %zu removed, %zu "
                         "would not change, %zu would be rejected",
                         udpai_ctl_trial_count(trial, UDPA_EFFECT_ADDS),
                         udpai_ctl_trial_count(trial, UDPA_EFFECT_CHANGES),
                         udpai_ctl_trial_count(trial, UDPA_EFFECT_REMOVES),
                         udpai_ctl_trial_count(trial, UDPA_EFFECT_NOTHING), n_refused);
    if (is_known)
        udpai_cli_print_line("Up to %" PRIu64 " clients subscribe to one of them", most);
    else
        udpai_cli_note("For how many clients is not known of all: the action ADMIN is needed to "
                       "ask, and at most %d are asked for",
                       QUESTIONS_MAX);
}

udpai_cli_exit
udpai_ctl_trial_print(const udpai_ctl_trial *trial, bool is_whole)
{
    size_t n_refused = 0, n_shadowed = 0;
    for (size_t i = 0; i < trial->items.n; i++) {
        const udpai_ctl_tried *one = &trial->items.items[i];
        n_refused += one->refusal != NULL;
        n_shadowed += !one->refusal && is_shadowed(one);
        if (one->refusal)
            print_refused(one);
        else
            print(one);
    }
    if (is_whole)
        print_sum(trial, n_refused);
    return n_refused || n_shadowed ? UDPAI_CLI_REFUSED : UDPAI_CLI_GOOD;
}
