import { loginAndCountGpus } from '@millrace/compute/readiness';
import { findingsOf, runAudit } from '@millrace/core/auditor';
import { systemClock } from '@millrace/platform/clock';
import { fleetInvariantViolations } from '@millrace/testing';
import type { CoreStack } from '../../stack/core-stack.ts';
import type { StackTenant } from '../../stack/tenant.ts';
import { waitWhileProgress } from '../timing/progress.ts';
import { tenantIdColumn, type RentalKind } from './rental-kinds.ts';
import type { RentalScenario } from './scenarios.ts';

/** Compares rows, hosts and ledger with each other at the end of a proof. */

export interface RentalCheckReport {
  readonly failures: readonly string[];
  readonly figures: Readonly<Record<string, number>>;
}

/** A rental with a TTL counts as unsettled until it has ended, because it could end during the checks. */
const unsettledQuery = `
  select coalesce(string_agg(concat_ws(' ', wire_id, status, task, expires_at), ', ' order by wire_id), '') as list from rentals
   where status <> 'Terminated' and (status <> 'Running' or task is not null or expires_at is not null)`;
const unfinishedQuery = `
  select coalesce(string_agg(concat_ws(' ', external_id, state), ', ' order by external_id), '') as list from rental_machines
   where state not in ('open', 'gone')`;

/** Returns the time until all rentals were settled, or null if nothing changed for `stuckAfterMs` before that. */
export async function waitForRentalQuiescence(
  stack: CoreStack,
  stuckAfterMs: number,
): Promise<number | null> {
  return waitWhileProgress({ stuckAfterMs, intervalMs: 250 }, async () => {
    const [moving] = await stack.rows<{ list: string }>(unsettledQuery);
    const [there] = await stack.rows<{ list: string }>(unfinishedQuery);
    const left = `${moving?.list}; ${there?.list}`;
    return left === '; ' ? null : left;
  });
}

interface RentalRow {
  readonly id: string;
  readonly status: string;
  readonly status_reason: string | null;
  readonly started_at: Date | null;
}

interface MachineRow {
  readonly external_id: string;
  readonly gpu_addresses: readonly string[];
}

export async function checkFinalState(
  stack: CoreStack,
  tenants: readonly StackTenant[],
  scenarios: readonly RentalScenario[],
  kind: RentalKind,
): Promise<RentalCheckReport> {
  const rentals = await stack.rows<RentalRow>(
    `select ${tenantIdColumn}, status, status_reason, started_at from rentals`,
  );
  const failures = [
    ...checkScenarios(scenarios, rentals),
    ...(await checkHosts(stack)),
    ...(await checkLogins(scenarios, rentals)),
    ...(await checkLedger(stack, kind)),
  ];
  const running = rentals.filter(({ status }) => status === 'Running').length;
  const neverRan = rentals.filter(({ started_at }) => started_at === null).length;
  const [ttl] = await stack.rows<{ count: number }>(
    "select count(*)::int as count from rentals where end_reason like 'Its time to live%'",
  );
  failures.push(...(await endAll(stack, tenants, kind)));
  return {
    failures,
    figures: {
      'running at quiescence': running,
      'ended before they ran': neverRan,
      'ended by their TTL': ttl?.count ?? 0,
    },
  };
}

function checkScenarios(scenarios: readonly RentalScenario[], rentals: readonly RentalRow[]): string[] {
  const byId = new Map(rentals.map((rental) => [rental.id, rental]));
  const accepted = scenarios.filter(({ id }) => id !== null);
  const failures = accepted.flatMap(({ nth, id, outcome }) => {
    const rental = byId.get(id ?? '');
    if (rental === undefined) return [`rental ${nth} was accepted and does not exist`];
    const isRight =
      rental.status === 'Terminated' || (rental.status === 'Running' && outcome === 'left running');
    return isRight ? [] : [`rental ${nth} (${outcome}) is ${rental.status}: ${rental.status_reason}`];
  });
  if (accepted.length !== rentals.length) {
    failures.push(`${accepted.length} rentals were accepted and ${rentals.length} exist`);
  }
  return failures;
}

const HOSTS_KNOWN_WITHIN_MS = 120_000;
const ANSWERED_WITHIN_MS = 120_000;

/** A restarted engine may need some time until it knows the power state of its machines. */
async function readHosts(stack: CoreStack): ReturnType<CoreStack['engine']['listOwned']> {
  const untilMs = systemClock.monotonicMs() + HOSTS_KNOWN_WITHIN_MS;
  for (;;) {
    const seen = await stack.engine.listOwned(AbortSignal.timeout(ANSWERED_WITHIN_MS));
    const isKnown = seen.unreachableNodes.length === 0 && seen.machines.every(({ power }) => power === 'on');
    if (isKnown || systemClock.monotonicMs() >= untilMs) return seen;
    await systemClock.sleep(500);
  }
}

/** The machines of the hosts must match the rows, and no device may be in two machines. */
async function checkHosts(stack: CoreStack): Promise<string[]> {
  const { machines, unreachableNodes } = await readHosts(stack);
  const rows = await stack.rows<MachineRow>(
    "select external_id, gpu_addresses from rental_machines where state = 'open'",
  );
  const failures = unreachableNodes.map((name) => `host ${name} does not respond`);
  const known = new Map(rows.map((row) => [row.external_id, row]));
  const devices = new Set<string>();
  for (const { externalId, nodeName, gpuPciAddresses, power, detail } of machines) {
    const row = known.get(externalId);
    if (row === undefined) failures.push(`${nodeName} has ${externalId}, which is orphaned`);
    else if (row.gpu_addresses.toSorted().join() !== gpuPciAddresses.toSorted().join()) {
      failures.push(`${externalId} has GPUs that were not sold to it`);
    }
    if (power !== 'on') failures.push(`${externalId} is ${power}: ${detail}`);
    for (const address of gpuPciAddresses) {
      const device = `${nodeName} ${address}`;
      if (devices.has(device)) failures.push(`${device} is in two machines`);
      devices.add(device);
    }
    known.delete(externalId);
  }
  failures.push(...[...known.keys()].map((externalId) => `${externalId} is open and exists on no host`));
  return failures;
}

const MAX_LOGIN_ATTEMPTS = 5;

/** Retries, because a stall may break a login. */
async function logIn(target: Parameters<typeof loginAndCountGpus>[0]): ReturnType<typeof loginAndCountGpus> {
  for (let attempt = 1; ; attempt += 1) {
    const look = await loginAndCountGpus(target, AbortSignal.timeout(ANSWERED_WITHIN_MS));
    if (look.outcome === 'in' || attempt === MAX_LOGIN_ATTEMPTS) return look;
    await systemClock.sleep(1_000);
  }
}

/** The tenant of every Running rental must be able to log in. */
async function checkLogins(
  scenarios: readonly RentalScenario[],
  rentals: readonly RentalRow[],
): Promise<string[]> {
  const running = new Set(rentals.filter(({ status }) => status === 'Running').map(({ id }) => id));
  const failures: string[] = [];
  for (const { tenant, id, kind } of scenarios) {
    if (id === null || !running.has(id)) continue;
    const seen = await kind.read(tenant, id);
    if (seen === null || seen.endpoints.length === 0) {
      failures.push(`rental ${id} is Running without an SSH endpoint`);
      continue;
    }
    let gpuCount = 0;
    for (const endpoint of seen.endpoints) {
      const target = { ...endpoint, privateKey: tenant.privateKey };
      const look = await logIn(target);
      if (look.outcome !== 'in')
        failures.push(`rental ${id} is Running and rejects the login: ${look.detail}`);
      else gpuCount += look.gpuCount;
    }
    if (gpuCount !== seen.gpuCount) failures.push(`rental ${id} has ${gpuCount} GPUs`);
  }
  return failures;
}

async function checkLedger(stack: CoreStack, kind: RentalKind): Promise<string[]> {
  const client = await stack.database.connect();
  const violations = await fleetInvariantViolations(client);
  await client.end();
  const report = await runAudit(stack.database.db, { kind: 'full', whenBusy: 'unrecorded' });
  const findings =
    report === null
      ? ['the audit did not run']
      : findingsOf(report, 'error').map((found) => JSON.stringify(found));
  const paidForNothing = await stack.rows<{ id: string }>(`
    select ${tenantIdColumn} from rentals as rental
      join meters as meter on meter.cause_kind = '${kind.name}' and meter.cause_id = rental.wire_id::text
     where rental.started_at is null`);
  const endedTwice = await stack.rows<{ resource_id: string; type: string }>(`
    select resource_id, type from events
     where type in ('rental.terminating', 'rental.terminated', 'rental.failed',
                    'instance.stopping', 'instance.terminated', 'instance.failed')
     group by resource_id, type having count(*) > 1`);
  return [
    ...violations,
    ...findings,
    ...endedTwice.map(({ resource_id, type }) => `rental ${resource_id} emitted ${type} more than once`),
    ...paidForNothing.map(({ id }) => `rental ${id} never ran and was metered`),
  ];
}

/** Ends all rentals; afterwards no machine, used GPU or hold may remain. */
async function endAll(
  stack: CoreStack,
  tenants: readonly StackTenant[],
  kind: RentalKind,
): Promise<string[]> {
  for (const tenant of tenants) {
    for (const id of await kind.list(tenant)) await kind.end(tenant, id);
  }
  const rest = await waitForRentalQuiescence(stack, 120_000);
  if (rest === null) return ['the last rentals did not end'];
  const { machines } = await stack.engine.listOwned(AbortSignal.timeout(ANSWERED_WITHIN_MS));
  const [free] = await stack.rows<{ gpus: number }>('select sum(gpus_free)::int as gpus from node_capacity');
  const [held] = await stack.rows<{ count: number }>(
    'select count(*)::int as count from ledger_holds where held_nano_usd > 0',
  );
  return [
    ...machines.map(({ externalId }) => `${externalId} still exists`),
    ...(free?.gpus === stack.gpuCount ? [] : [`${free?.gpus} of ${stack.gpuCount} GPUs are free at the end`]),
    ...(held?.count === 0 ? [] : [`${held?.count} holds remain at the end`]),
  ];
}
