import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import {
  createCreditLeaseService,
  createCreditLeaseSweeps,
  type LeaseRules,
  type CreditLeaseService,
  type CreditLeaseSweeps,
  type UsageItem,
} from '@millrace/core/credit-leases';
import {
  applyLedger,
  createBudget,
  requireLedgerSuccess,
  type LedgerCommand,
  type LedgerResult,
} from '@millrace/core/ledger';
import {
  createCreditLeaseClient,
  type CreditLeaseClient,
  type ReserveRejection,
  type Reservation,
} from '@millrace/credit-leases/client';
import type { EpochEnd } from '@millrace/credit-leases/protocol';
import type { Clock } from '@millrace/platform/clock';
import type { Db } from '@millrace/platform/db';
import {
  toUuid,
  type BudgetId,
  type HoldId,
  type KeyId,
  type LeaseId,
  type OrgId,
} from '@millrace/platform/ids';
import { createLogger } from '@millrace/platform/log';
import { nanoUsd } from '@millrace/platform/money';
import type { ValkeyClient } from '@millrace/platform/valkey';
import { hybridClock, startValkeyServer, type TestValkey } from '@millrace/testing';
import { cell, type LedgerHarness } from './harness.ts';

/** Gateways, a worker and a usage stream around a real Valkey that only this simulation uses. */

const rules: LeaseRules = {
  leaseMs: 2 * 3_600_000,
  longestRequestMs: 600_000,
  deadAfterMs: 4 * 3_600_000,
  outageMs: 60_000,
  least: 500_000_000n,
  sharePercent: 40,
  growthPauseMs: 60_000,
};

/** An organisation that spends from credit leases. All of its money comes from `payIn`. */
export interface LeaseTenant {
  readonly orgId: OrgId;
  readonly mode: 'live';
  readonly keyId: KeyId;
  readonly budget: BudgetId | null;
  paidIn: bigint;
  charged: bigint;
  /** Holds of rentals. */
  readonly holds: Map<HoldId, bigint>;
}

export interface Gateway {
  readonly name: string;
  readonly client: CreditLeaseClient;
}

/** A reservation in a lease; reservations of test mode have none. */
export type PaidReservation = Reservation & { readonly leaseId: LeaseId };

export const isPaid = (got: Reservation | ReserveRejection): got is PaidReservation =>
  'leaseId' in got && got.leaseId !== null;

/** Admitted by a lease, with its usage not in the stream yet. */
export interface InFlightRequest {
  readonly gateway: Gateway;
  readonly spender: LeaseTenant;
  readonly reservation: PaidReservation;
}

export type Message =
  | { readonly usage: UsageItem; readonly spender: LeaseTenant }
  | { readonly end: EpochEnd };

export interface LeaseHarness {
  readonly valkey: TestValkey;
  readonly replica: TestValkey;
  readonly service: CreditLeaseService;
  readonly sweeps: CreditLeaseSweeps;
  readonly spenders: readonly LeaseTenant[];
  readonly gateways: Gateway[];
  readonly flights: InFlightRequest[];
  /** Requests of dead gateways. The usage of some arrives later. */
  readonly deadRequests: InFlightRequest[];
  readonly stream: Message[];
  readonly ends: Set<string>;
  /** Requests whose usage the sink has recorded, charged or not. */
  readonly known: Set<string>;
  /** Number of messages that the sink has processed. */
  passed: number;
  ledgerIsUp: boolean;
  /** Makes the worker's next step fail before or after it takes effect. */
  fault: 'before' | 'after' | null;
  /** Generation in which Valkey's data was changed: its leases do not count until the next generation. */
  tamperedIn: bigint | null;
  replicaHas: boolean;
  readonly pending: Set<Promise<unknown>>;
  made: number;
}

export const streamName = 'USAGE_1';

/** For gateways and workers: monotonic time also comes from the simulation. */
function leaseClock(harness: LedgerHarness): Clock {
  return { ...hybridClock(harness.clock), monotonicMs: () => harness.clock.monotonicMs() };
}

export class ProcessDied extends Error {}

export async function createLeaseHarness(harness: LedgerHarness): Promise<LeaseHarness> {
  const [valkey, replica] = await Promise.all([startValkeyServer(), startValkeyServer()]);
  const log = createLogger({ name: 'pots', level: 'silent' });
  const clock = leaseClock(harness);
  const guard = async <T>(work: () => Promise<T>): Promise<T> => {
    const { fault } = leases;
    leases.fault = null;
    if (fault === 'before') throw new ProcessDied('The worker died before this step.');
    const result = await work();
    if (fault === 'after') throw new ProcessDied('The worker died after this step.');
    return result;
  };
  const db = {
    get kysely() {
      return harness.db.kysely;
    },
    clock: harness.db.clock,
    transaction: (options: never, work: never) => guard(() => harness.db.transaction(options, work)),
  } as unknown as Db;
  const own: ValkeyClient = {
    ...valkey.client,
    runLoaded: (script, call) => guard(() => valkey.client.runLoaded(script, call)),
  };
  const service = createCreditLeaseService({ db, valkey: own, cell, clock, log, rules });
  const publishEnd = async (end: EpochEnd): Promise<void> => {
    const id = `${end.gatewayId} ${end.orgId} ${end.mode} ${end.throughEpoch}`;
    if (!leases.ends.has(id)) leases.stream.push({ end });
    leases.ends.add(id);
  };
  const sweeps = createCreditLeaseSweeps({ db, log, cell, service, rules, publishEnd });
  const leases: LeaseHarness = {
    valkey,
    replica,
    service,
    sweeps,
    spenders: await createSpenders(harness),
    gateways: [],
    flights: [],
    deadRequests: [],
    stream: [],
    ends: new Set(),
    known: new Set(),
    passed: 0,
    ledgerIsUp: true,
    fault: null,
    tamperedIn: null,
    replicaHas: false,
    pending: new Set(),
    made: 0,
  };
  newGateway = () => {
    leases.made += 1;
    const name = `gw-${leases.made}`;
    const client = createCreditLeaseClient({
      valkey: valkey.client,
      requestLease: (request) => {
        const response = leases.ledgerIsUp
          ? service.lease(request)
          : Promise.reject(new Error('The ledger is unavailable.'));
        const pending: Promise<unknown> = response
          .catch(() => undefined)
          .finally(() => leases.pending.delete(pending));
        leases.pending.add(pending);
        return response;
      },
      publishEnd,
      cell,
      gatewayId: name,
      clock,
      log,
    });
    return { name, client };
  };
  for (let made = 0; made < 3; made += 1) leases.gateways.push(newGateway());
  return leases;
}

let newGateway: () => Gateway;
export const startGateway = (): Gateway => newGateway();

export async function closeLeaseHarness(leases: LeaseHarness): Promise<void> {
  await waitForPending(leases);
  await leases.valkey[Symbol.asyncDispose]();
  await leases.replica[Symbol.asyncDispose]();
}

export async function waitForPending(leases: LeaseHarness): Promise<void> {
  while (leases.pending.size > 0) await Promise.all(leases.pending);
}

async function createSpenders(harness: LedgerHarness): Promise<LeaseTenant[]> {
  const spenders: LeaseTenant[] = [];
  for (let number = 0; number < 5; number += 1) {
    const orgId = harness.ids.next('org');
    const mode = 'live';
    await harness.client.query(
      'insert into organisations (id, name, slug, home_cell) values ($1, $2, $3, $4)',
      [toUuid(orgId), `Spender ${number}`, `spender-${number}`, cell],
    );
    const keyId = harness.ids.next('key');
    const budget = number === 0 ? await createLeaseBudget(harness, orgId, keyId) : null;
    spenders.push({ orgId, mode, keyId, budget, paidIn: 0n, charged: 0n, holds: new Map() });
  }
  return spenders;
}

async function createLeaseBudget(harness: LedgerHarness, orgId: OrgId, keyId: KeyId): Promise<BudgetId> {
  const { id } = await harness.db.transaction({ name: 'budget', isolation: 'read committed' }, (tx) =>
    createBudget(tx, {
      orgId,
      mode: 'live',
      name: 'Key',
      keyIds: [keyId],
      period: 'total',
      limit: nanoUsd(200_000_000_000n),
      thresholdsPercent: [],
      onExceeded: 'stop_new_work',
    }),
  );
  return id;
}

export async function applyFor(harness: LedgerHarness, command: LedgerCommand): Promise<LedgerResult> {
  const [result] = await harness.db.transaction({ name: 'spender', isolation: 'read committed' }, (tx) =>
    applyLedger(tx, [command]),
  );
  if (result === undefined) throw new Error('The ledger returned no result.');
  return result;
}

export async function payIn(harness: LedgerHarness, spender: LeaseTenant, amount: bigint): Promise<void> {
  const { orgId, mode } = spender;
  harness.steps += 1;
  requireLedgerSuccess(
    await applyFor(harness, {
      do: 'credit',
      kind: 'top_up',
      orgId,
      mode,
      cause: { kind: 'deposit', id: `p${harness.steps}` },
      step: 'paid',
      amount: nanoUsd(amount),
      from: [{ account: { kind: 'payments_clearing' }, amount: nanoUsd(amount) }],
      description: 'Paid in',
    }),
  );
  spender.paidIn += amount;
  harness.oracle.systemAccount('payments_clearing', null, mode).balance -= amount;
}

/** Deletes an earlier snapshot, so that the next start is empty. */
export async function deleteSnapshot(leases: LeaseHarness): Promise<void> {
  const response = await leases.valkey.client.command(['CONFIG', 'GET', 'dir']);
  const folder = Array.isArray(response) ? response[1] : (response as Record<string, unknown>)['dir'];
  await rm(join(String(folder), 'dump.rdb'), { force: true });
}
