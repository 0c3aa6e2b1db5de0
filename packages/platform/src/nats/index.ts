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
