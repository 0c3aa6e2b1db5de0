import { z } from 'zod';
import { withoutBidiControls } from '../bidi-text.ts';
import { sshKeyId, tags } from '../operation-builders.ts';

/** Schemas and statuses that baseline operations share. */

/** Statuses of baseline v2 operations, plus 429 and 503, which the contract adds. */
export const v2Errors = [400, 401, 403, 429, 500, 503] as const;

/** The same for the three v2 operations that also declare 404. */
export const v2ErrorsWithNotFound = [400, 401, 403, 404, 429, 500, 503] as const;

export const inferenceErrorStatuses = [
  400, 401, 402, 403, 404, 408, 413, 415, 422, 429, 500, 502, 503, 504,
] as const;

export const marketplaceErrorStatuses = [400, 401, 402, 403, 404, 408, 415, 429, 500, 503] as const;

/** Baseline lists are bare arrays; pages are requested in the query and linked in the `Link` header. */
export const listQuery = z.object({
  limit: z.coerce.number().int().min(1).max(1000).optional(),
  cursor: z.string().min(1).max(512).optional(),
});

export const listHeaders = {
  Link: 'The next page, with rel="next". Absent on the last page.',
} as const;

/** The billing id of a request, on every inference response. */
export const inferenceHeaders = {
  'X-Inference-Request-Id': 'The id of this request, for request-cost.',
  'Inference-Id': 'The same id.',
} as const;

/** Stops or terminates a rental when it is idle. */
export const idlePolicy = z
  .object({
    afterSeconds: z.int().min(300).max(31_536_000),
    action: z.enum(['stop', 'terminate']).default('stop'),
  })
  .meta({ id: 'IdlePolicy' });

export const displayName = withoutBidiControls(z.string().trim().min(1).max(255));
const sshKeyIds = z.array(sshKeyId).min(1).max(100);
const userData = z.string().max(65_536);
export const ttlSeconds = z.int().min(60).max(315_360_000);
export const maxUsd = z.number().positive();

/** Optional fields that the contract adds to the bodies that create rentals. */
export const rentalAdditions = {
  name: displayName.optional(),
  sshKeyIds: sshKeyIds.optional(),
  userData: userData.optional(),
  image: z.string().min(1).max(255).optional(),
  ttlSeconds: ttlSeconds.optional(),
  maxUsd: maxUsd.optional(),
  idle: idlePolicy.optional(),
  tags: tags.optional(),
};

/** The added fields that apply to volumes. */
export const volumeAdditions = {
  name: displayName.optional(),
  maxUsd: maxUsd.optional(),
  tags: tags.optional(),
};

/** An instance cannot be stopped and started, so idle instances can only be terminated. */
const instanceIdlePolicy = z
  .object({
    afterSeconds: z.int().min(300).max(31_536_000),
    action: z.literal('terminate').default('terminate'),
  })
  .meta({ id: 'InstanceIdlePolicy' });

/** The added fields in the style of v1, where `image` is a baseline field. */
export const instanceAdditions = {
  name: displayName.optional(),
  ssh_key_ids: sshKeyIds.optional(),
  user_data: userData.optional(),
  ttl_seconds: ttlSeconds.optional(),
  max_usd: maxUsd.optional(),
  idle: instanceIdlePolicy.optional(),
  tags: tags.optional(),
};
