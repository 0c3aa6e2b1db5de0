import type { ResponseBody, Contract } from '@millrace/contract';
import type { Timer } from '@millrace/platform/clock';
import type { Db } from '@millrace/platform/db';
import { requirePrincipal, type HttpServer } from '@millrace/platform/http';
import { getConsole, type RequestConsoleRead } from './console.service.ts';
import { readMetrics, type RentalMetrics } from './metrics.service.ts';

export interface MonitoringRoutes {
  readonly server: HttpServer;
  readonly operations: Contract['operations'];
  readonly db: Db;
  readonly clock: Timer;
  readonly requestConsole: RequestConsoleRead;
}

export function serveMonitoring(routes: MonitoringRoutes): void {
  const { server, operations, db } = routes;
  server.serve(operations.getRentalMetrics, async ({ params, query, context }) => {
    const { orgId, mode } = requirePrincipal(context);
    const wireId = params.rentalId;
    const request = {
      orgId,
      mode,
      wireId,
      stepSeconds: query.stepSeconds,
      ...(query.from === undefined ? {} : { from: new Date(query.from) }),
      ...(query.until === undefined ? {} : { until: new Date(query.until) }),
    };
    return toWireMetrics(wireId, await readMetrics(db, request, db.clock.now()));
  });

  server.serve(operations.getRentalConsole, async ({ params, query, context }) => {
    const { orgId, mode } = requirePrincipal(context);
    const { rentalId: wireId } = params;
    const wanted = { orgId, mode, wireId, maxBytes: query.maxBytes, now: db.clock.now() };
    const { output, isCut, readAt } = await getConsole(db, routes.requestConsole, wanted);
    return { rentalId: wireId, output, truncated: isCut, readAt: readAt.toISOString() };
  });
}

function toWireMetrics(
  rentalId: number,
  { from, until, stepSeconds, series }: RentalMetrics,
): ResponseBody<Contract['operations']['getRentalMetrics']> {
  return {
    rentalId,
    from: from.toISOString(),
    until: until.toISOString(),
    stepSeconds,
    series: series.map(({ points, ...each }) => ({
      ...each,
      points: points.map(({ at, value }) => ({ at: at.toISOString(), value })),
    })),
  };
}
