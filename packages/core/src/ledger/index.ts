export { applyLedger, LedgerRefusal, requireDone } from './ledger.service.ts';
export type {
  Balance,
  CreditCommand,
  Demand,
  Destination,
  Done,
  HoldRecord,
  LedgerCommand,
  LedgerResult,
  MoneyCause,
  Product,
  Refused,
  RefusalReason,
  Share,
  SystemAccount,
  TransferKind,
  TransferRecord,
  UsageQuantities,
} from './ledger.ts';
export { listTransfersOf, readHeldFor, readLent, type CausedTransfer } from './causes.store.ts';
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
  areBeyondBudgets,
  findBudget,
  listBudgets,
  sumLimits,
  type BudgetChanges,
  type BudgetPeriod,
  type BudgetRecord,
} from './budgets.store.ts';
export { firstIdAfter, firstIdOf } from './id-format.ts';
export { MONTH_IS_CLOSED_AFTER_MS, monthAfter, monthOf } from './months.ts';
export { expirePromos } from './promos.ts';
export { MoneyMissing, missingMoney, withRecalledMoney, type RecallMoney } from './recalled-money.ts';
export { runwayMs, runwaySeconds, type Burn } from './runway.ts';
