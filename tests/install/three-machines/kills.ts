import { eventually } from '@millrace/testing';
import { primaryOf, untilComplete, type Fault } from './faults.ts';
import { queryDatabase } from './installation.ts';
import { loadKinds, nowMs, type Load, type LoadEvent, type LoadKind } from './load.ts';
import type { ThreeMachines } from './machines.ts';

/** Kills under load, and measures what the clients saw. */

export interface Served {
  readonly p50Ms: number;
  readonly p95Ms: number;
  /** The longest time between two successes, or from the fault to the first one. */
  readonly gapMs: number;
}

export interface KillResult {
  readonly title: string;
  readonly served: Readonly<Record<LoadKind, Served>>;
  /** From the start of the killed part until every engine had all members again. */
  readonly rejoinedMs: number;
}

/** Longer than any failover on a slow machine. */
const SERVICE_MS = 300_000;

export async function measureWithoutFault(load: Load, forMs: number): Promise<KillResult> {
  const fromMs = nowMs();
  await untilEachSucceeded(load, fromMs);
  await eventually({ what: 'time', intervalMs: 100 }, () => nowMs() - fromMs >= forMs);
  return { title: 'nothing is killed', served: measure(load, fromMs, nowMs()), rejoinedMs: 0 };
}

export async function injectFault(cluster: ThreeMachines, load: Load, fault: Fault): Promise<KillResult> {
  await untilComplete(cluster);
  load.use(fault.machine);
  // A rental takes longer than the others, and its next request uses this machine too.
  await untilEachSucceeded(
    load,
    nowMs(),
    loadKinds.filter((kind) => kind !== 'rental'),
  );
  const fromMs = nowMs();
  await fault.inject();
  // While a machine is lost, the others continue with everything.
  if (fault.repair !== null) await untilEachSucceeded(load, nowMs());
  const repairedMs = nowMs();
  await fault.repair?.();
  await untilComplete(cluster);
  const rejoinedMs = nowMs() - repairedMs;
  await untilEachSucceeded(load, nowMs());
  return { title: fault.title, served: measure(load, fromMs, nowMs()), rejoinedMs };
}

/** Until a request of each kind that began after this moment has succeeded. */
async function untilEachSucceeded(
  load: Load,
  sinceMs: number,
  kinds: readonly LoadKind[] = loadKinds,
): Promise<void> {
  await eventually({ what: 'success of every kind of request', timeoutMs: SERVICE_MS, intervalMs: 100 }, () =>
    kinds.every((kind) => load.events.some((event) => event.kind === kind && isSince(event, sinceMs))),
  ).catch((error: unknown) => {
    const recent = load.events.slice(-20).map((event) => JSON.stringify(event));
    throw new Error(`Some kind of request did not succeed. The last events:\n${recent.join('\n')}`, {
      cause: error,
    });
  });
}

const isSince = (event: LoadEvent, sinceMs: number): boolean =>
  'tookMs' in event && event.atMs - event.tookMs >= sinceMs;

function measure({ events }: Load, fromMs: number, toMs: number): KillResult['served'] {
  const measured = loadKinds.map((kind) => {
    const inTime = events.filter(
      (event) => event.kind === kind && event.atMs >= fromMs && event.atMs <= toMs,
    );
    const successes = inTime.filter((event) => 'tookMs' in event);
    const times = successes.map(({ tookMs }) => tookMs).toSorted((a, b) => a - b);
    const at = (share: number): number => times[Math.ceil(share * times.length) - 1] ?? Number.NaN;
    const instants = [fromMs, ...successes.map(({ atMs }) => atMs)];
    const gaps = instants.slice(1).map((atMs, index) => atMs - (instants[index] ?? fromMs));
    return [kind, { p50Ms: at(0.5), p95Ms: at(0.95), gapMs: Math.max(...gaps) }] as const;
  });
  return Object.fromEntries(measured) as KillResult['served'];
}

/** `p50 / p95 / worst gap` of each kind, and the time until all had joined again. */
export function describeResult({ served, rejoinedMs }: KillResult): string {
  const seconds = (ms: number): string =>
    ms < 1_000 ? `${Math.round(ms)} ms` : `${(ms * 0.001).toFixed(1)} s`;
  const ofKinds = loadKinds.map((kind) => {
    const { p50Ms, p95Ms, gapMs } = served[kind];
    return `${kind} ${seconds(p50Ms)} / ${seconds(p95Ms)} / ${seconds(gapMs)}`;
  });
  return [...ofKinds, ...(rejoinedMs === 0 ? [] : [`joined after ${seconds(rejoinedMs)}`])].join('; ');
}

/** One sentence for each request of the load that failed in another way than clients repeat. */
export const failuresOf = ({ events }: Load): readonly string[] =>
  events.filter((event) => 'failed' in event).map(({ kind, failed }) => `${kind}: ${failed}`);

/** How often clients repeated, by reason. */
export function repeatsOf({ events }: Load): Readonly<Record<string, number>> {
  const counts: Record<string, number> = {};
  for (const event of events) {
    if (!('repeated' in event)) continue;
    const title = `${event.kind}: ${event.repeated}`;
    counts[title] = (counts[title] ?? 0) + 1;
  }
  return counts;
}

/** Returns what the audit finds, and a difference between the grants that clients saw and those of the ledger. */
export async function checkLedger(cluster: ThreeMachines, { events }: Load): Promise<readonly string[]> {
  const primary = await primaryOf(cluster);
  const acknowledged = events.filter((event) => event.kind === 'write' && 'tookMs' in event).length;
  const query = "select count(*) from ledger_transfers where kind = 'grant' and amount_nano_usd = 1";
  const recorded = Number(await queryDatabase(primary, query));
  const { code, stdout, stderr } = await primary.run('millrace-admin audit --full');
  return [
    ...(recorded === acknowledged
      ? []
      : [`${acknowledged} grants were acknowledged, and the ledger has ${recorded}`]),
    ...(code === 0 ? [] : [`the audit found: ${stdout}${stderr}`]),
  ];
}
