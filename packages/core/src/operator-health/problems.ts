import { divideWithRemainder } from '@millrace/platform/money';
import type { ProcessHealth } from './process-probe.ts';

/** Finds problems in readings and says their effect. Pure, so every sentence has a test. */

export interface HealthProblem {
  readonly id: string;
  readonly severity: 'critical' | 'warning';
  readonly title: string;
  readonly effect: string;
  readonly runbook: string;
  /** The processes that have it. Absent: the problem was read from the database. */
  readonly reportedBy?: readonly string[];
}

interface QueueReadings {
  readonly outboxWaiting: number;
  readonly outboxOldestSeconds: number;
  readonly outboxParked: number;
  readonly webhooksOldestSeconds: number;
}

export interface FleetReadings {
  readonly clusters: number;
  readonly silentClusters: readonly string[];
  readonly nodes: number;
  readonly nodesFaulty: number;
  readonly storageNodes: number;
  readonly silentStorageNodes: readonly string[];
  /** Models of engines that are down, with repetitions. */
  readonly enginesDown: readonly string[];
  /** Whether all engines of a public model are down. */
  readonly hasModelWithoutEngine: boolean;
  /** The operator's clusters and storage nodes in live mode. */
  readonly regions: readonly RegionReading[];
  readonly storageRegions: readonly RegionReading[];
}

export interface RegionReading {
  readonly region: string;
  readonly total: number;
  readonly silent: number;
}

/** Null: the section could not be read. */
export interface HealthReadings {
  readonly processes: readonly ProcessHealth[];
  readonly queues: QueueReadings | null;
  readonly money: { readonly isClean: boolean | null; readonly lastCleanSeconds: number | null } | null;
  readonly fleet: FleetReadings | null;
  readonly loops:
    | readonly { readonly loop: string; readonly items: number; readonly failingSeconds: number }[]
    | null;
}

interface Dependency {
  readonly label: string;
  readonly effect: string;
  readonly runbook: string;
}

/** The section of the alert that the same condition raises. */
const alert = (page: string, name: string): string => `/docs/runbooks/alerts/${page}#millrace${name}`;

/** Engines by the names of readiness checks. */
const dependencies: Readonly<Record<string, Dependency>> = {
  postgres: {
    label: 'PostgreSQL',
    effect: 'Requests fail with 503. Running machines and granted inference credit continue.',
    runbook: alert('engines', 'databaseunreachable'),
  },
  nats: {
    label: 'NATS',
    effect: 'Events and webhooks wait. Gateways refuse inference after five seconds. Rentals continue.',
    runbook: alert('engines', 'natsunreachable'),
  },
  valkey: {
    label: 'Valkey',
    effect: 'Rate limits are not enforced by apis. Without the lease server, gateways refuse inference.',
    runbook: alert('engines', 'valkeyunreachable'),
  },
  'restate registration': {
    label: 'Restate',
    effect: 'Rentals start and end slower, because workers reconcile them without Restate.',
    runbook: alert('engines', 'restateunreachable'),
  },
};

const aliases: Readonly<Record<string, string>> = { 'pot valkey': 'valkey' };
const dependencyOf = (check: string): string => aliases[check] ?? check;

interface DependencyReading {
  readonly name: string;
  readonly ok: boolean;
  readonly seenBy: number;
}

/** A dependency is fine only if no process reports it as failing. Unreachable processes report nothing. */
export function dependencyReadings(processes: readonly ProcessHealth[]): readonly DependencyReading[] {
  return Object.entries(dependencies).map(([key, { label }]) => {
    const failing = processes.filter(({ failing: all }) =>
      all.some(({ check }) => dependencyOf(check) === key),
    );
    const passing = processes.filter(({ passing: all }) => all.some((check) => dependencyOf(check) === key));
    return {
      name: label,
      ok: failing.length === 0 && passing.length > 0,
      seenBy: new Set([...failing, ...passing]).size,
    };
  });
}

const OUTBOX_LATE_SECONDS = 60;
const WEBHOOKS_LATE_SECONDS = 300;
const AUDIT_LATE_SECONDS = 2 * 3_600;
const NAMES_SHOWN = 5;

export function findProblems(readings: HealthReadings): readonly HealthProblem[] {
  const found = [
    ...processProblems(readings.processes),
    ...restoreProblems(readings.processes),
    ...moneyProblems(readings.money),
    ...fleetProblems(readings.fleet),
    ...queueProblems(readings.queues),
    ...loopProblems(readings.loops),
  ];
  const rank = { critical: 0, warning: 1 } as const;
  return found.toSorted((one, other) => rank[one.severity] - rank[other.severity]);
}

function processProblems(processes: readonly ProcessHealth[]): HealthProblem[] {
  const broken = Object.entries(dependencies).flatMap(([key, dependency]): HealthProblem[] => {
    const reportedBy = processes
      .filter(({ failing }) => failing.some(({ check }) => dependencyOf(check) === key))
      .map(({ name }) => name);
    if (reportedBy.length === 0) return [];
    const title = `${dependency.label} is unreachable from ${list(reportedBy)}`;
    return [
      {
        id: `engine ${key}`,
        severity: 'critical',
        title,
        effect: dependency.effect,
        runbook: dependency.runbook,
        reportedBy,
      },
    ];
  });
  return [...broken, ...processes.flatMap(problemsOfProcess)];
}

function problemsOfProcess({ name, status, failing }: ProcessHealth): HealthProblem[] {
  if (status === 'unreachable') {
    const effect = 'Other processes of its kind take over. If it is the only one, its work waits.';
    const runbook = alert('processes', 'processdown');
    return [
      {
        id: `process ${name}`,
        severity: 'critical',
        title: `${name} does not report its health`,
        effect,
        runbook,
        reportedBy: [name],
      },
    ];
  }
  return failing
    .filter(({ check }) => dependencies[dependencyOf(check)] === undefined && check !== RESTORE_CHECK)
    .map(({ check, required, detail }): HealthProblem => {
      const isClock = check === 'clock';
      return {
        id: `check ${name} ${check}`,
        severity: required ? 'critical' : 'warning',
        title: isClock ? `The clock of ${name} is wrong: ${detail}` : `${name} reports ${check}: ${detail}`,
        effect: isClock
          ? 'This process writes nothing until its clock is right. Others take over.'
          : required
            ? 'This process gets no requests until the check passes.'
            : 'This process works with reduced functions.',
        runbook: isClock ? alert('hosts', 'clockwrong') : alert('processes', 'processnotready'),
        reportedBy: [name],
      };
    });
}

/** The check of workers that the database is the newest state; apis must not read that table. */
const RESTORE_CHECK = 'newest database';

/** Null if no worker reports it. */
export function restoreReading(processes: readonly ProcessHealth[]): 'normal' | 'restored' | null {
  if (processes.some(({ failing }) => failing.some(({ check }) => check === RESTORE_CHECK)))
    return 'restored';
  return processes.some(({ passing }) => passing.includes(RESTORE_CHECK)) ? 'normal' : null;
}

function restoreProblems(processes: readonly ProcessHealth[]): HealthProblem[] {
  if (restoreReading(processes) !== 'restored') return [];
  return [
    {
      id: 'restore',
      severity: 'critical',
      title: 'Workers cannot confirm that the database is the newest state, for example after a restore',
      effect: 'No credit is granted, no machine is created or removed, and no event is published.',
      runbook: alert('engines', 'restoreblocked'),
    },
  ];
}

function moneyProblems(money: HealthReadings['money']): HealthProblem[] {
  if (money === null) return [];
  if (money.isClean === false) {
    const title = 'The last audit found drift in the ledger';
    const effect = 'Balances or charges of tenants may be wrong. The report names each row.';
    return [{ id: 'audit', severity: 'critical', title, effect, runbook: alert('money', 'auditdrift') }];
  }
  const age = money.lastCleanSeconds;
  if (age === null || age < AUDIT_LATE_SECONDS) return [];
  const title = `The last audit without errors was ${duration(age)} ago`;
  const effect = 'None yet. A wrong charge would be found late.';
  return [{ id: 'audit age', severity: 'warning', title, effect, runbook: alert('money', 'auditlate') }];
}

function fleetProblems(fleet: FleetReadings | null): HealthProblem[] {
  if (fleet === null) return [];
  const found: HealthProblem[] = [];
  const { silentClusters, nodesFaulty, silentStorageNodes, enginesDown } = fleet;
  if (silentClusters.length > 0) {
    found.push({
      id: 'clusters',
      severity: 'critical',
      title: `${plural(silentClusters.length, 'cluster')} not responding: ${list(silentClusters)}`,
      effect: 'Its machines keep running. They cannot be rented, started, stopped or deleted.',
      runbook: alert('fleet', 'clusterunreachable'),
    });
  }
  if (silentStorageNodes.length > 0) {
    found.push({
      id: 'storage nodes',
      severity: 'critical',
      title: `${plural(silentStorageNodes.length, 'storage node')} not responding: ${list(silentStorageNodes)}`,
      effect: 'Volumes there may be unavailable, and cannot be created, attached or deleted.',
      runbook: alert('fleet', 'storagenodesilent'),
    });
  }
  if (enginesDown.length > 0) {
    found.push({
      id: 'engines',
      severity: 'warning',
      title: `${plural(enginesDown.length, 'inference engine')} down, of ${list([...new Set(enginesDown)])}`,
      effect: 'Requests go to other engines of the model. Without another one they fail with 503.',
      runbook: alert('requests', 'engineerrors'),
    });
  }
  if (nodesFaulty > 0) {
    found.push({
      id: 'nodes',
      severity: 'warning',
      title: `${plural(nodesFaulty, 'node')} offline or quarantined`,
      effect: 'Their GPUs cannot be rented. Rentals on offline nodes are not reachable.',
      runbook: alert('fleet', 'nodesoffline'),
    });
  }
  return found;
}

function queueProblems(queues: QueueReadings | null): HealthProblem[] {
  if (queues === null) return [];
  const found: HealthProblem[] = [];
  if (queues.outboxOldestSeconds >= OUTBOX_LATE_SECONDS) {
    found.push({
      id: 'outbox',
      severity: 'critical',
      title: `The oldest of ${queues.outboxWaiting} outbox rows waits for ${duration(queues.outboxOldestSeconds)}`,
      effect: 'Events, webhooks and the start of rentals are late.',
      runbook: alert('delivery', 'outboxlate'),
    });
  }
  if (queues.outboxParked > 0) {
    found.push({
      id: 'outbox parked',
      severity: 'warning',
      title: `${plural(queues.outboxParked, 'outbox row')} parked after too many failures`,
      effect: 'The affected organisations miss an event, or a sweep does the work later.',
      runbook: alert('delivery', 'outboxparked'),
    });
  }
  if (queues.webhooksOldestSeconds >= WEBHOOKS_LATE_SECONDS) {
    found.push({
      id: 'webhooks',
      severity: 'warning',
      title: `The oldest due webhook waits for ${duration(queues.webhooksOldestSeconds)}`,
      effect: 'Tenants learn of events late.',
      runbook: alert('delivery', 'webhookslate'),
    });
  }
  return found;
}

function loopProblems(loops: HealthReadings['loops']): HealthProblem[] {
  return (loops ?? []).map(({ loop, items, failingSeconds }): HealthProblem => ({
    id: `loop ${loop}`,
    severity: 'warning',
    title: `${plural(items, 'item')} failing in the loop “${loop}” for ${duration(failingSeconds)}`,
    effect: 'Only these items wait; each is repeated at least every 15 minutes.',
    runbook: alert('delivery', 'loopitemsfailing'),
  }));
}

function plural(count: number, noun: string): string {
  return `${String(count)} ${noun}${count === 1 ? '' : 's'}`;
}

function list(names: readonly string[]): string {
  const shown = names.slice(0, NAMES_SHOWN).join(', ');
  return names.length > NAMES_SHOWN ? `${shown} and ${String(names.length - NAMES_SHOWN)} more` : shown;
}

const units = [
  ['day', 86_400],
  ['hour', 3_600],
  ['minute', 60],
] as const;

function duration(seconds: number): string {
  const unit = units.find(([, size]) => seconds >= size);
  if (unit === undefined) return plural(seconds, 'second');
  const [noun, size] = unit;
  return plural(divideWithRemainder(seconds, size)[0], noun);
}
