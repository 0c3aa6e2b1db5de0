import type { TransferId } from '@millrace/platform/ids';
import {
  addUsd,
  msToSecondsRoundDown,
  negateUsd,
  divideWithRemainder,
  meteredTotal,
  zeroUsd,
  type NanoUsd,
} from '@millrace/platform/money';
import type { CauseTransfer } from '../../ledger/index.ts';
import { elapsedAt, unpostedAt, type Meter } from '../../metering/index.ts';
import type { LiveRates } from './live-rates.ts';

/** Computes the cost of a rental, by meter and transfer, from its meters and ledger transfers. Pure. */

export interface CostLine {
  /** `term`: the owed part of a term that ended early. `credit`: time that was charged and then credited. */
  readonly meter: 'gpu' | 'disk' | 'term' | 'credit';
  readonly from: Date;
  readonly until: Date | null;
  readonly seconds: number;
  readonly ratePerHour: NanoUsd;
  /** Negative for credits. */
  readonly amount: NanoUsd;
  readonly transferIds: readonly TransferId[];
}

export interface RentalCost {
  /** Posted plus unposted charges; the sum of all lines. */
  readonly total: NanoUsd;
  /** Charges to the organisation's money, less credits. */
  readonly posted: NanoUsd;
  readonly lines: readonly CostLine[];
}

/** Meters and transfers must be read in one snapshot. */
export function rentalCostOf(
  meters: readonly Meter[],
  transfers: readonly CauseTransfer[],
  at: Date,
): RentalCost {
  const ofMeter = Map.groupBy(transfers, meterIdOf);
  const posted = sumOf(transfers);
  return {
    total: addUsd(posted, ...meters.map((meter) => unpostedAt(meter, at))),
    posted,
    lines: meters.flatMap((meter) => costLinesOf(meter, ofMeter.get(meter.id) ?? [], at)),
  };
}

/** The cost of the metered time at these rates; null if a meter has no rate. */
export function liveCostOf(meters: readonly Meter[], rates: LiveRates, at: Date): NanoUsd | null {
  let total = zeroUsd;
  for (const meter of meters) {
    const elapsedMs = Math.max(meter.postedMs, elapsedAt(meter, at));
    const rate = meter.unit === 'gpu' ? rates.gpu : rates.disk;
    if (rate === null) return null;
    total = addUsd(total, meteredTotal(rate, elapsedMs));
  }
  return meters.length === 0 && rates.gpu === null ? null : total;
}

/** Ledger steps of a meter: `meter:<id>:<n>`, `meter:<id>:<n>:back` for credits, `meter:<id>:rest` for the remaining term. */
const ledgerStepPattern = /^meter:([^:]+):(rest$)?/;
const meterIdOf = ({ step }: CauseTransfer): string => ledgerStepPattern.exec(step)?.[1] ?? '';
const isTermRemainder = ({ step }: CauseTransfer): boolean => ledgerStepPattern.exec(step)?.[2] !== undefined;

function costLinesOf(meter: Meter, transfers: readonly CauseTransfer[], at: Date): readonly CostLine[] {
  const { closedAt, termEndsAt, restOfTerm } = meter;
  const charges = transfers.filter((transfer) => transfer.kind === 'charge' && !isTermRemainder(transfer));
  const rest = transfers.filter(isTermRemainder);
  const credits = transfers.filter(({ kind }) => kind === 'credit');
  const givenBackMs = credits.reduce((sum, credit) => sum + creditedMsOf(meter, credit), 0);
  const ranMs = Math.max(meter.postedMs, elapsedAt(meter, at));
  const lineOf = (
    line: Pick<CostLine, 'meter' | 'from' | 'until'>,
    ms: number,
    of: readonly CauseTransfer[],
    unposted: NanoUsd = zeroUsd,
  ): CostLine => ({
    ...line,
    seconds: msToSecondsRoundDown(ms),
    ratePerHour: meter.ratePerHour,
    amount: addUsd(sumOf(of), unposted),
    transferIds: of.map(({ id }) => id),
  });
  const kind = meter.unit === 'gpu' ? 'gpu' : 'disk';
  const lines = [
    lineOf(
      { meter: kind, from: meter.openedAt, until: closedAt },
      ranMs + givenBackMs,
      charges,
      unpostedAt(meter, at),
    ),
  ];
  if (restOfTerm > 0n && closedAt !== null && termEndsAt !== null) {
    const restMs = Math.max(0, termEndsAt.getTime() - closedAt.getTime());
    lines.push(lineOf({ meter: 'term', from: closedAt, until: termEndsAt }, restMs, rest));
  }
  const [first] = credits;
  if (first !== undefined) {
    const until = credits.at(-1)?.occurredAt ?? null;
    lines.push(lineOf({ meter: 'credit', from: first.occurredAt, until }, givenBackMs, credits));
  }
  return lines;
}

/** The usage of a credit counts each unit of the meter separately, so it is divided by the number of units. */
function creditedMsOf(meter: Meter, credit: CauseTransfer): number {
  const unitMs = Number(credit.usage?.[`${meter.unit}Ms`] ?? 0);
  return divideWithRemainder(unitMs, Math.max(1, meter.quantity))[0];
}

/** Transfers store the change of the organisation's balance; the cost is its negation. */
function sumOf(transfers: readonly CauseTransfer[]): NanoUsd {
  return negateUsd(addUsd(...transfers.map(({ amount }) => amount)));
}
