// SPDX-License-Identifier: BSD-3-Clause
/**
 * @file
 * The firmware's queue: first in, first out, linked through a node in what it holds.
 */
#ifndef ASSASIN_FW_LIST_H
#define ASSASIN_FW_LIST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** A place in one list. Zero is a node that is in none. */
struct node {
    struct node *next;
};

/** Zero is an empty list. `last` is undefined while it is empty. */
struct list {
    struct node *first, *last;
};

/** The `type` whose `member` is the node, or other member, at `p`. */
#define CONTAINER(p, type, member) ((type *)(void *)((uint8_t *)(p)-offsetof(type, member)))

/** The `type` whose `member` is at `p`; NULL for NULL. */
#define CONTAINER_OR_NULL(p, type, member) ((p) != NULL ? CONTAINER(p, type, member) : NULL)

static inline bool list_empty(const struct list *l) {
    return l->first == NULL;
}

/** Add `n` at the end. */
static inline void list_put(struct list *l, struct node *n) {
    n->next = NULL;
    if (l->first == NULL) {
        l->first = n;
    } else {
        l->last->next = n;
    }
    l->last = n;
}

/** Add `n` in front of the others. */
static inline void list_push(struct list *l, struct node *n) {
    n->next = l->first;
    if (l->first == NULL) {
        l->last = n;
    }
    l->first = n;
}

/** Take the first node, NULL when there is none. */
static inline struct node *list_take(struct list *l) {
    struct node *n = l->first;
    if (n != NULL) {
        l->first = n->next;
    }
    return n;
}

/** Take all nodes: a list of them. */
static inline struct list list_take_all(struct list *l) {
    struct list all = *l;
    l->first = NULL;
    return all;
}

/** Take `n` out, wherever it is. False when it is not in the list. */
static inline bool list_remove(struct list *l, const struct node *n) {
    struct node *before = NULL;
    for (struct node *p = l->first; p != NULL; before = p, p = p->next) {
        if (p != n) {
            continue;
        }
        if (before == NULL) {
            l->first = p->next;
        } else {
            before->next = p->next;
        }
        if (l->last == p) {
            l->last = before;
        }
        return true;
    }
    return false;
}

#endif
