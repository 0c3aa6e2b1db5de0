export { connectNatsInBackground } from './background.ts';
export type { NatsWakeUps } from './background.ts';
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
