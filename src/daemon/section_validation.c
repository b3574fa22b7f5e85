/* SPDX-License-Identifier: Apache-2.0 */
/* The section 'validation' of the bootstrap file: what is looked at before it is taken in. */
#include "base/alloc.h"
#include "daemon/plan_internal.h"
#include "daemon/sections.h"

typedef Udpa__Config__V1__Validation__Check check_kind;

static void
check_kind_of_check(const udpai_value *value)
{
    const char *absent = udpai_rules_absent();
    if (value->number == UDPA__CONFIG__V1__VALIDATION__CHECK__RULES && absent)
        udpai_value_error(value, "", "RULES: %s", absent);
}

static const udpai_field type_fields[] = {
    {.name = "types", UDPAI_PUBLIC, UDPAI_REQUIRED, UDPAI_EACH_REQUIRED, .word = udpai_type_check},
    {.name = "checks", .check = check_kind_of_check},
};

static const udpai_section type_validation = {UDPAI_SECTION(type_validation, type_fields)};

static const udpai_field fields[] = {
    {.name = "checks", .check = check_kind_of_check},
    {.name = "refuse_unknown_types"},
    {.name = "types", .of = &type_validation},
};

const udpai_section udpai_section_validation = {UDPAI_SECTION(validation, fields)};

/* ---- use ---- */

/* Bits of a list; any of them includes that the payload can be parsed. */
static unsigned
take_checks(const check_kind *from, size_t n)
{
    unsigned checks = 0;
    for (size_t i = 0; i < n; i++) {
        checks |= UDPAI_CHECK_PARSE;
        if (from[i] == UDPA__CONFIG__V1__VALIDATION__CHECK__UNKNOWN_FIELDS)
            checks |= UDPAI_CHECK_UNKNOWN_FIELDS;
        if (from[i] == UDPA__CONFIG__V1__VALIDATION__CHECK__RULES)
            checks |= UDPAI_CHECK_RULES;
        if (from[i] == UDPA__CONFIG__V1__VALIDATION__CHECK__DEPRECATED)
            checks |= UDPAI_CHECK_DEPRECATED;
    }
    return checks;
}

static void
note_deprecated(udpai_plan *plan, unsigned checks)
{
    if (checks & UDPAI_CHECK_DEPRECATED)
        plan->looks_for_deprecated = true;
}

static size_t
count_types(const Udpa__Config__V1__Validation *from)
{
    size_t n = 0;
    for (size_t i = 0; i < from->n_types; i++)
        n += from->types[i]->n_types;
    return n;
}

static udpa_err
take_types(udpai_plan *plan, const Udpa__Config__V1__Validation *from)
{
    udpai_type_policy *all =
        udpai_plan_own(plan, udpai_alloc_array(count_types(from) + 1, sizeof(*all)));
    if (!all)
        return UDPA_ERR_NOMEM;
    for (size_t i = 0; i < from->n_types; i++) {
        const Udpa__Config__V1__TypeValidation *of = from->types[i];
        udpai_validation validation = {.checks = take_checks(of->checks, of->n_checks)};
        validation.refuse_unknown_types = validation.checks && from->refuse_unknown_types;
        for (size_t k = 0; k < of->n_types; k++)
            all[plan->policy.n_types++] =
                (udpai_type_policy){udpai_str_from(of->types[k]), validation};
        plan->validates = plan->validates || validation.checks;
        note_deprecated(plan, validation.checks);
    }
    plan->policy.types = all;
    return UDPA_OK;
}

udpa_err
udpai_use_validation(udpai_plan *plan, const udpai_options *options, udpa_error **ret_error)
{
    const Udpa__Config__V1__Validation *from = plan->bootstrap.message->validation;
    if (!from)
        return UDPA_OK;
    plan->policy.others.checks = take_checks(from->checks, from->n_checks);
    plan->policy.others.refuse_unknown_types = from->refuse_unknown_types;
    plan->validates = plan->policy.others.checks || from->refuse_unknown_types;
    note_deprecated(plan, plan->policy.others.checks);
    return take_types(plan, from);
}
