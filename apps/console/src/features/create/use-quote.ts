import { useApiQuery } from '../../api/queries.ts';
import { toProblem } from '../../api/problem.ts';
import { useSession } from '../../api/session.tsx';
import { useDebounced } from '../../ui/logic/use-debounced.ts';
import type { QuoteState } from './blockers.ts';
import type { Budget } from '../money/budgets.ts';
import { budgetsRead, useBalance } from '../money/use-spending.ts';
import type { Draft, ParsedDraft } from './draft.ts';
import { countIssue, toQuoteRequest, type QuoteRequest, type RentalSpec } from '../catalog/selection.ts';

/** Queries of the rent form: quote, placement explanation and balance. */

const DEBOUNCE_MS = 250;
const REFETCH_MS = 10_000;

export function quoteRequestFor(
  spec: RentalSpec,
  draft: Pick<Draft, 'cuda'>,
  read: Pick<ParsedDraft, 'ttlSeconds' | 'newVolumeGb'>,
): QuoteRequest {
  return {
    ...toQuoteRequest(spec),
    ...(spec.type === 'bare-metal' && draft.cuda !== '' && { cudaVersion: draft.cuda }),
    ...(read.newVolumeGb !== null && read.newVolumeGb >= 256 && { storageSizeInGb: read.newVolumeGb }),
    ...(read.ttlSeconds !== null && spec.days === null && { durationSeconds: read.ttlSeconds }),
  };
}

/** The quote for this spec. A quote of the previous spec may be shown meanwhile, marked as outdated. */
export function useQuote(request: QuoteRequest, spec: RentalSpec, wasRefused: boolean) {
  const text = JSON.stringify(request);
  const settled = useDebounced(text, DEBOUNCE_MS);
  const isEnabled = countIssue(spec) === null;
  const quote = useApiQuery(
    ['catalog', 'quote', settled],
    (client, signal) => client.options.quote(JSON.parse(settled) as QuoteRequest, { signal }),
    { enabled: isEnabled, keepPrevious: true, refetchMs: REFETCH_MS },
  );
  const isCurrent = settled === text && !quote.isPlaceholderData;
  // Someone else may have rented the capacity since the quote.
  const isFull = isEnabled && isCurrent && (wasRefused || quote.data?.available === false);
  const explained = useApiQuery(
    ['catalog', 'explain', settled],
    (client, signal) => client.options.explain(JSON.parse(settled) as QuoteRequest, { signal }),
    { enabled: isFull, refetchMs: REFETCH_MS },
  );
  return {
    priced: toQuoteState(isCurrent, quote),
    shown: isEnabled ? quote.data : undefined,
    isCurrent,
    error: isCurrent ? quote.error : null,
    retry: () => void quote.refetch(),
    explained: isFull && explained.data?.placeable === false ? explained.data : undefined,
  };
}

function toQuoteState(
  isCurrent: boolean,
  {
    data,
    error,
  }: {
    readonly data: Extract<QuoteState, { state: 'told' }>['quote'] | undefined;
    readonly error: Error | null;
  },
): QuoteState {
  if (!isCurrent) return { state: 'waiting' };
  if (error !== null) {
    const { title, reason } = toProblem(error);
    return { state: 'refused', message: title, reason };
  }
  return data === undefined ? { state: 'waiting' } : { state: 'told', quote: data };
}

const noBudgets: readonly Budget[] = [];

/** Balance and budgets, if the user may see them. */
export function useBalanceAndBudgets() {
  const { may } = useSession();
  const enabled = may('billing:read');
  const balance = useBalance(enabled);
  const budgets = useApiQuery(budgetsRead.key, budgetsRead.read, { enabled });
  return {
    availableNanoUsd: balance.data?.availableNanoUsd ?? null,
    isFrozen: balance.data?.frozen === true,
    budgets: budgets.data ?? noBudgets,
  };
}
