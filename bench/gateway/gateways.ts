import { createRequire } from 'node:module';
import { freePort, startCommand, startProcess, type TestProcess } from '@millrace/testing';

/** What requests are sent through in the bench. Each is a process of its own. */

export interface Gateway {
  readonly name: string;
  readonly pid: number;
  readonly url: string;
  /** What a request must carry to be let through to the engine behind. */
  readonly headers: Readonly<Record<string, string>>;
  readonly model: string;
}

export interface StartedGateway extends Gateway {
  /** What its processes have said: for a failure. */
  output(): string;
  [Symbol.asyncDispose](): Promise<void>;
}

function started(process: TestProcess, gateway: Omit<Gateway, 'pid' | 'name'>): StartedGateway {
  const { name, pid } = process;
  return { name, pid, ...gateway, output: process.output, [Symbol.asyncDispose]: () => process.crash() };
}

export const MODEL = 'double';

/** A double of an engine: nothing of what is measured happens in it. */
export async function startUpstreamDouble(): Promise<StartedGateway> {
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  const process = await startProcess({
    name: 'direct',
    entry: 'bench/gateway/upstream-double.ts',
    args: [String(port)],
    env: {},
    readyUrl: `${url}/health`,
  });
  return started(process, { url, headers: {}, model: MODEL });
}

export async function startBaseline(upstream: Gateway): Promise<StartedGateway> {
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  const process = await startProcess({
    name: 'bare',
    entry: 'bench/gateway/baseline-gateway.ts',
    args: [String(port), upstream.url],
    env: {},
    readyUrl: `${url}/health`,
  });
  return started(process, { url, headers: {}, model: MODEL });
}

/** Portkey's open-source gateway as it comes, told where to go by its headers. */
export async function startPortkey(upstream: Gateway): Promise<StartedGateway> {
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  const require = createRequire(import.meta.url);
  const entry = require.resolve('@portkey-ai/gateway/build/start-server.js');
  const process = await startCommand({
    name: 'portkey',
    file: globalThis.process.execPath,
    args: [entry, '--headless', `--port=${port}`],
    env: { NODE_ENV: 'production', TRUSTED_CUSTOM_HOSTS: '127.0.0.1' },
    folder: '/',
    readyUrl: url,
  });
  const headers = {
    'x-portkey-provider': 'openai',
    'x-portkey-custom-host': `${upstream.url}/v1`,
    authorization: 'Bearer none',
  };
  return started(process, { url, headers, model: MODEL });
}
