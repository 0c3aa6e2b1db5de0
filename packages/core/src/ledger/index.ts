export { recordAbsorbed } from './absorbed-metric.ts';
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
} from './model/ledger.ts';
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
  readLiveBalances,
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
  countOwnBudgets,
  enforcedBudgetIds,
  holdsExceedBudgets,
  findBudget,
  keysLimitedBy,
  listBudgets,
  markBudgetAsKeyLimit,
  sumLimits,
  type BudgetChanges,
  type BudgetRecord,
} from './budgets.store.ts';
export { sumRevenue, type RevenueSum } from './revenue.store.ts';
export { earningsByResource, sumMaturingEarnings } from './supplier-earnings.store.ts';
export {
  chargesIn,
  costsIn,
  hadCostsIn,
  hasCause,
  listDeposits,
  readFirstTransferTime,
  sumRefunds,
  sumTopUps,
  type Deposit,
  type TransferPeriod,
} from './transfer-reports.store.ts';
export { firstIdAfter, firstIdFrom } from './model/id-ranges.ts';
export { MONTH_CLOSED_AFTER_MS, monthAfter, monthOf } from './model/months.ts';
export type { BudgetPeriod } from './model/periods.ts';
export { expirePromos } from './promos.ts';
export { InsufficientFundsError, missingFundsOf, retryWithRecalledCredit } from './recalled-credit.ts';
export type { RecallCredit } from './recalled-credit.ts';
export { runwayMs, runwaySeconds, type BurnRate } from './runway.ts';
