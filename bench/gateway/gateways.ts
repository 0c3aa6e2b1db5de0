import { createRequire } from 'node:module';
import { freePort, startCommand, startProcess, type TestProcess } from '@millrace/testing';

export interface Gateway {
  readonly name: string;
  readonly pid: number;
  readonly url: string;
  /** Headers that a request needs to reach the upstream. */
  readonly headers: Readonly<Record<string, string>>;
  readonly model: string;
}

export interface StartedGateway extends Gateway {
  /** Output of its processes, to print after a failure. */
  output(): string;
  [Symbol.asyncDispose](): Promise<void>;
}

function started(process: TestProcess, gateway: Omit<Gateway, 'pid' | 'name'>): StartedGateway {
  const { name, pid } = process;
  return { name, pid, ...gateway, output: process.output, [Symbol.asyncDispose]: () => process.crash() };
}

export const MODEL = 'double';

/** The upstream double, which is not measured. */
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

/** Portkey's open-source gateway, unmodified and routed by headers. */
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
