import type { CheckText } from './checks.ts';

/** The checks of GPUs, ports and holds that nothing uses. */

const leakedResourceRemedy =
  'Find in the log which release did not come to its end, then release it as the owner of the database by the functions of the fleet. Until then it cannot be sold.';

export const resourceChecks = {
  allocation_has_rental: {
    rule: 'Every allocation that was not released is of a rental that has not ended, or of a machine that is being removed.',
    text: ({ actual }) => `It is ${actual}: its GPUs and ports cannot be sold.`,
    remedy: leakedResourceRemedy,
  },
  gpu_has_allocation: {
    rule: 'A GPU that is taken belongs to an allocation that was not released.',
    text: ({ actual }) => `The GPU is ${actual}: it cannot be sold.`,
    remedy: leakedResourceRemedy,
  },
  port_has_allocation: {
    rule: 'A port that is taken belongs to an allocation that was not released.',
    text: ({ actual }) => `The port is ${actual}: it cannot be given to another machine.`,
    remedy: leakedResourceRemedy,
  },
  node_capacity: {
    rule: 'The counted GPUs of a node (in all, free, allocated) are those of its rows.',
    text: ({ actual, expected }) =>
      `It counts ${actual} GPUs (in all/free/allocated); its rows make ${expected}.`,
    remedy:
      'Run select recount_node(id) for the node as the owner of the database, after finding what wrote the row.',
  },
  hold_has_owner: {
    rule: 'Money that is set aside for a rental, an instance or a payout is of a term, an open meter or the payout.',
    text: ({ expected }) => `It sets money aside and is not held by ${expected}.`,
    remedy:
      'Find what took the hold (its key names the step), then release it as the owner of the database by the functions of the ledger.',
  },
} as const satisfies Record<string, CheckText>;
