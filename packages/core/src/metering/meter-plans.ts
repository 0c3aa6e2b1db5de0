import type { HoldId } from '@millrace/platform/ids';
import {
  addUsd,
  formatUsd,
  meteredTotal,
  negateUsd,
  subtractUsd,
  zeroUsd,
  type NanoUsd,
} from '@millrace/platform/money';
import { monthOf, type LedgerSuccess, type LedgerCommand } from '../ledger/index.ts';
import {
  absorbedPartOf,
  elapsedAt,
  elapsedByTransitions,
  holdTarget,
  restOfTerm,
  scheduleOf,
  computeSettlement,
  ledgerSharesOf,
  settlementStepOf,
  type Meter,
  type MeterSettlement,
  type MeterTransition,
} from './meter.ts';
import type { MeteringPolicy } from './policy.ts';

/** The ledger commands of one change, and the meter after the ledger has responded. */
export interface MeterPlan {
  readonly meter: Meter;
  readonly commands: readonly LedgerCommand[];
  readonly transition: MeterTransition | null;
  /** Expects the responses in the order of the commands. */
  readonly finish: (responses: readonly LedgerSuccess[]) => Meter;
}

type HoldAfterPost = 'keep' | 'close' | { readonly target: NanoUsd };

const descriptionOf = (meter: Meter, what: string): string =>
  `${what} of ${meter.cause.kind} ${meter.cause.id} (${meter.name})`;

/** Includes the rate, so that a ledger line can be compared with the agreed price. */
const descriptionWithRate = (meter: Meter, what: string): string =>
  `${descriptionOf(meter, what)} at $${formatUsd(meter.ratePerHour)}/h`;

function commandBaseOf(meter: Meter) {
  return {
    orgId: meter.orgId,
    mode: meter.mode,
    cause: meter.cause,
    ...(meter.keyId === null ? {} : { keyId: meter.keyId }),
  };
}

/** Charges that pay a supplier never use promotional credit. */
export function payableFrom(meter: Pick<Meter, 'supplier'>): { readonly of?: 'paid' } {
  return meter.supplier === null ? {} : { of: 'paid' };
}

/** Splits a settlement at the start of the current month, so that each part is recorded in its month. */
interface SettlementSplit {
  readonly before: MeterSettlement | null;
  readonly last: MeterSettlement;
  /** The end of the usage that the last settlement charges. */
  readonly usedBy: Date;
  readonly monthStart: Date;
}

function splitByMonth(
  meter: Meter,
  elapsed: { readonly ms: number; readonly at: Date },
  month: { readonly now: Date; readonly elapsedAt: (monthStart: Date) => number },
): SettlementSplit {
  const monthStart = monthOf(month.now);
  const usedBy = elapsed.at;
  const beforeMs = usedBy > monthStart ? month.elapsedAt(monthStart) : 0;
  if (beforeMs <= meter.postedMs || beforeMs >= elapsed.ms) {
    // All of the time is on one side of the start of the month.
    const isBefore = beforeMs >= elapsed.ms && beforeMs > meter.postedMs;
    return {
      before: null,
      last: computeSettlement(meter, elapsed.ms),
      usedBy: isBefore ? monthStart : usedBy,
      monthStart,
    };
  }
  const before = computeSettlement(meter, beforeMs);
  return {
    before,
    last: computeSettlement(settledMeter(meter, before, []), elapsed.ms),
    usedBy,
    monthStart,
  };
}

function settlementCommands(
  meter: Meter,
  holdId: HoldId,
  split: SettlementSplit,
  afterwards: HoldAfterPost,
): LedgerCommand[] {
  const { before, last, usedBy, monthStart } = split;
  if (before === null) return commandsOfSettlement(meter, holdId, last, { afterwards, usedBy });
  return [
    ...commandsOfSettlement(meter, holdId, before, { afterwards: 'keep', usedBy: monthStart }),
    ...commandsOfSettlement(settledMeter(meter, before, []), holdId, last, { afterwards, usedBy }),
  ];
}

function commandsOfSettlement(
  meter: Meter,
  holdId: HoldId,
  settlement: MeterSettlement,
  { afterwards, usedBy }: { readonly afterwards: HoldAfterPost; readonly usedBy: Date },
): LedgerCommand[] {
  const { charge, supplierPart, usedMs, giveBack, unusedMs } = settlement;
  const step = settlementStepOf(meter);
  const commands: LedgerCommand[] = [
    {
      ...commandBaseOf(meter),
      do: 'post',
      step,
      holdId,
      amount: charge,
      to: ledgerSharesOf(meter, charge, supplierPart),
      afterwards,
      ...payableFrom(meter),
      usage: { [`${meter.unit}Ms`]: usedMs },
      usedBy,
      description: descriptionWithRate(meter, 'Metered time'),
    },
  ];
  if (giveBack > 0n) {
    commands.push({
      ...commandBaseOf(meter),
      do: 'credit',
      kind: 'credit',
      step: `${step}:back`,
      amount: giveBack,
      absorbed: absorbedPartOf(meter, giveBack),
      from: ledgerSharesOf(meter, giveBack, negateUsd(supplierPart)),
      usage: { [`${meter.unit}Ms`]: unusedMs },
      description: descriptionWithRate(meter, 'Credit for unused time'),
    });
  }
  return commands;
}

function settledMeter(meter: Meter, settlement: MeterSettlement, responses: readonly LedgerSuccess[]): Meter {
  const shortfall = addUsd(meter.shortfall, ...responses.map((response) => response.shortfall));
  return {
    ...meter,
    postedMs: settlement.postedMs,
    posted: settlement.posted,
    shortfall: subtractUsd(shortfall, absorbedPartOf(meter, settlement.giveBack)),
    supplier:
      meter.supplier === null
        ? null
        : { ...meter.supplier, posted: addUsd(meter.supplier.posted, settlement.supplierPart) },
    postings: meter.postings + 1,
  };
}

/** The meter after all settlements. The first settlement has one command, so its response comes first. */
function meterAfterSplit(
  meter: Meter,
  { before, last }: SettlementSplit,
  responses: readonly LedgerSuccess[],
): Meter {
  if (before === null) return settledMeter(meter, last, responses);
  return settledMeter(settledMeter(meter, before, responses.slice(0, 1)), last, responses.slice(1));
}

const heldAfterSettlement = ({ before }: SettlementSplit, responses: readonly LedgerSuccess[]): NanoUsd =>
  responses[before === null ? 0 : 1]?.held ?? zeroUsd;

/** Posts the unposted time and renews the hold, to `levelTarget` if it is given. */
export function planPosting(
  meter: Meter,
  now: Date,
  policy: MeteringPolicy,
  levelTarget?: NanoUsd,
): MeterPlan & { readonly target: NanoUsd } {
  // If the clock is behind the last posting, nothing is returned: only a pause or close returns money.
  const elapsedMs = Math.max(meter.postedMs, elapsedAt(meter, now));
  const split = splitByMonth(
    meter,
    { ms: elapsedMs, at: now },
    { now, elapsedAt: (monthStart) => elapsedAt(meter, monthStart) },
  );
  const committed = meter.funding === 'committed';
  const target = committed
    ? subtractUsd(meter.held, addUsd(split.last.charge, split.before?.charge ?? zeroUsd))
    : (levelTarget ?? holdTarget(meter, elapsedMs, now, policy));
  return {
    meter,
    target,
    commands:
      meter.holdId === null
        ? []
        : settlementCommands(meter, meter.holdId, split, committed ? 'keep' : { target }),
    transition: null,
    finish: (responses) => {
      const held = heldAfterSettlement(split, responses);
      return { ...meterAfterSplit(meter, split, responses), held, ...scheduleOf(meter, held, now, policy) };
    },
  };
}

const earlierOf = (at: Date, limit: Date): Date => (at > limit ? limit : at);
const laterOf = (at: Date, limit: Date): Date => (at < limit ? limit : at);

/** Stops the clock at `at`, returns money posted for later time, and releases the hold unless a term or supplier needs it. */
export function planPause(
  meter: Meter,
  transitions: readonly MeterTransition[],
  times: { readonly at: Date; readonly now: Date },
): MeterPlan {
  const at = laterOf(earlierOf(times.at, times.now), meter.openedAt);
  const elapsedMs = elapsedByTransitions(meter, transitions, at);
  const split = splitByMonth(
    meter,
    { ms: elapsedMs, at },
    { now: times.now, elapsedAt: (monthStart) => elapsedByTransitions(meter, transitions, monthStart) },
  );
  // The operator owes the supplier its earnings in any case, so the tenant must not spend this money and then resume.
  const keepsHold = meter.funding === 'committed' || meter.supplier !== null;
  const after: HoldAfterPost = keepsHold ? 'keep' : { target: zeroUsd };
  return {
    meter,
    commands: meter.holdId === null ? [] : settlementCommands(meter, meter.holdId, split, after),
    transition: { kind: 'paused', at },
    finish: (responses) => ({
      ...meterAfterSplit(meter, split, responses),
      state: 'paused',
      runningSince: null,
      elapsedBeforeMs: elapsedMs,
      held: heldAfterSettlement(split, responses),
      coveredUntil: null,
      nextPostAt: null,
      transitions: meter.transitions + 1,
    }),
  };
}

/** Restarts the clock with as much money as is available. A shortage leads to dunning, not to a refusal. */
export function planResume(
  meter: Meter,
  transitions: readonly MeterTransition[],
  times: { readonly at: Date; readonly now: Date },
  policy: MeteringPolicy,
): MeterPlan {
  const at = laterOf(earlierOf(times.at, times.now), transitions.at(-1)?.at ?? meter.openedAt);
  const running: Meter = { ...meter, state: 'open', runningSince: at, transitions: meter.transitions + 1 };
  const commands: LedgerCommand[] = [];
  if (meter.holdId !== null && meter.funding === 'ahead') {
    commands.push({
      orgId: meter.orgId,
      mode: meter.mode,
      cause: meter.cause,
      do: 'resize',
      step: `meter:${meter.id}:resume`,
      holdId: meter.holdId,
      target: holdTarget(meter, meter.elapsedBeforeMs, at, policy),
      atLeast: zeroUsd,
      demand: 'running',
      ...payableFrom(meter),
    });
  }
  return {
    meter,
    commands,
    transition: { kind: 'resumed', at },
    finish: (responses) => {
      const held = commands.length === 0 ? meter.held : (responses[0]?.held ?? zeroUsd);
      return { ...running, held, ...scheduleOf(running, held, at, policy) };
    },
  };
}

/** Whether the tenant owes the remaining term at an early end. It is waived if the operator caused the end. */
export type RemainingTermCharge = 'owed' | 'waived';

/** Closes the meter at `at`: settles the difference, charges the remaining term, closes the hold. */
export function planClose(
  meter: Meter,
  transitions: readonly MeterTransition[],
  times: { readonly at: Date; readonly now: Date; readonly rest: RemainingTermCharge },
): MeterPlan {
  const at = laterOf(earlierOf(times.at, times.now), meter.openedAt);
  const elapsedMs = elapsedByTransitions(meter, transitions, at);
  const split = splitByMonth(
    meter,
    { ms: elapsedMs, at },
    { now: times.now, elapsedAt: (monthStart) => elapsedByTransitions(meter, transitions, monthStart) },
  );
  const rest =
    times.rest === 'owed' ? restOfTerm(meter, elapsedMs, at) : { amount: zeroUsd, ofSupplier: zeroUsd };
  const commands: LedgerCommand[] = [];
  if (meter.holdId !== null) {
    if (rest.amount > 0n) {
      commands.push(...settlementCommands(meter, meter.holdId, split, 'keep'), {
        ...commandBaseOf(meter),
        do: 'post',
        step: `meter:${meter.id}:rest`,
        holdId: meter.holdId,
        amount: rest.amount,
        to: ledgerSharesOf(meter, rest.amount, rest.ofSupplier),
        afterwards: 'close',
        ...payableFrom(meter),
        description: descriptionOf(meter, 'Remaining term'),
      });
    } else commands.push(...settlementCommands(meter, meter.holdId, split, 'close'));
  }
  return {
    meter,
    commands,
    transition: { kind: 'closed', at },
    finish: (responses) => {
      const after = meterAfterSplit(meter, split, responses);
      return {
        ...after,
        supplier:
          after.supplier === null
            ? null
            : { ...after.supplier, posted: addUsd(after.supplier.posted, rest.ofSupplier) },
        restOfTerm: rest.amount,
        state: 'closed',
        runningSince: null,
        elapsedBeforeMs: elapsedMs,
        held: zeroUsd,
        coveredUntil: null,
        nextPostAt: null,
        transitions: meter.transitions + 1,
        closedAt: at,
      };
    },
  };
}

/** The hold that a meter needs before it runs: the next interval, or the whole term. */
export function initialHoldOf(meter: Meter, policy: MeteringPolicy): NanoUsd {
  if (meter.termEndsAt === null) return holdTarget(meter, 0, meter.openedAt, policy);
  return meteredTotal(meter.ratePerHour, Math.max(0, meter.termEndsAt.getTime() - meter.openedAt.getTime()));
}
