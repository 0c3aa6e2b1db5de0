export { connectNatsInBackground } from './background.ts';
export type { EarlyNatsClient, NatsWakeUps } from './background.ts';
export { connectNats } from './connect.ts';
export type { Bucket, BucketEntry, BucketFollower, BucketSpec, FollowOptions } from './kv-types.ts';
export type {
  ConsumerSpec,
  FollowSpec,
  IncomingMessage,
  NatsClient,
  NatsOptions,
  NatsSubscription,
  Published,
  StoredMessage,
  StreamFollower,
  StreamSpec,
  StreamState,
} from './types.ts';
