export { applyLedger, LedgerError, requireLedgerSuccess } from './ledger.service.ts';
export type {
  Balance,
  CreditCommand,
  WorkState,
  Destination,
  LedgerSuccess,
  HoldRecord,
  LedgerCommand,
  LedgerResult,
  MoneyCause,
  Product,
  LedgerRefused,
  RejectionReason,
  Share,
  SystemAccount,
  TransferKind,
  TransferRecord,
  UsageQuantities,
} from './ledger.ts';
export { listTransfersOf, readHeldFor, readLeasedCredit, type CauseTransfer } from './causes.store.ts';
export {
  findAnyTransfer,
  findHold,
  findTransfer,
  listAllTransfers,
  listTransfers,
  readBalance,
  readBalances,
  readEarned,
  setFrozen,
  setOverdraft,
  walletKey,
  type EarnedBalance,
  type TransferFilter,
  type WalletRef,
} from './ledger.store.ts';
export { changeBudget, createBudget, removeBudget, type NewBudget } from './budgets.service.ts';
export {
  addKeyToBudgets,
  holdsExceedBudgets,
  findBudget,
  listBudgets,
  sumLimits,
  type BudgetChanges,
  type BudgetPeriod,
  type BudgetRecord,
} from './budgets.store.ts';
export { firstIdAfter, firstIdFrom } from './id-ranges.ts';
export { MONTH_CLOSED_AFTER_MS, monthAfter, monthOf } from './months.ts';
export { expirePromos } from './promos.ts';
export {
  InsufficientFunds,
  missingFundsOf,
  retryWithRecalledCredit,
  type RecallCredit,
} from './recalled-credit.ts';
export { runwayMs, runwaySeconds, type BurnRate } from './runway.ts';
