import type { Reader, Tx } from '@millrace/platform/db';
import type { Mode } from '@millrace/platform/envelope';
import type { HoldId, KeyId, MeterId, OrgId } from '@millrace/platform/ids';
import {
  addUsd,
  affordableMs,
  divideRoundDown,
  nanoUsd,
  ppm,
  subtractUsd,
  zeroUsd,
  type NanoUsd,
  type Ppm,
} from '@millrace/platform/money';
import {
  applyLedger,
  findHold,
  requireLedgerSuccess,
  type WorkState,
  type LedgerCommand,
  type LedgerSuccess,
  type MoneyCause,
  type Product,
} from '../ledger/index.ts';
import {
  costAt,
  holdAmount,
  owedAt,
  retentionCostOf,
  scheduleOf,
  type Meter,
  type MeterTransition,
} from './meter.ts';
import {
  insertMeter,
  insertTransitions,
  listMeterCostInputs,
  listMetersOf,
  listTransitions,
  lockMeters,
  saveMeters,
} from './meters.store.ts';
import {
  payableFrom,
  initialHoldOf,
  planClose,
  planPause,
  planResume,
  type MeterPlan,
  type RemainingTermCharge,
} from './meter-plans.ts';
import { defaultMeteringPolicy, HOLD_WINDOW_MS, RETENTION_DIVISOR } from './policy.ts';

/** Opens, pauses, resumes and closes meters in the transaction that changes the resource. */

/** How a meter is paid for, and how long its data is retained after the money ends. */
export type MeterFunding =
  | {
      readonly kind: 'ahead';
      readonly retentionMs?: number;
      /** The hourly cost of retention if it is less than the rate. */
      readonly retentionRatePerHour?: NanoUsd;
    }
  | { readonly kind: 'committed'; readonly termEndsAt: Date; readonly refund: Ppm };

export interface MeterSpec {
  readonly mode: Mode;
  /** The metered resource; the cause of its charges. */
  readonly cause: MoneyCause;
  /** The meter within the resource: `gpu`, `disk`, `gpu-2`. A name is never reused for another meter. */
  readonly name: string;
  readonly product: Product;
  readonly keyId?: KeyId | null;
  /** For the whole quantity; 0 in test mode. */
  readonly ratePerHour: NanoUsd;
  readonly quantity: number;
  readonly unit: string;
  readonly supplier?: { readonly orgId: OrgId; readonly ratePerHour: NanoUsd } | null;
  readonly funding: MeterFunding;
  /**
   * The demand of a new hold. `running` passes budgets and freezes that refuse new work. `rest` does so too and accepts
   * less money: a shortage then leads to dunning, not to a refusal.
   */
  readonly demand?: WorkState | 'rest';
  /** The hold that was placed when the order was accepted. Without one, the meter places a hold or is refused. */
  readonly holdId?: HoldId | null;
  /** The start of billing. */
  readonly at: Date;
}

export interface ClosedMeter {
  readonly meter: Meter;
  readonly finalCost: NanoUsd;
}

function newMeter(id: MeterId, orgId: OrgId, spec: MeterSpec): Meter {
  return {
    id,
    orgId,
    mode: spec.mode,
    cause: spec.cause,
    name: spec.name,
    product: spec.product,
    keyId: spec.keyId ?? null,
    ratePerHour: spec.ratePerHour,
    quantity: spec.quantity,
    unit: spec.unit,
    supplier: spec.supplier == null ? null : { ...spec.supplier, posted: zeroUsd },
    funding: spec.funding.kind,
    termEndsAt: spec.funding.kind === 'committed' ? spec.funding.termEndsAt : null,
    refund: spec.funding.kind === 'committed' ? spec.funding.refund : ppm(0),
    retentionMs: spec.funding.kind === 'ahead' ? (spec.funding.retentionMs ?? 0) : 0,
    retentionRatePerHour:
      spec.funding.kind === 'ahead' ? (spec.funding.retentionRatePerHour ?? spec.ratePerHour) : zeroUsd,
    state: 'open',
    runningSince: spec.at,
    elapsedBeforeMs: 0,
    postedMs: 0,
    posted: zeroUsd,
    shortfall: zeroUsd,
    restOfTerm: zeroUsd,
    holdId: null,
    held: zeroUsd,
    coveredUntil: null,
    nextPostAt: null,
    postings: 0,
    transitions: 1,
    openedAt: spec.at,
    closedAt: null,
  };
}

/** Uses the hold of the order if it belongs to the resource and is open. */
async function attachHold(tx: Tx, meter: Meter, holdId: HoldId): Promise<Meter> {
  const hold = await findHold(tx, meter.orgId, holdId);
  const fits =
    hold !== null &&
    !hold.closed &&
    hold.mode === meter.mode &&
    hold.cause.kind === meter.cause.kind &&
    hold.cause.id === meter.cause.id;
  if (!fits) throw new Error(`${holdId} is no open hold of ${meter.cause.kind} ${meter.cause.id}.`);
  return { ...meter, holdId, held: hold.held };
}

/** The step does not depend on the caller, so that concurrent openings of one name place one hold. */
function holdCommand(
  meter: Meter,
  demand: MeterSpec['demand'] = 'new',
): LedgerCommand & { readonly do: 'hold' } {
  return {
    do: 'hold',
    orgId: meter.orgId,
    mode: meter.mode,
    cause: meter.cause,
    step: `meter:open:${meter.name}`,
    amount: initialHoldOf(meter, defaultMeteringPolicy),
    demand: demand === 'rest' ? 'running' : demand,
    ...payableFrom(meter),
    ...(demand === 'rest' ? { atLeast: zeroUsd } : {}),
    ...(meter.keyId === null ? {} : { keyId: meter.keyId }),
  };
}

/**
 * The hold of an order covers only running time. The retention is added before the meter runs, as far as the money lasts: what is
 * not held could be promised to several meters. The target is absolute, so that concurrent openings of one name add it once.
 */
function retentionCommand(meter: Meter, holdId: HoldId): LedgerCommand | null {
  const retention = retentionCostOf(meter);
  const target = addUsd(holdAmount(meter, 0, HOLD_WINDOW_MS), retention);
  if (meter.funding === 'committed' || retention === 0n || target <= meter.held) return null;
  return {
    do: 'resize',
    orgId: meter.orgId,
    mode: meter.mode,
    cause: meter.cause,
    step: `meter:retain:${meter.name}`,
    holdId,
    target,
    atLeast: zeroUsd,
    demand: 'running',
    ...payableFrom(meter),
    ...(meter.keyId === null ? {} : { keyId: meter.keyId }),
  };
}

function openingCommand({ meter, spec }: OpeningMeter): LedgerCommand | null {
  if (meter.holdId !== null) return retentionCommand(meter, meter.holdId);
  return meter.ratePerHour > 0n ? holdCommand(meter, spec.demand) : null;
}

/** If the money did not last, the retention is shortened to the part held for it, or to a quarter of the hold. */
function withHold(meter: Meter, { holdId, held }: LedgerSuccess): Meter {
  const paid = { ...meter, holdId, held };
  if (meter.holdId === null) return paid;
  const part = nanoUsd(divideRoundDown(held, RETENTION_DIVISOR));
  const beyond = subtractUsd(held, holdAmount(meter, 0, HOLD_WINDOW_MS));
  const paidMs = affordableMs(beyond > part ? beyond : part, meter.retentionRatePerHour);
  return { ...paid, retentionMs: Math.min(meter.retentionMs, Number(paidMs ?? meter.retentionMs)) };
}

interface OpeningMeter {
  readonly meter: Meter;
  readonly spec: MeterSpec;
}

/** Idempotent per name. Throws the ledger's refusal if the balance does not cover the holds. */
export async function openMeters(
  tx: Tx,
  orgId: OrgId,
  requests: readonly MeterSpec[],
): Promise<readonly Meter[]> {
  const opened: Meter[] = [];
  const fresh: OpeningMeter[] = [];
  for (const spec of requests) {
    const known = await findByName(tx, orgId, spec);
    if (known !== null) opened.push(known);
    else {
      const meter = newMeter(tx.ids.next('mtr'), orgId, spec);
      fresh.push({ spec, meter: spec.holdId == null ? meter : await attachHold(tx, meter, spec.holdId) });
    }
  }
  const commands = fresh.map(openingCommand);
  const placed = commands.filter((command) => command !== null);
  const responses = (await applyLedger(tx, placed)).map((result, nth) => {
    const command = placed[nth];
    return requireLedgerSuccess(result, command?.do === 'hold' ? command.amount : undefined);
  });
  let next = 0;
  for (const [nth, { meter }] of fresh.entries()) {
    const response = commands[nth] === null ? undefined : responses[next++];
    opened.push(await insertOpened(tx, response === undefined ? meter : withHold(meter, response)));
  }
  return opened;
}

async function findByName(
  reader: Reader,
  orgId: OrgId,
  request: Pick<MeterSpec, 'mode' | 'cause' | 'name'>,
): Promise<Meter | null> {
  const meters = await listMetersOf(reader, orgId, request.mode, request.cause);
  return meters.find((meter) => meter.name === request.name) ?? null;
}

async function insertOpened(tx: Tx, paid: Meter): Promise<Meter> {
  const meter = { ...paid, ...scheduleOf(paid, paid.held, paid.openedAt, defaultMeteringPolicy) };
  if (!(await insertMeter(tx, meter))) {
    const winner = await findByName(tx, meter.orgId, meter);
    if (winner === null) throw new Error(`The meter ${meter.name} of ${meter.cause.id} does not exist.`);
    return winner;
  }
  await insertTransitions(tx, [{ meter, transition: { kind: 'opened', at: meter.openedAt } }]);
  return meter;
}

export type MeterChange =
  | { readonly do: 'pause' | 'resume'; readonly meterId: MeterId; readonly at: Date }
  | {
      readonly do: 'close';
      readonly meterId: MeterId;
      readonly at: Date;
      readonly rest?: RemainingTermCharge;
    };

/**
 * Changes meters in one ledger batch. A change to the current state, or of a closed meter, has no effect. If `at` is
 * before the last posting, the difference is returned.
 */
export async function changeMeters(
  tx: Tx,
  orgId: OrgId,
  changes: readonly MeterChange[],
): Promise<readonly Meter[]> {
  const ids = changes.map((change) => change.meterId);
  if (new Set(ids).size !== ids.length) throw new Error('A batch must not change a meter twice.');
  const meters = await lockMeters(tx, orgId, ids);
  const transitions = await listTransitions(tx, orgId, ids);
  const plans = changes.map((change) => {
    const meter = meters.get(change.meterId);
    if (meter === undefined) throw new Error(`${orgId} has no meter ${change.meterId}.`);
    return {
      meter,
      plan: planMeterChange(change, meter, transitions.get(change.meterId) ?? [], tx.clock.now()),
    };
  });
  const changed = await executePlans(
    tx,
    plans.flatMap(({ plan }) => plan ?? []),
  );
  return plans.map(({ meter }) => changed.get(meter.id) ?? meter);
}

function planMeterChange(
  change: MeterChange,
  meter: Meter,
  transitions: readonly MeterTransition[],
  now: Date,
): MeterPlan | null {
  const times = { at: change.at, now };
  switch (change.do) {
    case 'pause':
      return meter.state === 'open' ? planPause(meter, transitions, times) : null;
    case 'resume':
      return meter.state === 'paused' ? planResume(meter, transitions, times, defaultMeteringPolicy) : null;
    case 'close':
      return meter.state === 'closed'
        ? null
        : planClose(meter, transitions, { ...times, rest: change.rest ?? 'owed' });
  }
}

async function executePlans(tx: Tx, plans: readonly MeterPlan[]): Promise<ReadonlyMap<MeterId, Meter>> {
  const responses = (
    await applyLedger(
      tx,
      plans.flatMap((plan) => plan.commands),
    )
  ).map((result) => requireLedgerSuccess(result));
  let next = 0;
  const changes = plans.map((plan) => {
    const own = responses.slice(next, (next += plan.commands.length));
    return { before: plan.meter, after: plan.finish(own), transition: plan.transition };
  });
  await saveMeters(tx, changes);
  await insertTransitions(
    tx,
    changes.flatMap(({ after, transition }) => (transition === null ? [] : [{ meter: after, transition }])),
  );
  return new Map(changes.map(({ after }) => [after.id, after]));
}

async function changeMeter(tx: Tx, orgId: OrgId, change: MeterChange): Promise<Meter> {
  const [meter] = await changeMeters(tx, orgId, [change]);
  if (meter === undefined) throw new Error(`${orgId} has no meter ${change.meterId}.`);
  return meter;
}

export function pauseMeter(tx: Tx, orgId: OrgId, meterId: MeterId, at: Date): Promise<Meter> {
  return changeMeter(tx, orgId, { do: 'pause', meterId, at });
}

export function resumeMeter(tx: Tx, orgId: OrgId, meterId: MeterId, at: Date): Promise<Meter> {
  return changeMeter(tx, orgId, { do: 'resume', meterId, at });
}

export async function closeMeter(
  tx: Tx,
  orgId: OrgId,
  meterId: MeterId,
  at: Date,
  rest: RemainingTermCharge = 'owed',
): Promise<ClosedMeter> {
  const meter = await changeMeter(tx, orgId, { do: 'close', meterId, at, rest });
  return { meter, finalCost: costAt(meter, at) };
}

/** The exact cost of a resource by `at` over all its meters, posted or not. */
export async function readMeterCost(
  reader: Reader,
  orgId: OrgId,
  mode: Mode,
  cause: MoneyCause,
  at: Date,
): Promise<{ readonly cost: NanoUsd; readonly meters: readonly Meter[] }> {
  const meters = await listMetersOf(reader, orgId, mode, cause);
  return { cost: addUsd(...meters.map((meter) => costAt(meter, at))), meters };
}

/** The cost for the tenant by resource, posted or not. Resources without meters are missing from the map. */
export async function readCosts(
  reader: Reader,
  orgId: OrgId,
  mode: Mode,
  causes: { readonly kind: MoneyCause['kind']; readonly ids: readonly MoneyCause['id'][] },
  at: Date,
): Promise<ReadonlyMap<MoneyCause['id'], NanoUsd>> {
  const costs = new Map<string, NanoUsd>();
  for (const meter of await listMeterCostInputs(reader, orgId, mode, causes)) {
    costs.set(meter.causeId, addUsd(costs.get(meter.causeId) ?? zeroUsd, owedAt(meter, at)));
  }
  return costs;
}
