/** Why a request is turned away. Only a ledger that answered may say that there is no money. */
export type AdmissionErrorReason =
  | 'RATE_LIMITED'
  | 'INSUFFICIENT_BALANCE'
  | 'BUDGET_EXCEEDED'
  | 'ACCOUNT_FROZEN'
  | 'LEDGER_UNAVAILABLE';

export type LeaseErrorReason = 'no money' | 'budget exceeded' | 'frozen' | 'busy';

/** `null` stands for a ledger that did not answer. */
export function toAdmissionErrorReason(reason: LeaseErrorReason | null): AdmissionErrorReason {
  if (reason === 'no money') return 'INSUFFICIENT_BALANCE';
  if (reason === 'budget exceeded') return 'BUDGET_EXCEEDED';
  if (reason === 'frozen') return 'ACCOUNT_FROZEN';
  return 'LEDGER_UNAVAILABLE';
}
