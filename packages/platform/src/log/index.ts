export { createLogger, logFailure } from './log.ts';
export type { Logger, LoggerOptions, LogLevel } from './log.ts';
export { redactText, redactValue } from './redact.ts';
