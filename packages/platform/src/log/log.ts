import { pino } from 'pino';
import type { DestinationStream, Logger as PinoLogger } from 'pino';
import { errorRegistry } from '@millrace/contract';
import { isFault } from '../fault/index.ts';
import { redactText, redactValue } from './redact.ts';

export type Logger = PinoLogger;
export type LogLevel = 'fatal' | 'error' | 'warn' | 'info' | 'debug' | 'trace' | 'silent';

export interface LoggerOptions {
  /** The process or module: `api`, `worker`. */
  readonly name: string;
  readonly level: LogLevel;
  /** Standard output by default. */
  readonly destination?: DestinationStream;
}

/** Writes JSON lines. Redacts objects by property name, and the finished line by pattern as a second defence. */
export function createLogger(options: LoggerOptions): Logger {
  const settings = {
    name: options.name,
    level: options.level,
    base: { pid: process.pid },
    timestamp: pino.stdTimeFunctions.isoTime,
    formatters: { level: (label: string) => ({ level: label }), log: redactObject, bindings: redactObject },
    // Errors are plain objects at this point; pino's own serializer would mislabel them.
    serializers: { err: (value: unknown) => value },
    hooks: { streamWrite: redactText },
  };
  return options.destination === undefined ? pino(settings) : pino(settings, options.destination);
}

function redactObject(object: object): Record<string, unknown> {
  const redacted = redactValue(object);
  return typeof redacted === 'object' && redacted !== null ? { ...redacted } : { value: redacted };
}

/** Uses `info` for client errors, `warn` for temporary errors, `error` for bugs, which alone should alert. */
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
