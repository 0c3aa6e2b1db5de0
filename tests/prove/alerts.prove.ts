import { defineProof, type ProofReport, type ProofRun } from '@millrace/runners';
import { alertRules, inFastTime } from '@millrace/release';
import { systemClock } from '@millrace/platform/clock';
import { eventually } from '@millrace/testing';
import { faults, type ExpectedAlert, type Fault } from './alerts/faults.ts';
import { startSteadyLoad } from './alerts/load.ts';
import { startMonitoring, type Monitoring, type Notice } from './alerts/monitoring.ts';
import { openSite, type Site, type SiteSize } from './alerts/site.ts';
import { startWriters } from './failover/writers.ts';

export const proof = defineProof({
  name: 'alerts',
  company: 'alone',
  proves:
    'Prometheus with the shipped rules scrapes running apis, workers and gateways, and Alertmanager notifies a webhook. Faults of processes, engines, clock, usage, machines and a restore each raise their alert, and it clears after the repair; for this the durations of the rules are divided by the factor in the figures. The long form first uses the real durations: ten minutes of normal load raise no alert, and a restart of each process under 30 s raises no page.',
  // Takes 35 minutes. One run passed up to the fault of usage that cannot be charged, which is changed since.
  short: null,
  long: async (run) =>
    prove(run, {
      ...{ workers: 2, gateways: 2, hasStandby: true, baselineMs: 600_000, factor: 6 },
      groups: [
        [faults.api, faults.worker, faults.gateway],
        [faults.postgres],
        [faults.nats],
        [faults.valkey, faults.leases],
        [faults.restate, faults.clock, faults.cluster, faults.standby, faults.engine, faults.usageDeferred],
        [faults.hanging, faults.usageStuck],
        [faults.restored],
      ],
    }),
});

interface Size extends SiteSize {
  /** How long normal load is watched at the real durations, before a restart of each process. Null: neither. */
  readonly baselineMs: number | null;
  /** How many times shorter the durations of the rules are during faults. */
  readonly factor: number;
  /** The faults of a group last at the same time. They do not affect the alerts of each other. */
  readonly groups: readonly (readonly Fault[])[];
}

/** As the monitoring guide recommends. */
const recommended = { scrapeMs: 15_000, evaluateMs: 15_000 } as const;
/** A scrape takes two seconds while an engine does not respond, and must end before the next one. */
const fast = { scrapeMs: 5_000, evaluateMs: 1_000 } as const;
/** Longer than any request of normal load, also on a busy machine. */
const BASELINE_TIMEOUT_MS = 60_000;
/** Requests to a hanging engine end then. */
const FAULT_TIMEOUT_MS = 5_000;
/** The longest rule of these faults lasts for five minutes at the factor of the long form; twice that on a busy machine. */
const RAISE_TIMEOUT_MS = 600_000;
const RESTART_LIMIT_MS = 30_000;
/** After a restart, a page would arrive within its `for`, the scrape and the evaluation. */
const AFTER_RESTART_MS = 150_000;

async function prove(run: ProofRun, size: Size): Promise<ProofReport> {
  await using undo = new AsyncDisposableStack();
  const site = await openSite(size, undo);
  try {
    const failures: string[] = [];
    const figures: Record<string, string | number> = {};
    if (size.baselineMs !== null) {
      Object.assign(figures, await proveBaseline(site, size.baselineMs, failures));
      await site.postgres.backUp();
      site.restoreTarget = await site.postgres.takeTarget();
    }
    Object.assign(figures, await proveFaults(run, site, size, failures));
    return { figures, failures };
  } catch (error) {
    run.note(site.stack.output().slice(-8_000));
    throw error;
  }
}

/** Real durations: normal load raises nothing, and short restarts raise no page. */
async function proveBaseline(
  site: Site,
  baselineMs: number,
  failures: string[],
): Promise<ProofReport['figures']> {
  const { apis, workers, gateways } = site.stack;
  await using monitoring = await startMonitoring({
    ...{ rules: alertRules, targets: site.targets, ...recommended },
  });
  const load = startSteadyLoad({ ...site.load, timeoutMs: BASELINE_TIMEOUT_MS });
  const writers = startWriters(site.writers);
  await systemClock.sleep(baselineMs);
  failures.push(...load.failures, ...writers.failures);
  failures.push(...(await monitoring.brokenRules()));
  failures.push(...monitoring.all().map((notice) => `normal load raised ${nameOf(notice)}`));
  const processes = [...apis, ...workers, ...gateways];
  const scraped = await monitoring.query(
    `min_over_time(up[${Math.floor(baselineMs / 1_000) - 60}s]) and on () vector(1)`,
  );
  if (scraped.length !== processes.length || scraped.some((up) => up !== 1))
    failures.push(`only these scrapes always succeeded: ${scraped.join(', ')}`);
  const requests = { ...load.counts };
  const raised = monitoring.all().length;
  const writes = writers.acknowledged.length;
  await writers.end();
  let slowestMs = 0;
  for (const each of processes) {
    const startedMs = systemClock.monotonicMs();
    await each.kill();
    await each.start();
    slowestMs = Math.max(slowestMs, systemClock.monotonicMs() - startedMs);
  }
  await systemClock.sleep(AFTER_RESTART_MS);
  await load.stop();
  const pages = monitoring.all().filter(({ labels }) => labels['severity'] === 'page');
  if (slowestMs >= RESTART_LIMIT_MS)
    failures.push(
      `a restart took ${Math.round(slowestMs)} ms, so this machine is too slow to show the limit`,
    );
  failures.push(...pages.map((notice) => `a restart raised the page ${nameOf(notice)}`));
  return {
    'normal load, real durations': `${Math.round(baselineMs / 60_000)} min`,
    'requests of the normal load': requests.succeeded,
    'grants, keys and rentals of the normal load': writes,
    'alerts during the normal load': raised,
    'processes restarted with kill -9': processes.length,
    'slowest restart': `${(slowestMs / 1_000).toFixed(1)} s`,
    'pages after the restarts': pages.length,
  };
}

const nameOf = ({ labels }: Notice): string => JSON.stringify(labels);

async function proveFaults(
  run: ProofRun,
  site: Site,
  { factor, groups }: Size,
  failures: string[],
): Promise<ProofReport['figures']> {
  const rules = inFastTime(alertRules, factor);
  await using monitoring = await startMonitoring({ rules, targets: site.targets, ...fast });
  const load = startSteadyLoad({ ...site.load, timeoutMs: FAULT_TIMEOUT_MS });
  const figures: Record<string, string | number> = { 'factor of the durations during faults': factor };
  await eventually({ what: 'a scrape of each process', timeoutMs: 60_000, intervalMs: 500 }, async () => {
    const up = await monitoring.query('up == 1');
    return up.length === Object.values(site.targets).flat().length;
  });
  for (const group of groups) {
    const injected = [];
    for (const fault of group) injected.push({ fault, ...(await injectFault(fault, site)) });
    for (const { fault, atMs } of injected) {
      const raisedMs = await waitFor(monitoring, fault, 'raised');
      if (raisedMs === null) failures.push(`${fault.title}: not raised: ${titlesOf(fault)}`);
      else figures[fault.title] = `raised ${titlesOf(fault)} after ${secondsBetween(atMs, raisedMs)}`;
    }
    for (const { fault, repair } of injected) {
      await repair();
      run.note(`${fault.title}: ${String(figures[fault.title])}, repaired`);
    }
    for (const { fault } of injected) {
      if ((await waitFor(monitoring, fault, 'cleared')) === null)
        failures.push(`${fault.title}: not cleared: ${titlesOf(fault)}`);
    }
    run.note(`after the repair still firing: ${monitoring.firing().map(nameOf).join(' ') || 'nothing'}`);
  }
  await load.stop();
  figures['faults whose alerts were raised and cleared'] = groups.flat().length;
  failures.push(...(await monitoring.brokenRules()));
  return figures;
}

async function injectFault(fault: Fault, site: Site) {
  const atMs = systemClock.monotonicMs();
  return { atMs, repair: await fault.inject(site) };
}

const titlesOf = ({ raises }: Fault): string => raises.map(({ name }) => name).join(', ');
const secondsBetween = (fromMs: number, toMs: number): string => `${((toMs - fromMs) / 1_000).toFixed(0)} s`;

/** Returns when the last of the alerts was raised or cleared, or null after the time-out. */
async function waitFor(
  monitoring: Monitoring,
  { title, raises }: Fault,
  wanted: 'raised' | 'cleared',
): Promise<number | null> {
  const isOf = ({ name, labels }: ExpectedAlert, notice: Notice): boolean =>
    notice.labels['alertname'] === name &&
    Object.entries(labels).every(([label, value]) => notice.labels[label] === value);
  const isDone = (expected: ExpectedAlert): boolean =>
    monitoring.firing().some((notice) => isOf(expected, notice)) === (wanted === 'raised');
  const done = await eventually(
    { what: `the alerts of: ${title}, to be ${wanted}`, timeoutMs: RAISE_TIMEOUT_MS, intervalMs: 200 },
    () => raises.every(isDone),
  ).catch(() => null);
  return done === null
    ? null
    : Math.max(
        ...monitoring
          .all()
          .filter((notice) => raises.some((expected) => isOf(expected, notice)))
          .map(({ receivedMs }) => receivedMs),
      );
}
