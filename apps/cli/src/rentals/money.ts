import type { Context } from '../framework/context.ts';
import { CliError } from '../framework/errors.ts';
import { exitCodes } from '../framework/exit-codes.ts';
import { safeText } from '../framework/text.ts';
import { withLive } from '../money/mode.ts';
import type { Output } from '../sdk.ts';
import { approximateDuration, usdText } from '@millrace/sdk/text';
import type { QuoteRequest } from './quote-request.ts';

/** Shows the cost of a request before the user confirms it. */

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

/** Label and amount per line; the parts of the price come first and add up to it. */
export function quoteLines(
  quote: Quote,
  seconds: number | undefined,
): readonly (readonly [string, string])[] {
  const { live } = quote;
  const rows = quote.lines.map((line, index) => {
    const amount = `${usdText(line.costPerHourNanoUsd)}/h`;
    return [
      safeText(line.description),
      withLive(amount, live?.lines[index]?.costPerHourNanoUsd, '/h'),
    ] as const;
  });
  const { term } = quote;
  const perHour = (nano: string, inLive: string | undefined): string =>
    withLive(`${usdText(nano)}/h`, inLive, '/h');
  return [
    ...(quote.lines.length > 1 ? rows : []),
    [
      'price',
      `${perHour(quote.costPerHourNanoUsd, live?.costPerHourNanoUsd)}, billed per second from the readiness check`,
    ],
    ...(term === null
      ? []
      : ([
          [
            'term',
            `${term.termPeriodDays} days: ${withLive(usdText(term.committedNanoUsd), live?.term?.committedNanoUsd)} in all`,
          ],
          ['ended early', `${term.earlyTerminationRefundPercentage} % of the remaining term is refunded`],
          ['afterwards', perHour(term.onDemandCostPerHourNanoUsd, live?.term?.onDemandCostPerHourNanoUsd)],
        ] as const)),
    ...(quote.totalNanoUsd === null || seconds === undefined
      ? []
      : ([
          [
            `for ${approximateDuration(seconds)}`,
            withLive(usdText(quote.totalNanoUsd), live?.totalNanoUsd ?? undefined),
          ],
        ] as const)),
    ...(quote.released === null
      ? []
      : ([
          [
            'while stopped',
            `${perHour(quote.released.costPerHourNanoUsd, live?.released?.costPerHourNanoUsd)} after its GPUs are released: its disk, at least ${quote.released.diskGb} GB`,
          ],
        ] as const)),
    ['held now', withLive(usdText(quote.holdNanoUsd), live?.minimumBalanceNanoUsd)],
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

/** Fails early, with advice, where the API would refuse the request. */
export async function requirePlaceable(context: Context, request: QuoteRequest, quote: Quote): Promise<void> {
  if (!quote.available) throw await noCapacityError(context, request);
  if (quote.affordable) return;
  throw new CliError('Your balance is too low.', {
    why: `${usdText(quote.minimumBalanceNanoUsd)} must be available to start.`,
    fix: 'Check your balance and top up: millrace balance, millrace topup',
    exitCode: exitCodes.insufficientFunds,
  });
}

/** Explains why no host fits, with an alternative. */
export async function noCapacityError(
  context: Context,
  request: QuoteRequest,
  cause?: unknown,
): Promise<CliError> {
  const explained = await context.client().options.explain(request, { signal: context.signal });
  // Obstacles are in the order of evaluation, so the hosts of the last one are the closest.
  const nearest = explained.obstacles.at(-1);
  const [instead] = explained.alternatives;
  const counted =
    nearest === undefined || nearest.nodeCount === 0
      ? ''
      : `Of ${explained.nodesConsidered} hosts ${nearest.nodeCount} are closest. `;
  const reason = nearest === undefined ? 'No host has capacity for it now.' : `${counted}${nearest.message}`;
  const when = explained.capacityExpectedAt === null ? '' : ` Expected at ${explained.capacityExpectedAt}.`;
  const kind = request.rentalType === 'bare-metal' ? ' --bare-metal' : '';
  return new CliError(`No capacity for ${quoteTitle(request)}.`, {
    why: safeText(`${reason}${when}`),
    fix:
      instead === undefined
        ? 'See the offers: millrace offers'
        : `Available instead: millrace rental create${kind} --gpu ${instead.gpuType} --count ${instead.gpuCount} --region ${instead.region} --network ${instead.networkType}`,
    exitCode: exitCodes.noCapacity,
    cause,
  });
}
