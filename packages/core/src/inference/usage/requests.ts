import type { Mode } from '@millrace/platform/envelope';
import type { OrgId, RequestId, TransferId } from '@millrace/platform/ids';
import type { UsagePostOutcome } from '../../credit-leases/index.ts';
import type { ParsedUsage } from './parse-usage.ts';

/** Values of a recorded inference request. Pure. */

export type RequestOutcome = Exclude<UsagePostOutcome, 'duplicate'> | 'free';
/** `checkpoint`: the gateway died, and its last checkpoint was charged as the whole. */
export type RequestSource = 'final' | 'checkpoint';

export interface NewRequestRecord {
  readonly used: ParsedUsage;
  readonly source: RequestSource;
  readonly outcome: RequestOutcome;
  readonly transferId: TransferId | null;
}

export interface RequestAttempt {
  readonly deployment: string;
  readonly startedAt: Date;
  readonly durationMs: number;
  readonly status: number | null;
  readonly error: string | null;
}

export interface RequestRecord {
  readonly id: RequestId;
  readonly orgId: OrgId;
  readonly mode: Mode;
  readonly model: string;
  readonly deployment: string | null;
  readonly createdAt: Date;
  readonly streamed: boolean;
  readonly cancelled: boolean;
  readonly finishReason: string | null;
  readonly latencyMs: number;
  readonly ttftMs: number | null;
  readonly generationMs: number | null;
  readonly tokensPrompt: number;
  readonly tokensCompletion: number;
  readonly tokensCached: number;
  /** Width × height × steps, summed over all images. */
  readonly imagePixelSteps: number;
  readonly characters: number;
  readonly cost: bigint;
  readonly attempts: readonly RequestAttempt[];
}

/** The charge to the organisation; zero unless the outcome is `charged`. */
export function costOf({ used, outcome }: Pick<NewRequestRecord, 'used' | 'outcome'>): bigint {
  return outcome === 'charged' ? used.amount : 0n;
}

/** The quantities of usage reports, without zeros. */
export function quantitiesOf({ event }: ParsedUsage): Readonly<Record<string, number>> {
  const all = {
    promptTokens: event.tokensPrompt,
    cachedPromptTokens: event.tokensCached,
    completionTokens: event.tokensCompletion,
    characters: event.characters,
  };
  return Object.fromEntries(Object.entries(all).filter(([, count]) => count > 0));
}
