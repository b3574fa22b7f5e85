/* SPDX-License-Identifier: Apache-2.0 */
/* The section 'orca_collections' of the bootstrap file: backends that are asked how loaded they
 * are, and how they may be reached. Certificates are read with each attempt, so new ones need no
 * reload. */
#include <inttypes.h>
#include <stdio.h>

#include "base/log.h"
#include "daemon/plan_internal.h"
#include "daemon/sections.h"
#include "endpoint/exposure.h"

#define DEFAULT_MAX 1000
#define BACKENDS_MAX 10000
#define ADDRESS_ROOM 300

typedef Udpa__Config__V1__OrcaCollections section_message;
typedef Udpa__Config__V1__Credential credential_message;

static const udpai_field fields[] = {
    {.name = "authorities",
     UDPAI_PUBLIC,
     .none = "is required: whose resources shall name backends to ask? \"*\" is every authority's",
     UDPAI_NOT_EMPTY},
    {.name = "namespaces", UDPAI_PUBLIC, UDPAI_PREFIXES},
    {.name = "credentials", .of = &udpai_section_credential},
    {.name = "max_backends", .max = BACKENDS_MAX, .bounds = "are too many"},
};

static void
check_orca(const udpai_value *value)
{
    const char *absent = udpai_orca_absent();
    if (absent)
        udpai_value_error(value, "", "%s", absent);
}

const udpai_section udpai_section_orca = {UDPAI_SECTION(orca_collections, fields),
                                          .check = check_orca};

static const section_message *
section(const udpai_plan *plan)
{
    return plan->bootstrap.message->orca_collections;
}

static udpa_err
find_credential(const udpai_plan *plan,
                udpai_str name,
                const credential_message **ret_credential,
                udpa_error **ret_error)
{
    const section_message *all = section(plan);
    *ret_credential = NULL;
    for (size_t i = 0; i < all->n_credentials && name.len; i++)
        if (udpai_str_eq(udpai_str_from(all->credentials[i]->name), name))
            *ret_credential = all->credentials[i];
    if (*ret_credential || name.len == 0)
        return UDPA_OK;
    return udpai_fail(ret_error, UDPA_ERR_INVAL,
                      "there is no credential '%.*s' among this node's "
                      "orca_collections.credentials",
                      UDPAI_SHOWN(name));
}

static udpa_err
write_address(const udpai_orca_backend *backend, char room[ADDRESS_ROOM], udpa_error **ret_error)
{
    bool is_v6 = memchr(backend->address.data, ':', backend->address.len) != NULL;
    snprintf(room, ADDRESS_ROOM, is_v6 ? "[%.*s]:%" PRIu32 : "%.*s:%" PRIu32,
             (int)backend->address.len, backend->address.data, backend->port);
    return udpai_dial_address_check(room, ret_error);
}

static udpa_err
find_way(const udpai_plan *plan,
         const udpai_orca_backend *backend,
         udpai_str credential,
         const credential_message **ret_credential,
         udpa_error **ret_error)
{
    char address[ADDRESS_ROOM];
    udpa_err err = write_address(backend, address, ret_error);
    if (err == UDPA_OK)
        err = find_credential(plan, credential, ret_credential, ret_error);
    if (err != UDPA_OK || *ret_credential || udpai_exposure_is_loopback(address))
        return err;
    return udpai_fail(ret_error, UDPA_ERR_INVAL,
                      "'%s' is beyond loopback, and without a credential the peer of this node "
                      "would not be verified: name one",
                      address);
}

static udpa_err
on_check(void *userdata,
         const udpai_orca_backend *backend,
         udpai_str credential,
         udpa_error **ret_error)
{
    const credential_message *found;
    return find_way(userdata, backend, credential, &found, ret_error);
}

static udpa_err
on_make_target(void *userdata,
               const udpai_orca_backend *backend,
               udpai_str credential,
               void **ret_target,
               udpa_error **ret_error)
{
    const credential_message *found;
    char address[ADDRESS_ROOM];
    udpa_err err = find_way(userdata, backend, credential, &found, ret_error);
    if (err == UDPA_OK)
        err = write_address(backend, address, ret_error);
    if (err != UDPA_OK)
        return err;
    udpai_orca_question *question = udpai_orca_question_new(backend);
    if (!question)
        return udpai_fail_code(ret_error, UDPA_ERR_NOMEM);
    const udpai_grpc_target_options how = {
        .method = {UDPAI_ORCA_PATH, udpai_orca_collect_session_new, question},
        .release_context = udpai_orca_question_drop,
    };
    return udpai_plan_target(ret_target, address, found ? found->tls : NULL, &how, ret_error);
}

udpa_err
udpai_use_orca(udpai_plan *plan, const udpai_options *options, udpa_error **ret_error)
{
    const section_message *from = section(plan);
    udpai_orca_rules *to = &plan->settings.orca;
    if (!from)
        return UDPA_OK;
    *to = (udpai_orca_rules){
        .n_authorities = from->n_authorities,
        .n_prefixes = from->n_namespaces,
        .max_backends = from->max_backends ? from->max_backends : DEFAULT_MAX,
        .reach = {on_check, on_make_target, udpai_grpc_target_drop, plan},
    };
    udpa_err err = udpai_plan_words(plan, from->authorities, from->n_authorities, &to->authorities);
    return err == UDPA_OK
               ? udpai_plan_words(plan, from->namespaces, from->n_namespaces, &to->prefixes)
               : err;
}
