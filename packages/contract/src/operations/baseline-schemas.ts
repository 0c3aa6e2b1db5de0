import { z } from 'zod';
import { withoutBidiControls } from '../bidi-text.ts';
import { sshKeyId, tags } from '../operation-builders.ts';

/** What the operations of the interface share. */

/** Statuses of v2 operations as the interface lists them, plus the two we declare ourselves: 429 and 503. */
export const v2Errors = [400, 401, 403, 429, 500, 503] as const;

/** The same for the three v2 operations that may also answer 404. */
export const v2ErrorsWithNotFound = [400, 401, 403, 404, 429, 500, 503] as const;

export const inferenceErrorStatuses = [
  400, 401, 402, 403, 404, 408, 413, 415, 422, 429, 500, 502, 503, 504,
] as const;

export const marketplaceErrorStatuses = [400, 401, 402, 403, 404, 408, 415, 429, 500, 503] as const;

/** Lists of the interface stay bare arrays; a page is asked for in the query and found in the `Link` header. */
export const listQuery = z.object({
  limit: z.coerce.number().int().min(1).max(1000).optional(),
  cursor: z.string().min(1).max(512).optional(),
});

export const listHeaders = {
  Link: 'The next page, with rel="next". Absent on the last page.',
} as const;

/** The id a request is billed under, on every answer of inference. */
export const inferenceHeaders = {
  'X-Inference-Request-Id': 'The id of this request, for request-cost.',
  'Inference-Id': 'The same id.',
} as const;

/** A rental may be given up once it idles. */
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

/** Optional additions of our own to the bodies that create rentals. */
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

/** Those of them that mean something for a volume. */
export const volumeAdditions = {
  name: displayName.optional(),
  maxUsd: maxUsd.optional(),
  tags: tags.optional(),
};

/** An instance is not switched off and on, so all that it can be when it idles is over. */
const instanceIdlePolicy = z
  .object({
    afterSeconds: z.int().min(300).max(31_536_000),
    action: z.literal('terminate').default('terminate'),
  })
  .meta({ id: 'InstanceIdlePolicy' });

/** The same additions in the words of v1, where `image` is the interface's own. */
export const instanceAdditions = {
  name: displayName.optional(),
  ssh_key_ids: sshKeyIds.optional(),
  user_data: userData.optional(),
  ttl_seconds: ttlSeconds.optional(),
  max_usd: maxUsd.optional(),
  idle: instanceIdlePolicy.optional(),
  tags: tags.optional(),
};
