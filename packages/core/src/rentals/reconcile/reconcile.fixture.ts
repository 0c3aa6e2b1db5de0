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

/** Works on rentals as the workflow does, on a clock that the test moves, with whatever fails that the test wants. */

/** What is to go wrong, once: a call to an engine or a transaction, before it is done or after. */
export interface InjectedFault {
  /** The name of a driver's method, or of a transaction. */
  readonly at: string;
  readonly when: 'before' | 'after';
  /** Of an engine's call: what it says. A transaction dies with its process. */
  readonly kind?: DriverErrorKind;
  /** How often; once if not said. */
  readonly times?: number;
}

export interface FaultyDriver {
  readonly drivers: ReconcileDeps['drivers'];
  readonly db: Db;
  plan(sabotage: InjectedFault): void;
  /** Has something happen just before the so-manieth call or transaction, counted from 0. */
  interrupt(nth: number, work: () => Promise<unknown>): void;
  /** Everything that was called so far, in order. */
  readonly seen: string[];
  /** Whether all that was planned has happened. */
  spent(): boolean;
}

/** A process that died: nothing of ours catches it. */
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
            ({ kind = 'unavailable' }) => new DriverError(kind, `sabotaged: ${name}`),
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

/** The same world with some methods of its engines exchanged. */
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
  /** Until it has this status. */
  readonly until: RentalState;
  readonly faultyDriver?: FaultyDriver;
  readonly policy?: Partial<RentalPolicy>;
  readonly recallMoney?: ReconcileDeps['recallMoney'];
  /** So many work on it at once. */
  readonly workers?: number;
  /** More rounds than this, and it never ends. */
  readonly rounds?: number;
  /** Time passes while a round is under way too: for calls that themselves wait for it. */
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
    // Within a look no time of the test's clock passes, and a boot of seconds takes few looks.
    policy: { ...defaultRentalPolicy, lookForMs: 0, pollMs: 2_000, ...options.policy },
  };
}

/**
 * Rounds until the rental has the status, as several workers at once if asked for. A round that dies is begun again. The
 * clock moves only when there is nothing to do, and a little with each look at a machine that boots in real time.
 */
export async function reconcileUntil(
  harness: ReconcileHarness,
  rental: Rental,
  options: ReconcileOptions,
): Promise<Rental> {
  const deps = reconcileDepsOf(harness, options);
  const never = new AbortController().signal;
  const once = () =>
    reconcileRental(deps, rental.orgId, rental.id, never).catch((error: unknown) => {
      // The workflow repeats a round that waited too long for a lock, as on a slow machine.
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

/** A second of the test's clock for every few milliseconds of ours. */
async function whileTimePasses<T>(harness: Pick<ReconcileHarness, 'clock'>, work: Promise<T>): Promise<T> {
  let isDone = false;
  const done = work.finally(() => (isDone = true));
  while (!isDone) {
    await Promise.race([done.catch(() => undefined), systemClock.sleep(20)]);
    if (!isDone) await harness.clock.advance(1_000);
  }
  return done;
}

/** A wait this long counts as nothing to do. */
const IDLE_WAIT_MS = 60_000;

/** Rounds until nothing is to be done for a while, whatever its status. */
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
  throw new Error('There is always something to be done.');
}
