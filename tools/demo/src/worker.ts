import { connect } from 'node:net';
import type { ComputeDriver } from '@millrace/compute';
import { mockBenchmark, readMockHost } from '@millrace/compute/mock';
import { eventChannels, startRelay } from '@millrace/core/events';
import { listClusters, sweepMaintenance } from '@millrace/core/fleet';
import { expirePromos } from '@millrace/core/ledger';
import { sweepMeters } from '@millrace/core/metering';
import {
  defaultRentalPolicy,
  executeIdleRule,
  executeRequiredActions,
  InventoryReconciler,
  reconcileRental,
  sampleDueShards,
  type ReconcileDeps,
} from '@millrace/core/rentals';
import { EnrolmentSweep, measureMachines } from '@millrace/core/suppliers';
import {
  checkDueNodes,
  createBackendPool,
  defaultVolumePolicy,
  freezeUnpaid,
  reconcileDueVolumes,
  type BackendPool,
  type VolumeDeps,
} from '@millrace/core/volumes';
import { startDeliverer, type SendWebhook } from '@millrace/core/webhooks';
import { systemClock, type Timer } from '@millrace/platform/clock';
import { createNetGuard } from '@millrace/platform/net';
import { outboxShards } from '@millrace/platform/outbox';
import { connectVolumeBackend } from '@millrace/storage';
import type { Cloud } from './cloud.ts';
import { hasUnsentEvents, isEnrolling, listUnendedRentals } from './queries.ts';

/** The work of the worker, one turn at a time, so that the scenario decides when time passes. */
export interface DemoWorker extends AsyncDisposable {
  /** Works until nothing is left to do now. Short waits, such as boots, pass in simulated time. */
  settle(): Promise<void>;
  /** Lets time pass in steps, with one turn of work after each. */
  advance(ms: number, options?: AdvanceOptions): Promise<void>;
  /** No machine of this rental boots. */
  failBoots(rentalId: number): void;
}

export interface AdvanceOptions {
  /** Default: a day. */
  readonly stepMs?: number;
  /** Also samples the machines and compares rentals with the engines. */
  readonly samples?: boolean;
}

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DEFAULT_STEP_MS = 24 * HOUR_MS;
/** A wait this long is not a step of a start or an end. */
const LONG_WAIT_MS = 5 * MINUTE_MS;
const ROUNDS_MAX = 600;
const PORT_TRIES = 100;
/** Bounds the enrolments that advance at the same time. */
const ENROLMENT_TURNS = 20;
/** Longer than any step of the scenario. */
const LEASE_MS = 20 * 24 * HOUR_MS;

/** Leases must be renewed after each step of simulated time, so no loop waits for long. */
const impatientClock: Timer = {
  ...systemClock,
  sleep: (ms, signal) => systemClock.sleep(Math.min(ms, 50), signal),
};
const never = new AbortController().signal;
const shards = Array.from({ length: outboxShards }, (_, shard) => shard);

export async function openWorker(cloud: Cloud, send: SendWebhook): Promise<DemoWorker> {
  const { log, sealer } = cloud;
  const [relayDb, delivererDb] = [cloud.openDb('relay'), cloud.openDb('deliverer')];
  const relay = await startRelay({
    ...{ db: relayDb, clock: impatientClock, log, holder: 'demo', channels: eventChannels('demo') },
    nats: { publish: async () => ({ stream: 'DEMO_EVENTS', sequence: 1, duplicate: false }) },
    restate: { send: async () => ({ invocationId: 'demo', repeated: false }) },
    tuning: { leaseTtlMs: LEASE_MS },
  });
  const deliverer = startDeliverer({
    ...{ db: delivererDb, clock: impatientClock, log, holder: 'demo', sealer, post: send },
    tuning: { leaseTtlMs: LEASE_MS, pollMs: 20, workingAtOnce: 1, failingAtOnce: 1, perWebhook: 1 },
  });
  return new SteppedWorker(cloud, [
    () => deliverer.stop(),
    () => relay.stop(),
    () => delivererDb.close(),
    () => relayDb.close(),
  ]);
}

/**
 * A driver that reports a booted machine only when its ports are open. They open in real time, and without the wait a busy machine would
 * need one more step of simulated time.
 */
function withOpenPorts(driver: ComputeDriver, unbootable: ReadonlySet<string>): ComputeDriver {
  const describe: ComputeDriver['describe'] = async (machine, signal) => {
    const view = await driver.describe(machine, signal);
    if (view === null) return null;
    if (unbootable.has(view.labels['millrace.rental'] ?? '')) return { ...view, power: 'error' };
    const ports = view.power === 'on' && view.address !== null ? view.ports : [];
    for (const { externalPort } of ports) await waitForPort(view.address ?? '', externalPort);
    return view;
  };
  return new Proxy(driver, {
    get: (target, name) => {
      if (name === 'describe') return describe;
      const value: unknown = Reflect.get(target, name, target);
      return typeof value === 'function' ? (value.bind(target) as unknown) : value;
    },
  });
}

async function waitForPort(host: string, port: number): Promise<void> {
  for (let tries = 0; tries < PORT_TRIES; tries += 1) {
    const isOpen = await new Promise<boolean>((resolve) => {
      const socket = connect({ host, port });
      socket.once('connect', () => resolve(true)).once('error', () => resolve(false));
      socket.once('close', () => resolve(false)).setTimeout(5_000, () => socket.destroy());
      socket.once('connect', () => socket.destroy());
    });
    if (isOpen) return;
    await systemClock.sleep(20);
  }
}

class SteppedWorker implements DemoWorker {
  readonly #cloud: Cloud;
  readonly #closers: readonly (() => Promise<void>)[];
  readonly #driverOf: ReconcileDeps['drivers'];
  readonly #reconcileDeps: ReconcileDeps;
  readonly #backends: BackendPool;
  readonly #volumes: VolumeDeps;
  readonly #enrolments: EnrolmentSweep;
  readonly #inventory: InventoryReconciler;
  readonly #unbootable = new Set<string>();

  constructor(cloud: Cloud, closers: readonly (() => Promise<void>)[]) {
    const { db, log, sealer, drivers } = cloud;
    this.#cloud = cloud;
    this.#closers = closers;
    this.#driverOf = async (id) => withOpenPorts(await drivers.of(id), this.#unbootable);
    const shared = { db, clock: systemClock, log, sealer, drivers: this.#driverOf };
    this.#reconcileDeps = {
      ...shared,
      unfundedSince: new Map(),
      policy: { ...defaultRentalPolicy, lookForMs: 0, pollMs: 2_000 },
    };
    this.#backends = createBackendPool({
      log,
      connect: (node) => connectVolumeBackend(node, { clock: systemClock, log, credentials: {} }),
    });
    this.#volumes = { db, clock: systemClock, log, backends: this.#backends, policy: defaultVolumePolicy };
    this.#inventory = new InventoryReconciler({ ...shared, holder: 'demo' });
    const enrolmentDeps = {
      ...shared,
      ...{ providerId: 'marketplace', credentialRef: 'suppliers' },
      guard: createNetGuard({ allowedNetworks: ['127.0.0.0/8'] }),
      trust: () => Promise.reject(new Error('The demo has only simulated hosts.')),
      mockHosts: { settingsOf: readMockHost, benchmark: mockBenchmark },
    };
    this.#enrolments = new EnrolmentSweep(enrolmentDeps, { slots: 1, perSupplier: 1 });
  }

  async settle(): Promise<void> {
    const { db } = this.#cloud;
    await this.#watch();
    for (let round = 0; round < ROUNDS_MAX; round += 1) {
      for (let turn = 0; turn < ENROLMENT_TURNS && (await this.#enrolments.sweep()) > 0; turn += 1) {
        await this.#enrolments.settled();
      }
      await this.#reconcileVolumes();
      const isJoining = await isEnrolling(db);
      if (isJoining) await this.#watch();
      const waitMs = await this.#reconcileRentals();
      if (waitMs >= LONG_WAIT_MS && !isJoining) break;
      await this.#pass(Math.max(1_000, Math.min(waitMs, 15_000)));
    }
    await this.#waitForEvents();
  }

  async advance(ms: number, options: AdvanceOptions = {}): Promise<void> {
    const { clock } = this.#cloud;
    const { stepMs = DEFAULT_STEP_MS, samples = false } = options;
    const untilMs = clock.nowMs() + ms;
    while (clock.nowMs() < untilMs) {
      await this.#pass(Math.min(stepMs, untilMs - clock.nowMs()));
      await this.#sweep();
      await this.#reconcileRentals();
      if (samples) await this.#observe();
    }
    await this.#waitForEvents();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const close of this.#closers) await close();
    await this.#backends.close();
  }

  /** Lets time pass after the loops beside the scenario have finished, so that they record the same times in every run. */
  async #pass(ms: number): Promise<void> {
    await this.#waitForEvents();
    await this.#cloud.clock.advance(ms);
  }

  failBoots(rentalId: number): void {
    this.#unbootable.add(String(rentalId));
  }

  async #watch(): Promise<void> {
    const { db, sync } = this.#cloud;
    await sync.tick();
    for (const { id } of await listClusters(db, {}, { limit: 1_000, after: null })) await sync.look(id);
  }

  /** Reconciles every rental that has not ended, and returns the shortest wait. */
  async #reconcileRentals(): Promise<number> {
    const waits: number[] = [];
    for (const { orgId, id } of await listUnendedRentals(this.#cloud.db)) {
      for (let round = 0; round < ROUNDS_MAX; round += 1) {
        const result = await reconcileRental(this.#reconcileDeps, orgId, id, never);
        if (result.kind === 'wait') waits.push(result.forMs);
        if (result.kind !== 'again') break;
      }
    }
    return Math.min(...waits, Number.MAX_SAFE_INTEGER);
  }

  async #reconcileVolumes(): Promise<void> {
    await checkDueNodes(this.#volumes, never);
    for (let round = 0; round < ROUNDS_MAX; round += 1) {
      // One at a time, because volumes of one batch are reconciled concurrently.
      if ((await reconcileDueVolumes(this.#volumes, 1, never)) === 0) return;
    }
  }

  async #sweep(): Promise<void> {
    const { db, log } = this.#cloud;
    await this.#watch();
    await sweepMeters(db, { shards, log });
    await executeRequiredActions(db, { log, limit: 100 });
    await freezeUnpaid(db, { log, limit: 100 });
    await sweepMaintenance(db, { log });
    await expirePromos(db, { log, limit: 100 });
    await this.#reconcileVolumes();
    await measureMachines({ db, clock: systemClock, log }, 200);
  }

  /** Samples the machines, and compares rentals with the engines. */
  async #observe(): Promise<void> {
    const { db, log } = this.#cloud;
    while ((await this.#inventory.compareNext()) !== null);
    const onIdle = (rental: Parameters<typeof executeIdleRule>[1]): Promise<void> =>
      executeIdleRule(db, rental);
    await sampleDueShards({ db, clock: systemClock, log, drivers: this.#driverOf, onIdle }, never);
  }

  async #waitForEvents(): Promise<void> {
    for (let tries = 0; tries < 2_000; tries += 1) {
      if (!(await hasUnsentEvents(this.#cloud.db))) return;
      await systemClock.sleep(10);
    }
    throw new Error('Events or deliveries stay unsent.');
  }
}
