export { eventChannels, toWireEvent, type EventChannels, type FeedEvent } from './events.ts';
export { eventsInRange, findEventsBySeq, deleteExpiredEvents } from './events.store.ts';
export { findLostEvents, storeLostEvents, type LostEvents, type LostInvoice } from './lost-events.ts';
export { measureOutbox } from './outbox.store.ts';
export { serveEvents, streamEvents } from './events.routes.ts';
export { createFeed, defaultFeedTuning, type Feed, type FeedOptions, type FeedTuning } from './feed.ts';
export { ensureEventStream, type EventStreamOptions } from './event-stream.ts';
export { defaultRelayTuning, startRelay } from './outbox.relay.ts';
export type { Relay, RelayOptions, RelayTuning } from './outbox.relay.ts';
