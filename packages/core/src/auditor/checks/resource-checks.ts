import type { CheckText } from './checks.ts';

/** Checks for GPUs, ports and holds without a user. */

const leakedResourceRemedy =
  'Find in the log which release did not complete, then release it as the database owner with the functions of the fleet. Until then it cannot be sold.';

export const resourceChecks = {
  allocation_has_rental: {
    rule: 'Every live allocation belongs to a rental that has not ended, or to a machine that is being removed.',
    text: ({ actual }) => `It is ${actual}: its GPUs and ports cannot be sold.`,
    remedy: leakedResourceRemedy,
  },
  gpu_has_allocation: {
    rule: 'Every taken GPU belongs to a live allocation.',
    text: ({ actual }) => `The GPU is ${actual}: it cannot be sold.`,
    remedy: leakedResourceRemedy,
  },
  port_has_allocation: {
    rule: 'Every taken port belongs to a live allocation.',
    text: ({ actual }) => `The port is ${actual}: it cannot be given to another machine.`,
    remedy: leakedResourceRemedy,
  },
  node_capacity: {
    rule: 'The GPU counts of a node (total, free, allocated) match its rows.',
    text: ({ actual, expected }) =>
      `It counts ${actual} GPUs (total/free/allocated); its rows have ${expected}.`,
    remedy: 'Find what wrote the row, then run select recount_node(id) for the node as the database owner.',
  },
  hold_has_owner: {
    rule: 'Every hold of a rental, an instance or a payout belongs to a term, an open meter or the payout.',
    text: ({ expected }) => `It holds money and does not belong to ${expected}.`,
    remedy:
      'Find what created the hold (its key names the step), then release it as the database owner with the functions of the ledger.',
  },
} as const satisfies Record<string, CheckText>;
