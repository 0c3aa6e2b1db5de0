import { UsageError } from '../framework/errors.ts';
import { parseDuration } from '@millrace/sdk/text';

export function parseDurationFlag(name: string, text: string): number {
  const seconds = parseDuration(text);
  if (seconds !== null) return seconds;
  throw new UsageError(`--${name} is ${JSON.stringify(text)}; use a duration such as 90m, 2h or 3d.`);
}

/** `--tag team=vision --tag run=7`. */
export function parseTagFlags(texts: readonly string[]): Readonly<Record<string, string>> | undefined {
  if (texts.length === 0) return undefined;
  const pairs = texts.map((text) => {
    const at = text.indexOf('=');
    if (at < 1) throw new UsageError(`--tag is ${JSON.stringify(text)}; use NAME=VALUE.`);
    return [text.slice(0, at), text.slice(at + 1)] as const;
  });
  return Object.fromEntries(pairs);
}

export function parsePortFlags(texts: readonly string[]): number[] | undefined {
  if (texts.length === 0) return undefined;
  return texts.map((text) => {
    const port = /^\d{1,5}$/.test(text) ? Number(text) : 0;
    if (port >= 1 && port <= 65_535) return port;
    throw new UsageError(`--port is ${JSON.stringify(text)}; use a number from 1 to 65535.`);
  });
}
