import { bucketStream, subjectOf } from './kv-layout.ts';

/** The subjects that one user of a NATS server may use; all others are denied. */
export interface NatsPermissions {
  readonly publish: readonly string[];
  readonly subscribe: readonly string[];
  /** Whether it may answer requests, wherever their sender expects the answer. */
  readonly mayRespond: boolean;
}

export type NatsGrant = Partial<NatsPermissions>;

const streamApi = (action: string, stream: string): string => `$JS.API.STREAM.${action}.${stream}`;
const consumerApi = (action: string, stream: string): string => `$JS.API.CONSUMER.${action}.${stream}.*`;

/** The subjects that each operation of `NatsClient` uses, beside the inbox. */
export const natsGrants = {
  /** `publish`, `notify` and `request`. */
  publish: (subject: string): NatsGrant => ({ publish: [subject] }),
  subscribe: (subject: string): NatsGrant => ({ subscribe: [subject] }),
  /** `subscribe` with a handler whose result is the response. */
  respond: (subject: string): NatsGrant => ({ subscribe: [subject], mayRespond: true }),
  ensureStream: (stream: string): NatsGrant => ({
    publish: ['INFO', 'CREATE', 'UPDATE'].map((action) => streamApi(action, stream)),
  }),
  streamState: (stream: string): NatsGrant => ({ publish: [streamApi('INFO', stream)] }),
  purgeMessages: (stream: string): NatsGrant => ({ publish: [streamApi('PURGE', stream)] }),
  follow: (stream: string): NatsGrant => ({
    publish: [
      streamApi('INFO', stream),
      // The client reads the state of its consumer after each reconnection.
      ...['CREATE', 'INFO', 'MSG.NEXT', 'DELETE'].map((action) => consumerApi(action, stream)),
    ],
  }),
  ensureBucket: (bucket: string): NatsGrant => natsGrants.ensureStream(bucketStream(bucket)),
  /** `read` and `list`. */
  readBucket: (bucket: string): NatsGrant => ({ publish: [streamApi('MSG.GET', bucketStream(bucket))] }),
  readBucketFromAnyReplica: (bucket: string): NatsGrant => ({
    publish: [`$JS.API.DIRECT.GET.${bucketStream(bucket)}`],
  }),
  /** By default all keys. */
  writeBucket: (bucket: string, keys = '>'): NatsGrant => ({ publish: [subjectOf(bucket, keys)] }),
  followBucket: (bucket: string): NatsGrant =>
    combineGrants([natsGrants.readBucket(bucket), natsGrants.follow(bucketStream(bucket))]),
} as const;

/** Sorted and without repetitions, so that equal permissions are equal texts. */
export function combineGrants(grants: readonly NatsGrant[]): NatsPermissions {
  const all = (part: 'publish' | 'subscribe'): string[] =>
    [...new Set(grants.flatMap((grant) => grant[part] ?? []))].toSorted();
  return {
    publish: all('publish'),
    subscribe: all('subscribe'),
    mayRespond: grants.some(({ mayRespond }) => mayRespond === true),
  };
}

/** The prefix of the subjects at which a role receives responses. Roles differ in it, so that none reads responses to another. */
export function natsInboxPrefix(prefix: string, role: string): string {
  return `${prefix === '' ? '' : `${prefix}.`}_INBOX.${role}`;
}
