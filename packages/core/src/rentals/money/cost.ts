import type { TransferId } from '@millrace/platform/ids';
import {
  addUsd,
  msToSecondsRoundDown,
  negateUsd,
  divideWithRemainder,
  zeroUsd,
  type NanoUsd,
} from '@millrace/platform/money';
import type { CauseTransfer } from '../../ledger/index.ts';
import { elapsedAt, unpostedAt, type Meter } from '../../metering/index.ts';

/** What a rental has cost, to the meter and the transfer. Pure: of its meters and what the ledger has of it. */

export interface CostLine {
  /** `term`: what stayed owed of a term that was ended early. `credit`: time that was charged and given back. */
  readonly meter: 'gpu' | 'disk' | 'term' | 'credit';
  readonly from: Date;
  readonly until: Date | null;
  readonly seconds: number;
  readonly ratePerHour: NanoUsd;
  /** What is given back is negative. */
  readonly amount: NanoUsd;
  readonly transferIds: readonly TransferId[];
}

export interface RentalCost {
  /** What is posted, and what has run up since. The lines add up to it. */
  readonly total: NanoUsd;
  /** What the organisation's own money was charged, less what it was given back. */
  readonly posted: NanoUsd;
  readonly lines: readonly CostLine[];
}

/** Both are to be read as of one moment. */
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

/** Steps of a meter are `meter:<id>:<n>`, `meter:<id>:<n>:back` for what is given back, and `meter:<id>:rest`. */
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

/** A credit tells how much it is for in the units of the meter, each of which ran. */
function creditedMsOf(meter: Meter, credit: CauseTransfer): number {
  const unitMs = Number(credit.usage?.[`${meter.unit}Ms`] ?? 0);
  return divideWithRemainder(unitMs, Math.max(1, meter.quantity))[0];
}

/** What transfers cost the organisation: the ledger tells what its money changed by. */
function sumOf(transfers: readonly CauseTransfer[]): NanoUsd {
  return negateUsd(addUsd(...transfers.map(({ amount }) => amount)));
}
