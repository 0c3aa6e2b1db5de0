import { parseArgs } from 'node:util';
import { isLoopback } from '@millrace/platform/net';

export interface DevOptions {
  readonly host: string;
  /** Left out: 8080, or the next free one. */
  readonly port: number | undefined;
  /** Start, check that everything is ready, print what to try, and stop again. */
  readonly once: boolean;
  /** Restart a process when one of its files changes. */
  readonly watch: boolean;
  /** Also start a llama-server, so that live keys chat with a real model. */
  readonly llama: boolean;
  /** Build and serve the console. */
  readonly console: boolean;
  /** Show the log lines of the processes in the terminal. */
  readonly logs: boolean;
  /** Print this key of the demo and do nothing else. */
  readonly key: 'live' | 'test' | undefined;
  /** Print this address of the demo and do nothing else. */
  readonly url: 'api' | 'inference' | undefined;
  readonly help: boolean;
}

export class DevUsageError extends Error {}

/** The worker's health is one port above the api, the gateway two and three, the handlers for Restate a thousand above. */
const highestPort = 64_535;

export const devHelp = `npm run dev [-- --port 8080] [--host 127.0.0.1] [--llama] [--no-console] [--logs] [--watch] [--once]
npm run --silent dev -- --key live
npm run --silent dev -- --url api

Brings up the engines, migrates the database, seeds a small demo, builds the console if its files changed, and runs the api,
the worker and the gateway. Mail is not sent: it is kept in .millrace/mail, and its links are printed.

  --port PORT   where the api listens; the worker takes PORT + 1 (health) and PORT + 1000 (Restate), the
                gateway PORT + 2 and PORT + 3 (health). Left out: 8080, or the next free row of ports
  --host HOST   loopback only, unless TLS is configured (MILLRACE_HTTP_TLS_CERT_FILE, MILLRACE_HTTP_TLS_KEY_FILE)
  --llama       also start a llama-server with a tiny model of our own, for live keys; test keys chat with a mock
  --no-console  leave the console out
  --logs        show the log lines of the processes here; they are always in .millrace/dev
  --watch       restart a process when its files change
  --key MODE    print the demo's key, live or test, and do nothing else
  --url NAME    print the address of the last start, api or inference, and do nothing else
  --once        start, wait until everything is ready, print what to try, and stop again

Ctrl-C stops the processes; the engines stay up for the next start. npm run services -- down stops them.
MILLRACE_LOG_LEVEL=debug logs more, MILLRACE_LOG_LEVEL=warn only what is wrong.
`;

export function readArgs(words: readonly string[], tlsConfigured: boolean): DevOptions {
  const values = parse(words);
  const port = values.port === undefined ? undefined : portOf(values.port);
  if (!isLoopback(values.host) && !tlsConfigured) {
    throw new DevUsageError(
      `--host is ${JSON.stringify(values.host)}, beyond loopback: keys would cross the network in the clear.\n` +
        'Set MILLRACE_HTTP_TLS_CERT_FILE and MILLRACE_HTTP_TLS_KEY_FILE, or leave --host out.',
    );
  }
  const { host, llama, logs, once, watch, key, url, help } = values;
  const withConsole = !values['no-console'];
  if (key !== undefined && key !== 'live' && key !== 'test') {
    throw new DevUsageError(`--key is ${JSON.stringify(key)}; use live or test.`);
  }
  if (url !== undefined && url !== 'api' && url !== 'inference') {
    throw new DevUsageError(`--url is ${JSON.stringify(url)}; use api or inference.`);
  }
  return { host, port, llama, logs, once, watch, console: withConsole, key, url, help };
}

function portOf(text: string): number {
  const port = Number(text);
  if (/^[0-9]{1,5}$/.test(text) && port >= 1 && port <= highestPort) return port;
  throw new DevUsageError(
    `--port is ${JSON.stringify(text)}; use a number from 1 to ${String(highestPort)}.`,
  );
}

function parse(words: readonly string[]) {
  try {
    return parseArgs({
      args: [...words],
      options: {
        host: { type: 'string', default: '127.0.0.1' },
        port: { type: 'string' },
        llama: { type: 'boolean', default: false },
        logs: { type: 'boolean', default: false },
        once: { type: 'boolean', default: false },
        watch: { type: 'boolean', default: false },
        'no-console': { type: 'boolean', default: false },
        key: { type: 'string' },
        url: { type: 'string' },
        help: { type: 'boolean', default: false },
      },
    }).values;
  } catch (error) {
    const [what = ''] = (error instanceof Error ? error.message : String(error)).split('. ');
    throw new DevUsageError(`${what}.\nSee npm run dev -- --help`);
  }
}
