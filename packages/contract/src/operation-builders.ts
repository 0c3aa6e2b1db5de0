import { z } from 'zod';
import type { DocumentName, ErrorFamily, Method, Operation } from './operation.ts';

/** Schemas and defaults of extension operations, so that operation files state only differences. */

/** Crockford's base32: 128 bits in 26 characters, so the first character has only three bits. */
const idBody = '[0-7][0-9A-HJKMNP-TV-Z]{25}';

/** A prefixed identifier, such as `key_01JD…`. A malformed id is a validation error, not a missing resource. */
export function prefixedId(prefix: string, what: string) {
  // oxlint-disable-next-line house/linear-regexp -- a prefix of letters and a body of fixed length
  const pattern = new RegExp(`^${prefix}_${idBody}$`);
  return z
    .string()
    .regex(pattern, `must be the id of ${what}: ${prefix}_ and 26 characters`)
    .meta({ description: `The id of ${what}.`, examples: [`${prefix}_01JD8Q7XK4T2M9V6B3N5C1F0GH`] });
}

export const organisationId = prefixedId('org', 'an organisation');
export const userId = prefixedId('usr', 'a user');
export const memberId = prefixedId('mem', 'a membership');
export const keyId = prefixedId('key', 'an API key');
export const sshKeyId = prefixedId('ssh', 'an SSH public key');
export const auditId = prefixedId('aud', 'an audit log entry');
export const eventId = prefixedId('evt', 'an event');
export const requestId = prefixedId('req', 'a request');
export const batchId = prefixedId('bat', 'a batch of requests');
export const operationRecordId = prefixedId('op', 'an operation record');

/** RFC 3339 in UTC. Responses always end in `Z`; requests with an offset are refused. */
export const timestamp = z.iso
  .datetime()
  .max(64)
  .meta({ examples: ['2026-08-01T12:00:00.000Z'] });

/** Nano-USD as a decimal string, because a JSON number is exact only up to nine million dollars. */
export const nanoUsd = z
  .string()
  .regex(/^-?(0|[1-9][0-9]{0,18})$/)
  .meta({ description: 'Nano-USD (1e-9 USD) as a decimal string.', examples: ['25341234567'] });

/** The price that the same would have in live mode, in responses of test mode, where the real amount is 0. */
export function livePrice(what: string) {
  return nanoUsd.optional().meta({
    description: `${what} Only in test mode, where nothing is charged, and only if the current price list has a price.`,
  });
}

/** Like `nanoUsd`, for amounts above zero that a caller transfers. */
export const positiveNanoUsd = z
  .string()
  .regex(/^[1-9][0-9]{0,17}$/, 'must be a whole number of nano-USD above zero, as a string')
  .meta({ description: 'Nano-USD (1e-9 USD), above zero, as a decimal string.', examples: ['5000000000'] });

export const mode = z.enum(['live', 'test']);

export const actor = z
  .object({
    kind: z.enum(['key', 'user', 'operator', 'system']),
    id: z.string().max(100),
  })
  .meta({ id: 'Actor' });

export const resourceRef = z
  .object({
    kind: z
      .string()
      .max(64)
      .meta({ examples: ['api-key', 'rental'] }),
    id: z.string().max(100),
  })
  .meta({ id: 'ResourceRef' });

export const tags = z
  .record(z.string().regex(/^[A-Za-z0-9][A-Za-z0-9_.:/-]{0,62}$/), z.string().max(255))
  .refine((value) => Object.keys(value).length <= 50, 'at most 50 tags')
  .meta({ maxProperties: 50 });

/** The reason of a change, for the audit log. */
export const auditReason = z.string().trim().min(3).max(500);

/** The audit reason of requests without a body. */
export const reasonQuery = z.object({ reason: auditReason.optional() });

export const pageSizeDefault = 50;
export const pageSizeMax = 200;

/** The query of every extension list. Cursors are opaque and belong to the list that issued them. */
export const pageQuery = z.object({
  limit: z.coerce.number().int().min(1).max(pageSizeMax).default(pageSizeDefault),
  cursor: z.string().min(1).max(512).optional(),
});

/** The response of every extension list. `nextCursor` is null on the last page. */
export function pageOf<Item extends z.ZodType>(item: Item) {
  return z.object({
    items: z.array(item).max(pageSizeMax),
    nextCursor: z.string().nullable(),
  });
}

export const noContent = { status: 204, schema: z.void() } as const;

type Route = `${Method} /${string}`;

/** Splits `GET /v2/events` into method and path. */
function splitRoute<const R extends Route>(route: R) {
  const [method, path] = route.split(' ');
  return { method, path } as R extends `${infer M extends Method} ${infer Path extends `/${string}`}`
    ? { readonly method: M; readonly path: Path }
    : never;
}

/** The error statuses that every operation of a family may respond with. */
const commonErrors: Readonly<Record<ErrorFamily, readonly number[]>> = {
  v2: [400, 401, 403, 429, 500, 503],
  marketplace: [400, 401, 403, 429, 500, 503],
  inference: [400, 401, 403, 413, 422, 429, 500, 503],
};

/** An operation without its id, which is its key in the contract, and its route, which is a separate argument. */
type Unrouted = Omit<Operation, 'id' | 'method' | 'path' | 'idempotency'> & {
  readonly idempotency?: Operation['idempotency'];
};

type ExtensionOperation = Omit<Unrouted, 'document' | 'source' | 'errorFamily' | 'auth' | 'errors'> & {
  /** Statuses beyond the common ones and those that follow from other fields. */
  readonly refuses?: readonly number[];
};

/** Fills in the fields that all operations of a document share and keeps the literal types of each operation. */
function operationBuilder<const Name extends DocumentName, const Family extends ErrorFamily>(
  document: Name,
  errorFamily: Family,
) {
  return <const R extends Route, const Op extends ExtensionOperation>(route: R, operation: Op) => {
    const { refuses = [], idempotency = 'none', ...rest } = operation;
    const errors = new Set([...commonErrors[errorFamily], ...refuses]);
    if (idempotency === 'key') errors.add(409);
    if (operation.body !== undefined) errors.add(408).add(415);
    if (operation.notFoundReason !== undefined) errors.add(404);
    return {
      ...rest,
      ...splitRoute(route),
      idempotency,
      document,
      source: 'own',
      errorFamily,
      auth: 'key',
      errors: [...errors].toSorted((a, b) => a - b) as readonly number[],
    } as const;
  };
}

/** An operation that states its document, callers and all statuses itself. */
export function explicitOperation<const R extends Route, const Op extends Unrouted>(route: R, operation: Op) {
  const { idempotency = 'none', ...rest } = operation;
  return { ...rest, ...splitRoute(route), idempotency } as const;
}

export const v2Operation = operationBuilder('v2', 'v2');

/** An operation with two equivalent paths, under `alpha` for existing clients and without it for new ones. */
export function alphaOperation<
  const R extends `${Method} /v2/alpha/on-demand/${string}`,
  const Op extends ExtensionOperation,
>(route: R, operation: Op) {
  const made = v2Operation(route, operation);
  const stable = route.slice(route.indexOf('/')).replace('/alpha', '') as `/v2/on-demand/${string}`;
  return { ...made, aliases: [stable] } as const;
}

type SessionOperation = Omit<ExtensionOperation, 'scope'>;

/** An operation of a signed-in user, independent of any organisation. */
export function sessionOperation<const R extends Route, const Op extends SessionOperation>(
  route: R,
  operation: Op,
) {
  return { ...v2Operation(route, { ...operation, scope: null }), auth: 'person' } as const;
}

/** An operation that needs no authentication. */
export function publicOperation<const R extends Route, const Op extends SessionOperation>(
  route: R,
  operation: Op,
) {
  const made = v2Operation(route, { ...operation, scope: null });
  const identityless: readonly number[] = made.errors.filter((status) => status !== 401 && status !== 403);
  return { ...made, errors: identityless, auth: 'none' } as const;
}

export const adminOperation = operationBuilder('admin', 'v2');
export const supplierOperation = operationBuilder('supplier', 'v2');
export const inferenceOperation = operationBuilder('v1', 'inference');
export const marketplaceOperation = operationBuilder('v1', 'marketplace');
