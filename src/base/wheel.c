/* SPDX-License-Identifier: Apache-2.0 */
/* A timer lies at the level of the highest 6-bit digit in which its time differs from now, in the
 * slot of that digit; so every timer of a lower level is due before all of a higher one, and when
 * the time enters a slot of a higher level, its timers move down. */
#include "base/wheel.h"

#define BITS 6
#define FARTHEST ((uint64_t)1 << 46) /* keeps every time below 2^48, what 8 levels hold */

void
udpai_wheel_init(udpai_wheel *wheel, uint64_t now_ms)
{
    memset(wheel, 0, sizeof(*wheel));
    wheel->now_ms = now_ms;
    udpai_list_init(&wheel->due);
    for (size_t level = 0; level < UDPAI_WHEEL_LEVELS; level++)
        for (size_t slot = 0; slot < UDPAI_WHEEL_SLOTS; slot++)
            udpai_list_init(&wheel->slots[level][slot]);
}

void
udpai_timer_init(udpai_timer *timer, udpai_timer_fn fire)
{
    udpai_list_init(&timer->node);
    timer->due_ms = UDPAI_WHEEL_NEVER;
    timer->fire = fire;
}

static void
place(udpai_wheel *wheel, udpai_timer *timer)
{
    if (timer->due_ms <= wheel->now_ms) {
        udpai_list_append(&wheel->due, &timer->node);
        return;
    }
    unsigned level = (63 - (unsigned)__builtin_clzll(timer->due_ms ^ wheel->now_ms)) / BITS;
    unsigned slot = (unsigned)(timer->due_ms >> (level * BITS)) & (UDPAI_WHEEL_SLOTS - 1);
    udpai_list_append(&wheel->slots[level][slot], &timer->node);
    wheel->occupied[level] |= (uint64_t)1 << slot;
}

void
udpai_timer_set(udpai_wheel *wheel, udpai_timer *timer, uint64_t due_ms)
{
    udpai_list_remove(&timer->node);
    timer->due_ms = due_ms - wheel->now_ms > FARTHEST && due_ms > wheel->now_ms
                        ? wheel->now_ms + FARTHEST
                        : due_ms;
    place(wheel, timer);
}

void
udpai_timer_cancel(udpai_timer *timer)
{
    udpai_list_remove(&timer->node);
}

bool
udpai_timer_is_set(const udpai_timer *timer)
{
    return udpai_list_linked(&timer->node);
}

/* The first slot of the level that holds timers, or UDPAI_WHEEL_SLOTS. */
static unsigned
first_slot(udpai_wheel *wheel, unsigned level)
{
    while (wheel->occupied[level]) {
        unsigned slot = (unsigned)__builtin_ctzll(wheel->occupied[level]);
        if (!udpai_list_empty(&wheel->slots[level][slot]))
            return slot;
        wheel->occupied[level] &= wheel->occupied[level] - 1;
    }
    return UDPAI_WHEEL_SLOTS;
}

/* When the time enters the next slot that holds timers, those already due aside. */
static uint64_t
next_slot_time(udpai_wheel *wheel)
{
    for (unsigned level = 0; level < UDPAI_WHEEL_LEVELS; level++) {
        unsigned slot = first_slot(wheel, level);
        if (slot < UDPAI_WHEEL_SLOTS) {
            uint64_t above = ~(((uint64_t)1 << ((level + 1) * BITS)) - 1);
            return (wheel->now_ms & above) | ((uint64_t)slot << (level * BITS));
        }
    }
    return UDPAI_WHEEL_NEVER;
}

uint64_t
udpai_wheel_next(udpai_wheel *wheel)
{
    return udpai_list_empty(&wheel->due) ? next_slot_time(wheel) : wheel->now_ms;
}

static void
move_down(udpai_wheel *wheel)
{
    for (unsigned level = UDPAI_WHEEL_LEVELS; level-- > 0;) {
        unsigned slot = (unsigned)(wheel->now_ms >> (level * BITS)) & (UDPAI_WHEEL_SLOTS - 1);
        udpai_list entered;
        udpai_list_init(&entered);
        udpai_list_splice(&entered, &wheel->slots[level][slot]);
        wheel->occupied[level] &= ~((uint64_t)1 << slot);
        udpai_list *node;
        while ((node = udpai_list_pop(&entered)))
            place(wheel, UDPAI_LIST_ENTRY(node, udpai_timer, node));
    }
}

static void
fire_due(udpai_wheel *wheel)
{
    udpai_list firing;
    udpai_list_init(&firing);
    udpai_list_splice(&firing, &wheel->due);
    udpai_list *node;
    while ((node = udpai_list_pop(&firing))) {
        udpai_timer *timer = UDPAI_LIST_ENTRY(node, udpai_timer, node);
        timer->fire(timer);
    }
}

void
udpai_wheel_advance(udpai_wheel *wheel, uint64_t now_ms)
{
    fire_due(wheel); /* only once: a timer that sets itself to now waits for the next call */
    uint64_t next;
    while ((next = next_slot_time(wheel)) <= now_ms) {
        wheel->now_ms = next;
        move_down(wheel);
        fire_due(wheel);
    }
    if (wheel->now_ms < now_ms)
        wheel->now_ms = now_ms;
}
