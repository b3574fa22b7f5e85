/* SPDX-License-Identifier: Apache-2.0 */
#include "session/worker_pool.h"

#include "base/alloc.h"
#include "base/log.h"
#include "base/map.h"
#include "model/event_kind.h"
#include "session/worker_pool_answers.h"

/* Which of the members subscribe to it, a bit for each. */
typedef struct demand {
    uint64_t members;
    size_t len;
    char key[];
} demand;

/* A question to all members, and what has been answered. */
typedef struct question {
    udpai_list node;
    udpai_report_kind kind; /* of the answers */
    uint64_t unanswered;    /* a bit for each member */
    udpai_report *answer;   /* of all that have answered; NULL: of nobody yet */
} question;

struct udpai_worker_pool {
    size_t n_members;
    udpai_worker_pool_env env;
    uint64_t n_applied[UDPAI_WORKER_POOL_MAX], n_settled[UDPAI_WORKER_POOL_MAX];
    uint64_t n_all_applied, n_all_settled; /* by all of them */
    udpai_map demands;
    udpai_map clients; /* name spaces, as demands */
    size_t n_unnoted;  /* demands that were passed on, but there was no memory to note */
    udpai_list questions;
};

static udpai_str
demand_key(const void *item)
{
    const demand *one = item;
    return (udpai_str){one->key, one->len};
}

udpai_worker_pool *
udpai_worker_pool_new(size_t n_members, const udpai_worker_pool_env *env)
{
    udpai_worker_pool *pool =
        n_members <= UDPAI_WORKER_POOL_MAX ? udpai_alloc(sizeof(*pool)) : NULL;
    if (!pool)
        return NULL;
    pool->n_members = n_members;
    pool->env = *env;
    udpai_map_init(&pool->demands, demand_key);
    udpai_map_init(&pool->clients, demand_key);
    udpai_list_init(&pool->questions);
    return pool;
}

static void
free_demands(udpai_map *demands)
{
    size_t at = 0;
    demand *one;
    while ((one = udpai_map_next(demands, &at)))
        udpai_free(one);
    udpai_map_done(demands);
}

static void
free_question(question *asked)
{
    udpai_list_remove(&asked->node);
    udpai_report_free(asked->answer);
    udpai_free(asked);
}

udpai_worker_pool *
udpai_worker_pool_free(udpai_worker_pool *pool)
{
    if (!pool)
        return NULL;
    free_demands(&pool->demands);
    free_demands(&pool->clients);
    while (!udpai_list_empty(&pool->questions))
        free_question(UDPAI_LIST_ENTRY(pool->questions.next, question, node));
    udpai_free(pool);
    return NULL;
}

/* ---- orders ---- */

static bool
note_question(udpai_worker_pool *pool, udpai_report_kind kind)
{
    question *asked = udpai_alloc(sizeof(*asked));
    if (!asked)
        return false;
    asked->kind = kind;
    asked->unanswered = pool->n_members < 64 ? (UINT64_C(1) << pool->n_members) - 1 : UINT64_MAX;
    udpai_list_append(&pool->questions, &asked->node);
    return true;
}

static void
give_all(udpai_worker_pool *pool, udpai_order *order)
{
    for (size_t i = 1; i < pool->n_members; i++)
        pool->env.order(pool->env.userdata, i, order);
    pool->env.order_own(pool->env.userdata, order);
}

static void
give_one(udpai_worker_pool *pool, udpai_order *order)
{
    uint64_t member = order->session % UDPAI_WORKER_POOL_STEP;
    if (member == 0) {
        pool->env.order_own(pool->env.userdata, order);
        return;
    }
    if (member < pool->n_members)
        pool->env.order(pool->env.userdata, (size_t)member, order);
    udpai_order_free(order);
}

void
udpai_worker_pool_order(udpai_worker_pool *pool, udpai_order *order)
{
    bool is_understood = true;
    switch (order->kind) {
    case UDPAI_ORDER_STATUS:
        is_understood = note_question(pool, UDPAI_REPORT_STATUS);
        break;
    case UDPAI_ORDER_ACKNOWLEDGEMENTS:
        is_understood = note_question(pool, UDPAI_REPORT_ACKNOWLEDGEMENTS);
        break;
    case UDPAI_ORDER_CHANGES:
    case UDPAI_ORDER_SETTLED:
    case UDPAI_ORDER_FORGET:
    case UDPAI_ORDER_ACL:
    case UDPAI_ORDER_CENSUS:
    case UDPAI_ORDER_EPOCH:
    case UDPAI_ORDER_COMMIT:
    case UDPAI_ORDER_TWINS:
    case UDPAI_ORDER_SPREAD:
    case UDPAI_ORDER_DRAIN:
    case UDPAI_ORDER_LEAVE:
        break;
    default:
        give_one(pool, order);
        return;
    }
    if (is_understood)
        give_all(pool, order);
    else
        udpai_order_free(order); /* the client asks again */
}

/* ---- what all must have done ---- */

static uint64_t
least(const udpai_worker_pool *pool, const uint64_t *counts)
{
    uint64_t n = counts[0];
    for (size_t i = 1; i < pool->n_members; i++)
        n = counts[i] < n ? counts[i] : n;
    return n;
}

/* Answers come in the order of the orders, so counting them is enough. */
static bool
is_done_by_all(const udpai_worker_pool *pool, uint64_t *counts, size_t member, uint64_t *n_all)
{
    counts[member]++;
    if (least(pool, counts) == *n_all)
        return false;
    ++*n_all;
    return true;
}

/* ---- aggregated demand ---- */

static demand *
make_demand(udpai_map *demands, udpai_str key)
{
    demand *one = udpai_alloc(sizeof(*one) + key.len);
    if (!one)
        return NULL;
    one->len = key.len;
    if (key.len)
        memcpy(one->key, key.data, key.len);
    if (udpai_map_add(demands, one))
        return one;
    udpai_free(one);
    return NULL;
}

/* What cannot be noted is passed on all the same, and taken back as often; but no member takes back
 * what it has not subscribed to. */
static bool
is_news_unnoted(udpai_worker_pool *pool, bool subscribed)
{
    if (!subscribed && pool->n_unnoted == 0)
        return false;
    pool->n_unnoted = subscribed ? pool->n_unnoted + 1 : pool->n_unnoted - 1;
    return true;
}

/* Is the member the first to subscribe, or the last? */
static bool
is_news(udpai_worker_pool *pool,
        udpai_map *demands,
        udpai_str key,
        const udpai_report *report,
        size_t member)
{
    bool subscribed = report->subscribed;
    demand *one = udpai_map_get(demands, key);
    uint64_t bit = UINT64_C(1) << member;
    if (!one && subscribed)
        one = make_demand(demands, key);
    if (!one)
        return is_news_unnoted(pool, subscribed);
    uint64_t before = one->members;
    one->members = subscribed ? before | bit : before & ~bit;
    uint64_t now = one->members;
    if (now == 0) {
        udpai_map_remove(demands, key);
        udpai_free(one);
    }
    return (before == 0) != (now == 0);
}

/* Type, prefix, name and whether of nodes, with a zero byte between them, which none of them has.
 */
static bool
is_news_of_interest(udpai_worker_pool *pool, size_t member, const udpai_report *report)
{
    const udpai_subscription_message *message = report->subscription;
    const udpai_str parts[] = {message->type_url, message->name_space,
                               message->n_names ? message->names[0] : (udpai_str){0},
                               message->distance ? UDPAI_STR("nodes") : (udpai_str){0}};
    size_t len = UDPAI_ARRAY_LEN(parts);
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(parts); i++)
        len += parts[i].len;
    char *key = udpai_alloc(len); /* zeroed */
    if (!key)
        return is_news_unnoted(pool, report->subscribed);
    size_t at = 0;
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(parts); i++) {
        if (parts[i].len)
            memcpy(key + at, parts[i].data, parts[i].len);
        at += parts[i].len + 1;
    }
    bool is = is_news(pool, &pool->demands, (udpai_str){key, len}, report, member);
    udpai_free(key);
    return is;
}

/* A name that nodes subscribe to at one member, and now at another one, too: to them it is asked
 * for again. */
static bool
becomes_again(udpai_report *report)
{
    bool is = report->subscribed && report->subscription->distance;
    if (is)
        report->kind = UDPAI_REPORT_PASSED_ON;
    return is;
}

/* That they are there is reported again when more is known of them. */
static bool
is_news_of_clients(udpai_worker_pool *pool, size_t member, const udpai_report *report)
{
    udpai_str name_space = udpai_bytes_view(report->name_space);
    bool is = is_news(pool, &pool->clients, name_space, report, member);
    return is || report->subscribed;
}

/* ---- what all have answered ---- */

static question *
find_question(const udpai_worker_pool *pool, size_t member, udpai_report_kind kind)
{
    UDPAI_LIST_FOREACH (at, &pool->questions) {
        question *asked = UDPAI_LIST_ENTRY(at, question, node);
        if (asked->kind == kind && (asked->unanswered >> member & 1))
            return asked;
    }
    return NULL;
}

static void
take_answer(udpai_worker_pool *pool, size_t member, udpai_report *report)
{
    question *asked = find_question(pool, member, report->kind);
    if (!asked) {
        udpai_report_free(report);
        return;
    }
    asked->unanswered &= ~(UINT64_C(1) << member);
    if (!asked->answer)
        asked->answer = report;
    else if (report->kind == UDPAI_REPORT_STATUS)
        udpai_worker_pool_join_sessions(asked->answer, report);
    else
        udpai_worker_pool_join_acknowledgements(asked->answer, report);
    if (asked->unanswered)
        return;
    udpai_report *answer = UDPAI_TAKE(asked->answer);
    free_question(asked);
    pool->env.report(pool->env.userdata, answer);
}

/* ---- events ---- */

/* What a worker has is for the first member, which has the topics; and what that has is for the
 * worker that it names. Without memory it is not answered, and no more comes. */
static void
pass_events(udpai_worker_pool *pool, size_t member, udpai_report *report, udpai_order_kind kind)
{
    uint64_t worker = member ? member : report->ticket / UDPAI_EVENT_KINDS;
    bool is_one = worker > 0 && worker < pool->n_members;
    udpai_order *order = is_one ? udpai_order_new(kind) : NULL;
    if (order) {
        order->session = worker;
        order->ticket = member ? report->ticket : report->ticket % UDPAI_EVENT_KINDS;
        order->is_set = report->subscribed;
        order->events = UDPAI_TAKE(report->events);
    }
    udpai_report_free(report);
    if (order && member)
        pool->env.order_own(pool->env.userdata, order);
    else if (order)
        give_one(pool, order);
}

static bool
is_its_own(size_t member, const udpai_report *report)
{
    return report->session == 0 || report->session % UDPAI_WORKER_POOL_STEP == member;
}

void
udpai_worker_pool_report(udpai_worker_pool *pool, size_t member, udpai_report *report)
{
    bool is_news_here = true;
    if (member) /* only the first has links; of a source that dials us, its session was given one */
        report->link = 0;
    if (!is_its_own(member, report)) {
        udpai_log(UDPA_LOG_ERROR, "session",
                  "ignored a report of worker %zu on a session that it does not have", member);
        udpai_report_free(report);
        return;
    }
    switch (report->kind) {
    case UDPAI_REPORT_APPLIED:
        is_news_here = is_done_by_all(pool, pool->n_applied, member, &pool->n_all_applied);
        break;
    case UDPAI_REPORT_SETTLED:
        is_news_here = is_done_by_all(pool, pool->n_settled, member, &pool->n_all_settled);
        break;
    case UDPAI_REPORT_INTEREST:
        is_news_here = is_news_of_interest(pool, member, report) || becomes_again(report);
        break;
    case UDPAI_REPORT_CLIENTS:
        is_news_here = is_news_of_clients(pool, member, report);
        break;
    case UDPAI_REPORT_STATUS:
    case UDPAI_REPORT_ACKNOWLEDGEMENTS:
        take_answer(pool, member, report);
        return;
    case UDPAI_REPORT_EVENTS:
        pass_events(pool, member, report, UDPAI_ORDER_EVENTS);
        return;
    case UDPAI_REPORT_EVENTS_TAKEN:
        pass_events(pool, member, report, UDPAI_ORDER_EVENTS_TAKEN);
        return;
    case UDPAI_REPORT_EVENTS_DEMAND:
        pass_events(pool, member, report, UDPAI_ORDER_EVENTS_DEMAND);
        return;
    default:
        break;
    }
    if (is_news_here)
        pool->env.report(pool->env.userdata, report);
    else
        udpai_report_free(report);
}
