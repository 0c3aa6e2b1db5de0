import type { Context } from '../framework/context.ts';
import { CliError } from '../framework/errors.ts';
import { exitCodes } from '../framework/exit-codes.ts';
import { safeText } from '../framework/text.ts';
import type { Output } from '../sdk.ts';
import { approximateDuration, usdText } from '@millrace/sdk/text';
import type { QuoteRequest } from './quote-request.ts';

/** What something costs, before it is agreed to. */

export type Quote = Output<'quoteRental'>;

export async function fetchQuote(
  context: Context,
  request: QuoteRequest,
  durationSeconds: number | undefined,
): Promise<Quote> {
  return context.client().options.quote({ ...request, durationSeconds }, { signal: context.signal });
}

export function quoteTitle(request: QuoteRequest): string {
  const machine = request.rentalType === 'bare-metal' ? 'bare metal' : 'virtual machine';
  const { gpuType = 'h100', region = '', networkType = '' } = request;
  return `${request.gpuCount} × ${gpuType.toUpperCase()}, ${machine} in ${region} (${networkType})`;
}

/** Label and amount, a line each; the lines of the price first, which add up to it. */
export function quoteLines(
  quote: Quote,
  seconds: number | undefined,
): readonly (readonly [string, string])[] {
  const rows = quote.lines.map(
    (line) => [safeText(line.description), `${usdText(line.costPerHourNanoUsd)}/h`] as const,
  );
  const { term } = quote;
  return [
    ...(quote.lines.length > 1 ? rows : []),
    ['price', `${usdText(quote.costPerHourNanoUsd)}/h, by the second from when it is proven usable`],
    ...(term === null
      ? []
      : ([
          ['term', `${term.termPeriodDays} days: ${usdText(term.committedNanoUsd)} in all`],
          ['ended early', `${term.earlyTerminationRefundPercentage} % of the rest is given back`],
          ['afterwards', `${usdText(term.onDemandCostPerHourNanoUsd)}/h`],
        ] as const)),
    ...(quote.totalNanoUsd === null || seconds === undefined
      ? []
      : ([[`for ${approximateDuration(seconds)}`, usdText(quote.totalNanoUsd)]] as const)),
    ...(quote.released === null
      ? []
      : ([
          [
            'while stopped',
            `${usdText(quote.released.costPerHourNanoUsd)}/h once its GPUs are given back: its disk, at least ${quote.released.diskGb} GB`,
          ],
        ] as const)),
    ['set aside now', usdText(quote.holdNanoUsd)],
    ...(quote.runwaySeconds === null
      ? []
      : ([['balance lasts', approximateDuration(quote.runwaySeconds)]] as const)),
  ];
}

export function showQuote(
  context: Context,
  title: string,
  lines: readonly (readonly [string, string])[],
): void {
  const width = Math.max(...lines.map(([label]) => label.length)) + 2;
  context.io.err(`${context.io.paintErr('bold', title)}\n`);
  for (const [label, amount] of lines) {
    context.io.err(`  ${context.io.paintErr('dim', label.padEnd(width))}${amount}\n`);
  }
}

/** Refuses at once what the API would refuse a moment later, with what helps. */
export async function requirePlaceable(context: Context, request: QuoteRequest, quote: Quote): Promise<void> {
  if (!quote.available) throw await noCapacityError(context, request);
  if (quote.affordable) return;
  throw new CliError('The balance is too low for this.', {
    why: `${usdText(quote.minimumBalanceNanoUsd)} must be available to begin with.`,
    fix: 'See what you have, and add to it: millrace balance, millrace topup',
    exitCode: exitCodes.insufficientFunds,
  });
}

/** Why no host can take it, and what could be had instead. */
export async function noCapacityError(
  context: Context,
  request: QuoteRequest,
  cause?: unknown,
): Promise<CliError> {
  const explained = await context.client().options.explain(request, { signal: context.signal });
  // In the order in which they are looked at: whom the last one stops came nearest.
  const nearest = explained.obstacles.at(-1);
  const [instead] = explained.alternatives;
  const counted =
    nearest === undefined || nearest.nodeCount === 0
      ? ''
      : `Of ${explained.nodesConsidered} hosts ${nearest.nodeCount} come nearest. `;
  const reason = nearest === undefined ? 'No host can take it now.' : `${counted}${nearest.message}`;
  const when =
    explained.capacityExpectedAt === null ? '' : ` Expected again at ${explained.capacityExpectedAt}.`;
  const kind = request.rentalType === 'bare-metal' ? ' --bare-metal' : '';
  return new CliError(`No room for ${quoteTitle(request)}.`, {
    why: safeText(`${reason}${when}`),
    fix:
      instead === undefined
        ? 'See what there is: millrace offers'
        : `There is: millrace rental create${kind} --gpu ${instead.gpuType} --count ${instead.gpuCount} --region ${instead.region} --network ${instead.networkType}`,
    exitCode: exitCodes.noCapacity,
    cause,
  });
}
