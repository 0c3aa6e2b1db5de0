import type { Contract } from '@millrace/contract';
import type { Timer } from '@millrace/platform/clock';
import type { Db } from '@millrace/platform/db';
import type { HttpServer } from '@millrace/platform/http';
import { countGpus, countNodes, SingleFlightCache } from '../fleet/index.ts';
import { sumRevenue } from '../ledger/index.ts';
import { countRentals } from '../rentals/index.ts';
import { countPendingDecisions } from '../suppliers/index.ts';
import { toWireOverview } from './operator-overview.wire.ts';
import { revenuePeriod, revenueReport } from './revenue-report.ts';

export interface OperatorOverviewRoutes {
  readonly server: HttpServer;
  readonly operations: Contract['operations'];
  readonly db: Db;
  readonly clock: Timer;
}

/** Each process sums the revenue at most once in this time. */
export const REVENUE_MAX_AGE_MS = 60_000;

export function serveOperatorOverview({ server, operations, db, clock }: OperatorOverviewRoutes): void {
  const revenue = new SingleFlightCache(clock, async () => {
    const now = db.clock.now();
    return revenueReport(await sumRevenue(db, revenuePeriod(now)), now);
  });
  server.serve(operations.adminGetOverview, async () => {
    const [report, gpus, nodes, rentals, pending] = await Promise.all([
      revenue.get(REVENUE_MAX_AGE_MS),
      countGpus(db),
      countNodes(db, 'live'),
      countRentals(db, 'live'),
      countPendingDecisions(db),
    ]);
    return toWireOverview({ report, gpus, nodes, rentals, pending });
  });
}
