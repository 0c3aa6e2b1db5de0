/** Why a request is rejected. INSUFFICIENT_BALANCE needs a response of the ledger. */
export type AdmissionErrorReason =
  | 'RATE_LIMITED'
  | 'INSUFFICIENT_BALANCE'
  | 'BUDGET_EXCEEDED'
  | 'ACCOUNT_FROZEN'
  | 'LEDGER_UNAVAILABLE';

export type LeaseErrorReason = 'no money' | 'budget exceeded' | 'frozen' | 'busy';

/** `null` means that the ledger did not respond. */
export function toAdmissionErrorReason(reason: LeaseErrorReason | null): AdmissionErrorReason {
  if (reason === 'no money') return 'INSUFFICIENT_BALANCE';
  if (reason === 'budget exceeded') return 'BUDGET_EXCEEDED';
  if (reason === 'frozen') return 'ACCOUNT_FROZEN';
  return 'LEDGER_UNAVAILABLE';
}
