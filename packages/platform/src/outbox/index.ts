export {
  appendOutbox,
  appendOutboxAll,
  type CommandEntry,
  type EventEntry,
  type EventType,
  type OutboxEntry,
} from './outbox.ts';
export { outboxShards, shardOf } from './shard.ts';
