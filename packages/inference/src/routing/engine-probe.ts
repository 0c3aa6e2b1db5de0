import type { ProbeEngine } from '@millrace/core/inference';
import { withDeadline, type Clock } from '@millrace/platform/clock';
import { createProber, healthPath, isHealthyStatus } from './prober.ts';

/** Checks the health of an engine for the worker, which reports to operators and does not route. */
export interface EngineProbe {
  readonly probe: ProbeEngine;
  close(): void;
}

const probeTimeoutMs = 3_000;

export function createEngineProbe(clock: Clock): EngineProbe {
  const prober = createProber();
  return {
    async probe({ engine, address, apiKey }) {
      const path = healthPath(engine);
      if (path === null) return 'healthy';
      const { status } = await withDeadline(clock, `Health check of ${address}`, probeTimeoutMs, (signal) =>
        prober.probe({ id: address, address, apiKey }, path, signal),
      );
      const well = isHealthyStatus(engine, status);
      return well === null ? 'unknown' : well ? 'healthy' : 'degraded';
    },
    close: () => prober.close(),
  };
}
