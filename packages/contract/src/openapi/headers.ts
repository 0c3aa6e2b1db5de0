import type { Operation } from '../operation.ts';
import type { Header, Parameter, Reference } from './types.ts';

/** The headers that belong to no operation in particular. */

const text = { type: 'string' } as const;
/** Servers refuse longer headers. */
const headerText = { ...text, maxLength: 16_384 } as const;

export const headers = {
  'X-Request-Id': { description: 'The id of this request; name it when asking for help.', schema: text },
  'RateLimit-Policy': {
    description: 'Every limit that applies: its name, quota `q` and window `w` in seconds.',
    schema: { ...text, examples: ['"requests";q=60;w=60'] },
  },
  RateLimit: {
    description: 'What remains of each limit, `r`, and in how many seconds it is whole again, `t`.',
    schema: { ...text, examples: ['"requests";r=59;t=1'] },
  },
  'x-ratelimit-limit-requests': {
    description: 'The quota of the limit that is nearest to its end.',
    schema: { type: 'integer', minimum: 0 },
  },
  'x-ratelimit-remaining-requests': {
    description: 'What remains of it.',
    schema: { type: 'integer', minimum: 0 },
  },
  'x-ratelimit-reset-requests': {
    description: 'When it is whole again.',
    schema: { ...text, examples: ['1s'] },
  },
  'Retry-After': {
    description: 'In how many seconds the same request may succeed.',
    schema: { type: 'integer', minimum: 0 },
  },
  'Idempotent-Replayed': {
    description: '`true` when this is the answer of an earlier request with the same idempotency key.',
    schema: { ...text, enum: ['true'] },
  },
  ETag: {
    description: 'Names this state of the answer; send it back as If-None-Match.',
    schema: text,
  },
  'X-Ignored-Fields': {
    description: 'Fields of the request that were not understood, separated by commas.',
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

/** The headers of the answer that an operation is for. */
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

/** The headers of an error. A refusal that passes with time says when. */
export function errorHeaders(status: number): Readonly<Record<string, Reference>> {
  return headerReferences(status === 429 || status === 503 ? [...always, 'Retry-After'] : always);
}

export const parameters = {
  'Idempotency-Key': {
    name: 'Idempotency-Key',
    in: 'header',
    required: false,
    description:
      'Sent again within 30 days, the same key answers the first result instead of acting twice. Another body under the same key is refused.',
    schema: { ...text, minLength: 1, maxLength: 255 },
  },
  'If-None-Match': {
    name: 'If-None-Match',
    in: 'header',
    required: false,
    description:
      'The ETag of an answer that is at hand already. If it still holds, 304 comes instead of the answer.',
    schema: headerText,
  },
  'Last-Event-ID': {
    name: 'Last-Event-ID',
    in: 'header',
    required: false,
    description: 'Where a stream that broke off was read to: the `id` of the last event.',
    schema: headerText,
  },
} as const satisfies Record<string, Parameter>;
