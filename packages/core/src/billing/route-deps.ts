import type { Contract } from '@millrace/contract';
import type { Db } from '@millrace/platform/db';
import type { HttpServer } from '@millrace/platform/http';
import type { RecallCredit } from '../ledger/index.ts';
import type { ReadBurnRate } from './burn-rate.ts';

export interface BillingRoutes {
  readonly server: HttpServer;
  readonly operations: Contract['operations'];
  readonly db: Db;
  readonly clock: { now(): Date };
  readonly burnOf: ReadBurnRate;
  readonly recallMoney?: RecallCredit | undefined;
}

export function periodOf(query: {
  readonly from?: string | undefined;
  readonly until?: string | undefined;
}): { readonly from?: Date; readonly until?: Date } {
  return {
    ...(query.from === undefined ? {} : { from: new Date(query.from) }),
    ...(query.until === undefined ? {} : { until: new Date(query.until) }),
  };
}
