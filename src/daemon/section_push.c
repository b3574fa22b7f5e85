/* SPDX-License-Identifier: Apache-2.0 */
/* The section 'push' of the bootstrap file: changes that wait for others before clients are sent
 * them (docs/design/fanout.md). */
#include "daemon/plan_internal.h"
#include "daemon/sections.h"

#define MAX_MS 10000
#define MAX_FACTOR 10 /* of the default */

typedef Udpa__Config__V1__Push push_message;

/* Is it in the list before this one? */
static bool
has_type(const push_message *push, size_t n, const char *name)
{
    for (size_t i = 0; i < n; i++)
        if (strcmp(udpai_type_without_prefix(push->types[i]), name) == 0)
            return true;
    return false;
}

static void
check_type(const udpai_value *value)
{
    push_message *const *all = value->bootstrap->push;
    const char *name = udpai_type_without_prefix(value->text);
    for (size_t i = 0; i < value->bootstrap->n_push; i++) {
        bool is_itself = all[i] == value->in;
        if (has_type(all[i], is_itself ? value->index : all[i]->n_types, name))
            udpai_value_error(value, "", "type '%s' has an entry already: push[%zu]", name, i);
        if (is_itself)
            return;
    }
}

static const udpai_field push_fields[] = {
    {.name = "types",
     UDPAI_PUBLIC,
     UDPAI_EACH_REQUIRED,
     .word = udpai_type_check,
     .check = check_type},
    {.name = "debounce", UDPAI_REQUIRED, .max = MAX_MS, .bounds = "10 s"},
    {.name = "max", .max = MAX_MS, .bounds = "10 s"},
};

static uint64_t
max_of(const push_message *push)
{
    uint64_t ms = MAX_FACTOR * udpai_duration_ms(push->debounce);
    if (push->max)
        return udpai_duration_ms(push->max);
    return ms < MAX_MS ? ms : MAX_MS;
}

static bool
is_for_all_again(const udpai_value *value)
{
    for (size_t i = 0; i < value->index; i++)
        if (value->bootstrap->push[i]->n_types == 0)
            return true;
    return false;
}

static void
check_push(const udpai_value *value)
{
    const push_message *push = value->message;
    uint64_t debounce_ms = udpai_duration_ms(push->debounce);
    if (push->n_types == 0 && is_for_all_again(value))
        udpai_value_error(value, "",
                          "only one entry may stand for all types: name the types of this one");
    if (push->max && max_of(push) < debounce_ms)
        udpai_value_error(value, "max", "is less than debounce, %gs", (double)debounce_ms / 1000);
}

const udpai_section udpai_section_push = {
    UDPAI_SECTION(push, push_fields),
    .check = check_push,
};

/* ---- use ---- */

/* One for each type, or one for all others. */
static size_t
n_rules_of(const push_message *push)
{
    return push->n_types ? push->n_types : 1;
}

static udpa_err
add_rules(udpai_plan *plan, const push_message *push, udpai_debounce_rule *rules)
{
    const udpai_str *types;
    uint64_t debounce_ms = udpai_duration_ms(push->debounce);
    udpa_err err = udpai_plan_types(plan, push->types, push->n_types, &types);
    for (size_t i = 0; err == UDPA_OK && i < n_rules_of(push); i++)
        rules[i] = (udpai_debounce_rule){
            .type_url = push->n_types ? types[i] : (udpai_str){"", 0},
            .quiet_ms = debounce_ms,
            .max_ms = debounce_ms ? max_of(push) : 0,
        };
    return err;
}

udpa_err
udpai_use_push(udpai_plan *plan, const udpai_options *options, udpa_error **ret_error)
{
    const Udpa__Config__V1__Bootstrap *message = plan->bootstrap.message;
    udpa_err err = UDPA_OK;
    size_t n = 0, n_filled = 0;
    for (size_t i = 0; i < message->n_push; i++)
        n += n_rules_of(message->push[i]);
    UDPAI_AUTO_FREE udpai_debounce_rule *rules = udpai_alloc_array(n + 1, sizeof(*rules));
    if (!rules)
        return udpai_fail_code(ret_error, UDPA_ERR_NOMEM);
    for (size_t i = 0; i < message->n_push && err == UDPA_OK; i++) {
        err = add_rules(plan, message->push[i], rules + n_filled);
        n_filled += n_rules_of(message->push[i]);
    }
    if (err == UDPA_OK && n)
        err = udpai_debounce_rules_new(&plan->settings.debounce, rules, n);
    (void)options;
    return udpai_fail_code(ret_error, err);
}
