import type { Timer } from '@millrace/platform/clock';
import type { Db } from '@millrace/platform/db';
import type { EventId } from '@millrace/platform/ids';
import type { Logger } from '@millrace/platform/log';
import { RestateIngressError, type RestateIngress, type RestateSend } from '@millrace/platform/restate';
import { activeTraceparent, contextFromTraceparent, counter, inSpan } from '@millrace/platform/telemetry';
import { listReadyCommands, recordFailure, removeDelivered } from './outbox.store.ts';
import type { LeaseProof, WaitingCommand } from './outbox.store.ts';

const delivered = counter('millrace_relay_commands_delivered_total');
const parked = counter('millrace_relay_parked_total');

export interface DispatcherOptions {
  readonly db: Db;
  readonly clock: Timer;
  readonly log: Pick<Logger, 'error'>;
  readonly restate: RestateIngress;
  readonly batchSize: number;
  /** Maximum number of objects that are called concurrently. */
  readonly concurrency: number;
  readonly maxAttempts: number;
  readonly retryMs: { readonly first: number; readonly longest: number };
}

/**
 * Sends waiting commands, oldest first and in order for each object. A row is deleted only after Restate accepted the
 * call; after a crash in between, the same idempotency key prevents a second run. Returns the number delivered; throws
 * when Restate is unreachable, which counts as an attempt for no command.
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
    await sendInTrace(options, command);
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
        'command parked after too many refusals',
      );
    }
    return 'refused';
  }
}

/** Continues the trace of the transaction that wrote the command, and passes it on to the handler. */
function sendInTrace({ restate, db }: DispatcherOptions, command: WaitingCommand): Promise<unknown> {
  const attributes = {
    'messaging.system': 'restate',
    'messaging.operation.type': 'send',
    'messaging.destination.name': `${command.service}/${command.handler}`,
    'millrace.outbox_wait_ms': Math.max(0, db.clock.nowMs() - command.occurredAt.getTime()),
  };
  const parent = contextFromTraceparent(command.traceparent);
  return inSpan('relay command', { kind: 'producer', attributes, parent }, () => {
    const traceparent = activeTraceparent() ?? command.traceparent;
    return restate.send(toRestateSend({ ...command, traceparent }, db.clock.nowMs()));
  });
}

/** Responses that concern the connection. 403 comes from the proxy of Restate, if it refuses the certificate of workers. */
const connectionStatuses: readonly number[] = [403, 408, 429];

/** Whether the command is at fault, not the connection. A command to an unknown service must not delay others either. */
function isCommandError(error: unknown): error is RestateIngressError {
  if (!(error instanceof RestateIngressError)) return false;
  return error.status >= 400 && error.status < 500 && !connectionStatuses.includes(error.status);
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
