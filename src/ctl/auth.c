/* SPDX-License-Identifier: Apache-2.0 */
/* auth can-i: what the node's rules say of a peer. */
#include <stdio.h>

#include "base/alloc.h"
#include "ctl/collect.h"
#include "ctl/commands.h"
#include "ctl/names.h"
#include "model/type_url.h"
#include "session/access_question.h"
#include "udpa/status/v1/status.pb-c.h"

typedef Udpa__Status__V1__AccessStatus answer_message;

static const char usage[] = "write 'udpactl auth can-i PEER publish|subscribe|admin TYPE NAME "
                            "[AUTHORITY]'; PEER is a name in a certificate";

/* The name that asks; NULL: it was told what is wrong. */
static char *
compose(const udpai_ctl_common *options, char **ret_type, udpai_ctl_exit *ret_result)
{
    const char *const *words = options->arguments.items;
    UDPA_AUTO(udpa_error_unref) udpa_error *error = NULL;
    char *name = NULL, *full = NULL;
    *ret_result = UDPAI_CTL_MISTAKE;
    if (options->arguments.n < 5 || options->arguments.n > 6 || strcmp(words[0], "can-i") != 0 ||
        !udpai_access_action(udpai_str_from(words[2]))) {
        udpai_ctl_complain("%s", usage);
        return NULL;
    }
    if (udpai_ctl_type_url(words[3], ret_type, &error) != UDPA_OK) {
        udpai_ctl_complain_of(error);
        return NULL;
    }
    full = udpai_ctl_full_name(words[4], options->name_space ? options->name_space : "local");
    const udpai_access_question question = {
        .action = udpai_access_action(udpai_str_from(words[2])),
        .type_name = udpai_type_url_name(udpai_str_from(*ret_type)),
        .peer = udpai_str_from(words[1]),
        .authority = udpai_str_from(options->arguments.n == 6 ? words[5] : ""),
        .name = udpai_str_from(full ? full : ""),
    };
    udpa_err err = full ? udpai_access_question_compose(&question, &name) : UDPA_ERR_NOMEM;
    if (err != UDPA_OK)
        udpai_ctl_complain("%s", err == UDPA_ERR_LIMIT ? "that is too long for one question"
                                                       : udpa_err_text(err));
    udpai_free(full);
    return name;
}

static udpai_ctl_exit
tell(const udpa_resource *answer)
{
    udpai_str bytes = udpai_resource_value(answer);
    answer_message *said =
        udpa__status__v1__access_status__unpack(NULL, bytes.len, (const uint8_t *)bytes.data);
    if (!said) {
        udpai_ctl_complain("the node's answer cannot be read");
        return UDPAI_CTL_REFUSED;
    }
    bool is_allowed = said->allowed;
    if (!said->has_rules)
        udpai_ctl_say("yes: the node has no rules, so everybody may do everything");
    else if (is_allowed)
        udpai_ctl_say("yes: rule '%s' allows it", said->rule);
    else
        udpai_ctl_say("no: %s%s", said->reason,
                      said->dry_run ? "; but this is a dry run, so it is not refused" : "");
    udpa__status__v1__access_status__free_unpacked(said, NULL);
    return is_allowed ? UDPAI_CTL_GOOD : UDPAI_CTL_REFUSED;
}

static udpai_ctl_exit
ask(udpai_ctl *ctl, const char *question)
{
    udpai_ctl_wishes wishes = {0};
    udpai_ctl_found found;
    udpai_ctl_found_begin(&found);
    udpai_ctl_wish *wish = udpai_ctl_wishes_of_type(&wishes, UDPAI_ACCESS_TYPE);
    udpai_ctl_exit result = UDPAI_CTL_REFUSED;
    if (!wish || udpai_ctl_wish_full_name(wish, question) != UDPA_OK)
        udpai_ctl_complain("%s", udpa_err_text(UDPA_ERR_NOMEM));
    else
        result = udpai_ctl_collect_names(ctl, &wishes, &found);
    const udpa_resource *answer =
        udpai_ctl_found_get(&found, UDPAI_STR(UDPAI_ACCESS_TYPE), udpai_str_from(question));
    if (result == UDPAI_CTL_GOOD && answer)
        result = tell(answer);
    else if (result == UDPAI_CTL_GOOD)
        result = UDPAI_CTL_REFUSED;
    udpai_ctl_found_done(&found);
    udpai_ctl_wishes_done(&wishes);
    return result;
}

udpai_ctl_exit
udpai_ctl_auth(udpai_ctl *ctl)
{
    char *type = NULL;
    udpai_ctl_exit result;
    char *question = compose(ctl->options, &type, &result);
    if (question)
        result = udpai_ctl_connect(ctl);
    if (question && result == UDPAI_CTL_GOOD)
        result = ask(ctl, question);
    udpai_free(question);
    udpai_free(type);
    return result;
}
