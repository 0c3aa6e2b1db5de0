import type { ErrorDefinition } from './definition.ts';

/** What operators and suppliers work with: prices, maintenance, suppliers and their money. */
export const administrationErrors = {
  PRICE_NOT_FOUND: {
    status: 404,
    message: 'There is no such entry in the price book.',
    suggestion: 'List the price book and use an id from it.',
    retryable: false,
  },
  PRICE_EXISTS: {
    status: 409,
    message: 'The price book already holds a price for this subject from this moment on.',
    suggestion: 'Choose a later validFrom, or end the other price first if it has not begun.',
    retryable: false,
  },
  ENTITLEMENT_NOT_FOUND: {
    status: 404,
    message: 'There is no such entitlement.',
    suggestion: 'List the entitlements of the organisation and use an id from them.',
    retryable: false,
  },
  MAINTENANCE_NOT_FOUND: {
    status: 404,
    message: 'There is no such maintenance window.',
    suggestion: 'List maintenance windows and use an id from the list.',
    retryable: false,
  },
  MAINTENANCE_OVER: {
    status: 409,
    message: 'The maintenance is over, so there is nothing to call off.',
    suggestion: 'Its nodes were put back into use at its end. Announce another window if more is to be done.',
    retryable: false,
  },
  SUPPLIER_NOT_FOUND: {
    status: 404,
    message: 'There is no such supplier.',
    suggestion: 'List suppliers and use an id from the list.',
    retryable: false,
  },
  SUPPLIER_EXISTS: {
    status: 409,
    message: 'This organisation has already applied to be a supplier.',
    suggestion: 'Read the application to see how it stands.',
    retryable: false,
  },
  SUPPLIER_NOT_APPROVED: {
    status: 403,
    message: 'This organisation is not an approved supplier.',
    suggestion: 'Read GET /v2/supplier/account to see how it stands, and why.',
    retryable: false,
  },
  MARKETPLACE_NOT_OPEN: {
    status: 409,
    message: 'This installation takes no machines of suppliers.',
    suggestion: 'Ask its operator to set up the provider that the machines of suppliers belong to.',
    retryable: false,
  },
  JOIN_TOKEN_INVALID: {
    status: 403,
    message: 'With this join token no machine can join.',
    suggestion: 'Make another one with POST /v2/supplier/join-tokens.',
    retryable: false,
  },
  MACHINE_JOINED_ALREADY: {
    status: 409,
    message: 'The daemon of this machine has joined already.',
    suggestion: 'Withdraw the machine that has it, or repeat the join with the token that it came with.',
    retryable: false,
  },
  MACHINE_LIMIT_REACHED: {
    status: 409,
    message: 'The supplier has as many machines, or as many that are joining, as it can have.',
    suggestion:
      'Wait until those that are joining are enrolled or refused, or withdraw machines that are not needed.',
    retryable: false,
  },
  ENROLMENT_NOT_FOUND: {
    status: 404,
    message: 'There is no such enrolment.',
    suggestion: 'List enrolments and use an id from the list.',
    retryable: false,
  },
  JOIN_TOKEN_LIMIT_REACHED: {
    status: 409,
    message: 'The supplier has as many usable join tokens as it can have.',
    suggestion: 'Revoke one that is not needed, or let more machines join with one by maxMachines.',
    retryable: false,
  },
  JOIN_TOKEN_NOT_FOUND: {
    status: 404,
    message: 'There is no such join token.',
    suggestion: 'List join tokens and use an id from the list.',
    retryable: false,
  },
  STATEMENT_NOT_FOUND: {
    status: 404,
    message: 'There is no such statement.',
    suggestion: 'List statements and use an id from the list.',
    retryable: false,
  },
  PAYOUT_NOT_FOUND: {
    status: 404,
    message: 'There is no such payout.',
    suggestion: 'List payouts and use an id from the list.',
    retryable: false,
  },
  HOST_ANSWERS: {
    status: 409,
    message: 'Its host answers, so nothing is written off.',
    suggestion:
      'Terminate the rental, delete the volume or drain the node: what a host confirms is removed in the usual way. If the host is broken, switch it off first.',
    retryable: false,
  },
  NODE_HAS_WRITE_OFFS: {
    status: 409,
    message: 'Machines of this node were written off, and its engine has not confirmed that they are gone.',
    suggestion:
      'Wait until the engine answers and the orphaned machines are removed, which begins a minute after they are seen. If they are many, allow it: millrace-admin strays allow.',
    retryable: true,
  },
  PAYOUT_SETTLED: {
    status: 409,
    message: 'This payout was settled already, and not like this.',
    suggestion:
      'Read it to see what became of it. Money that came back is recorded by reversing its transfer.',
    retryable: false,
  },
  PAYOUT_LIMIT_REACHED: {
    status: 409,
    message: 'As many payouts as there can be wait to be settled.',
    suggestion: 'Wait until the operator has settled one, then ask for the rest in one payout.',
    retryable: false,
  },
  PAYOUT_EXCEEDS_EARNINGS: {
    status: 409,
    message: 'The payout is more than what is payable.',
    suggestion: 'Read the earnings and ask for at most the payable amount.',
    retryable: false,
  },
} as const satisfies Record<string, ErrorDefinition>;
