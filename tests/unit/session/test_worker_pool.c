/* SPDX-License-Identifier: Apache-2.0 */
/* Several stream sides look like one. */
#include "session/worker_pool.h"

#include "base/proto.h"
#include "session/acknowledgement.h"
#include "session/status.h"
#include "session/worker_pool_answers.h"
#include "tests/harness/oom.h"
#include "tests/harness/resources.h"

#define MEMBERS 3
#define TYPE "type.googleapis.com/test.Type"

typedef struct world {
    udpai_worker_pool *pool;
    udpai_list own;             /* orders for the first member */
    unsigned n_orders[MEMBERS]; /* handed to the others */
    udpai_order_kind last_kind[MEMBERS];
    udpai_list reports;
} world;

static void
order(void *userdata, size_t member, const udpai_order *order)
{
    world *self = userdata;
    assert_in_range(member, 1, MEMBERS - 1);
    self->n_orders[member]++;
    self->last_kind[member] = order->kind;
}

static void
order_own(void *userdata, udpai_order *order)
{
    world *self = userdata;
    self->n_orders[0]++;
    self->last_kind[0] = order->kind;
    udpai_list_append(&self->own, &order->node);
}

static void
report(void *userdata, udpai_report *report)
{
    udpai_list_append(&((world *)userdata)->reports, &report->node);
}

static void
begin(world *self)
{
    *self = (world){0};
    udpai_list_init(&self->own);
    udpai_list_init(&self->reports);
    const udpai_worker_pool_env env = {order, order_own, report, self};
    self->pool = udpai_worker_pool_new(MEMBERS, &env);
    assert_non_null(self->pool);
}

static void
end(world *self)
{
    udpai_list *at;
    assert_true(udpai_list_empty(&self->reports)); /* each test has looked at all */
    while ((at = udpai_list_pop(&self->own)))
        udpai_order_free(UDPAI_LIST_ENTRY(at, udpai_order, node));
    udpai_worker_pool_free(self->pool);
}

static udpai_report *
next_report(world *self)
{
    udpai_list *at = udpai_list_pop(&self->reports);
    return at ? UDPAI_LIST_ENTRY(at, udpai_report, node) : NULL;
}

static void
expect_report(world *self, udpai_report_kind kind)
{
    UDPA_AUTO(udpai_report_free) udpai_report *told = next_report(self);
    assert_non_null(told);
    assert_int_equal(told->kind, kind);
}

static void
expect_nothing(world *self)
{
    assert_null(next_report(self));
}

static void
give(world *self, udpai_order_kind kind, uint64_t session)
{
    udpai_order *given = udpai_order_new(kind);
    given->session = session;
    udpai_worker_pool_order(self->pool, given);
}

static void
say(world *self, size_t member, udpai_report_kind kind)
{
    udpai_worker_pool_report(self->pool, member, udpai_report_new(kind));
}

static void
say_of(world *self, size_t member, udpai_report_kind kind, uint64_t session)
{
    udpai_report *said = udpai_report_new(kind);
    said->session = session;
    udpai_worker_pool_report(self->pool, member, said);
}

static uint64_t
session_of(size_t member, unsigned n)
{
    return member + n * (uint64_t)UDPAI_WORKER_POOL_STEP;
}

/* ---- orders ---- */

static void
what_concerns_all_goes_to_all(void **state)
{
    static const udpai_order_kind kinds[] = {
        UDPAI_ORDER_CHANGES, UDPAI_ORDER_SETTLED,          UDPAI_ORDER_FORGET, UDPAI_ORDER_ACL,
        UDPAI_ORDER_STATUS,  UDPAI_ORDER_ACKNOWLEDGEMENTS, UDPAI_ORDER_CENSUS,
    };
    (void)state;
    world self;
    begin(&self);
    for (unsigned i = 0; i < UDPAI_ARRAY_LEN(kinds); i++) {
        give(&self, kinds[i], 0);
        for (size_t member = 0; member < MEMBERS; member++) {
            assert_int_equal(self.n_orders[member], i + 1);
            assert_int_equal(self.last_kind[member], kinds[i]);
        }
    }
    end(&self);
}

static void
what_concerns_a_session_goes_to_who_has_it(void **state)
{
    (void)state;
    world self;
    begin(&self);
    for (size_t member = 0; member < MEMBERS; member++) {
        give(&self, UDPAI_ORDER_PUBLICATION_DONE, session_of(member, 7));
        for (size_t other = 0; other < MEMBERS; other++)
            assert_int_equal(self.n_orders[other], other <= member);
    }
    give(&self, UDPAI_ORDER_DIAL, 0); /* by the first one alone */
    assert_int_equal(self.n_orders[0], 2);
    give(&self, UDPAI_ORDER_HANG_UP, session_of(MEMBERS, 1)); /* nobody's */
    for (size_t member = 0; member < MEMBERS; member++)
        assert_int_equal(self.n_orders[member], member == 0 ? 2 : 1);
    end(&self);
}

/* ---- reports ---- */

static void
done_when_all_have_done_it(void **state)
{
    static const udpai_report_kind kinds[] = {UDPAI_REPORT_APPLIED, UDPAI_REPORT_SETTLED};
    (void)state;
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(kinds); i++) {
        world self;
        begin(&self);
        say(&self, 0, kinds[i]);
        say(&self, 0, kinds[i]);
        say(&self, 2, kinds[i]);
        expect_nothing(&self);
        say(&self, 1, kinds[i]);
        expect_report(&self, kinds[i]);
        say(&self, 1, kinds[i]);
        expect_nothing(&self);
        say(&self, 2, kinds[i]);
        expect_report(&self, kinds[i]);
        end(&self);
    }
}

static void
members_speak_of_their_own_sessions(void **state)
{
    (void)state;
    world self;
    begin(&self);
    for (size_t member = 0; member < MEMBERS; member++) {
        say_of(&self, member, UDPAI_REPORT_ALIVE, session_of(member, 1));
        expect_report(&self, UDPAI_REPORT_ALIVE);
    }
    say_of(&self, 1, UDPAI_REPORT_CLOSED, session_of(2, 1));
    say_of(&self, 1, UDPAI_REPORT_CLOSED, session_of(0, 1));
    say_of(&self, 0, UDPAI_REPORT_CLOSED, session_of(1, 1));
    expect_nothing(&self);
    end(&self);
}

/* A source that dials us may come to any member, and what it publishes there is its word; but only
 * the first can have dialled. */
static void
sources_dial_any_member(void **state)
{
    (void)state;
    world self;
    begin(&self);
    for (size_t member = 0; member < 2; member++) {
        udpai_report *report = udpai_report_new(UDPAI_REPORT_ALIVE);
        report->session = session_of(member, 1);
        report->link = 4;
        udpai_worker_pool_report(self.pool, member, report);
        UDPA_AUTO(udpai_report_free) udpai_report *told = next_report(&self);
        assert_non_null(told);
        assert_int_equal(told->session, session_of(member, 1));
        assert_int_equal(told->link, member == 0 ? 4 : 0);
    }
    end(&self);
}

static udpai_report *
interest(const char *name_space, const char *name, bool subscribed)
{
    const udpai_str text = udpai_str_from(name);
    const udpai_subscription_message message = {
        .type_url = udpai_str_from(TYPE),
        .name_space = udpai_str_from(name_space),
        .names = &text,
        .n_names = 1,
    };
    udpai_report *said = udpai_report_new(UDPAI_REPORT_INTEREST);
    if (said)
        said->subscription = udpai_subscription_message_copy(&message);
    if (said)
        said->subscribed = subscribed;
    return said;
}

static void
expect_interest(world *self, bool subscribed, const char *name)
{
    UDPA_AUTO(udpai_report_free) udpai_report *told = next_report(self);
    assert_non_null(told);
    assert_int_equal(told->kind, UDPAI_REPORT_INTEREST);
    assert_int_equal(told->subscribed, subscribed);
    assert_str(told->subscription->names[0], name);
}

static void
wanted_while_anybody_wants_it(void **state)
{
    (void)state;
    world self;
    begin(&self);
    udpai_worker_pool_report(self.pool, 1, interest("a", "", true));
    expect_interest(&self, true, "");
    udpai_worker_pool_report(self.pool, 2, interest("a", "", true));
    expect_nothing(&self);
    udpai_worker_pool_report(self.pool, 2, interest("", "a", true)); /* a name, not the prefix */
    expect_interest(&self, true, "a");
    udpai_worker_pool_report(self.pool, 1, interest("a", "", false));
    expect_nothing(&self);
    udpai_worker_pool_report(self.pool, 0, interest("a", "", false)); /* has not wanted it */
    udpai_worker_pool_report(self.pool, 0, interest("b", "", false));
    expect_nothing(&self);
    udpai_worker_pool_report(self.pool, 2, interest("a", "", false));
    expect_interest(&self, false, "");
    udpai_worker_pool_report(self.pool, 0, interest("a", "", true));
    expect_interest(&self, true, "");
    end(&self);
}

static udpai_report *
clients(const char *name_space, bool subscribed)
{
    udpai_report *said = udpai_report_new(UDPAI_REPORT_CLIENTS);
    said->name_space = udpai_bytes_cstring(udpai_str_from(name_space));
    said->subscribed = subscribed;
    return said;
}

static void
clients_are_there_while_they_are_anywhere(void **state)
{
    (void)state;
    world self;
    begin(&self);
    udpai_worker_pool_report(self.pool, 0, clients("a", true));
    expect_report(&self, UDPAI_REPORT_CLIENTS);
    udpai_worker_pool_report(self.pool, 1, clients("a", true)); /* more may be known of them */
    expect_report(&self, UDPAI_REPORT_CLIENTS);
    udpai_worker_pool_report(self.pool, 0, clients("a", false));
    expect_nothing(&self);
    udpai_worker_pool_report(self.pool, 1, clients("a", false));
    expect_report(&self, UDPAI_REPORT_CLIENTS);
    udpai_worker_pool_report(self.pool, 1, clients("a", false));
    expect_nothing(&self);
    end(&self);
}

/* ---- answers ---- */

static void
put_number(udpai_proto_writer *writer, const void *what)
{
    udpai_proto_put_varint(writer, 1, *(const unsigned *)what);
}

static udpai_report *
sessions(unsigned first, unsigned n)
{
    udpai_report *said = udpai_report_new(UDPAI_REPORT_STATUS);
    for (unsigned i = first; i < first + n; i++)
        assert_true(udpai_vector_push(&said->statuses, udpai_proto_encode(put_number, &i)));
    return said;
}

static void
expect_sessions(world *self, size_t n)
{
    UDPA_AUTO(udpai_report_free) udpai_report *told = next_report(self);
    assert_non_null(told);
    assert_int_equal(told->kind, UDPAI_REPORT_STATUS);
    assert_int_equal(told->statuses.n, n);
    for (size_t i = 0; i < n; i++) {
        udpai_proto_reader reader = udpai_proto_read(udpai_bytes_view(told->statuses.items[i]));
        udpai_proto_field field;
        assert_true(udpai_proto_next(&reader, &field));
        assert_int_equal(field.value, i);
    }
}

static void
sessions_of_all_are_described(void **state)
{
    (void)state;
    world self;
    begin(&self);
    say(&self, 1, UDPAI_REPORT_STATUS); /* nobody has asked */
    give(&self, UDPAI_ORDER_STATUS, 0);
    give(&self, UDPAI_ORDER_STATUS, 0);
    udpai_worker_pool_report(self.pool, 2, sessions(0, 3));
    udpai_worker_pool_report(self.pool, 2, sessions(0, 0)); /* of the second question */
    udpai_worker_pool_report(self.pool, 2, sessions(9, 9)); /* of none */
    udpai_worker_pool_report(self.pool, 0, sessions(3, 1));
    expect_nothing(&self);
    udpai_worker_pool_report(self.pool, 1, sessions(4, 2));
    expect_sessions(&self, 6);
    udpai_worker_pool_report(self.pool, 1, sessions(0, 1));
    udpai_worker_pool_report(self.pool, 0, sessions(1, 1));
    expect_sessions(&self, 2);
    give(&self, UDPAI_ORDER_STATUS, 0); /* is never answered */
    udpai_worker_pool_report(self.pool, 0, sessions(0, 2));
    end(&self);
}

typedef struct acknowledgement {
    bool exists;
    unsigned n; /* every counter */
    const udpai_acknowledgement_state *states;
    size_t n_states;
} acknowledgement;

static void
put_state(udpai_proto_writer *writer, udpai_acknowledgement_state state)
{
    udpai_proto_writer size = {0};
    udpai_proto_put_varint(&size, 20, state);
    udpai_proto_put_head(writer, 10, size.size);
    udpai_proto_put_varint(writer, 20, state);
}

static void
put_acknowledgement(udpai_proto_writer *writer, const void *what)
{
    const acknowledgement *of = what;
    udpai_proto_put_bytes(writer, 1, udpai_str_from(TYPE));
    udpai_proto_put_bytes(writer, 2, udpai_str_from("a/b"));
    udpai_proto_put_varint_opt(writer, 3, of->exists);
    udpai_proto_put_bytes_opt(writer, 4, udpai_str_from(of->exists ? "v" : ""));
    for (uint32_t number = 6; number <= 9; number++)
        udpai_proto_put_varint_opt(writer, number, of->n);
    for (size_t i = 0; i < of->n_states; i++)
        put_state(writer, of->states[i]);
    udpai_proto_put_varint_opt(writer, 11, of->n);
}

/* NULL: there was no memory for it. */
static udpai_report *
answer(const acknowledgement *first, const acknowledgement *second)
{
    udpai_report *said = udpai_report_new(UDPAI_REPORT_ACKNOWLEDGEMENTS);
    const acknowledgement *both[] = {first, second};
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(both); i++) {
        udpa_bytes *status = both[i] ? udpai_proto_encode(put_acknowledgement, both[i]) : NULL;
        assert_true(udpai_vector_push(&said->statuses, status));
    }
    return said;
}

static void
expect_acknowledgement(const udpa_bytes *status, const acknowledgement *subscribed)
{
    UDPA_AUTO(udpa_bytes_unref)
    udpa_bytes *same = udpai_proto_encode(put_acknowledgement, subscribed);
    assert_int_equal(udpa_bytes_size(status), udpa_bytes_size(same));
    assert_memory_equal(udpa_bytes_data(status), udpa_bytes_data(same), udpa_bytes_size(same));
}

#define R UDPAI_ACKNOWLEDGEMENT_REFUSED
#define B UDPAI_ACKNOWLEDGEMENT_BEHIND
#define G UDPAI_ACKNOWLEDGEMENT_GIVEN

static void
acknowledgements_add_up(void **state)
{
    static const udpai_acknowledgement_state one[] = {R, B, G}, two[] = {B, G},
                                             both[] = {R, B, B, G, G};
    (void)state;
    world self;
    begin(&self);
    const acknowledgement first = {true, 2, one, 3}, second = {true, 3, two, 2}, none = {0};
    give(&self, UDPAI_ORDER_ACKNOWLEDGEMENTS, 0);
    udpai_worker_pool_report(self.pool, 1, answer(&first, NULL));
    udpai_worker_pool_report(self.pool, 0, answer(&none, NULL));
    udpai_worker_pool_report(self.pool, 2, answer(&second, &second));
    UDPA_AUTO(udpai_report_free) udpai_report *told = next_report(&self);
    assert_int_equal(told->statuses.n, 2);
    expect_acknowledgement(told->statuses.items[0], &(acknowledgement){true, 5, both, 5});
    assert_null(told->statuses.items[1]);
    end(&self);
}

static void
not_all_sessions_are_named(void **state)
{
    (void)state;
    static udpai_acknowledgement_state many[UDPAI_ACKNOWLEDGEMENT_SESSIONS_MAX];
    static const udpai_acknowledgement_state refused[] = {R};
    world self;
    begin(&self);
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(many); i++)
        many[i] = G;
    give(&self, UDPAI_ORDER_ACKNOWLEDGEMENTS, 0);
    const acknowledgement all = {true, 256, many, UDPAI_ARRAY_LEN(many)};
    udpai_worker_pool_report(self.pool, 0, answer(&all, NULL));
    udpai_worker_pool_report(self.pool, 1, answer(&all, NULL));
    udpai_worker_pool_report(self.pool, 2, answer(&(acknowledgement){true, 1, refused, 1}, NULL));
    UDPA_AUTO(udpai_report_free) udpai_report *told = next_report(&self);
    many[0] = R;
    expect_acknowledgement(told->statuses.items[0],
                           &(acknowledgement){true, 513, many, UDPAI_ARRAY_LEN(many)});
    end(&self);
}

/* ---- replicas ---- */

/* The fields of a number, added up. */
static uint64_t
sum_of(const udpa_bytes *status, uint32_t number)
{
    udpai_proto_reader reader = udpai_proto_read(udpai_bytes_view(status));
    udpai_proto_field field;
    uint64_t sum = 0;
    while (udpai_proto_next(&reader, &field))
        sum += field.number == number ? field.value : 0;
    assert_false(reader.failed);
    return sum;
}

static udpai_str
first_session(const udpa_bytes *status)
{
    udpai_proto_reader reader = udpai_proto_read(udpai_bytes_view(status));
    udpai_proto_field field;
    while (udpai_proto_next(&reader, &field))
        if (field.number == 10)
            return field.bytes;
    return (udpai_str){0};
}

static void
a_replica_that_is_missing_has_not_acknowledged_it(void **state)
{
    static const udpai_acknowledgement_state given[] = {G};
    (void)state;
    const acknowledgement has = {true, 1, given, 1};
    UDPA_AUTO(udpa_bytes_unref) udpa_bytes *own = udpai_proto_encode(put_acknowledgement, &has);
    UDPA_AUTO(udpa_bytes_unref)
    udpa_bytes *missing = udpai_acknowledgement_missing(UDPAI_STR("edge~6c1b9a0e"), "it is away");
    UDPA_AUTO(udpa_bytes_unref) udpa_bytes *joined = udpai_acknowledgement_join(own, missing);
    assert_int_equal(sum_of(joined, 6), 2);
    assert_int_equal(sum_of(joined, 7), 1);
    udpai_proto_reader reader = udpai_proto_read(first_session(joined));
    udpai_proto_field field;
    bool has_id = false;
    while (udpai_proto_next(&reader, &field)) {
        has_id |= field.number == 1 || field.number == 5;
        if (field.number == 20)
            assert_int_equal(field.value, UDPAI_ACKNOWLEDGEMENT_BEHIND);
    }
    assert_false(has_id);
    assert_null(udpai_acknowledgement_join(own, NULL));
}

static void
answers_about_different_versions_do_not_agree(void **state)
{
    (void)state;
    const acknowledgement there = {true, 1, NULL, 0}, more = {true, 2, NULL, 0}, gone = {0};
    UDPA_AUTO(udpa_bytes_unref) udpa_bytes *one = udpai_proto_encode(put_acknowledgement, &there);
    UDPA_AUTO(udpa_bytes_unref) udpa_bytes *two = udpai_proto_encode(put_acknowledgement, &more);
    UDPA_AUTO(udpa_bytes_unref) udpa_bytes *none = udpai_proto_encode(put_acknowledgement, &gone);
    assert_true(udpai_acknowledgements_agree(one, two));
    assert_false(udpai_acknowledgements_agree(one, none));
    UDPA_AUTO(udpa_bytes_unref) udpa_bytes *other = NULL;
    uint8_t *room;
    other = udpai_bytes_make(udpa_bytes_size(one) + 3, &room);
    assert_non_null(other);
    memcpy(room, udpa_bytes_data(one), udpa_bytes_size(one));
    memcpy(room + udpa_bytes_size(one), "\x2a\x01w", 3); /* content_version: "w" */
    assert_false(udpai_acknowledgements_agree(one, other));
}

/* ---- without memory ---- */

static void
without_memory_what_is_wanted_is_asked_for(void **state)
{
    (void)state;
    world self;
    begin(&self);
    for (int n = 0; n < 3; n++) {
        udpai_report *wish = interest("a", "x", true);
        udpai_alloc_fail_after(n);
        udpai_worker_pool_report(self.pool, 1, wish);
        udpai_alloc_fail_after(-1);
        expect_interest(&self, true, "x");
        udpai_worker_pool_report(self.pool, 1, interest("a", "x", false));
        expect_interest(&self, false, "x");
        udpai_worker_pool_report(self.pool, 1, interest("a", "x", false));
        expect_nothing(&self);
    }
    udpai_order *question = udpai_order_new(UDPAI_ORDER_STATUS);
    udpai_alloc_fail_after(0);
    udpai_worker_pool_order(self.pool, question);
    udpai_alloc_fail_after(-1);
    assert_int_equal(self.n_orders[1], 0);
    end(&self);
}

/* One that speaks of some of the members alone would say too much: that all have it. */
static void
without_memory_there_is_no_answer_for_some(void **state)
{
    static const udpai_acknowledgement_state states[] = {G};
    (void)state;
    world self;
    const acknowledgement one = {true, 1, states, 1};
    begin(&self);
    give(&self, UDPAI_ORDER_ACKNOWLEDGEMENTS, 0);
    udpai_report *said[MEMBERS];
    for (size_t i = 0; i < MEMBERS; i++)
        said[i] = answer(&one, NULL);
    udpai_alloc_fail_after(0);
    for (size_t i = 0; i < MEMBERS; i++)
        udpai_worker_pool_report(self.pool, i, said[i]);
    udpai_alloc_fail_after(-1);
    UDPA_AUTO(udpai_report_free) udpai_report *told = next_report(&self);
    assert_int_equal(told->statuses.n, 2);
    assert_null(told->statuses.items[0]);
    end(&self);
}

/* Each is told apart from the next, also when one has none. */
static void
a_member_that_answers_nothing_takes_the_answer_with_it(void **state)
{
    static const udpai_acknowledgement_state states[] = {G};
    (void)state;
    world self;
    const acknowledgement one = {true, 1, states, 1};
    for (size_t silent = 0; silent < MEMBERS; silent++) {
        begin(&self);
        give(&self, UDPAI_ORDER_ACKNOWLEDGEMENTS, 0);
        for (size_t i = 0; i < MEMBERS; i++)
            udpai_worker_pool_report(self.pool, i,
                                     i == silent ? udpai_report_new(UDPAI_REPORT_ACKNOWLEDGEMENTS)
                                                 : answer(&one, &one));
        UDPA_AUTO(udpai_report_free) udpai_report *told = next_report(&self);
        assert_int_equal(told->statuses.n, 0);
        end(&self);
    }
}

static void
too_many_members(void **state)
{
    (void)state;
    const udpai_worker_pool_env env = {order, order_own, report, NULL};
    assert_null(udpai_worker_pool_new(UDPAI_WORKER_POOL_MAX + 1, &env));
    udpai_worker_pool_free(udpai_worker_pool_new(UDPAI_WORKER_POOL_MAX, &env));
    assert_null(udpai_worker_pool_free(NULL));
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_concerns_all_goes_to_all),
        cmocka_unit_test(what_concerns_a_session_goes_to_who_has_it),
        cmocka_unit_test(done_when_all_have_done_it),
        cmocka_unit_test(members_speak_of_their_own_sessions),
        cmocka_unit_test(sources_dial_any_member),
        cmocka_unit_test(wanted_while_anybody_wants_it),
        cmocka_unit_test(clients_are_there_while_they_are_anywhere),
        cmocka_unit_test(sessions_of_all_are_described),
        cmocka_unit_test(acknowledgements_add_up),
        cmocka_unit_test(not_all_sessions_are_named),
        cmocka_unit_test(a_replica_that_is_missing_has_not_acknowledged_it),
        cmocka_unit_test(answers_about_different_versions_do_not_agree),
        cmocka_unit_test(without_memory_what_is_wanted_is_asked_for),
        cmocka_unit_test(without_memory_there_is_no_answer_for_some),
        cmocka_unit_test(a_member_that_answers_nothing_takes_the_answer_with_it),
        cmocka_unit_test(too_many_members),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
