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
import { monthOf, type Done, type LedgerCommand } from '../ledger/index.ts';
import {
  borneOf,
  elapsedAt,
  elapsedByTransitions,
  holdTarget,
  restOfTerm,
  scheduleOf,
  settle,
  sharesOf,
  stepOf,
  type Meter,
  type Settlement,
  type Transition,
} from './metering.ts';
import type { MeteringPolicy } from './policy.ts';

/** What each act asks of the ledger, and what the meter is once the ledger has answered. */
export interface Plan {
  readonly meter: Meter;
  readonly commands: readonly LedgerCommand[];
  readonly transition: Transition | null;
  /** Takes the answers to the commands, in their order. */
  readonly finish: (answers: readonly Done[]) => Meter;
}

type After = 'keep' | 'close' | { readonly target: NanoUsd };

const sentence = (meter: Meter, what: string): string =>
  `${what} of ${meter.cause.kind} ${meter.cause.id} (${meter.name})`;

/** With the rate, so that a line of the ledger can be held against the price that was agreed. */
const ratedSentence = (meter: Meter, what: string): string =>
  `${sentence(meter, what)} at $${formatUsd(meter.ratePerHour)}/h`;

function baseOf(meter: Meter) {
  return {
    orgId: meter.orgId,
    mode: meter.mode,
    cause: meter.cause,
    ...(meter.keyId === null ? {} : { keyId: meter.keyId }),
  };
}

/** What a supplier has a part of is paid for with paid money only, never with promotional credit. */
export function moneyFor(meter: Pick<Meter, 'supplier'>): { readonly of?: 'paid' } {
  return meter.supplier === null ? {} : { of: 'paid' };
}

/** The settlements of one act: time before the present month apart from that in it, so that each is of its month. */
interface Settling {
  readonly before: Settlement | null;
  readonly last: Settlement;
  /** By when what the last one charges had been used. */
  readonly usedBy: Date;
  readonly monthStart: Date;
}

function settlingOf(
  meter: Meter,
  elapsed: { readonly ms: number; readonly at: Date },
  month: { readonly now: Date; readonly elapsedAt: (monthStart: Date) => number },
): Settling {
  const monthStart = monthOf(month.now);
  const usedBy = elapsed.at;
  const beforeMs = usedBy > monthStart ? month.elapsedAt(monthStart) : 0;
  if (beforeMs <= meter.postedMs || beforeMs >= elapsed.ms) {
    // All of it is on one side: time that ended with the last month, or all of it after that.
    const isBefore = beforeMs >= elapsed.ms && beforeMs > meter.postedMs;
    return {
      before: null,
      last: settle(meter, elapsed.ms),
      usedBy: isBefore ? monthStart : usedBy,
      monthStart,
    };
  }
  const before = settle(meter, beforeMs);
  return { before, last: settle(settled(meter, before, []), elapsed.ms), usedBy, monthStart };
}

/** Brings the books to the settlements and the hold to what comes after them. */
function settling(meter: Meter, holdId: HoldId, acts: Settling, afterwards: After): LedgerCommand[] {
  const { before, last, usedBy, monthStart } = acts;
  if (before === null) return settlingOne(meter, holdId, last, { afterwards, usedBy });
  return [
    ...settlingOne(meter, holdId, before, { afterwards: 'keep', usedBy: monthStart }),
    ...settlingOne(settled(meter, before, []), holdId, last, { afterwards, usedBy }),
  ];
}

function settlingOne(
  meter: Meter,
  holdId: HoldId,
  settlement: Settlement,
  { afterwards, usedBy }: { readonly afterwards: After; readonly usedBy: Date },
): LedgerCommand[] {
  const { charge, supplierPart, usedMs, giveBack, unusedMs } = settlement;
  const step = stepOf(meter);
  const commands: LedgerCommand[] = [
    {
      ...baseOf(meter),
      do: 'post',
      step,
      holdId,
      amount: charge,
      to: sharesOf(meter, charge, supplierPart),
      afterwards,
      ...moneyFor(meter),
      usage: { [`${meter.unit}Ms`]: usedMs },
      usedBy,
      description: ratedSentence(meter, 'Metered time'),
    },
  ];
  if (giveBack > 0n) {
    commands.push({
      ...baseOf(meter),
      do: 'credit',
      kind: 'credit',
      step: `${step}:back`,
      amount: giveBack,
      borne: borneOf(meter, giveBack),
      from: sharesOf(meter, giveBack, negateUsd(supplierPart)),
      usage: { [`${meter.unit}Ms`]: unusedMs },
      description: ratedSentence(meter, 'Time given back'),
    });
  }
  return commands;
}

/** The meter after a settlement, but for its state and its times. */
function settled(meter: Meter, settlement: Settlement, answers: readonly Done[]): Meter {
  const shortfall = addUsd(meter.shortfall, ...answers.map((answer) => answer.shortfall));
  return {
    ...meter,
    postedMs: settlement.postedMs,
    posted: settlement.posted,
    shortfall: subtractUsd(shortfall, borneOf(meter, settlement.giveBack)),
    supplier:
      meter.supplier === null
        ? null
        : { ...meter.supplier, posted: addUsd(meter.supplier.posted, settlement.supplierPart) },
    postings: meter.postings + 1,
  };
}

/** The meter after all settlements of an act. The answer to the first one's only command comes first. */
function settledBy(meter: Meter, { before, last }: Settling, answers: readonly Done[]): Meter {
  if (before === null) return settled(meter, last, answers);
  return settled(settled(meter, before, answers.slice(0, 1)), last, answers.slice(1));
}

const heldAfter = ({ before }: Settling, answers: readonly Done[]): NanoUsd =>
  answers[before === null ? 0 : 1]?.held ?? zeroUsd;

/** A sweep's visit: posts what has run up and renews the hold. `target` is the usual one unless said. */
export function planPosting(
  meter: Meter,
  now: Date,
  policy: MeteringPolicy,
  levelTarget?: NanoUsd,
): Plan & { readonly target: NanoUsd } {
  // A clock that is behind the one of the last visit gives nothing back: only a pause or a close does.
  const elapsedMs = Math.max(meter.postedMs, elapsedAt(meter, now));
  const acts = settlingOf(
    meter,
    { ms: elapsedMs, at: now },
    { now, elapsedAt: (monthStart) => elapsedAt(meter, monthStart) },
  );
  const committed = meter.funding === 'committed';
  const target = committed
    ? subtractUsd(meter.held, addUsd(acts.last.charge, acts.before?.charge ?? zeroUsd))
    : (levelTarget ?? holdTarget(meter, elapsedMs, now, policy));
  return {
    meter,
    target,
    commands:
      meter.holdId === null ? [] : settling(meter, meter.holdId, acts, committed ? 'keep' : { target }),
    transition: null,
    finish: (answers) => {
      const held = heldAfter(acts, answers);
      return { ...settledBy(meter, acts, answers), held, ...scheduleOf(meter, held, now, policy) };
    },
  };
}

const notAfter = (at: Date, limit: Date): Date => (at > limit ? limit : at);
const notBefore = (at: Date, limit: Date): Date => (at < limit ? limit : at);

/** Stops the clock at `at`. What was posted for later time is given back, and the hold is let go, or kept for a supplier. */
export function planPause(
  meter: Meter,
  transitions: readonly Transition[],
  times: { readonly at: Date; readonly now: Date },
): Plan {
  const at = notBefore(notAfter(times.at, times.now), meter.openedAt);
  const elapsedMs = elapsedByTransitions(meter, transitions, at);
  const acts = settlingOf(
    meter,
    { ms: elapsedMs, at },
    { now: times.now, elapsedAt: (monthStart) => elapsedByTransitions(meter, transitions, monthStart) },
  );
  // What a supplier earns the operator owes it, paid or not: nobody may spend that money elsewhere and then go on.
  const isKept = meter.funding === 'committed' || meter.supplier !== null;
  const after: After = isKept ? 'keep' : { target: zeroUsd };
  return {
    meter,
    commands: meter.holdId === null ? [] : settling(meter, meter.holdId, acts, after),
    transition: { kind: 'paused', at },
    finish: (answers) => ({
      ...settledBy(meter, acts, answers),
      state: 'paused',
      runningSince: null,
      elapsedBeforeMs: elapsedMs,
      held: heldAfter(acts, answers),
      coveredUntil: null,
      nextPostAt: null,
      transitions: meter.transitions + 1,
    }),
  };
}

/** Lets the clock run again, with as much set aside as there is. Without money the ladder follows, not a refusal. */
export function planResume(
  meter: Meter,
  transitions: readonly Transition[],
  times: { readonly at: Date; readonly now: Date },
  policy: MeteringPolicy,
): Plan {
  const at = notBefore(notAfter(times.at, times.now), transitions.at(-1)?.at ?? meter.openedAt);
  const running: Meter = {
    ...meter,
    state: 'open',
    runningSince: at,
    transitions: meter.transitions + 1,
  };
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
      ...moneyFor(meter),
    });
  }
  return {
    meter,
    commands,
    transition: { kind: 'resumed', at },
    finish: (answers) => {
      const held = commands.length === 0 ? meter.held : (answers[0]?.held ?? zeroUsd);
      return { ...running, held, ...scheduleOf(running, held, at, policy) };
    },
  };
}

/** Whether the tenant owes the rest of a term that ends early. What ends by our fault owes nothing. */
export type RestOfTerm = 'owed' | 'waived';

/** Ends the meter at `at`: posts or gives back the difference, charges the rest of a term, closes the hold. */
export function planClose(
  meter: Meter,
  transitions: readonly Transition[],
  times: { readonly at: Date; readonly now: Date; readonly rest: RestOfTerm },
): Plan {
  const at = notBefore(notAfter(times.at, times.now), meter.openedAt);
  const elapsedMs = elapsedByTransitions(meter, transitions, at);
  const acts = settlingOf(
    meter,
    { ms: elapsedMs, at },
    { now: times.now, elapsedAt: (monthStart) => elapsedByTransitions(meter, transitions, monthStart) },
  );
  const rest =
    times.rest === 'owed' ? restOfTerm(meter, elapsedMs, at) : { amount: zeroUsd, ofSupplier: zeroUsd };
  const commands: LedgerCommand[] = [];
  if (meter.holdId !== null) {
    if (rest.amount > 0n) {
      commands.push(...settling(meter, meter.holdId, acts, 'keep'), {
        ...baseOf(meter),
        do: 'post',
        step: `meter:${meter.id}:rest`,
        holdId: meter.holdId,
        amount: rest.amount,
        to: sharesOf(meter, rest.amount, rest.ofSupplier),
        afterwards: 'close',
        ...moneyFor(meter),
        description: sentence(meter, 'Rest of the term'),
      });
    } else commands.push(...settling(meter, meter.holdId, acts, 'close'));
  }
  return {
    meter,
    commands,
    transition: { kind: 'closed', at },
    finish: (answers) => {
      const after = settledBy(meter, acts, answers);
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

/** What must be set aside before a meter runs: the next stretch, or the whole term. */
export function openingHold(meter: Meter, policy: MeteringPolicy): NanoUsd {
  if (meter.termEndsAt === null) return holdTarget(meter, 0, meter.openedAt, policy);
  return meteredTotal(meter.ratePerHour, Math.max(0, meter.termEndsAt.getTime() - meter.openedAt.getTime()));
}
