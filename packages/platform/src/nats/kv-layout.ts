import type { MsgHdrs } from '@nats-io/transport-node';
import type { BucketEntry } from './kv-types.ts';

/** How a bucket lies in its stream: the layout of the broker's own key-value clients. */

/** On what takes a key out. */
export const operationHeader = 'KV-Operation';

export const bucketStream = (bucket: string): string => `KV_${bucket}`;
export const subjectOf = (bucket: string, key: string): string => `$KV.${bucket}.${key}`;

/** The key and the value inside a stored message. */
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
