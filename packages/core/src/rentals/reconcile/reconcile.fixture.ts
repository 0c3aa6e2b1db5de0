import { DriverError, type ComputeDriver, type DriverErrorKind } from '@millrace/compute';
import { systemClock, type SimulatedClock } from '@millrace/platform/clock';
import { isContended, type Db } from '@millrace/platform/db';
import type { ClusterId } from '@millrace/platform/ids';
import { reconcileRental } from './reconcile-rental.ts';
import type { ReconcileDeps } from './reconcile-deps.ts';
import { defaultRentalPolicy, type RentalPolicy } from '../model/policy.ts';
import { quiet, type RentalHarness } from '../model/rental.fixture.ts';
import type { Rental, RentalState } from '../model/rental.ts';
import { findRental } from '../model/rentals.store.ts';

/** Reconciles rentals like the workflow, on a simulated clock and with injected faults. */

/** A fault before or after a call to an engine or a transaction. */
export interface InjectedFault {
  /** Name of a driver method or of a transaction. */
  readonly at: string;
  readonly when: 'before' | 'after';
  /** The engine's error. A transaction fails as if its process crashed. */
  readonly kind?: DriverErrorKind;
  /** Default: once. */
  readonly times?: number;
}

export interface FaultyDriver {
  readonly drivers: ReconcileDeps['drivers'];
  readonly db: Db;
  plan(sabotage: InjectedFault): void;
  /** Runs `work` just before the nth call or transaction, counted from 0. */
  interrupt(nth: number, work: () => Promise<unknown>): void;
  /** All calls so far, in order. */
  readonly seen: string[];
  /** Whether all planned faults have occurred. */
  spent(): boolean;
}

/** A crash of the process; product code must not catch it. */
export class SimulatedCrash extends Error {}

export function createFaultyDriver(harness: Pick<RentalHarness, 'db' | 'drivers'>): FaultyDriver {
  const seen: string[] = [];
  let planned: (InjectedFault & { left: number }) | null = null;
  let interruption: { readonly nth: number; readonly action: () => Promise<unknown> } | null = null;
  const takeFault = (at: string, when: InjectedFault['when']): InjectedFault | null => {
    if (planned === null || planned.left === 0 || planned.at !== at || planned.when !== when) return null;
    planned.left -= 1;
    return planned;
  };
  const around = async <T>(
    at: string,
    action: () => Promise<T>,
    fail: (what: InjectedFault) => Error,
  ): Promise<T> => {
    const nth = seen.push(at) - 1;
    if (interruption?.nth === nth) await interruption.action();
    const before = takeFault(at, 'before');
    if (before !== null) throw fail(before);
    const result = await action();
    const after = takeFault(at, 'after');
    if (after !== null) throw fail(after);
    return result;
  };
  const wrapped = (driver: ComputeDriver): ComputeDriver =>
    new Proxy(driver, {
      get(target, name) {
        const value: unknown = Reflect.get(target, name, target);
        if (typeof value !== 'function' || typeof name !== 'string') return value;
        return (...args: unknown[]) =>
          around(
            name,
            () => (value as (...given: unknown[]) => Promise<unknown>).apply(target, args),
            ({ kind = 'unavailable' }) => new DriverError(kind, `injected fault: ${name}`),
          );
      },
    });
  return {
    seen,
    plan: (sabotage) => void (planned = { ...sabotage, left: sabotage.times ?? 1 }),
    interrupt: (nth, action) => void (interruption = { nth, action }),
    spent: () => planned === null || planned.left === 0,
    drivers: async (clusterId: ClusterId) => wrapped(await harness.drivers(clusterId)),
    db: new Proxy(harness.db, {
      get(target, name) {
        if (name !== 'transaction') return Reflect.get(target, name, target) as unknown;
        return (options: { name: string }, work: never) =>
          around(
            options.name,
            () => target.transaction(options as never, work),
            () => new SimulatedCrash(options.name),
          );
      },
    }),
  };
}

/** The same harness with some driver methods replaced. */
export function withDriver<Harness extends Pick<RentalHarness, 'drivers'>>(
  harness: Harness,
  change: (driver: ComputeDriver) => Partial<ComputeDriver>,
): Harness {
  const drivers: RentalHarness['drivers'] = async (clusterId) => {
    const driver = await harness.drivers(clusterId);
    const changed: Partial<Record<PropertyKey, unknown>> = change(driver);
    return new Proxy(driver, {
      get: (good, name) => {
        const value: unknown = changed[name] ?? Reflect.get(good, name, good);
        return typeof value === 'function' ? (value.bind(good) as unknown) : value;
      },
    });
  };
  return { ...harness, drivers };
}

export interface ReconcileOptions {
  readonly until: RentalState;
  readonly faultyDriver?: FaultyDriver;
  readonly policy?: Partial<RentalPolicy>;
  readonly recallMoney?: ReconcileDeps['recallMoney'];
  /** Number of concurrent workers. */
  readonly workers?: number;
  /** Fails after this many rounds. */
  readonly rounds?: number;
  /** The clock also advances during a round, for calls that wait for it. */
  readonly ticking?: boolean;
}

export type ReconcileHarness = Pick<RentalHarness, 'db' | 'drivers' | 'sealer'> & {
  readonly clock: SimulatedClock;
  advance(ms: number): Promise<void>;
};

export function reconcileDepsOf(
  harness: ReconcileHarness,
  options: Pick<ReconcileOptions, 'faultyDriver' | 'policy' | 'recallMoney'> &
    Partial<Pick<ReconcileDeps, 'drivers' | 'hold' | 'unfundedSince'>> = {},
): ReconcileDeps {
  return {
    db: options.faultyDriver?.db ?? harness.db,
    clock: harness.clock,
    log: quiet,
    drivers: options.drivers ?? options.faultyDriver?.drivers ?? harness.drivers,
    ...(options.hold === undefined ? {} : { hold: options.hold }),
    recallMoney: options.recallMoney,
    unfundedSince: options.unfundedSince ?? new Map(),
    sealer: harness.sealer,
    // One check per step, and a long poll interval, keep the number of rounds small.
    policy: { ...defaultRentalPolicy, lookForMs: 0, pollMs: 2_000, ...options.policy },
  };
}

/** Repeats crashed rounds. The clock advances only when there is nothing to do. */
export async function reconcileUntil(
  harness: ReconcileHarness,
  rental: Rental,
  options: ReconcileOptions,
): Promise<Rental> {
  const deps = reconcileDepsOf(harness, options);
  const never = new AbortController().signal;
  const once = () =>
    reconcileRental(deps, rental.orgId, rental.id, never).catch((error: unknown) => {
      // The workflow also repeats a round that waited too long for a lock.
      if (error instanceof SimulatedCrash || isContended(error)) return { kind: 'again' } as const;
      throw error;
    });
  const all = () => Promise.all(Array.from({ length: options.workers ?? 1 }, once));
  for (let round = 0; round < (options.rounds ?? 400); round += 1) {
    const now = await findRental(harness.db, rental.orgId, rental.id);
    if (now?.status === options.until) return now;
    const came = await (options.ticking === true ? whileTimePasses(harness, all()) : all());
    const waits = came.flatMap((each) => (each.kind === 'wait' ? [each.forMs] : []));
    if (waits.length === came.length) await harness.advance(Math.max(1, Math.min(...waits)));
  }
  const end = await findRental(harness.db, rental.orgId, rental.id);
  throw new Error(`The rental is ${end?.status} (${end?.statusReason}) and never became ${options.until}.`);
}

/** Advances the simulated clock one second per 20 ms of real time. */
async function whileTimePasses<T>(harness: Pick<ReconcileHarness, 'clock'>, work: Promise<T>): Promise<T> {
  let isDone = false;
  const done = work.finally(() => (isDone = true));
  while (!isDone) {
    await Promise.race([done.catch(() => undefined), systemClock.sleep(20)]);
    if (!isDone) await harness.clock.advance(1_000);
  }
  return done;
}

/** A wait this long counts as idle. */
const IDLE_WAIT_MS = 60_000;

/** Runs rounds until the rental is idle, in any status. */
export async function reconcileToIdle(
  harness: ReconcileHarness,
  rental: Rental,
  options: Pick<ReconcileOptions, 'recallMoney'> = {},
): Promise<Rental> {
  const never = new AbortController().signal;
  for (let round = 0; round < 400; round += 1) {
    const came = await reconcileRental(reconcileDepsOf(harness, options), rental.orgId, rental.id, never);
    const isIdle = came.kind === 'ended' || (came.kind === 'wait' && came.forMs >= IDLE_WAIT_MS);
    const now = await findRental(harness.db, rental.orgId, rental.id);
    if (isIdle && now !== null) return now;
    if (came.kind === 'wait') await harness.advance(Math.max(1, came.forMs));
  }
  throw new Error('The rental never became idle.');
}
