import { approximateDuration } from '@millrace/sdk/text';
import type { Quote } from './blockers.ts';

/** What a rental will cost, as it is read before anybody agrees to it. Every amount is the service's own. */

export interface Line {
  readonly label: string;
  /** An amount, exact; or words where there is none. */
  readonly value: { readonly nano: bigint; readonly unit: '' | '/h' } | string;
  readonly note?: string;
}

const amount = (nano: string | bigint): Line['value'] => ({ nano: BigInt(nano), unit: '' });
const perHour = (nano: string | bigint): Line['value'] => ({ nano: BigInt(nano), unit: '/h' });

/** What the price of an hour is made of. */
export function hourlyPriceLines(quote: Quote): readonly Line[] {
  return quote.lines.map(({ description, costPerHourNanoUsd }) => ({
    label: description,
    value: perHour(costPerHourNanoUsd),
  }));
}

function termLines({ term }: Quote, convert: boolean): readonly Line[] {
  if (term === null) {
    return [
      { label: 'Commitment', value: 'none', note: 'Terminate whenever you like; billing stops that moment.' },
    ];
  }
  const { termPeriodDays, committedNanoUsd, earlyTerminationRefundPercentage: refund } = term;
  return [
    {
      label: `Commitment for ${String(termPeriodDays)} days`,
      value: amount(committedNanoUsd),
      note:
        refund === 0
          ? 'Ended early, nothing of the rest is given back.'
          : `Ended early, ${String(refund)} % of the rest is given back.`,
    },
    convert
      ? {
          label: 'After the term',
          value: perHour(term.onDemandCostPerHourNanoUsd),
          note: 'On demand, until you end it.',
        }
      : { label: 'After the term', value: 'it ends' },
  ];
}

/** Stopped machines that keep their GPUs cost what they cost; nobody should find that out from the ledger. */
function stoppedLines({ released, costPerHourNanoUsd, lines }: Quote): readonly Line[] {
  const held: Line = {
    label: 'While stopped, GPUs kept',
    value: perHour(costPerHourNanoUsd),
    note: 'The same: nobody else can use them meanwhile.',
  };
  if (released === null) return [held];
  const beside = lines.some(({ kind }) => kind === 'storage') ? ' The new volume costs on beside it.' : '';
  return [
    held,
    {
      label: 'While stopped, GPUs given back',
      value: perHour(released.costPerHourNanoUsd),
      note: `Its disk, of at least ${String(released.diskGb)} GB. On a host with more it is more; starting again needs free GPUs.${beside}`,
    },
  ];
}

export interface SpendingLimits {
  /** What new work may use now; null: not known, or not for this person to see. */
  readonly availableNanoUsd: string | null;
  readonly ttlSeconds: number | null;
  readonly maxNanoUsd: bigint | null;
  /** What happens after a reserved term. */
  readonly convert: boolean;
}

function limitLines(quote: Quote, { ttlSeconds, maxNanoUsd }: SpendingLimits): readonly Line[] {
  return [
    ...(ttlSeconds === null || quote.term !== null || quote.totalNanoUsd === null
      ? []
      : [
          {
            label: `For ${approximateDuration(ttlSeconds)}`,
            value: amount(quote.totalNanoUsd),
            note: 'Then it ends by itself.',
          },
        ]),
    ...(maxNanoUsd === null
      ? []
      : [{ label: 'At most', value: amount(maxNanoUsd), note: 'It is ended before it costs more.' }]),
  ];
}

function balanceLines(quote: Quote, { availableNanoUsd }: SpendingLimits): readonly Line[] {
  const { holdNanoUsd, minimumBalanceNanoUsd, runwaySeconds, term, affordable } = quote;
  const nothingBurns = term === null ? 'nothing costs anything' : 'the term is paid for';
  return [
    {
      label: 'Needed to begin',
      value: amount(minimumBalanceNanoUsd),
      note:
        term === null
          ? 'Set aside at once; what it does not use comes back.'
          : 'The whole term is set aside at once.',
    },
    ...(availableNanoUsd === null ? [] : [{ label: 'Available now', value: amount(availableNanoUsd) }]),
    // What cannot be paid leaves nothing to tell of.
    ...(availableNanoUsd === null || !affordable
      ? []
      : [{ label: 'Available afterwards', value: amount(BigInt(availableNanoUsd) - BigInt(holdNanoUsd)) }]),
    ...(affordable
      ? [
          {
            label: 'Balance then lasts',
            value: runwaySeconds === null ? nothingBurns : approximateDuration(runwaySeconds),
            ...(runwaySeconds !== null && { note: 'With everything that runs now beside it.' }),
          },
        ]
      : []),
  ];
}

export function summaryLines(quote: Quote, funds: SpendingLimits): readonly Line[] {
  return [
    ...limitLines(quote, funds),
    ...termLines(quote, funds.convert),
    ...stoppedLines(quote),
    ...balanceLines(quote, funds),
  ];
}

export interface TermOption {
  readonly days: number;
  readonly discountPercentage: number;
  readonly refundPercentage: number;
}

/** The terms on offer for a wish: one for the region counts before one for all, then the newest, as the list has them. */
export function termsFor(
  options: readonly {
    readonly machineType: string;
    readonly gpuType: string;
    readonly region: string | null;
    readonly termPeriodDays: number;
    readonly discountPercentage: number;
    readonly earlyTerminationRefundPercentage: number;
    readonly enabled: boolean;
  }[],
  request: { readonly type: string; readonly gpu: string; readonly region: string },
): readonly TermOption[] {
  const fitting = options.filter(
    ({ machineType, gpuType, region, enabled }) =>
      enabled &&
      machineType === request.type &&
      gpuType === request.gpu &&
      (region === null || region === request.region),
  );
  const byDays = Map.groupBy(fitting, ({ termPeriodDays }) => termPeriodDays);
  return [...byDays]
    .toSorted(([one], [other]) => one - other)
    .flatMap(([days, all]) => {
      const best = all.find(({ region }) => region !== null) ?? all[0];
      return best === undefined
        ? []
        : [
            {
              days,
              discountPercentage: best.discountPercentage,
              refundPercentage: best.earlyTerminationRefundPercentage,
            },
          ];
    });
}
