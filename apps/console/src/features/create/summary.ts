import { approximateDuration } from '@millrace/sdk/text';
import type { Quote } from './blockers.ts';

/** Lines of the price summary. Every amount comes from the service. */

export interface Amount {
  readonly nano: bigint;
  readonly unit: '' | '/h';
}

export interface Line {
  readonly label: string;
  readonly value: Amount | string;
  /** Test mode: the amount in live mode. */
  readonly live?: Amount;
  readonly note?: string;
}

type LiveQuote = NonNullable<Quote['live']>;
/** The amounts that depend on prices, in this mode or in live mode. */
type Quoted = Pick<Quote, keyof LiveQuote>;

const amount = (nano: string | bigint): Amount => ({ nano: BigInt(nano), unit: '' });
const perHour = (nano: string | bigint): Amount => ({ nano: BigInt(nano), unit: '/h' });

/** Adds the live amounts to lines with the same label. */
function withLive(lines: readonly Line[], live: readonly Line[]): readonly Line[] {
  const amounts = new Map(live.map(({ label, value }) => [label, value]));
  return lines.map((line) => {
    const found = amounts.get(line.label);
    if (found === undefined || typeof found === 'string' || typeof line.value === 'string') return line;
    // The user's own limit is the same in both modes.
    return found.nano === line.value.nano ? line : { ...line, live: found };
  });
}

export function hourlyPriceLines(quote: Quote): readonly Line[] {
  const { live } = quote;
  return withLive(priceLines(quote), live === undefined ? [] : priceLines(live));
}

function priceLines({ lines }: Quoted): readonly Line[] {
  return lines.map(({ description, costPerHourNanoUsd }) => ({
    label: description,
    value: perHour(costPerHourNanoUsd),
  }));
}

function termLines({ term }: Quoted, convert: boolean): readonly Line[] {
  if (term === null) {
    return [{ label: 'Commitment', value: 'none', note: 'Terminate at any time; billing stops at once.' }];
  }
  const { termPeriodDays, committedNanoUsd, earlyTerminationRefundPercentage: refund } = term;
  return [
    {
      label: `Commitment for ${String(termPeriodDays)} days`,
      value: amount(committedNanoUsd),
      note:
        refund === 0
          ? 'If you terminate early, the rest is not refunded.'
          : `If you terminate early, you get ${String(refund)} % of the rest back.`,
    },
    convert
      ? {
          label: 'After the term',
          value: perHour(term.onDemandCostPerHourNanoUsd),
          note: 'On demand, until you terminate it.',
        }
      : { label: 'After the term', value: 'terminates' },
  ];
}

/** A stopped machine that keeps its GPUs costs the full price; say so before the user sees it in the ledger. */
function stoppedLines({ released, costPerHourNanoUsd, lines }: Quoted): readonly Line[] {
  const held: Line = {
    label: 'Stopped, GPUs kept',
    value: perHour(costPerHourNanoUsd),
    note: 'Full price: the GPUs stay reserved for you.',
  };
  if (released === null) return [held];
  const beside = lines.some(({ kind }) => kind === 'storage') ? ' The new volume is billed separately.' : '';
  return [
    held,
    {
      label: 'Stopped, GPUs released',
      value: perHour(released.costPerHourNanoUsd),
      note: `Disk only, at least ${String(released.diskGb)} GB; more on hosts with larger disks. Starting again needs available GPUs.${beside}`,
    },
  ];
}

export interface SpendingLimits {
  /** Available balance; null if unknown or hidden from this user. */
  readonly availableNanoUsd: string | null;
  readonly ttlSeconds: number | null;
  readonly maxNanoUsd: bigint | null;
  readonly convert: boolean;
}

function limitLines(quote: Quoted, { ttlSeconds, maxNanoUsd }: SpendingLimits): readonly Line[] {
  return [
    ...(ttlSeconds === null || quote.term !== null || quote.totalNanoUsd === null
      ? []
      : [
          {
            label: `For ${approximateDuration(ttlSeconds)}`,
            value: amount(quote.totalNanoUsd),
            note: 'Terminated automatically after that.',
          },
        ]),
    ...(maxNanoUsd === null
      ? []
      : [{ label: 'Spending limit', value: amount(maxNanoUsd), note: 'Terminated before it costs more.' }]),
  ];
}

function requiredLine({ minimumBalanceNanoUsd, term }: Quoted): Line {
  return {
    label: 'Required balance',
    value: amount(minimumBalanceNanoUsd),
    note:
      term === null ? 'Held at the start; the unused part is released.' : 'Holds the cost of the whole term.',
  };
}

function balanceLines(quote: Quote, { availableNanoUsd }: SpendingLimits): readonly Line[] {
  const { holdNanoUsd, runwaySeconds, term, affordable } = quote;
  const nothingBurns = term === null ? 'unlimited' : 'term is prepaid';
  return [
    ...(availableNanoUsd === null ? [] : [{ label: 'Available now', value: amount(availableNanoUsd) }]),
    // Without enough balance, there is no rest to show.
    ...(availableNanoUsd === null || !affordable
      ? []
      : [{ label: 'Available after start', value: amount(BigInt(availableNanoUsd) - BigInt(holdNanoUsd)) }]),
    ...(affordable
      ? [
          {
            label: 'Runway',
            value: runwaySeconds === null ? nothingBurns : approximateDuration(runwaySeconds),
            ...(runwaySeconds !== null && { note: 'Including everything that is already running.' }),
          },
        ]
      : []),
  ];
}

export function summaryLines(quote: Quote, funds: SpendingLimits): readonly Line[] {
  const { live } = quote;
  const priced = (quoted: Quoted): readonly Line[] => [
    ...limitLines(quoted, funds),
    ...termLines(quoted, funds.convert),
    ...stoppedLines(quoted),
    requiredLine(quoted),
  ];
  return [...withLive(priced(quote), live === undefined ? [] : priced(live)), ...balanceLines(quote, funds)];
}

export interface TermOption {
  readonly days: number;
  readonly discountPercentage: number;
  readonly refundPercentage: number;
}

/** Terms for a spec: regional terms before global ones, then the newest, in list order. */
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
