import { settleDebt } from './debt.ts';
import { decideClose, decideHold, decidePayOut, decidePost, decideResize } from './holds.ts';
import type { LedgerCommand, LedgerResult } from '../model/ledger.ts';
import { startBudgetPeriod, walletFor, type WorkingSet, type Wallet } from './working-set.ts';
import {
  decideCredit,
  decideDebit,
  decideExpire,
  decideLimit,
  decideRefund,
  decideReverse,
} from './transfers.ts';

/** Decides one command, given the effects of the earlier commands of the batch. A refused command changes nothing. */
export function applyCommand(slice: WorkingSet, command: LedgerCommand): LedgerResult {
  const wallet = walletFor(slice, command);
  for (const limit of wallet.limits) startBudgetPeriod(slice, wallet, limit);
  const result = decideCommand(slice, wallet, command);
  settleDebt(slice, wallet);
  return result;
}

function decideCommand(slice: WorkingSet, wallet: Wallet, command: LedgerCommand): LedgerResult {
  switch (command.do) {
    case 'credit':
      return decideCredit(slice, wallet, command);
    case 'debit':
      return decideDebit(slice, wallet, command);
    case 'hold':
      return decideHold(slice, wallet, command);
    case 'resize':
      return decideResize(slice, wallet, command);
    case 'post':
      return decidePost(slice, wallet, command);
    case 'close':
      return decideClose(slice, wallet, command);
    case 'pay_out':
      return decidePayOut(slice, wallet, command);
    case 'refund':
      return decideRefund(slice, wallet, command);
    case 'reverse':
      return decideReverse(slice, wallet, command);
    case 'expire':
      return decideExpire(slice, wallet, command);
    case 'limit':
      return decideLimit(slice, wallet, command);
  }
}
