import type { MsgHdrs } from '@nats-io/transport-node';
import type { BucketEntry } from './kv-types.ts';

/** The layout of a bucket in its stream, as NATS's own key-value clients use it. */

/** Set on messages that delete a key. */
export const operationHeader = 'KV-Operation';

export const bucketStream = (bucket: string): string => `KV_${bucket}`;
export const subjectOf = (bucket: string, key: string): string => `$KV.${bucket}.${key}`;

export function toEntry(
  bucket: string,
  message: {
    readonly subject: string;
    readonly seq: number;
    readonly headers: MsgHdrs | undefined;
    readonly text: () => string;
  },
): BucketEntry {
  const isDeleted = message.headers?.has(operationHeader) === true;
  return {
    key: message.subject.slice(subjectOf(bucket, '').length),
    revision: message.seq,
    value: isDeleted ? null : message.text(),
  };
}
