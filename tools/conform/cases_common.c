/* SPDX-License-Identifier: Apache-2.0 */
/* Cases that several parts of the suite have, for another protocol each. */
#include "tools/conform/cases.h"

void
udpai_case_by_name(udpai_script *script)
{
    (void)udpai_begin_with(script, UDPAI_A);
}

void
udpai_case_without_names(udpai_script *script)
{
    (void)udpai_begin_with_all(script, UDPAI_NO_NAMES);
}

void
udpai_case_missing_appears(udpai_script *script)
{
    udpai_test_session *session = udpai_test_session_open(script, script->kind);
    udpai_subscribe(session, script->kind, UDPAI_NAMES("new"));
    udpai_wait_until_quiet(session);
    udpai_set(script, script->kind, "new");
    udpai_expect(session, script->kind, UDPAI_NAMES("new"));
}

void
udpai_case_update(udpai_script *script)
{
    udpai_test_session *session = udpai_begin_with(script, UDPAI_A);
    udpai_set(script, script->kind, "a");
    udpai_expect(session, script->kind, UDPAI_A);
}

void
udpai_case_new_under_wildcard(udpai_script *script)
{
    udpai_test_session *session = udpai_begin_with_all(script, UDPAI_NO_NAMES);
    udpai_set(script, script->kind, "new");
    udpai_expect(session, script->kind, UDPAI_NAMES("new"));
}

void
udpai_case_removal(udpai_script *script)
{
    udpai_test_session *session = udpai_begin_with(script, UDPAI_A_B);
    udpai_remove(script, script->kind, "b");
    udpai_expect_removed(session, script->kind, "b");
}

void
udpai_case_removal_under_wildcard(udpai_script *script)
{
    udpai_test_session *session = udpai_begin_with_all(script, UDPAI_NO_NAMES);
    udpai_remove(script, script->kind, "b");
    udpai_expect_removed(session, script->kind, "b");
}
