export { connectNatsInBackground } from './background-client.ts';
export type { BackgroundNatsClient, NatsNotifications } from './background-client.ts';
export { connectNats } from './connect.ts';
export { connectionOptions as natsConnectionOptions } from './connection-options.ts';
export {
  combineGrants,
  natsGrants,
  natsInboxPrefix,
  type NatsGrant,
  type NatsPermissions,
} from './permissions.ts';
export { createNatsKey, isNatsPublicKey, natsPublicKey, type NatsKey } from './nkeys.ts';
export { readStream } from './read-stream.ts';
export { natsOptionsOf, type NatsRole } from './options-of-settings.ts';
export type { Bucket, BucketEntry, BucketFollower, BucketSpec, FollowOptions } from './kv-types.ts';
export type {
  ConsumerSpec,
  FollowSpec,
  IncomingMessage,
  NatsClient,
  NatsOptions,
  NatsSubscription,
  PublishAck,
  StoredMessage,
  StreamFollower,
  StreamSpec,
  StreamState,
} from './types.ts';
