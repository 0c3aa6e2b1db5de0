import { z } from 'zod';

/**
 * A gateway's report about one request: exactly one `final` event for each admitted request, even if it failed, and before it any
 * number of `checkpoint`s, which count only if the gateway dies. Amounts are decimal text, times Unix milliseconds by the
 * gateway's clock. Events never contain prompts.
 */

const amount = z.string().regex(/^(0|[1-9][0-9]{0,18})$/);
const count = z.int().nonnegative();

export const usageAttempt = z.strictObject({
  deployment: z.string(),
  startedAtMs: z.int(),
  durationMs: count,
  status: z.int().nullable(),
  error: z.string().max(200).nullable(),
});

export const usageEvent = z.strictObject({
  kind: z.enum(['final', 'checkpoint']),
  requestId: z.string(),
  orgId: z.string(),
  mode: z.enum(['live', 'test']),
  keyId: z.string(),
  /** Null in test mode, which is free and has no lease. */
  leaseId: z.string().nullable(),
  gatewayId: z.string(),
  budgetIds: z.array(z.string()).max(64),
  reservedNanoUsd: amount,
  /** At most the reservation: the operator absorbs the rest. */
  amountNanoUsd: amount,
  /** The price before it was limited to the reservation. */
  pricedNanoUsd: amount,
  priceIds: z.array(z.string()).max(8),
  model: z.string(),
  deployment: z.string().nullable(),
  createdAtMs: z.int(),
  streamed: z.boolean(),
  cancelled: z.boolean(),
  finishReason: z.string().max(100).nullable(),
  latencyMs: count,
  ttftMs: count.nullable(),
  generationMs: count.nullable(),
  tokensPrompt: count,
  tokensCached: count,
  tokensCompletion: count,
  /** Images: width x height x steps, summed over all images. Speech: characters. */
  imagePixelSteps: count,
  characters: count,
  attempts: z.array(usageAttempt).max(10),
});

export type UsageEvent = Readonly<z.infer<typeof usageEvent>>;
export type UsageAttempt = Readonly<z.infer<typeof usageAttempt>>;

/** Many events in one message, because publishing costs time per message. */
export const usageBatch = z.strictObject({ events: z.array(usageEvent).min(1).max(200) });

const subjectPrefix = (prefix: string): string => (prefix === '' ? '' : `${prefix}.`);

/** One stream per cell for usage and end markers, so that a marker follows the usage that it ends. */
export const usageSubjects = (prefix: string, cell: number) => ({
  stream: `${prefix === '' ? '' : `${prefix.replaceAll('.', '_').toUpperCase()}_`}USAGE_${cell}`,
  all: `${subjectPrefix(prefix)}usage.${cell}.>`,
  batch: `${subjectPrefix(prefix)}usage.${cell}.batch`,
});
