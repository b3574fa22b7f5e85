/* SPDX-License-Identifier: Apache-2.0 */
/* The course of a script: its beginning and end, and the changes it makes. */
#include "tools/conform/session_internal.h"

void
udpai_script_init(udpai_script *script, udpai_stage *stage)
{
    *script = (udpai_script){.stage = stage};
}

void
udpai_script_done(udpai_script *script)
{
    for (size_t i = 0; i < script->sessions.n; i++)
        udpai_test_session_free(script->sessions.items[i]);
    udpai_vector_done(&script->sessions);
    udpai_strbuf_done(&script->why);
    udpai_strbuf_done(&script->transcript);
}

/* ---- changes ---- */

static void
transcribe_changes(udpai_script *script)
{
    const udpai_world *world = &script->stage->world;
    for (size_t i = 0; i < world->staged.n; i++) {
        const udpai_edit *change = &world->staged.items[i];
        if (change->is_removal)
            udpai_transcribe(script, "* change: remove %s %s", udpai_kind_word(change->kind),
                             change->name);
        else
            udpai_transcribe(script, "* change: set %s %s to v%u%s%s%s",
                             udpai_kind_word(change->kind), change->name, change->variant,
                             change->ttl_ms ? ", with a ttl" : "",
                             change->alias ? ", with an alias" : "",
                             change->is_lazy ? ", not for wildcards" : "");
    }
}

void
udpai_commit(udpai_script *script)
{
    udpai_world *world = &script->stage->world;
    udpai_strbuf why = {0};
    if (!udpai_is_running(script))
        return;
    transcribe_changes(script);
    for (size_t i = 0; i < script->sessions.n; i++)
        udpai_test_session_mark(script->sessions.items[i]);
    udpai_change_result result = udpai_world_commit(world, &why);
    const char *text = why.data ? why.data : "no reason given";
    if (result == UDPAI_CHANGE_UNSUPPORTED)
        udpai_skip_script(script, "the change is not supported: %s", text);
    else if (result == UDPAI_CHANGE_FAILED)
        udpai_fail_script(script,
                          "the change could not be made, so the server cannot be judged: %s", text);
    udpai_strbuf_done(&why);
}

void
udpai_set_as(udpai_script *script,
             udpai_kind kind,
             const char *name,
             const udpai_world_extra *extra)
{
    if (!udpai_is_running(script))
        return;
    udpai_world_set(&script->stage->world, kind, name, extra);
    udpai_commit(script);
}

void
udpai_set(udpai_script *script, udpai_kind kind, const char *name)
{
    udpai_set_as(script, kind, name, NULL);
}

void
udpai_remove(udpai_script *script, udpai_kind kind, const char *name)
{
    if (!udpai_is_running(script))
        return;
    udpai_world_remove(&script->stage->world, kind, name);
    udpai_commit(script);
}
