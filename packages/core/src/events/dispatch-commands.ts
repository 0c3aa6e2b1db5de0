import type { Timer } from '@millrace/platform/clock';
import type { Db } from '@millrace/platform/db';
import type { EventId } from '@millrace/platform/ids';
import type { Logger } from '@millrace/platform/log';
import { RestateIngressError, type RestateIngress, type RestateSend } from '@millrace/platform/restate';
import { counter } from '@millrace/platform/telemetry';
import { listReadyCommands, recordFailure, removeDelivered } from './outbox.store.ts';
import type { LeaseProof, WaitingCommand } from './outbox.store.ts';

const delivered = counter('millrace_relay_commands_delivered_total', 'Commands durably accepted by Restate');
const parked = counter('millrace_relay_parked_total', 'Outbox rows given up on; each needs a person');

export interface DispatcherOptions {
  readonly db: Db;
  readonly clock: Timer;
  readonly log: Pick<Logger, 'error'>;
  readonly restate: RestateIngress;
  readonly batchSize: number;
  /** How many objects are spoken to at once. */
  readonly concurrency: number;
  readonly maxAttempts: number;
  readonly retryMs: { readonly first: number; readonly longest: number };
}

/**
 * Sends what waits, oldest first, in order for each object, many objects at once. A row goes away only after its
 * call was accepted; dying in between means sending it again under the same idempotency key. Answers how many
 * were delivered; throws when the receiver is away, which counts against no command.
 */
export async function dispatchCommands(options: DispatcherOptions, proof: LeaseProof): Promise<number> {
  if (proof.leases.length === 0) return 0;
  const commands = await listReadyCommands(options.db, proof, options.batchSize);
  const queues = [...Map.groupBy(commands, (command) => `${command.service}/${command.key}`).values()];
  let count = 0;
  const work = async (): Promise<void> => {
    for (let queue = queues.shift(); queue !== undefined; queue = queues.shift()) {
      count += await deliverInOrder(options, queue);
    }
  };
  const outcomes = await Promise.allSettled(Array.from({ length: options.concurrency }, work));
  delivered.add(count);
  const failure = outcomes.find((outcome) => outcome.status === 'rejected');
  if (failure !== undefined) throw failure.reason;
  return count;
}

async function deliverInOrder(options: DispatcherOptions, queue: readonly WaitingCommand[]): Promise<number> {
  const accepted: EventId[] = [];
  try {
    for (const command of queue) {
      const outcome = await deliver(options, command);
      if (outcome === 'refused') break;
      accepted.push(command.id);
    }
  } finally {
    await removeDelivered(options.db, accepted);
  }
  return accepted.length;
}

async function deliver(options: DispatcherOptions, command: WaitingCommand): Promise<'accepted' | 'refused'> {
  try {
    await options.restate.send(toRestateSend(command, options.db.clock.nowMs()));
    return 'accepted';
  } catch (error) {
    if (!isCommandError(error)) throw error;
    const { parked: gaveUp } = await recordFailure(options.db, {
      id: command.id,
      error: error.message,
      retryInMs: Math.min(options.retryMs.longest, options.retryMs.first * 2 ** command.attempts),
      maxAttempts: options.maxAttempts,
    });
    if (gaveUp) {
      parked.add(1, { kind: 'command' });
      options.log.error(
        { outboxId: command.id, orgId: command.orgId, service: command.service, err: error },
        'a command was refused too often and was parked',
      );
    }
    return 'refused';
  }
}

/**
 * Whether the command itself is at fault, rather than the weather. An unknown service counts: it may only not be
 * registered yet, and then a later attempt succeeds, but it must not hold up commands to services that are.
 */
function isCommandError(error: unknown): error is RestateIngressError {
  if (!(error instanceof RestateIngressError)) return false;
  return error.status >= 400 && error.status < 500 && error.status !== 408 && error.status !== 429;
}

function toRestateSend(command: WaitingCommand, nowMs: number): RestateSend {
  const delayMs = command.notBefore === null ? 0 : Math.max(0, command.notBefore.getTime() - nowMs);
  const { service, key, handler, payload, mode, cell, actor, traceparent, schemaVersion } = command;
  return {
    service,
    key,
    handler,
    payload,
    idempotencyKey: command.id,
    envelope: { mode, cell, actor, traceparent, schemaVersion },
    ...(delayMs > 0 ? { delayMs } : {}),
  };
}
