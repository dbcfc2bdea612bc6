/* A NIC library for bcs-elan: the card's broadcast and conditional, of any process, one-sided.
 *
 * libelan has both for groups whose members all call, and wait. A site with QsNet builds a library of this interface
 * from what its headers say, and names it in ElanOptions::nic_library. Both calls return at once; the event they
 * return is one that elan_poll() takes, and null if the operation cannot begin. Processes are named by their virtual
 * process numbers, a range by its lowest and highest. Memory of other processes is named, as for elan_put(), by the
 * address in the calling process that stands for it. */
#ifndef BCS_ELAN_NIC_H
#define BCS_ELAN_NIC_H

#include <elan/elan.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Writes `bytes` bytes to the same address of the card in all processes of the range, the caller among them if it lies
 * there: in all or, while one of them does not answer, in none. Complete when all have them. Those of one process take
 * effect in the order of their calls. `source` does not change before the event is complete. */
ELAN_EVENT *bcs_elan_broadcast(ELAN_STATE *state, void *source, void *destination, size_t bytes, unsigned lowest,
                               unsigned highest);

enum { BCS_ELAN_GREATER_EQUAL = 0, BCS_ELAN_LESS = 1, BCS_ELAN_EQUAL = 2, BCS_ELAN_NOT_EQUAL = 3 };

/* Compares a word, at the same address of the card in all processes of the range, with a value. `*answer` is 1 when it
 * compares so in all, and else 0; it is written before the event is complete, which it is when all have answered. */
ELAN_EVENT *bcs_elan_conditional(ELAN_STATE *state, void *variable, int condition, uint64_t value, unsigned lowest,
                                 unsigned highest, int *answer);

#ifdef __cplusplus
}
#endif
#endif
