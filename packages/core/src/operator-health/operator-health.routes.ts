import type { Contract, ResponseBody } from '@millrace/contract';
import type { HttpServer } from '@millrace/platform/http';
import type { Health, HealthReader } from './health-reader.ts';
import { findProblems, dependencyReadings, restoreReading } from './problems.ts';

export interface OperatorHealthRoutes {
  readonly server: HttpServer;
  readonly operations: Contract['operations'];
  readonly health: HealthReader;
}

type WireHealth = ResponseBody<Contract['operations']['adminGetHealth']>;

export function serveOperatorHealth({ server, operations, health }: OperatorHealthRoutes): void {
  server.serve(operations.adminGetHealth, async () => toWire(await health.read()));
}

function toWire({ readings, unread, readAt }: Health): WireHealth {
  const { processes, queues, money, fleet, loops } = readings;
  return {
    readAt: readAt.toISOString(),
    problems: findProblems(readings).map(({ id, severity, title, effect, runbook }) => {
      return { id, severity, title, effect, runbook };
    }),
    processes: processes.map(({ name, status, version, commit, tookMs, failing }) => ({
      ...{ name, status, version, commit, tookMs },
      failing: failing.map((each) => ({ ...each })),
    })),
    engines: dependencyReadings(processes).map((reading) => ({ ...reading })),
    queues,
    money,
    fleet:
      fleet === null
        ? null
        : {
            clusters: fleet.clusters,
            clustersSilent: fleet.silentClusters.length,
            nodes: fleet.nodes,
            nodesFaulty: fleet.nodesFaulty,
            storageNodes: fleet.storageNodes,
            storageNodesSilent: fleet.silentStorageNodes.length,
            enginesDown: fleet.enginesDown.length,
          },
    loops: loops === null ? null : [...loops],
    restore: restoreReading(processes),
    unread: [...unread],
  };
}
