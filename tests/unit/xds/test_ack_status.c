/* SPDX-License-Identifier: Apache-2.0 */
/* Who has acknowledged a resource, of xDS clients: told by places in the sequence and the answers,
 * for whichever way they asked for it. */
#include "ack_status_test.h"

/* ---- delta ---- */

static void
a_wildcard_is_told_apart_by_its_answers(void **state)
{
    xds_one *self = *state;
    xds_world *world = &self->world;
    expect(world, "CDS", "local/a", "gone: 0 of 0");
    xds_change(world, "+CDS/a=1# +CDS/b=1#");
    expect(world, "CDS", "local/a", "0 of 0");
    xds_subscribe(&self->client, "CDS", "");
    expect(world, "CDS", "local/a", "0 of 1; xds-delta#1 behind");
    xds_expect(&self->client, "CDS[a b]");
    expect(world, "CDS", "local/a", "0 of 1; xds-delta#1 unanswered");
    xds_ack(&self->client, "CDS");
    expect(world, "CDS", "local/a", "1 of 1");
    xds_change(world, "+CDS/b=2#");
    expect(world, "CDS", "local/a", "1 of 1");
    expect(world, "CDS", "local/b", "0 of 1; xds-delta#1 behind");
    xds_expect(&self->client, "CDS[b]");
    expect(world, "CDS", "local/a", "1 of 1"); /* it holds its answer back for another */
    expect(world, "CDS", "local/b", "0 of 1; xds-delta#1 unanswered");
    xds_ack(&self->client, "CDS");
    expect(world, "CDS", "local/b", "1 of 1");
}

/* The sequence stands still while clients ask for what is there already. */
static void
names_are_told_apart_though_nothing_changes(void **state)
{
    xds_one *self = *state;
    xds_world *world = &self->world;
    xds_change(world, "+EDS/a=1 +EDS/b=1 +EDS/c=1");
    xds_subscribe(&self->client, "EDS", "a");
    expect(world, "EDS", "local/b", "0 of 0"); /* nobody wants it */
    xds_expect(&self->client, "EDS[a]");
    xds_ack(&self->client, "EDS");
    expect(world, "EDS", "local/a", "1 of 1");
    xds_subscribe(&self->client, "EDS", "b");
    expect(world, "EDS", "local/b", "0 of 1; xds-delta#1 behind");
    xds_expect(&self->client, "EDS[b]");
    expect(world, "EDS", "local/a", "1 of 1");
    expect(world, "EDS", "local/b", "0 of 1; xds-delta#1 unanswered");
    xds_ack(&self->client, "EDS");
    expect(world, "EDS", "local/b", "1 of 1");
    xds_subscribe(&self->client, "EDS", "b"); /* again: it is sent again */
    expect(world, "EDS", "local/b", "0 of 1; xds-delta#1 behind");
    xds_expect(&self->client, "EDS[b]");
    expect(world, "EDS", "local/b", "0 of 1; xds-delta#1 unanswered");
    xds_ack(&self->client, "EDS");
    expect(world, "EDS", "local/b", "1 of 1");
    xds_unsubscribe(&self->client, "EDS", "b");
    expect(world, "EDS", "local/b", "0 of 0");
}

static void
an_alias_leads_to_its_resource(void **state)
{
    xds_one *self = *state;
    xds_world *world = &self->world;
    xds_change(world, "+VHDS/local/r/v=1^local/r/host");
    xds_subscribe(&self->client, "VHDS", "r/host");
    xds_expect(&self->client, "VHDS[r/v]");
    expect(world, "VHDS", "local/r/v", "0 of 1; xds-delta#1 unanswered");
    expect(world, "VHDS", "local/r/host", "0 of 1; xds-delta#1 unanswered");
    xds_ack(&self->client, "VHDS");
    expect(world, "VHDS", "local/r/v", "1 of 1");
    expect(world, "VHDS", "local/r/host", "1 of 1");
}

static void
both_ways_count_once(void **state)
{
    xds_one *self = *state;
    xds_world *world = &self->world;
    xds_change(world, "+CDS/a=1#^local/x");
    xds_subscribe(&self->client, "CDS", "* a x");
    catch_up(&self->client);
    expect(world, "CDS", "local/a", "1 of 1");
    xds_change(world, "+CDS/a=2#^local/x");
    expect(world, "CDS", "local/a", "0 of 1; xds-delta#1 behind");
    catch_up(&self->client);
    expect(world, "CDS", "local/a", "1 of 1");
}

static void
the_refused_version_is_refused_until_it_changes(void **state)
{
    xds_one *self = *state;
    xds_world *world = &self->world;
    xds_change(world, "+CDS/a=1# +CDS/b=1#");
    xds_subscribe(&self->client, "CDS", "");
    catch_up(&self->client);
    xds_change(world, "+CDS/a=2#");
    xds_expect(&self->client, "CDS[a]");
    xds_nack(&self->client, "CDS", "no good");
    expect(world, "CDS", "local/a", "0 of 1; xds-delta#1 refused 'no good'");
    expect(world, "CDS", "local/b", "1 of 1");
    xds_change(world, "+CDS/b=2#");
    catch_up(&self->client);
    expect(world, "CDS", "local/a", "0 of 1; xds-delta#1 refused 'no good'");
    xds_change(world, "+CDS/a=3#");
    expect(world, "CDS", "local/a", "0 of 1; xds-delta#1 behind");
    xds_expect(&self->client, "CDS[a]");
    expect(world, "CDS", "local/a", "0 of 1; xds-delta#1 unanswered");
    xds_ack(&self->client, "CDS");
    expect(world, "CDS", "local/a", "1 of 1");
}

static void
others_in_a_refused_response_are_in_doubt(void **state)
{
    xds_one *self = *state;
    xds_world *world = &self->world;
    xds_change(world, "+CDS/bad=1# +CDS/good=1#");
    xds_subscribe(&self->client, "CDS", "");
    xds_expect(&self->client, "CDS[bad good]");
    xds_nack(&self->client, "CDS", "cluster bad: no");
    expect(world, "CDS", "local/bad", "0 of 1; xds-delta#1 refused 'cluster bad: no'");
    expect(world, "CDS", "local/good", "0 of 1; xds-delta#1 in doubt 'cluster bad: no'");
}

/* The client knows a variant by the name that it is one of. */
static void
a_variant_is_judged_under_its_own_name(void **state)
{
    xds_one *self = *state;
    xds_world *world = &self->world;
    xds_change(world, "+EDS/a.prod^local/zz!zz<env~prod +EDS/b=1");
    xds_subscribe(&self->client, "EDS", "zz<env~prod b");
    xds_expect(&self->client, "EDS[b zz<env~prod]");
    expect(world, "EDS", "local/a.prod", "0 of 1; xds-delta#1 unanswered");
    xds_nack(&self->client, "EDS", "endpoints of zz: no");
    expect(world, "EDS", "local/a.prod", "0 of 1; xds-delta#1 refused 'endpoints of zz: no'");
    expect(world, "EDS", "local/b", "0 of 1; xds-delta#1 in doubt 'endpoints of zz: no'");
    xds_change(world, "+EDS/a.prod^local/zz!zz<env~prod=2");
    xds_expect(&self->client, "EDS[zz<env~prod]");
    xds_ack(&self->client, "EDS");
    expect(world, "EDS", "local/a.prod", "1 of 1");
}

/* Asked for again it comes again, and may be accepted then. */
static void
what_is_sent_again_may_be_accepted(void **state)
{
    xds_one *self = *state;
    xds_world *world = &self->world;
    xds_change(world, "+EDS/a=1");
    xds_subscribe(&self->client, "EDS", "a");
    xds_expect(&self->client, "EDS[a]");
    xds_nack(&self->client, "EDS", "not now");
    xds_subscribe(&self->client, "EDS", "a");
    xds_expect(&self->client, "EDS[a]");
    expect(world, "EDS", "local/a", "0 of 1; xds-delta#1 refused 'not now'");
    xds_ack(&self->client, "EDS");
    expect(world, "EDS", "local/a", "1 of 1");
}

/* More than are noted by name: where they lie must do. */
static void
of_a_large_refused_response_the_named_are_certain(void **state)
{
    xds_one *self = *state;
    xds_world *world = &self->world;
    char all[512];
    size_t at = 0;
    xds_change(world, "+CDS/early=1#");
    xds_subscribe(&self->client, "CDS", "");
    catch_up(&self->client);
    for (int i = 0; i < 40; i++) {
        char change[32];
        snprintf(change, sizeof(change), "+CDS/n%d=1#", i + 10);
        xds_change(world, change);
        at += (size_t)snprintf(all + at, sizeof(all) - at, "%sn%d", i ? " " : "CDS[", i + 10);
    }
    snprintf(all + at, sizeof(all) - at, "]");
    xds_expect(&self->client, all);
    xds_nack(&self->client, "CDS", "n17 is bad");
    expect(world, "CDS", "local/n17", "0 of 1; xds-delta#1 refused 'n17 is bad'");
    expect(world, "CDS", "local/n18", "0 of 1; xds-delta#1 in doubt 'n17 is bad'");
    expect(world, "CDS", "local/early", "1 of 1");
    xds_change(world, "+CDS/n17=2#");
    expect(world, "CDS", "local/n17", "0 of 1; xds-delta#1 behind");
}

/* "n10 n11 …", each with something around it, behind what stands there already. */
static void
put_names(char text[512], int from, int to, const char *before, const char *behind)
{
    for (int i = from; i < to; i++) {
        size_t at = strlen(text);
        snprintf(text + at, 512 - at, "%s%sn%d%s", at ? " " : "", before, i, behind);
    }
}

/* Though by its place in the sequence it lies between what was accepted. */
static void
what_others_bring_does_not_accept_it(void **state)
{
    xds_one *self = *state;
    xds_world *world = &self->world;
    char early[512] = "", late[512] = "", some[512] = "", all[512] = "bad", expected[520];
    put_names(early, 10, 30, "+EDS/", "=1");
    put_names(late, 30, 50, "+EDS/", "=1");
    put_names(some, 10, 50, "", "");
    put_names(all, 10, 50, "", "");
    xds_change(world, early);
    xds_change(world, "+EDS/bad=1");
    xds_change(world, late);
    xds_subscribe(&self->client, "EDS", "bad");
    xds_expect(&self->client, "EDS[bad]");
    xds_nack(&self->client, "EDS", "no");
    xds_subscribe(&self->client, "EDS", some);
    snprintf(expected, sizeof(expected), "EDS[%s]", some);
    xds_expect(&self->client, expected);
    xds_ack(&self->client, "EDS");
    expect(world, "EDS", "local/n10", "1 of 1");
    expect(world, "EDS", "local/bad", "0 of 1; xds-delta#1 refused 'no'");
    xds_subscribe(&self->client, "EDS", all); /* once more, and this time it will do */
    snprintf(expected, sizeof(expected), "EDS[%s]", all);
    xds_expect(&self->client, expected);
    xds_ack(&self->client, "EDS");
    expect(world, "EDS", "local/bad", "1 of 1");
}

static void
a_removal_is_acknowledged_like_a_change(void **state)
{
    xds_one *self = *state;
    xds_world *world = &self->world;
    xds_change(world, "+CDS/a=1# +CDS/b=1#");
    xds_subscribe(&self->client, "CDS", "* a");
    catch_up(&self->client);
    xds_change(world, "-CDS/a -CDS/b");
    expect(world, "CDS", "local/a", "gone: 0 of 1; xds-delta#1 behind");
    expect(world, "CDS", "local/b", "gone: 0 of 1; xds-delta#1 behind");
    xds_expect(&self->client, "CDS[-a -b]");
    expect(world, "CDS", "local/a", "gone: 0 of 1; xds-delta#1 unanswered");
    expect(world, "CDS", "local/b", "gone: 0 of 1; xds-delta#1 unanswered");
    xds_ack(&self->client, "CDS");
    expect(world, "CDS", "local/a", "gone: 1 of 1");
    expect(world, "CDS", "local/b", "gone: 1 of 1");
    xds_change(world, "+CDS/b=1#");
    expect(world, "CDS", "local/b", "0 of 1; xds-delta#1 behind");
}

static void
a_removal_by_name_may_be_refused(void **state)
{
    xds_one *self = *state;
    xds_world *world = &self->world;
    xds_change(world, "+CDS/a=1#");
    xds_subscribe(&self->client, "CDS", "a");
    catch_up(&self->client);
    xds_change(world, "-CDS/a");
    xds_expect(&self->client, "CDS[-a]");
    expect(world, "CDS", "local/a", "gone: 0 of 1; xds-delta#1 unanswered");
    xds_nack(&self->client, "CDS", "I need it");
    expect(world, "CDS", "local/a", "gone: 0 of 1; xds-delta#1 in doubt 'I need it'");
    xds_change(world, "+CDS/a=2#");
    catch_up(&self->client);
    expect(world, "CDS", "local/a", "1 of 1");
    xds_change(world, "-CDS/a");
    xds_expect(&self->client, "CDS[-a]");
    expect(world, "CDS", "local/a", "gone: 0 of 1; xds-delta#1 unanswered");
    xds_ack(&self->client, "CDS");
    expect(world, "CDS", "local/a", "gone: 1 of 1");
}

/* What it is owed besides makes it uncertain where the end of another was told, but no further. */
static void
a_refused_removal_stays_refused(void **state)
{
    xds_one *self = *state;
    xds_world *world = &self->world;
    xds_change(world, "+CDS/a=1#");
    xds_subscribe(&self->client, "CDS", "*");
    catch_up(&self->client);
    xds_change(world, "-CDS/a");
    xds_expect(&self->client, "CDS[-a]");
    xds_nack(&self->client, "CDS", "no");
    expect(world, "CDS", "local/a", "gone: 0 of 1; xds-delta#1 in doubt 'no'");
    xds_change(world, "+CDS/b=1#");
    catch_up(&self->client);
    xds_subscribe(&self->client, "CDS", "c");
    xds_unsubscribe(&self->client, "CDS", "c");
    catch_up(&self->client);
    expect(world, "CDS", "local/a", "gone: 0 of 1; xds-delta#1 in doubt 'no'");
}

/* Told by the wildcard, which has been given back since. */
static void
a_removal_may_be_refused_late(void **state)
{
    xds_one *self = *state;
    xds_world *world = &self->world;
    xds_change(world, "+CDS/a=1#");
    xds_subscribe(&self->client, "CDS", "* a");
    catch_up(&self->client);
    xds_change(world, "+CDS/b=1#");
    catch_up(&self->client);
    xds_change(world, "-CDS/a");
    xds_expect(&self->client, "CDS[-a]");
    xds_unsubscribe(&self->client, "CDS", "*");
    expect(world, "CDS", "local/a", "gone: 0 of 1; xds-delta#1 unanswered");
    xds_nack(&self->client, "CDS", "no");
    expect(world, "CDS", "local/a", "gone: 0 of 1; xds-delta#1 in doubt 'no'");
}

static void
who_holds_a_version_from_before_has_it(void **state)
{
    xds_one *self = *state;
    xds_world *world = &self->world;
    char hash[UDPAI_CONTENT_HASH_HEX + 1], held[128];
    xds_change(world, "+CDS/a=1#");
    snprintf(held, sizeof(held), "a=%s gone=1", xds_hash("CDS/a=1#", hash));
    XDS_SEND(&self->client, "CDS", .held = held);
    expect(world, "CDS", "local/a", "0 of 1; xds-delta#1 behind");
    expect(world, "CDS", "local/gone", "gone: 0 of 1; xds-delta#1 behind");
    xds_expect(&self->client, "CDS[-gone]");
    expect(world, "CDS", "local/a", "1 of 1");
    expect(world, "CDS", "local/gone", "gone: 0 of 1; xds-delta#1 unanswered");
    xds_ack(&self->client, "CDS");
    expect(world, "CDS", "local/gone", "gone: 1 of 1");
}

/* What it has not answered is not called answered when it is forgotten. */
static void
who_never_answers_never_has_it(void **state)
{
    xds_one *self = *state;
    xds_world *world = &self->world;
    xds_subscribe(&self->client, "CDS", "");
    xds_expect(&self->client, "CDS[]");
    for (int i = 0; i < UDPAI_XDS_IN_FLIGHT_MAX + 9; i++) {
        char change[32], expected[32];
        snprintf(change, sizeof(change), "+CDS/n%d=1#", i);
        snprintf(expected, sizeof(expected), "CDS[n%d]", i);
        xds_change(world, change);
        xds_expect(&self->client, expected);
    }
    expect(world, "CDS", "local/n0", "0 of 1; xds-delta#1 unanswered");
    expect(world, "CDS", "local/n70", "0 of 1; xds-delta#1 unanswered");
    xds_ack(&self->client, "CDS"); /* of the last: with it, of all */
    expect(world, "CDS", "local/n0", "1 of 1");
    expect(world, "CDS", "local/n70", "1 of 1");
}

/* Nor does a refusal count for nothing. */
static void
what_is_refused_late_is_not_accepted_with_the_rest(void **state)
{
    xds_one *self = *state;
    xds_world *world = &self->world;
    char first[32];
    xds_subscribe(&self->client, "CDS", "");
    xds_expect(&self->client, "CDS[]");
    for (int i = 0; i < UDPAI_XDS_IN_FLIGHT_MAX + 9; i++) {
        char change[32], expected[32];
        snprintf(change, sizeof(change), "+CDS/n%d=1#", i);
        snprintf(expected, sizeof(expected), "CDS[n%d]", i);
        xds_change(world, change);
        xds_expect(&self->client, expected);
        if (i == 0)
            snprintf(first, sizeof(first), "%s", xds_nonce(&self->client, "CDS"));
    }
    XDS_SEND(&self->client, "CDS", .nonce = first, .error = "no");
    xds_ack(&self->client, "CDS");
    expect(world, "CDS", "local/n0", "0 of 1; xds-delta#1 in doubt 'no'");
    expect(world, "CDS", "local/n70", "1 of 1");
}

/* Changes as many as are not noted by name, which are answered with this; NULL: acknowledged. */
static void
change_many(xds_one *self, unsigned content, const char *error)
{
    char changes[512] = "", expected[256] = "CDS[";
    for (unsigned i = 0; i < UDPAI_REFUSED_KEPT + 1; i++) {
        snprintf(changes + strlen(changes), sizeof(changes) - strlen(changes), " +CDS/n%02u=%u#", i,
                 content);
        snprintf(expected + strlen(expected), sizeof(expected) - strlen(expected), "%sn%02u",
                 i ? " " : "", i);
    }
    snprintf(expected + strlen(expected), sizeof(expected) - strlen(expected), "]");
    xds_change(&self->world, changes + 1);
    xds_expect(&self->client, expected);
    if (error)
        xds_nack(&self->client, "CDS", error);
    else
        xds_ack(&self->client, "CDS");
    fake_hub_advance(&self->world.hub, 1000);
}

/* Places of an old refusal and of a new one are one range; but of the old one nothing is left. */
static void
what_lies_between_refusals_is_not_in_doubt(void **state)
{
    xds_one *self = *state;
    xds_world *world = &self->world;
    xds_subscribe(&self->client, "CDS", "");
    xds_expect(&self->client, "CDS[]");
    change_many(self, 1, "no");
    expect(world, "CDS", "local/n00", "0 of 1; xds-delta#1 in doubt 'no'");
    change_many(self, 2, NULL);
    expect(world, "CDS", "local/n00", "1 of 1");
    xds_change(world, "+CDS/good=1#");
    xds_expect(&self->client, "CDS[good]");
    xds_ack(&self->client, "CDS");
    change_many(self, 3, "no again");
    expect(world, "CDS", "local/good", "1 of 1");
    expect(world, "CDS", "local/n00", "0 of 1; xds-delta#1 in doubt 'no again'");
}

/* ---- parts of a type ---- */

#define SPELLED(authority) "xdstp://" authority "/envoy.config.cluster.v3.Cluster/"

/* By wildcard, by name and by collection: it has it when it has accepted it of all of them. */
static void
all_parts_of_a_session_count_once(void **state)
{
    xds_one *self = *state;
    xds_world *world = &self->world;
    xds_change(world, "+CDS/a=1#");
    xds_subscribe(&self->client, "CDS", "*");
    xds_expect(&self->client, "CDS[a]");
    xds_ack(&self->client, "CDS");
    expect(world, "CDS", "local/a", "1 of 1");
    xds_subscribe(&self->client, "CDS", SPELLED("") "a " SPELLED("local") "*");
    expect(world, "CDS", "local/a", "0 of 1; xds-delta#1 behind");
    xds_expect(&self->client, "CDS[" SPELLED("") "a] CDS[" SPELLED("local") "a]");
    expect(world, "CDS", "local/a", "0 of 1; xds-delta#1 unanswered");
    xds_ack(&self->client, "CDS");
    expect(world, "CDS", "local/a", "1 of 1");
    xds_change(world, "-CDS/a");
    expect(world, "CDS", "local/a", "gone: 0 of 1; xds-delta#1 behind");
    catch_up(&self->client);
    expect(world, "CDS", "local/a", "gone: 1 of 1");
}

/* Of its parts the one that is furthest from having it speaks. */
static void
what_was_not_sent_by_one_part_is_behind(void **state)
{
    xds_one *self = *state;
    xds_world *world = &self->world;
    xds_change(world, "+CDS/a=1#");
    xds_subscribe(&self->client, "CDS", "*");
    xds_expect(&self->client, "CDS[a]");
    expect(world, "CDS", "local/a", "0 of 1; xds-delta#1 unanswered");
    xds_subscribe(&self->client, "CDS", SPELLED("") "a"); /* is not sent yet */
    expect(world, "CDS", "local/a", "0 of 1; xds-delta#1 behind");
    xds_expect(&self->client, "CDS[" SPELLED("") "a]");
    expect(world, "CDS", "local/a", "0 of 1; xds-delta#1 unanswered");
}

static void
what_one_part_refuses_is_refused(void **state)
{
    xds_one *self = *state;
    xds_world *world = &self->world;
    xds_change(world, "+CDS/a=1#");
    xds_subscribe(&self->client, "CDS", "*");
    catch_up(&self->client);
    xds_subscribe(&self->client, "CDS", SPELLED("") "a");
    xds_expect(&self->client, "CDS[" SPELLED("") "a]");
    xds_nack(&self->client, "CDS", "no");
    expect(world, "CDS", "local/a", "0 of 1; xds-delta#1 refused 'no'");
    xds_subscribe(&self->client, "CDS", SPELLED("local") "*"); /* not sent yet */
    expect(world, "CDS", "local/a", "0 of 1; xds-delta#1 refused 'no'");
    catch_up(&self->client);
    expect(world, "CDS", "local/a", "1 of 1");
}

/* Each has places of its own. */
static void
what_another_part_waits_for_is_nothing_to_it(void **state)
{
    xds_one *self = *state;
    xds_world *world = &self->world;
    xds_change(world, "+CDS/a=1# +CDS/local/m/b=1#");
    xds_subscribe(&self->client, "CDS", SPELLED("") "a");
    for (int i = 2; i < 5; i++) {
        char change[32];
        catch_up(&self->client);
        snprintf(change, sizeof(change), "+CDS/a=%d#", i);
        xds_change(world, change);
    }
    catch_up(&self->client);
    xds_subscribe(&self->client, "CDS", SPELLED("") "m/*");
    xds_expect(&self->client, "CDS[" SPELLED("") "m/b]");
    expect(world, "CDS", "local/a", "1 of 1");
    expect(world, "CDS", "local/m/b", "0 of 1; xds-delta#1 unanswered");
    xds_unsubscribe(&self->client, "CDS", SPELLED("") "m/*");
    xds_subscribe(&self->client, "CDS", SPELLED("") "m/*");
    xds_expect(&self->client, "CDS[" SPELLED("") "m/b]");
    expect(world, "CDS", "local/m/b", "0 of 1; xds-delta#1 unanswered");
    xds_ack(&self->client, "CDS");
    expect(world, "CDS", "local/m/b", "1 of 1");
}

/* Some clients say of what they refuse as they have spelled it. */
static void
a_refusal_has_names_as_they_are_spelled(void **state)
{
    xds_one *self = *state;
    xds_world *world = &self->world;
    xds_change(world, "+CDS/x?j{2;k{1=1# +CDS/y?j{2;k{1=1#");
    xds_subscribe(&self->client, "CDS", SPELLED("") "x?k=1&j=2 " SPELLED("") "y?k=1&j=2");
    xds_expect(&self->client, "CDS[" SPELLED("") "x?k=1&j=2 " SPELLED("") "y?k=1&j=2]");
    xds_nack(&self->client, "CDS", SPELLED("") "x?k=1&j=2: no");
    expect(world, "CDS", "local/x?j=2&k=1",
           "0 of 1; xds-delta#1 refused '" SPELLED("") "x?k=1&j=2: no'");
    expect(world, "CDS", "local/y?j=2&k=1",
           "0 of 1; xds-delta#1 in doubt '" SPELLED("") "x?k=1&j=2: no'");
    xds_subscribe(&self->client, "CDS", SPELLED("local") "*?k=1&j=2");
    xds_expect(&self->client, "CDS[" SPELLED("local") "x?k=1&j=2 " SPELLED("local") "y?k=1&j=2]");
    xds_nack(&self->client, "CDS", SPELLED("local") "y?k=1&j=2: no");
    expect(world, "CDS", "local/y?j=2&k=1",
           "0 of 1; xds-delta#1 refused '" SPELLED("local") "y?k=1&j=2: no'");
}

/* ---- both ---- */

static void
each_session_counts(void **state)
{
    xds_pair *pair = *state;
    xds_world *world = &pair->world;
    xds_change(world, "+CDS/a=1#");
    xds_pair_ask(pair, "CDS", "");
    xds_pair_expect(pair, "CDS[a]", "CDS[a]");
    expect(world, "CDS", "local/a", "0 of 2; xds-delta#1 unanswered; xds-sotw#2 unanswered");
    xds_nack(&pair->sotw, "CDS", "bad");
    expect(world, "CDS", "local/a", "0 of 2; xds-sotw#2 refused 'bad'; xds-delta#1 unanswered");
    xds_ack(&pair->delta, "CDS");
    expect(world, "CDS", "local/a", "1 of 2; xds-sotw#2 refused 'bad'");
    xds_client_reopen(&pair->sotw);
    expect(world, "CDS", "local/a", "1 of 1"); /* until it asks again */
    xds_ask_for(&pair->sotw, "CDS", "");
    xds_expect(&pair->sotw, "CDS[a]");
    expect(world, "CDS", "local/a", "1 of 2; xds-sotw#3 unanswered");
    xds_ack(&pair->sotw, "CDS");
    expect(world, "CDS", "local/a", "2 of 2");
}

/* A heartbeat is sent and answered, and the payload stays acknowledged. */
static void
refreshes_take_nothing_back(void **state)
{
    xds_one *self = *state;
    xds_world *world = &self->world;
    xds_change(world, "+CDS/a=1#%5000 +CDS/b=1#");
    xds_subscribe(&self->client, "CDS", "");
    catch_up(&self->client);
    xds_change(world, "~CDS/a=1#%5000");
    expect(world, "CDS", "local/a", "1 of 1");
    xds_expect(&self->client, "CDS[~a%]");
    expect(world, "CDS", "local/a", "1 of 1");
    expect(world, "CDS", "local/b", "1 of 1");
    /* One that overtakes its own payload: that has not been sent. */
    xds_change(world, "+CDS/a=2#%5000");
    xds_change(world, "~CDS/a=2#%5000");
    expect(world, "CDS", "local/a", "0 of 1; xds-delta#1 behind");
    xds_expect(&self->client, "CDS[a%]");
    expect(world, "CDS", "local/a", "0 of 1; xds-delta#1 unanswered");
    xds_ack(&self->client, "CDS");
    expect(world, "CDS", "local/a", "1 of 1");
}

#define delta_test(test)                                                                           \
    cmocka_unit_test_setup_teardown(test, xds_one_setup_delta, xds_one_teardown)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        delta_test(a_wildcard_is_told_apart_by_its_answers),
        delta_test(names_are_told_apart_though_nothing_changes),
        delta_test(an_alias_leads_to_its_resource),
        delta_test(both_ways_count_once),
        delta_test(the_refused_version_is_refused_until_it_changes),
        delta_test(others_in_a_refused_response_are_in_doubt),
        delta_test(a_variant_is_judged_under_its_own_name),
        delta_test(what_is_sent_again_may_be_accepted),
        delta_test(of_a_large_refused_response_the_named_are_certain),
        delta_test(what_others_bring_does_not_accept_it),
        delta_test(what_lies_between_refusals_is_not_in_doubt),
        delta_test(a_removal_is_acknowledged_like_a_change),
        delta_test(a_removal_by_name_may_be_refused),
        delta_test(a_refused_removal_stays_refused),
        delta_test(a_removal_may_be_refused_late),
        delta_test(who_holds_a_version_from_before_has_it),
        delta_test(who_never_answers_never_has_it),
        delta_test(what_is_refused_late_is_not_accepted_with_the_rest),
        delta_test(refreshes_take_nothing_back),
        delta_test(all_parts_of_a_session_count_once),
        delta_test(what_was_not_sent_by_one_part_is_behind),
        delta_test(what_one_part_refuses_is_refused),
        delta_test(what_another_part_waits_for_is_nothing_to_it),
        delta_test(a_refusal_has_names_as_they_are_spelled),
        cmocka_unit_test_setup_teardown(each_session_counts, xds_pair_setup, xds_pair_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
