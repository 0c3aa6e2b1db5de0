export {
  appendOutbox,
  appendOutboxBatch,
  type CommandEntry,
  type EventEntry,
  type EventType,
  type OutboxEntry,
} from './outbox.ts';
export { outboxShards, shardOf } from './shard.ts';
