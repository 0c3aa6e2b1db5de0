import { z } from 'zod';

/**
 * What a gateway reports of one request, into the usage stream. Exactly one `final` for each request that was admitted, also
 * when it failed or the client left; before it any number of `checkpoint`s of a long one, which count only if the gateway
 * dies. Amounts are decimal text, times are milliseconds since 1970 by the gateway's clock. No word of any prompt.
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
  /** Never above what was reserved: what the engine did beyond that is the operator's. */
  amountNanoUsd: amount,
  /** What the price says, before it was cut to the reservation. */
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
  /** Of images: width x height x steps summed over all; of speech: characters. */
  imagePixelSteps: count,
  characters: count,
  attempts: z.array(usageAttempt).max(10),
});

export type UsageEvent = Readonly<z.infer<typeof usageEvent>>;
export type UsageAttempt = Readonly<z.infer<typeof usageAttempt>>;

/** Many in one message: publishing costs by the message. */
export const usageBatch = z.strictObject({ events: z.array(usageEvent).min(1).max(200) });

const subjectPrefix = (prefix: string): string => (prefix === '' ? '' : `${prefix}.`);

/** Beside the end-of-epoch markers in one stream per cell, so that a marker stands behind the usage it ends. */
export const usageSubjects = (prefix: string, cell: number) => ({
  stream: `${prefix === '' ? '' : `${prefix.replaceAll('.', '_').toUpperCase()}_`}USAGE_${cell}`,
  all: `${subjectPrefix(prefix)}usage.${cell}.>`,
  batch: `${subjectPrefix(prefix)}usage.${cell}.batch`,
});
