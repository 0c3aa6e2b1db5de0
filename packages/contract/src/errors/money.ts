import type { ErrorDefinition } from './definition.ts';

/** Balance, prices, budgets and the limits on a key. */
export const moneyErrors = {
  INSUFFICIENT_BALANCE: {
    status: 402,
    interfaceStatus: 400,
    message: 'The available balance does not cover what this request would hold.',
    suggestion: 'Top up, or ask for less. GET /v2/customer/balance shows what is available.',
    retryable: false,
  },
  BUDGET_EXCEEDED: {
    status: 402,
    interfaceStatus: 400,
    message: 'The budget of this key or organisation is used up for the current period.',
    suggestion: 'Wait for the next period, or raise the budget.',
    retryable: false,
  },
  ACCOUNT_FROZEN: {
    status: 403,
    message: 'The account of the organisation is frozen: no new work is admitted.',
    suggestion: 'Settle the disputed payment, or ask the operator to lift the freeze.',
    retryable: false,
  },
  MAX_USD_EXCEEDED: {
    status: 402,
    interfaceStatus: 400,
    message: 'The quoted price is above the maxUsd of the request.',
    suggestion: 'Ask POST /v2/alpha/on-demand/quote for the price, then raise maxUsd or shorten the rental.',
    retryable: false,
  },
  KEY_LIMIT_EXCEEDED: {
    status: 403,
    message: 'A limit on this API key forbids this request.',
    suggestion: 'Use a key with wider limits; GET /v2/me shows those of this one.',
    retryable: false,
  },
  QUOTA_EXCEEDED: {
    status: 403,
    message: 'The organisation has reached a quota of this installation.',
    suggestion: 'Release what is no longer used, or ask the operator for a higher quota.',
    retryable: false,
  },
  DISCOUNT_NOT_ENTITLED: {
    status: 403,
    message: 'The organisation is not entitled to the discountPercentage it claims.',
    suggestion: 'Leave discountPercentage out, or claim no more than your contract grants.',
    retryable: false,
  },
  PRICE_NOT_AVAILABLE: {
    status: 400,
    message: 'The price book holds no price for this combination.',
    suggestion: 'GET /v2/alpha/on-demand/rental-options shows what is sold, and where.',
    retryable: false,
  },
  RESERVE_OPTION_NOT_FOUND: {
    status: 400,
    message: 'termPeriodDays matches no published reserve option.',
    suggestion: 'GET /v2/alpha/on-demand/reserve-options lists the terms on offer.',
    retryable: false,
  },
  LEDGER_UNAVAILABLE: {
    status: 503,
    message: 'The ledger cannot be reached, so no new spending can be admitted.',
    suggestion: 'Try again after Retry-After. Nothing was charged.',
    retryable: true,
  },
  INVOICE_NOT_FOUND: {
    status: 404,
    interfaceStatus: 400,
    message: 'No such invoice.',
    suggestion: 'GET /v2/customer/invoices lists the invoices of the organisation.',
    retryable: false,
  },
  BUDGET_NOT_FOUND: {
    status: 404,
    interfaceStatus: 400,
    message: 'No such budget.',
    suggestion: 'GET /v2/customer/budgets lists the budgets of the organisation.',
    retryable: false,
  },
  BUDGET_LIMIT_REACHED: {
    status: 409,
    interfaceStatus: 400,
    message: 'The organisation has as many budgets as it may have.',
    suggestion: 'Delete a budget that is no longer needed.',
    retryable: false,
  },
  BUDGET_OF_KEY: {
    status: 409,
    interfaceStatus: 400,
    message: 'This budget is a limit of an API key that is still in use, and lasts as long as the key.',
    suggestion:
      'Revoke the key, or create one with another limit. Budgets of your own may be added beside it.',
    retryable: false,
  },
  OVERDRAFT_IN_USE: {
    status: 409,
    interfaceStatus: 400,
    message: 'The balance is already further below zero than this overdraft would allow.',
    suggestion: 'Grant or adjust the balance first, or allow at least what is used.',
    retryable: false,
  },
  TRANSFER_NOT_FOUND: {
    status: 404,
    interfaceStatus: 400,
    message: 'No such ledger transfer.',
    suggestion: 'GET /v2/customer/ledger lists the transfers of the organisation.',
    retryable: false,
  },
  TRANSFER_NOT_REVERSIBLE: {
    status: 409,
    interfaceStatus: 400,
    message: 'This transfer was reversed already, or its money has moved on.',
    suggestion: 'Make a new adjustment with its own reason instead.',
    retryable: false,
  },
} as const satisfies Record<string, ErrorDefinition>;
