import type { ErrorDefinition } from './definition.ts';

/** Errors of operator and supplier operations. */
export const administrationErrors = {
  PRICE_NOT_FOUND: {
    status: 404,
    message: 'No such entry in the price list.',
    suggestion: 'List the prices and use an id from the list.',
    retryable: false,
  },
  PRICE_EXISTS: {
    status: 409,
    message: 'The price list already has a price for this subject from this time.',
    suggestion: 'Choose a later validFrom, or end the other price first if it has not started.',
    retryable: false,
  },
  ENTITLEMENT_NOT_FOUND: {
    status: 404,
    message: 'No such entitlement.',
    suggestion: 'List the entitlements of the organisation and use an id from the list.',
    retryable: false,
  },
  MAINTENANCE_NOT_FOUND: {
    status: 404,
    message: 'No such maintenance window.',
    suggestion: 'List maintenance windows and use an id from the list.',
    retryable: false,
  },
  MAINTENANCE_OVER: {
    status: 409,
    message: 'The maintenance window has ended, so it cannot be cancelled.',
    suggestion: 'Its nodes returned to service when it ended. Announce another window if you need more time.',
    retryable: false,
  },
  SUPPLIER_NOT_FOUND: {
    status: 404,
    message: 'No such supplier.',
    suggestion: 'List suppliers and use an id from the list.',
    retryable: false,
  },
  SUPPLIER_EXISTS: {
    status: 409,
    message: 'This organisation has already applied to be a supplier.',
    suggestion: 'Read the application to see its status.',
    retryable: false,
  },
  SUPPLIER_NOT_APPROVED: {
    status: 403,
    message: 'This organisation is not an approved supplier.',
    suggestion: 'GET /v2/supplier/account shows the status of the application and its reason.',
    retryable: false,
  },
  MARKETPLACE_NOT_OPEN: {
    status: 409,
    message: 'This installation does not accept machines of suppliers.',
    suggestion: 'Ask the operator to configure the provider for machines of suppliers.',
    retryable: false,
  },
  JOIN_TOKEN_INVALID: {
    status: 403,
    message: 'This join token is not valid.',
    suggestion: 'Create another token with POST /v2/supplier/join-tokens.',
    retryable: false,
  },
  MACHINE_JOINED_ALREADY: {
    status: 409,
    message: 'The daemon of this machine has already joined.',
    suggestion: 'Withdraw the machine that uses the daemon, or repeat the join with its original token.',
    retryable: false,
  },
  MACHINE_LIMIT_REACHED: {
    status: 409,
    message: 'The supplier has reached its limit of machines or of machines that are joining.',
    suggestion:
      'Wait until the joining machines are enrolled or refused, or withdraw machines that you do not need.',
    retryable: false,
  },
  ENROLMENT_NOT_FOUND: {
    status: 404,
    message: 'No such enrolment.',
    suggestion: 'List enrolments and use an id from the list.',
    retryable: false,
  },
  JOIN_TOKEN_LIMIT_REACHED: {
    status: 409,
    message: 'The supplier has reached its limit of usable join tokens.',
    suggestion: 'Revoke a token that you do not need, or allow more machines per token with maxMachines.',
    retryable: false,
  },
  JOIN_TOKEN_NOT_FOUND: {
    status: 404,
    message: 'No such join token.',
    suggestion: 'List join tokens and use an id from the list.',
    retryable: false,
  },
  STATEMENT_NOT_FOUND: {
    status: 404,
    message: 'No such statement.',
    suggestion: 'List statements and use an id from the list.',
    retryable: false,
  },
  PAYOUT_NOT_FOUND: {
    status: 404,
    message: 'No such payout.',
    suggestion: 'List payouts and use an id from the list.',
    retryable: false,
  },
  HOST_ANSWERS: {
    status: 409,
    message: 'The host responds, so nothing was written off.',
    suggestion:
      'Terminate the rental, delete the volume or drain the node: the host can confirm the removal. If the host is broken, switch it off first.',
    retryable: false,
  },
  NODE_HAS_WRITE_OFFS: {
    status: 409,
    message: 'Machines of this node were written off, and its engine has not confirmed their deletion.',
    suggestion:
      'Wait until the engine responds and the orphaned machines are removed, which starts a minute after they are seen. If there are many, allow the removal with `millrace-admin strays allow`.',
    retryable: true,
  },
  PAYOUT_SETTLED: {
    status: 409,
    message: 'This payout was already settled with another outcome.',
    suggestion: 'Read the payout to see its outcome. To record money that came back, reverse its transfer.',
    retryable: false,
  },
  PAYOUT_LIMIT_REACHED: {
    status: 409,
    message: 'The supplier has reached its limit of payouts that wait for settlement.',
    suggestion: 'Wait until the operator has settled one, then request the rest in one payout.',
    retryable: false,
  },
  PAYOUT_EXCEEDS_EARNINGS: {
    status: 409,
    message: 'The payout is more than the payable amount.',
    suggestion: 'Read the earnings and request at most the payable amount.',
    retryable: false,
  },
} as const satisfies Record<string, ErrorDefinition>;
