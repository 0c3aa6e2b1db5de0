import type { Operation } from '../operation.ts';
import type { Header, Parameter, Reference } from './types.ts';

/** Headers that all operations share. */

const text = { type: 'string' } as const;
/** Servers refuse longer headers. */
const headerText = { ...text, maxLength: 16_384 } as const;

export const headers = {
  'X-Request-Id': { description: 'The id of this request. Include it when you ask for help.', schema: text },
  'RateLimit-Policy': {
    description: 'Every limit that applies: its name, quota `q` and window `w` in seconds.',
    schema: { ...text, examples: ['"requests";q=60;w=60'] },
  },
  RateLimit: {
    description: 'The remaining quota of each limit, `r`, and the seconds until it resets, `t`.',
    schema: { ...text, examples: ['"requests";r=59;t=1'] },
  },
  'x-ratelimit-limit-requests': {
    description: 'The quota of the limit with the least remaining.',
    schema: { type: 'integer', minimum: 0 },
  },
  'x-ratelimit-remaining-requests': {
    description: 'The remaining quota of that limit.',
    schema: { type: 'integer', minimum: 0 },
  },
  'x-ratelimit-reset-requests': {
    description: 'When that limit resets.',
    schema: { ...text, examples: ['1s'] },
  },
  'Retry-After': {
    description: 'The number of seconds after which the same request may succeed.',
    schema: { type: 'integer', minimum: 0 },
  },
  'Idempotent-Replayed': {
    description: '`true` if this is the response to an earlier request with the same idempotency key.',
    schema: { ...text, enum: ['true'] },
  },
  ETag: {
    description: 'Identifies this version of the response. Send it back in If-None-Match.',
    schema: text,
  },
  'X-Ignored-Fields': {
    description: 'Request fields that the operation does not know, separated by commas.',
    schema: text,
  },
} as const satisfies Record<string, Header>;

type HeaderName = keyof typeof headers;

const always = [
  'X-Request-Id',
  'RateLimit-Policy',
  'RateLimit',
  'x-ratelimit-limit-requests',
  'x-ratelimit-remaining-requests',
  'x-ratelimit-reset-requests',
] as const satisfies readonly HeaderName[];

function headerReferences(names: readonly HeaderName[]): Record<string, Reference> {
  return Object.fromEntries(names.map((name) => [name, { $ref: `#/components/headers/${name}` }]));
}

export function responseHeaders(operation: Operation): Readonly<Record<string, Header | Reference>> {
  const names: HeaderName[] = [...always];
  if (operation.idempotency === 'key') names.push('Idempotent-Replayed');
  if (operation.body !== undefined || operation.query !== undefined) names.push('X-Ignored-Fields');
  if (operation.response.revalidates) names.push('ETag');
  const particular = Object.entries(operation.response.headers ?? {}).map(
    ([name, description]) => [name, { description, schema: text }] as const,
  );
  return { ...headerReferences(names), ...Object.fromEntries(particular) };
}

/** The headers of an error, with `Retry-After` if waiting helps. */
export function errorHeaders(status: number): Readonly<Record<string, Reference>> {
  return headerReferences(status === 429 || status === 503 ? [...always, 'Retry-After'] : always);
}

export const parameters = {
  'Idempotency-Key': {
    name: 'Idempotency-Key',
    in: 'header',
    required: false,
    description:
      'Within 30 days, a request with the same key returns the first result instead of acting twice. A different body with the same key is refused.',
    schema: { ...text, minLength: 1, maxLength: 255 },
  },
  'If-None-Match': {
    name: 'If-None-Match',
    in: 'header',
    required: false,
    description: 'The ETag of a stored response. If it is still current, the response is 304 without a body.',
    schema: headerText,
  },
  'Last-Event-ID': {
    name: 'Last-Event-ID',
    in: 'header',
    required: false,
    description: 'The `id` of the last event that was read, to resume an interrupted stream.',
    schema: headerText,
  },
} as const satisfies Record<string, Parameter>;
