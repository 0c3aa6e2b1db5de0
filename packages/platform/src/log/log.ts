import { pino } from 'pino';
import type { DestinationStream, Logger as PinoLogger } from 'pino';
import { errorRegistry } from '@millrace/contract';
import { isFault } from '../fault/index.ts';
import { redactText, redactValue } from './redact.ts';

export type Logger = PinoLogger;
export type LogLevel = 'fatal' | 'error' | 'warn' | 'info' | 'debug' | 'trace' | 'silent';

export interface LoggerOptions {
  /** The process or part that speaks: `api`, `worker`. */
  readonly name: string;
  readonly level: LogLevel;
  /** Where lines go; standard output unless said. */
  readonly destination?: DestinationStream;
}

/**
 * One JSON object a line. Objects are redacted by name before they are serialised, and the finished line
 * once more by shape, so a secret cannot pass by taking a route nobody thought of.
 */
export function createLogger(options: LoggerOptions): Logger {
  const settings = {
    name: options.name,
    level: options.level,
    base: { pid: process.pid },
    timestamp: pino.stdTimeFunctions.isoTime,
    formatters: { level: (label: string) => ({ level: label }), log: redactObject, bindings: redactObject },
    // Errors are already plain objects by then; the library's own serializer would only mislabel them.
    serializers: { err: (value: unknown) => value },
    hooks: { streamWrite: redactText },
  };
  return options.destination === undefined ? pino(settings) : pino(settings, options.destination);
}

function redactObject(object: object): Record<string, unknown> {
  const redacted = redactValue(object);
  return typeof redacted === 'object' && redacted !== null ? { ...redacted } : { value: redacted };
}

/**
 * Logs something that went wrong at the level it deserves. What a caller did wrong is expected: `info`. What
 * passes by itself (busy, degraded) is `warn`. A bug is `error`, and only that should wake anyone.
 */
export function logFailure(log: Logger, error: unknown, message: string, fields: object = {}): void {
  if (!isFault(error)) {
    log.error({ ...fields, err: error }, message);
    return;
  }
  const { reason, internal } = error;
  const details = { ...fields, reason, ...(internal === undefined ? {} : { internal }) };
  const { status } = errorRegistry[reason];
  if (status === 500) log.error({ ...details, err: error }, message);
  else if (status > 500) log.warn({ ...details, detail: error.message }, message);
  else log.info({ ...details, detail: error.message }, message);
}
