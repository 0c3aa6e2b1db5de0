export { connectNatsInBackground } from './background.ts';
export type { EarlyNatsClient, NatsWakeUps } from './background.ts';
export { connectNats } from './connect.ts';
export type {
  ConsumerSpec,
  IncomingMessage,
  NatsClient,
  NatsOptions,
  NatsSubscription,
  Published,
  StreamSpec,
} from './types.ts';
