import type { Timer } from '@millrace/platform/clock';
import { withDeadline } from '@millrace/platform/clock';
import type { HealthReport } from '@millrace/platform/lifecycle';
import type { BuildInfo } from '@millrace/platform/release';

/** Asks processes for their own health. This needs no engine, so it works while NATS or Restate are down. */

export interface ProcessAddress {
  /** `worker` or `gateway`, and the address if there are several. */
  readonly name: string;
  /** The base address of its health port. */
  readonly url: string;
}

interface FailingCheck {
  readonly check: string;
  readonly required: boolean;
  readonly detail: string;
}

export interface ProcessHealth {
  readonly name: string;
  readonly status: 'ready' | 'degraded' | 'not-ready' | 'unreachable';
  readonly version: string | null;
  readonly commit: string | null;
  readonly tookMs: number;
  readonly passing: readonly string[];
  readonly failing: readonly FailingCheck[];
}

type ReportedHealth = HealthReport & Partial<BuildInfo>;

const PROBE_TIMEOUT_MS = 3_000;
const MAX_FAILING = 20;
const MAX_TEXT = 300;

export function toProcessHealth(name: string, report: ReportedHealth, tookMs: number): ProcessHealth {
  const checks = Object.entries(report.checks ?? {});
  const status = report.ready ? (report.degraded ? 'degraded' : 'ready') : 'not-ready';
  return {
    name,
    status,
    version: report.version ?? null,
    commit: report.commit ?? null,
    tookMs,
    passing: checks.filter(([, { ok }]) => ok).map(([check]) => check),
    failing: checks
      .filter(([, { ok }]) => !ok)
      .slice(0, MAX_FAILING)
      .map(([check, { required, detail = 'failed' }]) => ({
        check: check.slice(0, MAX_TEXT),
        required,
        detail: detail.slice(0, MAX_TEXT),
      })),
  };
}

export async function probeProcess(
  clock: Timer,
  { name, url }: ProcessAddress,
  token: string | null,
): Promise<ProcessHealth> {
  const startedMs = clock.monotonicMs();
  const took = (): number => Math.round(clock.monotonicMs() - startedMs);
  const headers: Record<string, string> = token === null ? {} : { authorization: `Bearer ${token}` };
  try {
    const report = await withDeadline(clock, 'Reading health', PROBE_TIMEOUT_MS, async (signal) => {
      const response = await fetch(new URL('/readyz', url), { headers, signal, redirect: 'error' });
      return (await response.json()) as ReportedHealth;
    });
    return toProcessHealth(name, report, took());
  } catch {
    const unknown = { version: null, commit: null, passing: [], failing: [] };
    return { name, status: 'unreachable', tookMs: took(), ...unknown };
  }
}
